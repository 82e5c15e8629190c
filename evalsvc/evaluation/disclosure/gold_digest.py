"""Public digest of a gold: a commitment while labels are held back.

The plain digest checks any guess of the labels offline. A commitment adds a secret random salt, which is
shown with the digest later, so that everybody can verify that the gold stayed the same.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations, product

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.testset import TestSet
from annotation.testset_overlap import Origins
from evalsvc.evaluation.models import Setting, SettingVersion


def secret_versions(at: datetime | None = None) -> QuerySet[SettingVersion]:
    """Return the versions of settings that hide gold, seal scores or are yet to open.

    Gold that anybody may download, perhaps under terms, is no secret, whoever hides a copy of it.
    """
    return _keeping(at).exclude(_published(TestSet.objects.with_public_gold()))


def _published(test_sets: QuerySet[TestSet]) -> Exists:
    return Exists(test_sets.filter(sha256=OuterRef("gold_sha256")))


def _keeping(at: datetime | None) -> QuerySet[SettingVersion]:
    now = at or timezone.now()
    hiding = Q(setting__disclosure=Setting.Disclosure.HIDDEN) | Q(setting__sealed=True)
    running = Q(setting__closes_at=None) | Q(setting__closes_at__gt=now)
    secret = hiding & running | Q(setting__opens_at__gt=now)
    return SettingVersion.objects.filter(secret)


class SecretGold:
    """What settings keep secret, under any version of them; it is read when first needed."""

    def __init__(self, at: datetime | None = None) -> None:
        self._at = at
        self._held = dict[int, bool]()

    @cached_property
    def _uses(self) -> tuple[dict[int, datetime], dict[str, datetime], set[str]]:
        """Test sets and digests of secret golds, each since its first use; digests of those under terms."""
        public = TestSet.objects.with_public_gold()
        rows = _keeping(self._at).exclude(_published(public.exclude(publication__access="terms")))
        rows = rows.annotate(under_terms=_published(public)).order_by("-created_at")
        sets, copies, agreed = dict[int, datetime](), dict[str, datetime](), set[str]()
        columns = ("test_set", "gold_sha256", "created_at", "under_terms")
        for test_set, digest, began, under_terms in rows.values_list(*columns):
            if under_terms:
                agreed.add(digest)
            else:
                sets[test_set] = copies[digest] = began
        return sets, copies, agreed

    def hides(self, test_set: TestSet) -> bool:
        """True if a setting keeps gold secret that may share lines with a test set."""
        sets, copies, _ = self._uses
        if test_set.pk in sets or test_set.sha256 in copies:
            return True
        return any(self._origins.may_share(each, test_set.pk) for each in sets)

    def hides_digest_of(self, version: SettingVersion) -> bool:
        """True if a setting keeps this gold secret, or did if it were not published under terms."""
        return version.gold_sha256 in self._uses[2] or self.holds_back(version)

    def holds_back(self, version: SettingVersion) -> bool:
        """True if a setting keeps the gold of a version secret, or in a hidden setting that of any version.

        Golds of versions differ in few labels: whoever knows the one knows most of the other.
        """
        return self.has_lines_of(version) or self._holds_versions_of(version.setting)

    def _holds_versions_of(self, setting: Setting) -> bool:
        if setting.pk not in self._held:
            hiding = setting.disclosure == Setting.Disclosure.HIDDEN
            self._held[setting.pk] = hiding and any(map(self.has_lines_of, setting.versions.all()))
        return self._held[setting.pk]

    @cached_property
    def _origins(self) -> Origins:
        return Origins()

    def has_lines_of(self, version: SettingVersion) -> bool:
        """True if a setting keeps the gold of a version secret, or gold that may share lines with it.

        Copies and sets of one origin count if they were in use before the setting of the version closed,
        or before its closing date was set, if that was later: anybody may have its gold since.
        """
        sets, copies, _ = self._uses
        ended_at = version.setting.ended_at
        until = max(ended_at, version.created_at) if ended_at else datetime.max.replace(tzinfo=UTC)
        if version.test_set_id in sets or copies.get(version.gold_sha256, until) < until:
            return True
        earlier = [test_set for test_set, began in sets.items() if began < until]
        return any(self._origins.may_share(test_set, version.test_set_id) for test_set in earlier)


def on_shared_gold(benchmarks: Collection[int]) -> dict[int, set[int]]:
    """Return, of each setting of these benchmarks, the others of its benchmark whose gold may share lines."""
    used: dict[int, dict[int, set[tuple[int, str]]]] = defaultdict(lambda: defaultdict(set))
    versions = SettingVersion.objects.filter(setting__benchmark__in=benchmarks)
    columns = ("setting__benchmark", "setting", "test_set", "gold_sha256")
    for benchmark, setting, *gold in versions.values_list(*columns):
        used[benchmark][setting].add(tuple(gold))
    origins, shared = Origins(), defaultdict[int, set[int]](set)
    for of_settings in used.values():
        for (one, its), (other, others) in combinations(of_settings.items(), 2):
            if any(a[1] == b[1] or origins.may_share(a[0], b[0]) for a, b in product(its, others)):
                shared[one].add(other)
                shared[other].add(one)
    return shared


def others_on_gold(setting: Setting) -> QuerySet[Setting]:
    """Return other settings on gold of a setting, on a copy, or on gold that may share lines with it."""
    own = list(setting.versions.values_list("test_set", "gold_sha256"))
    keys = Origins().overlapping({test_set for test_set, _ in own})
    alike = Q(test_set__in=keys) | Q(gold_sha256__in={digest for _, digest in own})
    versions = SettingVersion.objects.filter(alike).exclude(setting=setting.pk)
    return Setting.objects.filter(pk__in=versions.values("setting"))


def count_hiding(*test_sets: TestSet) -> int:
    """Count the settings that hide or seal gold of these sets until they close."""
    versions = secret_versions().filter(gold_sha256__in={each.sha256 for each in test_sets})
    return versions.values("setting").distinct().count()


def new_salt(setting: Setting, gold_sha256: str) -> str:
    """Return a random salt, or that of an earlier version."""
    same = setting.versions.filter(gold_sha256=gold_sha256).values_list("gold_salt", flat=True)
    return same.first() or secrets.token_hex(32)


def commitment(salt: str, gold_sha256: str) -> str:
    """Return the SHA-256 of salt and digest, both in hexadecimal."""
    return hashlib.sha256((salt + gold_sha256).encode()).hexdigest()


def of_version(version: SettingVersion, secret: SecretGold | None = None) -> dict[str, str]:
    """Return the commitment; with digest and salt unless held back.

    The gold of a version with `only` has lines that its setting never shows.
    """
    digest, salt = version.gold_sha256, version.gold_salt
    names = {"gold_commitment": commitment(salt, digest)}
    held_back = version.only_id or (secret or SecretGold()).hides_digest_of(version)
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
