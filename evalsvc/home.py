"""Home page with a user's tasks, context of every page, health check."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, OuterRef, Q, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse

from annotation.adjudication import dispute_list
from annotation.models import Batch, Item, ItemCount, Member, Project
from annotation.reports.progress import available_items
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks.events import events_of
from evalsvc.evaluation.models import Benchmark, Entrant, Submission
from evalsvc.evaluation.pages import run_list
from evalsvc.evaluation.pages.boards import may_organise
from evalsvc.evaluation.pages.overviews import overviews

LISTED, TASKS, NEWS = 10, 5, 6  # benchmarks, projects with work of a kind, events
LABELLED, DECIDED = 20, 10  # projects that are asked for such work, of which some may have none


@dataclass(frozen=True)
class HomeTask:
    """A task on the home page with its link."""

    title: str
    detail: str
    action: str
    address: str
    submission: Submission | None = None


@dataclass(frozen=True)
class FirstStep:
    title: str
    detail: str
    address: str = ""


@dataclass(frozen=True)
class FirstSteps:
    title: str
    steps: list[FirstStep]


def page_context(request: HttpRequest) -> dict[str, Any]:
    """Values that base.html shows on every page."""
    return {"service_version": settings.VERSION}


def home(request: HttpRequest) -> HttpResponse:
    person = request.user if isinstance(request.user, User) else None
    visible = list(roles.visible(request.user).order_by("title", "pk"))
    boards = overviews(visible[:LISTED])
    left = items_left(person) if person else []
    todo = tasks(person, left) if person else []
    test_sets = TestSet.objects.visible_to(person).order_by("-pk") if person else TestSet.objects.none()
    is_empty = not (boards or todo or test_sets.exists())
    context = {
        "boards": boards,
        "more_boards": len(visible) if len(boards) == LISTED else 0,
        "news": events_of(visible)[:NEWS],
        "todo": todo,
        "test_sets": test_sets[:6],
        "may_organise": may_organise(request),
        "steps": first_steps(person) if is_empty else None,
        "label_now": left[0][0] if left else None,
        "submit_to": boards[0].benchmark if boards and person and person.memberships.exists() else None,
    }
    return render(request, "home.html", context)


def health(request: HttpRequest) -> JsonResponse:
    """Respond with 200 if the database does."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return JsonResponse({"status": "ok", "version": settings.VERSION})


def items_left(person: User) -> list[tuple[Project, int]]:
    """Open projects of an annotator, with the number of available items.

    A project is listed by what is left to the person alone: whether others leave room would name the
    hidden checks, and how others answered.
    """
    mine = Project.objects.filter(members__user=person, members__role=Member.Role.ANNOTATOR)
    projects = mine.filter(state=Project.State.OPEN).order_by("-created_at", "pk")[:LABELLED]
    left = ((each, available_items(each, person, role=Member.Role.ANNOTATOR)) for each in projects)
    return list(islice(((project, n) for project, n in left if n), TASKS))


def _items(**values: Any) -> Subquery:
    """Number of a project's items with these values."""
    counts = ItemCount.objects.filter(
        batch__project=OuterRef("pk"), batch__state=Batch.State.DONE, use="", **values
    )
    return Subquery(counts.order_by().values("batch__project").annotate(total=Sum("n")).values("total"))


def tasks(person: User, left: list[tuple[Project, int]]) -> list[HomeTask]:
    return [
        *labelling(left),
        *disputes_to_decide(person),
        *teams_to_approve(person),
        *running_submissions(person),
    ]


def labelling(left: list[tuple[Project, int]]) -> list[HomeTask]:
    return [
        HomeTask(
            f"{counted(n, 'sentence')} to label",
            project.title,
            "Label",
            reverse("label", args=[project.slug]),
        )
        for project, n in left
    ]


def disputes_to_decide(person: User) -> list[HomeTask]:
    deciding = [Member.Role.ADJUDICATOR, Member.Role.CURATOR]
    mine = Project.objects.filter(members__user=person, members__role__in=deciding)
    # disputes first; a project without any may have items that nobody can answer
    disputed = Coalesce(_items(state=Item.State.DISPUTED), 0)
    projects = mine.annotate(disputes=disputed).order_by("-disputes", "title")[:DECIDED]
    counts = ((project, dispute_list.count_by_pattern(project).total()) for project in projects)
    return [
        HomeTask(
            f"{counted(n, 'dispute')} to decide",
            project.title,
            "Decide",
            reverse("disputes", args=[project.slug]),
        )
        for project, n in islice(((project, n) for project, n in counts if n), TASKS)
    ]


def teams_to_approve(person: User) -> list[HomeTask]:
    """Benchmarks of an organiser in which teams wait for approval."""
    asked = Count("entrants", filter=Q(entrants__state=Entrant.State.ASKED))
    mine = Benchmark.objects.filter(approval=True, people__user=person, people__role=roles.ORGANISER)
    return [
        HomeTask(
            f"{counted(each.asked, 'team')} to approve",
            each.title,
            "Decide",
            reverse("board-entrants", args=[each.slug]),
        )
        for each in mine.annotate(asked=asked).filter(asked__gt=0).order_by("title", "pk")[:TASKS]
    ]


def running_submissions(person: User) -> list[HomeTask]:
    mine = Submission.objects.filter(system__team__members__user=person, state__in=run_list.IN_PROGRESS)
    return [
        HomeTask(str(s), s.benchmark.title, "Watch", reverse("submission", args=[s.pk]), s)
        for s in mine.select_related("system", "benchmark").order_by("-pk")[:5]
    ]


def first_steps(person: User | None) -> FirstSteps:
    """First steps for this user on an empty installation."""
    if person is None:
        detail = "An administrator creates accounts. Create the first with manage.py createsuperuser."
        return FirstSteps("Nothing here yet", [FirstStep("Log in", detail, reverse("login"))])
    if not (person.is_superuser or person.may_organise):
        detail = "Once a curator adds you to a project, or an owner to a team, your tasks appear here."
        return FirstSteps("Nothing for you yet", [FirstStep("Wait to be added", detail)])
    steps = [
        FirstStep(
            "Create a project and import sentences",
            "One or more people label each sentence; the majority decides, you decide disputes and freeze.",
            reverse("project-new"),
        ),
        FirstStep(
            "Import a published test set",
            "Existing gold: relation lines, CoNLL columns, or a list of ids and labels.",
            reverse("test-set-import"),
        ),
        FirstStep(
            "Create a benchmark on a frozen test set",
            "Choose settings and main measure; teams then submit prediction files.",
            reverse("board-new"),
        ),
    ]
    return FirstSteps("Nothing here yet: three ways to start", steps)
