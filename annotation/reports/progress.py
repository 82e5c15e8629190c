"""A person's progress and own work; the answers a project needs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Any

from django.db.models import Count, DateField, Exists, F, Func, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Now, TruncDay

from annotation.adjudication import unanswerable_items
from annotation.consensus.pending_recomputation import is_recomputing
from annotation.models import Annotator, Answer, Item, ItemCount, Lease, Member, Project, Vote
from annotation.queue import gold_questions, own_votes, sql
from annotation.queue.available_items import asked_again, deferred_items, returned_items
from annotation.roles import CURATOR, MAY_LABEL, require
from evalsvc.core.accounts.models import User

RECENT_ANSWERS = 50
COUNT_HOLDS = timedelta(hours=1)
NO_WORK: dict[str, Any] = {"answered": 0, "skipped": 0, "today": 0, "median_seconds": None}


class UtcDay(Func):
    """The day of a time; on SQLite `TruncDate` calls Python for each row."""

    output_field = DateField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="SUBSTR(%(expressions)s, 1, 10)", **more)

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        template = "(%(expressions)s AT TIME ZONE 'UTC')::date"
        return self.as_sql(compiler, connection, template=template, **more)


@dataclass(frozen=True, slots=True)
class WorkDay:
    """Answers and skips of one day (UTC)."""

    day: date
    answers: int
    skips: int
    annotators: int


@dataclass(frozen=True, slots=True)
class OwnAnswerTimes:
    """Median seconds of the last 50 answers and the 50 before."""

    recent: float | None
    earlier: float | None


def progress_of(project: Project, user: User) -> dict[str, Any]:
    """Count answered, skipped and available items, each once, and their sum.

    Nothing here follows from other people's answers: annotators could read them from a count that does.
    """
    role = require(project, user)
    annotator = Annotator.objects.filter(project=project, user=user).first()
    deferred = _deferred(project, annotator) if annotator else 0
    work = _own_work(annotator, deferred) if annotator else NO_WORK
    recomputing = is_recomputing(project)
    waiting = _available_items(project, user, annotator, deferred, role=role, recomputing=recomputing)
    # not the size of the project: its difference to the other counts would be the number of hidden checks
    total = work["answered"] + work["skipped"] + waiting
    return {"total": total, "waiting": waiting, "recomputing": recomputing, **work}


def _own_work(annotator: Annotator, deferred: int) -> dict[str, Any]:
    times = _answer_seconds(Vote.objects.filter(annotator=annotator, batch=None), RECENT_ANSWERS)
    answers = Answer.objects.filter(annotator=annotator)
    return {
        "answered": answers.count(),
        "skipped": _skipped(annotator) - deferred,
        "today": answers.filter(vote__annotator=annotator, vote__at__gte=TruncDay(Now())).count(),
        "median_seconds": round(median(times), 1) if times else None,
    }


def available_items(project: Project, user: User, *, role: str) -> int:
    """Count a person's leased and still available items, as their progress does."""
    annotator = Annotator.objects.filter(project=project, user=user).first()
    deferred = _deferred(project, annotator) if annotator else 0
    recomputing = is_recomputing(project)
    return _available_items(project, user, annotator, deferred, role=role, recomputing=recomputing)


def _available_items(
    project: Project,
    user: User,
    annotator: Annotator | None,
    deferred: int,
    *,
    role: str,
    recomputing: bool,
) -> int:
    """Count a person's leased and still available items, gold questions included.

    The count must not reveal hidden checks. The next check is counted in advance, so that leasing
    it changes the count like leasing any other item.
    """
    paused = annotator is not None and annotator.paused_at is not None
    if role not in MAY_LABEL or project.state != Project.State.OPEN or paused:
        return 0
    leased = again = 0
    if annotator:
        leased = _leases(annotator).count()
    if recomputing:  # nothing else comes, and what comes then follows from others' answers
        return leased
    if annotator:
        again = _returned(project, annotator) + deferred
        again += asked_again(project, annotator).order_by().values("pk").count()
    new = _unleased_work(project, annotator)
    qualifying = gold_questions.must_qualify(project, user, role=role)
    questions = _gold_questions(project, annotator, Item.Use.QUALIFY) if qualifying else 0
    if role != CURATOR and gold_questions.keeps_leases(project):
        if project.check_every:
            left = _gold_questions(project, annotator, Item.Use.CHECK)  # hidden checks still to come
            position = annotator or Annotator(project=project, user=user)
            new += min(left, gold_questions.checks_among(position, new, project.check_every))
        new = _expected_items(project, user, annotator, new)
    return leased + again + questions + new


def _expected_items(project: Project, user: User, annotator: Annotator | None, new: int) -> int:
    """Return the new items of an earlier count, up to an hour ago, less those that the person got since.

    Others take and free sentences, but no hidden checks: whoever watched the count follow each of their
    leases would know the checks. That nothing is left shows at once, as no lease is given.
    """
    had = _had(annotator) if annotator else 0
    member = Member.objects.filter(project=project, user=user)
    outdated = Q(expected_at=None) | Q(expected_at__lte=Now() - COUNT_HOLDS) | Q(expected_items__lte=had)
    if not new:
        if member.exclude(expected_at=None).exists():
            member.update(expected_at=None)
        return 0
    if member.filter(outdated).exists():  # on SQLite an update that changes nothing waits for others, too
        member.filter(outdated).update(expected_items=had + new, expected_at=Now())
    expected = member.values_list("expected_items", flat=True).first()
    return expected - had if expected else new


def answers_needed(project: Project) -> int:
    """Count the answers a project still needs, including those now being given.

    Unanswerable items need none: adjudicators decide them.
    """
    live = ItemCount.objects.live(project).filter(state=Item.State.OPEN)
    free = live.aggregate(n=Sum(F("free") * F("n")))["n"] or 0
    given_up = unanswerable_items.unanswerable(project).order_by().aggregate(n=Sum("free"))["n"] or 0
    leases = Lease.objects.keeping().filter(annotator__project=project, item__use="")
    leased = leases.filter(item__state=Item.State.OPEN).order_by().values("item", "annotator").distinct()
    return int(free - given_up) + leased.count()


def work_days(of: QuerySet[Vote], *, days: int) -> list[WorkDay]:
    """Return the last days with votes, oldest first."""
    rows = (
        of.annotate(day=UtcDay("at"))
        .values("day")
        .annotate(
            answers=Count("pk", filter=Q(act=Vote.Act.ANSWER)),
            skips=Count("pk", filter=Q(act=Vote.Act.SKIP)),
            annotators=Count("annotator", distinct=True),
        )
        .order_by("-day")[:days]
    )
    return [WorkDay(**row) for row in reversed(rows)]


def own_days(project: Project, user: User) -> list[WorkDay]:
    """Return a person's last days with votes, oldest first."""
    return work_days(_own_votes(project, user), days=90)


def own_times(project: Project, user: User) -> OwnAnswerTimes:
    """Return a person's recent and earlier median answer times."""
    times = _answer_seconds(_own_votes(project, user), 2 * RECENT_ANSWERS)
    recent, earlier = times[:RECENT_ANSWERS], times[RECENT_ANSWERS:]
    return OwnAnswerTimes(median(recent) if recent else None, median(earlier) if earlier else None)


def _answer_seconds(of: QuerySet[Vote], n: int) -> list[float]:
    """Return the times of the last n answers with one, the latest first."""
    timed = of.filter(act=Vote.Act.ANSWER, milliseconds__isnull=False).order_by("-pk")
    latest = timed.values_list("milliseconds", flat=True)[:n]
    return [milliseconds / 1_000 for milliseconds in latest if milliseconds is not None]


def own_history(project: Project, user: User) -> QuerySet[Vote]:
    """Return a person's last vote on each item, latest first."""
    require(project, user, *MAY_LABEL)
    return own_votes.last_votes(project, user)


def own_items(project: Project, user: User) -> int:
    """Count the items a person voted on."""
    items = _own_votes(project, user).order_by().values("item").distinct()
    return items.count()


def _own_votes(project: Project, user: User) -> QuerySet[Vote]:
    require(project, user, *MAY_LABEL)
    return Vote.objects.filter(annotator__project=project, annotator__user=user, batch=None)


def _unleased_work(project: Project, annotator: Annotator | None) -> int:
    """Count the available items new to the person, without gold questions.

    That is all items with room, less those the person voted on or has leased. Each
    term is as long as the person's own work or comes from one index. Checking every item of the project
    for a vote of the person takes a second per few hundred thousand.
    """
    total = ItemCount.objects.live(project).filter(free__gt=0).total()
    if annotator is None:
        return total
    voted = sql.value(sql.VOTED_ITEMS_WITH_ROOM, project=project.pk, annotator=annotator.pk)
    # counted apart from voted items: in one query PostgreSQL would read all votes again for each item
    own = Vote.objects.filter(item=OuterRef("item"), annotator=annotator)
    kept = gold_questions.keeps_leases(project)
    leases = Lease.objects.filter(annotator=annotator) if kept else _leases(annotator)
    with_room = Item.objects.filter(project=project, free__gt=0).live()
    leased = with_room.filter(pk__in=leases.exclude(Exists(own)).values("item")).count()
    return total - int(voted) - leased


def _returned(project: Project, annotator: Annotator) -> int:
    """Count the items a person returned; without hidden checks there are none."""
    if not gold_questions.keeps_leases(project):
        return 0
    return returned_items(project, annotator).order_by().values("pk").count()


def _deferred(project: Project, annotator: Annotator) -> int:
    return deferred_items(project, annotator).order_by().values("pk").count()


def _gold_questions(project: Project, annotator: Annotator | None, use: str) -> int:
    """Count the gold questions a person neither voted on nor leased."""
    items = project.items.present().filter(use=use, known__isnull=False)
    if annotator is None:
        return items.count()
    votes = Vote.objects.filter(item=OuterRef("pk"), annotator=annotator)
    own = Lease.objects.filter(annotator=annotator) if use == Item.Use.CHECK else _leases(annotator)
    leases = own.filter(item=OuterRef("pk"))
    return items.exclude(Exists(votes)).exclude(Exists(leases)).count()


def _had(annotator: Annotator) -> int:
    """Count the items that a person ever had, without those of the qualification round."""
    leases, votes = Lease.objects.filter(annotator=annotator), Vote.objects.filter(annotator=annotator)
    voted = votes.order_by().values("item").distinct().count()
    others = leases.exclude(ending__in=(Lease.Ending.ANSWERED, Lease.Ending.SKIPPED))  # those have a vote
    others = others.exclude(Exists(votes.filter(item=OuterRef("item"))))
    unvoted = others.order_by().values("item").distinct().count()
    questions = Item.objects.filter(project=annotator.project_id, use=Item.Use.QUALIFY)
    own = Exists(leases.filter(item=OuterRef("pk"))) | Exists(votes.filter(item=OuterRef("pk")))
    return voted + unvoted - questions.filter(own).count()


def _leases(annotator: Annotator) -> QuerySet[Lease]:
    return Lease.objects.filter(annotator=annotator, ending="")


def _skipped(annotator: Annotator) -> int:
    """Count the items a person skipped, for good or until later, and has not leased again."""
    own = Vote.objects.filter(annotator=annotator)
    later = own.filter(item=OuterRef("item"), number__gt=OuterRef("number"))
    skipped = own.filter(act=Vote.Act.SKIP).exclude(Exists(later))
    return skipped.exclude(item__in=_leases(annotator).values("item")).count()
