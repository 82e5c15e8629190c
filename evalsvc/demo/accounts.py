"""The people of the demo; passwords are made for this data folder and kept in it (mode 600)."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from evalsvc.core.accounts import teams as membership
from evalsvc.core.accounts.models import Team, User
from evalsvc.demo.annotators import ANNOTATORS

CURATOR, ADJUDICATOR = "solveig", "teodora"
FULL_NAMES = {
    CURATOR: "Solveig Marchetti",
    ADJUDICATOR: "Teodora Vinterholt",
    "ilse": "Ilse Kaveri",
    "bastien": "Bastien Okonjo",
    "noor": "Noor Halloran",
} | {name: full for name, (full, _) in ANNOTATORS.items()}
TEAMS = {"Fjordlight": "ilse", "Tidemark": "bastien", "Quillwork": "noor"}
"""Team → its owner."""
SHOWN = {"annotator": next(iter(ANNOTATORS)), "adjudicator": ADJUDICATOR, "curator": CURATOR, "team": "ilse"}
"""What each log-in is for → user name."""


@dataclass(frozen=True, slots=True)
class Cast:
    """Everybody in the demo, by user name and by team name."""

    users: dict[str, User]
    teams: dict[str, Team]


def logins_path() -> Path:
    return Path(settings.DATA_DIR) / "demo-logins.json"


def logins() -> dict[str, str]:
    """User name → password, as made on the first start; empty when the demo was never loaded."""
    path = logins_path()
    return dict(json.loads(path.read_text())) if path.exists() else {}


def made_logins() -> dict[str, str]:
    """The passwords, made once."""
    if not logins():
        made = {name: secrets.token_urlsafe(9) for name in FULL_NAMES}
        draft = logins_path().with_suffix(".new")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump(made, file)
        draft.replace(logins_path())  # whole, or not there
    return logins()


def gather() -> Cast:
    """Users and teams, made where missing."""
    passwords = made_logins()
    users = {name: _user(name, passwords[name]) for name in FULL_NAMES}
    return Cast(users, {name: _team(name, users[owner]) for name, owner in TEAMS.items()})


def _user(name: str, password: str) -> User:
    first, _, last = FULL_NAMES[name].partition(" ")
    user, made = User.objects.get_or_create(
        username=name,
        defaults={"first_name": first, "last_name": last, "may_organise": name == CURATOR},
    )
    if made:
        user.set_password(password)
        user.save(update_fields=["password"])
    return user


def _team(name: str, owner: User) -> Team:
    return Team.objects.filter(name=name).first() or membership.create_team(name=name, by=owner)
