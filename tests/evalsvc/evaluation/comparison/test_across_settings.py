"""Systems in several settings: turned orders as in Gao et al. 2021, and joint significance."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.boards.leaderboard import board
from evalsvc.evaluation.boards.rank_reversals import shows_other_runs, with_same_runs
from evalsvc.evaluation.boards.ranking import Board, Column
from evalsvc.evaluation.comparison.across_settings import (
    AcrossSettings,
    Joint,
    caption,
    finding,
    joint,
    two_settings,
)
from evalsvc.evaluation.disclosure import rules
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.pages import board_columns
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.evalsvc.evaluation.test_leaderboard import answers, scored
from workers.runner import run_next

# AUC of held-out and manual evaluation, Gao et al. 2021, Table 4
TABLE_4 = [
    ("CNN sent AVG", 20.0, 48.7), ("CNN sent ONE", 21.2, 50.5), ("PCNN sent AVG", 20.4, 49.4),
    ("PCNN sent ONE", 21.4, 51.1), ("PCNN bag AVG", 28.4, 52.9), ("PCNN bag ONE", 28.4, 53.4),
    ("PCNN bag ATT", 32.2, 56.8), ("RL-DSRE", 32.6, 55.1), ("BGWA", 31.0, 47.8), ("RESIDE", 33.4, 35.8),
    ("BERT sent AVG", 50.5, 60.3), ("BERT sent ONE", 50.5, 61.3), ("BERT bag AVG", 43.0, 56.7),
    ("BERT bag ONE", 38.5, 58.1), ("BERT bag ATT", 27.8, 51.2),
]  # fmt: skip


UNTESTED = -1


def test_turned_pairs_of_the_printed_table_are_counted() -> None:
    column: Any = Column(MENU["auc"], {}, "AUC")
    policies = (SimpleNamespace(greatest_step=lambda key, step=step: step) for step in (0.0, 0.0, 10.0))
    boards: list[Any] = [
        SimpleNamespace(setting=SimpleNamespace(title="Set"), policy=each) for each in policies
    ]
    found = two_settings(*boards[:2], column, [(name, human, held) for name, held, human in TABLE_4])
    assert (found.pairs, found.kept, found.turned, found.tied) == (105, 83, 20, 2)
    assert found.tau_b == pytest.approx(0.6057972360964814)
    assert [name for name, *_ in found.rows][:2] == ["BERT sent ONE", "BERT sent AVG"]
    alike = two_settings(*boards[:2], column, [("A", 0.5, 0.1), ("B", 0.5, 0.2)])
    assert (alike.tied, alike.tau_b) == (1, None)
    # exact figures of a hidden gold may have another order
    rounded = two_settings(*boards[1:], column, [(name, human, held) for name, held, human in TABLE_4])
    assert rounded.pairs == 105
    assert rounded.kept + rounded.turned == sum(
        one[2] != other[2] and abs(one[1] - other[1]) >= 10 for one, other in combinations(TABLE_4, 2)
    )
    assert (rounded.tau_b, "less than a step apart" in caption(rounded)) == (None, True)
    assert finding(rounded).endswith(" reversed by a step or more")


SHOWN = {text: rules.greatest_of(text) for text in ("< .001", "< .01", "< .05", "≥ .05")}


@pytest.mark.parametrize(
    ("winners", "p_values", "expected"),
    [
        ([0], [0.01], None),
        # a setting without a test: not ahead in every one, whoever chose those that are tested
        ([0, 0, UNTESTED], [0.01, 0.02, 1.0], Joint((0, 1), 3, (2, 0), None, None, untested=1, alone=2)),
        ([0, UNTESTED], [0.01, 1.0], None),
        # each p alone is below .05: ahead everywhere, without adjustment
        ([0, 0, 0], [0.04, 0.01, 0.03], Joint((0, 1), 3, (3, 0), 0, 0.04, alone=3)),
        # of three settings, .02 · 3 and .03 · 3 are too much
        ([0, None, 0], [0.03, 0.6, 0.02], Joint((0, 1), 3, (0, 0), None, None, alone=2)),
        ([1, None, 0], [0.01, 0.6, 0.02], Joint((0, 1), 3, (1, 1), None, None, alone=2)),
        ([None, None], [0.2, 0.3], Joint((0, 1), 2, (0, 0), None, None)),
        # ranges alone, where the gold is hidden: the greatest p of each counts
        ([1, 1], ["< .05", "< .05"], Joint((0, 1), 2, (0, 2), 1, None, alone=2)),
        ([1, None], ["< .05", "≥ .05"], Joint((0, 1), 2, (0, 0), None, None, alone=1)),
        ([1, None], ["< .01", "≥ .05"], Joint((0, 1), 2, (0, 1), None, None, alone=1)),
        ([1, 1, UNTESTED], ["< .001", "< .001", 1.0], Joint((0, 1), 3, (0, 2), None, None, 1, alone=2)),
        # two open settings and a hidden one
        ([0, 0, None], [0.001, 0.001, "≥ .05"], Joint((0, 1), 3, (2, 0), None, None, alone=2)),
        ([0, 0, 0], [0.001, 0.001, "< .05"], Joint((0, 1), 3, (3, 0), 0, None, alone=3)),
    ],
)
def test_a_pair_is_ahead_in_all_settings_or_in_those_that_holm_leaves(
    winners: list[int | None], p_values: list[float | str], expected: Joint | None
) -> None:
    untested = winners.count(UNTESTED)
    known = [None if each == UNTESTED else each for each in winners]
    greatest = [SHOWN[each] if isinstance(each, str) else each for each in p_values]
    has_ranges = greatest != p_values
    assert joint((0, 1), known, greatest, untested=untested, has_ranges=has_ranges) == expected


@pytest.mark.parametrize(("settings", "where"), [(2, "both settings"), (3, "all 3 settings")])
def test_a_sentence_counts_the_settings_in_which_a_system_is_ahead(settings: int, where: str) -> None:
    ordering = SimpleNamespace(title="micro F1")
    here: Any = SimpleNamespace(names_in_sentences=["Net", "Tree"], board=SimpleNamespace(ordering=ordering))
    sentence = AcrossSettings(here, []).sentence(Joint((0, 1), settings, (settings, 0), 0, 0.04))
    assert sentence == f"Net is ahead of Tree by micro F1 in {where} (greatest p .040)."
    found = AcrossSettings(here, []).sentence(Joint((0, 1), 3, (2, 0), None, None, untested=1))
    assert found == "Net and Tree by micro F1 in 3 settings, 1 of them not tested: Net is ahead in 2."
    found = AcrossSettings(here, []).sentence(Joint((0, 1), 3, (0, 0), None, None, alone=2))
    assert found == (
        "No difference between Net and Tree by micro F1 is left after Holm over 3 settings;"
        " by single tests one is ahead in 2."
    )
    found = AcrossSettings(here, []).sentence(Joint((0, 1), 3, (0, 0), None, None))
    assert found == "No difference between Net and Tree by micro F1 could be shown in any of 3 settings."


@pytest.fixture
def beside(cast: BenchmarkCast) -> Benchmark:
    """Two systems, each ahead in one setting: by people, and by labels of a source."""
    benchmark = cast.relations(main="accuracy")
    other = [line | {"relations": ["part_of"]} for line in RELATION_GOLD]
    held = freeze("held", other, by=cast.olga, origin="source")
    fields = {"test_set": held, "unit": "sentence", "main": "accuracy", "disclosure": "open", "by": cast.olga}
    creation.add_setting(benchmark, key="held", title="Held-out", **fields)
    scored(cast, benchmark, "Net", 5, 6)
    scored(cast, benchmark, "Tree", 1, 2)
    return benchmark


def address(cast: BenchmarkCast, view: str = "board-compare", *args: str, **query: str) -> str:
    systems = {"systems": [f"{cast.kelpie.slug}/{name}" for name in ("Net", "Tree")]}
    return reverse(view, args=["rel", *args], query=systems | query)


def test_a_page_shows_the_systems_in_the_other_settings(
    client: Client, cast: BenchmarkCast, beside: Benchmark
) -> None:
    client.force_login(cast.kim)
    page = client.get(address(cast)).content.decode()
    assert "In several settings" in page
    assert "The systems are not tested yet on “Held-out”." in page
    for action in ("compute", "settings"):
        assert client.post(address(cast), {"action": action}).status_code == 302
    while run_next("heavy"):
        pass
    # the order is that of the setting labelled by people, from either page
    for setting in ("main", "held"):
        page = client.get(address(cast, setting=setting)).content.decode()
        assert "not tested yet" not in page
        assert "Of 1 pair, “Held-out” keeps the order of 0 and reverses 1; 0 are equal." in page
        assert "by accuracy is left after Holm over 2 settings; by single tests one is ahead in 1." in page
        assert page.count("Kendall’s τ-b −1.00") == 1
        svg = client.get(address(cast, "board-compare-file", "svg", setting=setting, table="main-held"))
        assert svg.content.startswith(b"<svg")
    table = client.get(address(cast, "board-compare-file", "csv", table="main-held")).content.decode()
    assert table.splitlines()[1].startswith("Net,0.91")
    assert (
        "a,b,settings,a_ahead,b_ahead"
        in client.get(address(cast, "board-compare-file", "csv", table="joint")).content.decode()
    )


def test_orders_are_compared_of_settings_that_show_the_same_runs(
    client: Client, cast: BenchmarkCast, beside: Benchmark
) -> None:
    """Beside the latest runs stood means, as if the labels of the other setting had turned the pair."""
    chosen = {"setting": "main", "columns": ["main:accuracy", "held:accuracy"]}
    client.force_login(cast.kim)
    systems = {"setting": "main", "systems": [f"{cast.kelpie.slug}/{name}" for name in ("Net", "Tree")]}

    def seen(rule: str) -> tuple[bool, ...]:
        Setting.objects.filter(key="held").update(row_rule=rule)
        board = client.get(reverse("board", args=["rel"], query=chosen))
        return (
            "By accuracy on “Held-out”" in board.context["sentence"],
            "accuracy on “Held-out”" in [each.title for each in board.context["agreements"]],
            any(cell.mark for row in board.context["table"].rows for cell in row.others),
            bool(client.get("/api/v1/benchmarks/rel/compare", systems).json()["two_settings"]),
        )

    assert seen("mean") == (True,) * 4
    assert seen("latest") == (False,) * 4
    means = "“main”: mean ± standard deviation over n runs with different answers"
    latest = "“Held-out”: figures of one run of each system: the latest run with figures; n runs"
    page = client.get(reverse("board", args=["rel"], query=chosen)).content.decode()
    file = client.get(reverse("board-view-file", args=["rel", "md"], query=chosen)).content.decode()
    for text in (page, file):
        assert f"{means}. {latest} with different answers" in text


def test_the_runs_that_settings_show_are_compared_once_for_a_table(
    client: Client, cast: BenchmarkCast, beside: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = list[tuple[Board, ...]]()
    find = board_columns.shows_other_runs
    monkeypatch.setattr(
        board_columns, "shows_other_runs", lambda *boards: calls.append(boards) or find(*boards)
    )
    shown = client.get(reverse("board", args=["rel"]), {"columns": ["main:accuracy", "held:accuracy"]})
    assert len(shown.context["table"].rows) == 2
    assert len(calls) == 2  # one for each setting


@pytest.mark.parametrize("rule", ["mean", "latest"])
def test_systems_of_which_two_settings_show_other_runs_are_compared_in_neither(
    client: Client, cast: BenchmarkCast, beside: Benchmark, rule: str
) -> None:
    """A setting that had closed before a second run had another order, without a label that differs."""
    scored(cast, beside, "Rules", 3, 4)
    Setting.objects.update(row_rule=rule)
    Setting.objects.filter(key="held").update(closes_at=timezone.now())
    cast.submit(beside, answers(0), system="Tree", run="later")
    assert run_next("score")
    main, held = (board(setting) for setting in beside.settings.order_by("pk"))
    names = {main.systems[system].name for system in with_same_runs(main, held)}
    assert names == {"Net", "Rules"}
    assert shows_other_runs(main, held)
    shown = client.get(reverse("board", args=["rel"]), {"columns": ["main:accuracy", "held:accuracy"]})
    pairs = [each.systems for each in shown.context["agreements"] if "Held-out" in each.title]
    assert pairs == [2]
    assert not any(cell.mark for row in shown.context["table"].rows for cell in row.others)


def test_the_api_tells_of_other_settings_what_the_reader_may_see(
    client: Client, cast: BenchmarkCast, beside: Benchmark
) -> None:
    client.force_login(cast.kim)
    query = f"systems={cast.kelpie.slug}/Net&systems={cast.kelpie.slug}/Tree"
    url = f"/api/v1/benchmarks/rel/compare?{query}"
    [found] = client.get(url).json()["two_settings"]
    assert (found["first"], found["second"], found["turned"], found["tau_b"]) == ("main", "held", 1, -1)
    assert [each["system"] for each in found["systems"]] == ["Net", "Tree"]
    Setting.objects.filter(key="held").update(disclosure="hidden", ladder=0.02)
    assert client.get(url).json()["two_settings"] == []  # the Ladder shows other runs
    client.force_login(cast.olga)
    assert len(client.get(url).json()["two_settings"]) == 1
    client.force_login(cast.kim)
    Setting.objects.filter(key="held").update(sealed=True, closes_at="2999-01-01T00:00Z")
    assert client.get(url).json()["two_settings"] == []
