"""Agreement of local files: textbook values, and the figures of the service's report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from tests.workers.cli.conftest import Write
from workers.cli.command import main
from workers.metrics.agreement import ONE_CATEGORY
from workers.metrics.annotators import NO_MARKS
from workers.scoring.span_agreement import NO_TEXTS

# Krippendorff (2011): a row per annotator
NOMINAL = [
    [0, 0, 0, 0, 0, 3, 4, 1, 2, 1, 1, 3, 3, 0, 3],
    [1, 0, 2, 1, 3, 3, 4, 3, 0, 0, 0, 0, 0, 0, 0],
    [0, 0, 2, 1, 3, 4, 4, 0, 2, 1, 1, 3, 3, 0, 4],
]
# Fleiss (1971), as in textbooks: answers of 14 people per category
COUNTS = [
    *([0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]),
    *([7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]),
]


@pytest.fixture(autouse=True)
def _few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workers.scoring.agreement.REPLICATES", 20)


def vote(item: object, annotator: object, label: object) -> dict[str, Any]:
    return {"item": f"i{item}", "annotator": f"a{annotator}", "labels": [f"c{label}"]}


def figures(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["agreement", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_krippendorffs_alpha_of_the_textbook(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    votes = [
        vote(item, person, label)
        for person, row in enumerate(NOMINAL)
        for item, label in enumerate(row)
        if label
    ]
    found = figures(capsys, str(write("votes.jsonl", votes)))
    assert found["overall"]["alpha"]["value"] == pytest.approx(0.691358024691358)
    assert found["overall"]["ac1"]["value"] == pytest.approx(0.7091639179)
    assert (found["answers"], len(found["annotators"])) == (27, 3)


def test_fleiss_kappa_of_the_textbook(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    votes = [
        vote(item, person, label)
        for item, row in enumerate(COUNTS)
        for person, label in enumerate(label for label, n in enumerate(row) for _ in range(n))
    ]
    found = figures(capsys, str(write("votes.jsonl", votes)))
    assert found["overall"]["fleiss"]["value"] == pytest.approx(0.20993070442195522)
    assert found["overall"]["ac1"]["value"] == pytest.approx(0.2256141508)


@pytest.mark.parametrize(("empty", "answers"), [("no-vote", 3), ("no-label", 4)])
def test_an_empty_cell_is_no_answer_or_one_without_a_label(
    write: Write, capsys: pytest.CaptureFixture[str], empty: str, answers: int
) -> None:
    table = "unit\tworker\trelations\nu1\tw1\ta|b\nu1\tw2\tNONE\nu2\tw1\t\nu2\tw2\ta\n"
    found = figures(capsys, str(write("votes.tsv", table)), "--empty", empty)
    assert found["answers"] == answers
    assert found["na"]["answers"] == 1
    assert sorted(found["relations"]) == ["a", "b"]


@pytest.mark.parametrize(
    ("alike", "other", "reason"),
    [
        ({"labels": ["A"]}, {"labels": ["B"]}, ONE_CATEGORY),
        ({"spans": []}, {"spans": [[0, 1, "P"]]}, NO_MARKS),
    ],
)
def test_a_pair_without_a_coefficient_has_the_reason(
    write: Write,
    capsys: pytest.CaptureFixture[str],
    alike: dict[str, Any],
    other: dict[str, Any],
    reason: str,
) -> None:
    people = {"ann": alike, "ben": alike, "cay": other}
    votes = [{"item": f"d{at}", "annotator": name, **people[name]} for at in range(10) for name in people]
    pairs = figures(capsys, str(write("votes.jsonl", votes)))["pairs"]
    assert [(pair["value"], pair.get("reason")) for pair in pairs] == [(None, reason), (0, None), (0, None)]


def test_spans_are_compared_by_f1(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    votes = [
        {"item": "d1", "annotator": "ann", "spans": [[0, 1, "P"], [2, 3, "L"]]},
        {"item": "d1", "annotator": "ben", "spans": [[0, 1, "P"], [2, 4, "L"]]},
    ]
    path = str(write("votes.jsonl", votes))
    (pair,) = figures(capsys, path)["pairs"]
    assert (pair["measure"], pair["value"]) == ("f1", 0.5)
    spans = figures(capsys, path)["spans"]
    assert {name: (row["spans"], row["f1"]["value"]) for name, row in spans["types"].items()} == {
        "L": (2, 0.0),
        "P": (2, 1.0),
    }
    assert (spans["f1"]["value"], spans["confused"]) == (0.5, [[0, 0], [0, 1]])
    assert spans["token_alpha"]["reason"] == NO_TEXTS
    assert main(["agreement", path]) == 0
    printed = capsys.readouterr().out
    assert "span F1" in printed
    assert "Krippendorff α of tokens" in printed


def test_relations_between_spans_are_compared_by_name(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    spans = [[0, 1, "P"], [2, 3, "L"]]
    votes = [
        {"item": "d1", "annotator": name, "spans": spans, "relations": relations}
        for name, relations in (("ann", [[0, "met", 1]]), ("ben", [[0, "met", 1], [1, "left", 0]]))
    ]
    found = figures(capsys, str(write("votes.jsonl", votes)))
    assert {name: row["observed"]["value"] for name, row in found["relations"].items()} == {
        "met": 1.0,
        "left": 0.0,
    }
    assert found["spans"]["f1"]["value"] == 1.0


@pytest.mark.django_db
def test_spans_of_a_download_have_the_figures_of_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from annotation.reports import agreement
    from tests.cast.basics import compute_agreement
    from tests.cast.projects import ProjectCast

    cast = ProjectCast.create(kind="entities", k=2, labels=["P", "L"])
    texts = [{"id": "d1", "text": "Ada saw Turin 都灵."}, {"id": "d0", "tokens": ["Bo", "left", "Ulm"]}]
    cast.import_lines(*texts)
    spans = [
        [[0, 3, "P"], [8, 13, "L"]],
        [[0, 3, "P"], [4, 16, "L"]],
        [[0, 1, "P"], [2, 3, "L"]],
        [[0, 2, "P"]],
    ]
    marks = zip(["d1", "d1", "d0", "d0"], ["ann", "ben"] * 2, spans, strict=True)
    cast.import_lines(
        *({"item": item, "annotator": who, "spans": marked} for item, who, marked in marks), what="votes"
    )
    compute_agreement(cast.project, by=cast.curator)
    votes, items = tmp_path / "votes.jsonl", tmp_path / "items.jsonl"
    votes.write_bytes(b"".join(agreement.judgments(cast.project, by=cast.curator)))
    items.write_text("".join(json.dumps(line) + "\n" for line in texts))
    found, shown = figures(capsys, str(votes), "--texts", str(items)), cast.project.agreements.get().figures
    assert found["spans"] == shown["spans"]
    assert found["spans"]["token_alpha"]["value"] is not None
    assert [found[name] for name in ("pairs", "people")] == [shown[name] for name in ("pairs", "people")]


@pytest.mark.parametrize(
    ("texts", "message"),
    [([{"id": "d2", "text": "Ada"}], "one of the texts"), ([{"id": "d1", "text": "Ad"}], "end ≤ 2")],
)
def test_answers_that_fit_no_text_are_rejected_by_line(
    write: Write, capsys: pytest.CaptureFixture[str], texts: list[Any], message: str
) -> None:
    votes = write("votes.jsonl", [{"item": "d1", "annotator": "ann", "spans": [[0, 3, "P"]]}])
    assert main(["agreement", str(votes), "--texts", str(write("texts.jsonl", texts))]) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert "Line 1" in printed


def test_the_command_prints_tables_with_intervals(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    votes = [vote(item, person, (item + (person == 2)) % 2) for item in range(12) for person in range(3)]
    call_command("agreement", str(write("votes.jsonl", votes)))
    lines = capsys.readouterr().out.splitlines()
    assert "Fleiss κ: over the items with the usual number of answers alone." in lines
    rows = [line.split() for line in lines]
    assert ["answers", "36"] in rows
    (row,) = (row for row in rows if row[:2] == ["c0", "18"])
    assert row[2] == "0.3333"
    assert ["a0", "a1", "12", "1.0000", "1.0000"] in rows


def test_a_repeated_answer_is_rejected_with_its_line(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("votes.jsonl", [vote(1, 1, 1), vote(1, 1, 2)])
    assert main(["agreement", str(path)]) == 2
    assert "Line 2" in capsys.readouterr().err


def test_predictions_are_no_answers_of_annotators(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["agreement", str(write("p.jsonl", [{"id": "s1", "label": "a"}]))]) == 2
    assert "unknown_format" in capsys.readouterr().err
