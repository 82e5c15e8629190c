"""The collector and the closed table of codes."""

import json
import pickle
import tracemalloc

import pytest

from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.formats.problems import CLIP, FileRejected, Problem, Problems, UnreadLines, near


def test_only_the_first_are_kept_and_all_are_counted_by_code():
    problems = Problems(keep=3)
    for line in range(1, 11):
        problems.add("unknown_id" if line % 2 else "bad_span", line=line)
    assert [problem.line for problem in problems.first] == [1, 2, 3]
    assert (problems.total, problems.by_code) == (10, {"unknown_id": 5, "bad_span": 5})


def test_a_line_with_several_problems_counts_once():
    problems = Problems(keep=2)
    for line in (3, 3, 9, 1_000_000, 3, 9):
        problems.add("bad_span", line=line)
    problems.add("ambiguous_entity", line=4)
    assert (problems.places, problems.total) == (3, 6)
    problems.add("missing_id")
    assert (problems.places, problems.total) == (4, 7)


def test_warnings_are_counted_apart_and_reject_nothing():
    problems = Problems()
    problems.add("ambiguous_entity", line=1)
    problems.raise_if_any()
    assert (problems.total, problems.warnings["ambiguous_entity"]) == (0, 1)


def test_a_problem_rejects_the_file():
    problems = Problems()
    problems.add("wrong_columns", line=2)
    with pytest.raises(FileRejected):
        problems.raise_if_any()


def test_an_unknown_code_raises_key_error():
    with pytest.raises(KeyError):
        Problems().add("something_else")


def test_values_are_clipped():
    problems = Problems()
    problems.add("not_json", value="x" * 1_000)
    assert len(problems.first[0].value or "") == CLIP


def test_a_slow_hint_is_made_only_for_a_kept_problem():
    problems, made = Problems(keep=1), []
    for _ in range(5):
        problems.add("unknown_id", hint=lambda: made.append(1) or "hint")
    assert made == [1]


def test_a_message_has_place_value_expectation_and_hint():
    problem = Problem("bad_span", 1234, "h.pos", "[3, 3)", "0 ≤ start < end", "Count from 0.")
    assert problem.sentence() == (
        f"Line 1,234, field h.pos: {KINDS['bad_span'].message} "
        "Found [3, 3). Expected 0 ≤ start < end. Count from 0."
    )


def test_only_a_value_copied_from_the_file_is_quoted():
    assert Problem("unknown_label", value="brn_in").shown_value == "“brn_in”"
    assert Problem("too_many_lines", value="9 lines").shown_value == "9 lines"


def test_a_report_is_json_and_the_exception_can_be_pickled():
    problems = Problems()
    problems.add("near_label", line=1, value="born", hint="Did you mean born_in?")
    problems.add("loose_entity", line=2)
    report = json.loads(json.dumps(problems.as_json()))
    assert (report["total"], report["by_code"], report["warnings"]) == (
        1,
        {"near_label": 1},
        {"loose_entity": 1},
    )
    assert report["problems"][0]["message"].endswith("Did you mean born_in?")
    assert pickle.loads(pickle.dumps(FileRejected(problems))).problems.total == 1


def test_every_code_has_a_message_of_sentences_and_an_example():
    messages = [kind.message for kind in KINDS.values()]
    assert all(text[0].isupper() and text.endswith(".") and "!" not in text for text in messages)
    assert all(kind.example for kind in KINDS.values())


def test_similar_words_match_in_any_case():
    assert near("Born_In", ["born_in", "died_in"]) == "born_in"
    assert near("zzz", ["born_in"]) is None


def test_the_first_problems_by_line_are_kept_in_any_order():
    problems = Problems(keep=3)
    for line in (9, 4, None, 7, 2, 8):
        problems.add("not_json", line=line)
    assert ([problem.line for problem in problems.first], problems.total) == ([2, 4, 7], 6)


def test_an_id_of_megabytes_in_an_unread_line_takes_little_memory():
    unread = UnreadLines()
    line = json.dumps({"id": "s" * 1_000_000, "label": 1})
    tracemalloc.start()
    unread.add_line(line)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (unread.ids, unread.without_id) == (set(), 1)
    assert peak < 1 << 20
    unread.add_line(json.dumps({"id": "é" * 200}))
    assert unread.ids == {"é" * 200}
