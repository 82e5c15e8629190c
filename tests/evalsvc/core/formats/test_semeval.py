"""SemEval-2010 Task 8 files and label inventories."""

import pytest

from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.records import Entity, ItemLine, LabelPrediction
from evalsvc.core.formats.semeval import read_answers, read_key, read_sentences

FILE = b"""8001\t"The <e1>letter</e1> was about <e2>high tides</e2>."
Message-Topic(e1,e2)
Comment: Assuming a letter.

8002\t"She says "<e2>no</e2>" to the <e1>offer</e1>"
Other
Comment:
"""


def sentences(data: bytes) -> tuple[list[tuple[int, ItemLine]], Problems]:
    problems = Problems()
    return list(read_sentences(data, problems=problems)), problems


def labels(data: bytes) -> list[str]:
    problems = Problems()
    found = read_labels(data, problems=problems)
    problems.raise_if_any()
    return found


def test_marks_and_outer_quotes_are_removed_from_sentences():
    found, problems = sentences(FILE)
    head, tail = Entity(None, "letter", 4, 10), Entity(None, "high tides", 21, 31)
    text = "The letter was about high tides."
    assert found[0] == (1, ItemLine("8001", text, None, head, tail, None, ("Message-Topic(e1,e2)",), (2,)))
    assert (found[1][0], found[1][1].text) == (5, 'She says "no" to the offer')
    assert (found[1][1].head, found[1][1].tail) == (Entity(None, "offer", 21, 26), Entity(None, "no", 10, 12))
    assert problems.total == 0


def test_unlabelled_sentences_have_no_labels_rather_than_an_empty_set():
    found, _ = sentences(b'1\t"<e1>a</e1> <e2>b</e2>"\n2\t"<e1>a</e1> <e2>b</e2>"\nOther\n')
    assert [item.relations for _, item in found] == [None, ("Other",)]


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'1\t"<e1>a</e1> b"\nOther\n', "entity_not_in_text"),
        (b'1\t"<e1>a <e2>b</e1></e2>"\nOther\n', "entity_not_in_text"),
        (b'1\t"<e1></e1> <e2>b</e2>"\nOther\n', "bad_span"),
        (b"no number\nOther\n", "bad_block"),
        (b'1\t"<e1>a</e1> <e2>b</e2>"\nOther\nCause-Effect(e1,e2)\n', "bad_block"),
    ],
)
def test_broken_blocks_are_reported(data, code):
    found, problems = sentences(data)
    assert (found, [problem.code for problem in problems.first]) == ([], [code])


def test_answers_serve_as_predictions_and_as_key():
    data, problems = b"7933\tCause-Effect(e2,e1)\r\n7934 Other\n\nno answer here\n", Problems()
    assert list(read_answers(data, problems=problems)) == [
        (1, LabelPrediction("7933", "Cause-Effect(e2,e1)")),
        (2, LabelPrediction("7934", "Other")),
    ]
    assert [(problem.code, problem.line) for problem in problems.first] == [("wrong_columns", 4)]
    assert next(read_key(data, problems=Problems()))[1] == ItemLine(
        "7933", None, relations=("Cause-Effect(e2,e1)",)
    )


@pytest.mark.parametrize(
    "data",
    [b"NA\nborn in\n\ndied\n", b'{"NA": 0, "died": 2, "born in": 1}'],
)
def test_an_inventory_is_one_label_a_line_or_an_object_of_numbers(data):
    assert labels(data) == ["NA", "born in", "died"]


def test_numbered_relations_come_in_the_order_of_their_numbers():
    assert labels(b"3\nNA 0\n/b/c 2\n/a/b 1\n") == ["NA", "/a/b", "/b/c"]
    assert labels(b"NA\t0\n/a/b\t1\n") == ["NA", "/a/b"]


def test_labels_that_merely_end_in_numbers_keep_them():
    assert labels(b"level 1\nlevel 2\n") == ["level 1", "level 2"]


@pytest.mark.parametrize("data", [b"a\nb\na\n", b'{"a": "b"}', b"x" * 201])
def test_broken_inventories_are_rejected(data):
    with pytest.raises(FileRejected):
        labels(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"born_in": 0, "works_for": 1, "born_in": 2}', "duplicate_label"),
        (b'{"born_in": 0, "works_for": 1, "part_of": 1}', "wrong_type"),
    ],
)
def test_relation_numbers_state_the_place_of_each_label_once(data: bytes, code: str) -> None:
    """The last number of a label won, and labels with one number stood as they came."""
    with pytest.raises(FileRejected) as error:
        labels(data)
    assert [problem.code for problem in error.value.problems.first] == [code]
