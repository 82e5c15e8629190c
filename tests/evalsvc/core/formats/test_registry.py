"""Formats told by content, and one door for each kind of record."""

import gzip
import io

import pytest

from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_items, open_predictions, open_votes
from evalsvc.core.formats.registry import FORMATS, recognise, recognise_source

HEADERS = {
    "crowdtruth-judgments": "unit\tworker\trelations\n",
    "crowdtruth-units": "unit\tterm1\tterm2\tsentence\n",
}


def example(key: str) -> bytes:
    return (HEADERS.get(key, "") + FORMATS[key].example + "\n").encode()


@pytest.mark.parametrize("key", FORMATS)
def test_the_example_of_each_format_is_recognised_plain_and_packed(key):
    assert recognise_source(example(key)) == key
    assert recognise_source(io.BytesIO(gzip.compress(example(key)))) == key


@pytest.mark.parametrize(
    ("lines", "key"),
    [
        (["", '{"id":"a","label":"r"}'], "jsonl-predictions"),
        (['{"id":"a","spans":[],"relations":[]}'], "jsonl-predictions"),
        (['{"h":"a","t":"b","relation":"r","score":1}'], "jsonl-predictions"),
        (['{"token":["a"],"h":{},"t":{}}'], "opennre-gold"),
        (['{"id":"a","relations":["r"]}'], "jsonl-items"),
        (['{"item":"a","annotator":"b","na":true}'], "jsonl-votes"),
        (["-DOCSTART- -X- O", "", "In IN O", "Rome NNP B-LOC"], "conll"),
        (["8001\tOther", "8002 Cause-Effect(e1,e2)"], "semeval-answers"),
        (["O", "PER"], "labels"),
        (["a\tb\tc"], None),
        (['{"something":"else"}'], None),
        (["{broken"], None),
        (["{broken", '{"id":"a","label":"r"}'], "jsonl-predictions"),
        (["In\tO"] * 9 + ["Rome"], "conll"),
        (["In\tO"] * 9 + ["Rome\tLOC"], "conll"),
        (["In\tO", "Rome", "is", "big"], None),
        ([""], None),
    ],
)
def test_content_tells_the_format(lines, key):
    assert recognise(lines) == key


def test_a_file_object_is_set_back_to_where_it_was():
    file = io.BytesIO(example("conll"))
    recognise_source(file)
    assert file.tell() == 0


def test_an_unknown_file_is_refused_with_what_would_be_known():
    with pytest.raises(FileRejected, match=r"matches none of the known formats.*NYT10"):
        recognise_source(b"a\tb\tc\n")


@pytest.mark.parametrize(
    "key",
    ["jsonl-items", "opennre-gold", "nyt10", "conll", "semeval-test", "semeval-answers", "crowdtruth-units"],
)
def test_items_come_from_every_item_format(key):
    problems = Problems()
    assert len(list(open_items(example(key), format=key, problems=problems, scheme="IOB2"))) == 1
    assert problems.total == 0


@pytest.mark.parametrize("key", ["jsonl-predictions", "opennre-results", "conll", "semeval-answers"])
def test_predictions_come_from_every_prediction_format(key):
    problems = Problems()
    assert len(list(open_predictions(example(key), format=key, problems=problems, scheme="IOB2"))) == 1
    assert problems.total == 0


@pytest.mark.parametrize("key", ["jsonl-votes", "crowdtruth-judgments"])
def test_votes_come_from_every_vote_format(key):
    problems = Problems()
    assert len(list(open_votes(example(key), format=key, problems=problems))) == 1
    assert problems.total == 0


@pytest.mark.parametrize("door", [open_items, open_predictions, open_votes])
def test_a_format_that_holds_something_else_is_refused(door):
    with pytest.raises(FileRejected, match="none of the known formats"):
        door(b"a", format="labels", problems=Problems())


@pytest.mark.parametrize("door", [open_items, open_predictions])
def test_columns_without_a_stated_scheme_are_refused(door):
    with pytest.raises(FileRejected, match="stated"):
        door(example("conll"), format="conll", problems=Problems())


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b'[\n{"id": "a"}\n]\n', "one JSON array"),
        (b'{\n  "id": "a"\n}\n', "JSON over several lines"),
        (b"id,head,tail\ts\n", "table with commas"),
    ],
)
def test_a_stranger_is_told_what_it_looks_like_and_how_to_mend_it(content, hint):
    with pytest.raises(FileRejected, match=hint):
        recognise_source(content)
