"""Formats are recognised by content and read through the registry."""

import ast
import gzip
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsvc.core.formats import registry
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_gold, open_items, open_predictions, open_votes
from evalsvc.core.formats.registry import formats, recognise, recognise_source

TEXT_FORMATS = [
    key
    for key, format in formats().items()
    if "models" not in format.roles and not format.magic and not format.is_stated
]
HEADERS = {
    "crowdtruth-judgments": "unit\tworker\trelations\n",
    "crowdtruth-units": "unit\tterm1\tterm2\tsentence\n",
}


def example(key: str) -> bytes:
    return (HEADERS.get(key, "") + formats()[key].example + "\n").encode()


@pytest.mark.parametrize("key", TEXT_FORMATS)
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
def test_the_format_is_recognised_by_content(lines, key):
    assert recognise(lines) == key


@pytest.mark.parametrize("end", ["", "\\", "\n"])
def test_a_string_without_an_end_is_looked_at_once(end):
    """Each of its quotes was taken for the beginning of a string: 160 kB took a minute."""
    for array in ('["' + '\\"' * 2_000_000 + end, '[{"id":"' + "\\\n" * 2_000_000 + end):
        assert recognise([array]) is None


def test_a_file_object_is_set_back_to_where_it_was():
    file = io.BytesIO(example("conll"))
    recognise_source(file)
    assert file.tell() == 0


def test_an_unknown_file_is_rejected_with_the_accepted_formats():
    with pytest.raises(FileRejected) as rejected:
        recognise_source(b"a\tb\tc\n")
    (problem,) = rejected.value.problems.first
    assert problem.code == "unknown_format"
    assert "NYT10" in (problem.expected or "")


@pytest.mark.parametrize(
    "key",
    [
        *(
            "jsonl-items",
            "opennre-gold",
            "nyt10",
            "conll",
            "semeval-test",
            "semeval-answers",
            "crowdtruth-units",
        ),
        *(
            "tacred",
            "docred",
            "dygie",
            "spert",
            "doccano",
            "label-studio",
            "brat",
            "hf-jsonl",
            "csv-documents",
        ),
    ],
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


@pytest.mark.parametrize("key", ["jsonl-votes", "crowdtruth-judgments", "label-studio"])
def test_votes_come_from_every_vote_format(key):
    problems = Problems()
    assert len(list(open_votes(example(key), format=key, problems=problems))) == 1
    assert problems.total == 0


@pytest.mark.parametrize(
    ("open_records", "key"),
    [(open_items, "jsonl-votes"), (open_predictions, "jsonl-votes"), (open_votes, "conll")],
)
def test_a_format_without_such_records_is_rejected(open_records, key):
    problems = Problems()
    with pytest.raises(FileRejected):
        open_records(b"a", format=key, problems=problems)
    assert problems.by_code == {"unknown_format": 1}


@pytest.mark.parametrize("open_records", [open_items, open_predictions])
def test_columns_without_a_tag_scheme_are_rejected(open_records):
    problems = Problems()
    with pytest.raises(FileRejected):
        open_records(example("conll"), format="conll", problems=problems)
    assert problems.by_code == {"no_scheme": 1}
    assert "looks like IOB2" in (problems.first[0].hint or "")


TAGS = '"tags": ["I-PER", "O", "I-LOC", "O", "I-PER", "B-PER"]'


@pytest.mark.parametrize(
    ("format", "content"),
    [
        ("conll", "Ada\tI-PER\nin\tO\nTurin\tI-LOC\n\nBob\tI-PER\nBen\tB-PER\n"),
        ("jsonl-items", f'{{"id": "1", "tokens": ["Ada", "in", "Turin", ".", "Bob", "Ben"], {TAGS}}}\n'),
        ("jsonl-predictions", f'{{"id": "1", {TAGS}}}\n'),
    ],
)
def test_gold_of_which_most_entities_are_dropped_is_rejected(format, content):
    problems = Problems()
    options = {"format": format, "scheme": "IOB2", "repair": "strict-iob2"}
    list(open_gold(content.encode(), problems=problems, **options))
    assert problems.warnings == {"dropped_tag": 3}
    assert problems.by_code == {"other_scheme": 1}
    assert problems.first[0].value == "3 entities dropped, 1 kept, as IOB2 with strict-iob2"


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b'[\n{"id": "a"}\n]\n', "one JSON array"),
        (b'{\n  "id": "a"\n}\n', "JSON over several lines"),
        (b"id,head,tail\ts\n", "CSV"),
    ],
)
def test_a_foreign_format_is_named(content, hint):
    with pytest.raises(FileRejected) as rejected:
        recognise_source(content)
    assert hint in (rejected.value.problems.first[0].hint or "")


PRODUCT = ("annotation", "evalsvc", "workers")
AMBIGUOUS = {"labels", "conll", "nyt10", "npy", "triples"}  # also a JSON key, a family of measures, a preset


def keys_spelt(tree: ast.AST) -> Iterator[str]:
    """Format keys written as strings; ambiguous ones only where they are compared with a format."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in formats().keys() - AMBIGUOUS:
            yield str(node.value)
        if isinstance(node, ast.Compare) and "format" in ast.unparse(node.left):
            values = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
            yield from AMBIGUOUS.intersection(map(str, values))
        if isinstance(node, ast.keyword) and node.arg == "format" and isinstance(node.value, ast.Constant):
            yield from AMBIGUOUS & {str(node.value.value)}


def test_format_keys_are_spelt_in_their_modules_only():
    root = Path(registry.__file__).parents[3]
    spelt = {
        (str(path.relative_to(root)), key)
        for package in PRODUCT
        for path in (root / package).rglob("*.py")
        if "migrations" not in path.parts and path.parent != Path(registry.__file__).parent
        for key in keys_spelt(ast.parse(path.read_text()))
    }
    assert spelt == set()


def test_every_format_module_is_loaded():
    folder = Path(registry.__file__).parent
    registering = {path.stem for path in folder.glob("*.py") if "= register(" in path.read_text()}
    loaded = {
        alias.name
        for node in ast.walk(ast.parse((folder / "__init__.py").read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "evalsvc.core.formats"
        for alias in node.names
    }
    assert registering == loaded


def test_the_command_line_starts_without_loading_formats():
    script = "import sys, workers.cli.command; print('evalsvc.core.formats.registry' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("data", "hint"),
    [(b"s1,a\ns2,a\ns3,b\n", "CSV"), (b"id,label\ns1,a\n", "CSV"), (b"s1\ta\ns2\tb\n", "tab-separated")],
)
def test_tables_are_not_read_as_labels(data, hint):
    with pytest.raises(FileRejected) as rejected:
        recognise_source(data, accepted=["labels"])
    assert hint in (rejected.value.problems.first[0].hint or "")


def test_sentences_are_not_read_as_labels():
    assert recognise(["Ada|B-PER was|O born|O in|O Turin|B-LOC in|O the|O year|O 1815|O"]) is None
    assert recognise(["born in", "none of the relations above"]) == "labels"


def test_directed_relations_are_labels():
    assert recognise(["Cause-Effect(e1,e2)", "Cause-Effect(e2,e1)", "Message-Topic(e1,e2)"]) == "labels"
