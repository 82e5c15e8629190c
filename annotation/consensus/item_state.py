"""Derivation of an item's state, gold and missing answers from its answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import F, QuerySet

from annotation.consensus import majority
from annotation.consensus.applied_decisions import (
    DecisionChanges,
    apply_decision,
    outdate_decisions,
    votes_digest,
)
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Answer, Item, Lease, Project
from evalsvc.core.database import now
from evalsvc.core.formats.label_mapping import Payload

FIELDS = [
    *("state", "gold", "pattern", "votes_key", "emptied", "policy_matters"),
    *("called", "extra", "free"),
]


@dataclass(slots=True)
class ItemRecords:
    """Active answers, leases and applicable decisions of an item.

    `given` is an answer that its person gave just now.
    """

    answers: list[Answer] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    decisions: list[Adjudication] = field(default_factory=list)
    given: Answer | None = None


def counted_answers(answers: Iterable[Answer], *, k: int) -> list[Answer]:
    """Return the first k answers neither excluded nor asked again, in the server's order."""
    counting = (answer for answer in answers if not (answer.set_aside or answer.again))
    return sorted(counting, key=lambda answer: answer.position)[:k]


def surplus_annotators(item: Item, answers: Sequence[Answer], project: Project) -> set[int]:
    """Return the annotators whose answers came after those that count."""
    counted = counted_answers(answers, k=answers_needed(item, project))
    return {answer.annotator_id for answer in answers} - {answer.annotator_id for answer in counted}


def update_state(
    item: Item, *, project: Project | None = None, records: ItemRecords | None = None, runs_all: bool = False
) -> Item:
    """Derive and store the item's state; the caller has locked the item.

    A hidden check stays as it is, and is decided all the same: a reply would come sooner without.
    """
    rules = Rules(project or item.project_id)
    records = records or ItemRecords(
        list(Answer.objects.filter(item=item).active()),
        list(item.leases.keeping()),
        list(item.adjudications.applicable()),
    )
    changes = DecisionChanges()
    derive_state(_as_work(item) if item.use == Item.Use.CHECK else item, records, rules, changes)
    save_states([item])
    changes.save(runs_all=runs_all)
    return item


def rehearse(
    item: Item, before: Item, *, project: Project, records: ItemRecords, runs_all: bool = False
) -> None:
    """Write the change of a hidden check as if it was an ordinary item, and undo that.

    Otherwise a reply, to a long answer above all, would come sooner for checks. `before` is the check decided
    without the vote.
    """
    after, changes = _as_work(item), DecisionChanges()
    with transaction.atomic():
        derive_state(after, records, Rules(project), changes)
        save_states([_changed_like(item, before, after)])
        transaction.set_rollback(True)
    changes.save(runs_all=runs_all)


def rewrite(item: Item) -> None:
    """Write the row as it is, for the time that this takes."""
    save_states([item])


def decided_as_work(item: Item, *, project: Project, records: ItemRecords) -> Item:
    """Return the item as it would be as an ordinary one; stores nothing."""
    twin = _as_work(item)
    answers = [copy(answer) for answer in records.answers]
    before = ItemRecords(answers, records.leases, records.decisions)
    derive_state(twin, before, Rules(project), DecisionChanges())
    return twin


def _as_work(item: Item) -> Item:
    twin = copy(item)
    twin.use = Item.Use.WORK
    return twin


def _changed_like(item: Item, before: Item, after: Item) -> Item:
    """Return a copy in which the indexed columns change that differ between the two, and no others.

    A row is written in half the time if none of them changes.
    """
    changed = copy(after)
    for name in set(FIELDS) - {"gold", "votes_key"}:
        old, new = getattr(before, name), getattr(after, name)
        stored = getattr(item, name)
        setattr(changed, name, stored if old == new else new if new != stored else old)
    return changed


def answers_needed(item: Item, project: Project) -> int:
    """Return how many answers decide the item, extra ones included."""
    return (item.k or project.k) + item.extra


def derive_state(item: Item, records: ItemRecords, rules: Rules, changes: DecisionChanges) -> None:
    """Set the item's state in memory, and note its decisions that change."""
    mark_asked_again(item, records.answers, rules)
    if item.use:  # a gold question is never decided, and open to everybody
        return
    item.extra = item.asked + item.called
    given = records.given if records.given and records.given.first_payload is None else None
    if rules.project.calls_extra and given:
        _call_extra(item, records, rules, given)
    k = answers_needed(item, rules.project)
    counting = counted_answers(records.answers, k=len(records.answers))
    counted = counting[:k]
    mapped = [rules.mapping.payload(answer.payload) for answer in counted]
    payloads = [answer.payload for answer in mapped]
    verdict = rules.verdict(payloads, k, rules.policy)
    item.state, item.gold, item.pattern = verdict.state, verdict.gold, verdict.pattern
    item.emptied = sum(answer.emptied for answer in mapped)
    item.policy_matters = verdict.state != majority.OPEN and _policy_matters(verdict, payloads, k, rules)
    raw = [answer.payload for answer in counting]
    item.votes_key = votes_digest(raw[:k], payloads) if counted else ""
    apply_decision(item, records.decisions, raw, k, rules, changes)
    leased = {lease.annotator_id for lease in records.leases} - {answer.annotator_id for answer in counted}
    item.free = max(0, k - len(counted) - len(leased)) if item.state == Item.State.OPEN else 0


def _policy_matters(verdict: majority.Verdict, payloads: list[Payload], k: int, rules: Rules) -> bool:
    other = rules.verdict(payloads, k, rules.other_policy)
    return (verdict.state, verdict.gold) != (other.state, other.gold)


def is_asked_again(item: Item, payload: Payload, guideline: int | None, rules: Rules) -> bool:
    """True for an answer that is asked again, to checks as to sentences, so that both come alike."""
    return item.use != Item.Use.QUALIFY and rules.is_asked_again(payload, guideline)


def mark_asked_again(item: Item, answers: Sequence[Answer], rules: Rules) -> Sequence[Answer]:
    """Mark in memory which answers the rules ask again: stored marks may wait for a recomputation."""
    for answer in answers:
        answer.again = is_asked_again(item, answer.payload, answer.guideline, rules)
    return answers


def may_extend(item: Item, project: Project) -> bool:
    """True while one more person may be asked about the item."""
    return item.extra < project.most_extra


def ask_one_more(items: QuerySet[Item]) -> None:
    """Ask one more person about items whose places are all filled.

    Calls that were answered become requests, so that it is the request that waits, which no option cancels.
    """
    items.update(asked=F("asked") + F("called") + 1, called=0)
    outdate_decisions(items)


def _call_extra(item: Item, records: ItemRecords, rules: Rules, given: Answer) -> None:
    """Call one more person if an answer counts and those as first given are now disputed.

    By the present ones, whoever tried all answers would learn those of others from the calls. A call stands,
    and no change of labels, rule or k makes one: which sentences come would tell what the others answered. So
    would a call, or none, by other labels or another rule than those under which the answers were given.
    """
    while may_extend(item, rules.project):
        k = answers_needed(item, rules.project)
        counted = counted_answers(records.answers, k=k)
        if given not in counted or any(answer.first_rules != rules.key for answer in counted):
            break
        first = [rules.mapping.payload(answer.first_payload or answer.payload) for answer in counted]
        verdict = rules.verdict([answer.payload for answer in first], k, rules.policy)
        if verdict.state != majority.DISPUTED:
            break
        item.called += 1
        item.extra += 1


def save_states(items: Sequence[Item]) -> None:
    """Run one UPDATE per item; `bulk_update` takes ten times as long."""
    columns: list[Any] = [Item._meta.get_field(name) for name in FIELDS]
    assignments = ", ".join(f"{connection.ops.quote_name(column.column)} = %s" for column in columns)
    assignments += f", freed_at = CASE WHEN %s > free THEN {now()} ELSE freed_at END"
    rows = [
        [
            *(column.get_db_prep_save(getattr(item, column.name), connection) for column in columns),
            item.free,
            item.pk,
        ]
        for item in items
    ]
    statement = f"UPDATE {Item._meta.db_table} SET {assignments} WHERE id = %s"  # noqa: S608
    with connection.cursor() as cursor:
        if len(rows) == 1:
            cursor.execute(statement, rows[0])
        else:
            cursor.executemany(statement, rows)
