"""The ontology's page: a preset, labels typed, merge, delete, rename, undo."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.models import OntologyStep, Project
from annotation.ontology import inventory as ontology
from annotation.pages.forms import LabelsForm, PresetForm, StepForm
from annotation.pages.view_helpers import around, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.web.views import attempt, page, row_id

Forms = dict[str, Any]


@page("GET", "POST")
def inventory(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    choices = _choices(project)
    forms = _forms(request, project, [choice.name for choice in choices])
    if request.method == "POST" and _acted(request, project, forms):
        return redirect("ontology", slug)
    steps, used = project.steps.select_related("by"), ontology.label_frequencies(project)
    return render(
        request,
        "annotation/ontology.html",
        around(
            project,
            role,
            choices=[(choice, used[choice.name]) for choice in choices],
            steps=steps,
            last=steps.filter(undone_at=None).last(),
            picked=request.POST.getlist("sources"),
            emptied=ontology.emptied_by_deletion(project) if steps else None,
            **forms,
        ),
    )


def _choices(project: Project) -> list[ontology.Choice]:
    return [choice for part in ontology.parts_of(project) for choice in ontology.inventory(project, part)]


def _forms(request: HttpRequest, project: Project, names: list[str]) -> Forms:
    """Each form bound only when it is the one that was sent."""
    sent = request.POST.get("action") if request.method == "POST" else ""
    data = request.POST if sent else None
    return {
        "preset_form": PresetForm(data if sent == "preset" else None, parts=ontology.parts_of(project)),
        "labels_form": LabelsForm(data if sent == "labels" else None, names=names),
        "step_form": StepForm(data if sent == "step" else None, names=names),
    }


def _acted(request: HttpRequest, project: Project, forms: Forms) -> bool:
    action = request.POST.get("action", "")
    if action == "undo":
        return _undo(request, project)
    form = forms.get(f"{action}_form")
    if form is None or not form.is_valid():
        return False
    verb = {"preset": _preset, "labels": _labels, "step": _step}[action]
    said = attempt(form, lambda: verb(request, project, form.cleaned_data))
    if said:
        messages.info(request, said)
    return said is not None


def _preset(request: HttpRequest, project: Project, wanted: dict[str, Any]) -> str:
    choices = ontology.apply_preset(project, wanted["preset"], by=person(request))
    return f"The preset is in: {len(choices):,} labels to choose from."


def _labels(request: HttpRequest, project: Project, wanted: dict[str, Any]) -> str:
    entries = wanted["labels"]
    made = ontology.add_labels(project, entries, by=person(request))
    before = len(entries) - len(made)
    return f"{len(made):,} added" + (f"; {before:,} were there already." if before else ".")


def _step(request: HttpRequest, project: Project, wanted: dict[str, Any]) -> str:
    sources, target, by = wanted["sources"], wanted["target"], person(request)
    if wanted["operation"] == OntologyStep.Operation.MERGE:
        ontology.merge(project, sources, target=target, by=by)
    elif wanted["operation"] == OntologyStep.Operation.RENAME:
        ontology.rename(project, sources[0], target=target, by=by)
    else:
        ontology.delete(project, sources, by=by)
    return "Done, and every answer was read anew. The step can be undone."


def _undo(request: HttpRequest, project: Project) -> bool:
    number = request.POST.get("number", "")
    step = get_object_or_404(OntologyStep, project=project, number=row_id(number))
    ontology.undo(step, by=person(request))
    messages.info(request, f"Step {step.number} is undone.")
    return True
