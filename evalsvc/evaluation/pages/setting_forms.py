"""What organisers fill in about a setting: its gold, when it is open, how it shows its figures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from annotation.testset import TestSet
from evalsvc.evaluation.benchmarks.creation import KINDS, UNITS
from evalsvc.evaluation.measures.menu import MENU, by_family, offered
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages.benchmark_forms import TestSets
from evalsvc.evaluation.pages.forms import Blocks, Parts, Sheet, address_of, follow_title

UNIT_WORDS = {
    "sentence": "sentences",
    "bag": "bags (pairs with all their sentences)",
    "document": "documents",
}
WAYS = {"": "as the menu says", "False": "higher is better", "True": "lower is better"}
PHASE_WORDS = {"": "in every phase", "dev": "in the dev phase", "test": "in the test phase"}


def _moment(label: str, help_text: str) -> forms.DateTimeField:
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")
    said = {"invalid": "Expected a day and a time, such as 2026-11-21 09:00."}
    return forms.DateTimeField(
        label=label, help_text=help_text, widget=widget, required=False, error_messages=said
    )


def grouped(units: Iterable[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """The measures of these units, by family."""
    found = {measure.key: measure for unit in units for measure in offered(unit)}
    return [
        (family.title, [(m.key, m.title) for m in group]) for _, family, group in by_family(found.values())
    ]


def orderable(units: Iterable[str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Those that can be a main measure: a threshold ranks nothing."""
    return [(title, [(k, t) for k, t in group if MENU[k].ranks]) for title, group in grouped(units)]


class ShownForm(Sheet):
    """When a setting is open and what it shows: no score depends on it."""

    title = forms.CharField(
        max_length=80, help_text="As the switch on the board says it: Human gold, sentences"
    )
    main = forms.ChoiceField(label="Main measure", help_text="Orders the board.")
    lower_is_better = forms.ChoiceField(
        choices=list(WAYS.items()), required=False, label="Direction of the main measure"
    )
    digits = forms.IntegerField(
        min_value=0, max_value=6, required=False, help_text="Behind the point. Empty: as each measure has."
    )
    measures = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, required=False, label="Measures shown",
        help_text="None chosen: all that the unit has.",
    )  # fmt: skip
    phase = forms.ChoiceField(
        choices=list(PHASE_WORDS.items()), required=False, label="Scores what is submitted"
    )
    opens_at = _moment("Opens, UTC", "Empty: open from the start.")
    closes_at = _moment("Closes, UTC", "Empty: it stays open.")
    sealed = forms.BooleanField(
        required=False, label="Scores are sealed until it closes",
        help_text="Until then only organisers see them.",
    )  # fmt: skip
    SHOWN: Parts = (
        ("When it is open", "", False, ("phase", "opens_at", "closes_at", "sealed")),
        ("How figures are shown", "", True, ("lower_is_better", "digits", "measures")),
    )
    BLOCKS: Blocks = ((("", "", False, ("title", "main")),), SHOWN)

    def __init__(
        self, *args: Any, units: Iterable[str], setting: Setting | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **{"initial": shown_of(setting) if setting else None, **kwargs})
        self.fields["main"].choices = orderable(units)  # type: ignore[attr-defined]
        self.fields["measures"].choices = grouped(units)  # type: ignore[attr-defined]

    def clean_lower_is_better(self) -> bool | None:
        return {"True": True, "False": False}.get(self.cleaned_data["lower_is_better"])


def shown_of(setting: Setting) -> dict[str, Any]:
    names = ("title", "main", "digits", "measures", "phase", "opens_at", "closes_at", "sealed")
    way = "" if setting.lower_is_better is None else str(setting.lower_is_better)
    return {name: getattr(setting, name) for name in names} | {"lower_is_better": way}


class OneTestSet(forms.ModelChoiceField):
    label_from_instance = TestSets.label_from_instance


class GoldForm(Sheet):
    """By which gold a setting scores: a new version when it is another."""

    test_set = OneTestSet(TestSet.objects.none(), label="Test set", empty_label="choose one")
    only = OneTestSet(
        TestSet.objects.none(), required=False, label="Only rows that also stand in", empty_label="all rows",
        help_text="For source labels on exactly the annotated sentences, choose the annotated set.",
    )  # fmt: skip
    note = forms.CharField(
        max_length=200, required=False, label="Why", help_text="Stands beside the version: 14 labels mended"
    )
    BLOCKS: Blocks = ((("", "", False, ("test_set", "only", "note")),),)

    def __init__(self, *args: Any, benchmark: Benchmark, test_sets: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fitting = test_sets.filter(kind__in=KINDS[benchmark.task])
        for name in ("test_set", "only"):
            self.fields[name].queryset = fitting  # type: ignore[attr-defined]


class SettingForm(ShownForm):
    """A test set, the unit it is scored by, and all the rest."""

    key = forms.SlugField(
        max_length=40, required=False,
        help_text="Letters, digits and hyphens, for addresses. Empty: made from the title.",
        error_messages={"invalid": "Letters, digits, hyphens and underscores only."},
    )  # fmt: skip
    test_set = OneTestSet(TestSet.objects.none(), label="Test set", empty_label="choose one")
    only = OneTestSet(
        TestSet.objects.none(), required=False, label="Only rows that also stand in", empty_label="all rows",
        help_text="For source labels on exactly the annotated sentences, choose the annotated set.",
    )  # fmt: skip
    unit = forms.ChoiceField(choices=Setting.Unit.choices, label="Scored by")
    BLOCKS: Blocks = (
        (("", "", False, ("title", "key", "test_set", "unit", "main", "only")),),
        ShownForm.SHOWN,
    )

    def clean_key(self) -> str:
        return address_of(self, "key")

    def __init__(self, *args: Any, benchmark: Benchmark, test_sets: Any, **kwargs: Any) -> None:
        units = UNITS[benchmark.task]
        super().__init__(*args, units=units, **kwargs)
        fitting = test_sets.filter(kind__in=KINDS[benchmark.task])
        for name in ("test_set", "only"):
            self.fields[name].queryset = fitting  # type: ignore[attr-defined]
        self.fields["unit"].choices = [(unit, UNIT_WORDS[unit]) for unit in units]  # type: ignore[attr-defined]
        follow_title(self, "key")
