"""Teams that take part in a benchmark: terms they accept, and the organisers' approval."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from evalsvc.core.accounts.models import Team, User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.core.web.formatting import listed
from evalsvc.core.web.markdown import MAX_LENGTH
from evalsvc.core.web.text_validation import require_visible
from evalsvc.evaluation.models import Benchmark, Entrant, Terms
from evalsvc.evaluation.roles import ORGANISER, require, require_member


def terms_of(benchmark: Benchmark) -> Terms | None:
    """Return the terms in force, None without any."""
    return benchmark.terms.filter(number=benchmark.terms_number).first() if benchmark.terms_number else None


@transaction.atomic
def set_terms(benchmark: Benchmark, text: str, *, by: User) -> Terms | None:
    """Put new terms in force, or none if the text is empty; teams accept each version anew."""
    require(benchmark, by, ORGANISER)
    text = text.replace("\r\n", "\n").strip()
    if len(text) > MAX_LENGTH:
        raise DomainError("too_long", f"Terms have at most {MAX_LENGTH:,} characters.", field="text")
    row = Benchmark.objects.select_for_update().get(pk=benchmark.pk)
    current, newest = terms_of(row), row.terms.last()
    current_text = current.text if current else ""
    if text != current_text:
        number = (newest.number if newest else 0) + 1
        if text:
            current = Terms.objects.create(benchmark=row, number=number, text=text, by=by)
        row.terms_number = number if text else 0
        row.save(update_fields=["terms_number"])
        about = f"version {number}" if text else "none"
        before = current_text[:200] or "none"
        record(row, "terms", by=by, about=about, before=before, after=text[:200] or "none")
    benchmark.terms_number = row.terms_number
    return current if text else None


@transaction.atomic
def enter(benchmark: Benchmark, team: Team, *, by: User, terms: int | None = None) -> Entrant:
    """Let a team take part: record the terms it accepts, and ask for approval where that is needed.

    `terms` is the number of the version that was read; another one in force is rejected.
    """
    require_member(benchmark, by, team)
    current = terms_of(benchmark)
    if current is not None and terms != current.number:
        raise Conflict(
            "team_terms_not_accepted",
            f"Version {current.number} of the terms of {benchmark} is in force.",
            hint=f"Read it, and send its number, {current.number}, as terms.",
        )
    entrant, _ = Entrant.objects.select_for_update().get_or_create(
        benchmark=benchmark, team=team, defaults={"by": by}
    )
    if current is not None and entrant.terms_id != current.pk:
        entrant.terms, entrant.accepted_at, entrant.by = current, timezone.now(), by
    if entrant.state == Entrant.State.DECLINED:
        entrant.state, entrant.reason = Entrant.State.ASKED, ""
    entrant.save()
    return entrant


def require_entered(benchmark: Benchmark, team: Team) -> None:
    """Reject a submission of a team that has not accepted the terms, or is not approved."""
    current = terms_of(benchmark)
    if current is None and not benchmark.approval:
        return
    entrant = Entrant.objects.filter(benchmark=benchmark, team=team).first()
    address = f"POST /api/v1/benchmarks/{benchmark.slug}/entry, or use the page “Take part” of the board."
    if current is not None and (entrant is None or entrant.terms_id != current.pk):
        detail = f"{team} has not accepted version {current.number} of the terms of {benchmark}."
        raise NotAllowed("team_terms_not_accepted", detail, hint=f"A member accepts them: {address}")
    if not benchmark.approval:
        return
    if entrant is None:
        raise NotAllowed("not_approved", f"{benchmark} approves each team first.", hint=f"Ask: {address}")
    if entrant.state == Entrant.State.ASKED:
        detail = f"The organisers of {benchmark} have not yet decided on {team}."
        raise NotAllowed("not_approved", detail, hint="Submit when they have approved it.")
    if entrant.state == Entrant.State.DECLINED:
        detail = f"The organisers of {benchmark} declined {team}. {entrant.reason}".strip()
        raise NotAllowed("not_approved", detail, hint=f"Ask again: {address}")


def not_entered(benchmark: Benchmark, teams: Iterable[Team]) -> list[Team]:
    """Return the teams whose submissions would be rejected."""
    if not (benchmark.terms_number or benchmark.approval):
        return []
    entered = benchmark.entrants.filter(team__in=teams)
    if benchmark.approval:
        entered = entered.filter(state=Entrant.State.APPROVED)
    if benchmark.terms_number:
        entered = entered.filter(terms__number=benchmark.terms_number)
    allowed = set(entered.values_list("team", flat=True))
    return [team for team in teams if team.pk not in allowed]


@transaction.atomic
def set_approval(benchmark: Benchmark, *, needed: bool, by: User) -> None:
    """Approve each team before it submits, or no longer."""
    require(benchmark, by, ORGANISER)
    record(benchmark, "approval of teams", by=by, before=benchmark.approval, after=needed)
    Benchmark.objects.filter(pk=benchmark.pk).update(approval=needed)
    benchmark.approval = needed


@transaction.atomic
def effect(benchmark: Benchmark, *, by: User, text: str | None = None, needed: bool | None = None) -> str:
    """Change terms or approval, name the teams for which that matters, and roll it back."""
    teams = Team.objects.filter(Q(systems__benchmark=benchmark) | Q(entries__benchmark=benchmark))
    teams = teams.distinct().order_by("name")
    trial = Benchmark.objects.get(pk=benchmark.pk)
    before = set(not_entered(trial, teams))
    if text is not None:
        set_terms(trial, text, by=by)
    if needed is not None:
        set_approval(trial, needed=needed, by=by)
    after = set(not_entered(trial, teams))
    transaction.set_rollback(True)
    stopped, admitted = sorted(map(str, after - before)), sorted(map(str, before - after))
    words = []
    if stopped:
        words.append(f"Before their next submission, {listed(stopped)} must accept the terms or be approved.")
    if admitted:
        words.append(f"{listed(admitted)} may submit at once.")
    return " ".join(words) or "No team that takes part is affected."


@transaction.atomic
def decide(entrant: Entrant, *, approve: bool, by: User, reason: str = "") -> Entrant:
    """Approve or decline a team; declining needs a reason, and ends no run: those that wait are scored."""
    require(entrant.benchmark, by, ORGANISER)
    reason = reason.strip()[:500]
    if not approve and not reason:
        raise DomainError("reason_needed", "Give a reason; the team reads it.", field="reason")
    require_visible(reason, field="reason")
    before = Entrant.objects.select_for_update(no_key=True).get(pk=entrant.pk).state
    entrant.state = Entrant.State.APPROVED if approve else Entrant.State.DECLINED
    entrant.reason, entrant.decided_by, entrant.decided_at = reason, by, timezone.now()
    entrant.save(update_fields=["state", "reason", "decided_by", "decided_at"])  # the team may accept terms
    after = {"state": entrant.state, "reason": reason}
    record(entrant.benchmark, "entrant", by=by, about=entrant.team.slug, before=before, after=after)
    return entrant
