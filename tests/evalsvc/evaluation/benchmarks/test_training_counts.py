"""Training counts in the files people write, and the errors of invalid ones."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps

from annotation.testset import Companion, TestSet
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.benchmarks.training_counts import MAX_BYTES, read_counts
from tests.cast.benchmarks import LABELS, RELATION_GOLD, BenchmarkCast, freeze


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
    assert read_counts(content, LABELS).by_label == {"born_in": 1204, "/people/person/place_lived": 0}


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
        (b'{"born_in": 12, "born_in": 13}', "repeats born_in"),
        (b"\n\nborn_in 12\ndied_in many\n", "Line 4 is 'died_in many'"),
        (b"relation count\nlabel number\nborn_in 12\n", "Line 2 is 'label number'"),
    ],
)
def test_an_invalid_file_is_rejected_with_its_line_or_value(content: bytes, named: str) -> None:
    with pytest.raises(DomainError) as caught:
        read_counts(content, LABELS)
    assert named in caught.value.detail
    assert (caught.value.code, caught.value.field) == ("bad_counts", "training_counts")


def test_a_name_may_end_in_digits_and_hold_commas() -> None:
    assert read_counts(b"rel_1,204\na, b,120\n7,3\n", ()) == ({"rel_1": 204, "a, b": 120, "7": 3}, "")


@pytest.mark.parametrize(
    "line",
    [
        "born_in;1.234",
        "born_in\t1\u00a0234",
        "born_in\t١٢٣",
        "born_in 1e3",
        "'born_in',12.0",
        "born_in\t-3",
        "born_in",
    ],
)
def test_a_first_line_that_begins_with_a_label_is_no_heading(line: str) -> None:
    with pytest.raises(DomainError) as caught:
        read_counts(f"{line}\nworks_for 5\n".encode(), LABELS)
    assert caught.value.detail == f"Line 1 is {line!r}."


@pytest.mark.parametrize("line", ["relation,count", "born_in_what;n", "Relations of 2020 – all"])
def test_a_heading_is_skipped_and_named(line: str) -> None:
    assert read_counts(f"\n{line}\nborn_in 5\n".encode(), LABELS) == ({"born_in": 5}, line)


@pytest.mark.django_db
@pytest.mark.parametrize(("n", "taken"), [(3, True), (4, False)])
def test_counts_taken_before_their_set_was_stored_are_known_by_their_figures(
    cast: BenchmarkCast, n: int, taken: bool
) -> None:
    benchmark = cast.relations(training_counts={label: n * (label == "born_in") for label in LABELS})
    train = freeze("train", RELATION_GOLD, by=cast.olga)
    TestSet.objects.filter(pk=train.pk).update(statistics={"labels": {"born_in": 3, "elsewhere": 1}})
    test_set = benchmark.settings.get().test_set
    Companion.objects.create(test_set=test_set, data=train, role="training", by=cast.olga)
    import_module("evalsvc.evaluation.migrations.0037_name_training_sets").name_training_sets(apps, None)
    benchmark.refresh_from_db()
    assert (benchmark.training_set == train) is taken
