"""Rows of a file's ids, in the order of the gold or in any other."""

from __future__ import annotations

import pytest

from evalsvc.core.formats.prediction_check import PredictionCheck
from evalsvc.core.formats.records import LabelPrediction
from evalsvc.core.formats.text_lines import Irregular
from workers.scoring.prediction_files import ColumnReader

ITEMS = {name: row for row, name in enumerate("abcdef")}


def rows_of(*parts: str) -> list[list[int]]:
    reader = ColumnReader(PredictionCheck(ids=ITEMS, labels=[]))
    return [reader.rows([LabelPrediction(name, "A") for name in part]).tolist() for part in parts]


@pytest.mark.parametrize(
    "parts",
    [
        ["abc", "def"],
        ["abc", "fed"],
        ["cab", "def"],
        ["ab", "ef", "cd"],
        ["ab", "ab", "cd"],
        ["abcdef"],
        ["f"],
    ],
)
def test_ids_have_the_same_rows_in_any_order(parts: list[str]) -> None:
    assert rows_of(*parts) == [[ITEMS[name] for name in part] for part in parts]


def test_an_unknown_id_is_irregular() -> None:
    with pytest.raises(Irregular):
        rows_of("ax")
