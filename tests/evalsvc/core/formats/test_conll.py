"""CoNLL columns, tag schemes, and tags against spans."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalsvc.core.formats import conll
from evalsvc.core.formats.conll import (
    read_conll_items,
    read_conll_predictions,
    read_regular_columns,
    read_sentences,
)
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.tag_schemes import REPAIRS, SCHEMES, BadTag, decode_tags, first_bad_tag
from evalsvc.core.formats.text_lines import Irregular

FILE = b"-DOCSTART- -X- O\n\nIn\tO\nNew\tB-LOC\nYork\tI-LOC\n\n\n#\tO\nAda\tB-PER\n"


def items(data: bytes, **options) -> tuple[list, Problems]:
    problems = Problems()
    return list(read_conll_items(data, problems=problems, **{"scheme": "IOB2", **options})), problems


def test_sentences_are_numbered_items_with_spans_in_tokens():
    found, problems = items(FILE)
    assert [(line, item.id, item.text, item.spans) for line, item in found] == [
        (3, "1", "In New York", ((1, 3, "LOC"),)),
        (8, "2", "# Ada", ((1, 2, "PER"),)),
    ]
    assert problems.total == 0


def test_windows_line_ends_and_spaces_read_the_same():
    windows = FILE.replace(b"\n", b"\r\n")
    spaces = FILE.replace(b"\t", b"  ")
    assert items(windows)[0] == items(spaces)[0] == items(FILE)[0]


def test_a_file_of_three_columns_serves_as_gold_and_as_prediction():
    data = b"Ada B-PER O\nran O B-ORG\n"
    assert items(data, column=-2)[0][0][1].spans == ((0, 1, "PER"),)
    found = list(read_conll_predictions(data, scheme="IOB2", problems=Problems()))
    assert (found[0][1].tags, found[0][1].tokens) == (("O", "B-ORG"), ("Ada", "ran"))


def test_no_break_spaces_belong_to_the_token():
    assert items("a\u00a0b\tO\n".encode())[0][0][1].tokens == ("a\u00a0b",)


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"Ada\tB-PER\nran\n", "wrong_columns", 2),
        (b"Ada\tB-PER\nran\tVB\tO\n", "wrong_columns", 2),
        (b"\tO\n", "wrong_columns", 1),
        (b"alone\n", "wrong_columns", 1),
        (b"In\tO\n\nAda\tB-PER\nran\tS-PER\n", "bad_tag", 4),
        (b"Ada\tPER\n", "bad_tag", 1),
        (b"Ada\tB-\n", "bad_tag", 1),
    ],
)
def test_broken_lines_are_reported_with_their_numbers(data, code, line):
    problems = items(data)[1]
    assert [(problem.code, problem.line) for problem in problems.first] == [(code, line)]


def test_a_bad_tag_after_short_and_skipped_lines_is_reported_on_its_own_line():
    problems = items(b"Ada\tB-PER\nran\n-DOCSTART- O\nfar\tX-PER\n")[1]
    assert [(problem.code, problem.line) for problem in problems.first] == [
        ("wrong_columns", 2),
        ("bad_tag", 4),
    ]


IOB1 = b"Ada\tI-PER\nByron\tI-PER\nin\tO\nTurin\tI-LOC\n\nBob\tI-PER\nBen\tB-PER\n"


def test_repaired_tags_are_counted_with_their_lines():
    found, problems = items(IOB1)
    assert [span for _, item in found for span in item.spans] == [
        (0, 2, "PER"),
        (3, 4, "LOC"),
        (0, 1, "PER"),
        (1, 2, "PER"),
    ]
    assert problems.warnings == {"repaired_tag": 3}
    assert [(problem.line, problem.value) for problem in problems.first_warnings] == [
        (1, "I-PER"),
        (4, "I-LOC"),
        (6, "I-PER"),
    ]


def test_iob1_read_as_iob1_needs_no_repair():
    assert not items(IOB1, scheme="IOB1")[1].warnings


@pytest.mark.parametrize(
    ("tags", "scheme", "repaired", "strict"),
    [
        ("B-P I-P O I-P", "IOB2", [(0, 2, "P"), (3, 4, "P")], [(0, 2, "P")]),
        ("B-P I-Q I-P", "IOB2", [(0, 1, "P"), (1, 2, "Q"), (2, 3, "P")], [(0, 1, "P")]),
        ("I-P I-P B-P O", "IOB1", [(0, 2, "P"), (2, 3, "P")], [(0, 2, "P"), (2, 3, "P")]),
        ("B-P E-P E-P S-P", "BIOES", [(0, 2, "P"), (2, 3, "P"), (3, 4, "P")], [(0, 2, "P"), (3, 4, "P")]),
        (
            "B-P I-P O I-P L-P U-P",
            "BILOU",
            [(0, 2, "P"), (3, 5, "P"), (5, 6, "P")],
            [(0, 2, "P"), (5, 6, "P")],
        ),
    ],
)
def test_a_tag_that_continues_nothing_opens_an_entity_or_is_dropped(tags, scheme, repaired, strict):
    assert decode_tags(tags.split(), scheme)[0] == repaired
    assert decode_tags(tags.split(), scheme, repair="strict-iob2")[0] == strict


def test_a_tag_outside_its_scheme_is_named_with_its_position():
    with pytest.raises(BadTag) as bad:
        decode_tags(["O", "E-P"], "IOB2")
    assert (bad.value.at, bad.value.tag) == (1, "E-P")


TAGS = st.lists(st.sampled_from(["O", "B-P", "I-P", "B-Q", "I-Q"]), max_size=12)
LONG_TAGS = st.lists(st.sampled_from(["O", "B-P", "I-P", "E-P", "S-P", "I-Q", "E-Q"]), max_size=12)


@given(TAGS)
def test_iob2_reads_as_the_published_scorers_read_it(tags):
    from seqeval.metrics.sequence_labeling import get_entities
    from seqeval.scheme import IOB2, Entities

    assert decode_tags(tags, "IOB2")[0] == [(s, e + 1, label) for label, s, e in get_entities(tags)]
    strict = Entities([tags], scheme=IOB2).entities[0]
    assert decode_tags(tags, "IOB2", repair="strict-iob2")[0] == [(e.start, e.end, e.tag) for e in strict]


@given(LONG_TAGS)
def test_bioes_reads_as_the_published_scorer_reads_it(tags):
    from seqeval.metrics.sequence_labeling import get_entities

    assert decode_tags(tags, "BIOES")[0] == [(s, e + 1, label) for label, s, e in get_entities(tags)]


@pytest.mark.parametrize(("scheme", "published"), [("BIOES", "IOBES"), ("BILOU", "BILOU"), ("IOB2", "IOB2")])
@given(tags=LONG_TAGS)
def test_strict_drops_what_the_published_strict_mode_drops(scheme, published, tags):
    from seqeval import scheme as schemes

    as_bilou = {"E": "L", "S": "U"} if scheme == "BILOU" else {}
    if scheme == "IOB2":
        as_bilou = {"E": "I", "S": "B"}
    tags = [as_bilou.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    strict = schemes.Entities([tags], scheme=getattr(schemes, published)).entities[0]
    assert decode_tags(tags, scheme, repair="strict")[0] == [(e.start, e.end, e.tag) for e in strict]


def test_an_entity_without_its_end_is_counted_at_its_last_tag():
    data = b"Ada\tB-PER\nByron\tI-PER\nin\tO\nTurin\tS-LOC\n"
    found, problems = items(data, scheme="BIOES")
    assert found[0][1].spans == ((0, 2, "PER"), (3, 4, "LOC"))
    assert problems.warnings == {"repaired_tag": 1}
    (warning,) = problems.first_warnings
    assert (warning.line, warning.value, warning.expected) == (2, "I-PER", "E-PER")
    found, problems = items(data, scheme="BIOES", repair="strict")
    assert (found[0][1].spans, problems.warnings) == (((3, 4, "LOC"),), {"dropped_tag": 1})


@st.composite
def separate_spans(draw) -> tuple[list[tuple[int, int, str]], int]:
    at, spans = 0, []
    for gap, length, label in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from("PQ")), max_size=6)
    ):
        spans.append((at + gap, at + gap + length, label))
        at += gap + length
    return spans, at + draw(st.integers(0, 2))


def as_tags(spans: list[tuple[int, int, str]], length: int, scheme: str) -> list[str]:
    """Tags of spans that do not overlap."""
    tags, last = ["O"] * length, (-1, "")
    single, end = {"BIOES": ("S", "E"), "BILOU": ("U", "L")}.get(scheme, ("B", "I"))
    for start, stop, label in spans:
        letters = single if stop - start == 1 else "B" + "I" * (stop - start - 2) + end
        if scheme == "IOB1" and last != (start, label):
            letters = "I" * (stop - start)
        tags[start:stop] = [f"{letter}-{label}" for letter in letters]
        last = stop, label
    return tags


@pytest.mark.parametrize("scheme", SCHEMES)
@given(drawn=separate_spans(), repair=st.sampled_from(list(REPAIRS)))
def test_spans_written_as_tags_are_read_as_the_same_spans(scheme, repair, drawn):
    spans, length = drawn
    assert decode_tags(as_tags(spans, length, scheme), scheme, repair=repair)[0] == spans


def by_columns(data: bytes, *, column: int = -1) -> list[tuple[list[str], list[str]]]:
    sentences = []
    for part in read_regular_columns(data, (0, column), problems=Problems()):
        at = 0
        for length in part.lengths:
            tokens, tags = (column[at : at + length] for column in part.columns)
            sentences.append((tokens, tags))
            at += length
        assert at == len(part.columns[0]) == len(part.columns[1])
    return sentences


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
def test_regular_columns_give_the_same_sentences_as_lines(data):
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
def test_an_irregular_row_raises_irregular(data):
    with pytest.raises(Irregular):
        by_columns(data)


LINES = st.lists(
    st.sampled_from(["a\tO", "b\tB-X", "c\tI-X", "a\tx\tO", "", "", " ", "\tO", "a\t", "a b\tO", "a O", "a"]),
    max_size=8,
)


@given(lines=LINES, end=st.sampled_from(["\n", "\r\n"]), size=st.sampled_from([1, 6, 1 << 22]))
@example(lines=["a\tx\tO", "\tO"], end="\n", size=1)
def test_any_columns_give_the_same_sentences_as_lines(lines, end, size):
    data = end.join(lines).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conll, "CHUNK_BYTES", size)
        try:
            sentences = by_columns(data)
        except Irregular:
            return
    tags = [tag for _, sentence in sentences for tag in sentence]
    if first_bad_tag(tags, "IOB2") is None:
        assert (sentences, 0) == by_lines(data)


def test_a_missing_column_raises_irregular():
    with pytest.raises(Irregular):
        by_columns(b"a\tO\n", column=-3)
