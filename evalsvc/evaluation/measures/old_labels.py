"""Old names of labels that a benchmark maps: those which steps on the ontology of its gold replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.old_labels import NOTHING, SHOWN_NAMES

if TYPE_CHECKING:
    from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion

OPTION = "map_old_labels"


def is_mapped(benchmark: Benchmark) -> bool:
    """True if new files may have old names."""
    return bool(benchmark.options.get(OPTION))


def accepted(
    benchmark: Benchmark, golds: Iterable[Setting | SettingVersion], *, mapped: bool | None = None
) -> LabelMapping:
    """Return what the names of files become under any of the golds, whose manifests record the steps.

    `mapped` says whether old names are mapped, by default as in new files.

    A present label of one of them is never an old name. A name that became different labels in them is
    treated as one that was split; if the benchmark has such a name, it stays a label without gold.
    """
    if not (is_mapped(benchmark) if mapped is None else mapped):
        return NOTHING
    current: set[str] = set()
    parts: dict[str, dict[str | None, None]] = {}
    for test_set in {gold.test_set_id: gold.test_set for gold in golds}.values():
        current |= {label["name"] for label in test_set.labels}
        for name, became in LabelMapping.from_manifest(test_set.manifest).parts().items():
            parts.setdefault(name, {}).update(dict.fromkeys(became))
    labels = {label["name"] for label in benchmark.labels}
    mapping = LabelMapping.from_parts(
        {name: tuple(became) for name, became in parts.items() if len(became) == 1 or name not in labels}
    )
    return mapping.limited(labels, current=current, negative=benchmark.negative or None)


def scored(
    benchmark: Benchmark, gold: Setting, checked_against: Iterable[Setting], *, checked: bool, now: bool
) -> dict[str, str | None]:
    """Return what the names of a checked file become under one gold.

    A name that is neither in it nor mapped by its steps becomes what it was when the file was checked, or
    what its steps made of that. Old names are read as the file was checked, with or without mapping; labels
    of the benchmark as it maps `now`.
    """
    if not (checked or now):
        return {}
    golds = list(checked_against)
    labels = {label["name"] for label in benchmark.labels}
    present = {label["name"] for label in gold.test_set.labels}
    own, every, of_setting = (
        accepted(benchmark, each, mapped=True).clear
        for each in ([gold], golds, [each for each in golds if each.pk == gold.pk])
    )
    before = {name: new for name, new in every.items() if name not in labels} | of_setting
    names = {
        name: new if new is None else own.get(new, new) for name, new in before.items() if name not in present
    } | own
    return {name: new for name, new in names.items() if (now if name in labels else checked)}


def in_words(names: Mapping[str, str | None], *, negative: str | None) -> str:
    """Return what old names become, the first of them."""
    shown = [f"{name} → {new or negative or 'no label'}" for name, new in list(names.items())[:SHOWN_NAMES]]
    more = [f"and {len(names) - SHOWN_NAMES:,} more"] if len(names) > SHOWN_NAMES else []
    return ", ".join([*shown, *more])
