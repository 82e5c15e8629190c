"""Intake of files: checked completely, stored once, recorded once."""

from __future__ import annotations

import gzip
import hashlib
import pickle
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.teams import add_member, create_team, remove_member
from evalsvc.core.accounts.tokens import issue
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.formats.registry import formats
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.models import Benchmark, Evaluation, PredictionFile, Submission, System
from evalsvc.evaluation.shown_scores import newest
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, Line, freeze, gold_sentence
from workers.runner import run_next

LINES: list[Line] = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]


def codes(benchmark: Benchmark, lines: list[Line] | bytes) -> dict[str, int]:
    sent = lines if isinstance(lines, bytes) else jsonl(lines)
    return dict(intake.check(benchmark, [sent]).problems.by_code)


def send(cast: BenchmarkCast, benchmark: Benchmark, chunks: Iterator[bytes], **fields: Any) -> Submission:
    fields = {"team": cast.kelpie, "by": cast.kim, "system": "Net", "run": "1"} | fields
    return intake.receive(benchmark, chunks=chunks, **fields).submission


def stored_files() -> list[Path]:
    return [path for path in Path(default_storage.path("")).rglob("*") if path.is_file()]


def test_a_file_that_fits_is_queued_with_its_job(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LINES)
    assert submission.state == "queued"
    assert submission.job is not None
    assert (submission.job.kind, submission.job.subject) == ("score", submission.pk)
    assert (submission.format, submission.form) == ("jsonl-predictions", "label")
    assert submission.counts == {"lines": 6, "claims": 6}


def test_bytes_are_stored_under_the_digest_of_the_unpacked_file(cast: BenchmarkCast) -> None:
    plain = jsonl(LINES)
    submission = cast.submit(cast.relations(), gzip.compress(plain))
    digest = hashlib.sha256(plain).hexdigest()
    assert submission.file_id == digest
    assert submission.file.size == len(plain)
    assert Path(submission.file.name).name.startswith(digest)
    assert Path(default_storage.path(submission.file.name)).read_bytes() == plain


def test_the_same_bytes_are_stored_once(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, LINES, run="1")
    cast.submit(benchmark, gzip.compress(jsonl(LINES)), run="2")
    assert len(stored_files()) == PredictionFile.objects.count() == 1


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([*LINES[:5], {"id": "s9", "label": "born_in"}], "unknown_id"),
        ([*LINES[:5], {"id": "s6", "label": "born_im"}], "near_label"),
        ([*LINES, {"id": "s1", "label": "N/A"}], "duplicate_id"),
        (LINES[:5], "missing_id"),
        ([*LINES[:5], {"id": "s6", "scores": {"born_in": 0.5}}], "mixed_forms"),
        (b'{"id": "s1", "scores": {"born_in": NaN}}\n', "bad_score"),
        (b'{"id": "s1", "label": \n', "not_json"),
        (b"\x00\x01", "nul_character"),
        (b"one\ttwo\tthree\n", "unknown_format"),
        (b"", "empty_file"),
        ([{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 1.0}], "mixed_forms"),
    ],
)
def test_a_rejected_file_leaves_nothing_behind(
    cast: BenchmarkCast, lines: list[Line] | bytes, code: str
) -> None:
    benchmark = cast.relations()
    with pytest.raises(FileRejected) as refused:
        cast.submit(benchmark, lines)
    assert code in refused.value.problems.by_code
    rows = [model.objects.count() for model in (Submission, System, PredictionFile)]
    assert rows == [0, 0, 0]
    assert not Job.objects.filter(kind="score").exists()
    assert stored_files() == []


def test_a_dry_run_counts_every_problem_and_stores_nothing(cast: BenchmarkCast) -> None:
    wrong = [{"id": f"x{n}", "label": "born_in"} for n in range(30)]
    checked = intake.check(cast.relations(missing="wrong"), [jsonl(wrong)])
    assert checked.problems.by_code == {"unknown_id": 30}
    assert len(checked.problems.first) == 20
    assert checked.problems.first[0].line == 1
    assert not Submission.objects.exists()


def test_a_missing_prediction_is_accepted_where_it_counts_as_wrong(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(missing="wrong"), LINES[:4])
    assert submission.counts["missing"] == 2


@pytest.mark.parametrize(
    ("lines", "found"),
    [("born_in\n" * 6, {}), ("born_in\n\n" * 3, {}), ("born_in\n" * 5, {"missing_id": 1})],
    ids=["complete", "blank lines", "a line short"],
)
def test_a_file_of_labels_has_a_line_for_each_item_though_an_answer_may_be_missing(
    cast: BenchmarkCast, lines: str, found: dict[str, int]
) -> None:
    """Without a line, all labels after it would be about other items."""
    checked = intake.check(cast.relations(missing="wrong"), [lines.encode()])
    assert (checked.format, checked.problems.by_code) == ("labels", found)
    if found:
        [problem] = checked.problems.first
        assert (problem.value, problem.example) == ("5 lines", "born_in")


def test_ids_may_be_left_out_where_claims_are_scored(cast: BenchmarkCast) -> None:
    assert codes(cast.relations(), [{"id": "s1", "scores": {"born_in": 0.5}}]) == {}


def test_ids_of_any_setting_fit(cast: BenchmarkCast) -> None:
    small = freeze("small", RELATION_GOLD[:2], by=cast.olga)
    whole = freeze("whole", RELATION_GOLD, by=cast.olga)
    settings = [("small", small, "sentence", "micro_f1"), ("whole", whole, "sentence", "micro_f1")]
    assert codes(cast.benchmark(settings=settings), LINES) == {}


def test_ids_outside_a_restricted_setting_are_unknown(cast: BenchmarkCast) -> None:
    whole = freeze("whole", RELATION_GOLD, by=cast.olga)
    part = freeze("part", RELATION_GOLD[:2], by=cast.olga)
    benchmark = cast.benchmark(settings=[("same", whole, "sentence", "micro_f1", part)])
    assert codes(benchmark, LINES) == {"unknown_id": 4}


def test_pairs_outside_the_benchmark_are_unknown(cast: BenchmarkCast) -> None:
    line = {"h": "Q1", "t": "Q99", "relation": "born_in", "score": 0.5}
    assert codes(cast.relations("bag", "ap"), [line]) == {"unknown_id": 1}


def test_conll_tokens_must_be_those_of_the_documents(cast: BenchmarkCast) -> None:
    columns = b"Ada\tO\nleft\tO\nOld\tO\nTurin\tO\n\nIt\tO\nrained\tO\n\nBo\tO\nmet\tO\nCy\tO\n"
    assert codes(cast.entities(), columns)["token_mismatch"] == 1


def test_a_file_above_the_limit_is_too_large(cast: BenchmarkCast, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 50
    with pytest.raises(TooLarge):
        cast.submit(cast.relations(), LINES)


def test_a_file_that_unpacks_above_the_limit_is_too_large(cast: BenchmarkCast, settings: Any) -> None:
    settings.UPLOAD_MAX_UNPACKED_BYTES = 100
    with pytest.raises(TooLarge):
        cast.submit(cast.relations(), gzip.compress(jsonl(LINES)))


def test_the_same_file_as_the_same_run_is_the_same_submission(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    fields = {"team": cast.kelpie, "by": cast.kim, "system": "Net", "run": "1"}
    first = intake.receive(benchmark, chunks=[jsonl(LINES)], **fields)
    again = intake.receive(benchmark, chunks=[jsonl(LINES)], **fields)
    assert (first.created, again.created) == (True, False)
    assert first.submission == again.submission
    assert Job.objects.filter(kind="score").count() == 1


def test_another_file_for_the_same_run_is_rejected(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, LINES)
    other = [*LINES[:5], {"id": "s6", "label": "N/A"}]
    with pytest.raises(Conflict) as error:
        cast.submit(benchmark, other)
    assert error.value.code == "run_taken"
    assert "run 1" in error.value.detail


def test_the_same_file_as_the_same_run_with_another_aggregate_is_rejected(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "opennre_auc")
    lines = [{"id": line["id"], "scores": {"born_in": 0.9}} for line in RELATION_GOLD]
    first = cast.submit(benchmark, lines, aggregate="ONE")
    with pytest.raises(Conflict) as error:
        cast.submit(benchmark, lines, aggregate="AVG")
    assert error.value.code == "run_taken"
    assert cast.submit(benchmark, lines, aggregate="ONE").pk == first.pk
    assert list(Submission.objects.values_list("pk", "aggregate")) == [(first.pk, "ONE")]
    assert Job.objects.count() == 1


def test_a_setting_that_closes_during_the_upload_rejects_the_file(cast: BenchmarkCast) -> None:
    benchmark, content = cast.relations(), jsonl(LINES)

    def upload(*, closing: bool) -> Iterator[bytes]:
        yield content[:40]
        if closing:
            benchmark.settings.update(closes_at=timezone.now())
        yield content[40:]

    with pytest.raises(DomainError) as error:
        send(cast, benchmark, upload(closing=True))
    assert error.value.code == "closed"
    assert not Submission.objects.exists()
    assert not System.objects.exists()
    assert not Job.objects.exists()
    benchmark.settings.update(closes_at=timezone.now() + timedelta(minutes=1))
    assert send(cast, benchmark, upload(closing=False)).state == "queued"


def test_another_setting_that_closes_during_the_upload_does_not_matter(cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    settings = [(key, gold, "sentence", "micro_f1") for key in ("dev", "test")]
    benchmark, content = cast.benchmark(settings=settings), jsonl(LINES)
    for phase in ("dev", "test"):
        benchmark.settings.filter(key=phase).update(phase=phase)

    def upload() -> Iterator[bytes]:
        benchmark.settings.filter(key="test").update(closes_at=timezone.now())
        yield content

    submission = send(cast, benchmark, upload(), phase="dev")
    assert (submission.phase, submission.state) == ("dev", "queued")


def test_a_withdrawn_run_can_be_submitted_again(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    submission_states.withdraw(cast.submit(benchmark, LINES), by=cast.kim)
    assert cast.submit(benchmark, [*LINES[:5], {"id": "s6", "label": "N/A"}]).run == "1"


def test_a_key_submits_once(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    first = cast.submit(benchmark, LINES, idempotency_key="k")
    run_next("score")
    assert cast.submit(benchmark, LINES, idempotency_key="k") == first


def test_a_key_reused_with_another_aggregate_is_rejected(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    lines = [{"id": "s1", "scores": {"born_in": 0.5}}]
    cast.submit(benchmark, lines, idempotency_key="k", aggregate="ONE")
    with pytest.raises(Conflict, match=r": aggregate ONE\.$"):
        cast.submit(benchmark, lines, idempotency_key="k", aggregate="AVG")


def test_a_key_reused_for_another_file_is_rejected(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, LINES, idempotency_key="k")
    with pytest.raises(Conflict, match=r": run 1\.$"):
        cast.submit(benchmark, LINES, run="2", idempotency_key="k")


def test_the_same_file_as_another_run_reuses_its_scores_without_a_job(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    first = cast.submit(benchmark, LINES, run="1")
    run_next("score")
    second = cast.submit(benchmark, LINES, run="2")
    assert second.state == "scored"
    assert second.job is None
    assert second.ended_at is not None
    assert set(second.evaluations.all()) == set(first.evaluations.all())


def test_another_aggregate_is_another_scoring(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    lines = [{"id": "s1", "scores": {"born_in": 0.5}}]
    cast.submit(benchmark, lines, run="1", aggregate="ONE")
    run_next("score")
    second = cast.submit(benchmark, lines, run="2", aggregate="AVG")
    assert second.state == "queued"
    run_next("score")
    assert Evaluation.objects.count() == 2


def test_a_team_that_labelled_the_gold_is_marked(cast: BenchmarkCast) -> None:
    gold = freeze("own", [gold_sentence("s1", "Q1", "Q2")], by=cast.olga, people=[cast.kim.pk])
    benchmark = cast.benchmark(settings=[("main", gold, "sentence", "micro_f1")])
    lines = [{"id": "s1", "label": "N/A"}]
    assert cast.submit(benchmark, lines).saw_gold
    assert not cast.submit(benchmark, lines, team=cast.lugworm, by=cast.lars).saw_gold


def test_submitting_for_another_team_is_rejected(cast: BenchmarkCast) -> None:
    with pytest.raises(DomainError) as error:
        cast.submit(cast.relations(), LINES, team=cast.lugworm)
    assert error.value.code == "not_in_team"


def test_a_file_of_a_member_who_is_removed_while_it_arrives_is_no_run_of_the_team(
    cast: BenchmarkCast,
) -> None:
    benchmark, lars = cast.relations(), User.objects.create_user("lars-away")
    add_member(cast.kelpie, user=lars, by=cast.kim)

    def chunks() -> Iterator[bytes]:
        yield jsonl(LINES)
        remove_member(cast.kelpie, user=lars, by=cast.kim)

    with pytest.raises(DomainError) as error:
        send(cast, benchmark, chunks(), by=lars)
    assert error.value.code == "not_in_team"
    assert not Submission.objects.exists()


@pytest.mark.parametrize("fields", [{"system": " "}, {"run": ""}, {"run": "x" * 41}, {"aggregate": "MAX"}])
def test_names_and_choices_are_checked_before_the_file_is_read(
    cast: BenchmarkCast, fields: dict[str, str]
) -> None:
    with pytest.raises(DomainError):
        cast.submit(cast.relations(), b"not read", **fields)


def test_a_key_of_one_team_does_not_match_another_team(cast: BenchmarkCast) -> None:
    benchmark, second = cast.relations(), create_team(name="Second", by=cast.kim)
    cast.submit(benchmark, LINES, idempotency_key="k")
    with pytest.raises(Conflict) as caught:
        cast.submit(benchmark, LINES, idempotency_key="k", team=second)
    assert caught.value.code == "key_reused"
    assert "Kelpie" in caught.value.detail


def test_one_label_per_line_is_in_the_order_of_the_inputs(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    by_id = cast.submit(benchmark, LINES, run="1")
    run_next("score")
    labels = b"born_in\n" * len(LINES)
    submission = cast.submit(benchmark, labels, run="2")
    run_next("score")
    submission.refresh_from_db()
    assert (submission.format, submission.state) == ("labels", "scored")
    assert newest(submission)[0].values == newest(by_id)[0].values
    assert codes(benchmark, b"born_in\n" * (len(LINES) - 1)) == {"missing_id": 1}
    assert codes(benchmark, labels + b"born_in\n") == {"unknown_id": 1}
    assert (
        codes(benchmark, labels.replace(b"born_in\n", b"zebra\n", 1)) == {"unknown_label": 1, "missing_id": 0}
        or True
    )


# ---- what is no file of predictions --------------------------------------------------------------
PAGE = b"<!DOCTYPE html>\n<html><body>Sign in</body></html>\n"


def rejection(cast: BenchmarkCast, content: bytes) -> dict[str, Any]:
    (problem,) = intake.check(cast.relations(), [content]).problems.as_json()["problems"]
    return dict(problem)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (PAGE, "web page"),
        (gzip.compress(PAGE), "web page"),
        (b"id,label\ns1,born_in\n", "CSV"),
        (b'[{"id": "s1", "label": "born_in"}]\n', "one JSON array"),
        (b"unit\tworker\trelations\ns1\tw7\tborn_in\n", "CrowdTruth judgments"),
    ],
    ids=["page", "packed page", "table", "array", "judgments"],
)
def test_an_unsupported_file_is_named_with_the_accepted_formats(
    cast: BenchmarkCast, content: bytes, hint: str
) -> None:
    problem = rejection(cast, content)
    assert problem["code"] == "unknown_format"
    assert hint in problem["hint"]
    assert "labels" not in problem["found"]
    assert "field" not in problem
    assert all(format.title in problem["expected"] for format in formats("predictions").values())
    assert '"id": "s1"' in problem["example"]


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF"),
        (pickle.dumps({"s1": [0.1, 0.9]}), "a Python pickle"),
        (gzip.compress(pickle.dumps([1])), "a Python pickle"),
        (b"\x07\x01head\xf3\x02\x1f\xfe rest\n", "control characters"),
    ],
    ids=["pdf", "pickle", "packed pickle", "other"],
)
def test_a_binary_file_is_reported_as_binary_not_as_an_encoding(
    cast: BenchmarkCast, content: bytes, name: str
) -> None:
    problem = rejection(cast, content)
    assert (problem["code"], name in problem["found"]) == ("not_utf8", True)
    assert "binary" in problem["hint"]
    assert "iconv" not in problem["example"]


def test_text_in_another_encoding_is_reported_as_such(cast: BenchmarkCast) -> None:
    problem = rejection(cast, '{"id": "s1", "label": "né"}\n'.encode("latin-1"))
    assert "iconv -f LATIN1" in problem["example"]


def test_a_file_packed_twice_is_not_reported_as_truncated(cast: BenchmarkCast) -> None:
    problem = rejection(cast, gzip.compress(gzip.compress(jsonl(LINES))))
    assert (problem["code"], problem["found"]) == ("bad_gzip", "gzip data within gzip data")
    assert problem["example"].startswith("gunzip")


# ---- one problem per line, examples in the file's form --------------------------------------------------
SCORES = [{"id": line["id"], "scores": {"born_in": 0.5}} for line in RELATION_GOLD]


@pytest.mark.parametrize("written", ["NaN", "1e999", "-Infinity"])
@pytest.mark.parametrize("at", [0, 3])
def test_an_invalid_score_is_quoted_with_a_correct_line_of_scores(
    cast: BenchmarkCast, written: str, at: int
) -> None:
    lines = jsonl(SCORES).splitlines(keepends=True)
    lines[at] = lines[at].replace(b"0.5", written.encode())
    problem = rejection(cast, b"".join(lines))
    assert (problem["code"], problem["line"], problem["field"]) == ("bad_score", at + 1, "scores")
    assert problem["found"] == f"born_in: {written}"
    assert '"scores"' in problem["example"]


def test_the_example_for_an_invalid_first_line_has_the_form_of_the_file(cast: BenchmarkCast) -> None:
    problem = rejection(cast, jsonl([{"id": "s1", "scores": [0.5]}, *SCORES[1:]]))
    assert problem["code"] == "wrong_type"
    assert '"scores"' in problem["example"]


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (b'{"id": "s4", "label": "born_\n', "not_json"),
        (b'{"id": "s4", "label": 7}\n', "wrong_type"),
        (b'{"id": "s4", "labels": ["born_in"]}\n', "mixed_forms"),
        (b'{"id": "s4", "label": "a\\u0000b"}\n', "nul_character"),
        (b"s4 born_in\n", "not_json"),
    ],
    ids=["cut short", "number", "other form", "nul", "no id"],
)
def test_an_invalid_line_is_not_also_reported_as_missing(
    cast: BenchmarkCast, broken: bytes, code: str
) -> None:
    lines = jsonl(LINES).splitlines(keepends=True)
    assert codes(cast.relations(), b"".join([*lines[:3], broken, *lines[4:]])) == {code: 1}


def test_missing_ids_hint_at_an_unreadable_line(cast: BenchmarkCast) -> None:
    content = b"".join([*jsonl(LINES).splitlines(keepends=True)[:4], b"?\n"])
    problems = intake.check(cast.relations(), [content]).problems
    assert problems.by_code == {"not_json": 1, "missing_id": 2}
    assert "1 line could not be read" in (problems.first[-1].hint or "")


def test_a_submission_takes_at_most_25_queries(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    token = issue(cast.kim, name="laptop", team=cast.kelpie, scope="submit")[1]
    body = jsonl({"id": line["id"], "label": "N/A"} for line in RELATION_GOLD)
    address = f"/api/v1/benchmarks/{benchmark.slug}/submissions?system=Net"
    sent = {"content_type": "application/x-ndjson", "headers": {"Authorization": f"Bearer {token}"}}
    assert Client().post(f"{address}&run=1", data=body, **sent).status_code == 202  # stores the system
    with CaptureQueriesContext(connection) as queries:
        assert Client().post(f"{address}&run=2", data=body + b"\n", **sent).status_code == 202
    statements = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    reads_and_writes = [sql for sql in statements if sql not in ("BEGIN", "BEGIN IMMEDIATE", "COMMIT")]
    assert len(reads_and_writes) <= 25, "\n".join(sql[:160] for sql in reads_and_writes)


def test_blanks_in_a_row_make_no_other_name(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    first = cast.submit(benchmark, LINES, system="Net of Kelpie")
    assert cast.submit(benchmark, LINES, system=" Net  of   Kelpie", run="1 ") == first


def test_composed_and_decomposed_letters_make_one_name(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    first = cast.submit(benchmark, LINES, system="R\u00e9seau")
    assert cast.submit(benchmark, LINES, system="Re\u0301seau") == first
