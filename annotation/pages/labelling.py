"""Labelling pages: a member's projects and the labelling form.

The form shows no other votes and no gold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation import roles
from annotation.adjudication import dispute_list
from annotation.models import Project
from annotation.ontology.labels import DIGITS, Choice, inventory
from annotation.pages.project_page import project_context, project_for
from annotation.pages.projects import may_organise
from annotation.queue import gold_questions, participants
from annotation.reports.progress import progress_of
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.markdown import section_html, to_html
from evalsvc.core.web.views import page, page_of

COLUMNS, PER_PAGE = 3, 10
HEADING_HEIGHT = 1.2  # in rows, with its space
MAX_UNEVEN = 1.4  # a list longer by this factor is worse than a group over two columns
BAR_WIDTH = 176
# Modules of the form, preloaded so that browsers fetch them side by side and not one after another
PARTS = (
    *(
        f"annotation/label/{part}.js"
        for part in (
            *("answer", "conflicts", "drafts", "feedback", "guide", "history", "keyboard", "keys", "outbox"),
            *("page", "progress", "reserve", "search", "sentence", "server", "spans", "status", "storage"),
        )
    ),
    *(
        f"annotation/spans/{part}.js"
        for part in ("document", "drawing", "editor", "lists", "pointer", "text")
    ),
)
COMMANDS = (
    ("na", "N/A: clears all relations"),
    ("find", "Find a relation by name"),
    ("undo", "Undo in this sentence"),
    ("redo", "Redo in this sentence"),
    ("history", "Open your last 10 answers, to change them"),
    ("skip", "Skip, with a reason"),
    ("comment", "Comment"),
    ("flag", "Flag"),
    ("keys", "Show all keys"),
)
SPAN_KEYS = (
    ("← →", "Caret to the previous or next word; with ⇧ select more"),
    ("↑ ↓", "Caret to the previous or next sentence; with ⇧ select more"),
    ("K", "Move and mark by characters, or by words again"),
    ("space", "Mark the selected words with the label used last; Esc forgets it"),
    ("⇥", "Choose the next span; with ⇧ the previous one"),
    ("[ ]", "End of the chosen span one word back or on; with ⇧ its start"),
    ("L", "Next label for the chosen span; a label’s key changes it at once"),
    ("⌫", "Remove the chosen span"),
    ("E", "Find the words of the chosen span elsewhere; again marks them"),
    ("Y X", "Accept or reject a prediction; with ⇧ all of them"),
)
LINK_KEYS = (
    ("R", "Relation from the chosen span: ⇥ goes to the tail, ↵ or a click takes it"),
    ("T", "Turn the last relation of the chosen span"),
)


@dataclass(frozen=True, slots=True)
class ChoiceGroup:
    """Relations under one heading; `again` if it continues a column."""

    title: str
    choices: list[Choice]
    again: bool = False


@dataclass(frozen=True, slots=True)
class MemberProject:
    """Project in its member's list."""

    project: Project
    role: str
    progress: dict[str, Any]
    disputed: int
    labels: bool
    decides: bool


@page()
def index(request: HttpRequest) -> HttpResponse:
    user = person(request)
    projects = roles.listed_projects(user).order_by("state", "-created_at", "pk")
    pages = page_of(request, projects, size=PER_PAGE)
    context = {
        "mine": [_member_project(project, user) for project in pages],
        "pages": pages,
        "organises": may_organise(user),
    }
    return render(request, "annotation/label_index.html", context)


def _is_labelled_here(project: Project) -> bool:
    return project.state == Project.State.OPEN


def _member_project(project: Project, user: User) -> MemberProject:
    role = roles.role_in(project, user) or ""
    decides = role in roles.MAY_DECIDE
    disputed = dispute_list.count_by_pattern(project).total() if decides else 0
    labels = role in roles.MAY_LABEL and _is_labelled_here(project)
    return MemberProject(project, role, progress_of(project, user), disputed, labels, decides)


@page()
def label(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the labelling form, or to a former member a notice."""
    user = person(request)
    try:
        project, role = project_for(request, slug, *roles.MAY_LABEL)
    except Http404:
        former = participants.former_project(user, slug)
        if former is None:
            raise
        context = {"project": former, "former_member": True}
        return render(request, "annotation/label_closed.html", context, status=403)
    if not _is_labelled_here(project):
        return render(request, "annotation/label_closed.html", project_context(project, role))
    progress = progress_of(project, user)
    marks, links, choices = _labels_of(project)
    done = progress["answered"] + progress["skipped"]
    width = BAR_WIDTH * done / progress["total"] if progress["total"] else 0
    root = f"{reverse('home')}api/v1/"
    context = project_context(
        project,
        role,
        guideline=to_html(project.guideline),
        choices=choices,
        guides=[
            {
                "choice": choice,
                "own": to_html(choice.definition),
                "section": section_html(project.guideline, choice.name, choice.title),
            }
            for choice in choices
        ],
        columns=columns(choices),
        progress=progress | {"done": done, "width": f"{width:.1f}"},
        api={"root": root, "project": f"{root}projects/{project.slug}/"},
        commands=_commands(bool(marks)),
        span_keys=_span_keys(marks, links),
        parts=PARTS,
        marks=marks,
        links=links,
        qualifying=gold_questions.must_qualify(project, user, role=role),
    )
    return render(request, "annotation/label.html", context)


def _commands(marks_spans: bool) -> list[tuple[str, str]]:
    if not marks_spans:
        return list(COMMANDS)
    titles = {**dict(COMMANDS), "na": "N/A: clears all spans"}
    return [(name, title) for name, title in titles.items() if name != "find"]


def _span_keys(marks: list[Choice], links: list[Choice]) -> list[tuple[str, str]]:
    """Return the keys of labels, relations and the span editor with their actions."""
    if not marks:
        return []
    own = [(choice.key, choice.title) for choice in [*marks, *links] if choice.key]
    return [*own, *SPAN_KEYS, *(LINK_KEYS if links else ())]


def _labels_of(project: Project) -> tuple[list[Choice], list[Choice], list[Choice]]:
    """Return labels of spans, relations between spans, and relations of sentences."""
    relations = inventory(project) if project.kind != Kind.ENTITIES else []
    if project.kind == Kind.RELATIONS:
        return [], [], relations
    marks = inventory(project, "entity")
    if not relations:
        return marks, [], []
    return _with_keys(marks, DIGITS), _with_keys(relations, [f"⇧{digit}" for digit in DIGITS]), []


def _with_keys(choices: list[Choice], keys: Sequence[str]) -> list[Choice]:
    padded = [*keys, *("" for _ in choices)]
    return [replace(choice, key=key) for choice, key in zip(choices, padded, strict=False)]


def columns(choices: list[Choice]) -> list[list[ChoiceGroup]]:
    """Arrange groups in three even columns, rarely cutting one."""
    titles = list(dict.fromkeys(choice.group for choice in choices))
    groups = [[choice for choice in choices if choice.group == title] for title in titles]
    whole, cut = _fill(groups), _fill([[choice] for group in groups for choice in group])
    best = whole if _height(whole) <= MAX_UNEVEN * _height(cut) else cut
    continued = pairwise([None, *(column[-1].group for column in best)])
    return [_groups(column, before) for column, (before, _) in zip(best, continued, strict=True)]


def _fill(pieces: list[list[Choice]]) -> list[list[Choice]]:
    """Fill at most three columns, as evenly as possible."""
    limit = max(_height(pieces), _height([[choice for piece in pieces for choice in piece]]) / COLUMNS)
    while True:
        filled: list[list[Choice]] = []
        for piece in pieces:
            if filled and _height([filled[-1] + piece]) <= limit:
                filled[-1] = filled[-1] + piece
            else:
                filled.append(list(piece))
        if len(filled) <= COLUMNS:
            return filled
        limit += 0.2


def _height(columns: list[list[Choice]]) -> float:
    """Height of the highest column, in rows."""
    return max(
        (len(column) + HEADING_HEIGHT * len({choice.group for choice in column}) for column in columns),
        default=0.0,
    )


def _groups(column: list[Choice], before: str | None) -> list[ChoiceGroup]:
    titles = list(dict.fromkeys(choice.group for choice in column))
    return [
        ChoiceGroup(
            title or "Relations",
            [choice for choice in column if choice.group == title],
            again=at == 0 and title == before,
        )
        for at, title in enumerate(titles)
    ]
