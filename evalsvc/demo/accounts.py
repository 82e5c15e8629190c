"""Accounts and teams of the demo.

Passwords are generated per data folder and stored there (mode 600).
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass

from evalsvc.core.accounts import teams
from evalsvc.core.accounts.models import Team, User
from evalsvc.demo.logins import ADJUDICATOR, CURATOR, passwords_path, read_passwords

ANNOTATORS = ("mirela", "jorund", "adaeze", "caetano")
FULL_NAMES = {
    CURATOR: "Solveig Marchetti",
    ADJUDICATOR: "Teodora Vinterholt",
    "ilse": "Ilse Kaveri",
    "bastien": "Bastien Okonjo",
    "noor": "Noor Halloran",
    "mirela": "Mirela Aspenhall",
    "jorund": "Jørund Tavares",
    "adaeze": "Adaeze Lindqvale",
    "caetano": "Caetano Skogmar",
}
TEAM_OWNERS = {"Fjordlight": "ilse", "Tidemark": "bastien", "Quillwork": "noor"}


@dataclass(frozen=True, slots=True)
class DemoAccounts:
    """Users by user name, teams by name."""

    users: dict[str, User]
    teams: dict[str, Team]


def ensure_accounts() -> DemoAccounts:
    """Create the users and teams that are missing."""
    passwords = read_passwords()
    if not passwords:
        passwords = {name: secrets.token_urlsafe(9) for name in FULL_NAMES}
        draft = passwords_path().with_suffix(".new")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(passwords, file)
        draft.replace(passwords_path())  # atomic: never half a file
    users = {name: _ensure_user(name, passwords[name]) for name in FULL_NAMES}
    existing = {team.name: team for team in Team.objects.filter(name__in=TEAM_OWNERS)}
    return DemoAccounts(
        users,
        {
            name: existing.get(name) or teams.create_team(name=name, by=users[owner])
            for name, owner in TEAM_OWNERS.items()
        },
    )


def _ensure_user(name: str, password: str) -> User:
    first, _, last = FULL_NAMES[name].partition(" ")
    user, created = User.objects.get_or_create(
        username=name,
        defaults={"first_name": first, "last_name": last, "may_organise": name == CURATOR},
    )
    if created:
        user.set_password(password)
        user.save(update_fields=["password"])
    return user
