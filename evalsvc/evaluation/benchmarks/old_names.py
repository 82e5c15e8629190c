"""Switch of a benchmark: whether new files may have old names of labels."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction

from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.measures import old_labels
from evalsvc.evaluation.measures.old_labels import OPTION, in_words, is_mapped
from evalsvc.evaluation.models import Benchmark, SettingVersion, Submission
from evalsvc.evaluation.roles import ORGANISER, require


@dataclass(frozen=True, slots=True)
class SwitchEffect:
    """What mapping, or no longer mapping, changes: for new files, and for stored ones."""

    mapped: bool
    """Whether old names are mapped now."""
    names: dict[str, str | None]
    """Old names that new files may have, or could no longer have."""
    runs: int
    """Scored runs, which are read as they were checked."""
    with_old_names: int
    """Those of them whose files have old names."""
    changed: dict[str, str | None]
    """Labels of the benchmark that stored files may have, and that would be read otherwise."""


def effect(benchmark: Benchmark, *, by: User) -> SwitchEffect:
    """Return what the switch would change."""
    require(benchmark, by, ORGANISER)
    newest = file_contract.newest_versions(benchmark)
    versions = SettingVersion.objects.filter(setting__benchmark=benchmark).defer(*file_contract.UNREAD)
    ever = versions.select_related("setting", "test_set", "only")
    golds = [file_contract.as_of(version) for version in ever]
    changed: dict[str, str | None] = {}
    for version in newest:
        setting = file_contract.as_of(version)
        changed |= old_labels.scored(benchmark, setting, golds, checked=False, now=True)
    runs = benchmark.submissions.filter(state=Submission.State.SCORED, withdrawn_at=None)
    return SwitchEffect(
        mapped=is_mapped(benchmark),
        names=old_labels.accepted(benchmark, newest, mapped=True).clear,
        runs=runs.count(),
        with_old_names=runs.exclude(old_labels={}).count(),
        changed=changed if benchmark.submissions.exists() else {},
    )


@transaction.atomic
def switch(benchmark: Benchmark, *, mapped: bool, by: User) -> SwitchEffect:
    """Map old names in new files, or no longer; rejected if a stored file would be read otherwise.

    Stored files are read as they were checked, so that no score changes.
    """
    row = Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
    stated = effect(row, by=by)
    if mapped == stated.mapped:
        return stated
    if stated.changed:
        names = in_words(stated.changed, negative=row.negative)
        detail = f"Stored files may have labels that would be read differently: {names}."
        raise Conflict("scores_would_change", detail, hint="Create another benchmark with the same gold.")
    options = {name: value for name, value in row.options.items() if name != OPTION}
    benchmark.options = options | ({OPTION: True} if mapped else {})
    Benchmark.objects.filter(pk=row.pk).update(options=benchmark.options)
    record(row, "old names of labels", by=by, before=stated.mapped, after=mapped)
    return effect(benchmark, by=by)
