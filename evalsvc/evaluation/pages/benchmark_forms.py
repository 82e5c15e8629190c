"""What organisers fill in about a board: words, quotas and limits, and what it is made with."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from zoneinfo import available_timezones

from django import forms
from django.conf import settings

from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.formatting import byte_size, count
from evalsvc.evaluation.benchmarks.creation import KINDS
from evalsvc.evaluation.benchmarks.file_contract import LIMITS
from evalsvc.evaluation.benchmarks.training_counts import read_counts
from evalsvc.evaluation.measures.options import OPTIONS, ScoringOption
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.pages.forms import Blocks, Parts, Sheet, address_of, follow_title

TASK_WORDS = {"relations": "relations between two entities", "entities": "entities in text"}
MISSING_WORDS = {"refuse": "the file is refused", "wrong": "counts as wrong"}
MEGABYTE = 1_000_000
QUOTA_WORDS = {
    "per_day": "Submissions a day",
    "in_total": "Submissions in all",
    "at_once": "Waiting or running at once",
}


def _zones() -> list[tuple[str, str]]:
    named = sorted(available_timezones() - {"UTC"})
    return [(zone, zone.replace("_", " ")) for zone in ("UTC", *named)]


def _whole(label: str, **more: Any) -> forms.IntegerField:
    said = {
        "min_value": f"{label}: a whole number above 0, or nothing.",
        "invalid": "Expected a whole number.",
    }
    return forms.IntegerField(
        label=label, min_value=1, max_value=(1 << 31) - 1, required=False, error_messages=said, **more
    )


class RulesForm(Sheet):
    """Words, quotas and limits: no score depends on them, so they may change at any time."""

    title = forms.CharField(max_length=120)
    summary = forms.CharField(
        max_length=200, required=False, label="What is ranked, in a few words",
        help_text="Stands behind the title: relations in newspaper sentences",
    )  # fmt: skip
    description = forms.CharField(
        widget=forms.Textarea, required=False,
        help_text="Markdown, with tables and without images. "
        "Where the data come from, what they are not for, whom to ask.",
    )  # fmt: skip
    public = forms.BooleanField(
        required=False, label="Everybody sees this board",
        help_text="If not, only the people you name under People see it and submit to it.",
    )  # fmt: skip
    per_day = _whole(QUOTA_WORDS["per_day"])
    in_total = _whole(QUOTA_WORDS["in_total"])
    at_once = _whole(QUOTA_WORDS["at_once"])
    time_zone = forms.ChoiceField(label="Days begin at midnight in", choices=_zones, required=False)
    upload_megabytes = forms.DecimalField(
        label="Largest file, MB",
        min_value=Decimal("0.000001"),
        max_digits=12,
        decimal_places=6,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        error_messages={"min_value": "Expected more than 0."},
    )
    lines = _whole("Most lines of a file")
    training_counts = forms.FileField(
        required=False, label="Training counts", allow_empty_file=True,
        help_text="How often each label occurs in the training data: a line per label with its name and its "
        "count, or a JSON object. Teams read them beside the figures per label.",
    )  # fmt: skip
    no_training_counts = forms.BooleanField(required=False, label="Take the present training counts away")

    QUOTAS: Parts = (
        (
            "Quotas of each team", "Empty: no quota. What is refused, fails or is cancelled costs nothing.",
            False, ("per_day", "in_total", "at_once", "time_zone"),
        ),
    )  # fmt: skip
    LIMITS: Parts = (
        (
            "Limits on files", "Empty: as this service allows. They can only be narrower than those.",
            True, ("upload_megabytes", "lines"),
        ),
        (
            "Training data", "", True, ("training_counts", "no_training_counts"),
        ),
    )  # fmt: skip
    BLOCKS: Blocks = (
        (("", "", False, ("title", "summary", "description", "public")),),
        (*QUOTAS, *LIMITS),
    )

    def __init__(self, *args: Any, benchmark: Benchmark | None = None, **kwargs: Any) -> None:
        initial = {"public": True, "time_zone": "UTC"} | (rules_of(benchmark) if benchmark else {})
        super().__init__(*args, **{"initial": initial, **kwargs})
        if benchmark is None or not benchmark.training_counts:
            del self.fields["no_training_counts"]
        self.fields["upload_megabytes"].help_text = f"This service takes {byte_size(_most('upload_bytes'))}."
        self.fields["lines"].help_text = f"This service takes {count(_most('lines'))}."

    def clean_upload_megabytes(self) -> int | None:
        """In bytes."""
        given = self.cleaned_data["upload_megabytes"]
        if given is not None and given * MEGABYTE > _most("upload_bytes"):
            raise forms.ValidationError(f"This service takes {byte_size(_most('upload_bytes'))} at most.")
        return None if given is None else int(given * MEGABYTE)

    def clean_lines(self) -> int | None:
        given: int | None = self.cleaned_data["lines"]
        if given is not None and given > _most("lines"):
            raise forms.ValidationError(f"This service takes {count(_most('lines'))} at most.")
        return given

    def clean_time_zone(self) -> str:
        return self.cleaned_data["time_zone"] or "UTC"

    def clean_training_counts(self) -> dict[str, int] | None:
        sent = self.cleaned_data["training_counts"]
        if not sent:
            return None
        try:
            return read_counts(sent.read())
        except DomainError as refusal:
            raise forms.ValidationError(f"{refusal.detail} {refusal.hint}".strip()) from refusal

    @property
    def rules(self) -> dict[str, Any]:
        """What `rules.change` takes."""
        given = self.cleaned_data
        told = {name: given[name] for name in ("title", "summary", "description", "public", *QUOTA_WORDS)}
        counts = {} if given.get("no_training_counts") else given["training_counts"]
        told |= {"time_zone": given["time_zone"], "limits": self._limits()}
        return told if counts is None else told | {"training_counts": counts}

    def _limits(self) -> dict[str, int]:
        given = self.cleaned_data
        found = {"upload_bytes": given["upload_megabytes"], "lines": given["lines"]}
        return {name: found[name] for name in LIMITS if found[name]}


def rules_of(benchmark: Benchmark) -> dict[str, Any]:
    """The rules as the form shows them."""
    names = ("title", "summary", "description", "public", *QUOTA_WORDS, "time_zone")
    size = benchmark.limits.get("upload_bytes")
    told = {name: getattr(benchmark, name) for name in names}
    megabytes = size and f"{Decimal(size) / MEGABYTE:f}"
    return told | {"upload_megabytes": megabytes, "lines": benchmark.limits.get("lines")}


def _most(limit: str) -> int:
    """What the service itself takes."""
    return int(getattr(settings, LIMITS[limit]))


# ---- a new board ---------------------------------------------------------------------------------
def _option(key: str, option: ScoringOption) -> forms.Field:
    """A field for an entry of the closed table; what it takes is the table's to say."""
    told: dict[str, Any] = {"label": key.replace("_", " ").capitalize(), "help_text": option.explains}
    told |= {"required": False, "initial": option.default}
    made: forms.Field
    if isinstance(option.default, bool):
        made = forms.BooleanField(**told)
    elif option.choices:
        made = forms.ChoiceField(choices=[(choice, choice) for choice in option.choices], **told)
    else:
        made = forms.FloatField(**told)
    if option.task:
        made.widget.attrs["data-task"] = option.task  # shown while this task is chosen
    return made


class TestSets(forms.ModelMultipleChoiceField):
    """Sets by name, with what tells them apart."""

    def label_from_instance(self, obj: TestSet) -> str:
        return f"{obj}, {obj.get_origin_display().lower()}: {obj.rows:,} rows of {obj.kind}"


class BoardForm(RulesForm):
    """Everything a board begins with; task, labels and options stay, for scores rest on them."""

    slug = forms.SlugField(
        max_length=60, label="Address", required=False,
        help_text="Letters, digits and hyphens; /boards/…/. Empty: made from the title.",
        error_messages={"invalid": "Letters, digits, hyphens and underscores only."},
    )  # fmt: skip
    task = forms.ChoiceField(choices=list(TASK_WORDS.items()))
    test_sets = TestSets(
        TestSet.objects.none(), label="Labels from", widget=forms.CheckboxSelectMultiple,
        help_text="The board ranks on the labels of all sets chosen here.",
        error_messages={"required": "Choose at least one frozen test set."},
    )  # fmt: skip
    negative = forms.CharField(
        max_length=60, required=False, label="How files spell “none of these”",
        help_text="Left empty: as the first of these sets spells it.",
        widget=forms.TextInput(attrs={"data-task": Benchmark.Task.RELATIONS.value}),
    )  # fmt: skip
    missing = forms.ChoiceField(
        choices=list(MISSING_WORDS.items()), initial="refuse", label="A sentence without a line"
    )
    RANKED: Parts = (
        ("What is ranked", "These stay as they are: scores rest on them.", False,
         ("task", "test_sets", "negative", "missing")),
        ("Options", "Each changes a figure. The defaults are what papers use.", True,
         tuple(f"option_{key}" for key in OPTIONS)),
    )  # fmt: skip
    BLOCKS: Blocks = (
        (("", "", False, ("title", "slug", "summary", "description", "public")),),
        RANKED,
        RulesForm.QUOTAS,
        RulesForm.LIMITS,
    )

    def __init__(self, *args: Any, test_sets: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["test_sets"].queryset = test_sets  # type: ignore[attr-defined]
        self.fields |= {f"option_{key}": _option(key, option) for key, option in OPTIONS.items()}
        follow_title(self, "slug")

    def clean_slug(self) -> str:
        return address_of(self, "slug")

    def clean(self) -> dict[str, Any]:
        given = super().clean() or {}
        task = given.get("task", "")
        for test_set in given.get("test_sets", ()) if task else ():
            if test_set.kind not in KINDS[task]:
                self.add_error("test_sets", f"{test_set} holds {test_set.kind}; choose sets of {task}.")
        for key, option in OPTIONS.items():
            name = f"option_{key}"
            if option.task not in ("", task):
                self.errors.pop(name, None)  # of no weight here, and not shown
                continue
            if given.get(name, "") in ("", None):
                given[name] = option.default
            if not option.accepts(given[name]):
                self.add_error(name, f"Expected {option.expected()}.")
        return given

    @property
    def options(self) -> dict[str, Any]:
        """The options of the chosen task that are not the default."""
        given, task = self.cleaned_data, self.cleaned_data["task"]
        mine = {key: option for key, option in OPTIONS.items() if option.task in ("", task)}
        return {key: given[f"option_{key}"] for key, o in mine.items() if given[f"option_{key}"] != o.default}
