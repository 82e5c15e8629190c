"""Ontology page: presets, typed labels, and steps on labels."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.models import OntologyStep, Project
from annotation.ontology import inventory as ontology
from annotation.ontology.presets import PRESETS
from annotation.pages.project_page import ActionForm, choices_by_name, project_context, project_for
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.views import page, row_id, submit, submitted

MAX_NAME = 200


class PresetForm(ActionForm):
    preset = forms.ChoiceField()

    def __init__(self, *args: Any, parts: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        presets = [(key, preset.title) for key, preset in PRESETS.items() if preset.part in parts]
        self.fields["preset"].choices = presets  # type: ignore[attr-defined]

    def apply(self, project: Project, *, by: User) -> str:
        choices = ontology.apply_preset(project, self.cleaned_data["preset"], by=by)
        return f"Preset applied. The project now has {len(choices):,} labels."


class LabelsForm(ActionForm):
    labels = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="One label per line, spelled as in the data. A title may follow after a tab.",
    )

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.existing = {name.casefold(): name for name in names}

    def clean_labels(self) -> list[dict[str, str]]:
        """Return names with titles; reject repeated names, ignoring case."""
        first_lines: dict[str, int] = {}
        labels: list[dict[str, str]] = []
        problems: list[str] = []
        for number, line in enumerate(self.cleaned_data["labels"].splitlines(), 1):
            name, _, title = (part.strip() for part in line.partition("\t"))
            if not line.strip():
                continue
            if problem := self._problem(name, first_lines):
                problems.append(f"Line {number}: {problem}")
            first_lines.setdefault(name.casefold(), number)
            labels.append({"name": name} | ({"title": title} if title else {}))
        if problems:
            raise forms.ValidationError(problems)
        return labels

    def _problem(self, name: str, first_lines: dict[str, int]) -> str:
        folded = name.casefold()
        existing = self.existing.get(folded, name)
        if not name:
            return "the title has no name before it."
        if folded in first_lines:
            return f"{name} is already in line {first_lines[folded]}. Remove one of them."
        if existing != name:
            return f"{name} differs from the existing label {existing} only in case."
        if len(name) > MAX_NAME:
            return f"the name has {len(name):,} characters. Use at most {MAX_NAME}."
        return ""

    def apply(self, project: Project, *, by: User) -> str:
        entries = self.cleaned_data["labels"]
        added = ontology.add_labels(project, entries, by=by)
        existing = f"; {len(entries) - len(added):,} already existed" if len(added) < len(entries) else ""
        return f"{counted(len(added), 'label')} added{existing}."


class StepForm(ActionForm):
    operation = forms.ChoiceField(choices=OntologyStep.Operation.choices)
    sources = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": "Select at least one label."}
    )
    target = forms.CharField(label="New name", required=False, max_length=MAX_NAME)

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["sources"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        operation, sources = cleaned.get("operation"), cleaned.get("sources") or []
        if operation != OntologyStep.Operation.DELETE and not cleaned.get("target"):
            self.add_error("target", "Enter a new name to merge or rename.")
        if operation == OntologyStep.Operation.MERGE and len(sources) < 2:
            self.add_error("sources", "Select at least two labels to merge.")
        if operation == OntologyStep.Operation.RENAME and len(sources) > 1:
            self.add_error("sources", "Select only one label to rename.")
        return cleaned

    def apply(self, project: Project, *, by: User) -> str:
        operation, sources, target = (self.cleaned_data[name] for name in ("operation", "sources", "target"))
        if operation == OntologyStep.Operation.MERGE:
            ontology.merge(project, sources, target=target, by=by)
        elif operation == OntologyStep.Operation.RENAME:
            ontology.rename(project, sources[0], target=target, by=by)
        else:
            ontology.delete(project, sources, by=by)
        return "Step applied to all answers. You can undo it below."


@page("GET", "POST")
def inventory(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    user, choices = person(request), choices_by_name(project)
    forms = {
        "preset_form": PresetForm(*submitted(request, "preset"), parts=ontology.parts_of(project)),
        "labels_form": LabelsForm(*submitted(request, "labels"), names=list(choices)),
        "step_form": StepForm(*submitted(request, "step"), names=list(choices)),
    }
    if request.POST.get("action") == "undo":
        number = row_id(request.POST.get("number", ""))
        step = get_object_or_404(OntologyStep, project=project, number=number)
        ontology.undo(step, by=user)
        messages.info(request, f"Step {step.number} undone.")
        return redirect("ontology", slug)
    if any(submit(request, form, partial(form.apply, project, by=user)) for form in forms.values()):
        return redirect("ontology", slug)
    steps, frequencies = project.steps.select_related("by"), ontology.label_frequencies(project)
    context = project_context(
        project,
        role,
        choices=[(choice, frequencies[choice.name]) for choice in choices.values()],
        steps=steps,
        last=steps.filter(undone_at=None).last(),
        picked=request.POST.getlist("sources"),
        emptied=ontology.emptied_by_deletion(project) if steps else None,
        **forms,
    )
    return render(request, "annotation/ontology.html", context)
