"""Imported gold under new names of its labels, and several imported sets as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import Count

from annotation.freezing.writer import FrozenLine, create_test_set
from annotation.ontology.presets import PRESETS, title_from_name
from annotation.splits.derived import (
    DerivedSet,
    frozen_lines,
    reference,
    referenced,
    source_of,
    write_and_seal,
)
from annotation.splits.making import is_counted_in_web
from annotation.testset import Origin, TestSet, TestSetRow, record_change
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats.label_list import LONGEST_LABEL
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.problems import did_you_mean
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.jobs.transitions import Store

KIND = "map"
MOST_SETS, MOST_OFFERED = 10, 200
CHECKED_AT_ONCE = 1_000  # ids of several sets that a request looks at; the job looks at all
EXAMPLE = '{"Cause-Effect(e1,e2)": "Cause-Effect", "Other": null}'
Names = Mapping[str, str | None]
Labels = list[dict[str, str]]


@dataclass(frozen=True)
class MappingPlan:
    """Frozen sets in order, and the new names of their labels: equal ones merge, None deletes."""

    sets: tuple[TestSet, ...]
    names: dict[str, str | None]
    labels: Labels

    @classmethod
    def of(
        cls,
        test_set: TestSet,
        *,
        others: Sequence[TestSet] = (),
        names: Names | None = None,
        preset: str = "",
        by: User,
    ) -> MappingPlan:
        """Check sets and names; those of a preset hold for labels that `names` leaves out."""
        sets = (test_set, *dict.fromkeys(each for each in others if each != test_set))
        if len(sets) > MOST_SETS:
            raise DomainError("bad_mapping", f"{len(sets)} sets; expected at most {MOST_SETS}.", field="sets")
        for each in sets:
            _require_like(each, test_set, by)
        inventory = {label["name"]: label for each in sets for label in each.labels}
        named = {name: new.strip() or None if new else None for name, new in (names or {}).items()}
        for name in named:
            if name not in inventory:
                hint = did_you_mean(name, inventory)
                detail = f"{name[:60]} is not a label of the gold."
                raise DomainError("unknown_label", detail, hint=hint or "", field="names")
        if preset:
            named = {name: new for name, new in _preset(preset).items() if name in inventory} | named
        named = {name: new for name, new in named.items() if new != name}
        if len(sets) == 1 and not named:
            detail = "Nothing to do: no label has a new name, and there is no other set."
            raise DomainError("bad_mapping", detail, hint=f"For example {EXAMPLE}.", field="names")
        return cls(sets, named, _inventory(inventory, named))

    def as_json(self) -> dict[str, Any]:
        """Return what the manifest states, with the mappings that made the sets."""
        stated = {"of": [reference(each) for each in self.sets], "names": self.names}
        earlier = _earlier(self.sets)
        return stated | ({"earlier": earlier} if earlier else {})


def _earlier(sets: Sequence[TestSet]) -> list[dict[str, Any]]:
    """Return each mapping that led to the sets, once and in order, with the slugs of the sets it was of."""
    mappings: dict[str, dict[str, Any]] = {}
    for test_set in sets:
        if mapped := test_set.manifest.get("mapped"):
            slugs = [each["slug"] for each in mapped["of"]]
            own = {"set": test_set.slug, "of": slugs, "names": mapped["names"]}
            for each in (*mapped.get("earlier", ()), own):
                mappings.setdefault(each["set"], each)
    return list(mappings.values())


def to_combine(test_set: TestSet, *, by: User) -> list[TestSet]:
    """Return the newest imported sets of the same kind that a person may read."""
    sets = TestSet.objects.frozen().filter(origin=Origin.IMPORTED, kind=test_set.kind)
    own = sets if by.is_superuser else sets.filter(project=None, by=by)
    return list(own.exclude(pk=test_set.pk).order_by("-pk")[:MOST_OFFERED])


def _require_like(each: TestSet, first: TestSet, by: User) -> None:
    each.require_reader(by)
    if each.origin != Origin.IMPORTED:
        hint = "For a project's own set change the project's ontology, and freeze again."
        raise Conflict("not_imported", f"{each} is not imported gold.", hint=hint)
    if each.kind != first.kind:
        detail = f"{each} has gold of the kind {each.kind}, {first} of {first.kind}."
        raise Conflict("other_kind", detail, hint="Combine sets of one kind.")


def _preset(key: str) -> dict[str, str | None]:
    """Return the new names that the merges and deletions of a preset give."""
    preset = PRESETS.get(key)
    if preset is None:
        detail = f"Unknown preset {key[:40]!r}. Use one of: {', '.join(PRESETS)}."
        raise DomainError("unknown_preset", detail, field="preset")
    merged = {name: target for sources, target in preset.merges for name in sources}
    return merged | dict.fromkeys(preset.deleted)


def _inventory(labels: Mapping[str, dict[str, str]], names: Names) -> Labels:
    """Return the labels afterwards, each in the place of the first one that became it."""
    renamed: dict[str, dict[str, str]] = {}
    for name, label in labels.items():
        new = names.get(name, name)
        if new is None:
            continue
        if len(new) > LONGEST_LABEL:
            detail = f"The new name of {name[:60]} has {len(new):,} characters; at most {LONGEST_LABEL}."
            raise DomainError("bad_mapping", detail, field="names")
        entry = labels.get(new) or label | {"name": new, "title": title_from_name(new)}
        if renamed.setdefault(new, entry).get("part") != label.get("part"):
            detail = f"{new} would be an entity type and a relation."
            raise DomainError("bad_mapping", detail, field="names")
    return list(renamed.values())


# ---- preview -------------------------------------------------------------------------------------
@dataclass
class MappingPreview:
    """Lines, those that lose all their labels, and lines or spans by label before and after."""

    items: int = 0
    emptied: int = 0
    before: Counter[str] = field(default_factory=Counter)
    after: Counter[str] = field(default_factory=Counter)


def preview(plan: MappingPlan, *, most: int = 0) -> MappingPreview:
    """Return what a mapping would give, without storing it; `most` bounds the lines (0: no bound)."""
    lines = sum(each.rows for each in plan.sets)
    if most and not is_counted_in_web(*plan.sets):
        hint = "Make the set without a preview, or use manage.py map_labels --preview."
        raise TooLarge("too_many_rows", f"{lines:,} lines are too many to count in a request.", hint=hint)
    counts, mapping = MappingPreview(), LabelMapping(plan.names)
    for line in _lines(plan.sets):
        mapped, emptied = _mapped(mapping, line)
        counts.items += 1
        counts.emptied += emptied
        counts.before.update(_names(line.gold))
        counts.after.update(_names(mapped.gold))
    return counts


def _names(gold: Mapping[str, Any]) -> list[str]:
    links = [name if isinstance(name, str) else name[1] for name in gold.get("relations") or ()]
    return [label for _, _, label in gold.get("spans") or ()] + links


def _shared(sets: Sequence[TestSet], *, most: int | None = None) -> dict[str, list[str]]:
    """Return the items that several sets have, with all their relations; or reject others of one id.

    Files without ids get them from sentence and entities, so the same item has the same id. `most` bounds
    the ids that are looked at.
    """
    if len(sets) == 1:
        return {}
    rows = TestSetRow.objects.filter(test_set__in=sets)
    ids = (
        rows.order_by().values("external_id").annotate(n=Count("pk")).filter(n__gt=1).order_by("external_id")
    )
    shared: dict[str, list[str]] = {}
    contents: dict[str, bytes] = {}
    several = rows.filter(external_id__in=ids.values("external_id")[:most]).order_by("external_id")
    for name, line in several.values_list("external_id", "line").iterator(2_000):
        gold = msgspec.json.decode(line)
        relations, content = gold.pop("relations", []), msgspec.json.encode(gold, order="sorted")
        has_text = "text" in gold or "tokens" in gold
        if not has_text or "spans" in gold or contents.setdefault(name, content) != content:
            hint = "Ids are unique in a set: import one of the files with other ids."
            raise Conflict("id_in_several_sets", f"More than one of the sets has the id {name}.", hint=hint)
        shared[name] = sorted({*shared.get(name, []), *relations})
    return shared


def _lines(sets: Sequence[TestSet]) -> Iterator[FrozenLine]:
    """Yield the lines of all sets; an item of several is one line with all its relations."""
    shared, seen = _shared(sets), set[str]()
    for line in chain.from_iterable(map(frozen_lines, sets)):
        name = line.gold["id"]
        if name not in shared:
            yield line
        elif name not in seen:
            seen.add(name)
            yield FrozenLine(line.gold | {"relations": shared[name]})


# ---- making --------------------------------------------------------------------------------------
@transaction.atomic
def make(plan: MappingPlan, *, name: str, version: str, by: User) -> TestSet:
    """Create the mapped set, and its source set where all sets have one; queue the job."""
    _shared(plan.sets, most=CHECKED_AT_ONCE)
    first = plan.sets[0]
    values = {
        "kind": first.kind, "by": by, "negative": first.negative,
        "manifest": {"mapped": plan.as_json(), "labels": plan.labels},
    }  # fmt: skip
    made = create_test_set(name=name, version=version, origin=Origin.IMPORTED, **values)
    if all(source_of(each) for each in plan.sets):
        create_test_set(name=name, version=version, origin=Origin.SOURCE, twin=made, **values)
    for each in plan.sets:
        record_change(each, "labels mapped", by=by, after={"set": made.slug, "names": plan.names})
    enqueue(KIND, made.pk, lane=f"user {by.pk}")
    return made


def require_asker(subject: int) -> User:
    """Return who asked for a mapped set; raise if they could not ask for it now."""
    test_set = TestSet.objects.select_related("by").get(pk=subject)
    for each in test_set.manifest["mapped"]["of"]:
        referenced(each).require_lasting_reader(test_set.by)
    return test_set.by


def build(test_set: TestSet, progress: Progress) -> Store:
    """Write the mapped lines of a set and of its source set; the returned store seals both."""
    stated, labels = test_set.manifest["mapped"], test_set.manifest["labels"]
    wholes = [referenced(each) for each in stated["of"]]
    mapping = LabelMapping(stated["names"])
    parts = [(test_set, wholes)]
    twin = TestSet.objects.filter(twin=test_set).first()
    if twin is not None:
        parts.append((twin, [TestSet.objects.get(twin=whole) for whole in wholes]))
    derived = []
    for part, sets in parts:
        lines = _MappedLines(mapping, sets)
        total = sum(each.rows for each in sets)
        manifest = partial(_manifest, part, stated, lines)
        derived.append(DerivedSet(part, iter(lines), total, labels, manifest))
    return write_and_seal(derived, progress)


@dataclass
class _MappedLines:
    mapping: LabelMapping
    sets: Sequence[TestSet]
    emptied: int = 0

    def __iter__(self) -> Iterator[FrozenLine]:
        for line in _lines(self.sets):
            mapped, emptied = _mapped(self.mapping, line)
            self.emptied += emptied
            yield mapped


def _mapped(mapping: LabelMapping, line: FrozenLine) -> tuple[FrozenLine, bool]:
    """Map the labels of a line; tell whether it lost all of them."""
    labels = {key: line.gold.get(key) or [] for key in ("spans", "relations")}
    mapped = mapping.payload(labels)
    kept = {key: value for key, value in mapped.payload.items() if key in line.gold}
    return FrozenLine(line.gold | kept), mapped.emptied


def _manifest(part: TestSet, stated: Mapping[str, Any], lines: _MappedLines) -> dict[str, Any]:
    counts = {"labels_emptied_by_deletion": lines.emptied}
    return {"origin": part.origin, "mapped": stated, "counts": counts, "evalsvc": settings.VERSION}
