"""Figures over the answers of a frozen set: patterns, agreement, time, and the other rule."""

from __future__ import annotations

from uuid import uuid4

import pytest

from annotation import projects
from annotation.adjudication import decisions
from annotation.models import Vote
from annotation.queue import exclusions
from tests.annotation.releases.test_folder import frozen
from tests.cast.basics import sentence
from tests.cast.projects import annotators, answer_item, answered_item, create_project, curator, import_lines

pytestmark = pytest.mark.django_db


def test_patterns_times_and_the_other_rule_are_those_of_the_frozen_answers() -> None:
    project = create_project(k=3)
    import_lines(project, [sentence(f"s{at}") for at in range(4)])
    projects.open_for_work(project, by=curator())
    for at, answers in enumerate(
        [(["A"], ["A"], ["A"]), (["A"], ["A"], []), (["A"], [], []), (["B"], [], [])]
    ):
        item = answered_item(project, *answers, item=f"s{at}")
        if at > 1:
            decided = {"relations": [] if at == 2 else ["B"]}
            decisions.decide(item, by=curator(), payload=decided, client_id=uuid4(), votes_key=item.votes_key)
    Vote.objects.filter(item__external_id__in=("s0", "s1")).update(milliseconds=20_000)
    figures = frozen(project).statistics["provenance"]
    assert figures["patterns"] == [
        {"pattern": "1 against 2 N/A", "state": "adjudicated", "n": 2},
        {"pattern": "2 against 1 N/A", "state": "settled", "n": 1},
        {"pattern": "3", "state": "settled", "n": 1},
    ]
    assert figures["other_rule"] == {"rule": "majority-na", "settles": 2, "as_decided": 1}
    assert figures["time"] == {"answers": 6, "seconds_per_answer": 20, "items": 2, "minutes_per_item": 1}
    alpha = figures["agreement"]["overall"]["alpha"]
    assert alpha["low"] <= alpha["value"] <= alpha["high"]


def test_excluded_answers_are_in_no_figure() -> None:
    project = create_project(k=2)
    import_lines(project, [sentence("s0")])
    projects.open_for_work(project, by=curator())
    item = answered_item(project, ["B"], ["A"])
    exclusions.exclude_answer(item.answers.earliest("position"), by=curator())
    answer_item(item, annotators(project, 3)[2], "A")
    figures = frozen(project).statistics["provenance"]
    assert figures["patterns"] == [{"pattern": "2", "state": "settled", "n": 1}]
    assert figures["agreement"]["overall"]["observed"]["value"] == 1
