"""Disputes and unanswerable items: shown without names, decided, reopened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from annotation.adjudication import unanswerable_items
from annotation.adjudication.precedents import Precedent, precedents
from annotation.adjudication.unanswerable_items import SkipNote
from annotation.consensus import applied_decisions, item_state, pending_recomputation, recomputation
from annotation.consensus.item_state import counted_answers
from annotation.consensus.majority import MAJORITY, MAJORITY_NA, ChoiceCount, OpenParts, Verdict
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Answer, Item, Project, SecondReading
from annotation.models.voting import ANY_VOTES, counting_decision
from annotation.queue.answer_validation import validate_answer
from annotation.roles import CURATOR, MAY_DECIDE, require, require_to_change
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.formats.label_mapping import Payload, empty_answer

FINDINGS: dict[str, str] = {
    Adjudication.Finding.BROKEN: "The sentence is broken",
    Adjudication.Finding.ENTITY: "An entity is marked wrongly",
}
LETTERS = "PQRTUVXYCDFGHILMO"  # those that are no keys of the form: a column is not pressed


@dataclass(frozen=True, slots=True)
class AnonymousAnswer:
    """An answer without its annotator."""

    letter: str
    payload: Payload
    comment: str = ""
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class FormerDecision:
    """A decision that no longer counts, as a proposal for the next.

    `payload` is None for a finding, and if a label of the answer is gone.
    """

    payload: Payload | None
    finding: str
    reason: str


@dataclass(frozen=True, slots=True)
class DisputeDetails:
    """The adjudicator's view of an item: answers shuffled, verdicts by policy."""

    item: Item
    columns: list[AnonymousAnswer]
    tally: list[ChoiceCount]
    na: int
    n: int
    k: int
    by_policy: dict[str, Verdict]
    votes_key: str
    open_parts: OpenParts | None = None
    precedents: list[Precedent] = field(default_factory=list)
    may_ask_one_more: bool = False
    passes: list[SkipNote] = field(default_factory=list)
    unanswerable: bool = False
    former: FormerDecision | None = None


def needs_decision(item: Item) -> bool:
    """True if the item is disputed or unanswerable."""
    return item.state == Item.State.DISPUTED or unanswerable_items.is_unanswerable(item)


def decisions_on_answers(made: QuerySet[Adjudication]) -> QuerySet[Adjudication]:
    """Return those on a dispute or an unanswerable item: all but the exclusions by curators, of any item."""
    return made.exclude(votes_key=ANY_VOTES)


def active_decisions(project: Project) -> QuerySet[Adjudication]:
    """Return active decisions, newest first."""
    active = Adjudication.objects.counting(project)
    return active.select_related("item", "by").order_by("-pk")


def dispute_details(item: Item, *, for_user: User) -> DisputeDetails:
    """Return the adjudicator's view; each adjudicator has a fixed answer order."""
    require(item.project, for_user, *MAY_DECIDE)
    rules = Rules(item.project_id)
    k = item_state.answers_needed(item, rules.project)
    given = Answer.objects.filter(item=item).active().select_related("vote")
    counted = counted_answers(item_state.mark_asked_again(item, list(given), rules), k=k)
    counted.sort(key=lambda answer: _place(answer, for_user))
    mapped = [rules.mapping.payload(answer.payload).payload for answer in counted]
    verdicts = {policy: rules.verdict(mapped, k, policy) for policy in (MAJORITY, MAJORITY_NA)}
    verdict = verdicts[rules.policy]
    reads_again = _waits_for_reading(item, for_user)  # from the answers alone
    rounds, most = range(1, 2 + len(counted) // len(LETTERS)), len(counted)
    letters = [letter * times for times in rounds for letter in LETTERS][:most]
    columns = [
        AnonymousAnswer(letter, payload, answer.vote.comment, answer.vote.flagged)
        for letter, payload, answer in zip(letters, mapped, counted, strict=True)
    ]
    parts = None
    if rules.project.kind != Kind.RELATIONS:
        parts = rules.open_parts([column.payload for column in columns])
    return DisputeDetails(
        item=item,
        columns=columns,
        tally=verdict.tally,
        na=verdict.na,
        n=verdict.n,
        k=k,
        by_policy=verdicts,
        votes_key=item.votes_key,
        open_parts=parts,
        precedents=[] if reads_again else precedents(item, parts, for_user=for_user),
        may_ask_one_more=not reads_again and may_ask_one_more(item, rules.project),
        passes=unanswerable_items.skip_notes(item) if item.state == Item.State.OPEN else [],
        unanswerable=unanswerable_items.is_unanswerable(item),
        former=None if reads_again else _former_decision(item, for_user, rules),
    )


def _place(answer: Answer, user: User) -> bytes:
    """Return the person's order of the columns, drawn by annotator, so that the order of time moves none.

    Whoever could compute it would know whose each is.
    """
    place = f"{answer.item_id}:{user.pk}:{answer.annotator_id}"
    return salted_hmac("order of answers", place, algorithm="sha256").digest()


def _waits_for_reading(item: Item, user: User) -> bool:
    """True if the person is to read the decision of the item again."""
    readings = SecondReading.objects.filter(counting_decision("decision__"), decision__item=item)
    return readings.waiting_for(user).exists()


def may_ask_one_more(item: Item, project: Project) -> bool:
    """True if the limit allows another person, and somebody can answer."""
    within = item.state != Item.State.OPEN and item_state.may_extend(item, project)
    return within and unanswerable_items.may_be_answered(item)


def unread_decisions(item: Item, user: User) -> set[int]:
    """Return the decisions that the person is to read again unseen, with lapsed ones, which may return."""
    kept = Q(decision__reopened_at=None) | Q(decision__lapsed=True)
    readings = SecondReading.objects.filter(kept, decision__item=item).waiting_for(user)
    return set(readings.values_list("decision", flat=True))


def _former_decision(item: Item, user: User, rules: Rules) -> FormerDecision | None:
    """Return the last decision that lapsed, or that the person reopened."""
    shown = item.adjudications.exclude(reopened_at=None).filter(Q(lapsed=True) | Q(by=user))
    shown = shown.exclude(pk__in=unread_decisions(item, user))
    decision = shown.order_by("-pk").first()
    if decision is None:
        return None
    payload = None if decision.finding else applied_decisions.decided_payload(decision, rules)
    return FormerDecision(payload, decision.finding, decision.reason)


def _locked(item: Item, by: User) -> tuple[Item, Project, str]:
    """Lock the item; return its project and the adjudicator's role too.

    Rejected while the project is recomputed: states may be those of earlier rules, labels or k, and an item
    decided anew would come again before others do.
    """
    project = Project.objects.get(pk=item.project_id)
    role = require_to_change(project, by, *MAY_DECIDE)
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    pending_recomputation.require_recomputed(project)
    return item, project, role


def _not_disputed(item: Item) -> Conflict:
    """Return the rejection, which doesn't tell those who are to read a decision again if it is a finding."""
    state = "decided" if item.state in Item.DECIDED else item.state
    return Conflict("not_disputed", f"This sentence is {state}, not disputed.")


@transaction.atomic
def decide(
    item: Item,
    *,
    by: User,
    payload: dict[str, Any] | None = None,
    finding: str = "",
    reason: str = "",
    client_id: UUID,
    votes_key: str,
    bulk: UUID | None = None,
) -> Adjudication:
    """Decide a dispute by an answer, or by a finding without answer.

    Rejected if the votes changed after the adjudicator saw them. `bulk` names decisions made together.
    """
    item, project, _ = _locked(item, by)
    before = Adjudication.objects.filter(client_id=client_id).first()
    if before and (before.item_id, before.by_id) != (item.pk, by.pk):
        detail = "This `client_id` was already used for a different decision."
        raise Conflict("client_id_reused", detail, field="client_id")
    if before:
        return before
    if item.state in Item.DECIDED:
        raise Conflict(
            "already_decided", "This sentence has already been decided.", hint="Continue with the next one."
        )
    if item.votes_key != votes_key:
        raise Conflict(
            "votes_changed", "The answers changed while you were deciding.", hint="Review them, then decide."
        )
    if not needs_decision(item):
        raise _not_disputed(item)
    # this decision replaces them
    item.adjudications.filter(votes_key=votes_key).update(lapsed=False)
    applied_decisions.outdate_decisions(Item.objects.filter(pk=item.pk))
    decision = Adjudication.objects.create(
        item=item,
        by=by,
        payload=decided_answer(payload, finding, item, project),
        finding=finding,
        reason=reason,
        votes_key=votes_key,
        client_id=client_id,
        bulk=bulk,
    )
    item_state.update_state(item)
    return decision


def decided_answer(payload: dict[str, Any] | None, finding: str, item: Item, project: Project) -> Payload:
    if not finding:
        if payload is None:
            raise DomainError(
                "nothing_chosen", "No answer or finding given.", hint="Send one of them.", field="payload"
            )
        return validate_answer(payload, item=item, project=project)
    if finding not in FINDINGS:
        known = ", ".join(FINDINGS)
        raise DomainError(
            "unknown_finding", f"Unknown finding {finding!r}. Use one of: {known}.", field="finding"
        )
    if payload and (payload.get("spans") or payload.get("relations")):
        raise DomainError("bad_payload", "Send an answer or a finding, not both.", field="payload")
    return empty_answer()


@transaction.atomic
def exclude_item(item: Item, *, by: User, finding: str, reason: str = "") -> Adjudication:
    """Leave an item out of queue and test sets, whatever its answers are.

    A decision that counted until then counts again once the exclusion is undone by `reopen`.
    """
    item, project, _ = _locked(item, by)
    require(project, by, CURATOR)
    if item.state == Item.State.UNUSABLE:
        raise Conflict("already_decided", "This sentence is already excluded.")
    if item.use:
        raise Conflict("not_disputed", "A gold question is not frozen. Make it an ordinary sentence first.")
    return exclude_items(project, [item], by=by, finding=finding, reason=reason)[0]


def exclude_items(
    project: Project, items: Sequence[Item], *, by: User, finding: str, reason: str = ""
) -> list[Adjudication]:
    """Leave out items that the caller has locked and checked."""
    payload = decided_answer(None, finding, items[0], project)
    pks = [item.pk for item in items]
    Adjudication.objects.filter(item__in=pks).active().update(reopened_at=Now(), lapsed=True)
    made = Adjudication.objects.bulk_create(
        Adjudication(
            item=item,
            by=by,
            payload=payload,
            finding=finding,
            reason=reason,
            votes_key=ANY_VOTES,
            client_id=uuid4(),
        )
        for item in items
    )
    recomputation.recompute_items(project, pks)
    return made


@transaction.atomic
def ask_one_more(item: Item, *, by: User) -> Item:
    """Ask for one more answer to a disputed item; curators, also to a settled one."""
    item, project, role = _locked(item, by)
    open_to = (Item.State.DISPUTED, Item.State.SETTLED) if role == CURATOR else (Item.State.DISPUTED,)
    if item.state not in open_to:
        raise _not_disputed(item)
    if not item_state.may_extend(item, project):
        raise Conflict(
            "enough_asked",
            f"{item.extra} extra people were asked already; the limit is {project.most_extra}.",
            hint="Decide it, or ask a curator to raise the limit.",
        )
    if role != CURATOR and not unanswerable_items.may_be_answered(item):
        raise Conflict(
            "nobody_left",
            "Nobody who labels in this project is left who could answer this sentence.",
            hint="Decide it, or ask a curator to add annotators or to open the project.",
        )
    answers = Answer.objects.filter(item=item).active()
    k = item_state.answers_needed(item, project)
    if len(item_state.counted_answers(answers, k=k)) < k:  # disputed as its decision is out of date
        applied_decisions.outdate_decisions(Item.objects.filter(pk=item.pk))
    else:
        item_state.ask_one_more(Item.objects.filter(pk=item.pk))
        item.refresh_from_db(fields=["asked", "called"])
    return item_state.update_state(item)


@transaction.atomic
def cancel_one_more(item: Item, *, by: User) -> Item:
    """Cancel the last request for one more answer, or else the last call; later answers are surplus."""
    item, _, _ = _locked(item, by)
    if not may_cancel_one_more(item):
        raise Conflict("not_asked", "No extra answer to this sentence is pending.")
    item.asked, item.called = (item.asked - 1, item.called) if item.asked else (0, item.called - 1)
    item.save(update_fields=["asked", "called"])
    return item_state.update_state(item)


def may_cancel_one_more(item: Item) -> bool:
    """True while an extra answer is pending, by request or automatic call."""
    return item.state == Item.State.OPEN and item.extra > 0


@transaction.atomic
def reopen(item: Item, *, by: User) -> Adjudication:
    """Reopen a decided item; the decision stays on record."""
    item, _, role = _locked(item, by)
    decision = item.adjudications.active().first()
    if decision is None:
        raise Conflict("not_decided", f"This sentence is {item.state}: it has no active decision.")
    if decision.is_exclusion and role != CURATOR:
        hint = "Curators can include it again."
        raise NotAllowed("not_yours", "A curator excluded this sentence.", hint=hint)
    if decision.by_id != by.pk and role != CURATOR:
        raise NotAllowed(
            "not_yours",
            "Somebody else decided this sentence.",
            hint="They or a curator of the project can reopen it.",
        )
    applied_decisions.reopen(Adjudication.objects.filter(pk=decision.pk))
    item_state.update_state(item)
    return decision
