"""When a setting takes submissions, which ones it scores, and from when on its scores are shown."""

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
    if state_at(setting, timezone.now()) != "coming" or role_in(setting.benchmark, person) == ORGANISER:
        return
    opens = f"“{setting.title}” opens at {setting.opens_at:%Y-%m-%d %H:%M} UTC"
    raise Conflict("not_open_yet", f"{opens}; its inputs are there from then on.")


def check_window(opens_at: datetime | None, closes_at: datetime | None, *, sealed: bool) -> None:
    if opens_at and closes_at and closes_at <= opens_at:
        raise DomainError("bad_window", "The setting would close before it opens.", field="closes_at")
    if sealed and closes_at is None:
        detail = "Scores that are sealed until the setting closes need a time at which it closes."
        raise DomainError("bad_window", detail, field="closes_at")
