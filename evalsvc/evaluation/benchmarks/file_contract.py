"""The file contract: everything one prediction file is checked against.

It is made once per submission and handed down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any, cast

from django.conf import settings as service
from django.db.models import F
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.prediction_check import PredictionCheck
from evalsvc.core.formats.prediction_forms import BAG_ONLY, SILENT_FORMS, Form
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.text_lines import Limits
from evalsvc.evaluation.benchmarks.inputs import ExpectedIds, Pair, count_inputs, expected_ids
from evalsvc.evaluation.dates import stated
from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.measures import old_labels
from evalsvc.evaluation.measures.computation import FORMS_OF_KIND, complete_options
from evalsvc.evaluation.measures.inventory import relation_labels, scored_labels
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion, Submission

UNREAD = ("test_set__statistics", "only__statistics")  # long, and not needed to score
BOTH = "both"  # phase of a file that answers the inputs of dev and test
LIMITS = {"upload_bytes": "UPLOAD_MAX_BYTES", "lines": "UPLOAD_MAX_LINES"}


@dataclass(frozen=True)
class FileContract:
    """Settings open to a file, and the contents they require."""

    benchmark: Benchmark
    settings: list[Setting]
    phase: str = ""
    version_ids: list[int] = field(default_factory=list)
    hidden: list[Setting] = field(default_factory=list)
    """Settings whose figures are held back: a new file must answer each of their items."""
    old: LabelMapping | None = None
    """Old names of labels, where one gold is scored; None: those of all settings."""
    mapped: bool | None = None
    """Whether a stored file was checked with old names mapped; None: a new file."""

    @cached_property
    def expected(self) -> ExpectedIds:
        """Everything that any of the settings scores, the first setting's items first."""
        ids: dict[str, Pair | None] = {}
        tokens: dict[str, Sequence[str]] = {}
        lengths: dict[str, int] = {}
        for setting in self.settings:
            part = expected_ids(setting)
            ids |= part.ids
            tokens |= part.tokens
            lengths |= part.lengths
        return ExpectedIds(ids, tokens, lengths)

    @cached_property
    def labels(self) -> list[str]:
        """Inventory of relations, or of entity types."""
        labels = scored_labels(self.benchmark, [setting.test_set for setting in self.settings])
        return [label["name"] for label in labels]

    @cached_property
    def relations(self) -> list[dict[str, Any]]:
        """Relations between entities, of joint benchmarks."""
        return relation_labels(self.benchmark)

    @cached_property
    def options(self) -> dict[str, Any]:
        return complete_options(self.benchmark.options, task=self.benchmark.task)

    @cached_property
    def old_labels(self) -> LabelMapping:
        """Old names of labels that files may have."""
        if self.old is not None:
            return self.old
        return old_labels.accepted(self.benchmark, self.settings, mapped=self.mapped)

    def old_labels_of(self, setting: Setting) -> dict[str, str | None]:
        """Return what old names become under the gold of a setting, which may be another by now."""
        now = old_labels.is_mapped(self.benchmark)
        checked = now if self.mapped is None else self.mapped
        return old_labels.scored(self.benchmark, setting, self.settings, checked=checked, now=now)

    def reading(self, options: Mapping[str, Any]) -> FileContract:
        """Return the contract that reads a checked file as the options of an evaluation state."""
        return replace(self, old=LabelMapping(options.get("old_labels", {})))

    @cached_property
    def forms(self) -> list[Form]:
        """The forms of predictions that any of the settings accepts."""
        kinds = {setting.kind for setting in self.settings}
        return list(
            dict.fromkeys(form for kind, forms in FORMS_OF_KIND.items() if kind in kinds for form in forms)
        )

    @property
    def limits(self) -> Limits:
        return Limits(
            max_bytes=service.UPLOAD_MAX_UNPACKED_BYTES,
            max_lines=limit(self.benchmark, "lines"),
            max_line_bytes=service.UPLOAD_MAX_LINE_BYTES,
        )

    def check(self, problems: Problems) -> PredictionCheck:
        """Return the check that a file must pass."""
        expected = self.expected
        return PredictionCheck(
            ids=expected.ids.keys(),
            labels=self.labels,
            negative=self.benchmark.negative or None,
            pairs=expected.pairs,
            tokens=expected.tokens if expected.ids.keys() <= expected.tokens.keys() else None,
            lengths=expected.lengths,
            relations=[label["name"] for label in self.relations],
            scheme=self.options.get("scheme"),
            repair=self.options.get("repair", "conlleval"),
            forms=self.forms,
            missing=cast(Any, Benchmark.Missing.REFUSE if self.hidden else self.benchmark.missing),
            silent=BAG_ONLY if self.hidden else SILENT_FORMS,
            old=self.old_labels,
            problems=problems,
        )

    def count_items(self) -> int:
        """Count the items a file must answer, each once."""
        gold = {(each.test_set_id, each.only_id): each for each in self.settings}
        return count_inputs(self.settings[0]) if len(gold) == 1 else len(self.expected.ids)

    def require_open(self, settings: Iterable[Setting], at: datetime) -> None:
        """Reject a file whose settings, read again, closed while it was sent."""
        still_open = {setting.pk for setting in settings if accepts(setting, self.phase, at)}
        if not {setting.pk for setting in self.settings} <= still_open:
            raise DomainError("closed", f"{self.benchmark} closed during the upload.")

    def covers(self, setting: Setting, form: str) -> bool:
        """True when files of this form contain everything a setting scores."""
        gold = (setting.test_set_id, setting.only_id)
        if any((own.test_set_id, own.only_id) == gold for own in self.settings):
            return True
        wanted = expected_ids(setting)
        if form == "bag":
            return set(wanted.pairs) <= set(self.expected.pairs)
        if not wanted.ids.keys() <= self.expected.ids.keys():
            return False
        lengths = self.expected.lengths
        by_document = setting.unit == Setting.Unit.DOCUMENT
        return not by_document or all(lengths.get(name) == wanted.lengths.get(name) for name in wanted.ids)


# ---- making one ----------------------------------------------------------------------------------
def for_new_file(
    benchmark: Benchmark, *, phase: str = "", newest: list[SettingVersion] | None = None
) -> FileContract:
    """Return the contract of a file sent now.

    Reject when nothing is open.
    """
    now = timezone.now()
    newest = newest_versions(benchmark) if newest is None else newest
    phase = _open_phase(benchmark, [as_of(each) for each in newest], phase, now)
    contract = _accepting(newest, benchmark, phase, now)
    if phase == BOTH:
        _require_one_meaning(contract)
    return replace(contract, hidden=[each for each in contract.settings if is_hidden(each, now)])


def of_submission(submission: Submission) -> FileContract:
    """Return the contract a submission was checked against."""
    if not submission.held_to:
        return present(submission)
    related = ("setting__benchmark", "test_set", "only")
    versions = SettingVersion.objects.select_related(*related).in_bulk(submission.held_to)
    kept = [pk for pk in submission.held_to if pk in versions]
    settings, mapped = [as_of(versions[pk]) for pk in kept], submission.maps_old_labels
    return FileContract(submission.benchmark, settings, submission.phase, kept, mapped=mapped)


def present(submission: Submission) -> FileContract:
    """Return the contract under the present gold, which a model predicts for."""
    benchmark = submission.benchmark
    return _accepting(newest_versions(benchmark), benchmark, submission.phase, submission.created_at)


def as_of(version: SettingVersion) -> Setting:
    """Return a setting as it was under one of its versions."""
    setting = version.setting
    setting.test_set, setting.only, setting.version = version.test_set, version.only, version.number
    return setting


def newest_versions(benchmark: Benchmark) -> list[SettingVersion]:
    newest = SettingVersion.objects.filter(setting__benchmark=benchmark, number=F("setting__version"))
    related = newest.select_related("setting", "test_set", "only").defer(*UNREAD)
    versions = list(related.order_by("setting__rank", "setting"))
    for version in versions:
        version.setting.benchmark = benchmark
    return versions


def _accepting(
    versions: Iterable[SettingVersion], benchmark: Benchmark, phase: str, at: datetime
) -> FileContract:
    kept = [version for version in versions if accepts(version.setting, phase, at)]
    return FileContract(
        benchmark, [as_of(version) for version in kept], phase, [version.pk for version in kept]
    )


def _open_phase(benchmark: Benchmark, settings: list[Setting], requested: str, at: datetime) -> str:
    """Return the phase requested, else the only open one."""
    open_now = [setting for setting in settings if state_at(setting, at) == "open"]
    phases = open_phases(open_now)
    if not open_now:
        raise _closed(benchmark, settings, at)
    if requested and requested not in phases:
        hint = f"Open: {', '.join(phases) or 'none'}."
        raise DomainError(
            "unknown_phase", f"{benchmark} has no open phase {requested}.", hint=hint, field="phase"
        )
    if not requested and len(phases) > 1:
        hint = f"Specify {' or '.join(phases)}."
        raise DomainError("phase_needed", f"{benchmark} has several open phases.", hint=hint, field="phase")
    return requested or next(iter(phases), "")


def _require_one_meaning(contract: FileContract) -> None:
    """Reject one file for several phases when an id names different items in them."""
    pairs: dict[str, Pair | None] = {}
    lengths: dict[str, int] = {}
    for setting in contract.settings:
        part = expected_ids(setting)
        for id in part.ids.keys() & pairs.keys():
            length = part.lengths.get(id)
            if pairs[id] != part.ids[id] or length != lengths.get(id, length):
                raise DomainError(
                    "ids_in_both",
                    f"The id {id[:40]} names one item in the dev phase and another in the test phase.",
                    hint="Send a file for each phase.",
                    field="phase",
                )
        pairs |= part.ids
        lengths |= part.lengths


def _closed(benchmark: Benchmark, settings: list[Setting], at: datetime) -> DomainError:
    if not settings:
        return DomainError("no_setting", f"{benchmark} has no setting to score against.")
    coming = [
        (setting.opens_at, setting.title)
        for setting in settings
        if setting.opens_at and setting.opens_at > at
    ]
    hint = ""
    if coming:
        first, title = min(coming)
        hint = f"“{title}” opens on {stated(first, benchmark)}."
    return DomainError("closed", f"{benchmark} is closed to submissions.", hint=hint)


# ---- the settings --------------------------------------------------------------------------------
def settings_of(benchmark: Benchmark) -> list[Setting]:
    """Read the benchmark's settings with their test sets, in order."""
    return list(benchmark.settings.select_related("test_set", "only").defer(*UNREAD))


def public_settings(slug: str) -> list[Setting]:
    """Read the settings of a public benchmark together with it; none for another one."""
    public = Setting.objects.filter(benchmark__slug=slug, benchmark__public=True)
    settings = list(public.select_related("benchmark", "test_set", "only").defer(*UNREAD))
    for setting in settings:
        setting.benchmark = settings[0].benchmark
    return settings


def settings_again(benchmark: Benchmark, known: Iterable[Setting]) -> list[Setting]:
    """Read the settings again, with the test sets already read: these never change."""
    sets = {gold.pk: gold for setting in known for gold in (setting.test_set, setting.only) if gold}
    settings = list(benchmark.settings.all())
    wanted = {pk for each in settings for pk in (each.test_set_id, each.only_id) if pk} - sets.keys()
    if wanted:
        sets |= TestSet.objects.defer("statistics").in_bulk(wanted)
    for each in settings:
        each.test_set = sets[each.test_set_id]
        each.only = sets[each.only_id] if each.only_id else None
    return settings


def lock_settings(benchmark: Benchmark) -> None:
    """Lock the settings of a benchmark until the end of the transaction."""
    Benchmark.objects.select_for_update(no_key=True).values_list("pk").get(pk=benchmark.pk)


def open_settings(benchmark: Benchmark, at: datetime | None = None) -> list[Setting]:
    """Return the settings that accept submissions at a time, by default now."""
    return [each for each in settings_of(benchmark) if state_at(each, at or timezone.now()) == "open"]


def open_phases(settings: Iterable[Setting]) -> list[str]:
    """Return the phases to choose from among open settings, `both` last."""
    phases = sorted({setting.phase for setting in settings} - {""})
    return [*phases, BOTH] if len(phases) > 1 else phases


def sent_to(phase: str) -> tuple[str, ...]:
    """Return what runs of a phase may have been sent to."""
    return (phase, BOTH) if phase else (phase,)


def state_at(setting: Setting, at: datetime) -> str:
    """Return `coming`, `open` or `closed`."""
    if setting.opens_at and at < setting.opens_at:
        return "coming"
    return "closed" if setting.closes_at and setting.closes_at <= at else "open"


def accepts(setting: Setting, phase: str, at: datetime) -> bool:
    """True when a setting is open to files of a phase."""
    return (phase == BOTH or setting.phase in ("", phase)) and state_at(setting, at) == "open"


def limit(benchmark: Benchmark, name: str) -> int:
    """Return the benchmark's limit, at most that of the service."""
    most = int(getattr(service, LIMITS[name]))
    return min(most, benchmark.limits.get(name) or most)
