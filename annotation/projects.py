"""Projects: made, staffed, opened, closed; how many answers an item gets and by which policy they decide."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.utils.text import slugify

from annotation.consensus import item_state
from annotation.consensus.majority import MAJORITY, MAJORITY_NA
from annotation.models import Member, Policy, Project
from annotation.roles import CURATOR, MAY_LABEL, require, require_organiser
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError

MOST_ANNOTATORS = 50


def create(
    *, title: str, kind: str, by: User, slug: str = "", k: int = 4, policy: str = "", guideline: str = ""
) -> Project:
    """Make a project; its maker becomes its curator."""
    require_organiser(by)
    policy = policy or default_policy(kind)
    _known(kind=kind, policy=policy, k=k)
    slug = slug or slugify(title)[:60]
    if not title.strip() or not slug:
        raise DomainError("invalid_input", "A project needs a title with letters or digits.", field="title")
    try:
        with transaction.atomic():
            project = Project.objects.create(
                title=title.strip(),
                slug=slug,
                kind=kind,
                k=k,
                policy=policy,
                guideline=guideline,
                created_by=by,
            )
            Member.objects.create(project=project, user=by, role=CURATOR)
    except IntegrityError as error:
        raise Conflict(
            "slug_taken", f"A project at /projects/{slug}/ exists already.", field="slug"
        ) from error
    project.refresh_from_db()
    return project


def default_policy(kind: str) -> str:
    """The paper's rule for relations; for entities an answer without the span is a vote against it."""
    return MAJORITY if kind == Kind.RELATIONS else MAJORITY_NA


def _known(*, kind: str = Kind.RELATIONS, policy: str = MAJORITY, k: int = 1) -> None:
    if kind not in Kind.values:
        raise DomainError(
            "unknown_kind", f"{kind!r} is no kind of project: {', '.join(Kind.values)}.", field="kind"
        )
    if policy not in Policy.values:
        known = ", ".join(Policy.values)
        raise DomainError("unknown_policy", f"{policy!r} is no policy: {known}.", field="policy")
    if not 1 <= k <= MOST_ANNOTATORS:
        raise DomainError("bad_k", f"An item gets 1 to {MOST_ANNOTATORS} answers, not {k}.", field="k")


@transaction.atomic
def set_member(project: Project, *, user: User, role: str, by: User) -> Member:
    """Give a person their one role here."""
    require(project, by, CURATOR)
    if role not in Member.Role.values:
        known = ", ".join(Member.Role.values)
        raise DomainError("unknown_role", f"{role!r} is no role: {known}.", field="role")
    if role != CURATOR:
        _keep_a_curator(project, user)
    return Member.objects.update_or_create(project=project, user=user, defaults={"role": role})[0]


@transaction.atomic
def set_members(project: Project, *, users: Iterable[User], role: str, by: User) -> list[Member]:
    """Give several people the same role, all of them or none."""
    return [set_member(project, user=user, role=role, by=by) for user in users]


def can_label(project: Project) -> int:
    """How many people can label: fewer than k never give a sentence enough answers."""
    return project.members.filter(role__in=MAY_LABEL).count()


@transaction.atomic
def remove_member(project: Project, *, user: User, by: User) -> None:
    """Take a person's role away; their answers stay."""
    require(project, by, CURATOR)
    _keep_a_curator(project, user)
    Member.objects.filter(project=project, user=user).delete()


def _keep_a_curator(project: Project, leaving: User) -> None:
    Project.objects.select_for_update(no_key=True).get(pk=project.pk)
    curators = set(project.members.filter(role=CURATOR).values_list("user_id", flat=True))
    if curators == {leaving.pk}:
        raise Conflict(
            "last_curator",
            f"{leaving} is the only curator of {project}.",
            hint="Make somebody else curator first.",
        )


@transaction.atomic
def open_for_work(project: Project, *, by: User) -> Project:
    """Let annotators begin. There must be something to label and something to choose."""
    require(project, by, CURATOR)
    if not project.items.live().exists():
        raise Conflict(
            "no_items", f"{project} has no sentences yet.", hint="Import a file of sentences first."
        )
    if not project.labels.exists():
        raise Conflict("no_labels", f"{project} has nothing to choose from.", hint="Add labels or a preset.")
    return _to(project, Project.State.OPEN)


@transaction.atomic
def close(project: Project, *, by: User) -> Project:
    """End the labelling; deciding disputes and freezing go on."""
    require(project, by, CURATOR)
    return _to(project, Project.State.CLOSED)


def _to(project: Project, state: str) -> Project:
    Project.objects.filter(pk=project.pk).update(state=state)
    project.state = state
    return project


@transaction.atomic
def set_k(project: Project, *, k: int, by: User) -> Project:
    """Change how many answers an item gets, and decide all items anew."""
    require(project, by, CURATOR)
    _known(k=k)
    Project.objects.filter(pk=project.pk).update(k=k)
    project.k = k
    item_state.recompute_after_change(project)
    return project


@transaction.atomic
def set_policy(project: Project, *, policy: str, by: User) -> Project:
    """Change the rule, and decide all items anew."""
    require(project, by, CURATOR)
    _known(policy=policy)
    Project.objects.filter(pk=project.pk).update(policy=policy)
    project.policy = policy
    item_state.recompute_after_change(project)
    return project


@transaction.atomic
def set_guideline(project: Project, *, guideline: str, na_means: str = "", by: User) -> Project:
    """Change what annotators read beside the sentence, and what N/A says."""
    require(project, by, CURATOR)
    changed = {"guideline": guideline.strip()} | ({"na_means": na_means.strip()} if na_means.strip() else {})
    Project.objects.filter(pk=project.pk).update(**changed)
    project.refresh_from_db()
    return project
