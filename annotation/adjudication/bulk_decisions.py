"""One decision on all disputes of a stated vote pattern: previewed, with a reason, undone together."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from django.db.models import Count

from annotation.adjudication import decisions, dispute_list
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.adjudication.item_access import was_in_dispute
from annotation.adjudication.unanswerable_items import UNANSWERABLE
from annotation.consensus import applied_decisions, pending_recomputation, recomputation
from annotation.consensus.choices import payload_of
from annotation.consensus.item_state import answers_needed, counted_answers, mark_asked_again
from annotation.consensus.majority import OpenPart, OpenParts
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Answer, Item, Project
from annotation.roles import CURATOR, MAY_DECIDE, require, require_to_change
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.web.formatting import counted

MOST = 500  # decisions at once
NA, LEADING = ANSWERS = ("na", "leading")
"""N/A, or the label with the most votes apart from N/A."""


@dataclass(frozen=True)
class BulkPreview:
    """What each dispute would get; `key` digests disputes and votes, `tied` have no leading label.

    `last` is the last dispute looked at; `more` follow it.
    """

    items: list[tuple[Item, Payload]] = field(default_factory=list)
    tied: int = 0
    more: bool = False
    last: UUID | None = None

    @property
    def key(self) -> str:
        seen = "\n".join(f"{item.pk} {item.votes_key}" for item, _ in self.items)
        return hashlib.sha256(seen.encode()).hexdigest()


def preview(
    project: Project, filters: DisputeFilters, answer: str, *, by: User, after: UUID | None = None
) -> BulkPreview:
    """Return what a bulk decision would give to the first disputes, or the first after one; store nothing.

    To `MOST` at most; fewer where answers have many spans. Ties stay in the list: go on after the last.
    """
    require(project, by, *MAY_DECIDE)
    if not filters.pattern or filters.pattern == UNANSWERABLE:
        hint = "Choose one of the patterns of the disputes, such as 1 against 2 N/A."
        raise DomainError("no_pattern", "A pattern of votes is needed.", hint=hint, field="pattern")
    if answer not in ANSWERS:
        detail = f"Unknown answer {answer[:40]!r}. Use one of: {', '.join(ANSWERS)}."
        raise DomainError("invalid_input", detail, field="answer")
    disputes = dispute_list.disputes(project, filters)
    if after:
        disputes = disputes.filter(rank__gt=_rank(project, after))
    found = list(disputes[: MOST + 1])
    fitting, rules = {*recomputation.for_one_request([item.pk for item in found[:MOST]])}, Rules(project)
    items = [item for item in found if item.pk in fitting]
    votes: dict[int, list[Answer]] = defaultdict(list)
    for row in Answer.objects.filter(item__in=items).active().order_by("position"):
        votes[row.item_id].append(row)
    given = [(item, _answer(rules, item, votes[item.pk], answer)) for item in items]
    kept = [(item, payload) for item, payload in given if payload is not None]
    last = items[-1].key if items else None
    return BulkPreview(kept, len(given) - len(kept), len(found) > len(items), last)


def _rank(project: Project, after: UUID) -> int:
    """Return the place of what is or was a dispute; hidden checks and other sentences are rejected alike."""
    item = project.items.live().filter(key=after).first()
    if item is None or not was_in_dispute(item):
        raise DomainError("invalid_input", f"No dispute {after} in {project}.", field="after")
    return item.rank


def _answer(rules: Rules, item: Item, answers: Sequence[Answer], wanted: str) -> Payload | None:
    """Return the answer that an item would get; None if its leading labels are tied."""
    k = answers_needed(item, rules.project)
    current = mark_asked_again(item, answers, rules)
    payloads = [rules.mapping.payload(row.payload).payload for row in counted_answers(current, k=k)]
    if rules.project.kind != Kind.RELATIONS:
        return _of_parts(rules.open_parts(payloads), wanted)
    if wanted == NA:
        return {"spans": [], "relations": []}
    tally = rules.verdict(payloads, k, rules.policy).tally
    most = max((count.votes for count in tally), default=0)
    leading = [count.choice for count in tally if count.votes == most]
    return {"spans": [], "relations": leading} if len(leading) == 1 else None


def _of_parts(parts: OpenParts, wanted: str) -> Payload | None:
    """Fill the open parts beside what stands."""
    chosen: set[Any] = set()
    for part in parts.parts if wanted == LEADING else ():
        way = _leading(part)
        if way is None:
            return None
        chosen |= way
    links = {choice for choice in chosen if isinstance(choice[0], tuple)}
    return payload_of((chosen - links) | parts.spans, links | parts.links)


def _leading(part: OpenPart) -> frozenset[Any] | None:
    ways = [(len(way.answers), way.choices) for way in part.alternatives if way.choices]
    most = max((votes for votes, _ in ways), default=0)
    leading = [choices for votes, choices in ways if votes == most]
    return leading[0] if len(leading) == 1 else None


def _lock(keys: Sequence[int]) -> None:
    """Lock the items in the order in which changes of labels do: two orders would be a deadlock."""
    items = Item.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk")
    list(items.values_list("pk", flat=True))


@atomic_again
def decide_all(
    project: Project,
    filters: DisputeFilters,
    answer: str,
    *,
    reason: str,
    key: str,
    client_id: UUID,
    by: User,
    after: UUID | None = None,
) -> int:
    """Decide what the preview with this key listed, or nothing if disputes or votes are others by now."""
    require_to_change(project, by, *MAY_DECIDE)
    repeated = Adjudication.objects.filter(bulk=client_id, item__project=project, by=by).count()
    if repeated:
        return repeated
    if not reason.strip():
        raise DomainError("no_reason", "State the reason.", hint="The release shows it.", field="reason")
    pending_recomputation.require_recomputed(project)
    seen = preview(project, filters, answer, by=by, after=after)
    if not seen.items:
        hint = "Continue after these: more follow." if seen.more else ""
        tied = f" {counted(seen.tied, 'dispute')} looked at: all are tied." if seen.tied else ""
        raise Conflict("nothing_to_decide", f"No dispute would get an answer.{tied}", hint=hint)
    if seen.key != key:
        hint = "Look at the preview again."
        raise Conflict("votes_changed", "The disputes or their answers changed since the preview.", hint=hint)
    _lock([item.pk for item, _ in seen.items])
    for item, payload in seen.items:
        decisions.decide(
            item,
            by=by,
            payload=payload,
            reason=reason.strip(),
            client_id=uuid5(client_id, str(item.pk)),
            votes_key=item.votes_key,
            bulk=client_id,
        )
    made = {"pattern": filters.pattern, "label": filters.label, "answer": answer, "decided": len(seen.items)}
    before = {"disputed": len(seen.items)}
    record(project, "disputes decided in bulk", by=by, about=reason.strip(), before=before, after=made)
    return len(seen.items)


def sizes(made: Sequence[Adjudication]) -> dict[UUID | None, int]:
    """Return how many decisions count, or may again, of each that these were made together with."""
    together = {decision.bulk for decision in made if decision.bulk}
    rows = Adjudication.objects.filter(bulk__in=together).applicable()
    return dict(rows.order_by().values_list("bulk").annotate(n=Count("pk")))


@atomic_again
def undo(project: Project, bulk: UUID, *, by: User, preview: bool = False) -> int:
    """Undo all decisions made together for good, lapsed ones too; those of others only as a curator."""
    role = require_to_change(project, by, *MAY_DECIDE)
    rows = Adjudication.objects.filter(bulk=bulk, item__project=project)
    items = sorted(rows.applicable().values_list("item", flat=True))
    if not preview:
        _lock(items)
        pending_recomputation.require_recomputed(project)
    made = list(rows.applicable())
    if not made:
        raise Conflict("not_decided", "All of these decisions are undone.")
    if role != CURATOR and any(decision.by_id != by.pk for decision in made):
        hint = "They or a curator of the project can reopen them."
        raise NotAllowed("not_yours", "Somebody else decided these sentences.", hint=hint)
    if preview:
        return len(made)
    undone = Adjudication.objects.filter(pk__in=[decision.pk for decision in made])
    applied_decisions.reopen(undone)
    undone.update(lapsed=False)
    recomputation.recompute_items(project, items)
    before = {"reason": made[0].reason, "decided": len(made)}
    record(project, "bulk decision undone", by=by, about=made[0].reason, before=before, after={"decided": 0})
    return len(made)
