"""What other roles of members, or their removal, would change, before it is done."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q

from annotation import projects
from annotation.adjudication.unanswerable_items import unanswerable_ids
from annotation.models import Adjudication, Answer, Lease, Project, PublicationReader
from annotation.roles import CURATOR, MAY_DECIDE
from annotation.testset import Release
from evalsvc.core.accounts.models import User
from evalsvc.core.web.formatting import counted, listed

SEES = {
    "viewer": "counts and test sets",
    "annotator": "sentences to label, without other answers",
    "adjudicator": "disputed sentences, with their answers but no names",
    "curator": "everything, and can change it",
}


@dataclass(frozen=True, slots=True)
class MemberEffect:
    """What people leave behind, and what changes with their roles."""

    role: str
    changed: list[tuple[str, str]]
    answers: int
    decisions: int
    reservations: int
    to_decide: int
    can_label: int
    can_decide: int
    k: int
    releases_ended: int
    releases_left: int

    def __str__(self) -> str:
        return self._moves + self._work + self._releases + self._people

    @property
    def _moves(self) -> str:
        if not self.role:
            return ""
        if not self.changed:
            return f"Nobody’s role changes: {self.role}. "
        moves = [f"{name} ({before or 'no member yet'})" for name, before in self.changed]
        becomes = f"becomes {self.role}" if len(moves) == 1 else f"become {self.role}s"
        return f"{listed(moves)} {becomes} and will see {SEES[self.role]}. "

    @property
    def _work(self) -> str:
        left = f"{counted(self.answers, 'answer')} and {counted(self.decisions, 'decision')} stay and count."
        reserved = counted(self.reservations, "reserved sentence")
        free = f" {reserved} {'becomes' if self.reservations == 1 else 'become'} free for others at once."
        decide = f" {counted(self.to_decide, 'sentence')} that nobody else can answer will need a decision."
        return left + free * bool(self.reservations) + decide * bool(self.to_decide)

    @property
    def _releases(self) -> str:
        """Name the releases of test sets to and by people who are no curators afterwards."""
        ended = f" {counted(self.releases_ended, 'release')} of test sets to their own account"
        ended += f" {'ends' if self.releases_ended == 1 else 'end'}."
        left = f" {counted(self.releases_left, 'release')} of test sets to or by them"
        left += f" {'stays' if self.releases_left == 1 else 'stay'}: see the pages of these sets."
        return ended * bool(self.releases_ended) + left * bool(self.releases_left)

    @property
    def _people(self) -> str:
        can = f" {counted(self.can_label, 'member')} can label then, and {self.can_decide:,} can decide"
        return f"{can}; each sentence needs {counted(self.k, 'answer')}."


@transaction.atomic
def of_role(project: Project, *, users: Collection[User], role: str, by: User) -> MemberEffect:
    """Change the roles (empty: remove the members), count what changes, and roll it back."""
    members = dict(project.members.filter(user__in=users).values_list("user", "role"))
    before = set(unanswerable_ids(project))
    released = 0 if role == CURATOR else _releases(project, users)
    if role:
        projects.set_members(project, users=users, role=role, by=by)
    else:
        for user in users:
            projects.remove_member(project, user=user, by=by)
    leases = Lease.objects.filter(annotator__project=project, annotator__user__in=users, ending="")
    changed = [(each, was) for each in users if (was := members.get(each.pk, "")) != role]
    effect = MemberEffect(
        role=role,
        # curators read names of members alone
        changed=[(each.shown_name if was else each.username, was) for each, was in changed],
        answers=Answer.objects.filter(annotator__project=project, annotator__user__in=users).active().count(),
        decisions=Adjudication.objects.filter(item__project=project, by__in=users).active().count(),
        reservations=0 if role in projects.MAY_LABEL else leases.count(),
        to_decide=len(set(unanswerable_ids(project)) - before),
        can_label=projects.annotator_count(project),
        can_decide=project.members.filter(role__in=MAY_DECIDE).count(),
        k=project.k,
        releases_ended=released - (left := 0 if role == CURATOR else _releases(project, users)),
        releases_left=left,
    )
    transaction.set_rollback(True)
    return effect


def _releases(project: Project, users: Collection[User]) -> int:
    """Count the releases to or by people, with those to people whom a publication names."""
    released = Release.objects.filter(Q(user__in=users) | Q(by__in=users), test_set__project=project)
    named = PublicationReader.objects.filter(
        Q(user__in=users) | Q(publication__by__in=users), publication__test_set__project=project
    )
    return released.count() + named.count()
