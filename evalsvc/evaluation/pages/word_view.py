"""Words by type of a scored submission, as WRF weights them: on pages and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.testset import label_titles
from evalsvc.core.web.formatting import DASH
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.core.web.templatetags.formatting import ratio
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.measures.composition import WORDS
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.pages.score_view import shown_score

BESIDE_WORDS = ("conll_micro_f1", "conll_macro_f1")
COMBINED_WORDS = "*"  # the label of all types together


@dataclass(frozen=True)
class WordRow:
    """Words of a type, or of all types together, and the γ given and used, strict and lenient.

    `means` are R1-P, R1-R and R1-F1 over the `documents` in which the type is defined.
    """

    title: str
    target: int
    predicted: int
    matched: int
    precision: float | None
    recall: float | None
    f1: float | None
    exact: float | None
    gammas: list[tuple[float, float]]
    documents: int | None = None
    means: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class WordTable:
    """Words by type, as WRF weights them."""

    key: str
    caption: str
    rows: list[WordRow]
    foot: str
    rescaled: bool
    own: list[str]
    mean_foot: str


def word_tables(evaluations: Sequence[Disclosed], benchmark: Benchmark) -> list[WordTable]:
    """Build a table of words by type for each setting that shows them."""
    return [
        _word_table(evaluation, benchmark, rows)
        for evaluation in evaluations
        if not evaluation.policy.hidden
        and (rows := [row for row in evaluation.classes if row["family"] == "wrf"])
    ]


def _word_table(evaluation: Disclosed, benchmark: Benchmark, rows: list[dict[str, Any]]) -> WordTable:
    """Build the table of R1 figures by type, the combined class last, and of their means."""
    titles = label_titles(benchmark.labels) | {COMBINED_WORDS: "All types together"}
    exact = {row["label"]: row["f1"] for row in evaluation.classes if row["family"] == "conll"}
    given = [_gammas(len(rows), together) for together in (1, 2)]
    totals = [sum(g for g, row in zip(of, rows, strict=True) if row["f1"] is not None) for of in given]
    means = {row["label"]: row for row in evaluation.classes if row["family"] == "wrf_mean"}
    shown = [
        WordRow(
            titles.get(row["label"], row["label"]),
            row["gold"],
            row["predicted"],
            row["correct"],
            row["precision"],
            row["recall"],
            row["f1"],
            exact.get(row["label"]),
            [
                (of[at], of[at] / total if row["f1"] is not None else 0.0)
                for of, total in zip(given, totals, strict=True)
            ],
            *_means(means.get(row["label"])),
        )
        for at, row in enumerate(rows)
    ]
    scores = {score.measure: shown_score(evaluation.setting, score) for score in evaluation.scores}

    def named(*keys: str, before: str = "") -> str:
        parts = (scores[key] for key in keys if key in scores)
        return ", ".join(f"{before}{part.title} {part.text or DASH}" for part in parts)

    foot = ", ".join(
        filter(None, (named("wrf_strict", "wrf_lenient"), named(*BESIDE_WORDS, before="CoNLL ")))
    )
    own = [
        f"{measure['title']} {scores[measure['key']].text or DASH}: {measure['formula']}"
        for measure in benchmark.contributed
        if measure["base"] == WORDS and measure["key"] in scores
    ]
    return WordTable(
        evaluation.setting.key,
        evaluation.setting.title,
        shown,
        foot,
        any(row.f1 is None for row in shown),
        own,
        named("wrf_strict_mean", "wrf_lenient_mean"),
    )


def words_file(table: WordTable, name: str) -> PaperTable:
    """The words by type, as a table to download."""
    heads = [
        Head("type", "Type", numeric=False), Head("gold", "Gold words"), Head("predicted", "Predicted"),
        Head("shared", "Shared"), Head("r1_p", "R1-P"), Head("r1_r", "R1-R"), Head("r1_f1", "R1-F1"),
        Head("exact_f1", "Exact F1"), Head("gamma_strict", "γ strict"), Head("gamma_lenient", "γ lenient"),
        Head("documents", "Documents"), Head("mean_r1_p", "Mean R1-P"), Head("mean_r1_r", "Mean R1-R"),
        Head("mean_r1_f1", "Mean R1-F1"),
    ]  # fmt: skip
    rows = []
    for row in table.rows:
        shares = [row.precision, row.recall, row.f1, row.exact, *(used for _, used in row.gammas)]
        means = row.means or (None, None, None)
        rows.append([
            Cell(row.title, row.title),
            *(Cell(value, f"{value:,}") for value in (row.target, row.predicted, row.matched)),
            *(Cell(value, ratio(value)) for value in shares),
            Cell(row.documents, DASH if row.documents is None else f"{row.documents:,}"),
            *(Cell(value, ratio(value)) for value in means),
        ])  # fmt: skip
    return PaperTable(name, f"Words by type on “{table.caption}”; γ as used.", heads, rows)


def _means(row: dict[str, Any] | None) -> tuple[int | None, tuple[float | None, ...]]:
    """Return the documents in which a type is defined, and its means over them."""
    if row is None:
        return None, ()
    documents = row["gold"] + row["predicted"] - row["correct"]
    return documents, (row["precision"], row["recall"], row["f1"])


def _gammas(rows: int, together: int) -> list[float]:
    """Return γ of each type, and of all together `together` times as much."""
    shares = [1] * (rows - 1) + [together] if rows > 1 else [1]
    return [share / sum(shares) for share in shares]
