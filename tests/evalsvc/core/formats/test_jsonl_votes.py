"""Vote lines and CrowdTruth's tables."""

import json

import pytest

from evalsvc.core.formats.crowdtruth import read_judgments, read_units
from evalsvc.core.formats.jsonl_votes import read_votes
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.records import Entity, ItemLine, VoteLine

HEADER = "unit\tworker\trelations\n"
UNITS = "unit\tterm1\tterm2\tsentence\n"


def votes(*objects) -> tuple[list[VoteLine], Problems]:
    problems = Problems()
    source = "\n".join(map(json.dumps, objects)).encode()
    return [vote for _, vote in read_votes(source, problems=problems)], problems


def judgments(rows: str, **options) -> tuple[list[VoteLine], Problems]:
    problems = Problems()
    source = (HEADER + rows).encode()
    return [vote for _, vote in read_judgments(source, problems=problems, **options)], problems


def units(rows: str) -> tuple[list[ItemLine], Problems]:
    problems = Problems()
    return [item for _, item in read_units((UNITS + rows).encode(), problems=problems)], problems


@pytest.mark.parametrize(
    ("answer", "payload", "na"),
    [
        ({"labels": ["a", "b"]}, {"spans": [], "relations": ["a", "b"]}, False),
        ({"na": True}, {"spans": [], "relations": []}, True),
        ({"labels": []}, {"spans": [], "relations": []}, False),
        ({"spans": []}, {"spans": [], "relations": []}, True),
        ({"spans": [[0, 2, "P"]]}, {"spans": [[0, 2, "P"]], "relations": []}, False),
        (
            {"spans": [[0, 2, "P"], [3, 4, "P"]], "relations": [[0, "r", 1]]},
            {"spans": [[0, 2, "P"], [3, 4, "P"]], "relations": [[0, "r", 1]]},
            False,
        ),
    ],
)
def test_an_answer_of_any_kind_has_one_payload(answer, payload, na):
    found, problems = votes({"item": "i", "annotator": "a", **answer})
    assert found == [VoteLine("i", "a", payload, na)]
    assert problems.total == 0


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({}, "missing_key"),
        ({"na": False}, "missing_key"),
        ({"na": True, "labels": ["a"]}, "mixed_forms"),
        ({"labels": ["a"], "spans": []}, "mixed_forms"),
        ({"labels": [""]}, "wrong_type"),
        ({"spans": [[1, 1, "P"]]}, "bad_span"),
        ({"spans": [], "relations": [[0, "r", 0]]}, "bad_reference"),
        ({"label": "a"}, "unknown_key"),
    ],
)
def test_an_answer_of_no_form_or_two_forms_is_reported(answer, code):
    found, problems = votes({"item": "i", "annotator": "a", **answer})
    assert found == []
    assert [problem.code for problem in problems.first] == [code]


def test_a_second_answer_of_one_annotator_is_reported_with_both_lines():
    line = {"item": "i", "annotator": "a", "na": True}
    found, problems = votes(line, {**line, "annotator": "b"}, line)
    assert len(found) == 2
    assert (problems.first[0].code, problems.first[0].line) == ("duplicate_vote", 3)
    assert "line 1" in (problems.first[0].hint or "")


def test_judgments_hold_several_relations_and_none_is_na():
    found, _ = judgments("u\tw1\tper:a|org:b\nu\tw2\tNONE\n")
    assert found[0].payload == {"spans": [], "relations": ["per:a", "org:b"]}
    assert (found[1].payload, found[1].na) == ({"spans": [], "relations": []}, True)


def test_an_empty_cell_is_no_vote_or_an_answer_without_a_label():
    found, problems = judgments("u\tw1\t\nu\tw2\ta\n")
    assert ([vote.annotator for vote in found], problems.warnings) == (["w2"], {"empty_cell": 1})
    found, problems = judgments("u\tw1\t\nu\tw2\ta\n", empty="no-label")
    assert (len(found), found[0].payload["relations"], found[0].na, problems.warnings) == (2, [], False, {})


def test_columns_are_required_in_any_order():
    problems = Problems()
    found = list(read_judgments(b"worker\trelations\tunit\nw\ta\tu\n", problems=problems))
    assert (found[0][1].item, found[0][1].annotator) == ("u", "w")
    with pytest.raises(FileRejected, match="unit, worker, relations"):
        list(read_judgments(b"unit\tworker\nu\tw\n", problems=Problems()))


def test_broken_judgments_are_reported():
    found, problems = judgments("u\tw\tNONE|a\nu\tw\nu\tw2\ta\nu\tw2\tb\n\tw\ta\n")
    codes = [problem.code for problem in problems.first]
    assert codes == ["negative_with_label", "wrong_columns", "duplicate_vote", "wrong_type"]
    assert len(found) == 1


def test_units_find_their_terms_as_tokens_first():
    found, problems = units("u\tRome\tNew York\tRoman art : Rome to New York\n")
    head, tail = Entity(None, "Rome", 12, 16), Entity(None, "New York", 20, 28)
    assert found == [ItemLine("u", "Roman art : Rome to New York", None, head, tail)]
    assert problems.warnings == {}


@pytest.mark.parametrize(("term", "start", "end"), [("7", 12, 13), ("SECOND", 0, 6), ("TIN", 16, 19)])
def test_a_term_inside_a_token_or_in_other_case_gives_a_warning(term, start, end):
    found, problems = units(f"u\t{term}\tas\tsecond as 007 outing\n")
    assert problems.warnings == {"loose_entity": 1}
    assert found[0].head == Entity(None, term, start, end)


def test_a_unit_without_its_term_in_the_text_is_rejected():
    found, problems = units("u\tBerlin\tas\tsecond as\n")
    assert (found, problems.by_code) == ([], {"entity_not_in_text": 1})
