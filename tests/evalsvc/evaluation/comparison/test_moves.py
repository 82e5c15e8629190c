"""What a new version moved: ranks, figures, turned pairs, and the labels behind it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from unittest import mock

import pytest
from django.test import Client

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.comparison.moves import Moves, between, moves
from evalsvc.evaluation.disclosure.policy import Policy
from evalsvc.evaluation.models import Benchmark, Setting, SettingVersion
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from tests.errors import code
from workers.runner import run_next

# s1 and s5 are no longer born_in; s2 and s4 are
MENDED = [
    gold_sentence(line["id"], line["h"]["id"], line["t"]["id"], *relations)
    for line, relations in zip(
        RELATION_GOLD, ([], ["born_in"], ["works_for"], ["born_in"], [], ["part_of"]), strict=True
    )
]
EARLIER = ["born_in", "N/A", "works_for", "N/A", "born_in", "N/A"]
LATER = ["N/A", "born_in", "works_for", "born_in", "N/A", "N/A"]


@pytest.fixture
def setting(cast: BenchmarkCast) -> Setting:
    """Net is right about the first gold, Tree about the second."""
    benchmark = cast.relations()
    for system, labels in (("Net", EARLIER), ("Tree", LATER)):
        lines = [
            {"id": line["id"], "label": label} for line, label in zip(RELATION_GOLD, labels, strict=True)
        ]
        cast.submit(benchmark, lines, system=system)
    work()
    return benchmark.settings.get()


def work() -> None:
    while run_next("score"):
        pass


def revised(setting: Setting, cast: BenchmarkCast) -> Moves:
    gold = freeze("mended", MENDED, by=cast.olga)
    creation.revise_setting(setting, test_set=gold, by=cast.olga, note="Mended.")
    work()
    return moves(Setting.objects.get(), 2)


def test_a_new_gold_turns_a_pair_and_the_report_says_so(setting: Setting, cast: BenchmarkCast) -> None:
    found = revised(setting, cast)
    ranks = {move.row.system.name: (move.rank_before, move.rank_after) for move in found.systems}
    assert ranks == {"Net": (1, 2), "Tree": (2, 1)}
    assert len(found.turned) == 1
    change = found.systems[0].changes["micro_f1"]
    assert (change.before, change.after) == (pytest.approx(2 / 7), pytest.approx(6 / 7))
    # a run that came afterwards moves nothing: the new gold did not turn it
    effects = [move.effect for move in found.labels]
    lines = [{"id": line["id"], "label": label} for line, label in zip(RELATION_GOLD, LATER, strict=True)]
    for system, run in (("Net", "2"), ("Late", "1")):
        cast.submit(setting.benchmark, lines, system=system, run=run)
    work()
    found = moves(Setting.objects.get(), 2)
    assert ranks == {move.row.system.name: (move.rank_before, move.rank_after) for move in found.systems}
    assert ([move.effect for move in found.labels], found.left) == (effects, [])
    Setting.objects.update(row_rule="entry")  # both are of one team, and Tree is later
    found = moves(Setting.objects.get(), 2)
    ranks = {move.row.system.name: (move.rank_before, move.rank_after) for move in found.systems}
    assert (ranks, found.turned) == ({"Net": (None, None), "Tree": (1, 1)}, [])


def test_the_effects_of_labels_add_up_to_the_mean_change_of_micro_f1(
    setting: Setting, cast: BenchmarkCast
) -> None:
    gold = freeze("other", [*MENDED[:4], *RELATION_GOLD[4:]], by=cast.olga)
    creation.revise_setting(setting, test_set=gold, by=cast.olga)
    work()
    found = moves(Setting.objects.get(), 2)
    changes = [move.changes["micro_f1"].difference or 0.0 for move in found.systems]
    assert sum(move.effect for move in found.labels) == pytest.approx(sum(changes) / 2)
    assert any(changes)
    first = found.labels[0]
    assert (first.label, first.gold_before, first.gold_after) == ("born_in", 2, 3)


def test_an_unchanged_gold_moves_nothing(setting: Setting, cast: BenchmarkCast) -> None:
    gold = freeze("same", reversed(RELATION_GOLD), by=cast.olga)
    creation.revise_setting(setting, test_set=gold, by=cast.olga)
    work()
    found = moves(Setting.objects.get(), 2)
    assert [move.climbed for move in found.systems] == [0, 0]
    assert {move.effect for move in found.labels} <= {0.0}


def test_hidden_gold_shows_no_labels_but_to_organisers(setting: Setting, cast: BenchmarkCast) -> None:
    revised(setting, cast)
    Setting.objects.update(disclosure="hidden")
    hidden = Setting.objects.get()
    assert moves(hidden, 2, person=cast.kim).labels == []
    assert moves(hidden, 2, person=cast.olga).labels


@pytest.mark.parametrize(
    ("before", "stated"),
    [
        ("To 5.0 points.", "Version 1: To 5.0 points. Version 2: To 0.2 points."),
        ("To 0.2 points.", "To 0.2 points."),
    ],
)
def test_the_report_states_the_steps_of_both_versions(
    setting: Setting, cast: BenchmarkCast, before: str, stated: str
) -> None:
    """A change may be the rounding of one version alone."""
    found = revised(setting, cast)
    texts = zip((found.before, found.after), (before, "To 0.2 points."), strict=True)
    first, second = (SimpleNamespace(version=board.version, held_back=text) for board, text in texts)
    assert replace(found, before=first, after=second).held_back == stated


@pytest.mark.parametrize(("ladder", "changed"), [(None, {True}), (0.001, {True, False})])
def test_no_order_is_compared_by_rounded_figures_and_no_change_below_a_step(
    client: Client, setting: Setting, cast: BenchmarkCast, ladder: float | None, changed: set[bool]
) -> None:
    """Exact figures may have another order; a Ladder withholds the run of Tree under one version."""
    revised(setting, cast)
    Setting.objects.update(disclosure="hidden", ladder=ladder, measures=["micro_f1"])
    for step, shows in ((0.001, changed), (2.0, {False})):
        with mock.patch.object(Policy, "step", lambda self, key, claims=None, step=step: step):
            found = moves(Setting.objects.get(), 2, person=cast.lars)
            page = client.get("/boards/rel/settings/main/versions/2/").content.decode()
        assert (found.summary, found.turned) == ("No order is compared while gold is hidden.", [])
        assert {(move.rank_before, move.rank_after) for move in found.systems} == {(None, None)}
        assert {move.changes["micro_f1"].difference is not None for move in found.systems} == shows
        assert not {"▲", "▼", "passed", "changed rank"} & set(page.replace("<", " ").split())


def test_a_change_is_stated_only_of_figures_of_the_same_runs(setting: Setting, cast: BenchmarkCast) -> None:
    """A precision that one version withheld for a run of few claims made a change of the other sign."""

    def changed() -> dict[str, bool]:
        report = moves(Setting.objects.get(), 2)
        known = {
            move.row.system.name: move.changes["micro_f1"].difference is not None for move in report.systems
        }
        ranked = {move.row.system.name for move in report.systems if move.rank_before and move.rank_after}
        assert ranked == {name for name, is_known in known.items() if is_known}
        assert all({each.name for each in pair} <= ranked for pair in report.turned)
        return known

    labels = zip(RELATION_GOLD, [*EARLIER[:3], *["part_of"] * 3], strict=True)
    lines = [{"id": line["id"], "label": label} for line, label in labels]
    run = cast.submit(setting.benchmark, lines, system="Net", run="2")
    work()
    [first] = run.evaluations.all()
    revised(setting, cast)
    assert changed() == {"Net": True, "Tree": True}
    first.scores.filter(measure="micro_f1").update(value=None)
    assert changed() == {"Net": False, "Tree": True}


def test_the_report_states_how_many_runs_it_leaves_out_as_they_were_withdrawn(
    client: Client, setting: Setting, cast: BenchmarkCast
) -> None:
    found = revised(setting, cast)
    assert (found.withdrawn, found.without) == (0, "")
    submission_states.withdraw(setting.benchmark.submissions.get(system__name="Net"), by=cast.kim)
    address, text = "/boards/rel/settings/main/versions/2/", "1 run was withdrawn after scoring; ranks and "
    assert text in client.get(address).content.decode()
    assert text in client.get(f"{address}moves.json").json()["caption"]
    client.force_login(cast.kim)
    assert client.get(f"/api/v1{address.replace('boards', 'benchmarks')}moves").json()["withdrawn"] == 1
    Setting.objects.update(sealed=True)
    assert moves(Setting.objects.get(), 2).withdrawn == 0


def test_the_report_states_how_many_runs_only_one_version_scored(
    client: Client, setting: Setting, cast: BenchmarkCast
) -> None:
    # the new gold has a sentence that only Net's second run, and a later one of Tree, answer
    more = [*RELATION_GOLD, gold_sentence("s7", "Q1", "Q3", "born_in")]
    gold = freeze("more", more, by=cast.olga)
    creation.add_setting(
        setting.benchmark, key="more", title="More", test_set=gold, unit="sentence", main="micro_f1",
        disclosure="open", by=cast.olga,
    )  # fmt: skip

    def submit(system: str, right: int) -> None:
        labels = [*EARLIER[:right], *["part_of"] * (7 - right)]
        lines = [{"id": line["id"], "label": label} for line, label in zip(more, labels, strict=True)]
        cast.submit(setting.benchmark, lines, system=system, run="2")
        work()

    submit("Net", 3)
    mended = freeze("mended", [*MENDED, gold_sentence("s7", "Q1", "Q3", "born_in")], by=cast.olga)
    creation.revise_setting(setting, test_set=mended, by=cast.olga)
    work()
    submit("Tree", 1)
    found = moves(Setting.objects.get(key="main"), 2)
    assert found.summary == "Over the runs that both versions scored, ranks by micro F1 are the same."
    text = (
        "2 runs are scored under version 1 alone and 1 run is scored under version 2 alone: the boards count "
        "them, this report does not. On both boards, without a run that both versions scored: “Tree”."
    )
    assert found.without == text
    [net] = found.systems
    assert (net.row.system.name, net.runs_before_alone, net.runs_after_alone) == ("Net", 1, 0)
    address = "/boards/rel/settings/main/versions/2/"
    assert text in client.get(address).content.decode()
    assert b"runs_before_alone,runs_after_alone" in client.get(f"{address}moves.csv").content
    client.force_login(cast.kim)
    body = client.get(f"/api/v1{address.replace('boards', 'benchmarks')}moves").json()
    assert (body["before_alone"], body["after_alone"]) == (2, 1)
    assert [each["system"] for each in body["apart"]] == ["Tree"]
    first = SettingVersion.objects.get(setting=setting, number=1).test_set
    [moved] = between(first, mended, cast.olga)
    assert moved.text == f"{found.summary} {text}"
    Setting.objects.update(sealed=True)
    assert moves(Setting.objects.get(key="main"), 2).without == ""


def test_the_first_version_has_no_report(setting: Setting) -> None:
    with pytest.raises(DomainError, check=code("first_version")):
        moves(setting, 1)


def test_page_and_api_say_what_moved(client: Client, setting: Setting, cast: BenchmarkCast) -> None:
    revised(setting, cast)
    labels = [label | {"title": label["name"].replace("_", " ")} for label in setting.benchmark.labels]
    Benchmark.objects.update(labels=labels)
    page = client.get("/boards/rel/settings/main/versions/2/").content.decode()
    assert ">born in</" in page
    assert "2 systems of 2 changed rank, 1 pair reversed by micro F1." in page
    assert "“Tree” passed “Net”." in page
    assert "85.7 (+57.1)" in page
    assert (
        "/boards/rel/settings/main/versions/2/" in client.get("/boards/rel/settings/main/").content.decode()
    )
    address = "/boards/rel/settings/main/versions/2/moves"
    assert f"{address}.csv?table=labels" in page
    rows = client.get(f"{address}.json").json()["rows"]
    assert [(row["system"], row["rank_before"], row["rank_after"]) for row in rows] == [
        ("Tree", 2, 1),
        ("Net", 1, 2),
    ]
    assert rows[0]["micro_f1"] - rows[0]["micro_f1:before"] == pytest.approx(4 / 7)
    pair = {"ahead_before": "Net", "ahead_after": "Tree", "team_before": "Kelpie", "team_after": "Kelpie"}
    assert client.get(f"{address}.json?table=turned").json()["rows"] == [pair]
    assert client.get(f"{address}.csv?table=labels").content.startswith(b"label,effect,gold_before")
    assert client.get(f"{address}.csv?table=lost").status_code == 404
    client.force_login(cast.kim)
    body = client.get("/api/v1/benchmarks/rel/settings/main/versions/2/moves").json()
    assert body["turned"] == [pair]
    assert (body["before"]["number"], body["after"]["note"]) == (1, "Mended.")
    assert body["labels"][0]["name"] == "born_in"


def test_systems_of_one_name_stand_with_their_teams_in_the_report(
    client: Client, setting: Setting, cast: BenchmarkCast
) -> None:
    lines = [{"id": line["id"], "label": label} for line, label in zip(RELATION_GOLD, LATER, strict=True)]
    cast.submit(setting.benchmark, lines, system="NET", team=cast.lugworm, by=cast.lars)
    work()
    revised(setting, cast)
    page = client.get("/boards/rel/settings/main/versions/2/").content.decode()
    assert "“NET of Lugworm” passed “Net of Kelpie”." in page
    assert ">NET of Lugworm</" in page
    assert ">Net of Kelpie</" in page
    address = "/boards/rel/settings/main/versions/2/moves"
    turned = {"ahead_before": "Net", "ahead_after": "NET", "team_before": "Kelpie", "team_after": "Lugworm"}
    assert turned in client.get(f"{address}.json?table=turned").json()["rows"]
    assert b"NET,Lugworm,2," in client.get(f"{address}.csv?table=systems").content
    client.force_login(cast.kim)
    assert turned in client.get(f"/api/v1{address.replace('boards', 'benchmarks')}").json()["turned"]


def test_a_system_that_a_version_left_out_stands_with_its_team(
    client: Client, setting: Setting, cast: BenchmarkCast
) -> None:
    # the new gold has a sentence that the earlier runs never answered
    gold = freeze("more", [*MENDED, gold_sentence("s7", "Q1", "Q3", "born_in")], by=cast.olga)
    creation.revise_setting(setting, test_set=gold, by=cast.olga)
    work()
    client.force_login(cast.kim)
    body = client.get("/api/v1/benchmarks/rel/settings/main/versions/2/moves").json()
    assert body["left"] == ["Net", "Tree"]
    assert body["left_systems"] == [{"system": name, "team": "Kelpie"} for name in ("Net", "Tree")]


@pytest.mark.parametrize(("late", "named"), [("NET", "Net of Kelpie"), ("Late", "Net")])
def test_a_system_stands_with_its_team_if_one_of_its_name_entered_under_the_new_version(
    client: Client, setting: Setting, cast: BenchmarkCast, late: str, named: str
) -> None:
    revised(setting, cast)
    lines = [{"id": line["id"], "label": label} for line, label in zip(RELATION_GOLD, LATER, strict=True)]
    cast.submit(setting.benchmark, lines, system=late, team=cast.lugworm, by=cast.lars)
    work()
    page = client.get("/boards/rel/settings/main/versions/2/").content.decode()
    assert f"“Tree” passed “{named}”." in page
    assert f">{named}</" in page


def test_a_system_stands_with_its_team_if_its_name_is_that_of_a_team_which_entered_later(
    client: Client, setting: Setting, cast: BenchmarkCast
) -> None:
    cast.kelpie.systems.filter(name="Net").update(name="Net of Lugworm")
    revised(setting, cast)
    lines = [{"id": line["id"], "label": label} for line, label in zip(RELATION_GOLD, LATER, strict=True)]
    cast.submit(setting.benchmark, lines, system="Late", team=cast.lugworm, by=cast.lars)
    work()
    page = client.get("/boards/rel/settings/main/versions/2/").content.decode()
    assert "“Tree” passed “Net of Lugworm of Kelpie”." in page


def test_a_report_while_runs_are_scored_names_its_progress(
    client: Client, setting: Setting, cast: BenchmarkCast
) -> None:
    creation.revise_setting(setting, test_set=freeze("mended", MENDED, by=cast.olga), by=cast.olga)
    page = client.get("/boards/rel/settings/main/versions/2/").content.decode()
    assert "0 of 2 runs scored." in page
    assert "No run has scores under both versions." in page
