"""Projects, people and sentences for the tests of this room, made through the verbs that everybody uses."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

from annotation import projects
from annotation.imports import batches
from annotation.models import Batch, Item, Project
from annotation.ontology import inventory
from annotation.queue import votes
from evalsvc.core.accounts.models import User
from evalsvc.core.jobs.models import Job
from workers.runner import run_inline

LABELS = ("A", "B", "C")


def person(name: str, **more: Any) -> User:
    return User.objects.get_or_create(username=name, defaults=more)[0]


def curator() -> User:
    return person("curator", may_organise=True)


def project(kind: str = "relations", *, labels: Sequence[str] = LABELS, **more: Any) -> Project:
    made = projects.create(
        title="Trial", slug=f"trial-{uuid4().hex[:8]}", kind=kind, by=curator(), **({"k": 2} | more)
    )
    if labels:
        inventory.add_labels(made, labels, by=curator())
    return made


def line(name: str, **more: Any) -> dict[str, Any]:
    """One sentence with two entities; its text contains the id, so that no two are repeats."""
    head = {"id": "Q1", "name": "Ada", "pos": [0, 3]}
    tail = {"id": "Q2", "name": "Turin", "pos": [16, 21]}
    return {"id": name, "text": f"Ada was born in Turin, {name}.", "h": head, "t": tail} | more


def file(lines: Iterable[dict[str, Any] | str]) -> io.BytesIO:
    texts = [entry if isinstance(entry, str) else json.dumps(entry) for entry in lines]
    return io.BytesIO("\n".join(texts).encode())


def worked(kind: str, subject: int) -> Job:
    """The newest job of this kind, done here."""
    return run_inline(Job.objects.filter(kind=kind, subject=subject).latest("pk"))


def brought(
    into: Project | None,
    lines: Iterable[dict[str, Any] | str],
    *,
    what: str = "items",
    format: str = "",
    **options: Any,
) -> Batch:
    """An import from beginning to end."""
    batch = batches.receive(
        what=what,
        upload=file(lines),
        filename="file.jsonl",
        format=format,
        options=options,
        by=curator(),
        project=into,
    )
    worked("import", batch.pk)
    batch.refresh_from_db()
    return batch


def filled(n: int = 3, *, opened: bool = True, **more: Any) -> Project:
    """A project with n items, open for work."""
    made = project(**more)
    brought(made, [line(f"s{at}") for at in range(n)])
    return projects.open_for_work(made, by=curator()) if opened else made


def annotators(of: Project, n: int) -> list[User]:
    people = [person(f"ann{at}") for at in range(n)]
    for user in people:
        projects.set_member(of, user=user, role="annotator", by=curator())
    return people


def says(item: Item, user: User, *relations: str, base: int = 0) -> votes.VoteResult:
    payload = {"spans": [], "relations": list(relations)}
    return votes.answer(item, user, client_id=uuid4(), payload=payload, base=base)


def voted(of: Project, *answers: Sequence[str], item: str = "s0") -> Item:
    """The item after these people answered in this order."""
    found = of.items.get(external_id=item)
    for user, relations in zip(annotators(of, len(answers)), answers, strict=True):
        says(found, user, *relations)
    found.refresh_from_db()
    return found
