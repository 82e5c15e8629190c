"""Projects: creation, members, state, settings and invitations."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.text import slugify

from annotation import roles
from annotation.consensus import applied_decisions, recomputation
from annotation.consensus.majority import MAJORITY, MAJORITY_NA
from annotation.models import Adjudication, Annotator, Item, Member, Policy, Project, PublicationReader
from annotation.models.voting import ANY_VOTES
from annotation.ontology import guideline_versions
from annotation.ontology.inventory import inventory, lock_project, parts_of
from annotation.queue import lease_endings
from annotation.roles import CURATOR, MAY_LABEL, require, require_organiser, require_to_change
from annotation.testset import Kind, Release, record_change
from evalsvc.core.accounts.invitations import InvitationTarget
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web.text_validation import require_unreserved

LABEL_NAMES = {"relation": "labels", "entity": "entity types"}
MAX_K = 50


def create(
    *, title: str, kind: str, by: User, slug: str = "", k: int = 4, policy: str = "", guideline: str = ""
) -> Project:
    """Create a project; its creator becomes its curator."""
    require_organiser(by)
    policy = policy or default_policy(kind)
    _check_settings(kind=kind, policy=policy, k=k)
    slug = slug or slugify(title)[:60]
    if not title.strip() or not slug:
        raise DomainError("invalid_input", "The title needs at least one letter or digit.", field="title")
    require_unreserved(slug, field="slug")
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
        message = f"A project with the address /projects/{slug}/ already exists. Choose another title."
        raise Conflict("slug_taken", message, field="slug") from error
    project.refresh_from_db()
    return project


def default_policy(kind: str) -> str:
    """Return the default policy of a kind.

    For entities an answer without a span is a vote against that span.
    """
    return MAJORITY if kind == Kind.RELATIONS else MAJORITY_NA


def _check_settings(*, kind: str = Kind.RELATIONS, policy: str = MAJORITY, k: int = 1) -> None:
    if kind not in Kind.values:
        message = f"Unknown kind {kind!r}. Use one of: {', '.join(Kind.values)}."
        raise DomainError("unknown_kind", message, field="kind")
    if policy not in Policy.values:
        message = f"Unknown policy {policy!r}. Use one of: {', '.join(Policy.values)}."
        raise DomainError("unknown_policy", message, field="policy")
    if not 1 <= k <= MAX_K:
        message = f"{k} answers per item is out of range. Choose 1 to {MAX_K}."
        raise DomainError("bad_k", message, field="k")


@transaction.atomic
def set_member(project: Project, *, user: User, role: str, by: User) -> Member:
    """Add a member, or change a member's role."""
    lock_project(project)  # whoever is losing the role of curator gives it to nobody
    require(project, by, CURATOR)
    if role not in Member.Role.values:
        message = f"Unknown role {role!r}. Use one of: {', '.join(Member.Role.values)}."
        raise DomainError("unknown_role", message, field="role")
    if role != CURATOR:
        _require_another_curator(project, user)
    before = project.members.filter(user=user).values_list("role", flat=True).first() or ""
    record(project, "role", by=by, about=user.username, before=before, after=role)
    if role not in MAY_LABEL:
        _return_leases(project, user)
    member, _ = Member.objects.update_or_create(project=project, user=user, defaults={"role": role})
    if role != CURATOR:  # afterwards: the change waits for releases that they are making
        _end_own_releases(project, user, by=by)
    return member


@transaction.atomic
def set_members(project: Project, *, users: Iterable[User], role: str, by: User) -> list[Member]:
    """Give several people the same role, all of them or none."""
    return [set_member(project, user=user, role=role, by=by) for user in users]


def annotator_count(project: Project) -> int:
    """Count the members who can label; items need k of them."""
    return project.members.filter(role__in=MAY_LABEL).count()


@transaction.atomic
def remove_member(project: Project, *, user: User, by: User) -> None:
    """Remove a member. Their answers stay; items reserved for them are free at once."""
    lock_project(project)
    require(project, by, CURATOR)
    _require_another_curator(project, user)
    member = project.members.filter(user=user).first()
    if member is not None:
        record(project, "member removed", by=by, about=user.username, before=member.role, after="")
        member.delete()
        _return_leases(project, user)
        _end_own_releases(project, user, by=by)


def _end_own_releases(project: Project, user: User, *, by: User) -> None:
    """End what a person who is no curator any more released to their own account."""
    own = Release.objects.filter(test_set__project=project, user=user, by=user)
    for release in own.select_related("test_set__project"):
        release.delete()
        record_change(release.test_set, "release to organiser ended", by=by, before=user.username, after="")
    named = PublicationReader.objects.filter(
        publication__test_set__project=project, user=user, publication__by=user
    )
    for reader in named.select_related("publication__test_set__project"):
        reader.delete()
        test_set, before = reader.publication.test_set, user.username
        record_change(test_set, "release to named person ended", by=by, before=before, after="")


def _return_leases(project: Project, user: User) -> None:
    """Return a person's leases after the commit: no transaction locks two items at once."""
    annotator = Annotator.objects.filter(project=project, user=user).first()
    if annotator is not None:
        transaction.on_commit(lambda: lease_endings.return_all(annotator))


def _require_another_curator(project: Project, leaving: User) -> None:
    curators = set(project.members.filter(role=CURATOR).values_list("user_id", flat=True))
    if curators == {leaving.pk}:
        raise Conflict(
            "last_curator",
            f"{leaving} is the only curator of {project}.",
            hint="Make another member curator first.",
        )


@transaction.atomic
def open_for_work(project: Project, *, by: User) -> Project:
    """Open a project for labelling. It needs items and labels."""
    require_to_change(project, by, CURATOR)
    if not project.items.live().exists():
        raise Conflict("no_items", f"{project} has no sentences.", hint="Import a file of sentences first.")
    part = parts_of(project)[0]  # a joint project without relations is labelled, too
    if not inventory(project, part):
        hint = "Add labels or a preset first."
        if part == "entity":
            hint = "Add entity types first: without them nobody can mark a span."
        raise Conflict("no_labels", f"{project} has no {LABEL_NAMES[part]}.", hint=hint)
    return _set(project, "state", Project.State.OPEN, by=by, action="state")


@transaction.atomic
def close(project: Project, *, by: User) -> Project:
    """Close a project for labelling. Adjudication and freezing stay possible."""
    require(project, by, CURATOR)
    return _set(project, "state", Project.State.CLOSED, by=by, action="state")


@transaction.atomic
def archive(project: Project, *, by: User) -> Project:
    """Take a project that is not open out of the lists; `close` brings it back."""
    require(project, by, CURATOR)
    if project.state == Project.State.OPEN:
        raise Conflict("project_open", f"{project} is open for labelling.", hint="Close it first.")
    return _set(project, "state", Project.State.ARCHIVED, by=by, action="state")


def _set(project: Project, name: str, value: object, *, by: User, action: str) -> Project:
    record(project, action, by=by, before=getattr(project, name), after=value)
    Project.objects.filter(pk=project.pk).update(**{name: value})
    setattr(project, name, value)
    return project


@transaction.atomic
def rename(project: Project, *, title: str, by: User) -> Project:
    """Change the title; the address stays, so that links keep working."""
    require_to_change(project, by, CURATOR)
    if not any(character.isalnum() for character in title):
        raise DomainError("invalid_input", "The title needs at least one letter or digit.", field="title")
    return _set(project, "title", title.strip(), by=by, action="title")


@atomic_again
def set_k(project: Project, *, k: int, reopens: bool = False, by: User) -> Project:
    """Change the answers per item, and recompute all outcomes.

    With `reopens` no decision, but an exclusion by a curator, keeps missing answers from being asked for.
    """
    require_to_change(project, by, CURATOR)
    _check_settings(k=k)
    lock_project(project)  # before any item, in the order of label changes
    if reopens:
        _reopen_all(project, by=by)
    _set(project, "k", k, by=by, action="answers per sentence")
    recomputation.recompute_after_change(project)
    return project


def _reopen_all(project: Project, *, by: User) -> None:
    """Undo all decisions on answers, lapsed ones for good; nobody is asked about settled items.

    Which items a raised k leaves out would tell the label that was changed, or is changed back.
    """
    decided = Adjudication.objects.applicable().filter(item__project=project)
    items = Item.objects.filter(pk__in=decided.order_by().values("item"))
    disputed = project.items.filter(state=Item.State.DISPUTED)  # some may be decided at this moment
    both = (items | disputed).order_by("pk")
    list(both.select_for_update(no_key=True).values_list("pk", flat=True))
    applied_decisions.outdate_decisions(items)
    on_answers = decided.exclude(votes_key=ANY_VOTES).order_by()
    record(project, "decisions reopened", by=by, before=on_answers.count(), after=0)
    applied_decisions.reopen(on_answers.active())
    on_answers.update(lapsed=False)


@transaction.atomic
def set_policy(project: Project, *, policy: str, by: User) -> Project:
    """Change the policy, and recompute all outcomes."""
    require_to_change(project, by, CURATOR)
    _check_settings(policy=policy)
    _set(project, "policy", policy, by=by, action="rule")
    recomputation.recompute_after_change(project)
    return project


@transaction.atomic
def set_overlap(project: Project, *, may_overlap: bool, by: User) -> Project:
    """Allow or forbid overlapping spans, and recompute all outcomes."""
    require_to_change(project, by, CURATOR)
    _set(project, "spans_may_overlap", may_overlap, by=by, action="overlapping spans")
    recomputation.recompute_after_change(project)
    return project


@transaction.atomic
def set_by_sentence(project: Project, *, by_sentence: bool, by: User) -> Project:
    """Show texts to annotators one sentence at a time, or whole."""
    require_to_change(project, by, CURATOR)
    return _set(project, "by_sentence", by_sentence, by=by, action="one sentence at a time")


@transaction.atomic
def set_guideline(project: Project, *, guideline: str, na_means: str = "", by: User) -> Project:
    """Change the guideline and the meaning of N/A."""
    require_to_change(project, by, CURATOR)
    project = lock_project(project)
    changed = {"guideline": guideline.strip()} | ({"na_means": na_means.strip()} if na_means.strip() else {})
    before = {name: getattr(project, name) for name in changed}
    record(project, "guideline", by=by, before=before, after=changed)
    text = changed.pop("guideline")
    if text != project.guideline:
        guideline_versions.set_text(project, text, by=by)
    Project.objects.filter(pk=project.pk).update(**changed)
    project.refresh_from_db()
    return project


INVITATION_TARGET = InvitationTarget(
    name="project",
    noun="project",
    roles=tuple((role, role) for role in (roles.ANNOTATOR, roles.ADJUDICATOR, roles.VIEWER, CURATOR)),
    find=lambda pk: get_object_or_404(Project, pk=pk),
    require_inviter=lambda project, user: require(project, user, CURATOR),
    role_of=roles.role_in,
    admit=lambda project, user, role, by: set_member(project, user=user, role=role, by=by),
    url=lambda project: reverse("project", args=[project.slug]),
    members_url=lambda project: reverse("project-members", args=[project.slug]),
)
