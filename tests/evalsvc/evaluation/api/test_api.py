"""API of benchmarks and submissions: roles, responses, and no gold in any of them."""

from __future__ import annotations

import gzip
import io
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpRequest
from django.test import Client as Browser
from rest_framework.test import APIClient

from evalsvc.core.accounts import tokens
from evalsvc.core.accounts.models import Team, User
from evalsvc.core.accounts.teams import create_team
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.web.body_limits import ENCODED, ENCODED_BYTES
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Setting, Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import ENTITY_GOLD, RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
Client = Callable[..., APIClient]


def as_user(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def by_token(user: User, *, team: Team | None = None, scope: str = "submit") -> APIClient:
    client = APIClient()
    _, secret = tokens.issue(user, name="cluster", team=team, scope=scope)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def post_raw(client: APIClient, body: bytes, *, slug: str = "rel", query: str = "", **headers: str) -> Any:
    address = f"/api/v1/benchmarks/{slug}/submissions?{query or 'system=Net&run=1'}"
    return client.post(address, body, content_type="application/x-ndjson", headers=headers)


def test_a_raw_body_is_accepted_and_has_a_status_address(cast: BenchmarkCast) -> None:
    cast.relations()
    answer = post_raw(by_token(cast.kim, team=cast.kelpie), jsonl(LINES))
    assert answer.status_code == 202
    body = answer.json()
    assert (body["state"], body["team"], body["system"], body["run"]) == ("queued", "kelpie", "Net", "1")
    assert answer.headers["Location"] == body["status_url"]
    assert as_user(cast.kim).get(body["status_url"]).json()["id"] == body["id"]


@pytest.mark.parametrize("act", ["cancel", "withdraw"])
def test_a_token_that_may_submit_organises_nothing(cast: BenchmarkCast, act: str) -> None:
    submission = cast.submit(cast.relations(), LINES)
    address = f"/api/v1/submissions/{submission.pk}/{act}"
    answer = by_token(cast.olga).post(address)
    assert (answer.status_code, answer.json()["code"]) == (403, "needs_full")
    assert Submission.objects.get().withdrawn_at is None
    assert by_token(cast.olga, scope="full").post(address).status_code == 200


@pytest.mark.parametrize("scope", ["submit", "full"])
def test_a_team_token_sees_only_submissions_of_its_team(cast: BenchmarkCast, scope: str) -> None:
    second = create_team(name="Second", by=cast.kim)
    benchmark = cast.relations()
    submission = cast.submit(benchmark, LINES)
    others, own = (by_token(cast.kim, team=team, scope=scope) for team in (second, cast.kelpie))
    for act in ("cancel", "withdraw"):
        assert others.post(f"/api/v1/submissions/{submission.pk}/{act}").status_code == 404
    for address in (f"/api/v1/submissions/{submission.pk}", f"/api/v1/submissions/{submission.pk}/scores"):
        assert others.get(address).status_code == 404
        assert own.get(address).status_code == 200
    assert others.get("/api/v1/benchmarks/rel/submissions").json()["results"] == []
    assert own.post(f"/api/v1/submissions/{submission.pk}/withdraw").status_code == 200


def test_a_gzipped_body_is_accepted(cast: BenchmarkCast) -> None:
    cast.relations()
    answer = post_raw(by_token(cast.kim), gzip.compress(jsonl(LINES)))
    assert answer.status_code == 202


def test_the_default_content_type_of_curl_is_accepted(cast: BenchmarkCast) -> None:
    cast.relations()
    address = "/api/v1/benchmarks/rel/submissions?system=Net&run=1"
    answer = by_token(cast.kim).post(address, jsonl(LINES), content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 202


@pytest.mark.parametrize("address", ["submissions?system=Net&run=1", "check?", "models?system=Net&run=1"])
def test_a_long_file_with_the_default_content_type_of_curl_is_read_as_a_file(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    cast.relations()
    decoded: list[str] = []
    load = HttpRequest._load_post_and_files
    monkeypatch.setattr(
        HttpRequest,
        "_load_post_and_files",
        lambda request: [decoded.append(request.content_type), load(request)][1],
    )
    client, body = Browser(enforce_csrf_checks=True), b"\n" * ENCODED_BYTES + jsonl(LINES)
    client.force_login(cast.kim)
    client.get("/account/")
    token = client.cookies["csrftoken"].value
    senders: Any = ((by_token(cast.kim), {}), (client, {"x-csrftoken": token}))
    for sender, headers in senders:
        answers = [
            sender.post(f"/api/v1/benchmarks/rel/{address}", body, content_type=kind, headers=headers)
            for kind in ("application/x-ndjson", ENCODED)
        ]
        replies = {(answer.status_code // 100, answer.json().get("code")) for answer in answers}
        assert len(replies) == 1  # 202 for the first file, 200 for the same again
        assert answers[0].status_code in (200, 202, 400, 422), answers[0].content
    assert ENCODED not in decoded


def test_a_form_is_accepted(cast: BenchmarkCast) -> None:
    cast.relations()
    fields = {
        "system": "Net",
        "run": "7",
        "tags": '{"seed": 7}',
        "file": SimpleUploadedFile("a.jsonl", jsonl(LINES)),
    }
    answer = by_token(cast.kim).post("/api/v1/benchmarks/rel/submissions", fields, format="multipart")
    assert answer.status_code == 202
    assert (answer.json()["run"], answer.json()["filename"]) == ("7", "a.jsonl")
    assert Submission.objects.get().tags == {"seed": 7}


def test_a_form_without_a_file_is_rejected_with_no_file(cast: BenchmarkCast) -> None:
    cast.relations()
    answer = by_token(cast.kim).post(
        "/api/v1/benchmarks/rel/submissions", {"system": "Net", "run": "1"}, format="multipart"
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "no_file")


@pytest.mark.parametrize("name", ["file", "system"])
@pytest.mark.parametrize("door", ["submissions", "check"])
def test_a_repeated_file_or_field_is_rejected_by_name(cast: BenchmarkCast, name: str, door: str) -> None:
    cast.relations()
    files = [SimpleUploadedFile(f"{n}.jsonl", jsonl(LINES[n:])) for n in range(2)]
    fields = {"run": "1", "system": "Net", "file": files[0]} | {name: files if name == "file" else ["A", "B"]}
    answer = by_token(cast.kim).post(f"/api/v1/benchmarks/rel/{door}", fields, format="multipart")
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "said_twice", name)
    assert not Submission.objects.exists()


def test_a_repeated_query_parameter_of_a_raw_body_is_rejected(cast: BenchmarkCast) -> None:
    cast.relations()
    address = "/api/v1/benchmarks/rel/submissions?run=1&system=A&system=B"
    answer = by_token(cast.kim).post(address, data=jsonl(LINES), content_type="application/octet-stream")
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (
        400,
        "said_twice",
        "system",
    )


@pytest.mark.parametrize(
    ("field", "unseen"),
    [
        *(("system", each) for each in "\u202e\u200b\u2066\x07\u00a0\u3164\ufe0f\ufe00\U000e0101"),
        ("run", "\u200b"),
        ("tags", "\u202e"),
    ],
)
def test_a_name_with_an_invisible_character_is_rejected(cast: BenchmarkCast, field: str, unseen: str) -> None:
    cast.relations()
    name = f"Ti{unseen}de"
    file = SimpleUploadedFile("a.jsonl", jsonl(LINES))
    fields: dict[str, Any] = {"system": "Net", "run": "1", "file": file}
    fields[field] = json.dumps({"seed": name}) if field == "tags" else name
    answer = by_token(cast.kim).post("/api/v1/benchmarks/rel/submissions", fields, format="multipart")
    refused = answer.json()
    assert (answer.status_code, refused["code"], refused["field"]) == (400, "unseen_character", field)
    assert f"U+{ord(unseen):04X}" in refused["detail"]


def test_a_title_with_an_invisible_character_is_rejected_when_it_is_given(cast: BenchmarkCast) -> None:
    """An earlier one stays, also when the other fields of its form change."""
    unseen = "Ti\u202ede"
    with pytest.raises(DomainError, match=r"U\+202E"):
        creation.create(title=unseen, slug="t", task="relations", labels=["a"], by=cast.olga)
    setting = cast.relations().settings.get()
    with pytest.raises(DomainError, match=r"U\+202E"):
        creation.add_setting(
            setting.benchmark,
            key="s", title=unseen, test_set=setting.test_set, unit="sentence", main="micro_f1", by=cast.olga,
        )  # fmt: skip
    with pytest.raises(DomainError, match=r"U\+202E"):
        creation.change_setting(setting, by=cast.olga, title=unseen)
    Setting.objects.update(title=unseen)
    setting.refresh_from_db()
    assert creation.change_setting(setting, by=cast.olga, title=unseen, digits=2).digits == 2


@pytest.mark.parametrize(
    ("field", "mixed", "other"),
    [
        ("system", "N\u0430ver", "U+0430 CYRILLIC SMALL LETTER A"),
        ("system", "Big N\u0430ver 2", "U+0430 CYRILLIC SMALL LETTER A"),
        ("system", "\u039faver", "U+039F GREEK CAPITAL LETTER OMICRON"),
        ("system", "\u0430\u0301Net", "U+0430 CYRILLIC SMALL LETTER A"),
        ("system", "N\uff41ver", "U+FF41 FULLWIDTH LATIN SMALL LETTER A"),
        ("system", "\ua4d0ert", "U+A4D0 LISU LETTER BA"),
        ("run", "s\u0435ed1", "U+0435 CYRILLIC SMALL LETTER IE"),
        ("tags", "N\u0430ver", "U+0430 CYRILLIC SMALL LETTER A"),
    ],
)
def test_a_word_mixing_latin_with_another_alphabet_is_rejected(
    cast: BenchmarkCast, field: str, mixed: str, other: str
) -> None:
    cast.relations()
    file = SimpleUploadedFile("a.jsonl", jsonl(LINES))
    fields: dict[str, Any] = {"system": "Net", "run": "1", "file": file}
    fields[field] = json.dumps({"of": [mixed]}) if field == "tags" else mixed
    answer = by_token(cast.kim).post("/api/v1/benchmarks/rel/submissions", fields, format="multipart")
    refused = answer.json()
    assert (answer.status_code, refused["code"], refused["field"]) == (400, "mixed_alphabets", field)
    assert other in refused["detail"]


def test_a_multiline_declaration_in_another_alphabet_is_accepted(cast: BenchmarkCast) -> None:
    submission = cast.submit(
        cast.relations(), LINES, tags={"extra": "Словари\nи\tкниги", "of": ["BERTで学習"]}
    )
    assert submission.tags["extra"] == "Словари\nи\tкниги"


def test_names_in_any_script_are_accepted(cast: BenchmarkCast) -> None:
    cast.relations()
    for system in (
        *(
            "Grüße 2.1 (β)",
            "模型-大",
            "Модель",
            "Модель-Net 2",
            "شبكة",
            "BERTで",
            "βVAE",
            "L1-Σ",
            "Zoe\u0308",
        ),
    ):
        fields = {"system": system, "run": "1", "file": SimpleUploadedFile("a.jsonl", jsonl(LINES))}
        answer = by_token(cast.kim).post("/api/v1/benchmarks/rel/submissions", fields, format="multipart")
        composed = system.replace("e\u0308", "\u00eb")
        assert (answer.status_code, answer.json()["system"]) == (202, composed)


def test_the_same_again_answers_200_with_the_same_submission(cast: BenchmarkCast) -> None:
    cast.relations()
    client = by_token(cast.kim)
    first, again = (post_raw(client, jsonl(LINES), **{"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 200)
    assert first.json()["id"] == again.json()["id"]


def test_a_file_with_invalid_lines_is_rejected_with_line_numbers(cast: BenchmarkCast) -> None:
    cast.relations()
    answer = post_raw(by_token(cast.kim), jsonl([*LINES[:5], {"id": "s6", "label": "born_im"}]))
    assert answer.status_code == 422
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["error_count"] == 1
    assert body["errors"][0]["line"] == 6
    assert body["errors"][0]["hint"] == "Did you mean born_in?"
    assert not Submission.objects.exists()


def test_a_body_above_the_limit_is_rejected_before_it_is_read(cast: BenchmarkCast, settings: Any) -> None:
    cast.relations()
    settings.UPLOAD_MAX_BYTES = 20
    answer = post_raw(by_token(cast.kim), jsonl(LINES))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "20 bytes" in answer.json()["detail"]


def test_a_dry_run_reports_the_problems_of_a_submission(cast: BenchmarkCast) -> None:
    cast.relations()
    client = by_token(cast.kim)
    address = "/api/v1/benchmarks/rel/check"
    good = client.post(address, jsonl(LINES), content_type="application/x-ndjson").json()
    bad = client.post(address, jsonl(LINES[:4]), content_type="application/x-ndjson").json()
    assert (good["fits"], good["form"], good["counts"]["claims"]) == (True, "label", 6)
    assert (bad["fits"], bad["errors_by_code"]) == (False, {"missing_id": 2})
    assert not Submission.objects.exists()


EXAMPLE = '{"id": "z1", "label": "works_for"}'


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    ("file", "words", "example"),
    [
        (b'{"s0": "lived_in", "s1": "lived_in"}', "one object with these keys per line", EXAMPLE),
        (b'{"predictions": []}', "one object with these keys per line", EXAMPLE),
        (b"%PDF-1.4\n", "a PDF", EXAMPLE),
        (pickle.dumps({}), "a Python pickle", EXAMPLE),
        (npz(a=np.zeros((1, 3))), "an array named scores", "scores=scores"),
        (
            npz(scores=np.zeros((1, 2)), columns=np.array(["works_for", "works_for"])),
            "occurs twice",
            "works_for",
        ),
    ],
)
def test_a_file_of_another_shape_is_told_what_to_send_with_labels_of_the_benchmark(
    cast: BenchmarkCast, file: bytes, words: str, example: str
) -> None:
    gold = freeze("z", [gold_sentence("z1", "Q1", "Q2", "works_for")], by=cast.olga, labels=["works_for"])
    cast.benchmark(labels=["works_for"], settings=[("main", gold, "sentence", "micro_f1")])
    address = "/api/v1/benchmarks/rel/check?team=kelpie"
    reply = as_user(cast.kim).post(address, file, content_type="application/octet-stream").json()
    (problem, *_) = reply["errors"]
    assert words in " ".join(str(value) for value in problem.values())
    assert example in problem["example"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ("team=gulls", "not_in_team"),
        ("system=%20", "bad_name"),
        ("system=Net (baseline)", "bad_name"),
        ("system=Net ( baseline).", "bad_name"),
        ("system=Net（baseline）", "bad_name"),
        ("system=Net [baseline]", "bad_name"),
        ("system=Net ⁽ｂａｓｅｌｉｎｅ", "bad_name"),
        ("system=Net (reported, x", "bad_name"),
        ("system=Net (verified)", "bad_name"),
        ("system=Net (Reported, Gao (2021), Table 4)", "bad_name"),
        ("run=" + "9" * 41, "bad_name"),
        ("tags=[]", "bad_tags"),
        ('tags={"a": [1e999]}', "invalid_input"),
        ('tags={"a": NaN}', "invalid_input"),
        ('tags={"paper": "javascript:alert(1)"}', "bad_tags"),
        ('tags={"code": ["ftp://example.org/code"]}', "bad_tags"),
        ("aggregate=MAX", "bad_aggregate"),
        ("aggregate=AVG", "bad_aggregate"),
        ("columns=born_in", "bad_columns"),
        ("na=first", "bad_columns"),
    ],
)
def test_a_dry_run_rejects_the_fields_that_a_submission_rejects(
    cast: BenchmarkCast, fields: str, code: str
) -> None:
    cast.relations()
    name = fields.partition("=")[0]
    client = as_user(cast.kim)
    usual = {"system": "Net", "run": "1"}
    rest = "".join(f"&{key}={value}" for key, value in usual.items() if key != name)
    sent = client.post(
        f"/api/v1/benchmarks/rel/check?{fields}", jsonl(LINES), content_type="application/x-ndjson"
    )
    again = post_raw(client, jsonl(LINES), query=f"{fields}{rest}")
    assert sent.json()["code"] == again.json()["code"] == code
    assert sent.status_code == again.status_code


def test_an_empty_file_of_columns_is_not_taken_for_an_empty_file_of_predictions(cast: BenchmarkCast) -> None:
    cast.relations()
    parts = {"file": SimpleUploadedFile("a.jsonl", jsonl(LINES)), "columns": SimpleUploadedFile("names", b"")}
    answer = as_user(cast.kim).post("/api/v1/benchmarks/rel/check", parts, format="multipart")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_columns")


def test_a_token_of_a_team_checks_files_for_that_team_only(cast: BenchmarkCast) -> None:
    cast.relations()
    address = "/api/v1/benchmarks/rel/check?team=gulls"
    client = by_token(cast.kim, team=cast.kelpie)
    assert (
        client.post(address, jsonl(LINES), content_type="application/x-ndjson").json()["code"] == "other_team"
    )


def test_a_page_session_sends_a_raw_body_with_the_token_in_a_header(cast: BenchmarkCast) -> None:
    cast.relations()
    browser = APIClient(enforce_csrf_checks=True)
    browser.force_login(cast.kim)
    browser.cookies["csrftoken"] = "a" * 32
    assert post_raw(browser, jsonl(LINES)).json()["code"] == "csrf"
    assert post_raw(browser, jsonl(LINES), **{"X-CSRFToken": "a" * 32}).status_code == 202


def test_members_of_several_teams_must_name_one(cast: BenchmarkCast) -> None:
    cast.relations()
    cast.lugworm.members.create(user=cast.kim)
    answer = post_raw(by_token(cast.kim), jsonl(LINES))
    assert (answer.status_code, answer.json()["code"]) == (400, "team_needed")
    named = post_raw(by_token(cast.kim), jsonl(LINES), query="system=Net&run=1&team=lugworm")
    assert named.json()["team"] == "lugworm"


def test_a_team_token_speaks_for_its_team_only(cast: BenchmarkCast) -> None:
    cast.relations()
    cast.lugworm.members.create(user=cast.kim)
    client = by_token(cast.kim, team=cast.kelpie)
    answer = post_raw(client, jsonl(LINES), query="system=Net&run=1&team=lugworm")
    assert (answer.status_code, answer.json()["code"]) == (403, "other_team")


def test_a_token_for_reading_does_not_submit(cast: BenchmarkCast) -> None:
    cast.relations()
    answer = post_raw(by_token(cast.kim, scope="read"), jsonl(LINES))
    assert answer.status_code == 403
    assert "scope" in answer.json()["detail"]


def test_a_submit_token_cannot_create_benchmarks(cast: BenchmarkCast) -> None:
    fields = {"slug": "x", "title": "X", "task": "relations", "labels": [{"name": "a"}]}
    assert by_token(cast.olga).post("/api/v1/benchmarks", fields, format="json").status_code == 403
    assert (
        by_token(cast.olga, scope="full").post("/api/v1/benchmarks", fields, format="json").status_code == 201
    )


def test_reading_benchmarks_requires_authentication(cast: BenchmarkCast) -> None:
    cast.relations()
    assert APIClient().get("/api/v1/benchmarks").status_code == 401


@pytest.mark.parametrize("tail", ["", "/scores"])
def test_another_teams_submission_is_404(cast: BenchmarkCast, tail: str) -> None:
    submission = cast.submit(cast.relations(), LINES)
    address = f"/api/v1/submissions/{submission.pk}{tail}"
    statuses = {
        user.username: as_user(user).get(address).status_code for user in (cast.kim, cast.olga, cast.lars)
    }
    assert statuses == {"kim": 200, "olga": 200, "lars": 404}


@pytest.mark.parametrize("act", ["cancel", "withdraw"])
def test_another_team_can_do_nothing_to_a_submission(cast: BenchmarkCast, act: str) -> None:
    submission = cast.submit(cast.relations(), LINES)
    address = f"/api/v1/submissions/{submission.pk}/{act}"
    assert as_user(cast.lars).post(address).status_code == 404
    assert as_user(cast.kim).post(address).status_code == 200


def test_a_team_lists_its_own_submissions_and_the_organiser_all(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, LINES)
    cast.submit(benchmark, LINES, team=cast.lugworm, by=cast.lars)
    address = "/api/v1/benchmarks/rel/submissions"
    listed = {
        user.username: [s["team"] for s in as_user(user).get(address).json()["results"]]
        for user in (cast.kim, cast.olga)
    }
    assert listed == {"kim": ["kelpie"], "olga": ["lugworm", "kelpie"]}


def test_a_hidden_benchmark_is_404_for_others(cast: BenchmarkCast) -> None:
    cast.relations(public=False)
    for address in ("/api/v1/benchmarks/rel", "/api/v1/benchmarks/rel/board"):
        assert as_user(cast.kim).get(address).status_code == 404
        assert as_user(cast.olga).get(address).status_code == 200


def test_the_board_is_visible_to_all_who_see_the_benchmark(cast: BenchmarkCast) -> None:
    cast.submit(cast.relations(), LINES)
    run_next("score")
    board = as_user(cast.lars).get("/api/v1/benchmarks/rel/board?setting=main&order=accuracy").json()
    (row,) = board["rows"]
    assert (row["rank"], row["system"], row["team"], row["n"]) == (1, "Net", "Kelpie", 1)
    assert row["figures"]["accuracy"]["mean"] == pytest.approx(2 / 6)
    assert board["order_by"] == "accuracy"


def test_scores_name_file_gold_options_and_scorer(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    run_next("score")
    (evaluation,) = as_user(cast.kim).get(f"/api/v1/submissions/{submission.pk}/scores").json()["evaluations"]
    assert evaluation["file_sha256"] == submission.file_id
    assert evaluation["options"]["negative"] == "N/A"
    assert evaluation["scores"]["accuracy"]["value"] == pytest.approx(2 / 6)


def test_an_organiser_creates_a_benchmark_and_its_setting(cast: BenchmarkCast) -> None:
    freeze("gold", RELATION_GOLD, by=cast.olga)
    client = as_user(cast.olga)
    fields = {"slug": "new-one", "title": "New one", "task": "relations", "negative": "N/A"}
    labels = [{"name": name} for name in ("born_in", "works_for", "part_of")]
    assert client.post("/api/v1/benchmarks", fields | {"labels": labels}, format="json").status_code == 201
    setting = {"key": "m", "title": "M", "test_set": "gold", "unit": "sentence", "main": "macro_f1"}
    made = client.post("/api/v1/benchmarks/new-one/settings", setting, format="json")
    assert made.status_code == 201
    assert made.json()["rows"] == 6
    assert (
        as_user(cast.kim).post("/api/v1/benchmarks/new-one/settings", setting, format="json").status_code
        == 403
    )


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"test_set": "nowhere"}, 400),
        ({"unit": "document"}, 400),
        ({"main": "conll_micro_f1"}, 400),
        ({"main": "nonsense"}, 400),
        ({"key": "main"}, 409),
    ],
)
def test_an_invalid_setting_is_rejected(cast: BenchmarkCast, change: dict[str, str], status: int) -> None:
    cast.relations()
    setting = {"key": "m", "title": "M", "test_set": "gold-sentence", "unit": "sentence", "main": "macro_f1"}
    answer = as_user(cast.olga).post("/api/v1/benchmarks/rel/settings", setting | change, format="json")
    assert answer.status_code == status


def test_an_unknown_option_is_rejected(cast: BenchmarkCast) -> None:
    fields = {"slug": "x", "title": "X", "task": "relations", "labels": [{"name": "a"}]}
    for options in ({"thresold": 0.5}, {"threshold": "high"}, {"casefold": True}):
        answer = as_user(cast.olga).post("/api/v1/benchmarks", fields | {"options": options}, format="json")
        assert answer.status_code == 400


def test_measures_and_limits_are_listed(cast: BenchmarkCast, settings: Any) -> None:
    client = as_user(cast.kim)
    assert [measure["key"] for measure in client.get("/api/v1/measures").json()] == list(MENU)
    assert client.get("/api/v1/limits").json()["upload_bytes"] == settings.UPLOAD_MAX_BYTES
    assert client.get("/api/v1/limits").json()["import_lines"] == settings.IMPORT_MAX_LINES


def test_gold_is_in_no_answer(cast: BenchmarkCast) -> None:
    relations = cast.submit(cast.relations(), [{"id": line["id"], "label": "N/A"} for line in RELATION_GOLD])
    spans = cast.submit(cast.entities(), [{"id": line["id"], "spans": []} for line in ENTITY_GOLD], run="2")
    while run_next("score"):
        pass
    addresses = ["/api/v1/benchmarks", "/api/v1/measures", "/api/v1/limits"]
    for slug in ("rel", "ner"):
        addresses += [f"/api/v1/benchmarks/{slug}{tail}" for tail in ("", "/board", "/submissions")]
    for pk in (relations.pk, spans.pk):
        addresses += [f"/api/v1/submissions/{pk}{tail}" for tail in ("", "/scores")]
    for address in addresses:
        answer = as_user(cast.kim).get(address)
        assert answer.status_code == 200, address
        words = json.dumps(answer.json(), ensure_ascii=False)
        assert "canary" not in words, address
        assert "Turin" not in words, address
        assert '"relations": [' not in words, address
        assert '"spans": [[' not in words, address


def test_problems_of_a_rejected_file_reveal_no_gold(cast: BenchmarkCast) -> None:
    cast.relations()
    answer = post_raw(by_token(cast.kim), jsonl([{"id": "s1", "label": "nothing"}]))
    assert answer.status_code == 422
    assert "canary" not in answer.content.decode()


@pytest.mark.parametrize(
    ("field", "given", "expected"),
    [
        ("missing", "negative", "one of: refuse, wrong"),
        ("task", 7, "one of: relations, entities, joint"),
        ("per_day", 0, "at least 1"),
    ],
)
def test_an_invalid_field_is_rejected_with_what_is_valid(
    cast: BenchmarkCast, client: Client, field: str, given: object, expected: str
) -> None:
    client.force_login(cast.olga)
    fields = {
        "slug": "new-one",
        "title": "New one",
        "task": "relations",
        "labels": [{"name": "r"}],
        field: given,
    }
    response = client.post("/api/v1/benchmarks", fields, "application/json")
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert (error["field"], error["expected"]) == (field, expected)


def test_a_check_names_its_warnings_in_words(cast: BenchmarkCast) -> None:
    cast.entities()
    tags = {"d1": ["I-PER", "O", "O", "O"], "d2": ["O", "O"], "d3": ["O", "O", "O"]}
    file = SimpleUploadedFile("p.jsonl", jsonl({"id": name, "tags": tags[name]} for name in tags))
    answer = as_user(cast.kim).post("/api/v1/benchmarks/ner/check", {"file": file}, format="multipart").json()
    assert answer["warnings"] == {"repaired_tag": 1}
    assert answer["notes"] == [f"1 × {KINDS['repaired_tag'].message}"]
