"""Tasks waiting for a user, and first steps on an empty installation."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.urls import reverse

from annotation.adjudication import decisions
from annotation.models import Member, Project
from annotation.reports.progress import available_items
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.models import Submission
from evalsvc.evaluation.pages import run_list

AnyUser = User | AnonymousUser
Role = Member.Role


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


def tasks_for(person: AnyUser) -> list[HomeTask]:
    if not isinstance(person, User):
        return []
    return [*_items_to_label(person), *_disputes_to_decide(person), *_running_submissions(person)]


def _projects(person: User, *roles: str) -> QuerySet[Project]:
    """Open projects where the person has one of these roles."""
    mine = Project.objects.filter(members__user=person, members__role__in=roles)
    return mine.filter(state=Project.State.OPEN).order_by("title")


def _items_left(project: Project, person: User) -> int:
    return available_items(project, person, role=Role.ANNOTATOR)


def _items_to_label(person: User) -> list[HomeTask]:
    tasks = []
    for project in _projects(person, Role.ANNOTATOR):
        n = _items_left(project, person)
        if n:
            title = f"{counted(n, 'sentence')} to label"
            tasks.append(HomeTask(title, project.title, "Label", reverse("label", args=[project.slug])))
    return tasks


def next_project(person: AnyUser) -> Project | None:
    """The first project with an item for this user."""
    if not isinstance(person, User):
        return None
    return next((p for p in _projects(person, Role.ANNOTATOR) if _items_left(p, person)), None)


def _disputes_to_decide(person: User) -> list[HomeTask]:
    mine = Project.objects.filter(members__user=person, members__role__in=[Role.ADJUDICATOR, Role.CURATOR])
    tasks = []
    for project in mine.order_by("title"):
        disputes = decisions.disputes(project).count()
        if disputes:
            title = f"{counted(disputes, 'dispute')} to decide"
            tasks.append(HomeTask(title, project.title, "Decide", reverse("disputes", args=[project.slug])))
    return tasks


def _running_submissions(person: User) -> list[HomeTask]:
    mine = Submission.objects.filter(system__team__members__user=person, state__in=run_list.IN_PROGRESS)
    return [
        HomeTask(str(s), s.benchmark.title, "Watch", reverse("submission", args=[s.pk]), s)
        for s in mine.select_related("system", "benchmark").order_by("-pk")[:5]
    ]


def has_team(person: AnyUser) -> bool:
    return isinstance(person, User) and person.memberships.exists()


def test_sets_of(person: AnyUser) -> QuerySet[TestSet]:
    """Test sets visible to this user."""
    return TestSet.objects.visible_to(person) if isinstance(person, User) else TestSet.objects.none()


def first_steps(person: AnyUser) -> FirstSteps:
    """First steps for this user on an empty installation."""
    if not isinstance(person, User):
        detail = "An administrator creates accounts. Create the first with manage.py createsuperuser."
        return FirstSteps("Nothing here yet", [FirstStep("Log in", detail, reverse("login"))])
    if not (person.is_superuser or person.may_organise):
        detail = "Once a curator adds you to a project, or an owner to a team, your tasks appear here."
        return FirstSteps("Nothing for you yet", [FirstStep("Wait to be added", detail)])
    return FirstSteps("Nothing here yet: three ways to start", _organise())


def _organise() -> list[FirstStep]:
    return [
        FirstStep(
            "Create a project and import sentences",
            "Several people label each sentence; the majority decides, you decide disputes and freeze.",
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
