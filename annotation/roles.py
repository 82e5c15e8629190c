"""People of a project: roles, checks of them, and display names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.db import connection
from django.db.models import QuerySet
from django.http import Http404

from annotation.models import Annotator, Member, Project
from annotation.testset import TestSet
from evalsvc.core import database
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed

VIEWER, ANNOTATOR = Member.Role.VIEWER, Member.Role.ANNOTATOR
ADJUDICATOR, CURATOR = Member.Role.ADJUDICATOR, Member.Role.CURATOR
MAY_LABEL = (ANNOTATOR, CURATOR)
MAY_DECIDE = (ADJUDICATOR, CURATOR)
MAY_OVERSEE = (VIEWER, ADJUDICATOR, CURATOR)
ROLE = "SELECT role FROM annotation_member WHERE project_id = %s AND user_id = %s"
MEMBERS_PROJECT = """
SELECT project.* FROM annotation_project project
    JOIN annotation_member member ON member.project_id = project.id
WHERE project.slug = %(slug)s AND member.user_id = %(user)s"""


def role_in(project: Project, user: User) -> str | None:
    """Return the person's role, None if they are no member."""
    if user.is_superuser:
        return CURATOR
    with connection.cursor() as cursor:  # pages ask several times: the ORM takes ten times as long
        cursor.execute(ROLE, [project.pk, user.pk])
        row = cursor.fetchone()
    return str(row[0]) if row else None


def visible_projects(user: User) -> QuerySet[Project]:
    """Return the projects visible to a person."""
    return Project.objects.all() if user.is_superuser else Project.objects.filter(members__user=user)


def listed_projects(user: User) -> QuerySet[Project]:
    """Return the projects in a person's lists: archived ones are not."""
    return visible_projects(user).exclude(state=Project.State.ARCHIVED)


def visible_project(user: User, slug: str) -> Project | None:
    """Return the project with this slug if visible to the person."""
    if user.is_superuser:
        return Project.objects.filter(slug=slug).first()
    return database.first(Project, MEMBERS_PROJECT, slug=slug, user=user.pk)


def require_or_hide(project: Project, user: User, *roles: str) -> None:
    """Answer 404 to everybody else: numbered objects are not counted by asking for them."""
    if role_in(project, user) not in roles:
        raise Http404


def require(project: Project, user: User, *roles: str) -> str:
    """Return the person's role if in `roles`; non-members get 404."""
    role = role_in(project, user)
    if role is None:
        raise Http404
    if roles and role not in roles:
        needed = " or ".join(dict.fromkeys(roles))
        raise NotAllowed(
            "not_allowed",
            f"Your role in {project} is {role}; this requires {needed}.",
            hint="A curator of the project can change your role.",
        )
    return role


def reads_label_counts(project: Project, role: str) -> bool:
    """True if the role may read counts of labels: until the project is closed, curators alone.

    Whoever else knows the order of work would read single answers from them, and the gold; from the effect
    of the other policy, which answers are N/A; from how many answers of a person count, what others answered.
    """
    return role == CURATOR or project.state in (Project.State.CLOSED, Project.State.ARCHIVED)


def reads_outcomes(project: Project, role: str) -> bool:
    """True if the role may read how many items are settled or disputed: viewers once the project is closed.

    An annotator who tries labels would learn from a viewer with which one an item settles.
    """
    return role in MAY_DECIDE or reads_label_counts(project, role)


def require_label_counts(project: Project, user: User) -> str:
    """Return the role of a person who may read counts of labels."""
    role = require(project, user, *MAY_OVERSEE)
    if not reads_label_counts(project, role):
        raise _not_closed(project, "agreement and counts of labels")
    return role


def _not_closed(project: Project | None, figures: str) -> Conflict:
    return Conflict(
        "project_not_closed",
        f"Until {project} is closed, only curators see {figures}.",
        hint="You will see them once a curator has closed it.",
    )


def shows_outcomes(test_set: TestSet, *, with_gold: bool) -> bool:
    """True if figures of a frozen set may be shown, with or without its gold.

    Until its project is closed, only beside the gold: they count labels and outcomes, and the difference of
    two sets counts those of single sentences.
    """
    project = test_set.project
    return with_gold or project is None or reads_label_counts(project, VIEWER)


def shows_undecided(test_set: TestSet, *, curates: bool) -> bool:
    """True if figures over the answers to sentences that a set leaves out may be shown.

    They are still undecided until its project is closed: beside the answers that a release with its gold
    lists, such a figure tells those to a single sentence.
    """
    return curates or shows_outcomes(test_set, with_gold=False)


def require_outcomes(test_set: TestSet, user: User) -> None:
    """Require a person who may read figures of a frozen set."""
    if not shows_outcomes(test_set, with_gold=test_set.known_to(user)):
        raise _not_closed(test_set.project, "figures of its test sets")


def require_to_change(project: Project, user: User, *roles: str) -> str:
    """Return the person's role if in `roles`; an archived project changes only in its members."""
    role = require(project, user, *roles)
    if project.state == Project.State.ARCHIVED:
        hint = "Restore it first, on its page."
        raise Conflict("project_archived", f"{project} is archived.", hint=hint)
    return role


def require_organiser(user: User) -> None:
    """Reject people who aren't organisers."""
    if not (user.is_superuser or user.may_organise):
        raise NotAllowed(
            "not_organiser",
            "Only organisers can open projects and import published test sets.",
            hint="An administrator can make you one.",
        )


# ---- names ----------------------------------------------------------------------------------------
NAME_FIELDS = ("username", "first_name", "last_name")  # of users; their rows are wide


class Names(dict[str, str]):
    """Names of the people of a project; who begins to label after they were read has one, too."""

    def __init__(self, names: Mapping[str, str], later: str = "") -> None:
        super().__init__(names)
        self.later = later

    def __missing__(self, name: str) -> str:
        return self.later or name


def display_names(project: Project, *members: User) -> dict[str, str]:
    """Map the names in downloads to display names, unique within the project.

    `members` are people who have not answered yet. Imported names are marked, as people with accounts may
    have the same.
    """
    annotators = Annotator.objects.filter(project=project).select_related("user").order_by("pk")
    annotators = annotators.only("name", *(f"user__{field}" for field in NAME_FIELDS))
    names = {row.name: row.user.shown_name if row.user else f"{row.name} (imported)" for row in annotators}
    names |= {user.username: user.shown_name for user in members}
    uses = Counter(names.values())
    return Names(
        {
            name: f"{shown} ({name})" if uses[shown] > 1 and shown != name else shown
            for name, shown in names.items()
        }
    )


def numbered_names(project: Project) -> dict[str, str]:
    """Map the names in downloads to numbers, to prevent bias."""
    names = Annotator.objects.filter(project=project).order_by("pk").values_list("name", flat=True)
    numbers = {name: f"Annotator {number}" for number, name in enumerate(names, start=1)}
    return Names(numbers, later="Annotator")
