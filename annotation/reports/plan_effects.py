"""Effect of a plan on outcomes, facts, labels and the quality of source labels, before it is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from annotation.consensus.alpha import nominal_alpha
from annotation.consensus.choices import choices_of
from annotation.consensus.effects import WAITING, Effect, preview
from annotation.consensus.facts import WITH_GOLD, Fact, facts_of
from annotation.consensus.item_state import ItemRecords
from annotation.models import Item, Project, SourceLabels
from annotation.ontology.labels import label_titles, mapping_of
from annotation.ontology.plans import PlannedStep, apply_plan, step_of
from annotation.reports.step_effects import StepEffects, effects_of_steps
from annotation.roles import CURATOR, require
from annotation.testset import Origin, TestSet, TestSetRow
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.web.formatting import DASH, percent, signed


@dataclass(frozen=True)
class Quality:
    """Facts of the source labels and of the gold on the same sentences."""

    both: int
    source: int
    gold: int

    @property
    def precision(self) -> float | None:
        return self.both / self.source if self.source else None

    @property
    def recall(self) -> float | None:
        return self.both / self.gold if self.gold else None


class Snapshot:
    """Outcomes of the items, and the inventory, at one time."""

    def __init__(self, project: Project, frozen: set[int]) -> None:
        self.labels = label_titles(project)
        """Titles of the current labels by name."""
        self.states: dict[int, str] = {}
        self.na = 0
        self.by_label = Counter[str]()
        self._mapping, self._frozen = mapping_of(project), frozen
        self._facts, self._source, self._gold = set[Fact](), set[Fact](), set[Fact]()
        self._answers: list[list[Any]] = []

    def add(self, items: Sequence[Item], records: Mapping[int, ItemRecords]) -> None:
        """Add the outcomes of some items, with their answers in current labels."""
        gold_of: dict[int, set[Fact]] = {}
        for item in items:
            self.states[item.pk] = item.state
            given = [each.payload for each in records[item.pk].answers if not (each.set_aside or each.again)]
            current = (self._mapping.payload(payload).payload for payload in given)
            self._answers.append([choices_of(payload) for payload in current])
            if item.state not in WITH_GOLD or item.gold is None:
                continue
            own = facts_of(item, item.gold)
            self.na += not own
            self.by_label.update({fact[-2] for fact in own})
            self._facts |= own
            if item.pk in self._frozen:
                gold_of[item.pk] = own
        for row in SourceLabels.objects.filter(item__in=[*gold_of]).select_related("item"):
            self._source |= facts_of(row.item, self._mapping.payload(row.labels).payload)
            self._gold |= gold_of[row.item_id]

    @property
    def facts(self) -> int:
        return len(self._facts)

    @property
    def quality(self) -> Quality | None:
        if not self._frozen:
            return None
        return Quality(len(self._source & self._gold), len(self._source), len(self._gold))

    @cached_property
    def alpha(self) -> float | None:
        """Krippendorff's α of complete answers that count."""
        return nominal_alpha(self._answers)

    @property
    def counts(self) -> Counter[str]:
        """Numbers of items by state."""
        return Counter(self.states.values())


def frozen_items(project: Project, keys: Sequence[int]) -> set[int]:
    """Return the items of the last frozen set: their source labels are no longer sealed."""
    sets = TestSet.objects.frozen().filter(project=project, origin=Origin.ANNOTATED)
    last = sets.order_by("-pk").first()
    if last is None:
        return set()
    ids = TestSetRow.objects.filter(test_set=last).values("external_id")
    frozen = set(Item.objects.filter(project=project, external_id__in=ids).values_list("pk", flat=True))
    return frozen.intersection(keys)


@dataclass(frozen=True)
class LabelChange:
    """Sentences with a label before and after, None where it isn't in the inventory, and why."""

    title: str
    before: int | None
    after: int | None
    why: str

    @property
    def gain(self) -> int:
        return (self.after or 0) - (self.before or 0)


@dataclass(frozen=True)
class PlanEffects:
    """What a plan would do to a project."""

    effect: Effect
    before: Snapshot
    after: Snapshot
    plan: Sequence[PlannedStep]
    steps: StepEffects | None = None
    """Of a plan: what each step of it does."""

    def moved(self, *, waits: bool) -> list[int]:
        """Return the items that begin to wait for answers or a decision, or that cease to."""
        states = self.after.states.items()
        return [pk for pk, now in states if (self.before.states[pk] in WAITING) != waits == (now in WAITING)]

    def changed_labels(self) -> list[LabelChange]:
        """Return the labels that change, the most gained first; N/A among them."""
        mapping = LabelMapping.from_steps(step_of(step) for step in self.plan if step.operation != "add")
        old, new = self.before.labels, self.after.labels
        rows = [LabelChange("N/A", self.before.na, self.after.na, "")]
        for name in {**old, **new}:
            before = self.before.by_label[name] if name in old else None
            after = self.after.by_label[name] if name in new else None
            title = new.get(name) or old[name]
            rows.append(LabelChange(title, before, after, self._why(name, mapping)))
        changed = [row for row in rows if row.before != row.after]
        return sorted(changed, key=lambda row: (-row.gain, row.title))

    def _why(self, name: str, mapping: LabelMapping) -> str:
        old, new = self.before.labels, self.after.labels
        if name not in new:
            parts = [new[part] for part in mapping.inventory([name]) if part in new]
            return f"became {' or '.join(parts)}" if parts else "deleted"
        sources = [old[each] for each in old if each != name and name in mapping.inventory([each])]
        return f"from {', '.join(sources)}" if sources else ""


def effects_of(project: Project, plan: Sequence[PlannedStep], *, by: User) -> PlanEffects:
    """Make a plan, roll it back, and compare before and after."""
    return effects_of_change(project, lambda copy: apply_plan(copy, plan, by=by), plan=plan, by=by)


def effects_of_change(
    project: Project, change: Callable[[Project], object], *, by: User, plan: Sequence[PlannedStep] = ()
) -> PlanEffects:
    """Make a change, roll it back, and compare before and after."""
    require(project, by, CURATOR)
    seen: list[Snapshot] = []
    frozen: set[int] = set()

    def look(state: Project, keys: Sequence[int]) -> Snapshot:
        if not seen:
            frozen.update(frozen_items(state, keys))
        seen.append(Snapshot(state, frozen))
        return seen[-1]

    effect, (before, after) = preview(project, change, look), seen
    steps = effects_of_steps(project, plan, list(before.states)) if plan else None
    return PlanEffects(effect, before, after, plan, steps)


# ---- as rows -------------------------------------------------------------------------------------
def figures(effects: PlanEffects) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table: name, before, after, change."""
    before, after = effects.before, effects.after
    rows = [
        ("Settled", "settled"), ("Decided", "adjudicated"), ("Disputed", "disputed"), ("Open", "open"),
        ("Excluded", "unusable"),
    ]  # fmt: skip
    numbers = [(title, before.counts[state], after.counts[state]) for title, state in rows]
    numbers.append(("Labels, without N/A", len(before.labels), len(after.labels)))
    numbers.append(("Facts", before.facts, after.facts))
    shown = [(title, f"{a:,}", f"{b:,}", signed(b - a, digits=0)) for title, a, b in numbers if a or b]
    alphas = [DASH if a is None else f"{a:.3f}" for a in (before.alpha, after.alpha)]
    gain = None if before.alpha is None or after.alpha is None else after.alpha - before.alpha
    shown.append(
        ("α of complete answers", alphas[0], alphas[1], DASH if gain is None else signed(gain, digits=3))
    )
    shares = [("N/A", _na(before), _na(after))]
    if before.quality and after.quality:
        shares += [
            ("Source precision, frozen part", before.quality.precision, after.quality.precision),
            ("Source recall, frozen part", before.quality.recall, after.quality.recall),
        ]
    return shown + [(title, _share(a), _share(b), _points(a, b)) for title, a, b in shares]


def _na(snapshot: Snapshot) -> float | None:
    decided = snapshot.counts["settled"] + snapshot.counts["adjudicated"]
    return snapshot.na / decided if decided else None


def _share(value: float | None) -> str:
    return DASH if value is None else f"{percent(value)} %"


def _points(before: float | None, after: float | None) -> str:
    return DASH if before is None or after is None else signed(100 * (after - before), digits=1)
