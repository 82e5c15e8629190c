"""What somebody must not see is nowhere they can look: pages, endpoints, links, errors, headers, logs."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction

from tests import cast as said
from tests.cast import Cast, guesses, jsonl
from tests.permissions.asking import PEOPLE, Answer, Door
from tests.permissions.crawling import crawled

GOLD = {said.GOLD_TEXT, said.GOLD_NAME, said.GOLD_TOKEN}
REMARKS = set(said.COMMENTS.values())
LABELLING = {said.TEXT, said.REASON} | REMARKS
RUNS = {said.FILE, said.RIVAL_FILE, said.TEAM_TOKEN}
WHOLE = GOLD | LABELLING | RUNS | {said.SOURCE, said.HIDDEN}
LABELLERS = {"Canaryann", "Canarybob", "Canaryjudy"}
TEAMS = {"Canarymia", "Canarykim", "Canarytess", "Canarylars"}
KELPIE = {said.FILE, said.TEAM_TOKEN, "Canarymia", "Canarykim", "Canarytess"}
# What each may see of all that is secret from visitors.
SEES: dict[str, set[str]] = {
    "anon": set(),
    "stra": set(),
    "view": set(),
    "anno": {said.TEXT, said.COMMENTS["ann"], "Canaryann"},
    "adju": {said.TEXT, said.REASON, "Canaryjudy"} | REMARKS,
    "cura": {said.TEXT, said.REASON, said.SOURCE, "Canarytess"} | REMARKS | LABELLERS,
    "else": set(),
    "memb": KELPIE,
    "ownr": KELPIE,
    "rivl": {said.RIVAL_FILE, "Canarylars"},
    "orga": GOLD | RUNS | TEAMS | {said.HIDDEN},
}
BROKEN = {
    "unknown id": guesses("born_in", "NA", "born_in", "NA", "born_in"),
    "missing ids": guesses("born_in"),
    "unknown label": guesses("was_born_in", "NA", "NA", "NA"),
    "no such pair": jsonl([{"h": "Q1", "t": "Q9", "relation": "born_in", "score": 1}]),
    "turned pair": jsonl([{"h": "T", "t": "Q1", "relation": "born_in", "score": 1}]),
    "half a line": b'{"id": "s1", "lab',
    "span outside": jsonl([{"id": "d1", "spans": [[0, 9, "PER"]]}]),
    "too few tags": jsonl([{"id": "d1", "tags": ["B-PER"]}]),
    "other words": b"Nobody B-PER\nleft O\n",
    "too few words": b"left O\n",
}


@pytest.fixture(scope="module")
def door(django_db_setup: None, django_db_blocker: Any) -> Iterator[Door]:
    with django_db_blocker.unblock(), transaction.atomic():
        yield Door(Cast.assembled())
        transaction.set_rollback(True)


def leaks(answer: Answer, who: str) -> set[str]:
    """What stands there and is not this person's to see."""
    shown = unescape(answer.content)
    return {secret for secret in (WHOLE | LABELLERS | TEAMS) - SEES[who] if secret in shown}


def of_inputs(where: str) -> bool:
    """The sentences to predict on are for whoever sees the board; their gold is not among them."""
    named = where.startswith(("GET api-inputs", "GET setting-inputs"))
    return named or where.rstrip("/").endswith("/inputs")


def of_an_import(where: str, who: str) -> bool:
    """Whoever brought a file reads there which labels it spells, and not which sentence has which."""
    return who == "cura" and re.search(r" (api-)?imports?\b| /(api/v1/)?imports/", where) is not None


@pytest.mark.parametrize("who", SEES)
def test_nobody_finds_what_is_not_theirs(door: Door, who: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    found = {where: leaked for where, answer in crawled(door, who) if (leaked := leaks(answer, who))}
    texts = {where: leaked - GOLD for where, leaked in found.items() if of_inputs(where)}
    assert {where: leaked for where, leaked in (found | texts).items() if leaked} == {}
    assert logged(caplog.records) == set()


def logged(records: Iterable[logging.LogRecord]) -> set[str]:
    return {secret for record in records for secret in WHOLE if secret in record.getMessage()}


@pytest.mark.parametrize(("who", "secrets"), [("cura", {said.SOURCE}), ("orga", GOLD)])
def test_gold_is_read_at_its_own_address_and_nowhere_else(door: Door, who: str, secrets: set[str]) -> None:
    """Those who may read it find it, so the crawl looks for words that are there."""
    heard = {where: {s for s in secrets if s in answer.content} for where, answer in crawled(door, who)}
    assert set().union(*heard.values()) == secrets
    elsewhere = {where for where, found in heard.items() if found and "lines" not in where}
    assert {where for where in elsewhere if not (of_inputs(where) or of_an_import(where, who))} == set()


@pytest.mark.parametrize("board", ["tides", "shoals"])
@pytest.mark.parametrize("fault", BROKEN)
def test_what_is_wrong_with_a_file_is_said_without_the_gold(door: Door, fault: str, board: str) -> None:
    for address in (f"/api/v1/benchmarks/{board}/check", f"/api/v1/benchmarks/{board}/submissions"):
        answer = sent(door, address, BROKEN[fault])
        assert answer.outcome in ("200", "422")
        assert '"error' in answer.content
        assert leaks(answer, "memb") == set()
    page = sent(door, f"/boards/{board}/submit/", BROKEN[fault])
    assert page.outcome == "422"
    assert leaks(page, "memb") == set()


def sent(door: Door, address: str, content: bytes) -> Answer:
    file = SimpleUploadedFile("run.jsonl", content)
    return door.fetch(address, "POST", "memb", data={"file": file, "system": "Net", "run": "9"})


def test_a_decider_sees_answers_and_no_names(door: Door) -> None:
    for row in ("dispute", "disputes", "api-dispute", "api-disputes"):
        answer = door.ask(row, "GET", "adju")
        assert answer.outcome == "200"
        shown = re.sub(r"<[^>]+>", " ", answer.content)
        assert not re.search(r"\b(ann|bob|Ann|Bob)\b", shown), row


def test_an_annotator_is_handed_a_sentence_and_nothing_about_it(door: Door) -> None:
    handed = door.ask("api-lease", "POST", "anno").response.json()
    told = {key: value for key, value in handed.items() if value}
    assert set(told) <= {"lease", "item", "base", "expires_at"}
    assert set(handed["item"]) == {"id", "text", "tokens", "head", "tail"}
    assert set(handed["item"]["head"]) <= {"name", "start", "end", "type"}


def test_an_annotator_finds_own_answers_only(door: Door) -> None:
    past = door.ask("api-history", "GET", "anno").response.json()["results"]
    assert {tuple(entry["payload"]["relations"]) for entry in past} == {("born_in",), ("lived_in",)}


def test_everybody_in_the_table_is_crawled() -> None:
    assert set(SEES) == {*PEOPLE} - {"root"}
