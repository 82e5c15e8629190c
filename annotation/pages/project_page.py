"""Shared parts of a project's pages: access, context, setup checklist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotation import projects, roles
from annotation.consensus.label_mapping import Payload
from annotation.models import Project
from annotation.ontology.inventory import Choice, inventory, parts_of
from annotation.testset import TestSet
from evalsvc.core.accounts.users import person

Counts = dict[str, int]


def project_for(request: HttpRequest, slug: str, *allowed: str) -> tuple[Project, str]:
    """Return a project and the viewer's role, if allowed."""
    project = get_object_or_404(Project, slug=slug)
    return project, roles.require(project, person(request), *allowed)


def project_context(project: Project, role: str, **more: Any) -> dict[str, Any]:
    """Return the template context that all pages of a project share."""
    steps = setup_steps(project) if role == roles.CURATOR else []
    return {
        "setup": steps,
        "setup_next": next_step(steps),
        "project": project,
        "role": role,
        "decides": role in roles.MAY_DECIDE,
        "curates": role == roles.CURATOR,
        "labels": role in roles.MAY_LABEL,
        "oversees": role in roles.MAY_OVERSEE,
    } | more


def choices_by_name(project: Project) -> dict[str, Choice]:
    """Return everything that can be chosen in a project."""
    return {choice.name: choice for part in parts_of(project) for choice in inventory(project, part)}


def label_titles(project: Project) -> dict[str, str]:
    """Return the titles of all relations and entity types by name."""
    return {
        choice.name: choice.title for part in ("relation", "entity") for choice in inventory(project, part)
    }


def labels_of(payload: Payload) -> list[str]:
    """Return the labels of an answer's spans and relations."""
    spans = [span[2] for span in payload["spans"]]
    return [*spans, *(x if isinstance(x, str) else x[1] for x in payload["relations"])]


def answer_text(payload: Payload | None, titles: Mapping[str, str]) -> str:
    """Write an answer as the titles of its labels, or N/A."""
    names = dict.fromkeys(labels_of(payload)) if payload else ()
    return ", ".join(titles.get(name, name) for name in names) or "N/A"


@dataclass(frozen=True, slots=True)
class SetupStep:
    """Entry of the checklist; `action` names its button."""

    title: str
    detail: str
    done: bool
    address: str = ""
    action: str = ""
    optional: bool = False


def checklist(project: Project, counts: Counts) -> list[SetupStep]:
    """Return all steps in order, done or not."""
    makers: tuple[Callable[[Project, Counts], SetupStep], ...]
    makers = (_sentences, _labels, _guideline, _members, _open, _disputes, _freeze)
    return [make(project, counts) for make in makers]


def setup_steps(project: Project) -> list[SetupStep]:
    """Return the steps before labelling begins; none once it has begun."""
    if project.state != Project.State.SETUP:
        return []
    counts = {"all": project.items.live().count()}
    return [make(project, counts) for make in (_sentences, _labels, _guideline, _members, _open)]


def next_step(steps: list[SetupStep]) -> SetupStep | None:
    """Return the first required step that is not done."""
    return next((step for step in steps if not step.done and not step.optional), None)


def _to(view: str, project: Project) -> str:
    return reverse(view, args=[project.slug])


def _sentences(project: Project, counts: Counts) -> SetupStep:
    n = counts["all"]
    detail = f"{n:,} imported" if n else "From a file in any supported format"
    return SetupStep("Import sentences", detail, n > 0, _to("project-import", project), "Import file")


def _labels(project: Project, counts: Counts) -> SetupStep:
    n = len(choices_by_name(project))
    detail = f"{n:,} labels" if n else "From a preset, from the file, or typed"
    return SetupStep("Add labels", detail, n > 0, _to("ontology", project), "Edit labels")


def _guideline(project: Project, counts: Counts) -> SetupStep:
    n = len(project.guideline.split())
    detail = f"{n:,} words, shown beside the sentence" if n else "Shown to annotators beside the sentence"
    address = _to("project-guideline", project)
    return SetupStep("Write the guideline", detail, n > 0, address, "Edit guideline", optional=True)


def _members(project: Project, counts: Counts) -> SetupStep:
    n = projects.annotator_count(project)
    detail = f"{n:,} can label; {project.k} answers per sentence"
    return SetupStep("Add annotators", detail, n >= project.k, _to("project-members", project), "Add members")


def _open(project: Project, counts: Counts) -> SetupStep:
    details = {
        Project.State.SETUP: "Annotators can then label",
        Project.State.OPEN: "Annotators can label",
        Project.State.CLOSED: "Closed again: no new sentences are handed out",
    }
    done = project.state != Project.State.SETUP
    address = "" if done else _to("project", project)
    return SetupStep("Open the project", details[Project.State(project.state)], done, address)


def _disputes(project: Project, counts: Counts) -> SetupStep:
    done = counts["all"] > 0 and not counts["open"] + counts["disputed"]
    waiting = counts["disputed"] + counts["unanswerable"]
    detail = f"{waiting:,} to decide, {counts['adjudicated']:,} decided"
    return SetupStep("Decide disputes", detail, done, _to("disputes", project), "Decide disputes")


def _freeze(project: Project, counts: Counts) -> SetupStep:
    frozen = project.test_sets.filter(state=TestSet.State.FROZEN).count()
    detail = f"{frozen:,} frozen" if frozen else "Makes an immutable, hashed test set"
    return SetupStep("Freeze a test set", detail, frozen > 0, _to("freeze", project), "Freeze test set")
