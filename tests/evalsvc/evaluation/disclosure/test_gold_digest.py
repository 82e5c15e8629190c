"""Digests of gold as they leave: commitments while the gold is secret."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.models import Setting
from tests.cast.benchmarks import BenchmarkCast

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
HIDDEN, OPEN = Setting.Disclosure.HIDDEN, Setting.Disclosure.OPEN
PLACES = (
    "/api/v1/benchmarks/rel",
    "/api/v1/benchmarks/rel/board",
    "/api/v1/benchmarks/rel/settings/main/versions",
    "/boards/rel/",
    "/boards/rel/settings/main/",
)


def changed(cast: BenchmarkCast, **fields: Any) -> Setting:
    setting = cast.relations().settings.get()
    Setting.objects.filter(pk=setting.pk).update(**fields)
    setting.refresh_from_db()
    return setting


@pytest.mark.parametrize(
    ("fields", "held_back"),
    [
        ({"disclosure": OPEN}, False),
        ({"disclosure": HIDDEN}, True),
        ({"disclosure": HIDDEN, "closes_at": HOUR}, True),
        ({"disclosure": HIDDEN, "closes_at": -HOUR}, False),
        ({"disclosure": OPEN, "opens_at": HOUR}, True),
        ({"disclosure": OPEN, "opens_at": -HOUR}, False),
        ({"disclosure": OPEN, "sealed": True, "closes_at": HOUR}, True),
        ({"disclosure": OPEN, "sealed": True, "closes_at": -HOUR}, False),
    ],
)
def test_a_digest_is_held_back_until_the_gold_may_be_known(
    cast: BenchmarkCast, fields: dict[str, Any], held_back: bool
) -> None:
    times = {
        name: timezone.now() + value if isinstance(value, timedelta) else value
        for name, value in fields.items()
    }
    setting = changed(cast, **times)
    assert gold_digest.is_held_back(setting) is held_back
    names = gold_digest.of_version(setting)
    assert set(names) == {"gold_commitment"} | (set() if held_back else {"gold_sha256", "gold_salt"})


def test_the_salt_shown_at_closing_verifies_the_commitment(cast: BenchmarkCast) -> None:
    setting = changed(cast, disclosure=HIDDEN)
    before = gold_digest.of_version(setting)["gold_commitment"]
    setting.closes_at = timezone.now() - HOUR
    setting.save()
    after = gold_digest.of_version(setting)
    assert before == after["gold_commitment"] != after["gold_sha256"] == setting.test_set.sha256
    assert hashlib.sha256((after["gold_salt"] + after["gold_sha256"]).encode()).hexdigest() == before


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
    assert 0 < file_contract.count_items(setting) < whole
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
