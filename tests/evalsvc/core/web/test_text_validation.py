"""Text that no database stores, and JSON that nobody reads, are refused in words; held on PostgreSQL too."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from evalsvc.core.accounts.tokens import issue
from evalsvc.core.errors.exceptions import DomainError, TooLarge
from evalsvc.core.web.json_parser import StorableJSONParser
from evalsvc.core.web.text_validation import MAX_DEPTH, check_storable
from evalsvc.evaluation.models import Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast

FILE = jsonl([{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD])
SUBMISSIONS = "/api/v1/benchmarks/rel/submissions"
DEEP = "[" * 100_000
Ask = Callable[..., Any]


@pytest.fixture
def ask(either_database: str, tmp_path: Path, settings: Any) -> Ask:
    """As Olga, who organises the board; a defect is answered with 500 instead of being raised here."""
    settings.MEDIA_ROOT = tmp_path / "files"
    cast = BenchmarkCast.create()
    cast.relations()
    _, key = issue(cast.kim, name="kim", scope="full")
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {key}"})

    def asked(method: str, path: str, *given: Any, **more: Any) -> Any:
        return getattr(client, method)(path, *given, **more)

    return asked


@pytest.mark.parametrize(
    "address",
    [
        f"{SUBMISSIONS}?system=%00",
        f"{SUBMISSIONS}?team=%00",
        "/api/v1/benchmarks/rel/board?setting=%00",
        "/api/v1/benchmarks/%00/board",
        "/boards/rel/?setting=%00",
        "/people/?name=a%00b",
        "/boards/?%00=1",
    ],
)
def test_a_nul_in_a_url_is_rejected(ask: Ask, address: str) -> None:
    answer = ask("get", address)
    assert answer.status_code == 400
    assert "NUL" in answer.content.decode()


@pytest.mark.parametrize("query", ["system=a%00b&run=1", "system=a&run=%00", "system=a&run=1&filename=%00"])
def test_a_nul_in_a_field_beside_a_file_is_rejected(ask: Ask, query: str) -> None:
    answer = ask("post", f"{SUBMISSIONS}?{query}", FILE, content_type="application/x-ndjson")
    assert (answer.status_code, answer.json()["code"]) == (400, "strange_text")


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("system", "a\0b", "strange_text"),
        ("tags", '{"a": "\\u0000"}', "strange_text"),
        ("tags", '{"a": "\\ud800"}', "strange_text"),
        ("tags", DEEP, "bad_tags"),
        ("tags", "[" * 3_000, "bad_tags"),
    ],
)
def test_a_form_with_invalid_text_is_rejected(ask: Ask, field: str, value: str, code: str) -> None:
    form = {"file": SimpleUploadedFile("x.jsonl", FILE), "system": "a", "run": "1"} | {field: value}
    answer = ask("post", SUBMISSIONS, form)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (DEEP, "too_deep"),
        ('{"a":' * 100_000, "too_deep"),
        ("[" * 300 + "]" * 300, "too_deep"),
        ('{"title": "\\u0000"}', "strange_text"),
        ('{"title": "\\ud83d"}', "strange_text"),
        ('{"\\u0000": 1}', "strange_text"),
    ],
)
def test_json_nested_too_deeply_or_with_invalid_text_is_rejected(ask: Ask, body: str, code: str) -> None:
    answer = ask("post", "/api/v1/benchmarks", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize("part", [b"[],", b"{},", b"1,", b'{"a":[]},'])
def test_json_with_a_great_many_values_is_rejected_unread(part: bytes) -> None:
    stream = io.BytesIO(b"[" + part * 250_000 + b"{")
    with pytest.raises(TooLarge) as error:
        StorableJSONParser().parse(stream, parser_context={"encoding": "utf-8"})
    assert error.value.extra == {"limit": 200_000}


def test_commas_and_brackets_within_texts_are_no_values() -> None:
    names = [f'{at}, "{at}" [{{\\' for at in range(70_000)]
    body = io.BytesIO(json.dumps({"ids": names}).encode())
    assert StorableJSONParser().parse(body, parser_context={"encoding": "utf-8"}) == {"ids": names}


def test_a_page_form_with_a_nul_is_rejected(ask: Ask) -> None:
    answer = ask("post", "/login/", {"username": "a\0b", "password": "x"})
    assert answer.status_code == 400


def test_emoji_and_usual_json_nesting_are_accepted() -> None:
    check_storable({"a": ["\N{GRINNING FACE}", {"b": None}, 1.5, True]})
    nested: Any = "in"
    for _ in range(MAX_DEPTH):
        nested = [nested]
    check_storable(nested)
    with pytest.raises(DomainError, match="deep"):
        check_storable([nested])
