"""Outcomes, and secrets in pages, responses, links, errors, headers and logs, crawled as everybody."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import projects
from annotation.models import (
    Adjudication,
    Annotator,
    Answer,
    Batch,
    Item,
    KnownAnswer,
    SourceLabels,
    Suggestion,
    Vote,
)
from annotation.page_urls import page_patterns as annotation_pages
from annotation.releases.folder import manifest_sha256
from annotation.testset import TestSet
from annotation.urls import api_patterns as annotation_api
from evalsvc.core.accounts import teams
from evalsvc.core.accounts.models import User
from evalsvc.evaluation.models import Organiser, Setting
from evalsvc.evaluation.roles import remove_person
from evalsvc.evaluation.urls import api_patterns as evaluation_api
from evalsvc.evaluation.urls import page_patterns as evaluation_pages
from tests.cast import service as canary
from tests.cast.basics import jsonl
from tests.cast.service import ServiceCast, predicted_labels
from tests.permissions.crawler import Crawler, name_of
from tests.permissions.requester import PEOPLE, Reply, Requester, rolled_back, routes
from tests.permissions.table import EXPECTED, REJECTED, REQUESTED
from tests.permissions.targets import request_body
from tests.places.extent import FULL, one_in

GOLD = {canary.GOLD_TEXT, canary.GOLD_NAME, canary.GOLD_TOKEN}
COMMENTS = set(canary.COMMENTS.values())
LABELLING = {canary.TEXT, canary.REASON} | COMMENTS
RUNS = {canary.FILE, canary.RIVAL_FILE, canary.TEAM_TOKEN}
SECRETS = GOLD | LABELLING | RUNS | {canary.SOURCE, canary.HIDDEN}
ANNOTATORS = {"Canaryann", "Canarybob", "Canaryjudy"}
TEAMS = {"Canarymia", "Canarykim", "Canarytess", "Canarylars"}
KELPIE = {canary.FILE, canary.TEAM_TOKEN, "Canarymia", "Canarykim", "Canarytess"}
# What each person may see of everything that is secret from visitors.
SEES: dict[str, set[str]] = {
    "anon": set(),
    "stra": set(),
    "view": set(),
    "anno": {canary.TEXT, canary.COMMENTS["ann"], "Canaryann"},
    "adju": {canary.TEXT, canary.REASON, "Canaryjudy"} | COMMENTS,
    "cura": {canary.TEXT, canary.REASON, canary.SOURCE, "Canarytess"} | COMMENTS | ANNOTATORS,
    "else": set(),
    "memb": KELPIE,
    "ownr": KELPIE,
    "rivl": {canary.RIVAL_FILE, "Canarylars"},
    "orga": GOLD | RUNS | TEAMS | {canary.HIDDEN},
}
BROKEN = {
    "unknown id": predicted_labels("born_in", "NA", "born_in", "NA", "born_in"),
    "missing ids": predicted_labels("born_in"),
    "unknown label": predicted_labels("was_born_in", "NA", "NA", "NA"),
    "no such pair": jsonl([{"h": "Q1", "t": "Q9", "relation": "born_in", "score": 1}]),
    "turned pair": jsonl([{"h": "T", "t": "Q1", "relation": "born_in", "score": 1}]),
    "half a line": b'{"id": "s1", "lab',
    "span outside": jsonl([{"id": "d1", "spans": [[0, 9, "PER"]]}]),
    "too few tags": jsonl([{"id": "d1", "tags": ["B-PER"]}]),
    "other words": b"Nobody B-PER\nleft O\n",
    "too few words": b"left O\n",
}


OTHER_ANSWER = {"spans": [], "relations": ["lived_in"]}
# Differs between any two requests: times, tokens, client-made ids.
VOLATILE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?|\b\d\d:\d\d\b"
    r"|(?<=^Expires: ).*|(?<=^Content-Length: ).*|(?<=^ETag: ).*|(?<=^X-Request-ID: ).*"
    r'|(?<=csrfmiddlewaretoken" value=")\w+|(?<="X-CSRFToken": ")\w+|(?<="X-CSRFTOKEN"] = ")\w+'
    r"|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{22}",
    re.MULTILINE,
)
QUEUES = re.compile(r"\b(api-)?status/?$")  # waiting times in seconds

# The routes of one half of the service, whose replies cannot depend on what is changed in the other.
LABELLING_ROUTES = frozenset(
    name for name, _ in routes([*annotation_pages, *annotation_api]) if "test-set" not in name
)
EVALUATION_ROUTES = frozenset(name for name, _ in routes([*evaluation_pages, *evaluation_api]))
# Every route that names an item.
ITEM_ROUTES = tuple(
    (name, "GET" if name == "api-dispute" else "POST")
    for name, pattern in routes()
    if "<uuid:id>" in str(pattern.pattern)
)


def leaks(reply: Reply, who: str) -> set[str]:
    """The secrets in a reply that this person may not see."""
    text = unescape(reply.content)
    return {secret for secret in (SECRETS | ANNOTATORS | TEAMS) - SEES[who] if secret in text}


def is_inputs(where: str) -> bool:
    """True for the sentences to predict, readable by everybody who sees the benchmark.

    Also for its errors: they show these sentences, with their labels where the gold is open.
    """
    named = where.startswith(
        (
            "GET api-inputs",
            "GET api-benchmark-inputs",
            "GET setting-inputs",
            "GET board-inputs",
            "GET board-errors",
            "GET api-errors",
        )
    )
    return named or where.rstrip("/").endswith("/inputs") or re.search(r"/errors[./]", where) is not None


def is_own_import(where: str, who: str) -> bool:
    """True for an import page, which shows its curator the labels that occur."""
    return who == "cura" and re.search(r" (api-)?imports?\b| /(api/v1/)?imports/", where) is not None


# Downloads of gold and of releases write a row of their log, comparisons one for each set.
LOG = 'INSERT INTO "annotation_download"'
LOGGED = {
    *("test-set-lines", "test-set-release", "test-set-export-file", "release-file"),
    *("test-set-release-part", "release-part", "test-set-changes", "api-test-set-changes"),
    *("api-test-set-lines", "api-test-set-release", "api-test-set-export", "api-release-file"),
}


@pytest.mark.parametrize("who", REQUESTED)
def test_everybody_gets_the_outcome_in_the_table(crawler: Crawler, who: str) -> None:
    replies = crawler.crawl(who)
    outcomes = {row: replies[name_of(row)].outcome for row in REQUESTED[who]}
    assert outcomes == {row: EXPECTED[row][who] for row in REQUESTED[who]}
    writing = {row for row, outcome in outcomes.items() if row[1] != "GET" and outcome not in REJECTED}
    for row in outcomes.keys() - writing:
        writes = replies[name_of(row)].writes
        logged = row[0].partition(":")[0] in LOGGED and len(writes) <= 2
        assert all(LOG in each for each in writes) if logged else writes == [], row


@pytest.mark.parametrize("who", SEES)
def test_nobody_reads_a_secret_of_others(crawler: Crawler, who: str) -> None:
    leaking = {where: leaks(reply, who) for where, reply in crawler.crawl(who).items()}
    leaking |= {where: secrets - GOLD for where, secrets in leaking.items() if is_inputs(where)}
    assert {where: secrets for where, secrets in leaking.items() if secrets} == {}
    assert crawler.logged
    assert {secret for message in crawler.logged for secret in SECRETS if secret in message} == set()


@pytest.mark.parametrize(("who", "secrets"), [("cura", {canary.SOURCE}), ("orga", GOLD)])
def test_gold_is_read_at_its_own_address_and_nowhere_else(
    crawler: Crawler, who: str, secrets: set[str]
) -> None:
    """Permitted readers see the gold, so the crawl looks for words that exist."""
    read = {where: {s for s in secrets if s in reply.content} for where, reply in crawler.crawl(who).items()}
    assert set().union(*read.values()) == secrets
    elsewhere = {where for where, secrets in read.items() if secrets and "lines" not in where}
    assert {where for where in elsewhere if not (is_inputs(where) or is_own_import(where, who))} == set()


@pytest.mark.parametrize("benchmark", ["tides", "shoals"])
@pytest.mark.parametrize("fault", BROKEN)
def test_problems_with_a_file_are_listed_without_the_gold(
    requester: Requester, fault: str, benchmark: str
) -> None:
    for act in ("check", "submissions"):
        reply = submit(requester, f"/api/v1/benchmarks/{benchmark}/{act}", BROKEN[fault])
        assert reply.outcome in ("200", "422")
        assert '"error' in reply.content
        assert leaks(reply, "memb") <= {canary.GOLD_TOKEN}  # a word of the inputs, which teams read
    page = submit(requester, f"/boards/{benchmark}/submit/", BROKEN[fault])
    assert page.outcome == "422"
    assert leaks(page, "memb") <= {canary.GOLD_TOKEN}


def submit(requester: Requester, address: str, content: bytes) -> Reply:
    file = SimpleUploadedFile("run.jsonl", content)
    return requester.send(address, "POST", "memb", data={"file": file, "system": "Net", "run": "9"})


@pytest.mark.parametrize("who", one_in(3, ("rivl", "memb", "anon")))
def test_no_reply_holds_the_digest_of_hidden_gold(crawler: Crawler, who: str) -> None:
    """Tides shows everything of a gold that Vault, which is not public, hides."""
    with rolled_back():
        hiding = Setting.objects.filter(benchmark__slug__in=("vault", "shoals"))
        hiding.update(disclosure=Setting.Disclosure.HIDDEN, closes_at=None)
        shown = {digest[:12] for digest in hiding.values_list("test_set__sha256", flat=True)}
        replies = crawler.crawl_again(who, frozenset() if FULL else LABELLING_ROUTES)
    assert len(shown) == 2
    assert {
        where for where, reply in replies.items() if any(part in reply.content for part in shown)
    } == set()


@pytest.mark.parametrize("who", SEES)
def test_only_people_who_may_learn_a_gold_read_its_digest(crawler: Crawler, who: str) -> None:
    """Viewers, adjudicators, and readers of a release without gold do not."""
    sets = TestSet.objects.filter(project=crawler.requester.cast.harbour)
    digests = {each.sha256[:12] for each in sets} | {manifest_sha256(each)[:12] for each in sets}
    replies = crawler.crawl(who)
    read = {digest for digest in digests for reply in replies.values() if digest in reply.content}
    assert (len(digests), bool(read)) == (4, who == "cura")


REMOVED = ("memb", "view", "anno", "adju", "cura", "orga")


def remove_everybody(cast: ServiceCast) -> None:
    for who in ("vera", "ann", "judy"):
        projects.remove_member(cast.harbour, user=cast[who], by=cast["cleo"])
    projects.remove_member(cast.harbour, user=cast["cleo"], by=cast["tess"])
    teams.remove_member(cast.kelpie, user=cast["mia"], by=cast["kim"])
    for benchmark in (cast.tides, cast.vault, cast.shoals):
        Organiser.objects.create(benchmark=benchmark, user=cast["root"], role="organiser")
        remove_person(benchmark, user=cast["olga"], by=cast["root"])
    User.objects.filter(pk=cast["olga"].pk).update(may_organise=False)
    TestSet.objects.filter(by=cast["olga"]).update(by=cast["root"])  # importers may read what they imported
    Batch.objects.filter(by=cast["olga"]).update(by=cast["root"])


@pytest.mark.parametrize("who", one_in(2, REMOVED))
def test_people_who_were_removed_read_what_strangers_read(requester: Requester, who: str) -> None:
    """By pages, API, logs, downloads and long polls.

    The labelling form alone offers former annotators their unsent answers.
    """
    for person in (who, "stra"):
        requester.client(person)  # its session outlives the changes
    own, differing, leaking = f"Canary{PEOPLE[who]}", {}, {}
    with rolled_back():
        addresses = {row: requester.address(row) for row, _ in EXPECTED}
        remove_everybody(requester.cast)
        for (row, method), outcomes in EXPECTED.items():
            if not FULL and outcomes[who] == outcomes["stra"] != "200":
                continue
            body = request_body(row, requester.cast) if method == "POST" else {}
            reply = requester.send(addresses[row], method, who, **body)
            if reply.outcome != outcomes["stra"] and (row, who) != ("label", "anno"):
                strange = requester.send(addresses[row], method, "stra", **body).outcome  # in their absence
                if reply.outcome != strange:
                    differing[row, method] = f"{strange} → {reply.outcome}"
            if not is_inputs(f"GET {row}") and (secrets := leaks(reply, "stra") - {own}):
                leaking[row, method] = secrets
    assert (differing, leaking) == ({}, {})


def test_an_adjudicator_sees_answers_and_no_names(requester: Requester) -> None:
    for row in ("dispute", "disputes", "api-dispute", "api-disputes"):
        reply = requester.request(row, "GET", "adju")
        assert reply.outcome == "200"
        text = re.sub(r"<[^>]+>", " ", reply.content)
        assert not re.search(r"\b(ann|bob|Ann|Bob)\b", text), row


def test_a_lease_contains_the_sentence_and_no_gold_or_answers(requester: Requester) -> None:
    lease = requester.request("api-lease", "POST", "anno").response.json()
    assert {key for key, value in lease.items() if value} <= {"lease", "item", "base", "expires_at"}
    assert set(lease["item"]) == {"id", "text", "tokens", "head", "tail"}
    assert set(lease["item"]["head"]) <= {"name", "start", "end", "type"}


def test_an_annotator_reads_own_answers_only(requester: Requester) -> None:
    votes = requester.request("api-history", "GET", "anno").response.json()["results"]
    assert {tuple(vote["payload"]["relations"]) for vote in votes} == {("born_in",), ("lived_in",)}


def test_everybody_in_the_table_is_crawled() -> None:
    assert set(SEES) == {*PEOPLE} - {"root"}


def stable_texts(replies: dict[str, Reply]) -> dict[str, str]:
    """Status, headers and body of each reply without what differs between any two requests."""
    return {
        where: f"{reply.response.status_code} {VOLATILE.sub('·', reply.content)}"
        for where, reply in replies.items()
        if not QUEUES.search(where)
    }


# The states of the sentences that have answers, in worlds that differ in every count of states.
WORLDS = (
    ("disputed", "settled", "adjudicated"),
    ("disputed", "disputed", "disputed"),
    ("settled", "settled", "settled"),
    ("adjudicated", "unusable", "disputed"),
)


def change_other_answers(cast: ServiceCast, states: tuple[str, ...]) -> None:
    """Change every answer but Ann's, and everything that follows from them."""
    others = Annotator.objects.filter(project=cast.harbour).exclude(user=cast["ann"])
    changes: tuple[tuple[QuerySet[Any], dict[str, Any]], ...] = (
        (
            Vote.objects.filter(annotator__in=others),
            {"payload": OTHER_ANSWER, "comment": "else", "flagged": False},
        ),
        (Answer.objects.filter(annotator__in=others), {"payload": OTHER_ANSWER}),
        (Adjudication.objects.all(), {"payload": OTHER_ANSWER, "reason": "else"}),
        (SourceLabels.objects.all(), {"labels": OTHER_ANSWER}),
        (KnownAnswer.objects.all(), {"payload": OTHER_ANSWER, "explains": "else"}),
    )
    for rows, values in changes:
        rows.update(**values)
    # suggestions exist, but are off as by default
    for at in range(4, 9):
        Suggestion.objects.create(item=cast.item(at), batch=cast.batch, payload=OTHER_ANSWER)
    for at, state in enumerate(states, 1):
        gold = OTHER_ANSWER if state in ("settled", "adjudicated") else None
        values = {"state": state, "gold": gold, "pattern": "1–1", "votes_key": "else", "policy_matters": True}
        Item.objects.filter(pk=cast.item(at).pk).update(**values)


def differing(crawler: Crawler, who: str, states: tuple[str, ...]) -> set[str]:
    """The replies to this person that change when everybody but Ann answered differently."""
    without = frozenset() if FULL else EVALUATION_ROUTES
    crawler.requester.client(who)  # its session outlives the changes
    with rolled_back():
        change_other_answers(crawler.requester.cast, states)
        after = stable_texts(crawler.crawl_again(who, without))
    before = stable_texts(crawler.crawl(who, without))
    return {where for where in before | after if before.get(where) != after.get(where)}


@pytest.mark.parametrize("states", one_in(3, WORLDS))
def test_an_annotator_reads_the_same_whatever_others_answered(
    crawler: Crawler, states: tuple[str, ...]
) -> None:
    assert differing(crawler, "anno", states) == set()


def test_hidden_checks_and_sentences_get_the_same_reply_at_every_address_of_an_item(
    requester: Requester,
) -> None:
    """The role is checked before the item: 404 for one and 403 for the other would tell them apart."""
    item = requester.cast.item(7)
    requester.client("anno")  # logged in, whatever is rolled back
    outcomes: dict[str, set[str]] = {}
    for use in ("", "check"):
        with rolled_back():
            Item.objects.filter(pk=item.pk).update(use=use)
            for name, method in ITEM_ROUTES:
                address = reverse(name, kwargs={"id": item.key})
                body = request_body(name, requester.cast) if method == "POST" else {}
                outcomes.setdefault(name, set()).add(requester.send(address, method, "anno", **body).outcome)
    assert {name: len(seen) for name, seen in outcomes.items()} == dict.fromkeys(outcomes, 1)
    assert {seen for name in ("api-dispute", "api-decision") for seen in outcomes[name]} == {"403"}


@pytest.mark.parametrize("at", [1, 7])  # settled, open
def test_adjudicators_get_the_same_reply_for_checks_and_for_sentences_without_a_dispute(
    requester: Requester, at: int
) -> None:
    """Annotators could ask an adjudicator which of their sentences exist."""
    item = requester.cast.item(at)
    requester.client("adju")  # logged in, whatever is rolled back
    decided = (
        reverse("dispute", args=["harbour", item.key]),
        reverse("second-reading", args=["harbour", item.key]),
    )
    requests = [(address, method, "") for address in decided for method in ("GET", "POST")]
    requests += [(reverse(name, kwargs={"id": item.key}), method, name) for name, method in ITEM_ROUTES]
    replies: list[list[tuple[str, str, bool]]] = []
    for use in ("", "check"):
        with rolled_back():
            Item.objects.filter(pk=item.pk).update(use=use)
            seen = replies.append([]) or replies[-1]
            for address, method, name in requests:
                body = request_body(name, requester.cast) if name and method == "POST" else {}
                reply = requester.send(address, method, "adju", **body)
                code = reply.response.json().get("code", "") if name else ""
                seen.append((reply.outcome, code, item.text in reply.content))
    assert replies[0] == replies[1]
    assert not any(shown for *_, shown in replies[0])
    assert {status for status, *_ in replies[0]} == {"403", "404", "409"}


@pytest.mark.parametrize("state", ["settled", "unusable"])
@pytest.mark.parametrize("asked", [0, 1])
def test_for_adjudicators_a_check_takes_the_same_statements_as_a_sentence_without_a_dispute(
    requester: Requester, state: str, asked: int
) -> None:
    """By the times of the same reply an adjudicator knew 6 of 6 checks."""
    item = requester.cast.item(1)
    requester.client("adju")  # logged in, whatever is rolled back
    statements: list[list[str]] = []
    for values in ({"state": state, "asked": asked}, {"use": "check", "state": "open"}):
        with rolled_back():
            Item.objects.filter(pk=item.pk).update(**values)
            for address in (
                reverse("api-dispute", args=[item.key]),
                reverse("dispute", args=["harbour", item.key]),
            ):
                with CaptureQueriesContext(connection) as queries:
                    assert requester.send(address, "GET", "adju").outcome == "404"
                statements.append([re.sub(r"\d+|'[^']*'", "?", each["sql"]) for each in queries])
    assert statements[:2] == statements[2:]


@pytest.mark.parametrize("row", ["disputes", "api-judgments", "api-insight", "progress"])
def test_a_curator_sees_others_answers_change(requester: Requester, row: str) -> None:
    """The comparison above would notice a difference."""
    before = stable_texts({row: requester.request(row, "GET", "cura")})
    with rolled_back():
        change_other_answers(requester.cast, WORLDS[0])
        assert stable_texts({row: requester.request(row, "GET", "cura")}) != before


def test_the_crawl_reaches_every_route(crawler: Crawler) -> None:
    replies = [reply for who in REQUESTED for reply in crawler.crawl(who).values()]
    matches = [reply.response.wsgi_request.resolver_match for reply in replies]
    assert {match.view_name.replace(":", "-") for match in matches if match} == {name for name, _ in routes()}
