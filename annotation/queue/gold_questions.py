"""Items whose answer is known: the qualification round, hidden checks, and the pause of who fails them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from annotation.consensus import item_state
from annotation.consensus.label_mapping import Payload
from annotation.models import Annotator, Item, KnownAnswer, Lease, Mark, Oversight, Project, Vote
from annotation.queue.answer_validation import validate_answer
from annotation.queue.leases import return_all
from annotation.queue.participants import Participant
from annotation.roles import CURATOR, require
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed


@dataclass(frozen=True, slots=True)
class ChoiceFeedback:
    """One choice of the answer or of what is known: whether it was chosen, whether it is right."""

    choice: Any
    chosen: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Feedback:
    """What somebody in the qualification round learns of their answer. Nobody else learns it."""

    right: bool
    choices: list[ChoiceFeedback]
    explains: str
    done: int
    of: int
    passed: bool | None


def require_not_paused(sat: Participant) -> None:
    """Whoever is paused gets nothing new; what they hold or send late is kept."""
    if sat.annotator.paused_at is not None:
        raise NotAllowed(
            "paused",
            f"Your work in {sat.project} is paused. {sat.annotator.pause_reason}".strip(),
            hint="A curator of the project can let you go on.",
        )


def is_qualifying(sat: Participant) -> bool:
    """Whether the round stands before this person; curators know the answers."""
    return sat.project.qualifies and sat.role != CURATOR and sat.annotator.qualified_at is None


def must_qualify(project: Project, user: User, *, role: str) -> bool:
    """The same of somebody who may not have sat down yet; writes nothing."""
    if not project.qualifies or role == CURATOR:
        return False
    passed = Annotator.objects.filter(project=project, user=user, qualified_at__isnull=False)
    return not passed.exists()


def due_gold_question(sat: Participant) -> Item | None:
    """The known item that this person is to be given now."""
    if is_qualifying(sat):
        item = _untouched(sat, Item.Use.QUALIFY)
        if item is None and not Lease.objects.filter(annotator=sat.annotator, ending="").exists():
            _judge_round(sat.annotator, sat.project)
        return item
    every = sat.project.check_every
    if not every or sat.role == CURATOR or sat.annotator.since_check < every:
        return None
    return _untouched(sat, Item.Use.CHECK)


def _untouched(sat: Participant, use: str) -> Item | None:
    acts = Vote.objects.filter(item=OuterRef("pk"), annotator=sat.annotator)
    held = Lease.objects.filter(item=OuterRef("pk"), annotator=sat.annotator, ending="")
    items = sat.project.items.present().filter(use=use, known__isnull=False)
    return items.exclude(Exists(acts)).exclude(Exists(held)).order_by("rank").first()


def grade(item: Item, sat: Participant, *, said: Payload | None) -> Feedback | None:
    """Hold a first act on a known item against what is known; a skip is not right."""
    known = KnownAnswer.objects.get(pk=item.pk)
    mapping = item_state.Rules(sat.project).mapping
    given = None if said is None else choices_in(mapping.payload(said).payload)
    wanted = choices_in(mapping.payload(known.payload).payload)
    made = Mark.objects.get_or_create(
        item=item, annotator=sat.annotator, defaults={"right": given == wanted}
    )[1]
    if item.use == Item.Use.CHECK:
        if made:
            _judge_checks(sat.annotator, sat.project)
        return None
    passed = _judge_round(sat.annotator, sat.project) if made else _passed(sat.annotator)
    told = [
        ChoiceFeedback(choice, choice in (given or set()), choice in wanted)
        for choice in {*wanted, *(given or ())}
    ]
    own = Mark.objects.filter(annotator=sat.annotator, item__use=Item.Use.QUALIFY)
    return Feedback(
        given == wanted,
        sorted(told, key=lambda one: str(one.choice)),
        known.explains,
        own.count(),
        _round(sat.project),
        passed,
    )


def choices_in(payload: Payload) -> frozenset[Any]:
    """What an answer chose, each on its own and in no order."""
    spans = [tuple(span) for span in payload["spans"]]
    links = [
        name if isinstance(name, str) else (spans[name[0]], name[1], spans[name[2]])
        for name in payload["relations"]
    ]
    return frozenset([*spans, *links])


def _round(project: Project) -> int:
    return project.items.present().filter(use=Item.Use.QUALIFY, known__isnull=False).count()


def _passed(annotator: Annotator) -> bool | None:
    row = Annotator.objects.get(pk=annotator.pk)
    return None if not (row.qualified_at or row.paused_at) else row.qualified_at is not None


def _judge_round(annotator: Annotator, project: Project) -> bool | None:
    """True or False once every item of the round is answered, None before."""
    right = list(_marks(annotator, Item.Use.QUALIFY).values_list("right", flat=True))
    if len(right) < _round(project):
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
        _pause(annotator, "Too many known sentences were answered wrongly.")


def _marks(annotator: Annotator, use: str) -> Any:
    return Mark.objects.filter(annotator=annotator, item__use=use)


def _pause(annotator: Annotator, reason: str, *, by: User | None = None) -> None:
    Annotator.objects.filter(pk=annotator.pk).update(paused_at=Now(), pause_reason=reason[:200])
    Oversight.objects.create(annotator=annotator, act=Oversight.Act.PAUSE, reason=reason[:200], by=by)
    # after the commit: no transaction holds two items at once
    transaction.on_commit(lambda: return_all(annotator))


@transaction.atomic
def pause(annotator: Annotator, *, by: User, reason: str = "") -> None:
    """A curator stops somebody's work; what they hold goes back into the pool."""
    require(annotator.project, by, CURATOR)
    _pause(annotator, reason, by=by)


@transaction.atomic
def resume(annotator: Annotator, *, by: User, reason: str = "") -> None:
    """A curator lets somebody go on; known items count anew, and the round counts as passed."""
    require(annotator.project, by, CURATOR)
    rows = Annotator.objects.filter(pk=annotator.pk)
    rows.update(paused_at=None, pause_reason="", resumed_at=Now(), qualified_at=Now())
    Oversight.objects.create(annotator=annotator, act=Oversight.Act.RESUME, reason=reason[:200], by=by)


@transaction.atomic
def make_gold_question(
    item: Item, *, payload: dict[str, Any], use: str, explains: str = "", by: User
) -> KnownAnswer:
    """Turn an item nobody answered into one whose answer is known; it leaves the pool and the freeze."""
    project = Project.objects.get(pk=item.project_id)
    require(project, by, CURATOR)
    _check_use(use)
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if item.votes.exists() or item.leases.filter(ending="").exists():
        raise Conflict("already_answered", "Somebody answered this sentence or holds it now.")
    said = validate_answer(payload, item=item, project=project)
    item.use, item.free = use, 0
    item.save(update_fields=["use", "free"])
    made = {"payload": said, "explains": explains}
    return KnownAnswer.objects.update_or_create(item=item, defaults=made)[0]


@transaction.atomic
def make_ordinary_item(item: Item, *, by: User) -> Item:
    """Turn a known item that nobody answered back into work like any other."""
    require(item.project, by, CURATOR)
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if not item.use:
        raise Conflict("no_known_answer", "This sentence is work like any other.")
    if item.votes.exists() or item.leases.filter(ending="").exists():
        raise Conflict("already_answered", "Somebody answered this sentence or holds it now.")
    KnownAnswer.objects.filter(pk=item.pk).delete()
    item.use = Item.Use.WORK
    item.save(update_fields=["use"])
    return item_state.update_state(item)


def _check_use(use: str) -> None:
    if use not in (Item.Use.QUALIFY, Item.Use.CHECK):
        raise DomainError("unknown_use", f"{use!r} is neither qualify nor check.", field="use")


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
def set_quality_options(project: Project, *, by: User, **wanted: Any) -> Project:
    """Change how a project watches its annotators; `wanted` are fields of QUALITY."""
    require(project, by, CURATOR)
    _check_quality(project, wanted)
    Project.objects.filter(pk=project.pk).update(**wanted)
    project.refresh_from_db()
    if {"most_extra", "calls_extra"} & set(wanted):
        item_state.recompute_after_change(project)
    return project


def _check_quality(project: Project, wanted: dict[str, Any]) -> None:
    unknown: Iterable[str] = sorted(set(wanted) - set(QUALITY_OPTIONS))
    for name in unknown:
        raise DomainError("unknown_option", f"A project has no option {name}.", field=name)
    for name, (least, most) in OPTION_RANGES.items():
        if name in wanted and not least <= wanted[name] <= most:
            raise DomainError("bad_option", f"{name} is {least} to {most:,}, not {wanted[name]}.", field=name)
    if wanted.get("qualifies") and not _round(project):
        raise Conflict(
            "no_known_items",
            f"{project} has no sentences for a qualification round.",
            hint="Import some with their answers, as known: qualify.",
            field="qualifies",
        )
