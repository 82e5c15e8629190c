"""A small project with its people, made through the verbs: what the tests of pages sit down at."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import msgspec

from annotation import projects
from annotation.imports import batches
from annotation.models import Batch, Item, Project
from annotation.ontology import inventory
from annotation.queue import votes
from evalsvc.core.accounts.models import User
from evalsvc.core.jobs.models import Job
from workers.runner import run_inline

LABELS: tuple[Mapping[str, Any], ...] = (
    {"name": "lived_in", "title": "place lived", "phrase": "lived in", "definition": "The head lived there."},
    {"name": "born_in", "title": "place of birth", "phrase": "was born in"},
    {"name": "died_in", "title": "place of death", "phrase": "died in"},
)
PASSWORD = "harbour-lamp-7"


def person(name: str, **more: Any) -> User:
    """A person who can log in."""
    return User.objects.create_user(name, password=PASSWORD, first_name=name.title(), last_name="Doe", **more)


def line(at: int, text: str = "", **more: Any) -> dict[str, Any]:
    """One sentence about Ada and Turin, `at` in its id and text."""
    text = text or f"Ada {at} was seen in Turin."
    tail = text.index("Turin")
    head = text.index("Ada")
    return {
        "id": f"s{at}",
        "text": text,
        "h": {"id": f"ada{at}", "name": "Ada", "pos": [head, head + 3]},
        "t": {"id": "turin", "name": "Turin", "pos": [tail, tail + 5]},
    } | more


def done(kind: str, subject: int) -> Job:
    """Do the newest job of this kind here."""
    job = Job.objects.filter(kind=kind, subject=subject).latest("pk")
    return run_inline(job)


@dataclass
class Desk:
    """One project and its people by name."""

    curator: User
    project: Project
    people: dict[str, User] = field(default_factory=dict)

    @classmethod
    def laid(cls, *, kind: str = "relations", k: int = 2, labels: Iterable[Any] = LABELS) -> Desk:
        """A project with a curator, two annotators, an adjudicator and a viewer."""
        curator = person("cleo", may_organise=True)
        project = projects.create(title="Harbour news", slug="harbour", kind=kind, k=k, by=curator)
        inventory.add_labels(project, labels, by=curator)
        desk = cls(curator, project, {"curator": curator})
        named = {"ann": "annotator", "bob": "annotator", "judy": "adjudicator", "vera": "viewer"}
        for name, role in named.items():
            desk.people[name] = person(name)
            projects.set_member(project, user=desk.people[name], role=role, by=curator)
        return desk

    def bring(self, *lines: Mapping[str, Any], what: str = "items", **options: Any) -> Batch:
        """Import these lines and do the job here."""
        upload = io.BytesIO(b"".join(msgspec.json.encode(entry) + b"\n" for entry in lines))
        batch = batches.receive(
            what=what,
            upload=upload,
            filename="lines.jsonl",
            options=options,
            by=self.curator,
            project=self.project,
        )
        done("import", batch.pk)
        batch.refresh_from_db()
        return batch

    def open(self) -> Desk:
        """Open the project for labelling."""
        projects.open_for_work(self.project, by=self.curator)
        self.project.refresh_from_db()
        return self

    def item(self, at: int) -> Item:
        return self.project.items.get(external_id=f"s{at}")

    def say(self, who: str, at: int, *relations: str, comment: str = "") -> None:
        """One person's answer to one sentence; none of the relations is N/A."""
        said = {"spans": [], "relations": list(relations)}
        votes.answer(self.item(at), self.people[who], client_id=uuid4(), payload=said, comment=comment)

    def dispute(self, at: int) -> Item:
        """Let the two annotators differ on a sentence."""
        self.say("ann", at, "lived_in", comment="She stayed for years.")
        self.say("bob", at, "born_in")
        return self.item(at)
