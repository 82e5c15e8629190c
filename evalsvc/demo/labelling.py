"""Labelling projects of the demo, with their votes and decisions, frozen as test sets."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Item, Project, Vote
from annotation.ontology import inventory
from annotation.queue import votes
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job
from evalsvc.demo.accounts import ANNOTATORS, DemoAccounts
from evalsvc.demo.logins import ADJUDICATOR, CURATOR

DATA = Path(__file__).parent / "data"
WORKER_SECONDS = 2.0
"""Time a worker has to take a job before the loader runs it itself."""
RELATION_GUIDELINE = """\
Say what the **sentence** says of its two marked entities, not what you know of them.

- Choose every relation that the sentence states or clearly implies.
- Choose N/A when it states none of these, however close the two names stand.
- Skip a sentence that is broken, or whose marked names are not the entities meant.
"""
SPAN_GUIDELINE = """\
Mark every name of a person, an organisation or a place, with all of its words and nothing else.
"""
JOINT_GUIDELINE = """\
Mark every name of a person, an organisation or a place, with all of its words and nothing else. Then link two
names by each relation that the text **states** between them.
"""


def _lines(name: str) -> Iterator[Any]:
    return map(json.loads, (DATA / name).read_bytes().splitlines())


def _labels(kind: str) -> list[Any]:
    return list(json.loads((DATA / "labels.json").read_text())[kind])


def _client_id(*parts: object) -> UUID:
    """The same id on every load, so that nothing is written twice."""
    return uuid5(NAMESPACE_URL, "demo/" + "/".join(str(part) for part in parts))


def relation_test_set(accounts: DemoAccounts) -> TestSet:
    """Import sentences, record votes, decide most disputes, freeze."""
    curator = accounts.users[CURATOR]
    project = _ensure_project(
        "harbour-news", by=curator, title="Harbour news, relations", kind="relations", k=4,
        guideline=RELATION_GUIDELINE,
    )  # fmt: skip
    inventory.add_labels(project, _labels("relations"), by=curator)
    _add_members(project, accounts)
    _import(project, "items", "relations.jsonl", "harbour-news.jsonl", curator)
    projects.open_for_work(project, by=curator)
    _record_votes(project, "relation_votes.jsonl", accounts)
    # every fifth dispute is left for visitors to decide
    disputed = {item.external_id: item for item in project.items.live().filter(state=Item.State.DISPUTED)}
    for decision in _lines("relation_decisions.jsonl"):
        if item := disputed.get(decision["item"]):
            decisions.decide(
                item,
                by=accounts.users[ADJUDICATOR],
                payload={"spans": [], "relations": decision["relations"]},
                reason="As the guideline reads the sentence.",
                client_id=_client_id("decision", item.external_id),
                votes_key=item.votes_key,
            )
    return _freeze(project, by=curator)


def corrected_test_set(accounts: DemoAccounts) -> TestSet:
    """Decide four sentences anew, and freeze version 1.1."""
    project, adjudicator = Project.objects.get(slug="harbour-news"), accounts.users[ADJUDICATOR]
    for correction in _lines("relation_corrections.jsonl"):
        client_id = _client_id("correction", correction["item"])
        item = project.items.live().get(external_id=correction["item"])
        if item.adjudications.filter(client_id=client_id).exists():
            continue
        if item.state in Item.DECIDED:
            decisions.reopen(item, by=adjudicator)
            item.refresh_from_db()
        decisions.decide(
            item,
            by=adjudicator,
            payload={"spans": [], "relations": correction["relations"]},
            reason=correction["reason"],
            client_id=client_id,
            votes_key=item.votes_key,
        )
    return _freeze(project, by=accounts.users[CURATOR], version="1.1")


def entity_test_set(
    accounts: DemoAccounts, slug: str = "harbour-names", *, title: str = "Harbour news, names", part: str = ""
) -> TestSet:
    """Import tokenised sentences with the votes of three annotators, and freeze."""
    curator = accounts.users[CURATOR]
    project = _ensure_project(slug, by=curator, title=title, kind="entities", k=3, guideline=SPAN_GUIDELINE)
    inventory.add_labels(project, _labels("entities"), by=curator)
    _add_members(project, accounts)
    _import(project, "items", f"entities{part}.jsonl", f"{slug}.jsonl", curator)
    _import(project, "votes", f"entity{part}_votes.jsonl", f"{slug}-votes.jsonl", curator, k=3)
    projects.open_for_work(project, by=curator)
    return _freeze(project, by=curator)


def more_to_label(accounts: DemoAccounts, project: Project) -> None:
    """Import twelve more sentences, some of them marked."""
    _import(project, "items", "entities_open.jsonl", "harbour-names-2.jsonl", accounts.users[CURATOR])
    _record_votes(project, "entity_open_votes.jsonl", accounts)


def joint_test_set(accounts: DemoAccounts) -> TestSet:
    """Import texts, record names and the relations between them, freeze; eight stay to label or decide."""
    curator = accounts.users[CURATOR]
    project = _ensure_project(
        "harbour-joint", by=curator, title="Harbour news, names and relations", kind="joint", k=2,
        guideline=JOINT_GUIDELINE,
    )  # fmt: skip
    inventory.add_labels(project, _labels("entities"), by=curator, part="entity")
    inventory.add_labels(project, _labels("joint relations"), by=curator, part="relation")
    _add_members(project, accounts)
    _import(project, "items", "joint.jsonl", "harbour-joint.jsonl", curator)
    projects.open_for_work(project, by=curator)
    _record_votes(project, "joint_votes.jsonl", accounts)
    return _freeze(project, by=curator)


def _add_members(project: Project, accounts: DemoAccounts) -> None:
    by = accounts.users[CURATOR]
    for name in ANNOTATORS:
        projects.set_member(project, user=accounts.users[name], role="annotator", by=by)
    projects.set_member(project, user=accounts.users[ADJUDICATOR], role="adjudicator", by=by)


def _record_votes(project: Project, name: str, accounts: DemoAccounts) -> None:
    """Record the votes of a file that are not stored yet."""
    items = {item.external_id: item for item in project.items.live()}
    stored = set(Vote.objects.filter(item__project=project).values_list("client_id", flat=True))
    for vote in _lines(name):
        client_id = _client_id("vote", vote["item"], vote["annotator"])
        if client_id not in stored:
            payload = {part: vote.get(part, []) for part in ("spans", "relations")}
            user = accounts.users[vote["annotator"]]
            votes.answer(items[vote["item"]], user, client_id=client_id, payload=payload)


def _ensure_project(slug: str, *, by: User, **fields: Any) -> Project:
    return Project.objects.filter(slug=slug).first() or projects.create(slug=slug, by=by, **fields)


def _import(project: Project, what: str, name: str, filename: str, by: User, **options: Any) -> None:
    same = project.batches.filter(what=what, filename=filename)
    batch = same.exclude(state__in=batches.UNFINISHED_STATES).first()
    if batch is None:
        upload = BytesIO((DATA / name).read_bytes())
        batch = batches.receive(
            content=what, upload=upload, filename=filename, options=options, by=by, project=project
        )
    _finish_job("import", batch.pk)


def _freeze(project: Project, *, by: User, version: str = "1.0") -> TestSet:
    """Freeze a version without the open and disputed items; source labels of a closed project have all."""
    projects.close(project, by=by)
    test_set = project.test_sets.filter(version=version, origin="annotated").first()
    test_set = test_set or builder.freeze(project, name=project.title, version=version, leave_out=True, by=by)
    _finish_job("freeze", test_set.pk)
    projects.open_for_work(project, by=by)
    test_set.refresh_from_db()
    return test_set


def _finish_job(kind: str, subject: int) -> None:
    """Wait for the newest such job; run it if no worker does."""
    finish_jobs(kind, [subject])


def finish_jobs(kind: str, subjects: Iterable[int]) -> None:
    """Wait for the newest such job of each subject; run those that no worker does."""
    from workers.runner import run_inline

    started = time.monotonic()
    for subject in subjects:
        job = Job.objects.filter(kind=kind, subject=subject).order_by("-id").first()
        while job is not None and job.state not in Job.ENDED:
            if time.monotonic() - started > WORKER_SECONDS:
                run_inline(job)
            time.sleep(0.1)
            job = Job.objects.get(pk=job.pk)
        if job is not None and job.state != Job.State.DONE:
            raise Conflict("demo_failed", f"{job}: {job.error}")
