"""Creation of benchmarks and their settings, and changes of settings."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.testset import Kind, TestSet
from annotation.testset_overlap import published_gold
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.web.text_validation import require_unreserved
from evalsvc.evaluation import final_runs, submission_states
from evalsvc.evaluation.benchmarks import row_rules, versions
from evalsvc.evaluation.benchmarks.label_inventory import inventory_of, labels_of_set
from evalsvc.evaluation.benchmarks.rules import checked_rules
from evalsvc.evaluation.disclosure.split import LEAST_SHARE, MOST_SHARE, new_seed
from evalsvc.evaluation.measures.computation import validate_options
from evalsvc.evaluation.measures.menu import FAMILIES, MENU, contributed_to, offered
from evalsvc.evaluation.models import Benchmark, BoardTests, Organiser, Setting, SettingVersion
from evalsvc.evaluation.roles import ORGANISER, require

LONGEST_KEY, LONGEST_TITLE = 40, 80
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


def create(
    *,
    title: str,
    slug: str,
    task: str,
    labels: Iterable[str | dict[str, Any]],
    by: User,
    negative: str = "",
    missing: str = Benchmark.Missing.REFUSE,
    options: dict[str, Any] | None = None,
    summary: str = "",
    description: str = "",
    public: bool = True,
    **rules: Any,
) -> Benchmark:
    """Create a benchmark organised by its creator; `rules` as in `rules.py`."""
    if not (by.may_organise or by.is_superuser):
        raise NotAllowed("not_organiser", "You are not allowed to create benchmarks.")
    if task not in Task.values or missing not in Benchmark.Missing.values:
        raise DomainError(
            "bad_choice",
            f"Invalid task or `missing`. Use a task of {', '.join(Task.values)}, and refuse or wrong.",
        )
    require_unreserved(slug, field="slug")
    inventory = inventory_of(labels, negative=negative, task=task)
    with transaction.atomic():
        if Benchmark.objects.filter(slug=slug).exists():
            raise Conflict(
                "slug_taken", f"A benchmark {slug} already exists.", hint="Choose another.", field="slug"
            )
        benchmark = Benchmark.objects.create(
            title=title,
            slug=slug,
            task=task,
            labels=inventory,
            negative=negative,
            missing=missing,
            options=validate_options(options or {}, task=task),
            summary=summary,
            description=description,
            public=public,
            created_by=by,
            **checked_rules({"default_quotas": True} | rules, labels=inventory),
        )
        Organiser.objects.create(benchmark=benchmark, user=by, role=ORGANISER)
    return benchmark


def add_setting(
    benchmark: Benchmark,
    *,
    key: str,
    title: str,
    test_set: TestSet,
    unit: str,
    main: str,
    by: User,
    only: TestSet | None = None,
    share: float | None = None,
    **shown: Any,
) -> Setting:
    """Add a setting; earlier runs are scored under it too.

    With a `share`, it scores that share alone, and a second, sealed setting the rest.

    `shown`: phase, opens_at, closes_at, sealed, measures, digits, lower_is_better, and the rules on what
    leaves: disclosure (hidden unless the phase is dev), class_rows, ladder.
    """
    require(benchmark, by, ORGANISER)
    require_unreserved(key, field="key")
    if unit not in UNITS[benchmark.task]:
        expected = ", ".join(UNITS[benchmark.task])
        raise DomainError(
            "bad_unit", f"{unit} is not a unit for {benchmark.task}.", hint=f"Use {expected}.", field="unit"
        )
    kind = "joint" if benchmark.task == Task.JOINT else unit
    _check_main(kind, main)
    check_test_sets(benchmark, test_set, only, by=by)
    is_dev = shown.get("phase") == Setting.Phase.DEV
    shown["disclosure"] = shown.get("disclosure") or (Disclosure.OPEN if is_dev else Disclosure.HIDDEN)
    check_shown(shown, kind=kind, main=main)
    shown["row_rule"] = shown.get("row_rule") or row_rules.MEAN
    row_rules.check(benchmark, shown["row_rule"], key=key)
    _require_unpublished(test_set, disclosure=shown["disclosure"], closes_at=shown.get("closes_at"))
    fields = shown | {"test_set": test_set, "only": only, "unit": unit, "main": main}
    if share is not None:
        _check_share(share, shown)
        fields |= {"share": share, "share_seed": new_seed()}
    with transaction.atomic():
        row = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
        setting = _begin_setting(row, key=key, title=title, by=by, **fields)
        if share is not None:
            fields |= {"rest_of": setting, "sealed": True}
            key, title = key[: LONGEST_KEY - len("-rest")] + "-rest", title[: LONGEST_TITLE - len(", rest")]
            _begin_setting(row, key=key, title=f"{title}, rest", by=by, **fields)
    return setting


def _begin_setting(benchmark: Benchmark, *, key: str, by: User, **fields: Any) -> Setting:
    """Create a setting with its first version, and queue the scored runs."""
    if benchmark.settings.filter(key=key).exists():
        detail = f"{benchmark} already has a setting {key}."
        raise Conflict("key_taken", detail, hint="Choose another.", field="key")
    setting = Setting.objects.create(benchmark=benchmark, key=key, rank=benchmark.settings.count(), **fields)
    versions.begin(setting, by=by)
    versions.score_anew(setting)
    record(benchmark, "setting added", by=by, about=key, after=str(setting.test_set))
    return setting


def revise_setting(
    setting: Setting,
    *,
    test_set: TestSet,
    by: User,
    only: TestSet | None = None,
    note: str = "",
    scores: bool = True,
) -> SettingVersion:
    """Begin a version with another gold; active runs are scored again, unless a preview counts them."""
    require(setting.benchmark, by, ORGANISER)
    check_test_sets(setting.benchmark, test_set, only, by=by)
    _require_unpublished(test_set, disclosure=setting.disclosure, closes_at=setting.closes_at)
    version = _begin_version(setting, test_set, only, by=by, note=note[:200], scores=scores)
    setting.refresh_from_db()
    return version


@atomic_again  # runs that are scored meanwhile lock their jobs first
def _begin_version(
    setting: Setting, test_set: TestSet, only: TestSet | None, *, by: User, note: str, scores: bool
) -> SettingVersion:
    row = versions.locked(setting)
    _require_no_rest(row, field="test_set")
    if (row.test_set_id, row.only_id) == (test_set.pk, only.pk if only else None):
        raise Conflict("no_change", f"“{row.title}” is already scored against {test_set}.")
    version = _revise(row, test_set, only, by=by, note=note, scores=scores)
    for rest in Setting.objects.filter(rest_of=row):
        _revise(versions.locked(rest), test_set, only, by=by, note=note, scores=scores)
    return version


def _revise(
    setting: Setting, test_set: TestSet, only: TestSet | None, *, by: User, note: str, scores: bool
) -> SettingVersion:
    before, after = {"test_set": str(setting.test_set)}, {"test_set": str(test_set), "note": note}
    record(setting.benchmark, "new gold", by=by, about=setting.key, before=before, after=after)
    setting.test_set, setting.only = test_set, only
    Setting.objects.filter(pk=setting.pk).update(test_set=test_set, only=only)
    version = versions.begin(setting, by=by, note=note)
    if scores:
        versions.score_anew(setting)
    return version


SHOWN = (
    *("phase", "opens_at", "closes_at", "sealed", "measures", "digits", "lower_is_better"),
    *("disclosure", "class_rows", "ladder", "row_rule"),
)


def change_setting(setting: Setting, *, by: User, **changed: Any) -> Setting:
    """Change title, main measure, dates and display of a setting.

    Of a split, the setting of the rest has its title alone, and follows the other.
    """
    require(setting.benchmark, by, ORGANISER)
    fields = ("title", "main", *SHOWN)
    assert changed.keys() <= set(fields)
    if not changed.get("disclosure", True):
        del changed["disclosure"]
    with transaction.atomic():
        row = Setting.objects.select_for_update().get(pk=setting.pk)
        if own := sorted(changed.keys() - {"title"}):
            _require_no_rest(row, field=own[0])
        whole = {name: changed.get(name, getattr(row, name)) for name in fields}
        if whole["main"] in {each.key for each in contributed_to(row)}:
            _check_contributed(whole)
        elif whole["main"] != row.main:
            _check_main(row.kind, whole["main"])
        check_shown({name: whole[name] for name in SHOWN}, kind=row.kind, main=whole["main"])
        row_rules.check(row.benchmark, whole["row_rule"], key=row.key)
        if any(changed.get(name, before) != before for name, before in _hiding(row).items()):
            _require_unpublished(row.test_set, **{name: whole[name] for name in _hiding(row)})
        if row.share is not None:
            _check_share(row.share, whole)
        before, after = (
            {name: each.isoformat() if isinstance(each, datetime) else each for name, each in values.items()}
            for values in ({name: getattr(row, name) for name in changed}, changed)
        )
        record(row.benchmark, "setting", by=by, about=row.key, before=before, after=after)
        Setting.objects.filter(pk=row.pk).update(**changed, **final_runs.ends(row))
        if row.benchmark.contributed:  # replaced versions are shown only where they rank
            submission_states.show_measures(row.benchmark_id)
        BoardTests.objects.filter(setting__benchmark=row.benchmark_id).update(outdated=True)
        if shared := {name: changed[name] for name in changed.keys() - {"title", "sealed"}}:
            Setting.objects.filter(rest_of=row).update(**shared)
    setting.refresh_from_db()
    return setting


def _hiding(setting: Setting) -> dict[str, Any]:
    return {"disclosure": setting.disclosure, "closes_at": setting.closes_at}


def _require_unpublished(test_set: TestSet, *, disclosure: str, closes_at: datetime | None) -> None:
    """Reject a phase that hides gold which everybody may download."""
    closed = closes_at is not None and closes_at <= timezone.now()
    if disclosure == Disclosure.HIDDEN and not closed and (published := published_gold([test_set])):
        lines = "" if test_set in published else f" and may have lines of {test_set}"
        detail = f"The gold of {published[0]} is published{lines}, so rounded figures protect nothing."
        hint = "Withdraw the publication, use another test set, or let teams see every figure."
        raise Conflict("gold_published", detail, hint=hint, field="disclosure")


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


def _check_share(share: float, shown: dict[str, Any]) -> None:
    """Reject a split with too small a part or without closing time."""
    if not LEAST_SHARE <= share <= MOST_SHARE:
        detail = f"The share scored while open is {share:g}. Use {LEAST_SHARE:g} to {MOST_SHARE:g}."
        raise DomainError("bad_choice", detail, field="share")
    if shown.get("closes_at") is None:
        detail = "The rest of a split is scored when the setting closes. Enter a closing time."
        raise DomainError("bad_window", detail, field="closes_at")


def _require_no_rest(setting: Setting, *, field: str) -> None:
    """Reject a change of the rest of a split."""
    if setting.rest_of is not None:
        detail = f"“{setting.title}” follows “{setting.rest_of.title}”."
        raise DomainError("bad_choice", detail, hint="Change that setting.", field=field)


def check_test_sets(benchmark: Benchmark, test_set: TestSet, only: TestSet | None, *, by: User) -> None:
    """Reject hidden or unfrozen test sets, another task, or other labels."""
    for field, used in (("test_set", test_set), ("only", only)):
        if used is not None:
            _check_test_set(benchmark, used, by=by, field=field)


def _check_main(kind: str, main: str) -> None:
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


def _check_contributed(whole: dict[str, Any]) -> None:
    """Reject a contributed measure as the main one of hidden gold, which lets out none of its figures."""
    if whole["disclosure"] == Disclosure.HIDDEN:
        detail = "Figures of contributed measures are held back while gold is hidden."
        raise DomainError("bad_measure", detail, hint="Choose a measure of the menu.", field="main")


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
