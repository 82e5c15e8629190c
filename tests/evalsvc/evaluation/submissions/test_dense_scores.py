"""Dense score files: header checked at upload, numbers by a job, figures as by lines."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.npy import ColumnNames
from evalsvc.core.formats.problems import FileRejected
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.pages.score_view import provenance
from evalsvc.evaluation.shown_scores import newest
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import LABELS, RELATION_GOLD, BenchmarkCast, freeze
from workers.runner import run_next

IDS = [line["id"] for line in RELATION_GOLD]
PAIRS = list(dict.fromkeys((line["h"]["id"], line["t"]["id"]) for line in RELATION_GOLD))


def array(rows: int, columns: int = 3, *, seed: int = 7) -> Any:
    return np.random.default_rng(seed).random((rows, columns))


def dense(matrix: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, matrix)
    return file.getvalue()


def send(cast: BenchmarkCast, benchmark: Benchmark, content: bytes, *, run: str = "1") -> Submission:
    submission = cast.submit(benchmark, content, run=run)
    run_next("ingest")
    run_next("score")
    submission.refresh_from_db()
    return submission


def figures(submission: Submission) -> dict[str, float | None]:
    (evaluation,) = newest(submission)
    return evaluation.values


@pytest.mark.parametrize("type", ["<f8", "<f4"])
def test_a_dense_file_scores_as_the_same_scores_by_lines(cast: BenchmarkCast, type: str) -> None:
    benchmark = cast.relations(unit="bag", main="ap")
    matrix = array(len(IDS)).astype(type)
    rows = [
        {"id": i, "scores": dict(zip(LABELS, map(float, row), strict=True))}
        for i, row in zip(IDS, matrix, strict=True)
    ]
    by_lines = cast.submit(benchmark, rows, run="lines")
    run_next("score")
    submission = send(cast, benchmark, dense(matrix))
    assert (submission.state, submission.format, submission.form) == ("scored", "npy", "scores")
    assert figures(submission) == figures(by_lines)


def test_as_many_rows_as_pairs_are_pairs(cast: BenchmarkCast) -> None:
    gold = [*RELATION_GOLD, RELATION_GOLD[0] | {"id": "s7"}]
    benchmark = cast.benchmark(settings=[("main", freeze("seven", gold, by=cast.olga), "bag", "ap")])
    matrix = array(len(PAIRS))
    rows = [
        {"h": head, "t": tail, "relation": label, "score": float(row[at])}
        for (head, tail), row in zip(PAIRS, matrix, strict=True)
        for at, label in enumerate(LABELS)
    ]
    by_lines = cast.submit(benchmark, rows, run="lines")
    run_next("score")
    submission = send(cast, benchmark, dense(matrix))
    assert (submission.state, submission.form) == ("scored", "bag")
    assert figures(submission) == figures(by_lines)


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (ColumnNames(na="last"), [0, 1, 2, 3]),
        (ColumnNames(na="first"), [3, 0, 1, 2]),
        (ColumnNames(columns=json.dumps([LABELS[2], "N/A", *LABELS[:2]])), [2, 3, 0, 1]),
        (ColumnNames(columns="\n".join([LABELS[1], LABELS[0], LABELS[2]])), [1, 0, 2]),
        (
            ColumnNames(columns=json.dumps({"N/A": 0} | {name: at for at, name in enumerate(LABELS, 1)})),
            [3, 0, 1, 2],
        ),
    ],
)
def test_named_columns_are_scored_in_any_order(
    cast: BenchmarkCast, names: ColumnNames, order: list[int]
) -> None:
    benchmark = cast.relations(unit="bag", main="ap")
    matrix = array(len(IDS), 4)
    usual = send(cast, benchmark, dense(matrix[:, :3]))
    content = dense(np.ascontiguousarray(matrix[:, order]))
    cast.submit(benchmark, content, run="2", names=names)
    run_next("ingest")
    run_next("score")
    named = Submission.objects.get(run="2")
    assert (named.state, figures(named)) == ("scored", figures(usual))
    shown = [dict(row[:2] for row in provenance(each, []))["Columns"] for each in (usual, named)]
    in_file = ", ".join([*LABELS, "N/A"][column] for column in order)
    assert shown == ["labels in the order of the benchmark", in_file]


@pytest.mark.parametrize(
    "names", [ColumnNames("\n".join(LABELS), "first"), ColumnNames("\n".join([*LABELS, "N/A"]), "first")]
)
def test_a_place_that_the_names_of_the_columns_contradict_is_rejected(
    cast: BenchmarkCast, names: ColumnNames
) -> None:
    benchmark = cast.relations(unit="bag", main="ap")
    content = dense(array(len(IDS), len(names.columns.split())))
    with pytest.raises(FileRejected, match=r"Field na: .* Found first\. Expected the place of N/A"):
        cast.submit(benchmark, content, names=names)


def archive(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_archive_names_its_columns(cast: BenchmarkCast, pack: Any) -> None:
    benchmark = cast.relations(unit="bag", main="ap")
    matrix = array(len(IDS), 4)
    usual = send(cast, benchmark, dense(matrix[:, :3]))
    names = np.array([LABELS[2], "N/A", *LABELS[:2]])
    content = archive(scores=np.ascontiguousarray(matrix[:, [2, 3, 0, 1]]), columns=names)
    submission = send(cast, benchmark, pack(content), run="2")
    assert (submission.format, submission.columns) == ("npy", names.tolist())
    assert figures(submission) == figures(usual)


def test_an_archive_without_names_is_read_as_its_matrix(cast: BenchmarkCast) -> None:
    benchmark, matrix = cast.relations(), array(6)
    first = intake.check(benchmark, [archive(scores=matrix)])
    assert not first.problems.total
    assert first.sha256 == intake.check(benchmark, [dense(matrix)]).sha256
    names = ColumnNames("\n".join(reversed(LABELS)))
    assert intake.check(benchmark, [archive(scores=matrix)], names=names).columns == list(reversed(LABELS))


def test_names_in_an_archive_and_beside_it_are_rejected(cast: BenchmarkCast) -> None:
    content = archive(scores=array(6), columns=np.array(LABELS))
    checked = intake.check(cast.relations(), [content], names=ColumnNames(na="first"))
    assert checked.problems.by_code == {"wrong_shape": 1}


def zipped(
    members: dict[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED, comment: bytes = b""
) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as made:
        for name, content in members.items():
            made.writestr(name, content)
        made.comment = comment
    return file.getvalue()


def with_larger_end(content: bytes) -> bytes:
    """An archive with an end record for 4 GB as well, whose directory may have any length."""
    count, size, offset = struct.unpack("<8x2xHLL", content[-22:-2])
    end = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, offset)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(content) - 22, 1)
    seen = struct.pack("<L", size + len(end) + len(locator))
    return content[:-22] + end + locator + content[-22:-10] + seen + content[-6:]


SCORES = dense(np.full((6, 3), 0.5))


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (zipped({"predictions.jsonl": b"{}"}), "not_utf8"),
        (zipped({f"{at}.npy": b"" for at in range(200)} | {"scores.npy": SCORES}), "not_utf8"),
        (zipped({"scores.npy": SCORES}, comment=b"long"), "not_utf8"),
        (with_larger_end(zipped({"scores.npy": SCORES})), "not_utf8"),
        (zipped({"scores.npy": SCORES}, compression=zipfile.ZIP_LZMA), "bad_npy"),
        (zipped({"scores.npy": b"no array"}), "bad_npy"),
        (zipped({"scores.npy": SCORES[:-8]}), "bad_npy"),
        (zipped({"scores.npy": SCORES, "columns.npy": dense(np.arange(3))}), "bad_npy"),
        (zipped({"scores.npy": SCORES, "columns.npy": dense(np.array(LABELS))[:-4]}), "bad_npy"),
        (
            zipped({"scores.npy": SCORES, "columns.npy": dense(np.array(["zebra", *LABELS[1:]]))}),
            "unknown_label",
        ),
        (zipped({"scores.npy": SCORES}).replace(b"PK\x01\x02", b"PK\x01\x03"), "bad_npy"),
        (zipped({"scores.npy": SCORES})[:-30], "not_utf8"),
    ],
)
def test_an_archive_of_anything_else_is_rejected(cast: BenchmarkCast, content: bytes, code: str) -> None:
    assert intake.check(cast.relations(), [content]).problems.by_code == {code: 1}


def test_a_packed_matrix_is_read_no_further_than_its_header_says(cast: BenchmarkCast) -> None:
    read = 0

    def pieces() -> Iterator[bytes]:
        nonlocal read
        for piece in (SCORES, *[bytes(1 << 16)] * 1_000):
            read += len(piece)
            yield piece

    assert intake.check(cast.relations(), pieces()).problems.by_code == {"bad_npy": 1}
    assert read < 1 << 20


def test_a_key_reused_with_other_columns_is_rejected(cast: BenchmarkCast) -> None:
    benchmark, content = cast.relations(), dense(array(6))
    orders = [ColumnNames(json.dumps(names)) for names in (LABELS, LABELS[::-1])]
    cast.submit(benchmark, content, idempotency_key="k", names=orders[0])
    with pytest.raises(Conflict, match=r": other columns\.$"):
        cast.submit(benchmark, content, idempotency_key="k", names=orders[1])


def test_the_same_bytes_with_other_columns_are_scored_anew(cast: BenchmarkCast) -> None:
    benchmark = cast.relations(unit="bag", main="ap")
    content = dense(array(len(IDS), 4))
    for run, na in (("1", "first"), ("2", "last")):
        cast.submit(benchmark, content, run=run, names=ColumnNames(na=na))
        run_next("ingest")
        run_next("score")
    first, last = (figures(each) for each in Submission.objects.order_by("run"))
    assert first != last


def test_an_extra_column_without_a_statement_is_rejected(cast: BenchmarkCast) -> None:
    checked = intake.check(cast.relations(), [dense(array(6, 4))])
    (problem,) = checked.problems.first
    assert (problem.code, problem.field) == ("wrong_shape", "columns")
    assert "na=first or na=last" in problem.sentence()


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (ColumnNames(na="middle"), "wrong_shape"),
        (ColumnNames(columns="[1, 2]"), "wrong_shape"),
        (ColumnNames(columns="[["), "wrong_shape"),
        (ColumnNames(columns=LABELS[0]), "wrong_shape"),
        (ColumnNames(columns="\n".join([LABELS[0], *LABELS])), "duplicate_label"),
        (ColumnNames(columns="\n".join(["zebra", *LABELS])), "unknown_label"),
    ],
)
def test_columns_that_do_not_name_each_label_once_are_rejected(
    cast: BenchmarkCast, names: ColumnNames, code: str
) -> None:
    checked = intake.check(cast.relations(), [dense(array(6, 4))], names=names)
    assert checked.problems.by_code == {code: 1}


def test_a_dense_file_may_be_gzipped(cast: BenchmarkCast) -> None:
    assert send(cast, cast.relations(), gzip.compress(dense(array(6)))).state == "scored"


@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (6, 2), (6, 5), (7, 3)])
def test_another_shape_is_rejected_at_upload_and_uses_no_quota(
    cast: BenchmarkCast, rows: int, columns: int
) -> None:
    with pytest.raises(FileRejected) as caught:
        cast.submit(cast.relations(), dense(array(rows, columns)))
    assert caught.value.problems.by_code == {"wrong_shape": 1}
    assert not Submission.objects.exists()


def test_a_dry_run_checks_the_header(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    assert intake.check(benchmark, [dense(array(6))]).problems.total == 0
    assert intake.check(benchmark, [dense(array(6))[:-8]]).problems.by_code == {"bad_npy": 1}


@pytest.mark.parametrize("type", ["<f8", "<f4", "<f2"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_dry_run_reports_cells_that_are_not_numbers(cast: BenchmarkCast, type: str, value: float) -> None:
    matrix = array(6).astype(type)
    matrix[4, 1] = matrix[5, 2] = value
    problems = intake.check(cast.relations(), [dense(matrix)]).problems
    assert problems.by_code == {"bad_score": 2}
    first = problems.first[0]
    assert (first.line, first.field) == (5, LABELS[1])
    assert first.value == f"{value} in row 5, column {LABELS[1]}"


def test_large_finite_numbers_are_accepted(cast: BenchmarkCast) -> None:
    assert intake.check(cast.relations(), [dense(np.full((6, 3), 1e308))]).problems.total == 0


def test_many_cells_that_are_not_numbers_stop_the_check(cast: BenchmarkCast) -> None:
    content, names = dense(np.full((6, 4), np.nan)), ColumnNames(na="last")
    problems = intake.check(cast.relations(), [content], names=names).problems
    assert problems.by_code == {"bad_score": 20}


def test_a_dense_file_that_waits_for_its_check_can_be_cancelled(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), dense(array(6)))
    assert submission.state == "received"
    submission_states.cancel(submission, by=cast.kim)
    submission.refresh_from_db()
    assert submission.state == "cancelled"
    assert not run_next("ingest")


def test_span_benchmarks_accept_no_dense_files(cast: BenchmarkCast) -> None:
    with pytest.raises(FileRejected):
        cast.submit(cast.entities(), dense(array(3, 2)))


def test_rows_keep_the_sentences_of_the_time_of_upload(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    matrix = array(6)
    matrix[:, 0] = [1, 0, 0, 0, 1, 0]  # born_in, where it is so
    submission = send(cast, benchmark, dense(matrix))
    turned = freeze("turned", RELATION_GOLD[::-1], by=cast.olga)
    creation.revise_setting(benchmark.settings.get(), test_set=turned, by=cast.olga)
    run_next("score")
    submission.refresh_from_db()
    assert submission.state == "scored"
    (evaluation,) = newest(submission)
    born_in = next(row for row in evaluation.classes if row["label"] == "born_in")
    assert evaluation.gold_sha256 == turned.sha256
    assert (born_in["gold"], born_in["correct"]) == (2, 2)


@pytest.mark.parametrize(("more", "covered"), [(0, {"main", "late"}), (2, {"main"})])
def test_a_setting_added_later_does_not_shift_rows(cast: BenchmarkCast, more: int, covered: set[str]) -> None:
    benchmark = cast.relations()
    submission = send(cast, benchmark, dense(array(6)))
    others = [line | {"id": f"more-{line['id']}"} for line in RELATION_GOLD[:more]]
    late = freeze("late", [*RELATION_GOLD[::-1], *others], by=cast.olga)
    creation.add_setting(
        benchmark,
        key="late",
        title="Late",
        test_set=late,
        unit="bag",
        main="ap",
        by=cast.olga,
        disclosure="open",
    )
    run_next("score")
    submission.refresh_from_db()
    assert submission.state == "scored"
    assert {each.setting.key for each in newest(submission)} == covered


def test_the_conll_semeval_and_opennre_formats_are_accepted(cast: BenchmarkCast) -> None:
    columns = b"Ada B-PER\nleft O\nNew B-LOC\nTurin I-LOC\n\nIt O\nrained O\n\nBo B-PER\nmet O\nCy B-PER\n\n"
    assert cast.submit(cast.entities(), columns).format == "conll"
    bags = cast.relations(unit="bag", main="ap", slug="bags")
    results = jsonl([{"entpair": ["Q1", "Q2"], "relation": "born_in", "score": 0.9}])
    assert cast.submit(bags, results).format == "opennre-results"
    gold = [line | {"id": str(8001 + at)} for at, line in enumerate(RELATION_GOLD)]
    numbered = freeze("numbered", gold, by=cast.olga)
    answers = "".join(f"{line['id']}\tborn_in\n" for line in gold).encode()
    semeval = cast.benchmark("numbered", settings=[("main", numbered, "sentence", "micro_f1")])
    assert cast.submit(semeval, answers).format == "semeval-answers"
