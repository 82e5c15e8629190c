"""Joint benchmarks: inventories in parts, checked files, figures beside each other."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.benchmarks.label_inventory import labels_of
from evalsvc.evaluation.disclosure import gold_counts
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.disclosure.sensitivity import GoldCounts, largest_change
from evalsvc.evaluation.measures.menu import offered
from evalsvc.evaluation.models import Submission
from tests.cast.benchmarks import JOINT_GOLD, JOINT_LABELS, BenchmarkCast, Line, freeze
from tests.errors import code
from workers.runner import run_next

pytestmark = pytest.mark.django_db
ANSWERS = [{key: line[key] for key in ("id", "spans", "relations")} for line in JOINT_GOLD]
MANY = [[at, at + 1, "PER"] for at in range(46)]
TURNED = [*ANSWERS[:2], ANSWERS[2] | {"relations": [[1, "met", 0]]}]


def scored(cast: BenchmarkCast, lines: list[Line], **fields: Any) -> Submission:
    benchmark = fields.pop("benchmark", None) or cast.joint()
    submission = cast.submit(benchmark, lines, **fields)
    assert run_next("score")
    submission.refresh_from_db()
    assert submission.state == "scored", submission.reason
    return submission


def figures(submission: Submission) -> dict[str, float | None]:
    return dict(submission.evaluations.get().scores.values_list("measure", "value"))


def test_entities_and_relations_are_scored_beside_each_other(cast: BenchmarkCast) -> None:
    wrong_type = [ANSWERS[0] | {"spans": [[0, 1, "PER"], [2, 4, "PER"]]}, *ANSWERS[1:]]
    submission = scored(cast, wrong_type)
    values = figures(submission)
    assert values["conll_micro_f1"] == 0.75
    assert values["relation_bounds_entity_f1"] == 1
    assert (values["relation_strict_micro_f1"], values["relation_bounds_micro_f1"]) == (0.5, 1)
    evaluation = submission.evaluations.get()
    by_family = {family: set() for family in ("conll", "relation_strict")}
    for row in evaluation.classes:
        by_family.get(row["family"], set()).add(row["label"])
    assert by_family == {"conll": {"PER", "LOC"}, "relation_strict": {"left", "met"}}
    assert evaluation.detail["wrong_relations"]["label"] == 1


def test_a_relation_without_direction_is_right_both_ways_and_the_same_run(cast: BenchmarkCast) -> None:
    submission = scored(cast, ANSWERS)
    turned = scored(cast, TURNED, benchmark=submission.benchmark, run="2")
    assert figures(turned) == figures(submission)
    assert figures(turned)["relation_strict_micro_f1"] == 1
    digests = {each.evaluations.get().answers_sha256 for each in (submission, turned)}
    assert len(digests) == 1


def test_spans_in_another_order_are_the_same_answers(cast: BenchmarkCast) -> None:
    submission = scored(cast, ANSWERS)
    line = {"id": "d3", "spans": ANSWERS[2]["spans"][::-1], "relations": [[1, "met", 0]]}
    again = scored(cast, [*ANSWERS[:2], line], benchmark=submission.benchmark, run="2")
    digests = {each.evaluations.get().answers_sha256 for each in (submission, again)}
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"relations": [[0, "knows", 1]]}, "unknown_label"),
        ({"relations": [[0, "PER", 1]]}, "unknown_label"),
        ({"spans": [[0, 1, "met"]], "relations": []}, "unknown_label"),
        ({"relations": [[0, "met", 2]]}, "bad_reference"),
        ({"spans": [[0, 9, "PER"]], "relations": []}, "bad_span"),
        (
            {"spans": MANY, "relations": [[a, "met", b] for a in range(46) for b in range(46)]},
            "too_many_in_line",
        ),
    ],
)
def test_an_invalid_joint_line_is_rejected_by_what_is_wrong(
    cast: BenchmarkCast, line: Line, problem: str
) -> None:
    with pytest.raises(FileRejected) as rejected:
        cast.submit(cast.joint(), [*ANSWERS[:2], ANSWERS[2] | line])
    assert problem in rejected.value.problems.by_code


def test_tags_have_no_relations_so_joint_benchmarks_reject_them(cast: BenchmarkCast) -> None:
    with pytest.raises(FileRejected) as rejected:
        cast.submit(cast.joint(), [{"id": "d1", "tags": ["O"] * 4}])
    assert "mixed_forms" in rejected.value.problems.by_code


def test_relaxed_figures_and_ceilings_order_no_board(cast: BenchmarkCast) -> None:
    benchmark = cast.joint()
    for main in ("relation_relaxed_micro_f1", "relation_strict_ceiling"):
        with pytest.raises(DomainError, check=code("bad_measure")):
            creation.change_setting(benchmark.settings.get(), main=main, by=cast.olga)
    creation.change_setting(benchmark.settings.get(), main="conll_micro_f1", by=cast.olga)
    assert not any(each.key.startswith("relation_") for each in offered("document"))


@pytest.mark.parametrize(
    "labels",
    [
        [{"name": "PER"}, {"name": "met", "part": "relation"}],
        [{"name": "PER", "part": "entity"}],
        [{"name": "PER", "part": "entity", "symmetric": True}, {"name": "met", "part": "relation"}],
    ],
)
def test_a_joint_inventory_has_types_and_relations(cast: BenchmarkCast, labels: list[Any]) -> None:
    with pytest.raises(DomainError, check=lambda error: error.field == "labels"):
        cast.benchmark("joint", task="joint", labels=labels, negative="")


def test_gold_that_names_no_parts_is_read_for_them(cast: BenchmarkCast) -> None:
    gold = freeze(
        "plain", JOINT_GOLD, by=cast.olga, labels=["met", "PER", "left", "LOC", "ORG"], kind="joint"
    )
    joint = labels_of([gold], task="joint", symmetric="met")
    assert {(label["part"], label["name"]) for label in joint} == {
        ("entity", "PER"), ("entity", "LOC"), ("entity", "ORG"), ("relation", "met"), ("relation", "left"),
    }  # fmt: skip
    assert [label["name"] for label in joint if label.get("symmetric")] == ["met"]
    assert [label["name"] for label in labels_of([gold], task="entities")] == ["PER", "LOC", "ORG"]
    with pytest.raises(DomainError, check=code("unknown_label", field="symmetric")):
        labels_of([gold], task="joint", symmetric="PER")


def test_one_gold_span_moves_as_many_relations_as_end_at_it() -> None:
    gold = GoldCounts(100, {"PER": 900}, relations={"met": 400}, relations_of_span=3)
    alone = GoldCounts(100, {"met": 400})
    key = "relation_strict_micro_f1"
    assert largest_change(key, gold, {}) == pytest.approx(3 * largest_change("micro_f1", alone, {}))
    assert largest_change("relation_strict_ceiling", gold, {}) == pytest.approx(3 / 400)
    assert largest_change("relation_bounds_entity_f1", gold, {}) == pytest.approx(2 / 900)


def test_relations_of_a_gold_are_counted_as_the_scorer_counts_them(cast: BenchmarkCast) -> None:
    """By bounds, whatever the types of their ends, and both orders of ends as one without direction."""
    spans = [[0, 1, "PER"], [0, 1, "LOC"], [2, 3, "PER"], [2, 3, "LOC"]]
    relations = [[0, "met", 2], [2, "met", 0], [1, "met", 3], [0, "left", 2], [2, "left", 0], [1, "left", 3]]
    line = {"id": "d", "tokens": ["Ada", "met", "Bo"], "spans": spans, "relations": relations}
    gold = freeze("parallel", [line], by=cast.olga, labels=JOINT_LABELS, kind="joint")
    labels = [label | ({"symmetric": True} if label["name"] == "met" else {}) for label in JOINT_LABELS]
    settings = [("main", gold, "document", "relation_strict_micro_f1")]
    setting = cast.benchmark(
        "par", settings=settings, task="joint", labels=labels, negative=""
    ).settings.get()
    counts = gold_counts.of_version(setting)
    assert counts.relations == {"left": 3, "met": 2}
    assert counts.relations_of_bounds == {"left": 2, "met": 1}
    assert counts.relations_of_span == 3
    assert counts.answers_of_relations == {"left": 2, "met": 1}  # of the same words
    assert set(counts.words) == {"spans"}  # triples as text have no WRF


def test_hidden_relations_are_rounded_or_withheld_like_entities(cast: BenchmarkCast) -> None:
    setting = cast.joint().settings.get()
    counts = gold_counts.of_version(setting)
    assert (dict(counts.classes), dict(counts.relations)) == ({"PER": 3, "LOC": 1}, {"left": 1, "met": 1})
    policy = Policy(setting, hidden=True)
    assert policy.value("relation_strict_micro_f1", 0.5).withheld
    assert policy.classes([{"family": "relation_strict", "label": "met", "gold": 1, "f1": 0.5}]) == []


def test_pages_show_relations_and_types_apart(client: Client, cast: BenchmarkCast) -> None:
    submission = scored(cast, [ANSWERS[0] | {"relations": []}, *ANSWERS[1:]])
    client.force_login(cast.kim)
    page = client.get(reverse("submission", args=[submission.pk]))
    tables = {table.title: [row.title for row in table.rows] for table in page.context["class_tables"]}
    assert tables == {"Relation by relation": ["left", "met"], "Type by type": ["PER", "LOC"]}
    board = client.get(reverse("board", args=["joint"])).content.decode()
    assert "strict micro F1" in board
    assert "entity micro F1" in board
