"""Training counts in the files people write, and the errors of invalid ones."""

from __future__ import annotations

import pytest

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks.training_counts import MAX_BYTES, read_counts


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
    ("content", "named"),
    [
        (b"", "empty"),
        (b"\xff\xfeb\x00", "UTF-8"),
        (b'{"born_in": 12', "JSON"),
        (b'["born_in"]', "JSON"),
        (b'{"born_in": -3}', "-3"),
        (b'{"born_in": true}', "True"),
        (b"born_in 12\ndied_in many\n", "Line 2 is 'died_in many'"),
        (b"born_in 12\nborn_in 13\n", "Line 2"),
        (b"relation count\n", "name and a count"),
        (b"a 1\n" * MAX_BYTES, "1,000,000"),
        (b"[" * 100_000, "JSON"),
        (b"a 1\nb" + b" " * 900_000 + b"c", "Line 2 is 'b"),
        (b"a 1\nb" + b" ;" * 400_000 + b"c", "Line 2 is 'b"),
        (b"12", "name and a count"),
    ],
)
def test_an_invalid_file_is_rejected_with_its_line_or_value(content: bytes, named: str) -> None:
    with pytest.raises(DomainError) as caught:
        read_counts(content)
    assert named in caught.value.detail
    assert (caught.value.code, caught.value.field) == ("bad_counts", "training_counts")


def test_a_name_may_end_in_digits_and_hold_commas() -> None:
    assert read_counts(b"rel_1,204\na, b,120\n7,3\n") == {"rel_1": 204, "a, b": 120, "7": 3}
