"""Page on which curators order labels and groups, by buttons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import roles
from annotation.ontology import inventory as ontology
from annotation.ontology.inventory import Choice, inventory, parts_of
from annotation.pages.project_page import project_context, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.web.views import page, row_id

Entry = TypeVar("Entry")
STEPS = {"first": "To the top", "up": "Up", "down": "Down"}
PART_TITLES = {"relation": "Relations", "entity": "Entity types"}


@dataclass(frozen=True, slots=True)
class Group:
    """Labels under one heading; `row`, its first label, names it."""

    title: str
    choices: list[Choice]

    @property
    def row(self) -> int:
        return self.choices[0].row


def grouped(choices: Sequence[Choice]) -> list[Group]:
    """Return the groups in the order of the form."""
    titles = list(dict.fromkeys(choice.group for choice in choices))
    by_group = sorted(choices, key=lambda choice: titles.index(choice.group))
    return [Group(title, list(rows)) for title, rows in groupby(by_group, key=lambda choice: choice.group)]


def moved(groups: list[Group], what: str, row: int, step: str) -> list[Group]:
    """Return the groups after one label, or the group it begins, moved."""
    rows = [group.row for group in groups]
    if what == "group" and row in rows:
        return _moved(groups, rows.index(row), step)
    return [
        Group(group.title, _moved(group.choices, [choice.row for choice in group.choices].index(row), step))
        if what == "label" and any(choice.row == row for choice in group.choices)
        else group
        for group in groups
    ]


def _moved(entries: Sequence[Entry], at: int, step: str) -> list[Entry]:
    rest = [*entries[:at], *entries[at + 1 :]]
    place = {"first": 0, "up": max(0, at - 1), "down": at + 1}.get(step, at)
    return [*rest[:place], entries[at], *rest[place:]]


@page("GET", "POST", names=("action", "part", "label", "move"))
def order(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the order, a label or group moved; or save it."""
    project, role = project_for(request, slug, roles.CURATOR)
    parts = {part: inventory(project, part) for part in parts_of(project)}
    part, move = request.POST.get("part", ""), request.POST.get("move", "")
    by_row = {choice.row: choice for choice in parts.get(part, ())}
    rows = [row_id(text) for text in request.POST.getlist("label")]
    if request.POST.get("action") == "save" and part in parts:
        ontology.set_order(project, rows, part=part, by=person(request))
        messages.info(request, "Order saved. Annotators see it, with its keys, when they reload the page.")
        return redirect("ontology", slug)
    if rows and sorted(rows) == sorted(by_row):
        parts[part] = [by_row[row] for row in rows]
    lists = [(name, PART_TITLES[name], grouped(choices)) for name, choices in parts.items()]
    if move.count(" ") == 2:
        what, row, step = move.split(" ")
        lists = [
            (name, title, moved(groups, what, row_id(row), step) if name == part else groups)
            for name, title, groups in lists
        ]
    context = project_context(
        project, role, lists=lists, steps=STEPS, unsaved=part if rows else "", move=move
    )
    return render(request, "annotation/ontology_order.html", context)
