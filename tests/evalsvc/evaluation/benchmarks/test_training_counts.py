"""Training counts as people write them down, and what is said of those that do not fit."""

from __future__ import annotations

import pytest

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks.training_counts import MOST_BYTES, read_counts


@pytest.mark.parametrize(
    "content",
    [
        b'{"born_in": 1204, "/people/person/place_lived": 0}',
        b"born_in\t1204\n/people/person/place_lived\t0\n",
        b"relation,count\r\nborn_in,1204\r\n/people/person/place_lived,0\r\n",
        b"\xef\xbb\xbfborn_in 1,204\n\n/people/person/place_lived 0",
        b'"born_in"; 1_204\n"/people/person/place_lived"; 0\n',
        b"born_in,1,204\n/people/person/place_lived ,0\n",
    ],
)
def test_counts_are_read_from_json_and_from_lines(content: bytes) -> None:
    assert read_counts(content) == {"born_in": 1204, "/people/person/place_lived": 0}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "The file is empty."),
        (b"\xff\xfeb\x00", "The file is not UTF-8 text."),
        (b'{"born_in": 12', "The file is no whole JSON"),
        (b'["born_in"]', "no object of names and counts"),
        (b'{"born_in": -3}', "born_in has -3"),
        (b'{"born_in": true}', "born_in has True"),
        (b"born_in 12\ndied_in many\n", "Line 2 is 'died_in many'"),
        (b"born_in 12\nborn_in 13\n", "Line 2 says born_in a second time."),
        (b"relation count\n", "No line has a name and a count."),
        (b"a 1\n" * MOST_BYTES, "larger than a list of labels"),
        (b"[" * 100_000, "nests too deep"),
        (b"a 1\nb" + b" " * 900_000 + b"c", "Line 2 is 'b"),
        (b"a 1\nb" + b" ;" * 400_000 + b"c", "Line 2 is 'b"),
        (b"12", "No line has a name and a count."),
    ],
)
def test_what_does_not_fit_is_said_with_its_line(content: bytes, says: str) -> None:
    with pytest.raises(DomainError) as caught:
        read_counts(content)
    assert says in caught.value.detail
    assert caught.value.field == "training_counts"


def test_a_name_may_end_in_digits_and_hold_commas() -> None:
    assert read_counts(b"rel_1,204\na, b,120\n7,3\n") == {"rel_1": 204, "a, b": 120, "7": 3}
