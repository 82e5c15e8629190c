"""Old names of labels that a benchmark maps: those which steps on the ontology of its gold replaced."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.old_labels import NOTHING

if TYPE_CHECKING:
    from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion

OPTION = "map_old_labels"


def accepted(benchmark: Benchmark, golds: Iterable[Setting | SettingVersion]) -> LabelMapping:
    """Return what the names of files become under any of the golds, whose manifests record the steps.

    A present label of one of them is never an old name. A name that became different labels in them is
    treated as one that was split; if the benchmark has such a name, it stays a label without gold.
    """
    if not benchmark.options.get(OPTION):
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


def scored(benchmark: Benchmark, gold: Setting, checked_against: Iterable[Setting]) -> dict[str, str | None]:
    """Return what the names of a checked file become under one gold.

    A name that is neither in it nor mapped by its steps becomes what it was when the file was checked, or
    what its steps made of that.
    """
    if not benchmark.options.get(OPTION):
        return {}
    golds = list(checked_against)
    labels = {label["name"] for label in benchmark.labels}
    present = {label["name"] for label in gold.test_set.labels}
    own, every = accepted(benchmark, [gold]).clear, accepted(benchmark, golds).clear
    of_setting = accepted(benchmark, [each for each in golds if each.pk == gold.pk]).clear
    checked = {name: new for name, new in every.items() if name not in labels} | of_setting
    return {
        name: new if new is None else own.get(new, new)
        for name, new in checked.items()
        if name not in present
    } | own
