"""CoNLL by whole columns: the same sentences as line by line, or no answer."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsvc.core.formats import conll_columns
from evalsvc.core.formats.conll import read_sentences
from evalsvc.core.formats.conll_columns import regular_columns
from evalsvc.core.formats.json_blocks import Irregular
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.tag_schemes import first_bad_tag


def by_columns(data: bytes, *, column: int = -1) -> list[tuple[list[str], list[str]]]:
    found = []
    for stretch in regular_columns(data, (0, column), problems=Problems()):
        at = 0
        for length in stretch.lengths:
            tokens, tags = (part[at : at + length] for part in stretch.columns)
            found.append((tokens, tags))
            at += length
        assert at == len(stretch.columns[0]) == len(stretch.columns[1])
    return found


def by_lines(data: bytes, *, column: int = -1) -> tuple[list[tuple[list[str], list[str]]], int]:
    problems = Problems()
    try:
        rows = list(read_sentences(data, scheme="IOB2", problems=problems, column=column))
    except FileRejected:
        rows = []
    return [(list(row.tokens), list(row.tags)) for row in rows], problems.total


@pytest.mark.parametrize(
    "data",
    [
        b"a\tO\nb\tB-X\n\nc\tO\n",
        b"\xef\xbb\xbfa O\r\nb B-X\r\n\r\n\r\nc O",
        b"-DOCSTART- -X- O\n\na NN O\nb NN B-X\n",
        b"\n\na\tx\tO\n\n\n\nnew york\tx\tB-X\n\n",
    ],
)
def test_regular_files_give_the_sentences_of_the_careful_reader(data):
    assert (by_columns(data), 0) == by_lines(data)


@pytest.mark.parametrize(
    "data",
    [
        b"a\tO\nb\n",
        b"a\tO\tO\nb\tO\nO\n",
        b"a\tO\n \nb\tO\n",
        b"\tO\na\tO\n",
        b"a  O\nb O\n",
        b"a\tO\rb\tO\n",
        b"a\tO\x00\n",
        b"a\tO\n\xff\tO\n",
        b"word\n",
    ],
)
def test_an_unusual_row_is_left_to_the_careful_reader(data):
    with pytest.raises(Irregular):
        by_columns(data)


LINES = st.lists(
    st.sampled_from(["a\tO", "b\tB-X", "c\tI-X", "a\tx\tO", "", "", " ", "\tO", "a\t", "a b\tO", "a O", "a"]),
    max_size=8,
)


@given(lines=LINES, end=st.sampled_from(["\n", "\r\n"]), size=st.sampled_from([1, 6, 1 << 22]))
@example(lines=["a\tx\tO", "\tO"], end="\n", size=1)
def test_any_answer_is_that_of_the_careful_reader(lines, end, size):
    data = end.join(lines).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conll_columns, "STRETCH", size)
        try:
            found = by_columns(data)
        except Irregular:
            return
    tags = [tag for _, sentence in found for tag in sentence]
    if first_bad_tag(tags, "IOB2") is None:
        assert (found, 0) == by_lines(data)


def test_a_column_that_is_not_there_is_left_to_the_careful_reader():
    with pytest.raises(Irregular):
        by_columns(b"a\tO\n", column=-3)
