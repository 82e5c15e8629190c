"""Page of imported gold that gives its labels new names and combines it with other sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.forms.boundfield import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.ontology.presets import PRESETS
from annotation.pages.testsets import visible
from annotation.splits import mapping
from annotation.splits.making import MOST_LINES_IN_WEB
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.formats.label_list import LONGEST_LABEL
from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page


class MappingForm(PageForm):
    """Name, version, sets to add, a preset, and per label a new name or its deletion."""

    OTHER_NAMES = ("action",)
    name = forms.CharField(max_length=120, help_text="Of the new set.")
    version = forms.CharField(max_length=20)
    sets = forms.MultipleChoiceField(
        required=False, label="Combine with", help_text="Their lines follow. Ids have to differ."
    )
    preset = forms.ChoiceField(
        required=False, help_text="Its merges and deletions, for labels without a new name."
    )

    def __init__(self, *args: Any, labels: Sequence[str], others: Sequence[TestSet], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.labels, self.others = list(labels), {each.slug: each for each in others}
        self.fields["sets"].choices = [(slug, str(each)) for slug, each in self.others.items()]  # type: ignore[attr-defined]
        if not others:
            del self.fields["sets"]
        presets = [(key, each.title) for key, each in PRESETS.items() if each.merges or each.deleted]
        self.fields["preset"].choices = [("", "none"), *presets]  # type: ignore[attr-defined]
        self.usual = list(self.fields)
        for at, name in enumerate(self.labels):
            text = forms.TextInput({"aria-label": f"New name of {name}"})
            box = forms.CheckboxInput({"aria-label": f"Delete {name}"})
            new = forms.CharField(required=False, max_length=LONGEST_LABEL, widget=text)
            delete = forms.BooleanField(required=False, widget=box)
            self.fields |= {f"new_{at}": new, f"delete_{at}": delete}

    @property
    def plain(self) -> list[BoundField]:
        return [self[name] for name in self.usual]

    @property
    def rows(self) -> list[tuple[str, BoundField, BoundField]]:
        """Return each label with the fields of its row."""
        return [(name, self[f"new_{at}"], self[f"delete_{at}"]) for at, name in enumerate(self.labels)]

    def names(self) -> dict[str, str | None]:
        """Return the new names; a label without one keeps its own."""
        values = self.cleaned_data
        found: dict[str, str | None] = {}
        for at, name in enumerate(self.labels):
            if values[f"delete_{at}"]:
                found[name] = None
            elif values[f"new_{at}"]:
                found[name] = values[f"new_{at}"]
        return found

    def plan(self, test_set: TestSet, *, by: User) -> mapping.MappingPlan:
        values = self.cleaned_data
        others = [self.others[slug] for slug in values.get("sets") or ()]
        names = self.names()
        return mapping.MappingPlan.of(test_set, others=others, names=names, preset=values["preset"], by=by)


@page("GET", "POST")
def mapping_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Preview the labels under their new names, then make the set."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    test_set.require_reader(user)
    others = mapping.to_combine(test_set, by=user)
    form = MappingForm(
        request.POST or None,
        labels=_labels(test_set, others, request.POST.getlist("sets")),
        others=others,
        initial={"name": f"{test_set.name} mapped", "version": test_set.version},
    )
    context: dict[str, Any] = {"set": test_set, "form": form}
    plan = attempt(form, lambda: form.plan(test_set, by=user)) if form.is_valid() else None
    if plan is not None and request.POST.get("action") == "make":
        made = attempt(form, lambda: mapping.make(plan, **_named(form), by=user))
        if made:
            messages.info(request, f"{made} is being written.")
            return redirect("test-set", made.slug)
    if plan is not None:
        found = attempt(form, lambda: mapping.preview(plan, most=MOST_LINES_IN_WEB))
        context |= {"found": found, "counts": _table(plan, found) if found else None, "planned": True}
    return render(request, "annotation/test_set_mapping.html", context)


def _labels(test_set: TestSet, others: Sequence[TestSet], chosen: Sequence[str]) -> list[str]:
    """Return the names in the set and in those chosen beside it."""
    sets = (test_set, *(each for each in others if each.slug in chosen))
    return list(dict.fromkeys(label["name"] for each in sets for label in each.labels))


def _named(form: MappingForm) -> dict[str, str]:
    return {name: form.cleaned_data[name] for name in ("name", "version")}


def _table(plan: mapping.MappingPlan, found: mapping.MappingPreview) -> DataTable:
    """Return a row per label afterwards, with what became it, and the deleted ones."""
    became: dict[str | None, list[str]] = {}
    for name in found.before:
        became.setdefault(plan.names.get(name, name), []).append(name)
    rows = [
        [
            name,
            ", ".join(f"{old} {found.before[old]:,}" for old in became.get(name, ())),
            f"{found.after[name]:,}",
        ]
        for name in (label["name"] for label in plan.labels)
    ]
    if None in became:
        rows.append(["deleted", ", ".join(f"{old} {found.before[old]:,}" for old in became[None]), ""])
    return DataTable(["Label", "Made of", "Lines or spans"], rows)
