"""Labelling: what waits for a person, and the form. It knows no other vote, source label or gold."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from annotation import roles
from annotation.adjudication import decisions
from annotation.models import Project
from annotation.ontology.inventory import Choice, inventory
from annotation.pages.view_helpers import around, project_for
from annotation.queue import gold_questions, participants
from annotation.reports.progress import progress_of
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.markdown import section_html, to_html
from evalsvc.core.web.views import page

COLUMNS = 3
HEADING = 1.2
MUCH = 1.4  # a list this much longer is worse than a group in two columns
BAR = 176
# All parts of the form's module, so that a browser fetches them side by side and not one after another.
PARTS = tuple(
    f"annotation/label/{part}.js"
    for part in (
        *("answer", "drafts", "search", "guide", "keyboard", "keys", "outbox", "pace", "page", "history"),
        *("reserve", "rounds", "sentence", "server", "storage"),
    )
)
COMMANDS = (
    ("na", "N/A: clears the rest"),
    ("find", "Find a relation by name"),
    ("undo", "Undo"),
    ("redo", "Redo"),
    ("history", "Your last 10, to open again"),
    ("skip", "Skip, with a reason"),
    ("comment", "Comment"),
    ("flag", "Flag"),
    ("keys", "This list"),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Relations under one heading; `again` when the heading stood over the column before."""

    title: str
    choices: list[Choice]
    again: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """One project as its member's list shows it."""

    project: Project
    role: str
    progress: dict[str, Any]
    disputed: int
    labels: bool
    decides: bool


@page()
def index(request: HttpRequest) -> HttpResponse:
    user = person(request)
    mine = [
        _waiting(project, user) for project in roles.visible_projects(user).order_by("state", "-created_at")
    ]
    return render(
        request,
        "annotation/label_index.html",
        {"mine": mine, "organises": user.may_organise or user.is_superuser},
    )


def _waiting(project: Project, user: User) -> Waiting:
    role = roles.role_in(project, user) or ""
    decides = role in roles.MAY_DECIDE
    disputed = decisions.disputes(project).count() if decides else 0
    labels = (
        role in roles.MAY_LABEL and project.state == Project.State.OPEN and project.kind == Kind.RELATIONS
    )
    return Waiting(project, role, progress_of(project, user), disputed, labels, decides)


@page()
def label(request: HttpRequest, slug: str) -> HttpResponse:
    try:
        project, role = project_for(request, slug, *roles.MAY_LABEL)
    except Http404:
        return _no_member(request, slug)
    shown = around(project, role, guideline=to_html(project.guideline))
    if project.kind != Kind.RELATIONS or project.state != Project.State.OPEN:
        return render(request, "annotation/label_closed.html", shown)
    choices = inventory(project)
    return render(
        request,
        "annotation/label.html",
        shown
        | {
            "choices": choices,
            "guides": [_guide(project, choice) for choice in choices],
            "columns": columns(choices),
            "progress": _progress(project, person(request)),
            "api": _api(project),
            "commands": COMMANDS,
            "parts": PARTS,
            "qualifying": gold_questions.must_qualify(project, person(request), role=role),
        },
    )


def _no_member(request: HttpRequest, slug: str) -> HttpResponse:
    """Whoever worked there hears that they are out of it; to everybody else nothing is there."""
    left = participants.former_project(person(request), slug)
    if left is None:
        raise Http404
    return render(request, "annotation/label_progress.html", {"project": left}, status=403)


def _guide(project: Project, choice: Choice) -> dict[str, Any]:
    """A relation's own words, and what the project's guideline says under a heading with its name."""
    own, said = to_html(choice.definition), section_html(project.guideline, choice.name, choice.title)
    return {"choice": choice, "own": own, "section": said}


def _api(project: Project) -> dict[str, str]:
    root = f"{reverse('home')}api/v1/"
    own = f"{root}projects/{project.slug}/"
    return {"root": root, "reserve": f"{own}reserve", "history": f"{own}history"}


def _progress(project: Project, user: User) -> dict[str, Any]:
    """What the person did of what they could do: others take sentences too, so the whole may shrink."""
    progress = progress_of(project, user)
    done = progress["answered"] + progress["skipped"]
    total = done + progress["waiting"]
    width = BAR * done / total if total else 0
    return progress | {"done": done, "total": total, "width": f"{width:.1f}"}


def columns(choices: list[Choice]) -> list[list[Group]]:
    """The groups in three columns of like height, in order; a group is cut where that saves much."""
    titles = list(dict.fromkeys(choice.group for choice in choices))
    whole = [[choice for choice in choices if choice.group == title] for title in titles]
    apart = [[choice] for group in whole for choice in group]
    kept, split = _filled(whole), _filled(apart)
    best = kept if _height(kept) <= MUCH * _height(split) else split
    again = pairwise([None, *(column[-1].group for column in best)])
    return [_grouped(column, before) for column, (before, _) in zip(best, again, strict=True)]


def _filled(pieces: list[list[Choice]]) -> list[list[Choice]]:
    """The pieces in at most three columns, the highest of them as low as it can be."""
    most = max(_height(pieces), _height([[choice for piece in pieces for choice in piece]]) / COLUMNS)
    while len(found := _columns_below(most, pieces)) > COLUMNS:
        most += 0.2
    return found


def _columns_below(most: float, pieces: list[list[Choice]]) -> list[list[Choice]]:
    found: list[list[Choice]] = []
    for piece in pieces:
        if found and _height([found[-1] + piece]) <= most:
            found[-1] = found[-1] + piece
        else:
            found.append(list(piece))
    return found


def _height(columns: list[list[Choice]]) -> float:
    """Of the highest column in rows, a heading with its space being a row and a bit."""
    return max((len(one) + HEADING * len({choice.group for choice in one}) for one in columns), default=0.0)


def _grouped(column: list[Choice], before: str | None) -> list[Group]:
    titles = list(dict.fromkeys(choice.group for choice in column))
    return [
        Group(
            title or "Relations",
            [choice for choice in column if choice.group == title],
            again=at == 0 and title == before,
        )
        for at, title in enumerate(titles)
    ]
