"""Parts of a frozen test set as test sets of their own, and what a training file shares with a set."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from django.conf import settings
from django.db import transaction

from annotation.freezing import writer
from annotation.splits.derived import DerivedSet, frozen_lines, referenced, source_of, write_and_seal
from annotation.splits.items import SplitItem, split_item
from annotation.splits.leakage import Shared, leakage
from annotation.splits.splitting import Unit, split, worst_deviation
from annotation.testset import Origin, TestSet, characters_of, record_change, verified_lines
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats import jsonl_items
from evalsvc.core.formats.negative_class import USUAL
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_items, read_by_job
from evalsvc.core.formats.registry import formats, recognise_source
from evalsvc.core.formats.text_lines import UNLIMITED, Limits
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.jobs.transitions import Store

KIND = "split"
PART = re.compile(r"[a-z][a-z0-9-]{0,29}")
MOST_PARTS, LONGEST_SEED = 5, 100
MOST_LINES_IN_WEB = 50_000  # of a set, and of training data; commands have no bound
MOST_CHARACTERS_IN_WEB = 30_000_000  # of the lines of a set
FREQUENT = 10  # items from which on a relation's share is looked at
EXAMPLE = "dev=0.3,test=0.7"


@dataclass(frozen=True)
class Plan:
    """How a set is split: shares by part, seed, what stays together, and whether relations are balanced."""

    shares: Mapping[str, float]
    seed: str
    unit: Unit = Unit.NEITHER
    stratified: bool = False

    @classmethod
    def of(
        cls, *, parts: str, seed: str, keep_together: str = Unit.NEITHER, stratified: bool = False
    ) -> Plan:
        """Read a plan as forms and commands have it, `dev=0.3,test=0.7`."""
        shares: dict[str, float] = {}
        for text in parts.split(","):
            name, _, share = text.strip().partition("=")
            if not PART.fullmatch(name) or name in shares:
                _reject("parts", f"{name[:60]!r} is not a valid name of a part, or occurs twice.")
            try:
                shares[name] = float(share)
            except ValueError:
                _reject("parts", f"The share of {name} is {share[:20]!r}, not a number.")
        if not 2 <= len(shares) <= MOST_PARTS:
            _reject("parts", f"{len(shares)} parts; expected 2 to {MOST_PARTS}.")
        if not all(0 < share < 1 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
            _reject("parts", "Shares have to lie between 0 and 1 and sum to 1.")
        if not 1 <= len(seed) <= LONGEST_SEED:
            _reject("seed", f"The seed has {len(seed)} characters; expected 1 to {LONGEST_SEED}.")
        if keep_together not in list(Unit):
            detail = f"Unknown value {keep_together[:40]!r}. Use one of: {', '.join(Unit)}."
            _reject("keep_together", detail)
        return cls(shares, seed, Unit(keep_together), stratified)

    def as_json(self) -> dict[str, Any]:
        return {
            "shares": dict(self.shares), "seed": self.seed, "keep_together": str(self.unit),
            "stratified": self.stratified,
        }  # fmt: skip

    def parts_of(self, items: Sequence[SplitItem]) -> list[str]:
        return split(items, self.shares, seed=self.seed, unit=self.unit, stratified=self.stratified)


def _reject(field: str, detail: str) -> None:
    raise DomainError("bad_split", detail, hint=f"Write for example {EXAMPLE}.", field=field)


@dataclass(frozen=True)
class Preview:
    """Counts of the parts, what they share, and the worst share of a relation."""

    parts: dict[str, Counter[str]]
    shared: list[tuple[str, str, list[Shared]]]
    worst: float


def items_of(test_set: TestSet) -> list[SplitItem]:
    """Return the keys of the lines of a set, in order."""
    source = verified_lines(test_set)
    lines = open_items(source, format=jsonl_items.FORMAT.key, problems=Problems(), limits=UNLIMITED)
    return [_positive(split_item(item), {test_set.negative}) for _, item in lines]


def _positive(item: SplitItem, negatives: Collection[str]) -> SplitItem:
    kept = tuple(name for name in item.relations if name not in negatives)
    return item if kept == item.relations else SplitItem(
        item.id, item.sentence, item.head, item.tail, kept, item.entities
    )  # fmt: skip


def is_counted_in_web(*sets: TestSet) -> bool:
    """True if a request can read these sets."""
    lines = sum(each.rows for each in sets)
    return lines <= MOST_LINES_IN_WEB and characters_of(*sets) <= MOST_CHARACTERS_IN_WEB


def _require_few_lines(test_set: TestSet, most: int, command: str) -> None:
    if most and not is_counted_in_web(test_set):
        detail = (
            f"{test_set} has {test_set.rows:,} lines; a request reads {most:,}, or 30 million characters."
        )
        raise TooLarge("too_many_rows", detail, hint=f"Use manage.py {command}.", limit=most)


def preview(test_set: TestSet, plan: Plan, *, by: User, most: int = 0) -> Preview:
    """Return what a split would give, without storing it; `most` bounds the lines (0: no bound)."""
    test_set.require_reader(by)
    _require_few_lines(test_set, most, "split --preview")
    items = items_of(test_set)
    parts = plan.parts_of(items)
    by_part: dict[str, list[SplitItem]] = {name: [] for name in plan.shares}
    for item, part in zip(items, parts, strict=True):
        by_part[part].append(item)
    names = list(plan.shares)
    pairs = [(a, b) for at, a in enumerate(names) for b in names[at + 1 :]]
    shared = [(a, b, leakage(by_part[a], by_part[b])) for a, b in pairs]
    counts = {name: _counts(of_part) for name, of_part in by_part.items()}
    return Preview(counts, shared, worst_deviation(items, parts, plan.shares, least=FREQUENT))


def _counts(items: Sequence[SplitItem]) -> Counter[str]:
    return Counter(
        items=len(items),
        pairs=len({(item.head, item.tail) for item in items if item.pair}),
        facts=len({fact for item in items for fact in item.facts}),
        sentences=len({item.sentence for item in items}),
    )


def require_asker(subject: int) -> User:
    """Return who asked for a part; raise if they could not ask for it now."""
    part = TestSet.objects.select_related("by").get(pk=subject)
    _whole(part).require_lasting_reader(part.by)
    return part.by


@transaction.atomic
def make(test_set: TestSet, plan: Plan, *, by: User) -> list[TestSet]:
    """Create a test set for each part, and queue their jobs."""
    test_set.require_reader(by)
    if test_set.origin == Origin.SOURCE:
        raise Conflict(
            "source_set", f"{test_set} has source labels.", hint="Split its annotated set: both are split."
        )
    source = source_of(test_set)
    made = []
    for name in plan.shares:
        values = {
            "kind": test_set.kind, "project": test_set.project, "by": by, "negative": test_set.negative,
            "manifest": {"split": _stated(test_set, plan, name)},
        }  # fmt: skip
        title = f"{test_set.name} {name}"
        part = writer.create_test_set(name=title, version=test_set.version, origin=test_set.origin, **values)
        if source is not None:
            writer.create_test_set(
                name=title, version=test_set.version, origin=Origin.SOURCE, twin=part, **values
            )
        enqueue(KIND, part.pk, lane=f"user {by.pk}")
        made.append(part)
    record_change(test_set, "split", by=by, after=plan.as_json() | {"sets": [part.slug for part in made]})
    return made


def _stated(test_set: TestSet, plan: Plan, part: str) -> dict[str, Any]:
    return plan.as_json() | {"of": test_set.slug, "sha256": test_set.sha256, "part": part}


def _whole(part: TestSet) -> TestSet:
    stated = part.manifest["split"]
    return referenced({"slug": stated["of"], "sha256": stated["sha256"]})


def build(test_set: TestSet, progress: Progress) -> Store:
    """Write the lines of a part and of its source set; the returned store seals both."""
    stated, whole = test_set.manifest["split"], _whole(test_set)
    plan = Plan(stated["shares"], stated["seed"], Unit(stated["keep_together"]), stated["stratified"])
    items = items_of(whole)
    chosen = {
        item.id for item, part in zip(items, plan.parts_of(items), strict=True) if part == stated["part"]
    }
    if not chosen:
        raise InputFault("empty_part", f"No sentence falls into {stated['part']}: choose other shares.")
    pairs = [(test_set, whole)]
    twin = TestSet.objects.filter(twin=test_set).first()
    if twin is not None:
        pairs.append((twin, TestSet.objects.get(twin=whole)))
    parts = [
        DerivedSet(part, frozen_lines(of, chosen), len(chosen), of.labels, partial(_manifest, of, stated))
        for part, of in pairs
    ]
    return write_and_seal(parts, progress)


def _manifest(whole: TestSet, stated: dict[str, Any]) -> dict[str, Any]:
    manifest = whole.manifest | {"split": stated, "evalsvc": settings.VERSION}
    for of_the_whole in ("provenance_sha256", "agreement", "left_out_answers_sha256", "counts"):
        manifest.pop(of_the_whole, None)
    return manifest


# ---- leakage -------------------------------------------------------------------------------------
def leakage_of(
    test_set: TestSet, file: BinaryIO, *, by: User, format: str = "", most: int = 0
) -> list[Shared]:
    """Compare a training file with a test set; `most` bounds lines and kilobytes (0: no bound)."""
    test_set.require_reader(by)
    _require_few_lines(test_set, most, "leakage")
    problems = Problems()
    accepted = formats("items")
    if format and format not in accepted:
        detail = f"Unknown format {format[:40]!r}. Use one of: {', '.join(accepted)}."
        raise DomainError("unknown_format", detail, field="format")
    line_bytes = settings.UPLOAD_MAX_LINE_BYTES
    limits = Limits(most << 10, most, line_bytes) if most else Limits(max_line_bytes=line_bytes)
    found = format or recognise_source(file, problems=problems, accepted=accepted, limits=limits)
    if most and read_by_job(found, "items"):
        detail = f"{accepted[found].title} is read by command only."
        hint = f"Use manage.py leakage {test_set.slug} FILE."
        raise DomainError("bad_format", detail, hint=hint, field="format")
    lines = open_items(file, format=found, problems=problems, limits=limits)
    negatives = {test_set.negative, *USUAL, *accepted[found].negatives}
    train = [_positive(split_item(item), negatives) for _, item in lines]
    problems.raise_if_any()
    return leakage(train, items_of(test_set))
