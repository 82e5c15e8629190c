"""Near-duplicates show no figures of their own, in whatever form and under whichever setting they come."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.accounts.teams import add_member
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import queue, transitions
from evalsvc.core.jobs.lease import Lease, Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation import shown_scores, submission_states
from evalsvc.evaluation.benchmarks import creation, file_contract, final_entries, scoring_identity, versions
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.compared_runs import compared_runs
from evalsvc.evaluation.comparison import compared as comparisons
from evalsvc.evaluation.disclosure.ledger import Ledger
from evalsvc.evaluation.disclosure.shown_tests import SIMILAR
from evalsvc.evaluation.models import Benchmark, EvaluationClaims, NearDuplicate, Setting, Submission
from tests.cast.benchmarks import LABELS, BenchmarkCast, Line, freeze
from tests.errors import code
from tests.evalsvc.evaluation.disclosure.phase import (
    NEGATIVE,
    gold_labels,
    gold_lines,
    hidden_phase,
    labels_file,
    setting_of,
    wrong,
)
from workers.handlers import near_duplicates, score
from workers.interruption import Stopped
from workers.runner import run_next
from workers.scoring.case import ScoringCase
from workers.scoring.claims import ClaimCodes

pytestmark = pytest.mark.django_db
GOLD = gold_labels(400)
ANSWERS = wrong(GOLD, 0.5)
Labels = Mapping[str, str]
Form = Callable[[Labels, int], list[Line]]


def label(answers: Labels, seed: int) -> list[Line]:
    return labels_file(answers)


def label_sets(answers: Labels, seed: int) -> list[Line]:
    return [{"id": name, "labels": [one] if one != NEGATIVE else []} for name, one in answers.items()]


def scores(answers: Labels, seed: int) -> list[Line]:
    """The answers at the top; all other labels follow far behind, in an order of the seed."""
    drawn = random.Random(seed)
    return [
        {"id": name, "scores": {each: 1.0 if each == one else drawn.random() / 2 for each in LABELS}}
        for name, one in answers.items()
    ]


def triples(answers: Labels, seed: int) -> list[Line]:
    return [
        {"h": f"Q{line['id']}", "t": "T", "relation": each, "score": score}
        for line in scores(answers, seed)
        for each, score in line["scores"].items()
    ]


def changed(answers: Labels, n: int = 1) -> dict[str, str]:
    """The answers with the gold of n items that were wrong."""
    repaired = [name for name in answers if answers[name] != GOLD[name] != NEGATIVE][:n]
    return dict(answers) | {name: GOLD[name] for name in repaired}


def sent(cast: BenchmarkCast, benchmark: Benchmark, lines: list[Line], **fields: Any) -> Submission:
    submission = cast.submit(benchmark, lines, **fields)
    while run_next("score"):
        pass
    submission.refresh_from_db()
    assert submission.state == "scored", submission.reason
    return submission


def figures(client: Client, cast: BenchmarkCast, submission: Submission, **query: Any) -> dict[str, Any]:
    client.force_login(cast.kim)
    reply = client.get(reverse("api-scores", args=[submission.pk]), query).json()
    evaluation: dict[str, Any] = reply["evaluations"][0]
    return evaluation


@pytest.mark.parametrize(
    ("unit", "first", "second"),
    [
        ("sentence", label, scores),
        ("sentence", scores, label),
        ("sentence", scores, scores),
        ("sentence", label_sets, label),
        ("bag", label, triples),
        ("bag", triples, scores),
        ("bag", label_sets, scores),
    ],
)
def test_one_change_in_another_form_shows_the_earlier_figures(
    client: Client, cast: BenchmarkCast, unit: str, first: Form, second: Form
) -> None:
    benchmark = hidden_phase(cast, GOLD, unit=unit)
    before = sent(cast, benchmark, first(ANSWERS, 1), run="1")
    aggregate = "AVG" if unit == "bag" else "ONE"
    after = sent(cast, benchmark, second(changed(ANSWERS), 2), run="2", aggregate=aggregate)
    assert [near.earlier for near in after.near.all()] == [before]
    shown = figures(client, cast, after)
    assert shown["figures_of"] == before.pk
    assert shown["scores"] == figures(client, cast, before)["scores"]


@pytest.mark.parametrize("second", [label, label_sets, scores])
def test_forty_changes_in_another_form_show_figures_of_their_own(cast: BenchmarkCast, second: Form) -> None:
    benchmark = hidden_phase(cast, GOLD)
    sent(cast, benchmark, label(ANSWERS, 1), run="1")
    assert not sent(cast, benchmark, second(changed(ANSWERS, 40), 2), run="2").near.exists()


def test_a_version_limited_to_a_part_compares_files_by_the_part(cast: BenchmarkCast) -> None:
    """Forty changes in the rest hid the one in the part, which then showed figures of its own."""
    benchmark = hidden_phase(cast, GOLD)
    inside, rest = (dict(list(ANSWERS.items())[at : at + 200]) for at in (0, 200))
    part = freeze("part", gold_lines({name: GOLD[name] for name in inside}), by=cast.olga)
    first = sent(cast, benchmark, label(ANSWERS, 1), run="1")
    second = sent(cast, benchmark, label(changed(inside) | changed(rest, 40), 1), run="2")
    assert not second.near.exists()
    setting = setting_of(benchmark)
    creation.revise_setting(setting, test_set=setting.test_set, only=part, by=cast.olga)
    while run_next("score"):
        pass
    assert [(near.earlier, near.only_sha256) for near in second.near.all()] == [(first, part.sha256)]


def test_a_ranking_is_no_near_duplicate_of_a_file_without_labels(cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    sent(cast, benchmark, label(dict.fromkeys(GOLD, NEGATIVE), 1), run="1")
    assert not sent(cast, benchmark, scores(ANSWERS, 2), run="2").near.exists()


def test_abstentions_and_foreign_labels_make_no_other_file(cast: BenchmarkCast) -> None:
    """No figure of entities as text depends on them, so they could be changed for nothing."""
    benchmark = cast.entities()
    Setting.objects.update(disclosure=Setting.Disclosure.HIDDEN)
    foreign = [[f"word {n}", "FOO"] for n in range(60)]
    first = [{"id": f"d{n}", "entities": []} for n in (1, 2, 3)]
    before = sent(cast, benchmark, first, run="1")
    second = [{"id": "d1", "entities": [["Ada", "PER"], *foreign]}, {"id": "d2", "abstain": True}, first[2]]
    after = sent(cast, benchmark, second, run="2")
    assert [(near.earlier, near.claims) for near in after.near.all()] == [(before, 1)]


SPANS = [
    {"id": "d1", "spans": [[0, 1, "PER"], [2, 4, "LOC"]]},
    *({"id": f"d{n}", "spans": []} for n in (2, 3)),
]
TEXTS = [
    {"id": "d1", "entities": [["Ada", "PER"], ["New  Turin", "LOC"]]},
    {"id": "d2", "entities": []},
    {"id": "d3", "entities": [["Bo", "PER"]]},
]
TRIPLES = [{"id": f"d{n}", "triples": []} for n in (1, 2)] + [{"id": "d3", "triples": [["Cy", "met", "Bo"]]}]
LINKED = [
    *({"id": f"d{n}", "spans": [], "relations": []} for n in (1, 2)),
    {
        "id": "d3",
        "spans": [[0, 1, "PER"], [2, 3, "PER"], [1, 2, "PER"]],
        "relations": [[0, "met", 1], [0, "left", 2]],
    },
]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("kind", "files"), [("entities", (SPANS, TEXTS)), ("joint", (LINKED, TRIPLES))])
def test_one_change_is_counted_between_answers_with_and_without_offsets(
    cast: BenchmarkCast, kind: str, files: tuple[list[Line], list[Line]], turned: bool
) -> None:
    benchmark = cast.entities() if kind == "entities" else cast.joint()
    Setting.objects.update(disclosure=Setting.Disclosure.HIDDEN)
    runs = [
        sent(cast, benchmark, lines, run=str(run)) for run, lines in enumerate(files[:: -1 if turned else 1])
    ]
    assert [(near.earlier, near.claims) for near in runs[1].near.all()] == [(runs[0], 1)]


def test_spans_from_before_they_were_kept_as_texts_are_read_again(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    Setting.objects.update(disclosure=Setting.Disclosure.HIDDEN)
    before = sent(cast, benchmark, SPANS, run="1")
    EvaluationClaims.objects.update(texts=None)
    after = sent(cast, benchmark, TEXTS, run="2")
    assert [(near.earlier, near.claims) for near in after.near.all()] == [(before, 1)]


def test_a_repeated_answer_is_no_repeat_of_the_file_under_another_setting(cast: BenchmarkCast) -> None:
    """Where an answer without offsets is found depends on its repeats."""
    benchmark = cast.entities()
    values = {name: getattr(benchmark, name) for name in ("task", "labels")}
    other = cast.benchmark("other", **values)
    setting = setting_of(benchmark)
    fields = {"key": "test", "title": "Other", "unit": "document", "main": setting.main, "by": cast.olga}
    creation.add_setting(other, test_set=setting.test_set, **fields)
    Setting.objects.update(disclosure=Setting.Disclosure.HIDDEN)
    twice = [TEXTS[0] | {"entities": [*TEXTS[0]["entities"], ["Ada", "PER"]]}, *TEXTS[1:]]
    before = sent(cast, benchmark, TEXTS, run="1")
    assert sent(cast, benchmark, twice, run="2").near.get().earlier == before
    assert sent(cast, other, twice, run="1").near.get().earlier == before
    assert not sent(cast, other, TEXTS, run="2").near.exists()


def same_gold(
    cast: BenchmarkCast, benchmark: Benchmark, *, slug: str = "other", labels: Any = LABELS, **fields: Any
) -> Benchmark:
    """Another benchmark on the gold of the first, hidden as well."""
    test_set = setting_of(benchmark).test_set
    values = {"key": "test", "title": "Other", "unit": "sentence", "main": "micro_f1", "phase": "test"}
    other = cast.benchmark(slug, labels=labels)
    creation.add_setting(other, test_set=test_set, by=cast.olga, **values | fields)
    return other


@pytest.mark.parametrize(
    ("second", "labels"), [(label, LABELS), (scores, LABELS), (label, ["extra", *reversed(LABELS)])]
)
def test_one_change_under_another_setting_on_the_gold_shows_no_figure(
    client: Client, cast: BenchmarkCast, second: Form, labels: list[str]
) -> None:
    benchmark = hidden_phase(cast, GOLD)
    other = same_gold(cast, benchmark, labels=labels)
    sent(cast, benchmark, label(ANSWERS, 1))
    after = sent(cast, other, second(changed(ANSWERS), 2))
    shown = figures(client, cast, after)
    assert {score["value"] for score in shown["scores"].values()} == {None}
    assert "under another setting" in shown["scores"]["micro_f1"]["reason"]
    assert (shown["figures_of"], shown["classes"], shown["detail"]["counts"]) == (None, [], {})
    page = client.get(reverse("submission", args=[after.pk])).content.decode()
    assert "teams see no figure of this run" in page
    assert "1 changed prediction" in page or "2 changed predictions" in page
    row = leaderboard.board(setting_of(other), person=cast.kim).rows[0]
    assert row.rank is None
    assert row.figures["micro_f1"].mean is None
    assert "under another setting" in row.figures["micro_f1"].reason
    for address in (
        reverse("submissions"),
        reverse("team", args=["kelpie"]),
        reverse("board", args=["other"]),
    ):
        assert client.get(address).status_code == 200
    exact = leaderboard.board(setting_of(other), person=cast.olga).rows[0]
    assert exact.figures["micro_f1"].mean is not None


def test_the_same_file_under_another_setting_has_figures_of_its_own(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = hidden_phase(cast, GOLD)
    others = [same_gold(cast, benchmark, slug=slug, main="macro_f1") for slug in ("other", "third")]
    sent(cast, benchmark, scores(ANSWERS, 1))
    for other, lines in ((others[0], scores(ANSWERS, 1)), (others[1], label(wrong(GOLD, 0.2), 1))):
        sent(cast, other, lines, run="2")
        again = sent(cast, other, list(reversed(lines)), run="3")
        assert figures(client, cast, again)["scores"]["micro_f1"]["value"] is not None


def test_other_teams_and_other_gold_are_not_compared(cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    other = cast.benchmark("other")
    fields = {"key": "test", "title": "Other", "unit": "sentence", "main": "micro_f1", "by": cast.olga}
    again = freeze(
        "again", [line | {"text": f"{line['text']} Again."} for line in gold_lines(GOLD)], by=cast.olga
    )
    creation.add_setting(other, test_set=again, **fields)
    sent(cast, benchmark, label(ANSWERS, 1))
    rival = sent(cast, benchmark, label(changed(ANSWERS), 1), team=cast.lugworm, by=cast.lars)
    elsewhere = sent(cast, other, label(changed(ANSWERS), 1))
    assert not rival.near.exists()
    assert not elsewhere.near.exists()


def test_files_from_before_a_setting_was_hidden_are_compared(cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD, disclosure="open")
    before = sent(cast, benchmark, label(ANSWERS, 1), run="1")
    assert not EvaluationClaims.objects.exists()
    creation.change_setting(setting_of(benchmark), by=cast.olga, disclosure="hidden")
    after = sent(cast, benchmark, scores(changed(ANSWERS), 2), run="2")
    assert [near.earlier for near in after.near.all()] == [before]


def test_claims_of_earlier_runs_stay_read_when_the_job_is_stopped(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each attempt would begin anew, and never end within its time."""
    benchmark = hidden_phase(cast, GOLD, disclosure="open")
    sent(cast, benchmark, label(ANSWERS, 1), run="1")
    sent(cast, benchmark, label(changed(ANSWERS), 1), run="2")
    creation.change_setting(setting_of(benchmark), by=cast.olga, disclosure="hidden")
    cast.submit(benchmark, label(changed(ANSWERS, 2), 1), run="3")
    compute = score.claim_codes

    def stopped(case: ScoringCase, positives: int) -> ClaimCodes:
        if EvaluationClaims.objects.exists():
            raise Stopped
        return compute(case, positives)

    monkeypatch.setattr(score, "claim_codes", stopped)
    run_next("score")
    assert EvaluationClaims.objects.count() == 1


def test_a_version_with_another_gold_changes_no_verdict_on_the_one_before(
    client: Client, cast: BenchmarkCast
) -> None:
    """The earlier run is withdrawn, so only the near-duplicate is scored again."""
    benchmark = hidden_phase(cast, GOLD)
    before = sent(cast, benchmark, label(ANSWERS, 1), run="1")
    after = sent(cast, benchmark, label(changed(ANSWERS), 1), run="2")
    shown = figures(client, cast, after)["scores"]
    submission_states.withdraw(before, by=cast.kim)
    revised = freeze("revised", gold_lines(GOLD | {"s0": "part_of"}), by=cast.olga)
    creation.revise_setting(setting_of(benchmark), test_set=revised, by=cast.olga)
    while run_next("score"):
        pass
    assert figures(client, cast, after, version=1)["scores"] == shown
    assert figures(client, cast, after)["figures_of"] is None


def test_a_near_duplicate_scored_first_under_another_gold_shows_no_figures_of_its_own(
    client: Client, cast: BenchmarkCast
) -> None:
    """Several workers score in any order; here the job of the earlier run comes last."""
    benchmark = hidden_phase(cast, GOLD)
    before = sent(cast, benchmark, label(ANSWERS, 1), run="1")
    after = sent(cast, benchmark, label(changed(ANSWERS), 1), run="2")
    revised = freeze("revised", gold_lines(GOLD | {"s0": "part_of"}), by=cast.olga)
    creation.revise_setting(setting_of(benchmark), test_set=revised, by=cast.olga)
    Job.objects.filter(kind="score", subject=before.pk).exclude(state__in=Job.ENDED).update(queue="later")
    while run_next("score"):
        pass
    value = {each["value"] for each in figures(client, cast, after, version=2)["scores"].values()}
    assert value == {None}
    Job.objects.filter(queue="later").update(queue="score")
    while run_next("score"):
        pass
    shown = figures(client, cast, after, version=2)
    assert shown["figures_of"] == before.pk
    assert shown["scores"] == figures(client, cast, before, version=2)["scores"]


def padded(n: int, kept: Labels) -> dict[str, str]:
    """The answers with n repaired, and 40 others beyond what is kept."""
    padding = [name for name in GOLD if name not in kept][:40]
    others = [
        [one for one in (*LABELS, NEGATIVE) if one not in (ANSWERS[name], GOLD[name])] for name in padding
    ]
    return changed(ANSWERS, n) | {name: ones[n % 2] for name, ones in zip(padding, others, strict=True)}


@pytest.mark.parametrize("way", ["version", "setting"])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_files_that_differ_in_what_another_gold_leaves_out_are_compared_under_it_in_any_order(
    client: Client, cast: BenchmarkCast, first: int, way: str
) -> None:
    """What a correction will leave out can be foreseen: files were padded with it, and not compared again."""
    benchmark = hidden_phase(cast, GOLD)
    kept = dict(list(GOLD.items())[:340])
    files = [ANSWERS, padded(1, kept), padded(2, kept)]
    runs = [sent(cast, benchmark, label(answers, 1), run=str(n)) for n, answers in enumerate(files)]
    assert [figures(client, cast, run)["figures_of"] for run in runs] == [None] * 3
    other = freeze("other", gold_lines(kept), by=cast.olga)
    if way == "version":
        creation.revise_setting(setting_of(benchmark), test_set=other, by=cast.olga)
    else:
        fields = {"title": "Later", "unit": "sentence", "main": "micro_f1", "phase": "test"}
        creation.add_setting(benchmark, key="later", test_set=other, by=cast.olga, **fields)

    def shown(run: Submission) -> dict[str, Any]:
        visible = shown_scores.shown(run, person=cast.kim)
        (one,) = (each for each in visible if each.gold_sha256 == other.sha256)
        return {"of": one.figures_of, "values": {score.value for score in one.scores}}

    jobs = Job.objects.filter(kind="score").exclude(state__in=Job.ENDED)
    jobs.exclude(subject=runs[first].pk).update(queue="later")
    while run_next("score"):
        pass
    if first:
        assert shown(runs[first])["values"] == {None}
    for run in reversed(runs):
        Job.objects.filter(queue="later", subject=run.pk).update(queue="score")
        while run_next("score"):
            pass
    assert [shown(run)["of"] for run in runs] == [None, runs[0].pk, runs[0].pk]
    assert shown(runs[0])["values"] == shown(runs[1])["values"] == shown(runs[2])["values"] != {None}


@pytest.mark.parametrize("end", [submission_states.cancel, submission_states.withdraw])
def test_a_run_that_waits_for_one_that_is_not_scored_again_is_compared_with_the_others(
    client: Client, cast: BenchmarkCast, end: Callable[..., None]
) -> None:
    benchmark = hidden_phase(cast, GOLD)
    runs = [sent(cast, benchmark, label(wrong(GOLD, share), 1), run=str(share)) for share in (0.5, 0.3)]
    revised = freeze("revised", gold_lines(GOLD | {"s0": "part_of"}), by=cast.olga)
    creation.revise_setting(setting_of(benchmark), test_set=revised, by=cast.olga)
    waiting = Job.objects.filter(kind="score", subject=runs[0].pk).exclude(state__in=Job.ENDED)
    waiting.update(queue="later")
    while run_next("score"):
        pass
    value = {each["value"] for each in figures(client, cast, runs[1], version=2)["scores"].values()}
    assert value == {None}
    runs[0].refresh_from_db()
    end(runs[0], by=cast.olga)
    while run_next("score"):
        pass
    shown = figures(client, cast, runs[1], version=2)
    assert shown["figures_of"] is None
    assert None not in {each["value"] for each in shown["scores"].values()}


def test_a_system_with_runs_like_those_of_another_one_is_not_tested(
    client: Client, cast: BenchmarkCast
) -> None:
    """Which of its runs show figures can be the choice of a team that knows them from the other ones."""
    benchmark = hidden_phase(cast, GOLD)
    answers = [wrong(GOLD, share, seed=at) for at, share in enumerate((0.5, 0.3, 0.35))]
    like = answers[0] | {"s1": "part_of" if answers[0]["s1"] != "part_of" else "N/A"}
    sent(cast, benchmark, label(answers[0], 1), system="Other")
    for at, each in enumerate((answers[1], answers[2])):
        sent(cast, benchmark, label(each, 1), system="Net", run=str(at))
    rows = {row.system.name: row for row in leaderboard.board(setting_of(benchmark)).rows}
    assert not rows["Net"].is_selection
    sent(cast, benchmark, label(like, 1), system="Net", run="like")
    rows = {row.system.name: row for row in leaderboard.board(setting_of(benchmark)).rows}
    assert [(row.n, row.runs.similar, row.is_selection) for row in rows.values()] == [
        (2, 1, True),
        (1, 0, False),
    ]
    setting = setting_of(benchmark)
    comparison = comparisons.requested(setting, ["kelpie/Net", "kelpie/Other"], person=None)
    test = comparison.untested(setting.main, 0, 1)
    assert test is not None
    assert test.reason == SIMILAR
    page = client.get(reverse("system", args=["hid", rows["Net"].system.pk])).content.decode()
    assert "figures of 1 further run withheld; no test is made of the others" in page
    submission_states.withdraw(Submission.objects.get(run="like"), by=cast.kim)
    [net, _] = leaderboard.board(setting_of(benchmark)).rows
    assert (net.runs.withdrawn, net.is_selection) == (1, True)


@pytest.mark.parametrize(("system", "count"), [("Net", 0), ("Like", 1)])
def test_a_run_without_figures_of_its_own_counts_as_withdrawn_if_it_resembles_another_system(
    cast: BenchmarkCast, system: str, count: int
) -> None:
    """The same at once, under a second setting on the gold, under a new version, and after closing."""
    benchmark = hidden_phase(cast, GOLD)
    answers = [wrong(GOLD, share, seed=at) for at, share in enumerate((0.5, 0.3))]
    like = answers[0] | {"s1": "part_of" if answers[0]["s1"] != "part_of" else "N/A"}
    sent(cast, benchmark, label(answers[0], 1), system="Net")
    sent(cast, benchmark, label(answers[1], 1), system=system, run="other")
    withdrawn = sent(cast, benchmark, label(like, 1), system=system, run="like")
    submission_states.withdraw(Submission.objects.get(pk=withdrawn.pk), by=cast.kim)

    def counts() -> list[int]:
        return [
            row.runs.withdrawn
            for setting in benchmark.settings.all()
            for row in leaderboard.board(setting).rows
            if row.system.name == system
        ]

    assert counts() == [count]
    setting = setting_of(benchmark)
    end = timezone.now() + timedelta(hours=1)
    fields = {"unit": "sentence", "main": setting.main, "closes_at": end, "by": cast.olga}
    creation.change_setting(setting, closes_at=end, by=cast.olga)
    creation.add_setting(benchmark, key="second", title="Second", test_set=setting.test_set, **fields)
    while run_next("score"):
        pass
    assert counts() == [count, count]
    revised = freeze("revised", gold_lines(GOLD | {"s0": "part_of"}), by=cast.olga)
    creation.revise_setting(setting, test_set=revised, by=cast.olga)
    while run_next("score"):
        pass
    assert counts() == [count, count]
    benchmark.settings.update(closes_at=timezone.now() - timedelta(hours=1))
    assert counts() == [count, count]


def test_runs_withdrawn_without_figures_for_a_quota_do_not_count_once_gold_is_open(
    cast: BenchmarkCast,
) -> None:
    benchmark, fields = cast.benchmark("open"), {"unit": "sentence", "main": "accuracy", "by": cast.olga}
    dev = freeze("dev", gold_lines(wrong(GOLD, 1)), by=cast.olga)  # no line of it is one of the other gold
    gold = freeze("gold", gold_lines(GOLD), by=cast.olga)
    creation.add_setting(benchmark, key="dev", title="Dev", test_set=dev, disclosure="open", **fields)
    runs = [sent(cast, benchmark, label(wrong(GOLD, 0.3, seed=seed), 1), run=str(seed)) for seed in range(3)]
    Benchmark.objects.update(in_total=2)
    benchmark.refresh_from_db()
    hidden = creation.add_setting(benchmark, key="hid", title="Hidden", test_set=gold, **fields)
    while run_next("score"):
        pass
    for at, count in ((2, 0), (1, 1)):  # the first shows none
        submission_states.withdraw(Submission.objects.get(pk=runs[at].pk), by=cast.kim)
        for closes_at in (timezone.now(), None):
            Setting.objects.filter(pk=hidden.pk).update(closes_at=closes_at)
            [row] = leaderboard.board(Setting.objects.get(pk=hidden.pk)).rows
            assert row.runs.withdrawn == count


@pytest.mark.parametrize("kept", ["first", "like"])
def test_of_two_runs_with_the_figures_of_one_that_one_counts_as_withdrawn(
    cast: BenchmarkCast, kept: str
) -> None:
    benchmark = hidden_phase(cast, GOLD)
    first = wrong(GOLD, 0.5)
    like = first | {"s1": "part_of" if first["s1"] != "part_of" else "N/A"}
    for run, each in (("first", first), ("like", like)):
        sent(cast, benchmark, label(each, 1), system="Net", run=run)
    submission_states.withdraw(Submission.objects.exclude(run=kept).get(), by=cast.kim)
    for closes_at in (None, timezone.now()):
        benchmark.settings.update(closes_at=closes_at)
        [row] = leaderboard.board(setting_of(benchmark)).rows
        assert row.runs.withdrawn == (kept == "like")


@pytest.mark.parametrize("whole", [False, True])
def test_runs_like_withdrawn_ones_of_another_system_show_no_figures_under_a_new_version_either(
    client: Client, cast: BenchmarkCast, whole: bool
) -> None:
    """A team would withdraw its best runs, and be tested by copies of them without the others."""
    benchmark = hidden_phase(cast, GOLD)
    answers = [wrong(GOLD, share) for share in (0.3, 0.5)]
    first = [
        sent(cast, benchmark, label(each, 1), system="Net", run=str(at)) for at, each in enumerate(answers)
    ]
    like = [each | {"s1": "part_of" if each["s1"] != "part_of" else "N/A"} for each in answers]
    copies = [
        sent(cast, benchmark, label(each, 1), system="Copy", run=str(at)) for at, each in enumerate(like)
    ]
    for run in first if whole else first[:1]:
        submission_states.withdraw(Submission.objects.get(pk=run.pk), by=cast.kim)
    for number, name in enumerate(("s0", "s2"), 2):
        revised = freeze(name, gold_lines(GOLD | {name: "part_of"}), by=cast.olga)
        creation.revise_setting(setting_of(benchmark), test_set=revised, by=cast.olga)
        while run_next("score"):
            pass
        shown = figures(client, cast, copies[0], version=number)["scores"]
        assert {each["value"] for each in shown.values()} == {None}
        [row] = [each for each in leaderboard.board(setting_of(benchmark)).rows if each.system.name == "Copy"]
        assert (row.n, row.runs.withheld) == (0, 2)


def revised(cast: BenchmarkCast, benchmark: Benchmark, *, later: Submission) -> Job:
    """Give the setting another gold; score all runs again but one, whose job is returned."""
    gold = freeze("revised", gold_lines(GOLD | {"s0": "part_of"}), by=cast.olga)
    creation.revise_setting(setting_of(benchmark), test_set=gold, by=cast.olga)
    jobs = Job.objects.filter(kind="score", subject=later.pk).exclude(state__in=Job.ENDED)
    jobs.update(queue="later")
    while run_next("score"):
        pass
    return jobs.get()


def test_a_run_that_waits_for_an_earlier_one_says_so_and_not_that_it_resembles_it(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = hidden_phase(cast, GOLD)
    before, after = (sent(cast, benchmark, label(wrong(GOLD, at), 1), run=str(at)) for at in (0.5, 0.3))
    revised(cast, benchmark, later=before)
    (reason,) = {one["reason"] for one in figures(client, cast, after, version=2)["scores"].values()}
    assert reason.endswith("an earlier run of the team is being scored again, and the two are compared first")
    page = client.get(reverse("submission", args=[after.pk])).content.decode()
    assert f"waits for run {before.run} of {before.system}" in page
    assert "hardly differs" not in page


def test_a_near_duplicate_of_a_run_that_cannot_be_scored_again_has_figures_of_its_own(
    client: Client, cast: BenchmarkCast
) -> None:
    """Else it waited for ever; a run scored after all shows the figures of those scored before it."""
    benchmark = hidden_phase(cast, GOLD)
    before = sent(cast, benchmark, label(ANSWERS, 1), run="1")
    after = sent(cast, benchmark, label(changed(ANSWERS), 1), run="2")
    job = revised(cast, benchmark, later=before)
    assert {one["value"] for one in figures(client, cast, after, version=2)["scores"].values()} == {None}
    claimed = queue.claim("later")
    assert claimed == job
    transitions.fail(claimed, code="worker_lost", reason="The worker process ended.")
    while run_next("score"):
        pass
    own = figures(client, cast, after, version=2)
    assert own["figures_of"] is None
    assert None not in {one["value"] for one in own["scores"].values()}
    before.refresh_from_db()
    submission_states.retry(before, by=cast.kim)
    Job.objects.filter(queue="later").update(queue="score")
    while run_next("score"):
        pass
    late = figures(client, cast, before, version=2)
    assert (late["figures_of"], late["scores"]) == (after.pk, own["scores"])


def test_a_new_file_waits_for_the_runs_that_are_scored_again(client: Client, cast: BenchmarkCast) -> None:
    benchmark = hidden_phase(cast, GOLD)
    before = sent(cast, benchmark, label(ANSWERS, 1), run="1")
    job = revised(cast, benchmark, later=before)
    after = sent(cast, benchmark, label(changed(ANSWERS), 1), run="2")
    assert {one["value"] for one in figures(client, cast, after)["scores"].values()} == {None}
    Job.objects.filter(pk=job.pk).update(queue="score")
    while run_next("score"):
        pass
    shown = figures(client, cast, after)
    assert (shown["figures_of"], shown["scores"]) == (before.pk, figures(client, cast, before)["scores"])


@pytest.mark.parametrize("comes", ["setting", "version"])
def test_a_run_that_is_queued_again_as_soon_as_it_is_scored_counts_as_scored(
    cast: BenchmarkCast, comes: str
) -> None:
    """A setting or version comes while it is scored: its figures show, its team could cancel it by them."""
    benchmark = hidden_phase(cast, GOLD)
    setting = setting_of(benchmark)
    first = cast.submit(benchmark, label(ANSWERS, 1), run="1")
    job = queue.claim("score")
    assert job is not None
    with Lease(job) as lease:
        store = score.score(first.pk, Progress(lease))
    more = {"key": "more", "title": "More", "unit": "sentence", "main": "micro_f1", "disclosure": "hidden"}
    if comes == "setting":
        creation.add_setting(benchmark, test_set=setting.test_set, by=cast.olga, **more)
    else:
        other = freeze("other", gold_lines(GOLD | {"s0": NEGATIVE, "s1": NEGATIVE}), by=cast.olga)
        creation.revise_setting(setting, test_set=other, by=cast.olga)
    transitions.complete(job, store)
    first.refresh_from_db()
    assert (first.state, first.evaluations.count()) == ("queued", 1)
    assert [team.files for team in Ledger(setting).teams] == [1]
    with pytest.raises(Conflict, check=code("has_scores")):
        submission_states.cancel(first, by=cast.kim)
    with_scores = first.scored_at
    later = sent(cast, benchmark, label(changed(ANSWERS), 2), run="2")
    first.refresh_from_db()
    assert (first.state, first.scored_at) == ("scored", with_scores)
    assert {near.earlier for near in later.near.all()} == {first}
    assert later.near.count() == later.evaluations.count() == (2 if comes == "setting" else 1)


def test_which_files_are_near_does_not_depend_on_the_exact_number_of_gold_labels(cast: BenchmarkCast) -> None:
    labelled = [name for name, one in GOLD.items() if one != NEGATIVE]
    setting = setting_of(hidden_phase(cast, GOLD))
    compared = set()
    for n in (201, 249, 250):
        gold = {name: one if name in labelled[:n] else NEGATIVE for name, one in GOLD.items()}
        creation.revise_setting(
            setting, test_set=freeze(f"labels-{n}", gold_lines(gold), by=cast.olga), by=cast.olga
        )
        setting = Setting.objects.get()
        compared.add(near_duplicates.positives_if_hidden(setting))
    assert compared == {250}


def test_a_new_scorer_compares_no_run_again(cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch) -> None:
    benchmark = hidden_phase(cast, GOLD)
    sent(cast, benchmark, label(ANSWERS, 1), run="1")
    after = sent(cast, benchmark, label(changed(ANSWERS), 1), run="2")
    verdict = list(after.near.values())
    Submission.objects.filter(run="1").update(withdrawn_at=after.scored_at)
    monkeypatch.setattr(scoring_identity, "SCORER", "9.9")
    versions.keep_up(file_contract.newest_versions(benchmark))
    while run_next("score"):
        pass
    assert after.evaluations.count() == 2
    assert list(after.near.values()) == verdict
    assert Setting.objects.get().version == 2


def test_runs_that_show_the_figures_of_another_system_count_for_nothing(cast: BenchmarkCast) -> None:
    """Under another name a system had any number of runs without a deviation."""
    benchmark = hidden_phase(cast, GOLD)
    first = sent(cast, benchmark, label(ANSWERS, 1), system="First")
    for n in (1, 2, 3):
        sent(cast, benchmark, label(changed(ANSWERS, n), 1), system="Again", run=str(n))
    board = leaderboard.board(setting_of(benchmark))
    assert [len(of) for of in compared_runs(board, [row.system.pk for row in board.rows]).values()] == [1, 0]
    submission_states.withdraw(first, by=cast.kim)
    (again,) = (row.figures["micro_f1"] for row in leaderboard.board(setting_of(benchmark)).rows)
    assert (again.n, again.sd, again.mean) == (0, None, None)


@pytest.mark.parametrize("in_total", [2, 3])
def test_runs_sent_before_a_hidden_setting_show_figures_up_to_its_quota(
    client: Client, cast: BenchmarkCast, in_total: int
) -> None:
    """An open setting takes files without limit; each would ask the hidden gold a question."""
    benchmark = cast.benchmark("open")
    labels = {"source": wrong(GOLD, 0.4), "gold": GOLD}
    sources, gold = (freeze(name, gold_lines(of), by=cast.olga) for name, of in labels.items())
    fields = {"unit": "sentence", "main": "accuracy", "by": cast.olga}
    creation.add_setting(benchmark, key="open", title="Open", test_set=sources, disclosure="open", **fields)
    runs = [sent(cast, benchmark, label(wrong(GOLD, 0.3, seed=seed), 1), run=str(seed)) for seed in range(4)]
    Benchmark.objects.update(in_total=in_total)
    benchmark.refresh_from_db()
    hidden = creation.add_setting(benchmark, key="hid", title="Hidden", test_set=gold, **fields)
    while run_next("score"):
        pass
    shown = []
    for run in runs:
        client.force_login(cast.kim)
        evaluations = client.get(reverse("api-scores", args=[run.pk])).json()["evaluations"]
        (own,) = (each for each in evaluations if each["setting"] == "hid")
        shown.append(own["scores"]["accuracy"]["value"] is not None)
    assert shown == [True] * in_total + [False] * (4 - in_total)
    assert "quota allows" in client.get(reverse("submission", args=[runs[-1].pk])).content.decode()
    row = leaderboard.board(hidden, person=cast.kim).rows[0]
    assert (row.figures["accuracy"].n, row.n, row.runs.withheld) == (in_total, in_total, 4 - in_total)
    page = client.get(reverse("board", args=[benchmark.slug]), {"setting": "hid"}).content.decode()
    assert f"{counted(4 - in_total, 'further run')} withheld" in " ".join(page.split())


def test_a_row_of_one_run_shows_one_with_figures_unless_the_team_chose_a_withheld_one(
    cast: BenchmarkCast,
) -> None:
    """Later runs than the quota have no figures; the row and rank of their team would have none, either."""
    benchmark, fields = cast.benchmark("open"), {"unit": "sentence", "main": "accuracy", "by": cast.olga}
    sources, gold = (
        freeze(name, gold_lines(of), by=cast.olga)
        for name, of in {"source": wrong(GOLD, 0.4), "gold": GOLD}.items()
    )
    creation.add_setting(benchmark, key="open", title="Open", test_set=sources, disclosure="open", **fields)
    for seed, system in enumerate(("First", "First", "Second")):
        run = sent(cast, benchmark, label(wrong(GOLD, 0.3, seed=seed), 1), run=str(seed), system=system)
    Benchmark.objects.update(in_total=1)
    benchmark.refresh_from_db()
    closes = timezone.now() + timedelta(days=1)
    hidden = creation.add_setting(
        benchmark, key="hid", title="Hidden", test_set=gold, row_rule="entry", closes_at=closes, **fields
    )
    while run_next("score"):
        pass

    def shown() -> dict[str, tuple[str, int | None, bool]]:
        board = leaderboard.board(hidden, person=cast.kim)
        return {row.system.name: (row.runs.chosen, row.rank, row.runs.entered) for row in board.rows}

    assert shown() == {"First": ("0", 1, True), "Second": ("2", None, False)}
    final_entries.choose(run, by=cast.kim)
    assert shown() == {"First": ("0", None, False), "Second": ("2", None, True)}


@pytest.mark.parametrize("change", ["quota", "member"])
def test_runs_that_showed_figures_keep_their_place_under_a_new_version(
    cast: BenchmarkCast, change: str
) -> None:
    """A version with one item less has a lower quota: a team that had used its own lost all figures."""
    benchmark = hidden_phase(cast, GOLD, default_quotas=False)
    Benchmark.objects.update(in_total=2)
    of_other = sent(cast, benchmark, label(wrong(GOLD, 0.4), 1), by=cast.lars, team=cast.lugworm)
    benchmark.refresh_from_db()
    runs = [sent(cast, benchmark, label(wrong(GOLD, 0.3, seed=seed), 1), run=str(seed)) for seed in range(2)]
    if change == "quota":
        Benchmark.objects.update(in_total=1)
    else:
        add_member(cast.kelpie, user=cast.lars, by=cast.kim)
    mended = freeze("mended", gold_lines(GOLD | {"s1": NEGATIVE}), by=cast.olga)
    creation.revise_setting(setting_of(benchmark), test_set=mended, by=cast.olga)
    while run_next("score"):
        pass
    withheld = NearDuplicate.objects.filter(gold_sha256=mended.sha256).values_list("submission", flat=True)
    assert list(withheld) == ([runs[1].pk] if change == "quota" else [])
    assert of_other.evaluations.count() == 2


def test_runs_sent_for_a_second_team_while_gold_was_open_show_no_figures_under_a_new_hidden_one(
    cast: BenchmarkCast,
) -> None:
    """One person saw the figures of two teams there."""
    benchmark = hidden_phase(cast, GOLD, disclosure="open")
    add_member(cast.lugworm, user=cast.kim, by=cast.lars)
    sent(cast, benchmark, label(wrong(GOLD, 0.4), 1))
    second = sent(cast, benchmark, label(wrong(GOLD, 0.3), 1), team=cast.lugworm)
    Setting.objects.update(disclosure="hidden")
    revised = freeze("revised", gold_lines(wrong(GOLD, 0.2)), by=cast.olga)
    creation.revise_setting(setting_of(benchmark), test_set=revised, by=cast.olga)
    while run_next("score"):
        pass
    withheld = NearDuplicate.objects.filter(gold_sha256=revised.sha256).values_list("submission", flat=True)
    assert list(withheld) == [second.pk]


@pytest.mark.parametrize("ended", ["withdrawn", "cancelled"])
def test_runs_that_are_not_scored_again_keep_their_place_in_the_quota_of_a_new_version(
    cast: BenchmarkCast, ended: str
) -> None:
    """Each version would else show the figures of as many further runs."""
    benchmark, fields = cast.benchmark("open"), {"unit": "sentence", "main": "accuracy", "by": cast.olga}
    golds = {"source": wrong(GOLD, 0.4), "one": GOLD, "two": GOLD | {"s1": NEGATIVE}}
    sources, one, two = (freeze(name, gold_lines(of), by=cast.olga) for name, of in golds.items())
    creation.add_setting(benchmark, key="open", title="Open", test_set=sources, disclosure="open", **fields)
    runs = [sent(cast, benchmark, label(wrong(GOLD, 0.3, seed=seed), 1), run=str(seed)) for seed in range(3)]
    Benchmark.objects.update(in_total=1)
    benchmark.refresh_from_db()
    hidden = creation.add_setting(benchmark, key="hid", title="Hidden", test_set=one, **fields)
    while run_next("score"):
        pass
    if ended == "withdrawn":
        submission_states.withdraw(runs[0], by=cast.kim)
    creation.revise_setting(hidden, test_set=two, by=cast.olga)
    if ended == "cancelled":
        runs[0].refresh_from_db()
        submission_states.cancel(runs[0], by=cast.olga)
    while run_next("score"):
        pass
    without = NearDuplicate.objects.filter(setting=hidden, gold_sha256=two.sha256, earlier=None)
    assert set(without.values_list("submission", flat=True)) == {run.pk for run in runs[1:]}


def test_of_runs_that_a_person_sent_for_two_teams_before_a_hidden_setting_one_team_has_figures(
    cast: BenchmarkCast,
) -> None:
    benchmark, fields = cast.benchmark("open"), {"unit": "sentence", "main": "accuracy", "by": cast.olga}
    add_member(cast.lugworm, user=cast.kim, by=cast.lars)
    for key, gold in (("source", wrong(GOLD, 0.4)), ("hid", GOLD)):
        test_set = freeze(key, gold_lines(gold), by=cast.olga)
        disclosure = "open" if key == "source" else "hidden"
        creation.add_setting(
            benchmark, key=key, title=key, test_set=test_set, disclosure=disclosure, **fields
        )
        if key == "source":
            for team in (cast.kelpie, cast.lugworm):
                sent(cast, benchmark, label(wrong(GOLD, 0.3, seed=team.pk), 1), team=team, by=cast.kim)
            own = {"team": cast.lugworm, "by": cast.lars, "system": "Own"}
            sent(cast, benchmark, label(wrong(GOLD, 0.3, seed=99), 1), **own)
    while run_next("score"):
        pass
    rows = leaderboard.board(benchmark.settings.get(key="hid"), person=cast.kim).rows
    shown = {
        (row.system.team_id, row.system.name) for row in rows if row.figures["accuracy"].mean is not None
    }
    assert len(rows) == 3
    assert shown == {
        (cast.kelpie.pk, "Net"),
        (cast.lugworm.pk, "Own"),
    }  # of her first run, and of the other member
