"""Forms of a benchmark: texts, quotas and limits, and its creation."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings

from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.formatting import byte_size, count
from evalsvc.core.web.forms import ModelChoices
from evalsvc.core.web.markdown import MAX_LENGTH
from evalsvc.evaluation import dates
from evalsvc.evaluation.benchmarks.file_contract import LIMITS
from evalsvc.evaluation.benchmarks.label_inventory import labels_of_set
from evalsvc.evaluation.benchmarks.quotas import PHASE_QUOTAS
from evalsvc.evaluation.benchmarks.setting_checks import KINDS
from evalsvc.evaluation.benchmarks.training_counts import read_counts, training_sets
from evalsvc.evaluation.dates import ANYWHERE, ANYWHERE_TITLE
from evalsvc.evaluation.measures.computation import OPTIONS, ScoringOption
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages.forms import Blocks, Parts, SectionedForm, preview_slug, slug_from_title

TASK_TITLES = {
    "relations": "relations between two entities",
    "entities": "entities in text",
    "joint": "entities and the relations between them",
}
MISSING_TITLES = {"refuse": "reject the file", "wrong": "count as wrong"}
MEGABYTE = 1_000_000
QUOTA_TITLES = {
    "per_day": "Submissions per day",
    "in_total": "Submissions in total",
    "at_once": "Waiting or running at once",
}


ZONES = [
    ("UTC", "UTC"),
    (ANYWHERE, ANYWHERE_TITLE),
    *((zone, zone.replace("_", " ")) for zone in sorted(dates.ZONES - {"UTC", ANYWHERE})),
]


def _whole(label: str, **more: Any) -> forms.IntegerField:
    messages = {"min_value": "Enter a whole number above 0, or nothing.", "invalid": "Enter a whole number."}
    return forms.IntegerField(
        label=label, min_value=1, max_value=(1 << 31) - 1, required=False, error_messages=messages, **more
    )


class RulesForm(SectionedForm):
    """Texts, quotas and limits, which no score depends on."""

    title = forms.CharField(max_length=120)
    summary = forms.CharField(
        max_length=200, required=False, label="Summary",
        help_text="Follows the title, for example: relations in newspaper sentences",
    )  # fmt: skip
    description = forms.CharField(
        widget=forms.Textarea, required=False, max_length=MAX_LENGTH,
        help_text="Markdown with tables, without images. "
        "Name the source of the data, its limits, and a contact.",
    )  # fmt: skip
    public = forms.BooleanField(
        required=False, label="Public",
        help_text="If not, only people with a role can see it and submit to it.",
    )  # fmt: skip
    per_day = _whole(QUOTA_TITLES["per_day"])
    in_total = _whole(QUOTA_TITLES["in_total"])
    at_once = _whole(QUOTA_TITLES["at_once"])
    dev_per_day = _whole("Dev phase: per day")
    dev_in_total = _whole("Dev phase: in total")
    test_per_day = _whole("Test phase: per day")
    test_in_total = _whole("Test phase: in total")
    default_quotas = forms.BooleanField(
        required=False, label="Default quotas in hidden phases",
        help_text="Where a quota is empty: 5 a day, and in total one per 50 items, from 3 to 100.",
    )  # fmt: skip
    time_zone = forms.ChoiceField(
        label="Time zone of dates and of the daily quota", choices=ZONES, required=False
    )
    upload_megabytes = forms.DecimalField(
        label="Largest file, MB",
        min_value=Decimal("0.000001"),
        max_digits=12,
        decimal_places=6,
        required=False,
        widget=forms.NumberInput(attrs={"step": "any"}),
        error_messages={"min_value": "Enter a number above 0."},
    )
    lines = _whole("Maximum lines")
    training_counts = forms.FileField(
        required=False, label="Training counts", allow_empty_file=True,
        help_text="A line per label with its name and count in the training data, such as born_in 1204, "
        "or a JSON object. Shown beside the figures per label.",
    )  # fmt: skip
    training_set = forms.ChoiceField(
        required=False, label="Counts of a training set",
        help_text="A training set of one of its test sets.",
    )  # fmt: skip
    no_training_counts = forms.BooleanField(required=False, label="Remove the current training counts")

    QUOTAS: Parts = (
        (
            "Quotas per team", "Empty: unlimited, unless a phase hides gold. Scoring that began counts.",
            False, ("per_day", "in_total", "at_once", "default_quotas", "time_zone"),
        ),
        (
            "Quotas of a phase", "They count the runs of that phase; those above count the runs of all.",
            True, ("dev_per_day", "dev_in_total", "test_per_day", "test_in_total"),
        ),
    )  # fmt: skip
    LIMITS: Parts = (
        (
            "Limits on files", "Empty: the limit of the service. You can only lower it.",
            True, ("upload_megabytes", "lines"),
        ),
        (
            "Training data", "", True, ("training_counts", "training_set", "no_training_counts"),
        ),
    )  # fmt: skip
    BLOCKS: Blocks = (
        (("", "", False, ("title", "summary", "description", "public")),),
        (*QUOTAS, *LIMITS),
    )

    def __init__(self, *args: Any, benchmark: Benchmark | None = None, **kwargs: Any) -> None:
        initial = {"public": True, "default_quotas": True, "time_zone": "UTC"} | (
            rules_of(benchmark) if benchmark else {}
        )
        super().__init__(*args, **{"initial": initial, **kwargs})
        self.benchmark, self.heading = benchmark, ""
        if benchmark is None or not benchmark.training_counts:
            del self.fields["no_training_counts"]
        beside = training_sets(benchmark) if benchmark else {}
        if beside:
            sets = [(slug, str(each)) for slug, each in beside.items()]
            self.fields["training_set"].choices = [("", "none"), *sets]  # type: ignore[attr-defined]
        else:
            del self.fields["training_set"]
        most, lines = byte_size(_service_limit("upload_bytes")), count(_service_limit("lines"))
        self.fields["upload_megabytes"].help_text = f"Limit of the service: {most}."
        self.fields["lines"].help_text = f"Limit of the service: {lines}."

    def clean_upload_megabytes(self) -> int | None:
        """Convert to bytes."""
        size = self.cleaned_data["upload_megabytes"]
        if size is not None and size * MEGABYTE > _service_limit("upload_bytes"):
            raise forms.ValidationError(
                f"The limit of the service is {byte_size(_service_limit('upload_bytes'))}. Enter less."
            )
        return None if size is None else int(size * MEGABYTE)

    def clean_lines(self) -> int | None:
        lines: int | None = self.cleaned_data["lines"]
        if lines is not None and lines > _service_limit("lines"):
            raise forms.ValidationError(
                f"The limit of the service is {count(_service_limit('lines'))}. Enter less."
            )
        return lines

    def clean_time_zone(self) -> str:
        return self.cleaned_data["time_zone"] or "UTC"

    def clean(self) -> dict[str, Any]:
        """Read the training counts: which line is a heading depends on the labels."""
        values = super().clean() or {}
        file = values.get("training_counts")
        values["training_counts"] = None
        if file:
            try:
                values["training_counts"], self.heading = read_counts(file.read(), self.label_names(values))
            except DomainError as refusal:
                self.add_error("training_counts", f"{refusal.detail} {refusal.hint}".strip())
        return values

    def label_names(self, values: Mapping[str, Any]) -> set[str]:
        return {label["name"] for label in self.benchmark.labels} if self.benchmark else set()

    @property
    def skipped(self) -> str:
        """Sentence on the line of the training counts that was skipped."""
        line = f"{self.heading[:59]}…" if len(self.heading) > 60 else self.heading
        return f"The first line of the training counts, “{line}”, was skipped as a heading." if line else ""

    @property
    def rules(self) -> dict[str, Any]:
        """Arguments of `rules.change`."""
        values = self.cleaned_data
        rules = {name: values[name] for name in ("title", "summary", "description", "public", *QUOTA_TITLES)}
        counts = {} if values.get("no_training_counts") else values["training_counts"]
        limits = {"upload_bytes": values["upload_megabytes"], "lines": values["lines"]}
        rules |= {name: values[name] for name in ("default_quotas", "time_zone")}
        rules["phase_quotas"] = {
            phase: of_phase
            for phase in Setting.Phase.values
            if (of_phase := {name: n for name in PHASE_QUOTAS if (n := values[f"{phase}_{name}"])})
        }
        rules |= {"limits": {name: limits[name] for name in LIMITS if limits[name]}}
        if values.get("training_set"):
            return rules | {"training_set": values["training_set"]}
        return rules if counts is None else rules | {"training_counts": counts}


def rules_of(benchmark: Benchmark) -> dict[str, Any]:
    """Initial values of the form."""
    names = ("title", "summary", "description", "public", *QUOTA_TITLES, "default_quotas", "time_zone")
    size = benchmark.limits.get("upload_bytes")
    values = {name: getattr(benchmark, name) for name in names}
    megabytes = size and f"{Decimal(size) / MEGABYTE:f}"
    for phase, of_phase in benchmark.phase_quotas.items():
        values |= {f"{phase}_{name}": most for name, most in of_phase.items()}
    return values | {"upload_megabytes": megabytes, "lines": benchmark.limits.get("lines")}


def _service_limit(limit: str) -> int:
    return int(getattr(settings, LIMITS[limit]))


# ---- a new benchmark -------------------------------------------------------------------------------
def _option(key: str, option: ScoringOption) -> forms.Field:
    """Return the field of an option; the option itself validates values."""
    arguments: dict[str, Any] = {"label": key.replace("_", " ").capitalize(), "help_text": option.explains}
    arguments |= {"required": False, "initial": option.default}
    field: forms.Field
    if isinstance(option.default, bool):
        field = forms.BooleanField(**arguments)
    elif option.choices:
        field = forms.ChoiceField(choices=[(choice, choice) for choice in option.choices], **arguments)
    else:
        field = forms.FloatField(**arguments)
    if option.tasks:
        field.widget.attrs["data-task"] = " ".join(option.tasks)  # shown while this task is chosen
    return field


class TestSetCheckboxes(forms.CheckboxSelectMultiple):
    """Checkboxes with the test set's kind; other tasks' sets are hidden."""

    def create_option(self, name: str, value: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        option = super().create_option(name, value, *args, **kwargs)
        option["attrs"]["data-kind"] = value.instance.kind
        return option


class TestSets(ModelChoices):
    """Choice of test sets by name, origin, size and kind."""

    def label_from_instance(self, obj: TestSet) -> str:
        return f"{obj}, {obj.get_origin_display().lower()}: {obj.rows:,} items of {obj.kind}"


class BoardForm(RulesForm):
    """Form of a new benchmark.

    Task, labels and options can't be changed later.
    """

    slug = forms.SlugField(
        max_length=60, label="Address", required=False,
        help_text="Letters, digits and hyphens for /boards/…/. Empty: made from the title.",
        error_messages={"invalid": "Use letters, digits, hyphens and underscores only."},
    )  # fmt: skip
    task = forms.ChoiceField(choices=list(TASK_TITLES.items()))
    test_sets = TestSets(
        TestSet.objects.none(), label="Labels from", widget=TestSetCheckboxes,
        help_text="The benchmark has the labels of all selected sets.",
        error_messages={"required": "Select at least one frozen test set."},
    )  # fmt: skip
    negative = forms.CharField(
        max_length=60, required=False, label="Negative class",
        help_text="Label for none of the relations. Empty: that of the first selected set.",
        widget=forms.TextInput(attrs={"data-task": Benchmark.Task.RELATIONS.value}),
    )  # fmt: skip
    symmetric = forms.CharField(
        max_length=2_000, required=False, label="Relations without direction",
        help_text="Names separated by commas, such as sibling_of: either direction is correct.",
        widget=forms.TextInput(attrs={"data-task": Benchmark.Task.JOINT.value}),
    )  # fmt: skip
    missing = forms.ChoiceField(
        choices=list(MISSING_TITLES.items()), initial="refuse", label="Missing predictions"
    )
    RANKED: Parts = (
        ("Task and labels", "Scores depend on these, so they cannot be changed later.", False,
         ("task", "test_sets", "negative", "symmetric", "missing")),
        ("Options", "Each option changes scores. The defaults follow the literature.", True,
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
        preview_slug(self, "slug")

    def clean_slug(self) -> str:
        return slug_from_title(self, "slug")

    def label_names(self, values: Mapping[str, Any]) -> set[str]:
        sets, task = values.get("test_sets", ()), values.get("task", "")
        return {label["name"] for test_set in sets for label in labels_of_set(test_set, task)}

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        task = values.get("task", "")
        for test_set in values.get("test_sets", ()) if task else ():
            if test_set.kind not in KINDS[task]:
                self.add_error("test_sets", f"{test_set} contains {test_set.kind}. Select sets of {task}.")
        for key, option in OPTIONS.items():
            name = f"option_{key}"
            if not option.applies(task):
                self.errors.pop(name, None)  # not an option of this task
                continue
            if values.get(name, "") in ("", None):
                values[name] = option.default
            if not option.accepts(values[name]):
                self.add_error(name, f"Enter {option.expected()}.")
        return values

    @property
    def options(self) -> dict[str, Any]:
        """Options of the task that differ from the default."""
        values, task = self.cleaned_data, self.cleaned_data["task"]
        of_task = {key: option for key, option in OPTIONS.items() if option.applies(task)}
        return {
            key: values[f"option_{key}"]
            for key, option in of_task.items()
            if values[f"option_{key}"] != option.default
        }
