"""Gold questions: qualification round, hidden checks, pauses after failed ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac

from annotation.consensus import item_state, recomputation
from annotation.consensus.rules import Rules
from annotation.models import (
    Annotator,
    Item,
    KnownAnswer,
    Lease,
    Mark,
    Oversight,
    Project,
    Vote,
)
from annotation.queue import sql
from annotation.queue.answer_validation import validate_answer
from annotation.queue.lease_endings import return_all
from annotation.queue.participants import Participant
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.formats.label_mapping import LabelMapping, Payload, empty_answer


@dataclass(frozen=True, slots=True)
class ChoiceFeedback:
    """One choice of the answer or of the known answer."""

    choice: Any
    chosen: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback on an answer in the qualification round; hidden checks give none."""

    right: bool
    choices: list[ChoiceFeedback]
    explains: str
    done: int
    of: int
    passed: bool | None


def require_not_paused(participant: Participant) -> None:
    """Reject new leases of paused people; their late answers are stored."""
    if participant.annotator.paused_at is not None:
        raise NotAllowed(
            "paused",
            f"Your work in {participant.project} is paused. {participant.annotator.pause_reason}".strip(),
            hint="A curator of the project can resume it.",
        )


def is_qualifying(participant: Participant) -> bool:
    """True before the person has passed the round; curators are exempt."""
    return (
        participant.project.qualifies
        and participant.role != CURATOR
        and participant.annotator.qualified_at is None
    )


def must_qualify(project: Project, user: User, *, role: str) -> bool:
    """True until the person has passed the qualification round."""
    if not project.qualifies or role == CURATOR:
        return False
    return not Annotator.objects.filter(project=project, user=user, qualified_at__isnull=False).exists()


def due_gold_question(participant: Participant) -> Item | None:
    """Return the gold question to lease now, if one is due."""
    annotator = participant.annotator
    if is_qualifying(participant):
        item = _next_gold_question(participant, Item.Use.QUALIFY)
        if item is None and not Lease.objects.filter(annotator=annotator, ending="").exists():
            _judge_round(annotator, participant.project)
        return item
    if not participant.project.check_every or participant.role == CURATOR:
        return None
    check = _next_gold_question(participant, Item.Use.CHECK)  # each time: the time of a reply tells nothing
    return None if items_before_check(participant) else check


def has_checks(project: Project) -> bool:
    """True if the project has hidden checks, on or off: answers to them are asked again."""
    return bool(sql.value(sql.HAS_CHECKS, project=project.pk))


def keeps_leases(project: Project) -> bool:
    """True if leased items stay with their person, whatever others do.

    Votes on them then take as long as on hidden checks.
    """
    return project.check_every > 0 or has_checks(project)


# ---- places of hidden checks ----------------------------------------------------------------------
# Items come in blocks of `check_every` ordinary ones and one check at a random place among them, so that
# neither a count nor the interval reveals which one it is.
def check_place(annotator: Annotator, block: int, every: int) -> int:
    """Return the place of the check in a block, 0 to `every`.

    Only the server can compute it.
    """
    key = f"{annotator.project_id}:{annotator.user_id}:{block}:{every}"
    digest = salted_hmac("place of a hidden check", key, algorithm="sha256")
    return int.from_bytes(digest.digest()[:8]) % (every + 1)


def items_before_check(participant: Participant) -> int:
    """Count the ordinary items that come before the next hidden check.

    0 if one is due.
    """
    annotator, every = participant.annotator, participant.project.check_every
    block, place = _position(annotator, every)
    wait = check_place(annotator, block, every) - place
    return wait if wait >= 0 else every + 1 - place + check_place(annotator, block + 1, every)


def count_items(participant: Participant, n: int) -> None:
    """Move the annotator's position on by n items."""
    every = participant.project.check_every
    if every:
        block, place = _position(participant.annotator, every)
        participant.annotator.check_block = block + (place + n) // (every + 1)
        participant.annotator.since_check = (place + n) % (every + 1)


def checks_among(annotator: Annotator, n: int, every: int) -> int:
    """Count the hidden checks that come with the next n ordinary items."""
    block, place = _position(annotator, every)
    wait = check_place(annotator, block, every) - place
    ordinary = every + 1 - place - (wait >= 0)  # left in this block
    checks = int(0 <= wait <= n)
    if n < ordinary:
        return checks
    blocks, left = divmod(n - ordinary, every)
    return checks + blocks + (check_place(annotator, block + blocks + 1, every) <= left)


def _position(annotator: Annotator, every: int) -> tuple[int, int]:
    """Return block and place.

    A shorter interval than before begins a new block.
    """
    if annotator.since_check > every:
        return annotator.check_block + 1, 0
    return annotator.check_block, annotator.since_check


def _next_gold_question(participant: Participant, use: str) -> Item | None:
    votes = Vote.objects.filter(item=OuterRef("pk"), annotator=participant.annotator)
    leases = Lease.objects.filter(item=OuterRef("pk"), annotator=participant.annotator)
    if use == Item.Use.QUALIFY:
        leases = leases.filter(ending="")
    items = participant.project.items.present().filter(use=use, known__isnull=False)
    return items.exclude(Exists(votes)).exclude(Exists(leases)).order_by("rank").first()


def grade(item: Item, participant: Participant, payload: Payload | None) -> Feedback | None:
    """Grade the first vote on a gold question; a skip is wrong.

    A hidden check that was put off is graded when it comes again, like any other sentence.
    """
    annotator, project = participant.annotator, participant.project
    known = KnownAnswer.objects.get(pk=item.pk)
    mapping = Rules(project).mapping
    chosen = None if payload is None else choices_in(mapping.payload(payload).payload)
    expected = choices_in(mapping.payload(known.payload).payload)
    right = payload is not None and is_right(payload, known.payload, mapping)
    created = Mark.objects.get_or_create(item=item, annotator=annotator, defaults={"right": right})[1]
    if item.use == Item.Use.CHECK:
        if created:
            _judge_checks(annotator, project)
        return None
    if created:
        passed = _judge_round(annotator, project)
    else:
        row = Annotator.objects.get(pk=annotator.pk)
        passed = row.qualified_at is not None if row.qualified_at or row.paused_at else None
    choices = [
        ChoiceFeedback(choice, choice in (chosen or ()), choice in expected)
        for choice in sorted({*expected, *(chosen or ())}, key=str)
    ]
    n_done = Mark.objects.filter(annotator=annotator, item__use=Item.Use.QUALIFY).count()
    return Feedback(right, choices, known.explains, n_done, _round_size(project), passed)


def rehearse_grade(item: Item, participant: Participant, payload: Payload | None, vote: Vote) -> None:
    """Take as long for a sentence as a hidden check takes to be graded, and store nothing.

    Otherwise a reply would come later for checks. The savepoint stands for that in which a check is decided,
    also when a sentence is put off: both are then written in it, and once more.
    """
    with transaction.atomic():
        if vote.reason == "later":
            item_state.rewrite(item)
        else:
            _rehearse_grade(item, participant, payload, vote)
        transaction.set_rollback(True)


def _rehearse_grade(item: Item, participant: Participant, payload: Payload | None, vote: Vote) -> None:
    annotator, project = participant.annotator, participant.project
    KnownAnswer.objects.filter(pk=item.pk).first()
    mapping = Rules(project).mapping
    none = empty_answer()
    for _ in ("chosen", "expected"):
        choices_in(mapping.payload(payload or none).payload)
    is_right(payload or none, none, mapping)
    earlier = Vote.objects.filter(item=item, annotator=annotator, number__lt=vote.number)
    if not earlier.exclude(reason="later").exists():
        with transaction.atomic():
            Mark.objects.create(item=item, annotator=annotator, right=True)
        list(_marks(annotator, Item.Use.CHECK).values_list("right", flat=True))


def is_right(payload: Payload, known: Payload, mapping: LabelMapping) -> bool:
    """True if the choices are those of the known answer; for a label that was split, any of its parts."""
    chosen, expected = (_current_choices(each, mapping) for each in (payload, known))
    pairs = ((chosen, expected), (expected, chosen))
    return all(any(options & other for other in others) for one, others in pairs for options in one)


def _current_choices(payload: Payload, mapping: LabelMapping) -> list[frozenset[Any]]:
    """Return what each choice may mean in current labels; deleted ones are left out."""

    def current(choice: Any) -> frozenset[Any]:
        if isinstance(choice, str):
            return frozenset(mapping.inventory([choice]))
        if isinstance(choice[0], tuple):
            return frozenset(product(*map(current, choice)))
        start, end, label = choice
        return frozenset((start, end, name) for name in current(label))

    return [options for choice in choices_in(payload) if (options := current(choice))]


def choices_in(payload: Payload) -> frozenset[Any]:
    """Return the set of an answer's choices; links name their spans."""
    spans = [tuple(span) for span in payload["spans"]]
    links = [
        name if isinstance(name, str) else (spans[name[0]], name[1], spans[name[2]])
        for name in payload["relations"]
    ]
    return frozenset([*spans, *links])


def _round_size(project: Project) -> int:
    return project.items.present().filter(use=Item.Use.QUALIFY, known__isnull=False).count()


def _judge_round(annotator: Annotator, project: Project) -> bool | None:
    """Return the result of the qualification round, None before its end."""
    right = list(_marks(annotator, Item.Use.QUALIFY).values_list("right", flat=True))
    if len(right) < _round_size(project):
        return None
    if 100 * sum(right) >= project.pass_percent * len(right):
        Annotator.objects.filter(pk=annotator.pk).update(qualified_at=Now())
        return True
    _pause(annotator, f"{sum(right)} of {len(right)} qualification sentences were right.")
    return False


def _judge_checks(annotator: Annotator, project: Project) -> None:
    marks = _marks(annotator, Item.Use.CHECK)
    if annotator.resumed_at is not None:
        marks = marks.filter(at__gt=annotator.resumed_at)
    right = list(marks.values_list("right", flat=True))
    enough = len(right) >= project.least_checks
    if enough and 100 * sum(right) < project.pass_percent * len(right):
        _pause(annotator, "Too many gold questions were answered wrongly.")


def _marks(annotator: Annotator, use: str) -> QuerySet[Mark]:
    return Mark.objects.filter(annotator=annotator, item__use=use)


# ---- pauses ---------------------------------------------------------------------------------------
def _pause(annotator: Annotator, reason: str, *, by: User | None = None) -> None:
    Annotator.objects.filter(pk=annotator.pk).update(paused_at=Now(), pause_reason=reason[:200])
    Oversight.objects.create(annotator=annotator, act=Oversight.Act.PAUSE, reason=reason[:200], by=by)
    after = {"work": "paused", "reason": reason[:200]}
    record(annotator.project, "pause", by=by, about=annotator.name, before={"work": "active"}, after=after)
    # after the commit: no transaction locks two items at once
    transaction.on_commit(lambda: return_all(annotator))


@transaction.atomic
def pause(annotator: Annotator, *, by: User, reason: str = "") -> None:
    """Pause a person's work; their leases are returned."""
    require_to_change(annotator.project, by, CURATOR)
    _pause(annotator, reason, by=by)


@transaction.atomic
def resume(annotator: Annotator, *, by: User, reason: str = "") -> None:
    """Resume a person's work and restart the count of checks."""
    require_to_change(annotator.project, by, CURATOR)
    rows = Annotator.objects.filter(pk=annotator.pk)
    rows.update(paused_at=None, pause_reason="", resumed_at=Now(), qualified_at=Now())
    Oversight.objects.create(annotator=annotator, act=Oversight.Act.RESUME, reason=reason[:200], by=by)
    after = {"work": "active", "reason": reason[:200]}
    record(
        annotator.project, "resumption", by=by, about=annotator.name, before={"work": "paused"}, after=after
    )


# ---- set-up ---------------------------------------------------------------------------------------
GOLD_LOGGED = "gold questions"


@transaction.atomic
def make_gold_question(
    item: Item, *, payload: dict[str, Any], use: str, explains: str = "", by: User
) -> KnownAnswer:
    """Make an item without votes a gold question, and log it."""
    before = item.use or "work"
    made = store_gold_question(item, payload=payload, use=use, explains=explains, by=by)
    after = {"use": use, "answer": made.payload}
    record(item.project, GOLD_LOGGED, by=by, about=item.external_id, before={"use": before}, after=after)
    return made


@transaction.atomic
def store_gold_question(
    item: Item, *, payload: dict[str, Any], use: str, explains: str = "", by: User
) -> KnownAnswer:
    """Make an item without votes a gold question; the caller logs it."""
    project = Project.objects.get(pk=item.project_id)
    require_to_change(project, by, CURATOR)
    if use not in (Item.Use.QUALIFY, Item.Use.CHECK):
        raise DomainError("unknown_use", f"Unknown use {use!r}.", hint="Use qualify or check.", field="use")
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    _require_unused(item)
    answer = validate_answer(payload, item=item, project=project)
    item.use, item.free = use, 0
    item.save(update_fields=["use", "free"])
    values = {"payload": answer, "explains": explains}
    return KnownAnswer.objects.update_or_create(item=item, defaults=values)[0]


@transaction.atomic
def make_ordinary_item(item: Item, *, by: User) -> Item:
    """Make a gold question without votes an ordinary item."""
    require_to_change(item.project, by, CURATOR)
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if item.use not in (Item.Use.QUALIFY, Item.Use.CHECK):
        raise Conflict("no_known_answer", "This sentence is not a gold question.")
    _require_unused(item)
    known = KnownAnswer.objects.filter(pk=item.pk)
    before = {"use": item.use, "answer": known.values_list("payload", flat=True).first()}
    record(item.project, GOLD_LOGGED, by=by, about=item.external_id, before=before, after={"use": "work"})
    known.delete()
    item.use = Item.Use.WORK
    item.save(update_fields=["use"])
    return item_state.update_state(item)


def _require_unused(item: Item) -> None:
    if item.votes.exists() or item.leases.filter(ending="").exists():
        raise Conflict("already_answered", "This sentence was already answered or is reserved for somebody.")


QUALITY_OPTIONS = (
    "qualifies",
    "check_every",
    "least_checks",
    "pass_percent",
    "most_extra",
    "calls_extra",
    "suggests",
)
OPTION_RANGES = {
    "check_every": (0, 1_000),
    "least_checks": (1, 1_000),
    "pass_percent": (0, 100),
    "most_extra": (0, 20),
}


@transaction.atomic
def set_quality_options(project: Project, *, by: User, **values: Any) -> Project:
    """Change options named in `QUALITY_OPTIONS`."""
    require_to_change(project, by, CURATOR)
    _validate_options(project, values)
    before = {name: getattr(project, name) for name in values}
    record(project, "quality settings", by=by, before=before, after=values)
    Project.objects.filter(pk=project.pk).update(**values)
    if "check_every" in values:  # what a person held once may come again, or no more
        Annotator.objects.filter(project=project).update(searched_at=None, round_since=None)
    project.refresh_from_db()
    if {"most_extra", "calls_extra"} & set(values):
        recomputation.recompute_after_change(project)
    return project


def _validate_options(project: Project, values: dict[str, Any]) -> None:
    for name in sorted(set(values) - set(QUALITY_OPTIONS)):
        hint = f"Use: {', '.join(QUALITY_OPTIONS)}."
        raise DomainError("unknown_option", f"Unknown option {name}.", hint=hint, field=name)
    for name, (least, most) in OPTION_RANGES.items():
        if name in values and not least <= values[name] <= most:
            raise DomainError(
                "bad_option", f"{name} must be {least} to {most:,}, got {values[name]}.", field=name
            )
    if values.get("qualifies") and not _round_size(project):
        raise Conflict(
            "no_known_items",
            f"{project} has no sentences for a qualification round.",
            hint="Import some with the option `known: qualify`.",
            field="qualifies",
        )
