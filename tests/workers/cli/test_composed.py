"""Composed measures equal the built-in ones that they spell out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.workers.cli.conftest import Write
from workers.cli.arguments import Options
from workers.cli.command import main
from workers.cli.local_files import score

TOKENS = "the scroll tip is melted and the scroll is loose".split()  # noqa: SIM905
GOLD = [
    {"id": "a", "tokens": TOKENS, "spans": [[1, 3, "loc"], [4, 5, "type"]]},
    {"id": "b", "tokens": TOKENS, "spans": [[7, 8, "loc"], [9, 10, "type"], [1, 2, "loc"]]},
]
SPANS = [
    {"id": "a", "spans": [[1, 3, "loc"], [4, 5, "type"], [7, 8, "loc"]]},
    {"id": "b", "spans": [[7, 8, "type"], [9, 10, "type"]]},
]
TEXTS = [
    {"id": "a", "entities": [["scroll tip", "loc"], ["melted", "type"], ["melted", "state"]]},
    {"id": "b", "entities": [["loose", "loc"], ["scroll", "loc"]]},
]
LABELS = [{"id": str(at), "label": "NA" if at % 3 else "ab"[at % 2]} for at in range(30)]
ANSWERS = [{"id": str(at), "label": "NA" if at % 4 else "ab"[at % 2]} for at in range(30)]


def figures(write: Write, gold: Any, lines: Any, compositions: list[Any], **options: Any) -> Any:
    paths = [write(f"m{at}.json", [each]) for at, each in enumerate(compositions)]
    chosen = Options(**options, measure=tuple(paths))
    found = score(write("gold.jsonl", gold), write("p.jsonl", lines), chosen)
    return found.report.values, [each.value.value for each in found.composed]


@pytest.mark.parametrize("lines", [SPANS, TEXTS])
@pytest.mark.parametrize("figure", ["f1", "precision", "recall"])
def test_every_scheme_equals_the_built_in_average(write: Write, lines: Any, figure: str) -> None:
    schemes = ["micro", "weighted", "dodrans", "entropy", "entropy-positive", "macro", "macro-all"]
    given = [{"base": "conll", "figure": figure, "scheme": scheme} for scheme in schemes]
    values, found = figures(write, GOLD, lines, given, task="entities")
    expected = [values[f"conll_{scheme.replace('-', '_')}_{figure}"].value for scheme in schemes]
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_negative_class_counts_in_the_entropy_of_single_labels(write: Write) -> None:
    given = [{"base": "classification", "scheme": scheme} for scheme in ("entropy", "micro", "macro")]
    values, found = figures(write, LABELS, ANSWERS, given, task="classification", negative="NA")
    assert found == pytest.approx([values[f"{key}_f1"].value for key in ("entropy", "micro", "macro")])


def test_a_subset_of_classes_and_their_weights_are_averaged_alone(write: Write) -> None:
    given = [
        {"base": "conll", "labels": ["loc"]},
        {"base": "conll", "scheme": "custom", "weights": {"loc": 2, "type": 0}},
        {"base": "conll", "scheme": "custom", "weights": {"loc": 1, "type": 3}},
        {"base": "conll", "labels": ["type"], "beta": 2},
    ]
    _, found = figures(write, GOLD, SPANS, given, task="entities")
    # loc: 1 right of 2 predicted and 3 in the gold; type: 2 right of 3 and 2
    assert found == pytest.approx([0.4, 0.4, (0.4 + 3 * 0.8) / 4, 10 / 11])


@pytest.mark.parametrize("lines", [SPANS, TEXTS])
def test_gamma_strict_and_lenient_and_custom_ones_agree(write: Write, lines: Any) -> None:
    gammas = {"classes": {"loc": 1, "type": 1}, "combined": 2}
    given = [
        {"base": "wrf"},
        {"base": "wrf", "gamma": "lenient", "over": "mean"},
        {"base": "wrf", "gamma": "custom", "gammas": gammas},
        {"base": "wrf", "gamma": "lenient", "scheme": "macro"},
    ]
    values, found = figures(write, GOLD, lines, given, task="entities")
    keys = ("wrf_strict", "wrf_lenient_mean", "wrf_lenient", "wrf_lenient")
    assert found == pytest.approx([values[key].value for key in keys], abs=1e-12)


def test_the_command_prints_composed_measures_with_their_formula(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    gold, lines = write("gold.jsonl", GOLD), write("p.jsonl", SPANS)
    own = write("half_recall.json", [{"base": "conll", "beta": 0.5}])
    words = [str(gold), str(lines), "--task", "entities", "--measure", str(own)]
    assert main(words) == 0
    assert "half_recall" in (text := capsys.readouterr().out)
    assert "F0.5 = 1.25·tp" in text
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["composed"]["half_recall"]["value"] == pytest.approx(
        (1.25 / 2.75 + 2.5 / 3.5) / 2
    )
    Path(own).write_text('{"base": "bags"}')
    assert main(words) == 2
    assert "is not a base of measures" in capsys.readouterr().err
