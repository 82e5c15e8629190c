"""Ontology pages: labels and steps on them; the texts of one label."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.consensus.effects import preview
from annotation.models import OntologyLabel, OntologyStep, Project
from annotation.ontology import inventory as ontology
from annotation.ontology import plans
from annotation.ontology.label_texts import (
    EXAMPLES,
    MAX_EXAMPLE_LENGTH,
    MAX_EXAMPLES,
    MAX_LENGTHS,
    set_texts,
)
from annotation.ontology.presets import PRESETS
from annotation.pages.project_page import (
    ActionForm,
    choices_by_name,
    project_context,
    project_for,
    submit_or_show,
)
from annotation.reports.vote_figures import VoteFigures, figures_of
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.markdown import section_html, to_html
from evalsvc.core.web.views import page, row_id, show_effect, submit, submitted

MAX_NAME = 200
RELATION_ONLY = ("phrase", "head_type", "tail_type")


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
    part = forms.ChoiceField(
        label="Labels of",
        choices=[("entity", "spans: entity types"), ("relation", "relations between spans")],
    )
    labels = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="One label per line, spelled as in the data. A title may follow after a tab.",
    )

    def __init__(self, *args: Any, names: list[str], parts: tuple[str, ...], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.existing = {name.casefold(): name for name in names}
        if len(parts) == 1:
            del self.fields["part"]

    def clean_labels(self) -> list[dict[str, str]]:
        """Return names with titles; reject repeated names, ignoring case."""
        first_lines: dict[str, int] = {}
        labels: list[dict[str, str]] = []
        problems: list[forms.ValidationError] = []
        for number, line in enumerate(self.cleaned_data["labels"].splitlines(), 1):
            name, _, title = (part.strip() for part in line.partition("\t"))
            if not line.strip():
                continue
            if problem := self._problem(name, first_lines):
                code, message = problem
                problems.append(forms.ValidationError(f"Line {number}: {message}", code=code))
            first_lines.setdefault(name.casefold(), number)
            labels.append({"name": name} | ({"title": title} if title else {}))
        if problems:
            raise forms.ValidationError(problems)
        return labels

    def _problem(self, name: str, first_lines: dict[str, int]) -> tuple[str, str] | None:
        """Return code and message of what is wrong with a name."""
        folded = name.casefold()
        existing = self.existing.get(folded, name)
        if not name:
            return "no_name", "the title has no name before it."
        if folded in first_lines:
            return "repeated", f"{name} is already in line {first_lines[folded]}. Remove one of them."
        if existing != name:
            return "differs_in_case", f"{name} differs from the existing label {existing} only in case."
        if len(name) > MAX_NAME:
            return "too_long", f"the name has {len(name):,} characters. Use at most {MAX_NAME}."
        return None

    def apply(self, project: Project, *, by: User) -> str:
        entries = self.cleaned_data["labels"]
        added = ontology.add_labels(project, entries, by=by, part=self.cleaned_data.get("part", ""))
        existing = f"; {len(entries) - len(added):,} already existed" if len(added) < len(entries) else ""
        return f"{counted(len(added), 'label')} added{existing}."


class StepForm(ActionForm):
    operation = forms.ChoiceField(choices=OntologyStep.Operation.choices)
    sources = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": "Select at least one label."}
    )
    target = forms.CharField(label="New name", required=False, max_length=20 * MAX_NAME)

    def __init__(self, *args: Any, names: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["sources"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        operation, sources = cleaned.get("operation"), cleaned.get("sources") or []
        if operation != OntologyStep.Operation.DELETE and not cleaned.get("target"):
            self.add_error(
                "target", "Enter a new name to merge or rename; for a split several, separated by semicolons."
            )
        if operation == OntologyStep.Operation.MERGE and len(sources) < 2:
            self.add_error("sources", "Select at least two labels to merge.")
        if operation in (OntologyStep.Operation.RENAME, OntologyStep.Operation.SPLIT) and len(sources) > 1:
            self.add_error("sources", "Select only one label to rename or split.")
        return cleaned

    def apply(self, project: Project, *, by: User) -> str:
        operation, sources, target = (self.cleaned_data[name] for name in ("operation", "sources", "target"))
        if operation == OntologyStep.Operation.MERGE:
            ontology.merge(project, sources, target=target, by=by)
        elif operation == OntologyStep.Operation.RENAME:
            ontology.rename(project, sources[0], target=target, by=by)
        elif operation == OntologyStep.Operation.SPLIT:
            ontology.split(project, sources[0], targets=split_names(target), by=by)
            return f"{sources[0]} is split. Answers with it are asked again."
        else:
            ontology.delete(project, sources, by=by)
        return "Step applied to all answers. You can undo it below."


def split_names(text: str) -> list[str]:
    """Return the names of a split, which semicolons separate."""
    return [name.strip() for name in text.split(";") if name.strip()]


class ExamplesField(forms.CharField):
    """Examples, one per line."""

    def __init__(self, **more: Any) -> None:
        super().__init__(required=False, widget=forms.Textarea(attrs={"rows": 3}), **more)

    def clean(self, value: Any) -> list[str]:
        examples = [line.strip() for line in super().clean(value).splitlines() if line.strip()]
        if len(examples) > MAX_EXAMPLES:
            raise forms.ValidationError(
                f"{len(examples):,} examples are too many. Use at most {MAX_EXAMPLES}."
            )
        for number, example in enumerate(examples, 1):
            if len(example) > MAX_EXAMPLE_LENGTH:
                length = f"Example {number} has {len(example):,} characters."
                raise forms.ValidationError(f"{length} Use at most {MAX_EXAMPLE_LENGTH:,}.")
        return examples


class LabelTextsForm(PageForm):
    title = forms.CharField(
        max_length=MAX_LENGTHS["title"], help_text="Name shown to people. The name in the data is unchanged."
    )
    phrase = forms.CharField(
        label="Verb phrase",
        required=False,
        max_length=MAX_LENGTHS["phrase"],
        help_text="Goes between head and tail when the answer is read back, for example: lived in.",
    )
    definition = forms.CharField(
        required=False,
        max_length=MAX_LENGTHS["definition"],
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "true"}),
        help_text="Markdown, as in the guideline. Shown beside the sentence while the label is focused.",
    )
    choose = ExamplesField(
        label="Positive examples", help_text="Examples to which the label applies, one per line."
    )
    avoid = ExamplesField(
        label="Negative examples", help_text="Examples to which the label does not apply, one per line."
    )
    group = forms.CharField(
        required=False,
        max_length=MAX_LENGTHS["group"],
        help_text="Group heading. Labels with the same heading are listed together.",
    )
    head_type = forms.CharField(
        label="Head type",
        required=False,
        max_length=MAX_LENGTHS["head_type"],
        help_text="Expected entity type, for example: person. Heads of other types dim the label.",
    )
    tail_type = forms.CharField(
        label="Tail type",
        required=False,
        max_length=MAX_LENGTHS["tail_type"],
        help_text="Expected entity type, for example: city.",
    )

    @classmethod
    def of(cls, label: OntologyLabel, data: Any = None) -> LabelTextsForm:
        """Return a label's form; entity types lack relation fields."""
        texts = {name: getattr(label, name) for name in cls.base_fields}
        form = cls(data, initial=texts | {name: "\n".join(texts[name]) for name in EXAMPLES})
        if label.part == OntologyLabel.Part.ENTITY:
            for name in RELATION_ONLY:
                del form.fields[name]
        return form


UNDO = ("undo", "undo-plan", "show-undo", "show-undo-plan")


@page("GET", "POST", **dict.fromkeys(UNDO, ("number",)))
def inventory(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    user, choices = person(request), choices_by_name(project)
    forms = {
        "preset_form": PresetForm(*submitted(request, "preset"), parts=ontology.parts_of(project)),
        "labels_form": LabelsForm(
            *submitted(request, "labels"), names=list(choices), parts=ontology.parts_of(project)
        ),
        "step_form": StepForm(*submitted(request, "step"), names=list(choices)),
    }
    if request.POST.get("action") in UNDO:
        _undo(request, project, row_id(request.POST.get("number", "")))
        return redirect("ontology", slug)
    if any(submit_or_show(request, form, project, partial(form.apply, by=user)) for form in forms.values()):
        return redirect("ontology", slug)
    steps, figures = project.steps.select_related("by"), figures_of(project)
    frequencies = {} if figures.awaited else figures["gold"]
    none = None if figures.awaited else 0
    context = project_context(
        project,
        role,
        choices=[(choice, frequencies.get(choice.name, none)) for choice in choices.values()],
        computed_at=figures.computed_at,
        steps=steps,
        picked=request.POST.getlist("sources"),
        emptied=_emptied(project, figures) if steps and not figures.awaited else None,
        **forms,
    )
    return render(request, "annotation/ontology.html", context)


def _emptied(project: Project, figures: VoteFigures) -> dict[str, int]:
    """Count what deletions emptied."""
    labels: int = figures["source_labels_emptied"]
    return {"answers": ontology.answers_emptied(project), "source_labels": labels}


def _undo(request: HttpRequest, project: Project, number: int) -> None:
    """Undo a step or a plan, or show the effect; a step that later ones need is named, not undone."""
    by, action = person(request), request.POST["action"]

    def undo(project: Project) -> str:
        if action.endswith("plan"):
            return f"{counted(plans.undo_plan(project, number, by=by), 'step')} undone."
        ontology.undo(get_object_or_404(project.steps, number=number), by=by)
        return f"Step {number} undone."

    try:
        if action.startswith("show"):
            show_effect(request, f"Undoing from step {number}: {preview(project, undo)}")
        else:
            messages.info(request, undo(project))
    except Conflict as error:
        messages.warning(request, f"{error.detail} {error.hint}".strip())


@page("GET", "POST")
def label_texts(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show, preview or save the texts of a label."""
    project, role = project_for(request, slug, roles.CURATOR)
    label = get_object_or_404(OntologyLabel, project=project, pk=pk)
    form = LabelTextsForm.of(label, request.POST or None)

    def save() -> str:
        saved = set_texts(label, by=person(request), **form.cleaned_data)
        return f"{saved.title} saved. Annotators see it when they reload the page."

    if request.POST.get("action") != "show" and submit(request, form, save):
        return redirect("ontology", slug)
    definition = request.POST.get("definition", label.definition)
    rows = [choice.row for choice in ontology.inventory(project, label.part)]
    following = rows[rows.index(label.pk) + 1 :][:1] if label.pk in rows else []
    context = project_context(
        project,
        role,
        label=label,
        form=form,
        preview=to_html(definition),
        unsaved=definition != label.definition,
        section=section_html(project.guideline, label.name, label.title),
        following=following,
    )
    return render(request, "annotation/ontology_label.html", context)
