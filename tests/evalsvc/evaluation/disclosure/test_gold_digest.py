"""Digests of gold as they leave: commitments while the gold is secret."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.test import Client, override_settings
from django.utils import timezone

from annotation.releases import publishing
from evalsvc.evaluation.benchmarks import creation, file_contract, inputs, scoring_identity, versions
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.models import Setting, SettingVersion
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
HIDDEN, OPEN = Setting.Disclosure.HIDDEN, Setting.Disclosure.OPEN
REVISED = RELATION_GOLD[:5]
PLACES = (
    "/api/v1/benchmarks/rel",
    "/api/v1/benchmarks/rel/board",
    "/api/v1/benchmarks/rel/settings/main/versions",
    "/boards/rel/",
    "/boards/rel/settings/main/",
)
SECRET = [
    ({"disclosure": OPEN}, False),
    ({"disclosure": HIDDEN}, True),
    ({"disclosure": HIDDEN, "closes_at": HOUR}, True),
    ({"disclosure": HIDDEN, "closes_at": -HOUR}, False),
    ({"disclosure": OPEN, "opens_at": HOUR}, True),
    ({"disclosure": OPEN, "opens_at": -HOUR}, False),
    ({"disclosure": OPEN, "sealed": True, "closes_at": HOUR}, True),
    ({"disclosure": OPEN, "sealed": True, "closes_at": -HOUR}, False),
]


def change(setting: Setting, fields: Mapping[str, Any]) -> Setting:
    """Set fields, times relative to now."""
    now = timezone.now()
    times = {name: now + value if isinstance(value, timedelta) else value for name, value in fields.items()}
    Setting.objects.filter(pk=setting.pk).update(**times)
    setting.refresh_from_db()
    return setting


def changed(cast: BenchmarkCast, **fields: Any) -> Setting:
    return change(cast.relations().settings.get(), fields)


def shown(setting: Setting) -> dict[str, str]:
    return gold_digest.of_version(gold_digest.newest(setting))


@pytest.mark.parametrize(("fields", "held_back"), SECRET)
def test_a_digest_is_held_back_until_the_gold_may_be_known(
    cast: BenchmarkCast, fields: dict[str, Any], held_back: bool
) -> None:
    names = shown(changed(cast, **fields))
    assert set(names) == {"gold_commitment"} | (set() if held_back else {"gold_sha256", "gold_salt"})


@pytest.mark.parametrize(("fields", "held_back"), SECRET)
def test_one_setting_that_keeps_a_gold_secret_holds_its_digest_back_everywhere(
    cast: BenchmarkCast, fields: dict[str, Any], held_back: bool
) -> None:
    """The same lines, imported twice: the digest decides, not the name of the set."""
    open_one = changed(cast)
    again = freeze("again", RELATION_GOLD, by=cast.olga)
    other = cast.benchmark("other", settings=[("main", again, "bag", "micro_f1")], public=False)
    change(other.settings.get(), fields)
    assert ("gold_sha256" in shown(open_one)) is not held_back


@pytest.mark.parametrize(("access", "public"), [("anybody", True), ("named", False)])
def test_public_gold_stays_public_when_somebody_hides_a_copy_of_it(
    cast: BenchmarkCast, access: str, public: bool
) -> None:
    open_one = changed(cast)
    open_one.test_set.statistics = {}  # as its job leaves them
    open_one.test_set.save(update_fields=["statistics"])
    names = [cast.kim.username]
    publishing.publish(open_one.test_set, access=access, with_gold=True, usernames=names, by=cast.olga)
    again = freeze("again", RELATION_GOLD, by=cast.olga)
    cast.benchmark("other", settings=[("main", again, "bag", "micro_f1")], public=False)
    assert "gold_sha256" in shown(open_one)
    Setting.objects.filter(benchmark__slug="other").update(disclosure=HIDDEN)
    assert ("gold_sha256" in shown(open_one)) is public


@pytest.mark.parametrize(("access", "held_back"), [("anybody", False), ("terms", True)])
def test_terms_open_no_digest_before_the_setting_does(
    cast: BenchmarkCast, access: str, held_back: bool
) -> None:
    setting = changed(cast)
    setting.test_set.statistics = {}
    setting.test_set.save(update_fields=["statistics"])
    publishing.publish(setting.test_set, access=access, terms="Cite us.", with_gold=True, by=cast.olga)
    for fields, shows in (({"opens_at": HOUR}, not held_back), ({"opens_at": -HOUR}, True)):
        assert ("gold_sha256" in shown(change(setting, fields))) is shows


def test_the_former_gold_of_a_hidden_setting_is_held_back_too(cast: BenchmarkCast) -> None:
    """It has most labels of the present one."""
    open_one = changed(cast)
    hidden = cast.benchmark("other", settings=[("main", open_one.test_set, "bag", "micro_f1")]).settings.get()
    change(hidden, {"disclosure": HIDDEN})
    revised = freeze("revised", REVISED, by=cast.olga)
    creation.revise_setting(hidden, test_set=revised, by=cast.olga)
    assert "gold_sha256" not in shown(open_one)


@pytest.mark.parametrize("hidden_elsewhere", ["former", "newest"])
def test_a_closed_phase_shows_no_digest_of_any_version_while_another_hides_the_gold_of_one(
    client: Client, cast: BenchmarkCast, hidden_elsewhere: str
) -> None:
    """Golds of versions differ in few labels, and its figures are still rounded."""
    phase = changed(cast, disclosure=HIDDEN)
    golds = {"former": phase.test_set, "newest": freeze("revised", REVISED, by=cast.olga)}
    creation.revise_setting(phase, test_set=golds["newest"], by=cast.olga)
    settings = [("main", golds[hidden_elsewhere], "bag", "micro_f1")]
    other = cast.benchmark("other", settings=settings).settings.get()
    change(other, {"disclosure": HIDDEN})
    phase = change(phase, {"closes_at": timedelta()})
    digests = [each.gold_sha256 for each in phase.versions.all()]
    client.force_login(cast.kim)

    def found() -> list[bool]:
        replies = [client.get(place).content.decode() for place in PLACES]
        return [any(digest in reply for reply in replies) for digest in digests]

    assert found() == [False, False]
    change(other, {"closes_at": timedelta()})
    assert found() == [True, True]


def test_the_salt_shown_at_closing_verifies_the_commitment(client: Client, cast: BenchmarkCast) -> None:
    setting = changed(cast, disclosure=HIDDEN)
    before = shown(setting)["gold_commitment"]
    assert before in client.get(PLACES[-1]).content.decode()
    with override_settings(SECRET_KEY="another key, as after a move"):
        after = shown(change(setting, {"closes_at": -HOUR}))
    assert before == after["gold_commitment"] != after["gold_sha256"] == setting.test_set.sha256
    assert hashlib.sha256((after["gold_salt"] + after["gold_sha256"]).encode()).hexdigest() == before
    page = client.get(PLACES[-1]).content.decode()
    assert "sha256sum" in page
    assert all(name in page for name in after.values())


def test_each_setting_has_a_random_salt_that_a_new_scorer_keeps(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = changed(cast)
    other = cast.benchmark("other", settings=[("main", setting.test_set, "bag", "micro_f1")])
    monkeypatch.setattr(scoring_identity, "SCORER", "9.9")
    versions.keep_up(file_contract.newest_versions(setting.benchmark))
    first, second = setting.versions.values_list("gold_salt", flat=True)
    assert first == second != other.settings.get().versions.get().gold_salt
    assert len(first) == 64


def test_an_upgrade_keeps_the_salts_of_earlier_commitments(cast: BenchmarkCast) -> None:
    """They were derived from the secret key and the digest."""
    version = changed(cast).versions.get()
    drawn = version.gold_salt
    migration = import_module("evalsvc.evaluation.migrations.0006_salts")
    with override_settings(SECRET_KEY="k" * 50):
        for salt in (drawn, ""):
            SettingVersion.objects.update(gold_salt=salt, gold_sha256="ab" * 32)
            migration.keep_salts(apps, None)
            version.refresh_from_db()
            assert (version.gold_salt == drawn) is bool(salt)
    assert version.gold_salt == "b46624e294c229e928ef66c0eb7233c137f373617880cebf9e86edcb3bfb7528"


def test_a_sealed_board_promises_exact_figures_to_organisers_alone(
    client: Client, cast: BenchmarkCast
) -> None:
    changed(cast, disclosure=HIDDEN, sealed=True, closes_at=timezone.now() + HOUR)
    for person, promised in ((cast.kim, False), (cast.olga, True)):
        client.force_login(person)
        assert ("You see exact figures" in client.get("/boards/rel/").content.decode()) is promised


def test_the_page_of_a_split_counts_every_input(client: Client, cast: BenchmarkCast) -> None:
    setting = changed(cast, disclosure=HIDDEN)
    whole = setting.test_set.rows
    Setting.objects.filter(pk=setting.pk).update(share=0.5, share_seed="seed")
    setting.refresh_from_db()
    assert 0 < inputs.count_items(setting) < whole
    client.force_login(cast.kim)
    assert f"Download {whole} inputs" in client.get("/boards/rel/settings/main/").content.decode()


@pytest.mark.parametrize("where", PLACES)
def test_no_reply_on_a_hidden_setting_holds_the_digest(
    client: Client, cast: BenchmarkCast, where: str
) -> None:
    digest = changed(cast, disclosure=HIDDEN).test_set.sha256
    client.force_login(cast.kim)
    reply = client.get(where)
    assert reply.status_code == 200
    body = reply.content.decode()
    assert digest[:8] not in body
    assert "commitment" in body
