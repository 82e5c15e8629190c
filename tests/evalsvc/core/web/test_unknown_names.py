"""Names that an endpoint does not know are errors."""

from __future__ import annotations

import html
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.forms import BaseForm
from django.test import Client
from django.urls import resolve

from evalsvc.core.accounts.tokens import issue
from evalsvc.core.web.unknown_names import (
    PAGE_QUERIES,
    REPEATED,
    SEVERAL,
    WITH_EVERY_FORM,
    PostedNames,
    _described,
)
from evalsvc.openapi import Generator
from tests.cast.basics import jsonl
from tests.cast.service import ServiceCast, predicted_scores
from tests.permissions.requester import Reply, Requester, endpoints, is_api, rolled_back, routes
from tests.permissions.table import API, PAGES
from tests.permissions.targets import request_body

READ = sorted(row for row, method in API if method == "GET" and ":" not in row)
BODIES = sorted((row, method) for row, method in API if method != "GET" and ":" not in row)
POSTED = sorted(row for row, method in PAGES if method == "POST" and ":" not in row and row != "sign-up")
WITH_FORMS = sorted(
    {row for row, method in PAGES if method == "GET"} & {row for row, method in PAGES if method == "POST"}
)
DESCRIPTION = {"api-docs", "schema"}  # with parameters of their own
OPENED = sorted(
    row
    for row, method in PAGES
    if method == "GET" and ":" not in row and not row.startswith("admin-") and row not in DESCRIPTION
)
ADMITTED = {"join": "anon", "submit": "memb"}  # elsewhere an administrator
# their buttons are named, not valued
BY_NAME = {"project-members", "test-set", "test-set-companions", "board-people", "setting-reported"}
BUTTONS = sorted(
    (name, button)
    for name, pattern in routes()
    for button in getattr(pattern.callback, "posted_names", PostedNames()).buttons
)
LISTS = ("/api/v1/projects", "/api/v1/benchmarks", "/api/v1/test-sets", "/api/v1/projects/harbour/disputes")


@pytest.fixture
def cast(requester: Requester) -> Iterator[ServiceCast]:
    with rolled_back():
        yield requester.cast


@pytest.fixture
def root(client: Client, cast: ServiceCast) -> Client:
    client.force_login(cast["root"])
    return client


def errors(answer: Any) -> dict[str, str]:
    assert answer.status_code == 400, answer.content
    assert answer.json()["code"] == "invalid_input"
    return {each["field"]: each["expected"] for each in answer.json()["errors"]}


@pytest.mark.parametrize("row", READ)
def test_no_endpoint_ignores_a_query_parameter(
    requester: Requester, row: str, capfd: pytest.CaptureFixture[str]
) -> None:
    _described.cache_clear()
    reply = requester.send(f"{requester.address(row)}?made_up=1", "GET", "root")
    assert "made_up" in errors(reply.response)
    assert "serializer" not in capfd.readouterr().err  # a plain line in the log of the web server


def test_every_described_query_parameter_is_known(requester: Requester) -> None:
    described = Generator().get_schema()["paths"]
    names = {path: name for name, path in endpoints().items()}
    for path, methods in described.items():
        parameters = [p["name"] for p in methods.get("get", {}).get("parameters", []) if p["in"] == "query"]
        if not parameters or path not in names:
            continue
        query = "&".join(f"{name}=" for name in parameters)
        reply = requester.send(f"{requester.address(names[path])}?{query}", "GET", "root")
        assert "Unknown query parameter" not in reply.content, path


def test_a_mistyped_filter_is_named_with_the_nearest_one(root: Client) -> None:
    found = errors(root.get("/api/v1/benchmarks/tides/submissions?sytem=Net"))
    assert found == {"sytem": "Unknown query parameter. Did you mean system?"}


def test_an_address_with_an_unknown_name_is_to_be_corrected_and_no_form_sent_again(
    client: Client, db: None
) -> None:
    reply = client.get("/boards/", {"stat": "open"})
    assert reply.status_code == 400
    assert "correct the address" in reply.content.decode()
    assert "form again" not in reply.content.decode()


def test_a_name_like_no_other_is_answered_with_all_names(root: Client) -> None:
    found = errors(root.get("/api/v1/benchmarks?x=1"))
    assert found == {"x": "Unknown query parameter. Known here: cursor, page_size, task."}
    assert errors(root.get("/api/v1/limits?x=1"))["x"].endswith("None is known here.")


def test_a_filter_with_two_values_is_an_error(root: Client) -> None:
    assert "state" in errors(root.get("/api/v1/projects?state=open&state=closed"))


@pytest.mark.parametrize("size", ["0", "-1", "201", "ten", "1.5", "٣", "9" * 5_000])
@pytest.mark.parametrize("address", LISTS)
def test_an_odd_page_size_is_an_error(root: Client, address: str, size: str) -> None:
    assert "from 1 to 200" in errors(root.get(address, {"page_size": size}))["page_size"]


@pytest.mark.parametrize("number", ["51", "-1", "9" * 5_000, "00000000001"])
def test_an_odd_number_of_past_answers_is_an_error(root: Client, number: str) -> None:
    assert "from 0 to 50" in errors(root.get("/api/v1/projects/harbour/history", {"n": number}))["n"]


def test_an_unknown_field_of_a_body_is_named_with_the_nearest_one(root: Client, cast: ServiceCast) -> None:
    body = {"title": "New", "kind": "relations", "polcy": "majority"}
    found = errors(root.post("/api/v1/projects", body, content_type="application/json"))
    assert found == {"polcy": "Unknown field. Did you mean policy?"}
    assert not cast.harbour.__class__.objects.filter(title="New").exists()


def test_unknown_fields_are_named_beside_the_other_errors(root: Client) -> None:
    found = errors(root.post("/api/v1/projects", {"tite": "New"}, content_type="application/json"))
    assert set(found) == {"title", "kind", "tite"}


def test_unknown_fields_are_found_inside_other_fields(root: Client, cast: ServiceCast) -> None:
    body = {"client_id": "0" * 32, "payload": {"relations": [], "span": []}}
    answer = root.post(f"/api/v1/items/{cast.item(2).key}/answer", body, content_type="application/json")
    assert errors(answer) == {"payload.span": "Unknown field. Did you mean spans?"}
    board = {"slug": "n", "title": "N", "task": "relations", "labels": [{"name": "a", "titel": "A"}]}
    answer = root.post("/api/v1/benchmarks", board, content_type="application/json")
    assert errors(answer) == {"labels.0.titel": "Unknown field. Did you mean title?"}


@pytest.mark.parametrize("what", ["submissions", "check"])
def test_an_unknown_field_of_a_submission_is_an_error(client: Client, cast: ServiceCast, what: str) -> None:
    client.force_login(cast["mia"])
    file = SimpleUploadedFile("lines.jsonl", predicted_scores(0.3))
    form = {"file": file, "system": "Net", "run": "9", "phas": "test"}
    answer = client.post(f"/api/v1/benchmarks/tides/{what}", form)
    assert errors(answer) == {"phas": "Unknown field. Did you mean phase?"}
    form = {"file": SimpleUploadedFile("a", b"{}"), "fil": SimpleUploadedFile("b", b"{}"), "system": "Net"}
    assert "fil" in errors(client.post(f"/api/v1/benchmarks/tides/{what}", form))


def test_an_unknown_field_of_an_import_is_an_error(root: Client) -> None:
    form = {"file": SimpleUploadedFile("items.jsonl", jsonl([])), "what": "items", "fromat": "jsonl"}
    found = errors(root.post("/api/v1/projects/harbour/imports", form))
    assert found["fromat"] == "Unknown field. Did you mean format?"


@pytest.mark.parametrize("row", BODIES)
def test_no_endpoint_ignores_a_field(requester: Requester, row: tuple[str, str]) -> None:
    body = request_body(row[0], requester.cast)
    body["data"] = body.get("data", {}) | {"made_up": "1"}
    reply = requester.send(requester.address(row[0]), row[1], "root", **body)
    assert "made_up" in errors(reply.response)
    assert not reply.writes


@pytest.mark.parametrize("content", ["1", "[]", "{", '{"a": 1, "a": 2}', '{"\\ud800": 1}', "[" * 90_000])
def test_an_endpoint_without_fields_takes_an_empty_object_alone(
    root: Client, cast: ServiceCast, content: str
) -> None:
    address = f"/api/v1/submissions/{cast.queued.pk}/cancel"
    assert errors(root.post(address, content, content_type="application/json"))
    assert root.post(address, {}, content_type="application/json").status_code == 200


def test_an_endpoint_without_fields_takes_an_empty_form(root: Client, cast: ServiceCast) -> None:
    address = f"/api/v1/submissions/{cast.queued.pk}/cancel"
    assert "made_up" in errors(root.post(address, {"made_up": "1"}))
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(cast["root"])
    browser.cookies["csrftoken"] = token = "t" * 32
    assert browser.post(address, {}, headers={"X-CSRFToken": token}).status_code == 200


def test_a_body_is_read_for_nobody_without_a_valid_token(
    client: Client, cast: ServiceCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.core.web.unknown_names.json", None)
    address = f"/api/v1/submissions/{cast.queued.pk}/cancel"
    _, secret = issue(cast["mia"], name="reading", scope="read")
    for header, status in (({}, 401), ({"Authorization": f"Bearer {secret}"}, 403)):
        answer = client.post(address, [[]], content_type="application/json", headers=header)
        assert answer.status_code == status
        assert client.post(address, {"made_up": "1"}, headers=header).status_code == status


def test_a_large_body_for_an_endpoint_without_fields_is_rejected_unread(
    root: Client, cast: ServiceCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalsvc.core.web.unknown_names.json", None)
    address = f"/api/v1/submissions/{cast.queued.pk}/cancel"
    assert "body" in errors(root.post(address, "[" + "[]," * 4_000 + "1]", content_type="application/json"))
    assert "body" in errors(root.post(address, {"made_up": "1" * 12_000}))


@pytest.mark.parametrize("row", POSTED)
def test_no_page_ignores_a_field(requester: Requester, row: str) -> None:
    body = request_body(row, requester.cast)
    body["data"] = body.get("data", {}) | {"made_up": "1"}
    assert_named(requester.send(requester.address(row), "POST", ADMITTED.get(row, "root"), **body))


class Forms(HTMLParser):
    """The forms of a page that post: action, fields, and a button each."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str], list[tuple[str, str]]]] = []
        self.names: list[list[str]] = []  # of each form, but of one that a group of radio buttons shares once
        self.inside = False
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        at = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = at.get("method") == "post"
            if self.inside:
                self.found.append((at.get("action", ""), {}, []))
                self.names.append([])
        elif self.inside and at.get("name"):
            if tag == "button":
                self.found[-1][2].append((at["name"], at.get("value", "")))
            elif tag in ("input", "select", "textarea"):
                self.found[-1][1][at["name"]] = at.get("value", "")
                if at.get("type") != "radio":
                    self.names[-1].append(at["name"])

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "form"


@pytest.mark.parametrize("row", WITH_FORMS)
def test_no_form_or_button_of_a_page_ignores_a_field(requester: Requester, row: str) -> None:
    address = requester.address(row)
    forms = Forms(requester.send(address, "GET", "root").content).found
    for action, fields, buttons in forms:
        for button in buttons or [None]:
            data = fields | dict([button] if button else []) | {"made_up": "1"}
            assert_named(requester.send(action or address, "POST", "root", data=data))


@pytest.mark.parametrize(("row", "button"), BUTTONS)
def test_no_action_without_a_form_ignores_a_field(requester: Requester, row: str, button: str) -> None:
    data = {"action": button, "change": button, button: "1", "made_up": "1"}
    assert_named(requester.send(requester.address(row), "POST", "root", data=data))


@pytest.mark.parametrize("row", OPENED)
def test_no_page_reads_one_of_two_values_in_its_address(requester: Requester, row: str) -> None:
    """The last one won, without a word."""
    for name in {*(PAGE_QUERIES.get(row) or ["made_up"])} - {*SEVERAL.get(row, ())}:
        reply = requester.send(f"{requester.address(row)}?{name}=1&{name}=2", "GET", "root")
        assert reply.response.status_code == 400
        assert f"{name}: " in reply.content


@pytest.mark.parametrize("row", [row for row in WITH_FORMS if not row.startswith("admin-")])
def test_no_page_reads_one_of_two_values_of_a_form_and_no_form_has_two(
    requester: Requester, row: str
) -> None:
    address = requester.address(row)
    forms = Forms(requester.send(address, "GET", "root").content)
    for (action, fields, _), names in zip(forms.found, forms.names, strict=True):
        several = {*SEVERAL.get(resolve(urlsplit(action or address).path).view_name, ())}
        assert {name for name in names if names.count(name) > 1} <= several
        for name in fields.keys() - several - WITH_EVERY_FORM:
            reply = requester.send(action or address, "POST", "root", data=fields | {name: ["1", "2"]})
            assert reply.response.status_code == 400
            assert f"{name}: {REPEATED}" in html.unescape(reply.content)
            assert not reply.writes


def test_every_list_of_a_form_is_one_of_a_page(requester: Requester) -> None:
    lists = {
        name
        for form in subclasses(BaseForm)
        if form.__module__.startswith(("annotation.", "evalsvc."))
        for name, field in getattr(form, "base_fields", {}).items()
        if getattr(field.widget, "allow_multiple_selected", False)
    }
    assert lists
    assert lists <= {name.split("-")[-1] for names in SEVERAL.values() for name in names}


def subclasses(base: Any) -> Iterator[Any]:
    for each in base.__subclasses__():
        yield each
        yield from subclasses(each)


@pytest.mark.parametrize("content", ['{"title": "a", "title": "b"}', '{"options": {"k": 1, "k": 1}}'])
def test_json_that_has_a_name_twice_is_an_error(root: Client, cast: ServiceCast, content: str) -> None:
    found = errors(root.post("/api/v1/projects", content, content_type="application/json"))
    assert [*found.values()] == ["Sent more than once. Send one."]


def test_a_page_that_takes_one_file_reads_none_of_two(root: Client) -> None:
    files = [SimpleUploadedFile(name, b"{}") for name in ("a.jsonl", "b.jsonl")]
    reply = root.post("/projects/harbour/import/", {"upload": files})
    assert reply.status_code == 400
    assert f"upload: {REPEATED}" in reply.content.decode()


def assert_named(reply: Reply) -> None:
    """The field is named, and nothing was stored."""
    assert reply.response.status_code in (200, 400, 422)
    assert "made_up: " in reply.content
    assert not [write for write in reply.writes if "teams_passwordtry" not in write]


@pytest.mark.parametrize("row", sorted({row for row, _ in BUTTONS} - BY_NAME | {"account", "annotator"}))
def test_no_page_ignores_an_unknown_action(requester: Requester, row: str) -> None:
    reply = requester.send(requester.address(row), "POST", "root", data={"action": "made_up"})
    assert reply.response.status_code == 400
    assert "action: " in reply.content


@pytest.mark.parametrize("row", OPENED)
def test_no_page_ignores_a_query_name(requester: Requester, row: str) -> None:
    reply = requester.send(f"{requester.address(row)}?made_up=1", "GET", "root")
    assert reply.response.status_code == 400
    assert "made_up: " in reply.content


def test_a_mistyped_name_and_a_page_behind_the_last_one_are_errors(root: Client) -> None:
    assert "Did you mean page?" in root.get("/boards/?pag=2").content.decode()
    assert root.get("/submissions/?page=99999").status_code == 400
    for address in ("/boards/", "/boards/tides/", "/boards/tides/errors/"):
        assert root.get(address, {"page": "99999"}).status_code == 404


def test_pages_open_with_what_other_programs_add_to_a_link(root: Client) -> None:
    for name, pattern in routes():
        if not is_api(name) and not pattern.pattern.converters and name in ("home", "boards", "projects"):
            address = "/" + str(pattern.pattern)
            assert root.get(f"{address}?utm_source=mail&utm_source=chat").status_code == 200
