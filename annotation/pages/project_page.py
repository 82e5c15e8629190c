"""Shared parts of a project's pages: access, context, setup checklist."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.forms import BaseForm
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import reverse

from annotation import projects, roles
from annotation.consensus.effects import preview
from annotation.consensus.pending_recomputation import pending
from annotation.models import ItemCount, Project
from annotation.ontology.inventory import Choice, inventory, parts_of
from annotation.ontology.labels import label_titles as label_titles
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.jobs import queue_status
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.formatting import listed
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, show_effect, submit

Counts = dict[str, int]
OPEN_DETAILS = {
    Project.State.SETUP: "Annotators can then label",
    Project.State.OPEN: "Annotators can label",
    Project.State.CLOSED: "Closed again: no new sentences are handed out",
    Project.State.ARCHIVED: "Archived: no sentences are handed out",
}


class ActionForm(PageForm):
    """Form that changes a project."""

    def apply(self, project: Project, *, by: User) -> str:
        """Make the change, and return the message to show."""
        raise NotImplementedError


def submit_or_show(
    request: HttpRequest, form: BaseForm, project: Project, apply: Callable[[Project], str], *fields: str
) -> bool:
    """Apply a valid form, or only show its effect."""
    if request.POST.get("do") != "show":
        return submit(request, form, lambda: apply(project), *fields)
    effect = attempt(form, lambda: preview(project, apply), *fields) if form.is_valid() else None
    if effect is not None:
        show_effect(request, effect)
    return False


def project_for(request: HttpRequest, slug: str, *allowed: str) -> tuple[Project, str]:
    """Return a project and the viewer's role, if allowed."""
    project = get_object_or_404(Project, slug=slug)
    return project, roles.require(project, person(request), *allowed)


def project_context(project: Project, role: str, **more: Any) -> dict[str, Any]:
    """Return the template context that all pages of a project share."""
    steps = setup_steps(project)
    curators = project.members.filter(role=roles.CURATOR).select_related("user").order_by("user__username")
    return {
        "missing": [step for step in steps if not (step.done or step.optional)],
        "curators": listed([member.user.shown_name for member in curators]) if steps else "",
        "setup": steps if role == roles.CURATOR else [],
        "setup_next": next_step(steps) if role == roles.CURATOR else None,
        "project": project,
        "recomputing": pending(project),
        "role": role,
        "decides": role in roles.MAY_DECIDE,
        "curates": role == roles.CURATOR,
        "labels": role in roles.MAY_LABEL,
        "oversees": role in roles.MAY_OVERSEE,
        "reads_label_counts": roles.reads_label_counts(project, role),
        "reads_outcomes": roles.reads_outcomes(project, role),
    } | more


def job_context(kind: str, subject: int) -> dict[str, Any]:
    """Return the latest job, the width of its progress bar, and why it does not start."""
    return progress_context(Job.objects.filter(kind=kind, subject=subject).order_by("-pk").first())


def progress_context(job: Job | None) -> dict[str, Any]:
    width = round(600 * min(job.done / job.total, 1), 1) if job and job.total else 0.0
    return {"job": job, "width": width, "obstacle": queue_status.obstacle(job)}


def choices_by_name(project: Project) -> dict[str, Choice]:
    """Return everything that can be chosen in a project."""
    return {choice.name: choice for part in parts_of(project) for choice in inventory(project, part)}


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
    waiting = counts["disputed"] + counts["unanswerable"]
    decided = counts["all"] > 0 and not counts["open"] + counts["disputed"]
    detail = f"{waiting:,} to decide, {counts['adjudicated']:,} decided"
    disputes = SetupStep("Decide disputes", detail, decided, _to("disputes", project), "Decide disputes")
    frozen = project.test_sets.filter(state=TestSet.State.FROZEN).count()
    detail = f"{frozen:,} frozen" if frozen else "Makes an immutable, hashed test set"
    freeze = SetupStep("Freeze a test set", detail, frozen > 0, _to("freeze", project), "Freeze test set")
    return [*_before_labelling(project, counts["all"]), disputes, freeze]


def setup_steps(project: Project) -> list[SetupStep]:
    """Return the steps before labelling begins; none once it has begun."""
    in_setup = project.state == Project.State.SETUP
    return _before_labelling(project, ItemCount.objects.live(project).total()) if in_setup else []


def _before_labelling(project: Project, n: int) -> list[SetupStep]:
    labels, words = len(choices_by_name(project)), len(project.guideline.split())
    first = parts_of(project)[0]
    lacks_types = first == "entity" and not inventory(project, first)
    people, opened = projects.annotator_count(project), project.state != Project.State.SETUP
    return [
        SetupStep(
            "Import sentences",
            f"{n:,} imported" if n else "From a file in any supported format",
            n > 0,
            _to("project-import", project),
            "Import file",
        ),
        SetupStep(
            "Add labels",
            "Spans need entity types"
            if labels and lacks_types
            else f"{labels:,} labels"
            if labels
            else "From a preset, from the file, or typed",
            labels > 0 and not lacks_types,
            _to("ontology", project),
            "Edit labels",
        ),
        SetupStep(
            "Write the guideline",
            f"{words:,} words, shown beside the sentence"
            if words
            else "Shown to annotators beside the sentence",
            words > 0,
            _to("project-guideline", project),
            "Edit guideline",
            optional=True,
        ),
        SetupStep(
            "Add annotators",
            f"{people:,} can label; {project.k} answers per sentence",
            people >= project.k,
            _to("project-members", project),
            "Add members",
        ),
        SetupStep(
            "Open the project",
            OPEN_DETAILS[Project.State(project.state)],
            opened,
            "" if opened else _to("project", project),
        ),
    ]


def next_step(steps: list[SetupStep]) -> SetupStep | None:
    """Return the first required step that is not done."""
    return next((step for step in steps if not step.done and not step.optional), None)


def _to(view: str, project: Project) -> str:
    return reverse(view, args=[project.slug])
