"""The API matches its OpenAPI description: routes, responses, errors."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from evalsvc import openapi
from evalsvc.openapi import Generator
from tests.cast.service import predicted_labels
from tests.permissions.requester import Requester, endpoints
from tests.permissions.table import API

PROBLEM = "application/problem+json"
METHODS = ("get", "post", "put", "patch", "delete")
USUAL = {"type", "title", "status", "detail", "code"}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return dict(Generator().get_schema())


def operations(schema: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Every operation by path and method."""
    paths = schema["paths"].items()
    return {(path, method): item[method] for path, item in paths for method in METHODS if method in item}


def schema_errors(shape: dict[str, Any], body: Any, schema: dict[str, Any]) -> str:
    """Violations of a JSON schema, or an empty text."""
    # resolved within one indexed document, not by searching all components for each reference
    whole = Registry().with_resource("urn:api", DRAFT202012.create_resource(schema)).crawl()
    named = json.loads(json.dumps(shape).replace('"#/', '"urn:api#/'))
    validator = Draft202012Validator(named, registry=whole)
    return "; ".join(f"{error.json_path}: {error.message}" for error in validator.iter_errors(body))


def test_the_schema_is_generated_without_a_warning(tmp_path: Path) -> None:
    made = tmp_path / "schema.yaml"
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(made))
    assert made.read_text().startswith("openapi: 3.1")


def test_the_description_is_served_in_each_format_and_for_reading_only(client: Client) -> None:
    served = {
        kind: [client.get("/api/schema/", headers={"Accept": kind}).content for _ in range(2)]
        for kind in ("application/json", "application/yaml")
    }
    assert all(first == again for first, again in served.values())
    assert json.loads(served["application/json"][0])["paths"].keys() == set(endpoints().values())
    assert served["application/yaml"][0].startswith(b"openapi: 3.1")
    rejected = client.post("/api/schema/", headers={"Accept": "application/json"})
    assert (rejected.status_code, "paths" in rejected.json()) == (405, False)


def test_every_route_is_described_and_no_other(schema: dict[str, Any]) -> None:
    assert set(schema["paths"]) == set(endpoints().values())


def test_every_operation_of_the_table_is_described_and_no_other(schema: dict[str, Any]) -> None:
    paths = endpoints()
    asked = {(paths[row.partition(":")[0]], method.lower()) for row, method in API}
    assert asked == operations(schema).keys()


PUBLIC = {("/api/v1/status", "get")}  # without authentication


def test_every_operation_has_an_id_a_description_and_problem_responses(schema: dict[str, Any]) -> None:
    described_operations = operations(schema)
    names = [described["operationId"] for described in described_operations.values()]
    assert len(names) == len(set(names))
    for where, described in described_operations.items():
        assert described["description"].strip(), where
        errors = {status: answer for status, answer in described["responses"].items() if status >= "400"}
        assert "401" in errors or where in PUBLIC, where
        for answer in errors.values():
            assert set(answer["content"]) == {PROBLEM}, where
            assert answer["content"][PROBLEM]["schema"] == {"$ref": "#/components/schemas/Problem"}


def test_every_operation_but_the_status_requires_authentication(schema: dict[str, Any]) -> None:
    for where, described in operations(schema).items():
        if where in PUBLIC:
            continue
        ways = {name for way in described["security"] for name in way}
        assert "token" in ways, where


@pytest.mark.parametrize(("row", "method"), sorted(API))
def test_responses_match_the_description(
    requester: Requester, schema: dict[str, Any], row: str, method: str
) -> None:
    path = endpoints()[row.partition(":")[0]]
    described = operations(schema)[path, method.lower()]["responses"]
    one_of_each = {outcome: who for who, outcome in API[row, method].items()}
    for who in one_of_each.values():
        answer = requester.request(row, method, who)
        assert answer.outcome in described, f"{who} got {answer.outcome}, which is not described"
        assert_matches(answer.response, described[answer.outcome], schema)


def assert_matches(response: Any, described: dict[str, Any], schema: dict[str, Any]) -> None:
    """Check the content type, and the body against its schema."""
    content = described.get("content", {})
    if not content:
        assert response.status_code == 204
        return
    kind = response.headers["Content-Type"].partition(";")[0]
    assert kind in content
    if "json" in kind and "ndjson" not in kind:
        assert schema_errors(content[kind]["schema"], response.json(), schema) == ""


# ---- conditional requests ------------------------------------------------------------------------
def json_reads(schema: dict[str, Any]) -> set[tuple[str, str]]:
    """Every GET operation with a JSON response."""
    answers = {
        where: described["responses"].get("200", {}) for where, described in operations(schema).items()
    }
    return {
        where
        for where, described in answers.items()
        if where[1] == "get" and "application/json" in described.get("content", {})
    }


def test_every_json_read_describes_etag_and_304(schema: dict[str, Any]) -> None:
    for where in json_reads(schema):
        described = operations(schema)[where]
        assert "If-None-Match" in {parameter["name"] for parameter in described["parameters"]}, where
        assert "ETag" in described["responses"]["200"]["headers"], where
        assert "304" in described["responses"], where


CHANGES_EACH_TIME = {"api-status"}
READS = sorted(row for row, method in API if method == "GET" and row not in CHANGES_EACH_TIME)


@pytest.mark.parametrize("row", READS)
def test_an_unchanged_read_is_answered_with_304(
    requester: Requester, schema: dict[str, Any], row: str
) -> None:
    if (endpoints()[row.partition(":")[0]], "get") not in json_reads(schema):
        return
    who = next((person for person, cell in API[row, "GET"].items() if cell in ("200", "204")), "")
    if not who:  # a comparison of a board without runs
        return
    if requester.request(row, "GET", who).outcome == "204":
        return
    address = requester.address_with_query(row)
    first = requester.send(address, "GET", who)
    again = requester.send(address, "GET", who, headers={"If-None-Match": first.response["ETag"]})
    assert (again.response.status_code, again.response.content) == (304, b"")
    assert again.response["ETag"] == first.response["ETag"]
    other = requester.send(address, "GET", who, headers={"If-None-Match": '"another"'})
    assert other.response.status_code == 200


# ---- errors of the framework ----------------------------------------------------------
def assert_problem(response: Any, status: int, schema: dict[str, Any]) -> dict[str, Any]:
    body = json.loads(response.content)
    assert (response.status_code, response.headers["Content-Type"]) == (status, PROBLEM)
    assert body["status"] == status
    assert body.keys() >= USUAL
    assert schema_errors(schema["components"]["schemas"]["Problem"], body, schema) == ""
    return dict(body)


def test_an_unknown_address_is_a_problem(client: Client, schema: dict[str, Any]) -> None:
    assert assert_problem(client.get("/api/v1/nowhere"), 404, schema)["code"] == "not_found"
    assert assert_problem(client.get("/api/nowhere/at/all"), 404, schema)["code"] == "not_found"


def test_an_unsupported_method_is_a_problem(requester: Requester, schema: dict[str, Any]) -> None:
    response = requester.client("stra").delete("/api/v1/limits")
    assert assert_problem(response, 405, schema)["code"] == "method_not_allowed"
    assert response.headers["Allow"] == "GET, HEAD, OPTIONS"


def test_a_session_without_the_csrf_token_is_a_problem(requester: Requester, schema: dict[str, Any]) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(requester.cast["cleo"])
    response = browser.post("/api/v1/projects/harbour/lease", {"holding": []}, "application/json")
    assert assert_problem(response, 403, schema)["code"] == "csrf"


def test_a_token_needs_no_csrf_token(requester: Requester) -> None:
    browser = Client(enforce_csrf_checks=True)
    bearer = {"Authorization": f"Bearer {requester.cast.secrets['submit']}"}
    response = browser.post(
        "/api/v1/benchmarks/tides/check?", predicted_labels("NA"), "text/plain", headers=bearer
    )
    assert response.status_code == 200


def test_a_form_without_the_csrf_token_gets_an_error_page(requester: Requester) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(requester.cast["cleo"])
    response = browser.post("/projects/harbour/", {"action": "close"})
    assert response.status_code == 403
    assert "/docs/errors/#csrf" in response.content.decode()


def test_json_larger_than_the_limit_is_a_problem(
    requester: Requester, schema: dict[str, Any], settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    response = requester.client("anno").post(
        "/api/v1/projects/harbour/lease", {"holding": list(range(200))}, "application/json"
    )
    assert assert_problem(response, 413, schema)["code"] == "too_large"


def test_a_file_larger_than_the_limit_is_a_problem(
    requester: Requester, schema: dict[str, Any], settings: Any
) -> None:
    settings.UPLOAD_MAX_BYTES = 10
    address = "/api/v1/benchmarks/tides/submissions?system=Net&run=9"
    response = requester.client("memb").post(address, predicted_labels("NA", "NA"), "text/plain")
    assert assert_problem(response, 413, schema)["code"] == "too_large"


def test_a_body_that_is_not_json_is_a_problem(requester: Requester, schema: dict[str, Any]) -> None:
    response = requester.client("anno").post("/api/v1/projects/harbour/lease", b"{", "application/json")
    assert assert_problem(response, 400, schema)


def test_an_unsupported_content_type_is_a_problem(requester: Requester, schema: dict[str, Any]) -> None:
    response = requester.client("anno").post("/api/v1/projects/harbour/lease", b"x", "text/csv")
    assert assert_problem(response, 415, schema)["code"] == "unsupported_media_type"


def test_a_request_without_a_valid_token_is_a_problem(
    client: Client, db: None, schema: dict[str, Any]
) -> None:
    response = client.get("/api/v1/benchmarks")
    assert assert_problem(response, 401, schema)["code"] == "not_authenticated"
    assert response.headers["WWW-Authenticate"] == "Bearer"
    wrong = client.get("/api/v1/benchmarks", headers={"Authorization": "Bearer evs_wrong"})
    assert assert_problem(wrong, 401, schema)["code"] == "bad_token"


FRAMEWORK = ("credentials", "settings.", "parse error", "Unsupported", "Multipart", "not allowed", "char ")


def test_no_error_repeats_a_message_of_the_framework(
    requester: Requester, client: Client, schema: dict[str, Any], settings: Any
) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    at, ann = "/api/v1/projects/harbour/lease", requester.client("anno")
    answers = [
        client.get("/api/v1/limits"),
        ann.delete("/api/v1/limits"),
        ann.get("/api/v1/limits", headers={"Accept": "text/html"}),
        ann.post(at, b"{", "application/json"),
        ann.post(at, b"x", "text/csv"),
        ann.post("/api/v1/benchmarks/tides/check", b"x", "multipart/form-data"),
        ann.post(at, b"{" + b" " * 200, "application/json"),
        ann.get("/api/v1/projects?cursor=nonsense"),
        ann.get("/api/v1/projects?state=nonsense"),
    ]
    described = [(answer.status_code, answer.json()["detail"]) for answer in answers]
    assert [status for status, _ in described] == [401, 405, 406, 400, 415, 400, 413, 404, 400]
    assert [text for _, text in described if any(word in text for word in FRAMEWORK)] == []


def test_an_invalid_file_is_a_problem_with_its_lines(requester: Requester, schema: dict[str, Any]) -> None:
    address = "/api/v1/benchmarks/tides/submissions?system=Net&run=9&team=kelpie"
    response = requester.client("memb").post(address, predicted_labels("NA", "nonsense"), "text/plain")
    body = assert_problem(response, 422, schema)
    assert body["error_count"] == 3
    assert body["errors_by_code"] == {"unknown_label": 1, "missing_id": 2}
    assert body["errors"][0]["line"] == 2


# ---- groups and summaries --------------------------------------------------------------------------------
GROUPS = ["Submissions", "Boards", "Test sets", "Labelling", "Service"]


def test_operations_are_grouped_with_submissions_first(schema: dict[str, Any]) -> None:
    assert [tag["name"] for tag in schema["tags"]] == GROUPS
    assert all(tag["description"] for tag in schema["tags"])
    described = operations(schema)
    assert {name for operation in described.values() for name in operation["tags"]} == set(GROUPS)
    first, *_, last = described
    assert first[0] == "/api/v1/benchmarks/{slug}/submissions"
    assert last[0] == "/api/v1/status"
    orders = [GROUPS.index(operation["tags"][0]) for operation in described.values()]
    assert orders == sorted(orders)


def test_every_operation_has_a_summary_of_one_short_sentence(schema: dict[str, Any]) -> None:
    described = {place: operation.get("summary", "") for place, operation in operations(schema).items()}
    assert {place: text for place, text in described.items() if not 10 < len(text) <= 110} == {}
    assert [text for text in described.values() if text.endswith(".") or ". " in text] == []


def test_readers_at_once_get_a_description_that_is_generated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    generated: list[int] = []

    def generate(_self: object, **_options: object) -> dict[str, Any]:
        generated.append(1)
        time.sleep(0.1)  # meanwhile the others ask for it
        return {"openapi": "3.0.3"}

    monkeypatch.setattr(SchemaGenerator, "get_schema", generate)
    monkeypatch.setattr(openapi, "_generated", cache(openapi._generated.__wrapped__))
    with ThreadPoolExecutor(4) as readers:
        descriptions = list(readers.map(lambda _: Generator().get_schema(), range(4)))
    assert (descriptions, len(generated)) == ([{"openapi": "3.0.3"}] * 4, 1)
