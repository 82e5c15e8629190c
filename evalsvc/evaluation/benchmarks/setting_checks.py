"""Checks of settings: gold, unit, measures, dates and display."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from annotation.testset import Kind, TestSet
from annotation.testset_overlap import lock_overlapping, published_gold
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.evaluation.benchmarks.label_inventory import labels_of_set
from evalsvc.evaluation.disclosure.split import LEAST_SHARE, MOST_SHARE
from evalsvc.evaluation.measures.menu import FAMILIES, MENU, offered
from evalsvc.evaluation.models import Benchmark, Setting

Task, Unit, Disclosure = Benchmark.Task, Setting.Unit, Setting.Disclosure
UNITS: dict[str, tuple[str, ...]] = {
    Task.RELATIONS: (Unit.SENTENCE, Unit.BAG),
    Task.ENTITIES: (Unit.DOCUMENT,),
    Task.JOINT: (Unit.DOCUMENT,),
}
KINDS: dict[str, tuple[str, ...]] = {
    Task.RELATIONS: (Kind.RELATIONS,),
    Task.ENTITIES: (Kind.ENTITIES, Kind.JOINT),
    Task.JOINT: (Kind.JOINT,),
}


def check_unit(benchmark: Benchmark, unit: str) -> None:
    if unit not in UNITS[benchmark.task]:
        expected = ", ".join(UNITS[benchmark.task])
        raise DomainError(
            "bad_unit", f"{unit} is not a unit for {benchmark.task}.", hint=f"Use {expected}.", field="unit"
        )


def check_main(kind: str, main: str) -> None:
    if main not in MENU or kind not in FAMILIES[MENU[main].family].kinds:
        expected = ", ".join(measure.key for measure in offered(kind)[:8])
        raise DomainError(
            "bad_measure",
            f"{main} is not a measure for the unit {kind}.",
            hint=f"For example {expected}.",
            field="main",
        )
    if not MENU[main].ranks:
        detail = f"{MENU[main].title} orders no board."
        raise DomainError("bad_measure", detail, hint=MENU[main].unranked, field="main")


def check_contributed(whole: dict[str, Any]) -> None:
    """Reject a contributed measure as the main one of hidden gold, which lets out none of its figures."""
    if whole["disclosure"] == Disclosure.HIDDEN:
        detail = "A hidden setting holds back figures of contributed measures until its end."
        raise DomainError("bad_measure", detail, hint="Choose a measure of the menu.", field="main")


def check_shown(shown: dict[str, Any], *, kind: str, main: str) -> None:
    """Reject dates out of order, foreign measures and too many digits."""
    opens_at, closes_at = shown.get("opens_at"), shown.get("closes_at")
    if opens_at and closes_at and closes_at <= opens_at:
        detail = "The setting closes before it opens. Choose a later closing time."
        raise DomainError("bad_window", detail, field="closes_at")
    if shown.get("sealed") and closes_at is None:
        detail = "Sealed scores need a closing time. Enter one."
        raise DomainError("bad_window", detail, field="closes_at")
    if shown.get("phase") not in (None, "", *Setting.Phase.values):
        raise DomainError("bad_choice", "Invalid phase. Use dev, test, or none.", field="phase")
    fitting = {measure.key for measure in offered(kind)}
    foreign = [key for key in shown.get("measures") or () if key not in fitting]
    if foreign:
        raise DomainError(
            "bad_measure", f"{foreign[0]} is not a measure for the unit {kind}.", field="measures"
        )
    # contributed ones are always shown
    if main in MENU and shown.get("measures") and main not in shown["measures"]:
        raise DomainError(
            "bad_measure", f"The main measure {main} is not among those shown.", field="measures"
        )
    if not (shown.get("digits") is None or 0 <= shown["digits"] <= 6):
        raise DomainError("bad_choice", "Digits must be 0 to 6.", field="digits")
    if shown.get("disclosure") not in (None, *Disclosure.values):
        raise DomainError("bad_choice", "Invalid disclosure. Use open or hidden.", field="disclosure")
    if not (shown.get("ladder") is None or 0 < shown["ladder"] <= 0.5):
        detail = f"The step of the Ladder is {shown['ladder']:g}. Use a share up to 0.5, such as 0.01."
        raise DomainError("bad_choice", detail, field="ladder")


def check_share(share: float, shown: dict[str, Any]) -> None:
    """Reject a split with too small a part or without closing time."""
    if not LEAST_SHARE <= share <= MOST_SHARE:
        detail = f"The share scored while open is {share:g}. Use {LEAST_SHARE:g} to {MOST_SHARE:g}."
        raise DomainError("bad_choice", detail, field="share")
    if shown.get("closes_at") is None:
        detail = "The rest of a split is scored when the setting closes. Enter a closing time."
        raise DomainError("bad_window", detail, field="closes_at")


def require_no_rest(setting: Setting, *, field: str) -> None:
    """Reject a change of the rest of a split."""
    if setting.rest_of is not None:
        detail = f"“{setting.title}” follows “{setting.rest_of.title}”."
        raise DomainError("bad_choice", detail, hint="Change that setting.", field=field)


def check_test_sets(benchmark: Benchmark, test_set: TestSet, only: TestSet | None, *, by: User) -> None:
    """Reject hidden or unfrozen test sets, another task, or other labels."""
    for field, used in (("test_set", test_set), ("only", only)):
        if used is not None:
            _check_test_set(benchmark, used, by=by, field=field)


def _check_test_set(benchmark: Benchmark, test_set: TestSet, *, by: User, field: str) -> None:
    if test_set.state != TestSet.State.FROZEN and TestSet.objects.visible_to(by).filter(pk=test_set.pk):
        hint = "Wait until the freeze has ended."
        raise Conflict("not_frozen", f"{test_set} is not frozen yet.", hint=hint, field=field)
    if not TestSet.objects.usable_by(by).filter(pk=test_set.pk).exists():
        detail = "You may not read this test set, and it is not released to you."
        hint = "Its importer or a curator of its project can release it to you."
        raise NotAllowed("not_your_set", detail, hint=hint, field=field)
    if test_set.kind not in KINDS[benchmark.task]:
        detail = f"{test_set} contains {test_set.kind}, but this benchmark ranks {benchmark.task}."
        raise DomainError("bad_kind", detail, field=field)
    known = {(label.get("part"), label["name"]) for label in benchmark.labels}
    if benchmark.task == Task.RELATIONS and (None, test_set.negative) in known:
        raise DomainError(
            "other_negative",
            f"{test_set.negative} is the negative class of {test_set}, but a relation of this benchmark.",
            hint=f"Create a benchmark with the negative class {test_set.negative}. "
            "The option include_negative averages it too.",
            field=field,
        )
    negatives = {benchmark.negative, test_set.negative}
    unknown = [
        label["name"]
        for label in labels_of_set(test_set, benchmark.task)
        if label["name"] not in negatives
        and (label.get("part") if benchmark.task == Task.JOINT else None, label["name"]) not in known
    ]
    if unknown:
        raise DomainError(
            "unknown_label",
            f"{test_set} has labels the benchmark lacks: {', '.join(unknown[:5])}.",
            hint="Create a benchmark with all labels of its test sets.",
            field=field,
        )


def require_unpublished(test_set: TestSet, *, disclosure: str, closes_at: datetime | None) -> None:
    """Reject a phase that hides gold which everybody may download."""
    if disclosure != Disclosure.HIDDEN or (closes_at is not None and closes_at <= timezone.now()):
        return
    lock_overlapping(test_set)
    if published := published_gold([test_set]):
        lines = "" if test_set in published else f" and may have lines of {test_set}"
        detail = f"The gold of {published[0]} is published{lines}, so rounded figures protect nothing."
        hint = "Withdraw the publication, use another test set, or let teams see every figure."
        raise Conflict("gold_published", detail, hint=hint, field="disclosure")
