"""Answers and skips: an append-only log, a client-made id on every line; the current answer is derived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import BooleanField, ExpressionWrapper, F, Max, OuterRef, Q, Subquery, UUIDField
from django.http import Http404

from annotation.consensus import item_state
from annotation.consensus.label_mapping import Payload
from annotation.models import Annotator, Answer, Batch, Item, Lease, Project, Vote
from annotation.models.voting import ACTIVE_ANSWERS
from annotation.queue import exclusions, gold_questions
from annotation.queue.answer_validation import validate_answer
from annotation.queue.gold_questions import Feedback
from annotation.queue.participants import Participant, key, participant_of, require_open, sitting
from annotation.roles import require
from evalsvc.core.accounts.models import User
from evalsvc.core.db.prepared_queries import Given, Prepared, PreparedInsert, PreparedUpdate, columns
from evalsvc.core.errors.exceptions import Conflict, DomainError

SKIP_REASONS = {
    "broken": "The sentence is broken",
    "entity": "An entity is marked wrongly",
    "undecided": "Can’t decide",
    "later": "Later",
}


@dataclass(frozen=True, slots=True)
class VoteResult:
    """What became of an act: `surplus` is kept but not counted, `repeated` was written before."""

    vote: Vote
    surplus: bool = False
    repeated: bool = False
    feedback: Feedback | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One of a person's own last items, to be opened again; `base` is the number to answer upon."""

    item: Item
    vote: Vote
    base: int


@dataclass(frozen=True, slots=True)
class Act:
    """What a client sends besides the answer itself."""

    client_id: UUID
    base: int = 0
    comment: str = ""
    flagged: bool = False
    milliseconds: int | None = None
    handed: bool = False


def answer(
    item: Item | UUID,
    user: User,
    *,
    client_id: UUID,
    payload: dict[str, Any],
    base: int = 0,
    comment: str = "",
    flagged: bool = False,
    milliseconds: int | None = None,
    handed: bool = False,
) -> VoteResult:
    """Write an answer. It is the current one until the same person answers the item again.

    With `handed` only what was handed out to the person, however long ago, may be answered.
    """
    act = Act(client_id, base, comment, flagged, milliseconds, handed)
    return _write(item, user, act, kind=Vote.Act.ANSWER, payload=payload)


def skip(
    item: Item | UUID,
    user: User,
    *,
    client_id: UUID,
    reason: str,
    base: int = 0,
    comment: str = "",
    flagged: bool = False,
    milliseconds: int | None = None,
    handed: bool = False,
) -> VoteResult:
    """Pass an item on to somebody else. A skip is no vote; it takes a former answer back."""
    if reason not in SKIP_REASONS:
        reasons = ", ".join(SKIP_REASONS)
        raise DomainError("unknown_reason", f"{reason!r} is no reason: {reasons}.", field="reason")
    act = Act(client_id, base, comment, flagged, milliseconds, handed)
    return _write(item, user, act, kind=Vote.Act.SKIP, reason=reason)


# ---- what every act reads and writes, composed once ----------------------------------------------
_OWN = Vote.objects.filter(annotator=OuterRef("pk"))
_ITEM = Prepared(
    lambda: (
        Item.objects.annotate(came=F("batch__state"))
        .select_for_update(of=("self",), no_key=True)
        .filter(key=Given("key", UUIDField()))[:1]
    )
)
_ACTING = Prepared(
    lambda: sitting(
        last=Subquery(_OWN.filter(item=key("item")).order_by("-number").values("number")[:1]),
        before=Subquery(_OWN.filter(client_id=Given("client_id", UUIDField())).values("pk")[:1]),
    ),
    shared=Project,  # a label is taken away only when nobody is just choosing it
)
_ANSWERS = Prepared(
    lambda: Answer.objects.filter(item=key("item")).annotate(
        stands=ExpressionWrapper(ACTIVE_ANSWERS, output_field=BooleanField())
    )
)
_LEASES = Prepared(
    lambda: Lease.objects.filter(Q(ending="") | Q(annotator=key("annotator")), item=key("item")).order_by(
        "pk"
    )
)
_LOG = PreparedInsert(
    Vote,
    returning=("at",),
    **columns(Vote, "item_id", "annotator_id", "client_id", "number", "act", "payload", "reason"),
    **columns(Vote, "comment", "flagged", "milliseconds", "aside", "batch_id", "shown_id"),
)
_DERIVE = PreparedInsert(
    Answer,
    **columns(Answer, "item_id", "annotator_id", "vote_id", "payload", "position", "set_aside", "aside_id"),
)
_END = PreparedUpdate(
    lambda: Lease.objects.filter(item=key("item"), annotator=key("annotator"), ending=""),
    **columns(Lease, "ending"),
)


@transaction.atomic
def _write(
    given: Item | UUID,
    user: User,
    act: Act,
    *,
    kind: str,
    payload: dict[str, Any] | None = None,
    reason: str = "",
) -> VoteResult:
    # under this lock nothing about the item changes; the order is always item, then what hangs on it
    item = _locked(given.key if isinstance(given, Item) else given)
    sat = _seat(item, user, act)
    if sat.annotator.before:  # type: ignore[attr-defined]
        return _again(item, sat, act, payload)
    require_open(sat.project)
    _require_live(item)
    said = validate_answer(payload, item=item, project=sat.project) if payload is not None else None
    number = _next_number(sat.annotator.last or 0, act.base)  # type: ignore[attr-defined]
    around = _around(item, sat.annotator)
    if number > 1:
        around.kept = exclusions.inherited_exclusion(item, sat.annotator, around.answers)
    if act.handed and number == 1 and not around.handed:
        raise Conflict(
            "not_handed_out",
            "This sentence was not handed out to you.",
            hint="Ask for the next one: the server picks it.",
        )
    vote = _LOG(
        item_id=item.pk,
        annotator_id=sat.annotator.pk,
        client_id=act.client_id,
        number=number,
        act=kind,
        payload=said,
        reason=reason,
        comment=act.comment,
        flagged=act.flagged,
        milliseconds=act.milliseconds,
        aside=around.kept.aside and around.kept.among is None,
        batch_id=None,
        shown_id=around.shown,
    )
    _derive(item, sat.annotator, vote, said, around)
    if item.use:
        return VoteResult(vote, feedback=gold_questions.grade(item, sat, said=said) if number == 1 else None)
    rules = item_state.Rules(sat.project)
    item_state.update_state(item, rules=rules, around=around)
    return VoteResult(vote, surplus=_is_surplus(item, sat, rules, around.answers))


def _locked(name: UUID) -> Item:
    item = _ITEM.first(key=name)
    if item is None:
        raise Http404
    return item


def _seat(item: Item, user: User, act: Act) -> Participant:
    """Who acts, and what of theirs the log already has; the project as it is now that the item is held."""
    return participant_of(item.project_id, user, by=_ACTING, item=item.pk, client_id=act.client_id)


def _require_live(item: Item) -> None:
    if item.came != Batch.State.DONE:  # type: ignore[attr-defined]
        raise Conflict("import_not_done", "The import that brings this sentence is not done.")


def _again(item: Item, sat: Participant, act: Act, payload: dict[str, Any] | None) -> VoteResult:
    vote = Vote.objects.get(annotator=sat.annotator, client_id=act.client_id)
    if vote.item_id != item.pk:
        raise Conflict("client_id_reused", "This client_id was used for another sentence.", field="client_id")
    if _differs(payload, vote.payload):
        raise Conflict(
            "client_id_reused",
            "This client_id was used for another answer to this sentence, and that one stands.",
            hint="Send a changed answer under a client_id of its own, upon the number of the last act.",
            field="client_id",
        )
    if item.use:
        shown = gold_questions.grade(item, sat, said=vote.payload) if vote.number == 1 else None
        return VoteResult(vote, repeated=True, feedback=shown)
    answers = list(Answer.objects.filter(item=item).active())
    surplus = _is_surplus(item, sat, item_state.Rules(sat.project), answers)
    return VoteResult(vote, surplus=surplus, repeated=True)


def _differs(payload: Any, kept: Payload | None) -> bool:
    """Whether two answers name different labels or spans; what was sent is not checked yet."""
    if kept is None or not isinstance(payload, dict):
        return False
    spans, relations = (_named(payload.get(part)) for part in ("spans", "relations"))
    return spans != _named(kept["spans"]) or relations != _named(kept["relations"])


def _named(part: Any) -> set[str]:
    """Links go by the number of their spans, which may be sent in another order: they are left out."""
    entries = part if isinstance(part, list) else []
    return {repr(entry) for entry in entries if not _is_link(entry)}


def _is_link(entry: Any) -> bool:
    return isinstance(entry, list) and len(entry) == 3 and isinstance(entry[1], str)


_LAST = Prepared(
    lambda: Vote.objects.filter(item=key("item"), annotator=key("annotator")).order_by("-number")[:1]
)


def last_vote_number(lease: Lease) -> int:
    """Number of the holder's last act on the item; 0 for none."""
    last = _LAST.first(item=lease.item_id, annotator=lease.annotator_id)
    return last.number if last else 0


def _next_number(last: int, base: int) -> int:
    if base == last:
        return last + 1
    stale = Conflict(
        "answered_elsewhere",
        "You answered this sentence in another tab or on another device since you opened it here.",
        hint=f"Open it again and decide which answer stands; your last act there is number {last}.",
    )
    stale.extra = {"number": last}
    raise stale


class _Around(item_state.ItemRecords):
    """The rows that hang on the item, the last place taken, and the prediction file that was on show."""

    last: int = 0
    kept: exclusions.Exclusion = exclusions.COUNTS
    shown: int | None = None
    handed: bool = False


def _around(item: Item, annotator: Annotator) -> _Around:
    """Everything that hangs on the item, read once."""
    around = _Around()
    for answer in _ANSWERS.all(item=item.pk):
        around.last = answer.position
        if answer.stands:  # type: ignore[attr-defined]
            around.answers.append(answer)
    for lease in _LEASES.all(item=item.pk, annotator=annotator.pk):
        if lease.annotator_id == annotator.pk:
            around.shown, around.handed = lease.shown_id, True
        if not lease.ending:
            around.leases.append(lease)
    if item.state in Item.DECIDED:
        around.decision = item.adjudications.filter(reopened_at=None).first()
    return around


def _derive(item: Item, annotator: Annotator, vote: Vote, said: Payload | None, around: _Around) -> None:
    """Keep the current answer, end the lease that led to it, and both in `around` too."""
    own = [answer for answer in around.answers if answer.annotator_id == annotator.pk]
    if said is None:
        Answer.objects.filter(item=item, annotator=annotator).delete()
        around.answers = [answer for answer in around.answers if answer not in own]
    elif own:
        own[0].vote, own[0].payload = vote, said
        own[0].set_aside = own[0].set_aside or annotator.paused_at is not None
        own[0].save(update_fields=["vote", "payload", "set_aside"])
    else:
        around.answers.append(_new_answer(item, annotator, vote, said, around))
    ending = Lease.Ending.SKIPPED if said is None else Lease.Ending.ANSWERED
    others = [lease for lease in around.leases if lease.annotator_id != annotator.pk]
    if len(others) < len(around.leases):
        _END(item=item.pk, annotator=annotator.pk, ending=ending)
        around.leases = others


def _new_answer(item: Item, annotator: Annotator, vote: Vote, said: Payload, around: _Around) -> Answer:
    """Behind all others, those of imports under way included; what a paused person sends is set aside."""
    return _DERIVE(
        item_id=item.pk,
        annotator_id=annotator.pk,
        vote_id=vote.pk,
        payload=said,
        position=around.last + 1,
        set_aside=around.kept.aside or annotator.paused_at is not None,
        aside_id=around.kept.among,
    )


def _is_surplus(item: Item, sat: Participant, rules: item_state.Rules, answers: list[Answer]) -> bool:
    """Whether the person's answer stands behind those that count."""
    counted = {
        entry.annotator_id
        for entry in item_state.counted_answers(answers, k=item_state.answers_needed(item, rules))
    }
    return sat.annotator.pk in {entry.annotator_id for entry in answers} - counted


def history(project: Project, user: User, n: int = 10) -> list[HistoryEntry]:
    """The person's own last items, latest first."""
    require(project, user)
    acts = Vote.objects.filter(item__project=project, annotator__user=user, batch=None)
    latest = acts.values("item").annotate(last=Max("pk")).order_by("-last").values_list("last", flat=True)[:n]
    votes = Vote.objects.select_related("item").filter(pk__in=list(latest)).order_by("-pk")
    return [HistoryEntry(vote.item, vote, vote.number) for vote in votes]
