"""Names of systems in tables and sentences: none looks like that of another team, or like a finding."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils.text import slugify

from evalsvc.core.accounts.models import Team
from evalsvc.evaluation.boards import system_names
from evalsvc.evaluation.boards.system_names import distinct_names, in_sentence
from evalsvc.evaluation.boards.systems import BoardSystem
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.runner import run_next

FINDING = "S is ahead of B by 4.0 micro F1 (p < .001, Welch’s t over runs). S"


def named(*systems: tuple[str, str]) -> list[str]:
    for _, team in systems:
        Team.objects.get_or_create(name=team, defaults={"slug": slugify(team) or "t"})
    teams = {team.name: team for team in Team.objects.all()}
    found = [
        BoardSystem(pk, name, "", False, teams[team].pk, team, teams[team].slug)
        for pk, (name, team) in enumerate(systems)
    ]
    return [*distinct_names(found).values()]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name", ["Net of Ben Lab", "net (ＢＥＮ LAB) 2", "Net_Bén_Lab", "Ben Lab’s Net", "Net of Команда"]
)
def test_a_name_that_names_another_team_has_its_own_team_behind_it(name: str) -> None:
    for team, slug in (("Ben Lab", "ben-lab"), ("Команда", "team-1234")):
        Team.objects.create(name=team, slug=slug)
    assert named((name, "Amy"), ("Tree", "Cat")) == [f"{name} of Amy", "Tree"]
    if "lab" in name.casefold():
        assert named((name, "Ben Lab")) == [name]


@pytest.mark.django_db
def test_names_that_differ_in_case_width_or_accents_alone_have_their_teams() -> None:
    alike = named(("Net", "Amy"), ("NET", "Ben"), ("Ｎét", "Cat"))
    assert alike == ["Net of Amy", "NET of Ben", "Ｎét of Cat"]
    assert named(("A+", "Amy"), ("A", "Amy"), ("★", "Cat")) == ["A+", "A", "★"]


@pytest.mark.django_db
def test_names_of_many_parts_are_compared_with_all_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_names, "MOST_PARTS", 0)
    assert named(("Net of Ben", "Amy"), ("Tree", "Ben")) == ["Net of Ben of Amy", "Tree"]


@pytest.mark.parametrize("name", ["Net", "PCNN+ATT", "BERT-base", "v1.1", "AIS", "Naïve", "Nothing2"])
def test_a_plain_word_stands_in_sentences_as_it_is(name: str) -> None:
    assert in_sentence(name) == name


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        (FINDING, f"“{FINDING}”"),
        ("B, tested", "“B, tested”"),
        ("A and B", "“A and B”"),
        ("Net.", "“Net.”"),
        ("Typed markers", "“Typed markers”"),
        ("Nothing", "“Nothing”"),
        ("both", "“both”"),
        ("S” leads. “B", "“S’ leads. ‘B”"),
    ],
)
def test_a_name_that_may_read_like_a_sentence_is_quoted(name: str, quoted: str) -> None:
    assert in_sentence(name) == quoted


def test_a_tag_does_not_end_its_own_quotation_marks() -> None:
    tags = '{"x": "a” verified by all; rank “1", "extra": true}'
    system = BoardSystem(1, "Net", tags, False, 1, "Amy", "amy")
    assert system.tag_texts == ["extra", "x: a’ verified by all; rank ‘1"]


def test_a_name_does_not_state_a_finding_on_the_board(cast: BenchmarkCast, client: Client) -> None:
    benchmark = cast.relations()
    for name, label in (("B", "works_for"), (FINDING, "born_in")):
        cast.submit(benchmark, [{"id": line["id"], "label": label} for line in RELATION_GOLD], system=name)
        assert run_next("score")
    lead = client.get(f"/boards/{benchmark.slug}/").context["sentence"]
    assert f"“{FINDING}” is " in lead
    assert lead.count(FINDING) == lead.count(f"“{FINDING}”")


def test_a_comparison_names_the_team_of_a_system_that_names_another_one(
    cast: BenchmarkCast, client: Client
) -> None:
    """The other team's system is not among those compared."""
    benchmark = cast.relations()
    for name, label in (("Net", "works_for"), (f"Tree of {cast.lugworm}", "born_in")):
        cast.submit(benchmark, [{"id": line["id"], "label": label} for line in RELATION_GOLD], system=name)
        assert run_next("score")
    systems = [f"{cast.kelpie.slug}/{system.name}" for system in benchmark.systems.all()]
    page = client.get(f"/boards/{benchmark.slug}/compare/", {"systems": systems})
    assert page.status_code == 200
    assert f"Tree of {cast.lugworm} of {cast.kelpie}" in page.context["paragraph"]
    own = client.get(f"/boards/{benchmark.slug}/systems/{benchmark.systems.get(name__startswith='Tree').pk}/")
    assert f"<h1>Tree of {cast.lugworm} of {cast.kelpie}" in own.content.decode()
