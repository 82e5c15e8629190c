"""When a setting takes submissions, which ones it scores, and from when on its scores are shown."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.db.models import Q, QuerySet
from django.utils import timezone

from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.roles import ORGANISER, role_in

if TYPE_CHECKING:
    from evalsvc.evaluation.roles import Person


def taking(benchmark: Benchmark, at: datetime) -> QuerySet[Setting]:
    """The settings that take submissions at a time."""
    opened = Q(opens_at=None) | Q(opens_at__lte=at)
    not_closed = Q(closes_at=None) | Q(closes_at__gt=at)
    return benchmark.settings.filter(opened & not_closed).select_related("test_set", "only", "benchmark")


def scored(benchmark: Benchmark, phase: str, at: datetime) -> list[Setting]:
    """The settings that score what was submitted to a phase at a time."""
    return list(taking(benchmark, at).filter(phase__in=("", phase)))


def of_submission(submission: Submission) -> list[Setting]:
    return scored(submission.benchmark, submission.phase, submission.created_at)


def chosen(benchmark: Benchmark, phase: str, *, at: datetime) -> str:
    """The phase that a submission made then goes to: the one named, else the only one that is open."""
    open_now = list(taking(benchmark, at))
    phases = sorted({setting.phase for setting in open_now} - {""})
    if not open_now:
        raise _closed(benchmark, at)
    if phase and phase not in phases:
        told = ", ".join(phases) or "none"
        raise DomainError(
            "unknown_phase", f"{benchmark} has no open phase {phase}.", hint=f"Open: {told}.", field="phase"
        )
    if not phase and len(phases) > 1:
        told = " or ".join(phases)
        raise DomainError(
            "phase_needed", f"{benchmark} has several open phases.", hint=f"Name {told}.", field="phase"
        )
    return phase or (phases[0] if phases else "")


def _closed(benchmark: Benchmark, at: datetime) -> DomainError:
    if not benchmark.settings.exists():
        return DomainError(
            "no_setting", f"{benchmark} has no setting yet: there is nothing to score against."
        )
    coming = benchmark.settings.filter(opens_at__gt=at).order_by("opens_at").first()
    hint = f"“{coming.title}” opens at {coming.opens_at:%Y-%m-%d %H:%M} UTC." if coming else ""
    return DomainError("closed", f"{benchmark} takes no submissions now.", hint=hint)


def is_sealed(setting: Setting, now: datetime | None = None) -> bool:
    """Whether its scores are for organisers only, so far."""
    if not setting.sealed:
        return False
    return setting.closes_at is None or (now or timezone.now()) < setting.closes_at


def hidden_from(setting: Setting, person: Person | None) -> bool:
    """Whether this person may not see its scores yet; nobody in particular sees what everybody sees."""
    return is_sealed(setting) and (person is None or role_in(setting.benchmark, person) != ORGANISER)


def sealed_until(setting: Setting) -> str:
    closes = f"{setting.closes_at:%Y-%m-%d %H:%M} UTC" if setting.closes_at else "it closes"
    return f"The scores on “{setting.title}” are sealed until {closes}."


def require_begun(setting: Setting, person: Person) -> None:
    """Raise while a setting has not opened: until then its inputs are for organisers only."""
    if state_of(setting, timezone.now()) != "coming" or role_in(setting.benchmark, person) == ORGANISER:
        return
    opens = f"“{setting.title}” opens at {setting.opens_at:%Y-%m-%d %H:%M} UTC"
    raise Conflict("not_open_yet", f"{opens}; its inputs are there from then on.")


def check_window(opens_at: datetime | None, closes_at: datetime | None, *, sealed: bool) -> None:
    if opens_at and closes_at and closes_at <= opens_at:
        raise DomainError("bad_window", "The setting would close before it opens.", field="closes_at")
    if sealed and closes_at is None:
        detail = "Scores that are sealed until the setting closes need a time at which it closes."
        raise DomainError("bad_window", detail, field="closes_at")


def state_of(setting: Setting, now: datetime) -> str:
    """`coming`, `open` or `closed`."""
    if setting.opens_at and now < setting.opens_at:
        return "coming"
    return "closed" if setting.closes_at and setting.closes_at <= now else "open"
