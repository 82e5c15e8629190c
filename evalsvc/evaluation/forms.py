"""What people fill in: a run to submit, a board, a setting."""

from __future__ import annotations

from typing import Any

from django import forms

from annotation.testset import TestSet
from evalsvc.evaluation.benchmarks import KINDS, UNITS
from evalsvc.evaluation.measures import offered
from evalsvc.evaluation.models import Benchmark, Setting

TASK_WORDS = {"relations": "relations between two entities", "entities": "entities in text"}
MISSING_WORDS = {"refuse": "the file is refused", "wrong": "counts as wrong"}
UNIT_WORDS = {
    "sentence": "sentences",
    "bag": "bags (pairs with all their sentences)",
    "document": "documents",
}


def dress(form: forms.Form) -> None:
    """Every control wears the style sheet's field, and says when it does not fit."""
    for name, field in form.fields.items():
        told = {"class": "field"} | (
            {"aria-invalid": "true"} if form.is_bound and name in form.errors else {}
        )
        field.widget.attrs.update(told)


class RunForm(forms.Form):
    file = forms.FileField(
        error_messages={"required": "Choose a file of predictions.", "empty": "The file is empty."}
    )
    team = forms.SlugField(required=False)
    system = forms.CharField(max_length=120)
    run = forms.CharField(max_length=40)
    aggregate = forms.ChoiceField(choices=(("ONE", "ONE"), ("AVG", "AVG")), required=False)


class BoardForm(forms.Form):
    title = forms.CharField(max_length=120)
    slug = forms.SlugField(max_length=60)
    summary = forms.CharField(max_length=200, required=False)
    description = forms.CharField(widget=forms.Textarea, required=False)
    task = forms.ChoiceField(choices=list(TASK_WORDS.items()))
    test_set = forms.ModelChoiceField(TestSet.objects.none())
    negative = forms.CharField(max_length=60, required=False)
    missing = forms.ChoiceField(choices=list(MISSING_WORDS.items()), initial="refuse")

    def __init__(self, *args: Any, test_sets: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["test_set"].queryset = test_sets  # type: ignore[attr-defined]
        dress(self)

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        task, test_set = given.get("task"), given.get("test_set")
        if task and test_set and test_set.kind not in KINDS[task]:
            self.add_error("test_set", f"{test_set} holds {test_set.kind}; choose a set of {task}.")
        return given


class SettingForm(forms.Form):
    title = forms.CharField(max_length=80)
    key = forms.SlugField(max_length=40)
    test_set = forms.ModelChoiceField(TestSet.objects.none())
    only = forms.ModelChoiceField(TestSet.objects.none(), required=False)
    unit = forms.ChoiceField(choices=Setting.Unit.choices)
    main = forms.ChoiceField()

    def __init__(self, *args: Any, benchmark: Benchmark, test_sets: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        units = UNITS[benchmark.task]
        fitting = test_sets.filter(kind__in=KINDS[benchmark.task])
        for name in ("test_set", "only"):
            self.fields[name].queryset = fitting  # type: ignore[attr-defined]
        self.fields["unit"].choices = [(unit, UNIT_WORDS[unit]) for unit in units]  # type: ignore[attr-defined]
        measures = {measure.key: measure.title for unit in units for measure in offered(unit)}
        self.fields["main"].choices = list(measures.items())  # type: ignore[attr-defined]
        dress(self)
