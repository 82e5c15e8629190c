"""Votes: the append-only log, and current answers derived from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.http import Http404

from annotation.consensus import item_state
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Annotator, Answer, Batch, Item, Lease, Vote
from annotation.queue import gold_questions, grading, lease_endings, sql
from annotation.queue.answer_validation import validate_answer
from annotation.queue.exclusions import NOT_EXCLUDED, Exclusion, inherited_exclusion
from annotation.queue.grading import Feedback
from annotation.queue.participants import Participant, participant_of, require_open
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import Payload

MOST_VOTES = 50  # of one person on one item: hundreds of replies might tell checks by their time
SKIP_REASONS = {
    "broken": "The sentence is broken",
    "entity": "An entity is marked wrongly",
    "undecided": "Can’t decide",
    "later": "Later",
}


@dataclass(frozen=True, slots=True)
class VoteResult:
    """A written vote; `repeated` votes were written before.

    It does not say whether the answer counts: that reveals others' answers.
    """

    vote: Vote
    repeated: bool = False
    feedback: Feedback | None = None


@dataclass(frozen=True, slots=True)
class VoteRequest:
    """Values sent with an answer or skip.

    `base` is the number of the person's last vote on the item as far as the client knows. With
    `require_lease` only items that were ever leased to the person may be voted on. `guideline` is the version
    that the person had, the current one unless stated.
    """

    client_id: UUID
    base: int = 0
    comment: str = ""
    flagged: bool = False
    milliseconds: int | None = None
    guideline: int | None = None
    require_lease: bool = False

    def stored(self, participant: Participant) -> dict[str, Any]:
        """Return the values of the vote.

        The version of the guideline is at most the current one, and at least that of a former vote: to go
        back to one that is asked again would take an answer out of the count, and put it back, at will.
        """
        current = participant.project.guideline_version
        values = {name: getattr(self, name) for name in ("client_id", "comment", "flagged", "milliseconds")}
        stated = min(self.guideline or current, current)
        return values | {"guideline": max(stated, participant.last_guideline)}


@dataclass(slots=True)
class _VoteRecords(item_state.ItemRecords):
    """The records of an item, with those of the voter."""

    last_position: int = 0
    shown: int | None = None
    was_leased: bool = False
    exclusion: Exclusion = field(default=NOT_EXCLUDED)


def answer(item: Item | UUID, user: User, *, payload: dict[str, Any], **values: Any) -> VoteResult:
    """Write an answer: the current one until the same person votes again.

    `values` are the fields of `VoteRequest`.
    """
    return _vote(item, user, VoteRequest(**values), Vote.Act.ANSWER, payload=payload)


def skip(item: Item | UUID, user: User, *, reason: str, **values: Any) -> VoteResult:
    """Write a skip: it doesn't count, and withdraws the person's former answer."""
    if reason not in SKIP_REASONS:
        raise DomainError(
            "unknown_reason",
            f"Unknown reason {reason!r}.",
            hint=f"Use one of: {', '.join(SKIP_REASONS)}.",
            field="reason",
        )
    return _vote(item, user, VoteRequest(**values), Vote.Act.SKIP, reason=reason)


@transaction.atomic
def _vote(
    item_or_key: Item | UUID,
    user: User,
    request: VoteRequest,
    act: str,
    *,
    payload: dict[str, Any] | None = None,
    reason: str = "",
) -> VoteResult:
    # The item's lock comes first: under it no answer, lease or decision of the item changes.
    key = item_or_key.key if isinstance(item_or_key, Item) else item_or_key
    item = sql.first(Item, sql.ITEM_BY_KEY, key=key)
    if item is None:
        raise Http404
    participant = participant_of(item.project_id, user, item=item, client_id=request.client_id)
    if participant.earlier_vote:
        return _repeated(item, participant, request, payload, reason)
    require_open(participant.project)
    if item.batch_state != Batch.State.DONE:  # type: ignore[attr-defined]
        raise Conflict("import_not_done", "This sentence is still being imported.", hint="Try again later.")
    if payload is not None:
        payload = validate_answer(payload, item=item, project=participant.project)
    number = _next_number(participant.last_number, request.base)
    if reason == "later":
        lease_endings.require_not_too_often(number)
    if number > MOST_VOTES:
        _require_asked_again(item, participant, payload, request)
    records = _load_records(item, participant.annotator)
    if number > 1:
        records.exclusion = inherited_exclusion(item, participant.annotator, records.answers)
    elif request.require_lease and not records.was_leased:
        raise Conflict(
            "not_handed_out",
            "This sentence is not reserved for you.",
            hint="Request the next one; the server assigns it.",
        )
    _keep_in_work(item)
    before = None
    if gold_questions.keeps_leases(participant.project):  # for sentences, too, as it takes time
        before = item_state.decided_as_work(item, project=participant.project, records=records)
    had_place = _has_place(participant, records)
    (vote,) = sql.fetch(
        Vote,
        sql.ADD_VOTE,
        item=item.pk,
        annotator=participant.annotator.pk,
        number=number,
        act=act,
        payload=payload,
        reason=reason,
        aside=records.exclusion.excluded and records.exclusion.oversight is None,
        shown=records.shown,
        **request.stored(participant),
    )
    _update_answer(item, participant, vote, payload, records)
    _update_leases(item, participant, records, payload, keeps=had_place and before is not None)
    return VoteResult(vote, feedback=_decide(item, before, participant, vote, payload, records))


def _decide(
    item: Item,
    before: Item | None,
    participant: Participant,
    vote: Vote,
    payload: Payload | None,
    records: _VoteRecords,
) -> Feedback | None:
    """Decide the item anew, or grade the answer; in a project with checks (`before`) at the cost of both.

    People can time many changes of an answer, so each runs the statements of one that ends a decision.
    """
    changed = vote.number > 1
    if before and item.use == Item.Use.CHECK:
        item_state.rehearse(item, before, project=participant.project, records=records, runs_all=changed)
        if vote.reason == "later":
            item_state.rewrite(item)
        else:
            grading.grade_check(item, participant, payload, vote)
        return None
    if item.use:
        return grading.grade(item, participant, payload) if vote.number == 1 else None
    if before:
        grading.rehearse_grade(item, participant, payload, vote)
    item_state.update_state(item, project=participant.project, records=records, runs_all=changed)
    return None


def _keep_in_work(item: Item) -> None:
    """Make a sentence work again that left it, by a choice of candidates, after the voter had it."""
    if item.use == Item.Use.CORPUS:
        item.use = Item.Use.WORK
        Item.objects.filter(pk=item.pk).update(use=item.use)


# ---- repeated votes -------------------------------------------------------------------------------
def _repeated(
    item: Item, participant: Participant, request: VoteRequest, payload: Any, reason: str
) -> VoteResult:
    """Return the vote written earlier under this `client_id`."""
    vote = Vote.objects.get(annotator=participant.annotator, client_id=request.client_id)
    differs = (payload is None, reason) != (vote.payload is None, vote.reason)
    if isinstance(payload, dict) and vote.payload is not None:  # the sent one isn't validated yet
        parts = ("spans", "relations")
        differs = any(_entries(payload.get(part)) != _entries(vote.payload[part]) for part in parts)
    if vote.item_id != item.pk or differs:
        other = "sentence" if vote.item_id != item.pk else "answer"
        raise Conflict(
            "client_id_reused",
            f"This `client_id` was already used for a different {other}.",
            hint="Send the answer with a new `client_id`, and the number of your last vote as `base`.",
            field="client_id",
        )
    graded = item.use == Item.Use.QUALIFY and vote.number == 1
    feedback = grading.grade(item, participant, vote.payload) if graded else None
    return VoteResult(vote, repeated=True, feedback=feedback)


def _entries(part: Any) -> set[str]:
    """List an answer's entries, with links independent of span order."""
    entries = part if isinstance(part, list) else []
    return {
        repr(entry)
        for entry in entries
        if not (isinstance(entry, list) and len(entry) == 3 and isinstance(entry[1], str))
    }


# ---- numbers, records, answers --------------------------------------------------------------------
def _require_asked_again(
    item: Item, participant: Participant, payload: dict[str, Any] | None, request: VoteRequest
) -> None:
    """Reject a further vote after many, unless the answer is asked again, and this one would not be."""
    own = Answer.objects.filter(item=item.pk, annotator=participant.annotator.pk).first()
    guideline, rules = request.stored(participant)["guideline"], Rules(participant.project)
    again = own is not None and item_state.is_asked_again(item, own.payload, own.guideline, rules)
    if not again or (payload is not None and rules.is_asked_again(payload, guideline)):
        detail = f"You have answered this sentence {MOST_VOTES} times already."
        hint = "Your last answer counts. Ask a curator to change it."
        raise Conflict("answered_too_often", detail, hint=hint)


def _next_number(last: int, base: int) -> int:
    if base == last:
        return last + 1
    stale = Conflict(
        "answered_elsewhere",
        "You answered this sentence in another tab or on another device since you opened it here.",
        hint=f"Open it again and choose one of the two answers. Your last vote is number {last}.",
    )
    stale.extra = {"number": last}
    raise stale


def _load_records(item: Item, annotator: Annotator) -> _VoteRecords:
    records = _VoteRecords()
    for current in sql.fetch(Answer, sql.ANSWERS, item=item.pk):
        records.last_position = current.position
        if current.active:  # type: ignore[attr-defined]
            records.answers.append(current)
    for lease in sql.fetch(Lease, sql.LEASES_OF_ITEM, item=item.pk, annotator=annotator.pk):
        if lease.annotator_id == annotator.pk:
            records.shown, records.was_leased = lease.shown_id, True
        if lease.ending in Lease.KEEPING:
            records.leases.append(lease)
    records.decisions = sql.fetch(Adjudication, sql.DECISIONS, item=item.pk)
    return records


def _update_answer(
    item: Item, participant: Participant, vote: Vote, payload: Payload | None, records: _VoteRecords
) -> None:
    """Store the current answer, also in `records`."""
    annotator, rules = participant.annotator, Rules(participant.project)
    own = next((entry for entry in records.answers if entry.annotator_id == annotator.pk), None)
    again = payload is not None and item_state.is_asked_again(item, payload, vote.guideline, rules)
    if payload is None:
        Answer.objects.filter(item=item, annotator=annotator).delete()
        records.answers = [entry for entry in records.answers if entry is not own]
    elif own:
        own.first_payload = own.first_payload or own.payload
        own.vote, own.payload, own.guideline = vote, payload, vote.guideline
        own.set_aside, own.again = own.set_aside or annotator.paused_at is not None, again
        own.save(update_fields=["vote", "payload", "first_payload", "set_aside", "again", "guideline"])
    else:
        (own,) = sql.fetch(
            Answer,
            sql.ADD_ANSWER,
            item=item.pk,
            annotator=annotator.pk,
            vote=vote.pk,
            payload=payload,
            first_rules="" if _answered_before(vote) else rules.key,
            position=records.last_position + 1,  # behind all others, running imports included
            set_aside=records.exclusion.excluded or annotator.paused_at is not None,
            aside=records.exclusion.oversight,
            guideline=vote.guideline,
            again=again,
        )
        records.answers.append(own)
    if payload is not None:
        records.given = own


def _has_place(participant: Participant, records: _VoteRecords) -> bool:
    """True if the person has an answer that is neither excluded nor asked again."""
    own = next((each for each in records.answers if each.annotator_id == participant.annotator.pk), None)
    if own is None or own.set_aside:
        return False
    return not Rules(participant.project).is_asked_again(own.payload, own.guideline)


def _update_leases(
    item: Item, participant: Participant, records: _VoteRecords, payload: Payload | None, *, keeps: bool
) -> None:
    """End the person's lease; `keeps` one of their place if they withdrew an answer, until another has it."""
    annotator, has_place = participant.annotator, _has_place(participant, records)
    left = [
        lease
        for lease in records.leases
        if lease.annotator_id != annotator.pk or (lease.ending and not has_place)
    ]
    if len(left) < len(records.leases):
        ending = Lease.Ending.SKIPPED if payload is None else Lease.Ending.ANSWERED
        where = {"item": item.pk, "annotator": annotator.pk, "counts": has_place}
        sql.execute(sql.END_LEASE, ending=ending, **where)
        records.leases = left
    if keeps and not has_place:
        records.leases.append(lease_endings.keep_place(item, annotator, shown=records.shown))


def _answered_before(vote: Vote) -> bool:
    """True if the person had answered the item before this vote."""
    if vote.number == 1:
        return False
    votes = Vote.objects.filter(item=vote.item_id, annotator=vote.annotator_id, number__lt=vote.number)
    return votes.filter(act=Vote.Act.ANSWER).exists()
