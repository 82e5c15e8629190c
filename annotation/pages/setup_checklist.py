"""From a file to a test set: the steps of a project, how far each is, and where it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.urls import reverse

from annotation import projects
from annotation.models import Project
from annotation.ontology.inventory import inventory, parts_of
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
    optional: bool = False


def checklist(project: Project, n: Counts) -> list[Todo]:
    """All steps in order; a later one may be done before an earlier one."""
    makers: tuple[Callable[[Project, Counts], Todo], ...]
    makers = (_sentences, _labels, _guideline, _people, _open, _disputes, _freeze)
    return [make(project, n) for make in makers]


def setting_up(project: Project) -> list[Todo]:
    """The steps before the first label, while there is none yet."""
    if project.state != Project.State.SETUP:
        return []
    n = {"all": project.items.live().count()}
    return [make(project, n) for make in (_sentences, _labels, _guideline, _people, _open)]


def following(steps: list[Todo]) -> Todo | None:
    """The step that comes next."""
    return next((step for step in steps if not step.done and not step.optional), None)


def _to(name: str, project: Project) -> str:
    return reverse(name, args=[project.slug])


def _sentences(project: Project, n: Counts) -> Todo:
    told = f"{n['all']:,} there" if n["all"] else "A file of sentences, recognised by its content"
    return Todo("Import sentences", told, n["all"] > 0, _to("project-import", project), "Import")


def _labels(project: Project, n: Counts) -> Todo:
    labels = sum(len(inventory(project, part)) for part in parts_of(project))
    told = f"{labels:,} labels" if labels else "From a preset, the file, or typed"
    return Todo("Say what can be chosen", told, labels > 0, _to("ontology", project), "Ontology")


def _guideline(project: Project, n: Counts) -> Todo:
    words = len(project.guideline.split())
    told = (
        f"{words:,} words, shown beside the sentence" if words else "What annotators read beside the sentence"
    )
    address = _to("project-guideline", project)
    return Todo("Write the guideline", told, words > 0, address, "Guideline", optional=True)


def _people(project: Project, n: Counts) -> Todo:
    people = projects.can_label(project)
    told = f"{people:,} can label; each sentence gets {project.k} answers"
    return Todo("Bring people in", told, people >= project.k, _to("project-members", project), "Members")


def _open(project: Project, n: Counts) -> Todo:
    told = {
        Project.State.SETUP: "Then annotators find it on their page",
        Project.State.OPEN: "Annotators find it on their page",
        Project.State.CLOSED: "Closed again: nobody gets new sentences",
    }
    done = project.state != Project.State.SETUP
    return Todo("Open it", told[Project.State(project.state)], done, "" if done else _to("project", project))


def _disputes(project: Project, n: Counts) -> Todo:
    decided = n["all"] > 0 and not n["open"] + n["disputed"]
    told = f"{n['disputed'] + n['passed_on']:,} wait, {n['adjudicated']:,} decided"
    return Todo("Decide disputes", told, decided, _to("disputes", project), "Decide")


def _freeze(project: Project, n: Counts) -> Todo:
    frozen = project.test_sets.filter(state=TestSet.State.FROZEN).count()
    told = f"{frozen:,} frozen so far" if frozen else "An immutable, hashed test set"
    return Todo("Freeze", told, frozen > 0, _to("freeze", project), "Freeze")
