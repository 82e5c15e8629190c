"""A sample of decisions, decided again by others who don't see them; and how far deciders agree."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from annotation.adjudication.decisions import active_decisions, decided_answer, decisions_on_answers
from annotation.consensus.alpha import nominal_alpha
from annotation.consensus.choices import choices_of
from annotation.consensus.rules import Rules
from annotation.models import Item, Project, SecondReading
from annotation.models.voting import SecondReadingQuerySet, counting_decision
from annotation.roles import CURATOR, MAY_DECIDE, require, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError

MOST = 1_000


@dataclass(frozen=True)
class Pair:
    """A decision and its second reading in current labels, as sets of choices or a finding."""

    reading: SecondReading
    first: Any
    second: Any


@dataclass(frozen=True)
class Agreement:
    """How far second readings agree with the decisions that still count."""

    asked: int
    pairs: Sequence[Pair]

    @property
    def agreed(self) -> int:
        return sum(pair.first == pair.second for pair in self.pairs)

    @property
    def share(self) -> float | None:
        return self.agreed / len(self.pairs) if self.pairs else None

    @property
    def alpha(self) -> float | None:
        """Krippendorff's α of complete decisions as nominal values; None where nothing could differ."""
        return nominal_alpha((pair.first, pair.second) for pair in self.pairs)

    @property
    def differences(self) -> list[Pair]:
        return [pair for pair in self.pairs if pair.first != pair.second]


def ask(project: Project, *, n: int, seed: str, by: User) -> int:
    """Draw n active decisions for a second reading; return how many there were.

    The draw depends on the seed and the ids alone. Decisions that were drawn before stay.
    """
    require_to_change(project, by, CURATOR)
    if not 1 <= n <= MOST:
        raise DomainError("invalid_input", f"{n:,} decisions; expected 1 to {MOST:,}.", field="n")
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        left = decisions_on_answers(active_decisions(project)).filter(second_reading=None)
        drawn = sorted(left, key=lambda decision: _draw(seed, decision.item.external_id))[:n]
        rows = [SecondReading(decision=decision, asked_by=by) for decision in drawn]
        SecondReading.objects.bulk_create(rows, batch_size=500)
        if rows:
            record(project, "second readings", by=by, about=f"seed {seed}", before=0, after=len(rows))
    return len(rows)


def _draw(seed: str, name: str) -> bytes:
    return hashlib.sha256(f"{seed}\x1f{name}".encode()).digest()


def _readings(project: Project) -> SecondReadingQuerySet:
    """Return the readings of decisions that count now."""
    # "+ 0": from the readings on, of which there are few, not from the items of the project
    readings = SecondReading.objects.annotate(owner=F("decision__item__project_id") + 0)
    counting = readings.filter(counting_decision("decision__"), owner=project.pk)
    return counting.select_related("decision__item", "decision__by", "by")


def waiting(project: Project, user: User) -> SecondReadingQuerySet:
    """Return the readings that a person may do: of others' decisions, in the order they were drawn."""
    require(project, user, *MAY_DECIDE)
    return _readings(project).waiting_for(user)


def hidden_decisions(project: Project, user: User) -> set[int]:
    """Return the decisions that a person may not see before reading the items again."""
    return set(waiting(project, user).values_list("decision", flat=True))


def hidden_items(project: Project, user: User) -> set[int]:
    """Return the items that a person is to read again, whose outcome stays hidden until then."""
    return set(waiting(project, user).values_list("decision__item", flat=True))


def waiting_for(item: Item, user: User) -> SecondReading | None:
    """Return the reading of an item that a person may do."""
    return waiting(item.project, user).filter(decision__item=item).first()


def without_outcomes(items: Sequence[Item], user: User) -> set[int]:
    """Take the gold from those items in memory that wait for the person's reading, and return them."""
    unread = SecondReading.objects.filter(counting_decision("decision__"), decision__item__in=items)
    hidden = set(unread.waiting_for(user).values_list("decision__item", flat=True))
    for item in items:
        if item.pk in hidden:
            item.gold = None
    return hidden


@transaction.atomic
def reveal(item: Item, *, by: User) -> SecondReading:
    """Let a person see the decision, who then no longer reads the item again."""
    require_to_change(Project.objects.get(pk=item.project_id), by, *MAY_DECIDE)
    reading = _waiting_reading(item, by)
    reading.seen_by.add(by)
    return reading


def _waiting_reading(item: Item, by: User) -> SecondReading:
    Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    reading = waiting_for(item, by)
    if reading is None:
        detail = "You have no second reading of this sentence."
        raise Conflict("no_second_reading", detail, hint="Somebody else may have read it. Take the next one.")
    return reading


@transaction.atomic
def read(
    item: Item, *, by: User, payload: dict[str, Any] | None = None, finding: str = "", reason: str = ""
) -> SecondReading:
    """Store what a second reader decides; gold stays as the first decision gives it."""
    project = Project.objects.get(pk=item.project_id)
    require_to_change(project, by, *MAY_DECIDE)
    reading = _waiting_reading(item, by)
    reading.payload, reading.finding = decided_answer(payload, finding, item, project), finding
    reading.reason, reading.by = reason, by
    reading.save(update_fields=["payload", "finding", "reason", "by"])
    SecondReading.objects.filter(pk=reading.pk).update(at=Now())
    return reading


def agreement(project: Project, *, by: User) -> Agreement:
    """Compare the readings with their decisions. For curators: others are still to read some."""
    require(project, by, CURATOR)
    readings, rules = list(_readings(project)), Rules(project)

    def value(payload: Any, finding: str) -> Any:
        return finding or choices_of(rules.mapping.payload(payload).payload)

    pairs = [
        Pair(each, value(each.decision.payload, each.decision.finding), value(each.payload, each.finding))
        for each in readings
        if each.by_id is not None
    ]
    return Agreement(len(readings), pairs)
