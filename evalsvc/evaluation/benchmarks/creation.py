"""Creation of benchmarks and their settings, and changes of settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.web.text_validation import require_unreserved, require_visible
from evalsvc.evaluation import final_runs, submission_states
from evalsvc.evaluation.benchmarks import row_rules, versions
from evalsvc.evaluation.benchmarks.label_inventory import inventory_of
from evalsvc.evaluation.benchmarks.rules import checked_rules
from evalsvc.evaluation.benchmarks.setting_checks import (
    check_contributed,
    check_main,
    check_share,
    check_shown,
    check_test_sets,
    check_unit,
    require_no_rest,
    require_unpublished,
)
from evalsvc.evaluation.disclosure.split import new_seed
from evalsvc.evaluation.measures.computation import validate_options
from evalsvc.evaluation.measures.menu import contributed_to
from evalsvc.evaluation.models import Benchmark, BoardTests, Organiser, Setting, SettingVersion
from evalsvc.evaluation.roles import ORGANISER, is_sealed, require

LONGEST_KEY, LONGEST_TITLE = 40, 80
Task, Disclosure = Benchmark.Task, Setting.Disclosure


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
    require_visible(title, field="title")
    require_visible(summary, field="summary")
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
    require_visible(title, field="title")
    check_unit(benchmark, unit)
    kind = "joint" if benchmark.task == Task.JOINT else unit
    check_main(kind, main)
    check_test_sets(benchmark, test_set, only, by=by)
    is_dev = shown.get("phase") == Setting.Phase.DEV
    shown["disclosure"] = shown.get("disclosure") or (Disclosure.OPEN if is_dev else Disclosure.HIDDEN)
    check_shown(shown, kind=kind, main=main)
    shown["row_rule"] = shown.get("row_rule") or row_rules.MEAN
    row_rules.check(benchmark, shown["row_rule"], key=key)
    fields = shown | {"test_set": test_set, "only": only, "unit": unit, "main": main}
    fields |= _open_until(Setting(), shown)
    if share is not None:
        check_share(share, shown)
        fields |= {"share": share, "share_seed": new_seed()}
    with transaction.atomic():
        row = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
        require_unpublished(test_set, disclosure=shown["disclosure"], closes_at=shown.get("closes_at"))
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
    version = _begin_version(setting, test_set, only, by=by, note=note[:200], scores=scores)
    setting.refresh_from_db()
    return version


@atomic_again  # runs that are scored meanwhile lock their jobs first
def _begin_version(
    setting: Setting, test_set: TestSet, only: TestSet | None, *, by: User, note: str, scores: bool
) -> SettingVersion:
    row = versions.locked(setting)
    require_no_rest(row, field="test_set")
    require_unpublished(test_set, **_hiding(row))
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
        if (title := changed.get("title", row.title)) != row.title:
            require_visible(title, field="title")
        if own := sorted(changed.keys() - {"title"}):
            require_no_rest(row, field=own[0])
        whole = {name: changed.get(name, getattr(row, name)) for name in fields}
        if whole["main"] in {each.key for each in contributed_to(row)}:
            check_contributed(whole)
        elif whole["main"] != row.main:
            check_main(row.kind, whole["main"])
        check_shown({name: whole[name] for name in SHOWN}, kind=row.kind, main=whole["main"])
        row_rules.check(row.benchmark, whole["row_rule"], key=row.key)
        if any(changed.get(name, before) != before for name, before in _hiding(row).items()):
            require_unpublished(row.test_set, **{name: whole[name] for name in _hiding(row)})
        if row.share is not None:
            check_share(row.share, whole)
        before, after = (
            {name: each.isoformat() if isinstance(each, datetime) else each for name, each in values.items()}
            for values in ({name: getattr(row, name) for name in changed}, changed)
        )
        record(row.benchmark, "setting", by=by, about=row.key, before=before, after=after)
        _store_change(row, changed)
        if row.benchmark.contributed:  # replaced versions are shown only where they rank
            submission_states.show_measures(row.benchmark_id)
        BoardTests.objects.filter(setting__benchmark=row.benchmark_id).update(outdated=True)
    setting.refresh_from_db()
    return setting


def _store_change(setting: Setting, changed: Mapping[str, Any]) -> None:
    """Store the changed fields, also for the rest of a split, with what is known of its state until now."""
    fields = {**changed, **_open_until(setting, changed)}
    ends = final_runs.ends(setting) | _sealed_since(setting, fields)
    Setting.objects.filter(pk=setting.pk).update(**fields, **ends)
    shared = {name: fields[name] for name in fields.keys() - {"title", "sealed"}}
    for rest in Setting.objects.filter(rest_of=setting) if shared else ():
        Setting.objects.filter(pk=rest.pk).update(**shared, **_sealed_since(rest, shared))


def _open_until(setting: Setting, changed: Mapping[str, Any]) -> dict[str, datetime | None]:
    """Return until when it is open if its closing date is moved to the past now."""
    now, closes_at = timezone.now(), changed.get("closes_at")
    if closes_at is None or closes_at > now:
        return {}
    return {"open_until": setting.ended_at if setting.has_closed(now) else now}


def _sealed_since(setting: Setting, changed: Mapping[str, Any]) -> dict[str, datetime]:
    """Return since when its scores are sealed if a change seals them now."""
    now, names = timezone.now(), ("sealed", "closes_at")
    after = Setting(**{name: changed.get(name, getattr(setting, name)) for name in names})
    return {"sealed_since": now} if is_sealed(after, now) and not is_sealed(setting, now) else {}


def _hiding(setting: Setting) -> dict[str, Any]:
    return {"disclosure": setting.disclosure, "closes_at": setting.closes_at}
