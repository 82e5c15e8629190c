"""From a file to a test set: the steps of a project, how far each is, and where it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.urls import reverse

from annotation import roles
from annotation.models import Project
from annotation.testset import TestSet

Counts = dict[str, int]


@dataclass(frozen=True, slots=True)
class Todo:
    """One line of the checklist."""

    title: str
    detail: str
    done: bool
    address: str = ""
    act: str = ""


def checklist(project: Project, n: Counts) -> list[Todo]:
    """All steps in order; a later one may be done before an earlier one."""
    makers: tuple[Callable[[Project, Counts], Todo], ...]
    makers = (_sentences, _labels, _people, _open, _disputes, _freeze)
    return [make(project, n) for make in makers]


def _to(name: str, project: Project) -> str:
    return reverse(name, args=[project.slug])


def _sentences(project: Project, n: Counts) -> Todo:
    told = f"{n['all']:,} there" if n["all"] else "A file of sentences, recognised by its content"
    return Todo("Import sentences", told, n["all"] > 0, _to("project-import", project), "Import")


def _labels(project: Project, n: Counts) -> Todo:
    labels = project.labels.count()
    told = f"{labels:,} labels" if labels else "From a preset, the file, or typed"
    return Todo("Say what can be chosen", told, labels > 0, _to("ontology", project), "Ontology")


def _people(project: Project, n: Counts) -> Todo:
    people = project.members.filter(role__in=roles.LABELS).count()
    told = f"{people:,} can label; each sentence gets {project.k} answers"
    return Todo("Bring people in", told, people >= project.k, _to("project-members", project), "Members")


def _open(project: Project, n: Counts) -> Todo:
    told = {
        Project.State.SETUP: "Then annotators find it on their page",
        Project.State.OPEN: "Annotators find it on their page",
        Project.State.CLOSED: "Closed again: nobody gets new sentences",
    }
    return Todo("Open it", told[Project.State(project.state)], project.state != Project.State.SETUP)


def _disputes(project: Project, n: Counts) -> Todo:
    decided = n["all"] > 0 and not n["open"] + n["disputed"]
    told = f"{n['disputed']:,} wait, {n['adjudicated']:,} decided"
    return Todo("Decide disputes", told, decided, _to("disputes", project), "Decide")


def _freeze(project: Project, n: Counts) -> Todo:
    frozen = project.test_sets.filter(state=TestSet.State.FROZEN).count()
    told = f"{frozen:,} frozen so far" if frozen else "An immutable, hashed test set"
    return Todo("Freeze", told, frozen > 0, _to("freeze", project), "Freeze")
