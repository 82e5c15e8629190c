"""Labelling projects of the tests: one to fill as a test needs it, and Harbour with a person per role."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from typing import Any
from uuid import uuid4

from django.core.exceptions import NON_FIELD_ERRORS
from django.core.files.uploadedfile import SimpleUploadedFile
from django.forms import BaseForm
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.consensus import item_state
from annotation.imports import batches
from annotation.models import Answer, Batch, Item, Project
from annotation.ontology import inventory
from annotation.queue import votes
from evalsvc.core.accounts.models import User
from tests.cast.basics import person, run_job, sentence
from tests.cast.replay import replayed

LABELS: tuple[Mapping[str, Any], ...] = (
    {"name": "lived_in", "title": "place lived", "phrase": "lived in", "definition": "The head lived there."},
    {"name": "born_in", "title": "place of birth", "phrase": "was born in"},
    {"name": "died_in", "title": "place of death", "phrase": "died in"},
)
ROLES = {"ann": "annotator", "bob": "annotator", "judy": "adjudicator", "vera": "viewer"}


def curator() -> User:
    return person("curator", may_organise=True)


def response_of(project: Project, name: str, *more: int, user: str = "curator", **query: str) -> Any:
    """Return a page of a project as a person gets it."""
    browser = Client()
    browser.force_login(person(user))
    response = browser.get(reverse(name, args=[project.slug, *more]), query)
    assert response.status_code == 200
    return response


def seen(project: Project, name: str, *more: int, user: str = "curator", **query: str) -> str:
    """Return the text of a page or file of a project."""
    return unescape(b"".join(response_of(project, name, *more, user=user, **query)).decode())


def error_codes(response: Any, field: str | None) -> list[str]:
    """Return the codes of the errors at a field (None: above the form) of a page's forms."""
    values = (value for context in response.context for part in context.dicts for value in part.values())
    shown = {id(value): value for value in values if isinstance(value, BaseForm)}
    name = NON_FIELD_ERRORS if field is None else field
    return [error.code for form in shown.values() for error in form.errors.as_data().get(name, [])]


@replayed
def create_project(
    kind: str = "relations", *, labels: Sequence[str] = ("A", "B", "C"), **fields: Any
) -> Project:
    """An empty project of `curator`."""
    slug = f"trial-{uuid4().hex[:8]}"
    project = projects.create(title="Trial", slug=slug, kind=kind, by=curator(), **({"k": 2} | fields))
    if labels:
        inventory.add_labels(project, labels, by=curator())
    return project


def jsonl_file(lines: Iterable[Mapping[str, Any] | str]) -> io.BytesIO:
    texts = [entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False) for entry in lines]
    return io.BytesIO("\n".join(texts).encode())


def upload(*lines: Mapping[str, Any]) -> SimpleUploadedFile:
    return SimpleUploadedFile("lines.jsonl", jsonl_file(lines).getvalue())


@replayed
def import_lines(
    project: Project | None,
    lines: Iterable[Mapping[str, Any] | str],
    *,
    what: str = "items",
    format: str = "",
    by: User | None = None,
    **options: Any,
) -> Batch:
    """Upload these lines and run the import."""
    batch = batches.receive(
        content=what,
        upload=jsonl_file(lines),
        filename="lines.jsonl",
        format=format,
        options=options,
        by=by or curator(),
        project=project,
    )
    run_job("import", batch.pk)
    batch.refresh_from_db()
    return batch


@replayed
def project_with_items(n: int = 3, *, opened: bool = True, **fields: Any) -> Project:
    """A project with the items s0, s1, …; open for labelling unless stated otherwise."""
    project = create_project(**fields)
    import_lines(project, [sentence(at) for at in range(n)])
    return projects.open_for_work(project, by=curator()) if opened else project


def annotators(project: Project, n: int) -> list[User]:
    users = [person(f"ann{at}") for at in range(n)]
    for user in users:
        projects.set_member(project, user=user, role="annotator", by=curator())
    return users


def answer_item(item: Item, user: User, *relations: str, **fields: Any) -> votes.VoteResult:
    """One vote; no relations means N/A."""
    payload = {"spans": [], "relations": list(relations)}
    return votes.answer(item, user, client_id=uuid4(), payload=payload, **fields)


def adjudicator(project: Project, name: str = "judge") -> User:
    user = person(name)
    projects.set_member(project, user=user, role="adjudicator", by=curator())
    return user


def label_names(project: Project, part: str = "relation") -> list[str]:
    return [choice.name for choice in inventory.inventory(project, part)]


def is_surplus(item: Item, user: User) -> bool:
    """Return whether the person's answer came after those that count."""
    answers = list(Answer.objects.filter(item=item).active())
    annotator = item.project.annotators.get(user=user)
    return annotator.pk in item_state.surplus_annotators(item, answers, item.project)


def answered_item(project: Project, *answers: Sequence[str], item: str = "s0") -> Item:
    """The item after an annotator gave each of these answers in turn."""
    answered = project.items.get(external_id=item)
    for user, relations in zip(annotators(project, len(answers)), answers, strict=True):
        answer_item(answered, user, *relations)
    answered.refresh_from_db()
    return answered


@dataclass
class ProjectCast:
    """Harbour news: curator Cleo, annotators Ann and Bob, adjudicator Judy, viewer Vera."""

    curator: User
    project: Project
    people: dict[str, User] = field(default_factory=dict)

    @classmethod
    @replayed
    def create(cls, *, kind: str = "relations", k: int = 2, labels: Iterable[Any] = LABELS) -> ProjectCast:
        cleo = person("cleo", first_name="Cleo", last_name="Doe", may_organise=True)
        project = projects.create(title="Harbour news", slug="harbour", kind=kind, k=k, by=cleo)
        inventory.add_labels(project, labels, by=cleo)
        people = {name: person(name, first_name=name.title(), last_name="Doe") for name in ROLES}
        for name, role in ROLES.items():
            projects.set_member(project, user=people[name], role=role, by=cleo)
        return cls(cleo, project, {"curator": cleo} | people)

    def import_lines(self, *lines: Mapping[str, Any], **options: Any) -> Batch:
        return import_lines(self.project, lines, by=self.curator, **options)

    def open(self) -> ProjectCast:
        """Open the project for labelling."""
        projects.open_for_work(self.project, by=self.curator)
        self.project.refresh_from_db()
        return self

    def item(self, at: int) -> Item:
        return self.project.items.get(external_id=f"s{at}")

    def answer(self, who: str, at: int, *relations: str, comment: str = "") -> None:
        answer_item(self.item(at), self.people[who], *relations, comment=comment)

    def dispute(self, at: int) -> Item:
        """Let the two annotators disagree on a sentence."""
        self.answer("ann", at, "lived_in", comment="She stayed for years.")
        self.answer("bob", at, "born_in")
        return self.item(at)
