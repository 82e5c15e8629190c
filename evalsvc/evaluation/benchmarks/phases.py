"""Opening and sealing of settings."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from django.utils import timezone

from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.evaluation.benchmarks.file_contract import state_at
from evalsvc.evaluation.models import Setting
from evalsvc.evaluation.roles import ORGANISER, role_in

if TYPE_CHECKING:
    from evalsvc.evaluation.roles import Person


def is_sealed(setting: Setting, now: datetime | None = None) -> bool:
    """True while only organisers see the scores."""
    if not setting.sealed:
        return False
    return setting.closes_at is None or (now or timezone.now()) < setting.closes_at


def hidden_from(setting: Setting, person: Person | None) -> bool:
    """True while scores are hidden from a user (None: the public)."""
    return is_sealed(setting) and (person is None or role_in(setting.benchmark, person) != ORGANISER)


def sealed_until(setting: Setting) -> str:
    closes = f"{setting.closes_at:%Y-%m-%d %H:%M} UTC" if setting.closes_at else "it closes"
    return f"Scores of “{setting.title}” are sealed until {closes}."


def require_begun(setting: Setting, person: Person) -> None:
    """Reject a download before the setting opens, except by organisers."""
    if state_at(setting, timezone.now()) != "coming" or role_in(setting.benchmark, person) == ORGANISER:
        return
    opens = f"“{setting.title}” opens on {setting.opens_at:%Y-%m-%d %H:%M} UTC"
    raise Conflict("not_open_yet", f"{opens}. Its inputs are available from then on.")


def check_window(opens_at: datetime | None, closes_at: datetime | None, *, sealed: bool) -> None:
    """Reject dates out of order, and sealing without an end."""
    if opens_at and closes_at and closes_at <= opens_at:
        raise DomainError(
            "bad_window",
            "The setting closes before it opens. Choose a later closing time.",
            field="closes_at",
        )
    if sealed and closes_at is None:
        detail = "Sealed scores need a closing time. Enter one."
        raise DomainError("bad_window", detail, field="closes_at")
