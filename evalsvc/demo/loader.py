"""Load the demo through the functions that pages and API use.

Every step can be repeated. `data/` holds the items, votes and decisions of four labelling projects, and the
predictions of 39 runs; six of them are also submitted to a hidden phase.
"""

from __future__ import annotations

import gzip
import json
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from django.conf import settings

from annotation import projects
from annotation.adjudication import decisions
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Item, Project, Vote
from annotation.ontology import inventory
from annotation.queue import votes
from annotation.reports import agreement
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs.models import Job
from evalsvc.demo.accounts import ANNOTATORS, TEAM_OWNERS, DemoAccounts, ensure_accounts
from evalsvc.demo.logins import ADJUDICATOR, CURATOR, read_passwords
from evalsvc.evaluation.benchmarks import contributed, creation, inputs
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.reported import entries
from evalsvc.evaluation.submissions import intake

DATA = Path(__file__).parent / "data"
WORKER_SECONDS = 2.0
"""Time a worker has to take a job before the loader runs it itself."""
CORRECTED = "Four relations that sentences only hint at were removed."
RUNS, HIDDEN_RUNS, JOINT_RUNS = (1, 2, 3, 4, 5), (1, 5), (1, 2, 3)
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
RELATION_SETTINGS = (
    ("manual-sentence", "Human gold, sentences", "annotated", None, "sentence", "micro_f1"),
    ("manual-bag", "Human gold, bags", "annotated", None, "bag", "ap"),
    ("same-sentences", "Held-out, same sentences", "source", "annotated", "bag", "ap"),
    ("held-out", "Held-out", "source", None, "bag", "ap"),
)
RELATION_SYSTEMS = (
    ("markers", "A fine-tuned encoder with entity markers; it has hardly seen the rare relations."),
    (
        "prompted",
        "A prompted language model without training: even across relations, generous on common ones.",
    ),
    (
        "memory",
        "A bag model trained on distant supervision: it has learned what the source labels say of a pair.",
    ),
)
ENTITY_SYSTEMS = (
    ("tagger", "A fine-tuned sequence tagger: at home with people and places, lost with organisations."),
    ("reader", "A prompted language model: even across labels, careless with bounds."),
    ("gazetteer", "Lists of names looked up word by word: few inventions, many gaps."),
)
JOINT_SYSTEMS = (
    ("cascade", "A tagger, then a classifier of its pairs: sure of names, shy of relations."),
    ("joiner", "One model for both: fewer relations missed, more types confused."),
    ("patterns", "Patterns written by hand: few relations, nearly all of them correct."),
)
CONTRIBUTED: tuple[dict[str, Any], ...] = (
    {
        "name": "organisation-words",
        "title": "WRF of organisations",
        "composition": {
            "base": "wrf",
            "gamma": "custom",
            "gammas": {"classes": {"person": 1, "organisation": 4, "place": 1}, "combined": 2},
        },
    },
    {
        "name": "recall-of-places",
        "title": "recall of places",
        "composition": {"base": "conll", "figure": "recall", "labels": ["place"]},
    },
)
ENTITY_BENCHMARKS: tuple[tuple[str, dict[str, str], dict[str, Any], tuple[int, ...]], ...] = (
    (
        "harbour-names",
        {"title": "Harbour names", "summary": "People, organisations and places in harbour news"},
        {"key": "spans", "title": "Human gold, spans", "disclosure": "open"},
        RUNS,
    ),
    (
        "harbour-names-hidden",
        {
            "title": "Harbour names, hidden test",
            "summary": "Names in other sentences, as a phase that holds exact figures back",
        },
        {"key": "test", "title": "Hidden test", "phase": "test"},
        HIDDEN_RUNS,
    ),
)


def is_wanted() -> bool:
    """True on an empty database, and after an unfinished load."""
    return not Project.objects.exists() or (bool(read_passwords()) and not _finished_marker().exists())


def load(report: Callable[[str], None]) -> None:
    """Load projects, test sets and benchmarks; submit runs for a worker."""
    security = logging.getLogger("evalsvc.security")
    level = security.level
    security.setLevel(logging.WARNING)  # the demo's own people are no event
    try:
        _load(report)
    finally:
        security.setLevel(level)


def _load(report: Callable[[str], None]) -> None:
    accounts = ensure_accounts()
    report("loading and freezing 317 sentences with the votes of four annotators")
    relations = _relation_benchmark(accounts, _relation_test_set(accounts))
    _submit_runs(accounts, relations, RELATION_SYSTEMS)
    report("loading and freezing 140 sentences, in two sets, with the names that three annotators marked")
    entities = _entity_test_set(accounts)
    _more_to_label(accounts, Project.objects.get(slug="harbour-names"))
    secret = _entity_test_set(  # errors on gold that is secret elsewhere are shown to nobody
        accounts, "harbour-names-hidden", title="Harbour news, names of the hidden test", part="_hidden"
    )
    report("loading and freezing 40 texts with the names and relations that two annotators marked")
    joint = _joint_test_set(accounts)
    report("submitting 45 runs; the worker scores them")
    curator = accounts.users[CURATOR]
    for (slug, fields, setting, runs), gold in zip(ENTITY_BENCHMARKS, (entities, secret), strict=True):
        benchmark = _ensure_benchmark(slug, by=curator, labels=gold.labels, task="entities", **fields)
        if not benchmark.settings.exists():
            values = {"unit": "document", "main": "conll_micro_f1", **setting}
            creation.add_setting(benchmark, test_set=gold, by=curator, **values)
        if slug == "harbour-names":
            _contribute(benchmark, by=curator)
        _submit_runs(accounts, benchmark, ENTITY_SYSTEMS, runs=runs)
    _submit_runs(accounts, _joint_benchmark(accounts, joint), JOINT_SYSTEMS, runs=JOINT_RUNS)
    report("scoring 15 runs again for a corrected gold")
    _correct_gold(accounts, relations.settings.get(key="manual-sentence"))
    for project in Project.objects.filter(agreements=None).order_by("pk"):
        agreement.request_report(project, by=curator)
    _finished_marker().touch()


def _finished_marker() -> Path:
    return Path(settings.DATA_DIR) / "demo.whole"


def _lines(name: str) -> Iterator[Any]:
    return map(json.loads, (DATA / name).read_bytes().splitlines())


def _labels(kind: str) -> list[Any]:
    return list(json.loads((DATA / "labels.json").read_text())[kind])


def _client_id(*parts: object) -> UUID:
    """The same id on every load, so that nothing is written twice."""
    return uuid5(NAMESPACE_URL, "demo/" + "/".join(str(part) for part in parts))


def _relation_test_set(accounts: DemoAccounts) -> TestSet:
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


def _correct_gold(accounts: DemoAccounts, setting: Setting) -> None:
    """Decide four sentences anew, freeze version 1.1, and begin a version of the setting with it.

    Its runs are scored before, so that there is something to move.
    """
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
    curator = accounts.users[CURATOR]
    corrected = _freeze(project, by=curator, version="1.1")
    if setting.version == 1:
        _finish_jobs("score", setting.benchmark.submissions.values_list("pk", flat=True))
        creation.revise_setting(setting, test_set=corrected, by=curator, note=CORRECTED)


def _entity_test_set(
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


def _more_to_label(accounts: DemoAccounts, project: Project) -> None:
    """Import twelve more sentences, some of them marked."""
    _import(project, "items", "entities_open.jsonl", "harbour-names-2.jsonl", accounts.users[CURATOR])
    _record_votes(project, "entity_open_votes.jsonl", accounts)


def _joint_test_set(accounts: DemoAccounts) -> TestSet:
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
    """Freeze a version without the open and disputed items."""
    test_set = project.test_sets.filter(version=version, origin="annotated").first()
    test_set = test_set or builder.freeze(project, name=project.title, version=version, leave_out=True, by=by)
    _finish_job("freeze", test_set.pk)
    test_set.refresh_from_db()
    return test_set


def _relation_benchmark(accounts: DemoAccounts, gold: TestSet) -> Benchmark:
    """Four settings: human gold and source labels, by sentence and by bag."""
    benchmark = _ensure_benchmark(
        "harbour-relations",
        by=accounts.users[CURATOR],
        labels=gold.labels,
        title="Harbour relations",
        task="relations",
        summary="Relations between people, places and companies in harbour news",
        negative="N/A",
    )
    test_sets = {"annotated": gold, "source": gold.source_twin}
    for key, title, origin, only, unit, main in RELATION_SETTINGS:
        if not benchmark.settings.filter(key=key).exists():
            creation.add_setting(
                benchmark, key=key, title=title, test_set=test_sets[origin], unit=unit, main=main,
                by=accounts.users[CURATOR], only=test_sets[only] if only else None, disclosure="open",
            )  # fmt: skip
    _report_figures(benchmark.settings.get(key="manual-sentence"), by=accounts.users[CURATOR])
    return benchmark


def _report_figures(setting: Setting, *, by: User) -> None:
    """Enter the systems of two invented tables; one of them prints what no counts give."""
    if not setting.reported.exists():
        for table in json.loads((DATA / "reported_demo.json").read_text()):
            entries.add(setting, by=by, **table)


def _contribute(benchmark: Benchmark, *, by: User) -> None:
    """Propose the contributed measures of the demo; one is admitted, one waits."""
    if benchmark.measures.exists():
        return
    for fields in CONTRIBUTED:
        contributed.propose(benchmark, by=by, **fields)
    contributed.decide(contributed.measure_for(benchmark, "organisation-words", 1), admit=True, by=by)


def _joint_benchmark(accounts: DemoAccounts, gold: TestSet) -> Benchmark:
    curator = accounts.users[CURATOR]
    benchmark = _ensure_benchmark(
        "harbour-joint",
        by=curator,
        labels=gold.labels,
        title="Harbour names and relations",
        task="joint",
        summary="Names in harbour news, and the relations between them",
    )
    if not benchmark.settings.exists():
        creation.add_setting(
            benchmark, key="texts", title="Human gold, texts", test_set=gold, unit="document",
            main="relation_strict_micro_f1", by=curator, disclosure="open",
        )  # fmt: skip
    return benchmark


def _ensure_benchmark(slug: str, *, by: User, **fields: Any) -> Benchmark:
    return Benchmark.objects.filter(slug=slug).first() or creation.create(slug=slug, by=by, **fields)


def _submit_runs(
    accounts: DemoAccounts,
    benchmark: Benchmark,
    systems: tuple[tuple[str, str], ...],
    *,
    runs: tuple[int, ...] = RUNS,
) -> None:
    """Submit runs of one system per team; files of entities answer the sentences of both benchmarks."""
    ids = {json.loads(line)["id"] for line in inputs.input_lines(*benchmark.settings.all())}
    for (team, owner), (system, description) in zip(TEAM_OWNERS.items(), systems, strict=True):
        for run in runs:
            name = f"{system}-run{run}.jsonl"
            intake.receive(
                benchmark,
                team=accounts.teams[team],
                by=accounts.users[owner],
                system=system.title(),
                run=str(run),
                chunks=[_answers(name, ids if benchmark.task == "entities" else ())],
                filename=name,
                tags={"description": description},
            )


def _answers(name: str, ids: Collection[str]) -> bytes:
    """Return a file of predictions, or its lines for some items."""
    content = gzip.decompress((DATA / "runs" / f"{name}.gz").read_bytes())
    lines = content.splitlines(keepends=True)
    return b"".join(line for line in lines if json.loads(line)["id"] in ids) if ids else content


def _finish_job(kind: str, subject: int) -> None:
    """Wait for the newest such job; run it if no worker does."""
    _finish_jobs(kind, [subject])


def _finish_jobs(kind: str, subjects: Iterable[int]) -> None:
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
