"""Forms of a setting: gold, opening times, display of figures."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms

from annotation.testset import TestSet
from evalsvc.evaluation.benchmarks import row_rules
from evalsvc.evaluation.benchmarks.setting_checks import KINDS, UNITS
from evalsvc.evaluation.dates import is_doubtful, is_in_calendar, zone_title
from evalsvc.evaluation.disclosure.split import LEAST_SHARE, MOST_SHARE
from evalsvc.evaluation.measures.menu import MENU, by_family, contributed_to, offered, with_beta
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages.benchmark_forms import TestSets
from evalsvc.evaluation.pages.forms import Blocks, Parts, SectionedForm, preview_slug, slug_from_title

UNIT_TITLES = {
    "sentence": "sentences",
    "bag": "bags (pairs with all their sentences)",
    "document": "documents",
}
DIRECTIONS = {"": "default of the measure", "False": "higher is better", "True": "lower is better"}
PHASE_TITLES = {"": "in every phase", "dev": "in the dev phase", "test": "in the test phase"}
DISCLOSURES = {
    "": "default: everything in the dev phase, else rounded figures",
    "hidden": "rounded figures until it closes",
    "open": "everything",
}
OPEN_WARNING = (
    "Everything reveals the gold: of 286 hidden labels, one file with distinct scores read all from the "
    "curve, and 100 files read 282 by the figures per class."
)


INVALID_MOMENT = "Enter a day and a time, such as 2026-11-21 09:00."


def _require_in_calendar(at: datetime) -> None:
    if not is_in_calendar(at):
        raise forms.ValidationError(INVALID_MOMENT)


def _moment(label: str, help_text: str) -> forms.DateTimeField:
    return forms.DateTimeField(
        label=label,
        help_text=help_text,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        required=False,
        error_messages={"invalid": INVALID_MOMENT},
        validators=[_require_in_calendar],
    )


def grouped(kinds: Iterable[str], *, beta: float = 1) -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the measures of these kinds of settings, by family and named by β."""
    measures = {measure.key: with_beta(measure, beta) for kind in kinds for measure in offered(kind)}
    return [
        (family.title, [(m.key, m.title) for m in group]) for _, family, group in by_family(measures.values())
    ]


class ShownForm(SectionedForm):
    """Opening times and display of a setting."""

    title = forms.CharField(max_length=80, help_text="Shown on the board, for example: Human gold, sentences")
    main = forms.ChoiceField(label="Main measure", help_text="The leaderboard is ranked by it.")
    lower_is_better = forms.ChoiceField(
        choices=list(DIRECTIONS.items()), required=False, label="Direction of the main measure"
    )
    digits = forms.IntegerField(
        min_value=0,
        max_value=6,
        required=False,
        help_text="Digits after the decimal point. Empty: default of each measure.",
    )
    measures = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, required=False, label="Measures shown",
        help_text="None selected: all measures for the unit.",
    )  # fmt: skip
    row_rule = forms.ChoiceField(
        required=False, label="Runs shown",
        help_text="The mean of all runs of a system, or one run. A run chosen by another setting needs runs "
        "that both score.",
    )  # fmt: skip
    phase = forms.ChoiceField(choices=list(PHASE_TITLES.items()), required=False, label="Accepts submissions")
    opens_at = _moment("Opens, UTC", "Empty: open immediately.")
    closes_at = _moment("Closes, UTC", "Empty: never closes.")
    past_meant = forms.BooleanField(
        required=False, label="Accept a closing date in the past",
        help_text="For a phase that is over. Otherwise such a date is taken for a mistake.",
    )  # fmt: skip
    sealed = forms.BooleanField(
        required=False, label="Sealed",
        help_text="Only organisers see scores before it closes.",
    )  # fmt: skip
    disclosure = forms.ChoiceField(
        choices=list(DISCLOSURES.items()), required=False, label="What teams see", help_text=OPEN_WARNING
    )
    class_rows = forms.BooleanField(
        required=False, label="F1 of large classes",
        help_text="While hidden: classes with 200 gold labels or more (F0.5 and F2: 500), in whole percent.",
    )  # fmt: skip
    ladder = forms.FloatField(
        min_value=0.0001, max_value=0.5, required=False, label="Step of the Ladder",
        help_text="While hidden: a team sees the main measure alone, and only of runs that improve the best "
        "figure it was shown by more than this step, such as 0.01. Empty: no Ladder.",
    )  # fmt: skip
    SHOWN: Parts = (
        ("Opening times", "", False, ("phase", "opens_at", "closes_at", "past_meant", "sealed")),
        ("Disclosure", "", False, ("disclosure", "class_rows", "ladder")),
        ("Display", "", True, ("row_rule", "lower_is_better", "digits", "measures")),
    )
    BLOCKS: Blocks = ((("", "", False, ("title", "main")),), SHOWN)

    def __init__(
        self,
        *args: Any,
        kinds: Iterable[str],
        setting: Setting | None = None,
        benchmark: Benchmark | None = None,
        beta: float = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **{"initial": shown_of(setting) if setting else None, **kwargs})
        if setting is not None and setting.rest_of_id:  # the rest of a split follows the share
            self.fields = {"title": self.fields["title"]}
            return
        others = setting.benchmark if setting else benchmark
        for name, verb in (("opens_at", "Opens"), ("closes_at", "Closes")):
            self.fields[name].label = f"{verb}, {zone_title(others) if others else 'UTC'}"
        rules = row_rules.choices(others, but=setting.key if setting else "")
        self.fields["row_rule"].choices = rules  # type: ignore[attr-defined]
        measures, present = grouped(kinds, beta=beta), setting.main if setting else ""
        ranking = [
            (title, [(k, t) for k, t in group if MENU[k].ranks or k == present]) for title, group in measures
        ]
        if setting is not None and (own := contributed_to(setting)):
            ranking.append(("contributed", [(each.key, each.title) for each in own]))
        self.fields["main"].choices = ranking  # type: ignore[attr-defined]
        self.fields["measures"].choices = measures  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Question a new closing date that has passed."""
        values = super().clean() or {}
        meant, closes = values.pop("past_meant", False), values.get("closes_at")
        if not meant and "closes_at" in self.changed_data and is_doubtful(closes, None):
            question = "This date has passed, so the phase would be closed at once. Is it meant?"
            self.add_error("closes_at", f"{question} Then select “Accept a closing date in the past”.")
        return values

    def clean_disclosure(self) -> str | None:
        return self.cleaned_data["disclosure"] or None

    def clean_row_rule(self) -> str:
        return self.cleaned_data["row_rule"] or row_rules.MEAN

    def clean_lower_is_better(self) -> bool | None:
        return {"True": True, "False": False}.get(self.cleaned_data["lower_is_better"])


def shown_of(setting: Setting) -> dict[str, Any]:
    """Initial values of the form."""
    names = (
        *("title", "main", "digits", "measures", "phase", "opens_at", "closes_at", "sealed"),
        *("disclosure", "class_rows", "ladder", "row_rule"),
    )
    direction = "" if setting.lower_is_better is None else str(setting.lower_is_better)
    return {name: getattr(setting, name) for name in names} | {"lower_is_better": direction}


class OneTestSet(forms.ModelChoiceField):
    label_from_instance = TestSets.label_from_instance


class GoldForm(SectionedForm):
    """Gold of a new version of a setting."""

    test_set = OneTestSet(TestSet.objects.none(), label="Test set", empty_label="select one")
    only = OneTestSet(
        TestSet.objects.none(), required=False, label="Only items of", empty_label="all items",
        help_text="To score source labels on the annotated sentences only, select the annotated set.",
    )  # fmt: skip
    note = forms.CharField(
        max_length=200,
        required=False,
        label="Reason",
        help_text="Shown beside the version, for example: 14 labels corrected",
    )
    BLOCKS: Blocks = ((("", "", False, ("test_set", "only", "note")),),)

    def __init__(self, *args: Any, benchmark: Benchmark, test_sets: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        fitting = test_sets.filter(kind__in=KINDS[benchmark.task])
        for name in ("test_set", "only"):
            self.fields[name].queryset = fitting  # type: ignore[attr-defined]


class SettingForm(ShownForm):
    """Form of a new setting."""

    key = forms.SlugField(
        max_length=40, required=False,
        help_text="Letters, digits and hyphens for URLs. Empty: made from the title.",
        error_messages={"invalid": "Use letters, digits, hyphens and underscores only."},
    )  # fmt: skip
    test_set = OneTestSet(TestSet.objects.none(), label="Test set", empty_label="select one")
    only = OneTestSet(
        TestSet.objects.none(), required=False, label="Only items of", empty_label="all items",
        help_text="To score source labels on the annotated sentences only, select the annotated set.",
    )  # fmt: skip
    unit = forms.ChoiceField(choices=Setting.Unit.choices, label="Unit")
    share = forms.FloatField(
        min_value=LEAST_SHARE, max_value=MOST_SHARE, required=False, label="Share scored while open",
        help_text="Such as 0.3: figures are over this share of the items or pairs, drawn once for all teams, "
        "until it closes. A second, sealed setting scores the rest. Empty: no split.",
    )  # fmt: skip
    BLOCKS: Blocks = (
        (("", "", False, ("title", "key", "test_set", "unit", "main", "only", "share")),),
        ShownForm.SHOWN,
    )

    def clean_key(self) -> str:
        return slug_from_title(self, "key")

    def __init__(self, *args: Any, benchmark: Benchmark, test_sets: Any, **kwargs: Any) -> None:
        units = UNITS[benchmark.task]
        kinds = ["joint"] if benchmark.task == Benchmark.Task.JOINT else units
        super().__init__(
            *args, kinds=kinds, benchmark=benchmark, beta=benchmark.options.get("beta", 1), **kwargs
        )
        fitting = test_sets.filter(kind__in=KINDS[benchmark.task])
        for name in ("test_set", "only"):
            self.fields[name].queryset = fitting  # type: ignore[attr-defined]
        self.fields["unit"].choices = [(unit, UNIT_TITLES[unit]) for unit in units]  # type: ignore[attr-defined]
        preview_slug(self, "key")
