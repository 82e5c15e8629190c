"""Public digest of a gold: a commitment while labels are held back.

The plain digest checks any guess of the labels offline. A commitment adds a secret random salt, which is
shown with the digest later, so that everybody can verify that the gold stayed the same.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.testset import TestSet
from evalsvc.evaluation.models import Setting, SettingVersion


def secret_versions(at: datetime | None = None) -> QuerySet[SettingVersion]:
    """Return the versions of settings that hide gold, seal scores or are yet to open.

    Gold that anybody may download is no secret, whoever hides a copy of it.
    """
    now = at or timezone.now()
    hiding = Q(setting__disclosure=Setting.Disclosure.HIDDEN) | Q(setting__sealed=True)
    running = Q(setting__closes_at=None) | Q(setting__closes_at__gt=now)
    public = TestSet.objects.with_public_gold().filter(sha256=OuterRef("gold_sha256"))
    secret = hiding & running | Q(setting__opens_at__gt=now)
    return SettingVersion.objects.filter(secret).exclude(Exists(public))


def secret_golds(golds: Collection[str] | None = None) -> set[str]:
    """Return the digests of secret golds, by default of all.

    A gold is secret while any setting, under any version of it, hides it, seals its scores or is yet to open.
    """
    versions = secret_versions()
    if golds is not None:
        versions = versions.filter(gold_sha256__in=golds)
    return set(versions.values_list("gold_sha256", flat=True))


def count_hiding(test_set: TestSet) -> int:
    """Count the settings that hide or seal this gold until they close."""
    return secret_versions().filter(gold_sha256=test_set.sha256).values("setting").distinct().count()


def new_salt(setting: Setting, gold_sha256: str) -> str:
    """Return a random salt, or that of an earlier version."""
    same = setting.versions.filter(gold_sha256=gold_sha256).values_list("gold_salt", flat=True)
    return same.first() or secrets.token_hex(32)


def commitment(salt: str, gold_sha256: str) -> str:
    """Return the SHA-256 of salt and digest, both in hexadecimal."""
    return hashlib.sha256((salt + gold_sha256).encode()).hexdigest()


def of_version(version: SettingVersion, secret: Collection[str] | None = None) -> dict[str, str]:
    """Return the commitment; with digest and salt unless held back.

    `secret` are the secret golds, if they are known. The gold of a version with `only` has lines that its
    setting never shows.
    """
    digest, salt = version.gold_sha256, version.gold_salt
    names = {"gold_commitment": commitment(salt, digest)}
    if secret is None:
        known = version.gold_is_secret
        secret = secret_golds([digest]) if known is None else [digest] if known else ()
    held_back = version.only_id or digest in secret
    return names if held_back else names | {"gold_sha256": digest, "gold_salt": salt}


def version_of(setting: Setting, gold_sha256: str) -> SettingVersion:
    """Return the newest version of a setting with a gold."""
    return next(each for each in reversed(setting.versions.all()) if each.gold_sha256 == gold_sha256)


def newest(setting: Setting) -> SettingVersion:
    """Return the newest version, or the one a setting is shown as."""
    return next(each for each in setting.versions.all() if each.number == setting.version)


def in_words(names: dict[str, str]) -> str:
    """Name the digest shown, or else the commitment."""
    if "gold_sha256" in names:
        return f"sha256 {names['gold_sha256']}"
    return f"commitment {names['gold_commitment']}"
