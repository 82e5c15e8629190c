"""Attacks on people through their browser: scripts in texts, forms of other sites, links that lead away."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import Client

from annotation.models import Annotator, Batch, Item, OntologyLabel, Project, Vote
from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.formats.csv_lines import FORMULAS
from evalsvc.evaluation.models import Benchmark, Setting, Submission, System
from tests.permissions.requester import Requester, rolled_back
from tests.permissions.table import API, PAGES
from tests.places.extent import FULL

MARKER = "\"'><i7 onerror=x>"
TEXTS = {
    User: ("first_name", "last_name", "email"),
    Team: ("name",),
    ApiToken: ("name",),
    Project: ("title", "guideline", "na_means"),
    OntologyLabel: ("title", "group", "definition", "phrase"),
    Item: ("text",),
    Batch: ("filename", "reason"),
    Annotator: ("name", "pause_reason"),
    Vote: ("comment",),
    Benchmark: ("title", "summary", "description"),
    Setting: ("title",),
    System: ("name",),
    Submission: ("run", "filename", "reason"),
}
SENT = sorted(row for row, method in PAGES if method == "POST")
VIEWERS = ("anon", "anno", "adju", "cura", "memb", "orga", "root")
AWAY = ("https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "///evil.example")


@pytest.fixture
def with_markers(requester: Requester) -> Iterator[Requester]:
    """Put the marker into the texts that people may choose."""
    with rolled_back():
        for model, fields in TEXTS.items():
            for field in fields:
                model._default_manager.update(**{field: Concat(F(field), Value(MARKER))})
        yield Requester(requester.cast)  # its sessions end with the markers


def test_no_page_holds_an_element_from_a_text(with_markers: Requester) -> None:
    found, escaped = [], 0
    for at, (row, method) in enumerate(PAGES):
        admitted = [who for who in VIEWERS if PAGES[row, method][who].startswith("2") and method == "GET"]
        # the one who sees most, and the others in turn
        for who in admitted if FULL else {*admitted[-1:], *admitted[at % len(VIEWERS) :: len(VIEWERS)]}:
            reply = with_markers.request(row, method, who)
            kind = reply.response.headers.get("Content-Type", "")
            escaped += "&lt;i7" in reply.content
            if "<i7" in reply.content and kind.startswith(("text/html", "image/svg")):
                found.append((row, who))
    assert found == []
    assert escaped > 50


def test_no_cell_of_a_download_begins_like_a_formula(requester: Requester) -> None:
    tables, guarded = set(), 0
    with rolled_back():
        for model, fields in TEXTS.items():
            for field in fields:
                model._default_manager.update(**{field: Concat(Value("=1+"), F(field))})
        reader = Requester(requester.cast)
        for row in sorted(
            row for row, method in PAGES if method == "GET" and PAGES[row, method]["root"] == "200"
        ):
            reply = reader.request(row, "GET", "root")
            if not reply.response.headers.get("Content-Type", "").startswith("text/csv"):
                continue
            tables.add(row)
            cells = [cell for line in csv.reader(io.StringIO(reply.content)) for cell in line]
            guarded += sum(cell.startswith("'=") for cell in cells)
            assert [cell for cell in cells if cell.startswith(FORMULAS) and not is_number(cell)] == [], row
    assert len(tables) >= 8
    assert guarded >= 5


def is_number(cell: str) -> bool:
    """Plain numbers may begin with a sign."""
    return re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", cell) is not None


@pytest.mark.parametrize("row", SENT)
def test_every_form_needs_the_token_of_its_page(requester: Requester, row: str) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(requester.cast["root"])
    other_site = {"Origin": "https://evil.example"}
    with rolled_back():
        answers = [
            browser.post(requester.address(row), headers=headers).status_code for headers in ({}, other_site)
        ]
    assert answers == [403, 403]


def test_every_write_of_the_api_by_session_needs_the_token_of_a_page(requester: Requester) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(requester.cast["root"])
    for row, method in API:
        if method == "GET":
            continue
        for kind in ("application/json", "text/plain"):
            with rolled_back():
                send = getattr(browser, method.lower())
                answer = send(requester.address(row), data="{}", content_type=kind)
            assert answer.status_code == 403, (row, method, kind)


@pytest.mark.parametrize("target", AWAY)
def test_logging_in_leads_to_no_other_site(requester: Requester, target: str) -> None:
    with rolled_back():
        form = {"username": "sam", "password": "harbour-lamp-7", "next": target}
        answer = Client().post("/login/", form, headers={"X-Forwarded-Host": "evil.example"})
    assert answer.status_code == 302
    assert "evil" not in answer["Location"]
    assert answer["Location"].startswith("/")


@pytest.mark.parametrize(
    "address", ["/", "/login/", "/boards/", "/boards/tides/", "/docs/measures/", "/none/"]
)
def test_a_page_lets_no_other_site_frame_or_script_it(requester: Requester, address: str) -> None:
    headers = requester.send(address, "GET", "anon").response.headers
    policy = dict(rule.split(maxsplit=1) for rule in headers["Content-Security-Policy"].split(";"))
    closed = ("default-src", "object-src", "base-uri", "frame-ancestors")
    assert {policy.pop(name) for name in closed} == {"'none'"}
    assert policy.pop("img-src") == "'self' data:"
    assert set(policy.values()) == {"'self'"}
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"


def test_the_cookie_of_a_session_is_closed_to_scripts_and_other_sites(requester: Requester) -> None:
    client = Client()
    with rolled_back():
        client.post("/login/", {"username": "sam", "password": "harbour-lamp-7"})
    cookie = client.cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


@pytest.mark.parametrize(
    "address",
    [
        *("/", "/login/", "/api/v1/limits", "/api/v1/none", "/none/"),
        *("/boards/tides/board.csv", "/boards/tides/schemes.svg"),
    ],
)
def test_no_answer_lets_another_site_read_it(requester: Requester, address: str) -> None:
    with rolled_back():
        response = Client().get(address, headers={"Origin": "https://evil.example"})
    headers = response.headers
    assert not [name for name in headers if name.lower().startswith("access-control-")]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    kind = headers["Content-Type"]
    assert "json" in kind or "charset=utf-8" in kind


@pytest.mark.parametrize("address", ["/boards/", "/api/v1/limits"])
def test_an_unexpected_fault_shows_nothing_of_it_and_is_logged(
    requester: Requester, address: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: Any) -> NoReturn:
        raise RuntimeError("sesame")

    monkeypatch.setattr("django.core.handlers.base.BaseHandler.check_response", fail)
    with rolled_back():
        response = Client(raise_request_exception=False).get(address)
    assert response.status_code == 500
    text = response.content.decode()
    assert not {"sesame", "Traceback", "RuntimeError"} & set(re.findall(r"\w+", text))
    assert "sesame" in caplog.text


@pytest.mark.parametrize(
    "row",
    [
        *("sentences", "sentence", "disputes", "dispute", "comments", "annotator"),
        *("api-items", "api-disputes", "api-dispute", "api-comments", "api-history"),
        *("board-errors", "api-errors", "board-entrants", "version-moves", "api-version-moves"),
    ],
)
def test_pages_of_answers_and_gold_are_stored_by_no_browser(requester: Requester, row: str) -> None:
    who = "orga" if row.startswith(("board", "version", "api-errors", "api-version")) else "cura"
    reply = requester.request(row, "GET", who)
    assert (reply.outcome, "no-store" in reply.response.headers["Cache-Control"]) == ("200", True)


@pytest.mark.parametrize(
    ("row", "who"),
    [
        ("test-set-lines", "cura"),
        ("judgments", "cura"),
        ("api-test-set-lines", "cura"),
        ("api-judgments", "cura"),
        ("api-inputs", "memb"),
    ],
)
def test_downloads_of_secrets_are_stored_nowhere_on_the_way(requester: Requester, row: str, who: str) -> None:
    reply = requester.request(row, "GET", who)
    assert reply.response.status_code == 200
    assert "no-store" in reply.response.headers["Cache-Control"]
    named = reply.response.headers["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="[\w.-]+"', named)


@pytest.mark.parametrize(
    ("method", "address", "status"),
    [
        *[("TRACE", address, 405) for address in ("/", "/login/", "/boards/", "/docs/measures/")],
        ("TRACE", "/api/v1/limits", 401),
        *[("GET", address, 404) for address in ("/static/", "/files-are-never-served-directly/", "/.git/")],
    ],
)
def test_nothing_is_traced_and_no_folder_listed(
    requester: Requester, method: str, address: str, status: int
) -> None:
    with rolled_back():
        response = Client().generic(method, address, headers={"X-Secret": "sesame"})
    assert response.status_code == status
    assert "sesame" not in response.content.decode()
