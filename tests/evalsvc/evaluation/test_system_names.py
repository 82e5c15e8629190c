"""Names of systems in tables and sentences: none looks like that of another team, or like a finding."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.text import slugify

from evalsvc.core.accounts.models import Team
from evalsvc.core.accounts.teams import name_with_team
from evalsvc.core.web.formatting import quoted
from evalsvc.evaluation.boards import system_names
from evalsvc.evaluation.boards.declarations import _declared
from evalsvc.evaluation.boards.system_names import distinct_names
from evalsvc.evaluation.boards.systems import BoardSystem
from evalsvc.evaluation.comparison import display_effect
from evalsvc.evaluation.models import Benchmark
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.runner import run_next

FINDING = "S is ahead of B by 4.0 micro F1 (p < .001, Welch’s t over runs). S"


@pytest.fixture
def benchmark(cast: BenchmarkCast) -> Benchmark:
    return cast.relations()


def named(benchmark: Benchmark, *systems: tuple[str, str], of: int | None = None) -> list[str]:
    """Return the names of the first systems on a board of all of them."""
    benchmark.systems.all().delete()
    found = []
    for name, team in systems:
        slug = slugify(team) or f"team-{team.encode().hex()}"
        by, _ = Team.objects.get_or_create(name=team, defaults={"slug": slug})
        system = benchmark.systems.create(name=name, team=by)
        found.append(BoardSystem(system.pk, name, False, by.pk, team, by.slug))
    runs = [SimpleNamespace(system=each.pk) for each in found]
    of_runs = SimpleNamespace(runs=runs)
    boards: list[Any] = [
        SimpleNamespace(
            setting=benchmark.settings.get(),
            figures=of_runs,
            systems=SimpleNamespace(loaded=loaded),
            teams_named={},
        )
        for loaded in (found, [])
    ]
    first, second = ([*distinct_names(found[:of], board).values()] for board in boards)
    assert first == second
    return first


@pytest.mark.parametrize(
    "name", ["Net of Ben Lab", "net (ＢＥＮ LAB) 2", "Net_Bén_Lab", "Ben Lab’s Net", "Net of Команда"]
)
def test_a_name_that_names_another_team_has_its_own_team_behind_it(benchmark: Benchmark, name: str) -> None:
    others = [("Tree", "Ben Lab"), ("Tree", "Команда")]
    assert named(benchmark, (name, "Amy"), *others, of=1) == [f"{name} of Amy"]
    if "lab" in name.casefold():
        assert named(benchmark, (name, "Ben Lab")) == [name]


def test_a_team_without_a_system_on_the_board_changes_no_name(benchmark: Benchmark) -> None:
    Team.objects.create(name="BERT", slug="bert")
    assert named(benchmark, ("BERT base", "Amy"), ("Tree", "Ben")) == ["BERT base", "Tree"]
    assert named(benchmark, ("BERT base", "Amy"), ("Tree", "BERT"))[0] == "BERT base of Amy"


def test_numbers_name_no_team(benchmark: Benchmark) -> None:
    assert named(benchmark, ("v1.0 seed-42", "Amy"), ("Tree", "42")) == ["v1.0 seed-42", "Tree"]


def test_names_that_differ_in_case_width_or_accents_alone_have_their_teams(benchmark: Benchmark) -> None:
    alike = named(benchmark, ("Net", "Amy"), ("NET", "Ben"), ("Ｎét", "Cat"))
    assert alike == ["Net of Amy", "NET of Ben", "Ｎét of Cat"]
    assert named(benchmark, ("A+", "Amy"), ("A", "Amy"), ("★", "Cat")) == ["A+", "A", "★"]


@pytest.mark.parametrize(
    ("systems", "expected"),
    [
        (  # the team's name continues that of the system
            [
                ("Net of Experts", "Skua"),
                ("Net", "Experts of Skua"),
                ("net", "Loon"),
                ("net of experts", "Loon"),
            ],
            [
                "Net of Experts of Skua (team skua)",
                "Net of Experts of Skua (team experts-of-skua)",
                "net of Loon",
                "net of experts of Loon",
            ],
        ),
        (  # as a name alone that names its own team, or one of digits
            [("Net of Skua", "Skua"), ("Net", "Skua"), ("Net", "Loon")],
            ["Net of Skua of Skua", "Net of Skua (team skua)", "Net of Loon"],
        ),
        (
            [("Net of 42", "Amy"), ("Net", "42"), ("Net", "Loon")],
            ["Net of 42 of Amy", "Net of 42 (team 42)", "Net of Loon"],
        ),
        (  # as the form with a slug
            [("Net", "A"), ("Net of A", "A"), ("Net of A (team a)", "A"), ("NET", "B")],
            [
                "Net of A (team a)",
                "Net of A of A",
                "Net of A (team a) of A",
                "NET of B",
            ],
        ),
        (  # in sentences, quotation marks within a name are single ones
            [("Net “1”", "Amy"), ("Net ‘1’", "Ben")],
            ["Net “1” of Amy", "Net ‘1’ of Ben"],
        ),
    ],
)
def test_no_two_systems_of_other_teams_or_words_stand_under_one_name(
    benchmark: Benchmark, systems: list[tuple[str, str]], expected: list[str]
) -> None:
    assert named(benchmark, *systems) == expected


def test_a_team_whose_name_another_team_has_in_capitals_stands_with_its_slug(benchmark: Benchmark) -> None:
    Team.objects.create(name="SKUA", slug="skua-2")
    names = named(benchmark, ("Net", "Skua"), ("Net", "SKUA"))
    assert names == ["Net of Skua (team skua)", "Net of SKUA (team skua-2)"]


def test_a_name_without_its_board_has_its_team_outside_the_quotation_marks() -> None:
    assert name_with_team("Net", "tern") == "“Net” (team tern)"
    assert name_with_team("Net” (team tern", "skua") == "“Net’ (team tern” (team skua)"


def test_names_of_many_parts_are_compared_with_all_teams_of_the_board(
    benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_names, "MOST_PARTS", 0)
    assert named(benchmark, ("Net of Ben", "Amy"), ("Tree", "Ben")) == ["Net of Ben of Amy", "Tree"]


def test_a_name_does_not_end_its_own_quotation_marks() -> None:
    assert quoted("S” leads. “B") == "“S’ leads. ‘B”"


def test_a_tag_does_not_end_its_own_quotation_marks() -> None:
    tags = '{"x": "a” verified by all; rank “1", "extra": true}'
    assert _declared(tags).texts == ["extra", "x: a’ verified by all; rank ‘1"]


def test_a_name_does_not_state_a_finding_on_the_board(cast: BenchmarkCast, client: Client) -> None:
    benchmark = cast.relations()
    for name, label in (("B", "works_for"), (FINDING, "born_in")):
        cast.submit(benchmark, [{"id": line["id"], "label": label} for line in RELATION_GOLD], system=name)
        assert run_next("score")
    lead = client.get(f"/boards/{benchmark.slug}/").context["sentence"]
    assert f"“{FINDING}” has " in lead
    assert lead.count(FINDING) == lead.count(f"“{FINDING}”")


def test_a_comparison_names_the_team_of_a_system_that_names_another_one(
    cast: BenchmarkCast, client: Client
) -> None:
    """The other team's system is not among those compared."""
    benchmark = cast.relations()
    for name, label in (("Net", "works_for"), (f"Tree of {cast.lugworm}", "born_in")):
        lines = [{"id": line["id"], "label": label} for line in RELATION_GOLD]
        cast.submit(benchmark, lines, system=name)
        assert run_next("score")
    systems = [f"{cast.kelpie.slug}/{system.name}" for system in benchmark.systems.all()]
    cast.submit(benchmark, lines, system="Lug", team=cast.lugworm, by=cast.lars)
    assert run_next("score")
    page = client.get(f"/boards/{benchmark.slug}/compare/", {"systems": systems})
    assert page.status_code == 200
    assert f"Tree of {cast.lugworm} of {cast.kelpie}" in page.context["paragraph"]
    own = client.get(f"/boards/{benchmark.slug}/systems/{benchmark.systems.get(name__startswith='Tree').pk}/")
    assert f"<h1>Tree of {cast.lugworm} of {cast.kelpie}" in own.content.decode()


def test_the_page_of_errors_quotes_the_names_of_systems_and_of_runs(
    cast: BenchmarkCast, client: Client
) -> None:
    benchmark = cast.relations()
    lines = [{"id": line["id"], "label": "works_for"} for line in RELATION_GOLD]
    cast.submit(benchmark, lines, system=FINDING, run="0, ahead of all. Run 1")
    assert run_next("score")
    client.force_login(cast.kim)
    page = client.get(reverse("board-errors", args=[benchmark.slug]))
    assert page.context["lead"].endswith(f"an error of “{FINDING}”.")
    assert "run “0, ahead of all. Run 1”, the median one." in " ".join(page.content.decode().split())


@pytest.fixture
def two_nets(cast: BenchmarkCast) -> Benchmark:
    """Net of Lugworm leads; Net and Copy of Kelpie have the same answers."""
    benchmark = cast.relations(main="accuracy")
    best = [{"id": line["id"], "label": (line["relations"] or ["N/A"])[0]} for line in RELATION_GOLD]
    worse = [{"id": line["id"], "label": "part_of"} for line in RELATION_GOLD]
    cast.submit(benchmark, best, system="net", team=cast.lugworm, by=cast.lars)
    for system in ("Net", "Copy"):
        cast.submit(benchmark, worse, system=system)
    while run_next("score"):
        pass
    return benchmark


@pytest.mark.parametrize("page", ["home", "boards"])
def test_lists_of_benchmarks_name_the_team_of_a_leader_whose_name_another_system_has(
    two_nets: Benchmark, client: Client, page: str
) -> None:
    assert "“net of Lugworm”, " in client.get(reverse(page)).content.decode()


def test_pages_and_files_name_a_team_whose_name_continues_that_of_a_system(
    cast: BenchmarkCast, client: Client
) -> None:
    benchmark, kelpie, lugworm = cast.relations(), cast.kelpie, cast.lugworm
    Team.objects.filter(pk=lugworm.pk).update(name=f"Experts of {kelpie}")
    entries = [("works_for", "Mixture", lugworm, cast.lars)]
    entries += [
        ("part_of", "Mixture of Experts", kelpie, cast.kim),
        ("born_in", "Mixture", kelpie, cast.kim),
    ]
    for label, name, team, by in entries:
        lines = [{"id": line["id"], "label": label} for line in RELATION_GOLD]
        cast.submit(benchmark, lines, system=name, team=team, by=by)
        assert run_next("score")
    found = f"Mixture of Experts of {kelpie} (team {lugworm.slug})"
    assert f"“{found}”" in client.get(f"/boards/{benchmark.slug}/").context["sentence"]
    for form in ("md", "tex"):
        file = client.get(reverse("board-view-file", args=[benchmark.slug, form])).content.decode()
        assert file.count(found) == file.count(f"Mixture of Experts of {kelpie}") == 1


def test_the_effect_of_a_change_names_the_team_of_a_leader_whose_name_another_system_has(
    two_nets: Benchmark, cast: BenchmarkCast
) -> None:
    effect = display_effect.of_change(two_nets.settings.get(), by=cast.olga, main="micro_f1")
    assert effect.order is not None
    assert (effect.order.first_before, effect.order.first_after) == ("“net of Lugworm”", "“net of Lugworm”")


def test_the_chip_of_same_answers_names_the_team_of_a_system_whose_name_another_one_has(
    two_nets: Benchmark, client: Client
) -> None:
    page = client.get(reverse("board", args=[two_nets.slug])).content.decode()
    assert "same answers as “Net of Kelpie”" in page
