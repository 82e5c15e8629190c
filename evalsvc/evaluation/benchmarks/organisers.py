"""Organisers and viewers of a benchmark, and invitations to it."""

from __future__ import annotations

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse

from evalsvc.core.accounts.invitations import InvitationTarget
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.evaluation.models import Benchmark, Organiser
from evalsvc.evaluation.roles import ORGANISER, VIEWER, require


@transaction.atomic
def set_person(benchmark: Benchmark, *, user: User, role: str, by: User) -> Organiser:
    """Set the role of a user."""
    require(benchmark, by, ORGANISER)
    if role not in Organiser.Role.values:
        known = ", ".join(Organiser.Role.values)
        raise DomainError("unknown_role", f"{role!r} is not a role. Use {known}.", field="role")
    if role != ORGANISER:
        _keep_an_organiser(benchmark, user)
    before = benchmark.people.filter(user=user).values_list("role", flat=True).first() or ""
    record(benchmark, "role", by=by, about=user.username, before=before, after=role)
    return Organiser.objects.update_or_create(benchmark=benchmark, user=user, defaults={"role": role})[0]


@transaction.atomic
def remove_person(benchmark: Benchmark, *, user: User, by: User) -> None:
    """Remove the role of a user; their runs stay."""
    require(benchmark, by, ORGANISER)
    _keep_an_organiser(benchmark, user)
    person = benchmark.people.filter(user=user).first()
    if person is not None:
        record(benchmark, "person removed", by=by, about=user.username, before=person.role, after="")
        person.delete()


def _keep_an_organiser(benchmark: Benchmark, leaving: User) -> None:
    Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    left = set(benchmark.people.filter(role=ORGANISER).values_list("user_id", flat=True))
    if left == {leaving.pk}:
        raise Conflict(
            "last_organiser",
            f"{leaving} is the only organiser of {benchmark}.",
            hint="Add another organiser first.",
        )


def _role_of(benchmark: Benchmark, user: User) -> str | None:
    """Return the assigned role; seeing a public benchmark is none."""
    return benchmark.people.filter(user=user).values_list("role", flat=True).first()


INVITATION_TARGET = InvitationTarget(
    name="benchmark",
    noun="benchmark",
    roles=((VIEWER, "viewer"), (ORGANISER, "organiser")),
    find=lambda pk: get_object_or_404(Benchmark, pk=pk),
    require_inviter=lambda benchmark, user: require(benchmark, user, ORGANISER),
    role_of=_role_of,
    admit=lambda benchmark, user, role, by: set_person(benchmark, user=user, role=role, by=by),
    url=lambda benchmark: reverse("board", args=[benchmark.slug]),
    members_url=lambda benchmark: reverse("board-people", args=[benchmark.slug]),
)
