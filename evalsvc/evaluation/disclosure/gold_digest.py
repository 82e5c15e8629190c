"""Public digest of a gold: a commitment while labels are held back.

The plain digest checks any guess of the labels offline. A commitment adds a secret salt, which is shown with
the digest later, so that everybody can verify that the gold stayed the same.
"""

from __future__ import annotations

import hashlib

from django.utils import timezone
from django.utils.crypto import salted_hmac

from evalsvc.evaluation.disclosure.policy import is_hidden
from evalsvc.evaluation.models import Setting, SettingVersion
from evalsvc.evaluation.roles import is_sealed

SALT_OF_GOLD = "salt of the commitment to a gold"


def is_held_back(setting: Setting) -> bool:
    """True while the digest would disclose labels the setting does not show.

    The gold of a setting with `only` has lines that it never shows.
    """
    now = timezone.now()
    coming = setting.opens_at is not None and setting.opens_at > now
    return coming or setting.only_id is not None or is_sealed(setting, now) or is_hidden(setting, now)


def salt(gold_sha256: str) -> str:
    """Return the secret salt of a gold, derived from the secret key."""
    return salted_hmac(SALT_OF_GOLD, gold_sha256, algorithm="sha256").hexdigest()


def commitment(gold_sha256: str) -> str:
    """Return the SHA-256 of salt and digest, both in hexadecimal."""
    return hashlib.sha256((salt(gold_sha256) + gold_sha256).encode()).hexdigest()


def shown(setting: Setting, gold_sha256: str) -> dict[str, str]:
    """Return the commitment; with digest and salt unless held back."""
    names = {"gold_commitment": commitment(gold_sha256)}
    if not is_held_back(setting):
        names |= {"gold_sha256": gold_sha256, "gold_salt": salt(gold_sha256)}
    return names


def of_version(setting: Setting, version: SettingVersion | None = None) -> dict[str, str]:
    """Return the shown digests of a setting's gold, by default the present."""
    return shown(setting, version.gold_sha256 if version else setting.test_set.sha256)


def in_words(names: dict[str, str]) -> str:
    """Name the digest shown, or else the commitment."""
    if "gold_sha256" in names:
        return f"sha256 {names['gold_sha256']}"
    return f"commitment {names['gold_commitment']}"
