"""Rows of a file's ids, in the order of the gold or in any other."""

from __future__ import annotations

import pytest

from evalsvc.core.formats.json_blocks import Irregular
from workers.scoring.column_reader import _Rows

ITEMS = {name: row for row, name in enumerate("abcdef")}


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
def test_ids_have_the_same_rows_in_whatever_order_they_come(parts: list[str]) -> None:
    rows = _Rows(ITEMS)
    assert [rows(list(part)).tolist() for part in parts] == [[ITEMS[name] for name in part] for part in parts]


def test_rows_that_are_not_counted_from_nought_are_looked_up() -> None:
    assert _Rows({"a": 4, "b": 2})(["a", "b"]).tolist() == [4, 2]


def test_an_id_that_is_not_there_is_irregular() -> None:
    with pytest.raises(Irregular):
        _Rows(ITEMS)(["a", "x"])
