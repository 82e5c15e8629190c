"""Page of one label: the texts people read when they choose it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.models import OntologyLabel
from annotation.ontology import inventory, label_texts
from annotation.ontology.label_texts import EXAMPLES, MAX_EXAMPLE_LENGTH, MAX_EXAMPLES, MAX_LENGTHS
from annotation.pages.project_page import project_context, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.markdown import section_html, to_html
from evalsvc.core.web.views import page, submit

RELATION_ONLY = ("phrase", "head_type", "tail_type")


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


@page("GET", "POST")
def texts(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show, preview or save the texts of a label."""
    project, role = project_for(request, slug, roles.CURATOR)
    label = get_object_or_404(OntologyLabel, project=project, pk=pk)
    form = LabelTextsForm.of(label, request.POST or None)

    def save() -> str:
        saved = label_texts.set_texts(label, by=person(request), **form.cleaned_data)
        return f"{saved.title} saved. Annotators see it when they reload the page."

    if request.POST.get("action") != "show" and submit(request, form, save):
        return redirect("ontology", slug)
    definition = request.POST.get("definition", label.definition)
    rows = [choice.row for choice in inventory.inventory(project, label.part)]
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
