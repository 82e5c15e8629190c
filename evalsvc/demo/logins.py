"""Logins of the demo as `make up` prints them, read without the database."""

from __future__ import annotations

import json
from pathlib import Path

from django.conf import settings

CURATOR, ADJUDICATOR = "solveig", "teodora"
PRINTED_LOGINS = {"annotator": "mirela", "adjudicator": ADJUDICATOR, "curator": CURATOR, "team": "ilse"}
"""Purpose → user name, in the order printed."""


def login_lines() -> list[str]:
    """Return the logins to print; none if the demo was never loaded."""
    passwords = read_passwords()
    logins = PRINTED_LOGINS.items() if passwords else ()
    return [f"  {purpose:<12} {name:<10} {passwords[name]}" for purpose, name in logins]


def read_passwords() -> dict[str, str]:
    """User name → password; empty if the demo was never loaded."""
    path = passwords_path()
    return dict(json.loads(path.read_text())) if path.exists() else {}


def passwords_path() -> Path:
    return Path(settings.DATA_DIR) / "demo-logins.json"
