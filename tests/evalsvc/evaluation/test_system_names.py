"""Names of systems in tables and sentences: none looks like that of another team, or like a finding."""

from __future__ import annotations

import pytest
from django.test import Client

from evalsvc.evaluation.boards.system_names import distinct_names, in_sentence
from evalsvc.evaluation.boards.systems import BoardSystem
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.runner import run_next

FINDING = "S is ahead of B by 4.0 micro F1 (p < .001, Welch’s t over runs). S"


def named(*systems: tuple[str, str]) -> list[str]:
    teams = sorted({team for _, team in systems})
    found = [
        BoardSystem(pk, name, "", False, teams.index(team), team, team.casefold())
        for pk, (name, team) in enumerate(systems)
    ]
    return [*distinct_names(found).values()]


@pytest.mark.parametrize("name", ["Net of Ben", "net (ＢＥＮ)", "Net – Ben", "Ben"])
def test_a_name_that_ends_like_another_team_has_its_own_team_behind_it(name: str) -> None:
    assert named((name, "Amy"), ("Tree", "Ben")) == [f"{name} of Amy", "Tree"]
    assert named(("Net", "Amy"), (name, "Amy"), ("Net", "Ben")) == [
        "Net of Amy",
        f"{name} of Amy",
        "Net of Ben",
    ]
    assert named((name, "Ben"), ("Tree", "Amy")) == [name, "Tree"]


def test_names_that_differ_in_case_or_width_alone_have_their_teams() -> None:
    assert named(("Net", "Amy"), ("NET", "Ben"), ("Ｎｅｔ", "Cat")) == [
        "Net of Amy",
        "NET of Ben",
        "Ｎｅｔ of Cat",
    ]
    assert named(("A+", "Amy"), ("A", "Amy")) == ["A+", "A"]


@pytest.mark.parametrize("name", ["Net", "PCNN+ATT", "BERT-base", "Typed markers v1.1", "AIS", "Naïve Bayes"])
def test_a_short_plain_name_stands_in_sentences_as_it_is(name: str) -> None:
    assert in_sentence(name) == name


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        (FINDING, f"“{FINDING}”"),
        ("B, tested", "“B, tested”"),
        ("A and B", "“A and B”"),
        ("Net.", "“Net.”"),
        ("one two three four five", "“one two three four five”"),
        ("S” leads. “B", "“S’ leads. ‘B”"),
    ],
)
def test_a_name_that_may_read_like_a_sentence_is_quoted(name: str, quoted: str) -> None:
    assert in_sentence(name) == quoted


def test_a_name_does_not_state_a_finding_on_the_board(cast: BenchmarkCast, client: Client) -> None:
    benchmark = cast.relations()
    for name, label in (("B", "works_for"), (FINDING, "born_in")):
        cast.submit(benchmark, [{"id": line["id"], "label": label} for line in RELATION_GOLD], system=name)
        assert run_next("score")
    lead = client.get(f"/boards/{benchmark.slug}/").context["sentence"]
    assert f"“{FINDING}” is " in lead
    assert lead.count(FINDING) == lead.count(f"“{FINDING}”")
