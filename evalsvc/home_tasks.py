"""What waits for a person, and the first steps of an empty place."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.urls import reverse

from annotation.adjudication import decisions
from annotation.models import Member, Project
from annotation.reports.progress import left_for
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.models import Submission
from evalsvc.evaluation.pages import run_list

Person = User | AnonymousUser
Role = Member.Role


@dataclass(frozen=True)
class Waiting:
    """One thing to do, and where."""

    title: str
    detail: str
    verb: str
    address: str
    submission: Submission | None = None


@dataclass(frozen=True)
class Step:
    title: str
    detail: str
    address: str = ""


@dataclass(frozen=True)
class Steps:
    title: str
    steps: list[Step]


def for_person(person: Person) -> list[Waiting]:
    if not isinstance(person, User):
        return []
    return [*_to_label(person), *_to_decide(person), *_under_way(person)]


def _projects(person: User, *held: str) -> QuerySet[Project]:
    """Open projects where the person has one of these roles."""
    mine = Project.objects.filter(members__user=person, members__role__in=held)
    return mine.filter(state=Project.State.OPEN).order_by("title")


def _wanting(project: Project, person: User) -> int:
    return left_for(project, person, role=Role.ANNOTATOR)


def _to_label(person: User) -> list[Waiting]:
    found = []
    for project in _projects(person, Role.ANNOTATOR):
        wanting = _wanting(project, person)
        if wanting:
            title = f"{counted(wanting, 'sentence')} to label"
            found.append(Waiting(title, project.title, "Label", reverse("label", args=[project.slug])))
    return found


def next_project(person: Person) -> Project | None:
    """The first project that has a sentence for this person."""
    if not isinstance(person, User):
        return None
    return next((p for p in _projects(person, Role.ANNOTATOR) if _wanting(p, person)), None)


def _to_decide(person: User) -> list[Waiting]:
    mine = Project.objects.filter(members__user=person, members__role__in=[Role.ADJUDICATOR, Role.CURATOR])
    found = []
    for project in mine.order_by("title"):
        disputes = decisions.disputes(project).count()
        if disputes:
            title = f"{counted(disputes, 'dispute')} to decide"
            found.append(Waiting(title, project.title, "Decide", reverse("disputes", args=[project.slug])))
    return found


def _under_way(person: User) -> list[Waiting]:
    mine = Submission.objects.filter(system__team__members__user=person, state__in=run_list.UNDER_WAY)
    return [
        Waiting(str(s), s.benchmark.title, "Watch", reverse("submission", args=[s.pk]), s)
        for s in mine.select_related("system", "benchmark").order_by("-pk")[:5]
    ]


def has_team(person: Person) -> bool:
    return isinstance(person, User) and person.memberships.exists()


def test_sets_of(person: Person) -> QuerySet[TestSet]:
    """The test sets a person may know of."""
    return TestSet.objects.visible_to(person) if isinstance(person, User) else TestSet.objects.none()


def first_steps(person: Person) -> Steps:
    """What to do first where nothing is yet, for who is asking."""
    if not isinstance(person, User):
        return Steps("Nothing here yet", [_log_in()])
    if not (person.is_superuser or person.may_organise):
        return Steps("Nothing here for you yet", [_wait()])
    return Steps("Nothing here yet: three ways to begin", _organise())


def _log_in() -> Step:
    told = (
        "Accounts are made by whoever runs this place. The first one is made on the machine itself: "
        "manage.py createsuperuser."
    )
    return Step("Log in", told, reverse("login"))


def _wait() -> Step:
    told = "A curator adds you to a project, or an owner to a team. Then your work appears on this page."
    return Step("Wait to be added", told)


def _organise() -> list[Step]:
    return [
        Step(
            "Open a project and import sentences",
            "Several people label each; the majority decides, you settle the rest, and freeze the set.",
            reverse("project-new"),
        ),
        Step(
            "Import a published test set",
            "Gold that exists already: relation lines, CoNLL columns, or a key of ids and labels.",
            reverse("test-set-import"),
        ),
        Step(
            "Open a board on a frozen test set",
            "Choose the settings and the main measure; teams then submit prediction files.",
            reverse("board-new"),
        ),
    ]
