"""Arbitrary bytes are refused or read, and nothing else happens."""

import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.core.formats.duplicates import find_repeats
from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.prediction_check import PredictionCheck
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_gold, open_items, open_predictions, open_votes
from evalsvc.core.formats.registry import formats, recognise_source

HEADERS = {
    "crowdtruth-judgments": "unit\tworker\trelations\n",
    "crowdtruth-units": "unit\tterm1\tterm2\tsentence\n",
}
ITEMS, PREDICTIONS, VOTES = (
    [key for key, format in formats().items() if kind in format.readers]
    for kind in ("items", "predictions", "votes")
)
PIECES = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\t",
    "\n",
    "\r",
    " ",
    "0",
    "-1",
    "1e999",
    "null",
    "true",
    "\\ud800",
    "é",
]
PIECES += [
    "<e1>",
    "</e1>",
    "<e2>",
    "|",
    "NONE",
    "B-P",
    "I-",
    '"id"',
    '"scores"',
    '"spans"',
    '"pos"',
    "\0",
    "\ufeff",
]


@st.composite
def mangled(draw, key: str) -> bytes:
    """A true line of the format, cut and filled with what the format is made of; or any bytes at all."""
    whole = HEADERS.get(key, "") + formats()[key].example + "\n"
    for _ in range(draw(st.integers(0, 4))):
        at, length = draw(st.integers(0, len(whole))), draw(st.integers(0, 6))
        whole = (
            whole[:at] + "".join(draw(st.lists(st.sampled_from(PIECES), max_size=3))) + whole[at + length :]
        )
    data = (
        draw(st.sampled_from([whole.encode(), whole.encode() * 2]))
        if draw(st.booleans())
        else draw(st.binary())
    )
    return gzip.compress(data) if draw(st.integers(0, 9)) == 0 else data


def all_reported(problems: Problems) -> bool:
    return problems.by_code.keys() | problems.warnings.keys() <= KINDS.keys()


@pytest.mark.parametrize("key", ITEMS)
@given(data=st.data())
def test_any_bytes_as_items_are_read_or_rejected(key, data):
    problems = Problems()
    with suppress(FileRejected):
        source = data.draw(mangled(key))
        fields = {"format": key, "scheme": "BILOU"}
        repeats = find_repeats(open_items(source, problems=problems, **fields), problems=problems)
        list(repeats.merged(open_items(source, problems=Problems(), **fields)))
    assert all_reported(problems)


@pytest.mark.parametrize("key", PREDICTIONS)
@given(data=st.data())
def test_any_bytes_as_predictions_are_checked_or_rejected(key, data):
    problems = Problems()
    check = PredictionCheck(ids=["s1", "1"], labels=["born_in"], scheme="IOB2", problems=problems)
    with suppress(FileRejected):
        source = data.draw(mangled(key))
        check.check(open_predictions(source, format=key, problems=problems, scheme="IOB2"))
    assert all_reported(problems)


@pytest.mark.parametrize("key", VOTES)
@given(data=st.data())
def test_any_bytes_as_votes_are_read_or_rejected(key, data):
    problems = Problems()
    with suppress(FileRejected):
        list(open_votes(data.draw(mangled(key)), format=key, problems=problems))
    assert all_reported(problems)


@given(data=st.data())
def test_any_bytes_are_recognised_or_rejected(data):
    source = data.draw(mangled(data.draw(st.sampled_from(sorted(formats())))))
    with suppress(FileRejected):
        assert recognise_source(source) in formats()
    with suppress(FileRejected):
        assert read_labels(source, problems=Problems())


def test_a_repeated_key_beside_a_number_of_many_digits_is_a_problem() -> None:
    problems = Problems()
    line = f'{{"id": "a", "id": "b", "text": "x", "spans": [[{"9" * 5_001}, 1, "PER"]]}}\n'.encode()
    with suppress(FileRejected):
        assert not list(open_gold(line, problems=problems, format="hf-jsonl", with_text=True))
    assert problems.total
