"""Measures that members compose and organisers admit."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.evaluation.benchmarks import contributed, creation
from evalsvc.evaluation.models import Benchmark, ContributedMeasure, Score, Submission
from evalsvc.evaluation.submissions.timeline import timeline
from tests.cast.benchmarks import BenchmarkCast, Line
from tests.errors import code
from workers.runner import run_next

pytestmark = pytest.mark.django_db
SPANS: list[Line] = [
    {"id": "d1", "spans": [[0, 1, "PER"], [2, 3, "LOC"]]},
    {"id": "d2", "spans": []},
    {"id": "d3", "spans": [[0, 1, "PER"]]},
]
TEXTS: list[Line] = [
    {"id": "d1", "entities": [["Ada", "PER"]]},
    {"id": "d2", "abstain": True},
    {"id": "d3", "entities": []},
]
GAMMAS = {"classes": {"PER": 3, "LOC": 1}, "combined": 0}
WORDS = {"base": "wrf", "gamma": "custom", "gammas": GAMMAS}


def propose(cast: BenchmarkCast, benchmark: Benchmark, **fields: Any) -> ContributedMeasure:
    fields = {"name": "person_words", "title": "Person WRF", "composition": WORDS, "by": cast.kim} | fields
    return contributed.propose(benchmark, **fields)


def score_all() -> None:
    while run_next("score"):
        pass


def board(client: Client, benchmark: Benchmark, **query: Any) -> dict[str, Any]:
    address = reverse("board-json", args=[benchmark.slug])
    found: dict[str, Any] = client.get(address, query).json()
    return found


def test_an_admitted_measure_scores_every_stored_run_and_joins_the_board(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.entities()
    runs = [cast.submit(benchmark, SPANS), cast.submit(benchmark, TEXTS, system="Generator")]
    score_all()
    before = list(Score.objects.order_by("pk").values_list("pk", "measure", "value"))
    measure = propose(cast, benchmark)
    assert not run_next("score")  # nothing happens before organisers decide
    contributed.decide(measure, admit=True, by=cast.olga)
    assert contributed.progress(benchmark, [measure])[measure.pk] == contributed.Progress(0, 2)
    assert run_next("score")
    assert contributed.progress(benchmark, [measure])[measure.pk] == contributed.Progress(1, 2)
    benchmark.refresh_from_db()
    client.force_login(cast.kim)
    assert benchmark.contributed == []  # boards show it once all have it
    assert measure.key not in board(client, benchmark)["titles"]
    score_all()
    benchmark.refresh_from_db()
    assert [each["key"] for each in benchmark.contributed] == ["own_person_words_v1"]
    for run in runs:
        run.refresh_from_db()
        assert run.state == Submission.State.SCORED
    # Ada and Bo of three words, none wrong: R1-F1 of PER .8; New of New Turin: 2/3
    values = dict(Score.objects.filter(measure=measure.key).values_list("evaluation__submissions", "value"))
    assert values[runs[0].pk] == pytest.approx(0.75 * 0.8 + 0.25 * 2 / 3)
    assert values[runs[1].pk] == pytest.approx(0.75 * 0.5)
    assert (
        list(Score.objects.exclude(measure=measure.key).order_by("pk").values_list("pk", "measure", "value"))
        == before
    )
    shown = board(client, benchmark, order=measure.key)
    assert shown["order_by"] == measure.key
    page = client.get(reverse("board", args=[benchmark.slug]), {"order": measure.key}).content.decode()
    assert "Person WRF" in page
    page = client.get(reverse("submission", args=[runs[0].pk])).content.decode()
    assert "Person WRF" in page


def test_the_timeline_has_one_step_for_each_scoring_again_with_its_cause(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    run = cast.submit(benchmark, SPANS)
    score_all()
    for number, title in enumerate(("Uno", "Due", "Tre", "Quattro")):
        measure = propose(cast, benchmark, name=f"m{number}", title=title)
        contributed.decide(measure, admit=True, by=cast.olga)
        waiting = timeline(Submission.objects.get())[-1]
        assert (waiting.title, waiting.detail) == ("Being scored again", f"measure “{title}”")
        score_all()
    steps = [(step.title, step.detail, step.kind) for step in timeline(Submission.objects.get(pk=run.pk))]
    assert steps[4:] == [
        ("Attempt 1 scored", "", "good"),
        ("Scored again 2 times", "measure “Uno”; measure “Due”", ""),
        ("Scored again", "measure “Tre”", "good"),
        ("Scored again", "measure “Quattro”", "good"),
    ]


def test_no_contributed_measure_has_the_name_of_another(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    alike = ("Micro F1", "Micro  F1", "micro F₁", "Micro-F1", "micro F1.")
    for named in (*({"title": title} for title in alike), {"name": "micro_f1"}):
        with pytest.raises(DomainError, match="The menu has a measure"):
            propose(cast, benchmark, **named)


def test_a_new_run_is_scored_under_it_at_once(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    measure = propose(cast, benchmark, composition={"base": "conll", "beta": 2, "labels": ["PER"]})
    contributed.decide(measure, admit=True, by=cast.olga)
    measure.refresh_from_db()
    assert measure.complete  # no run was waiting
    submission = cast.submit(benchmark, SPANS)
    score_all()
    score = submission.evaluations.get().scores.get(measure=measure.key)
    assert score.value == pytest.approx(5 * 2 / (5 * 2 + 4 * 1))


def test_the_next_version_replaces_the_last_one_once_it_is_complete(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    cast.submit(benchmark, SPANS)
    score_all()
    for version, gamma in ((1, "strict"), (2, "lenient")):
        measure = propose(cast, benchmark, composition={"base": "wrf", "gamma": gamma})
        assert measure.version == version
        contributed.decide(measure, admit=True, by=cast.olga)
        benchmark.refresh_from_db()
        assert [each["key"] for each in benchmark.contributed] == ["own_person_words_v1"][: version - 1]
        score_all()
    benchmark.refresh_from_db()
    assert [each["key"] for each in benchmark.contributed] == ["own_person_words_v2"]


def test_a_form_without_the_base_has_a_dash_and_its_reason(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    submission = cast.submit(benchmark, SPANS)
    score_all()
    measure = propose(cast, benchmark, composition={"base": "entity_texts"})
    contributed.decide(measure, admit=True, by=cast.olga)
    score_all()
    score = submission.evaluations.get().scores.get(measure=measure.key)
    assert (score.value, score.reason) == (None, "this form of predictions has no such figures")


def test_only_organisers_decide_and_once(cast: BenchmarkCast) -> None:
    measure = propose(cast, cast.entities())
    with pytest.raises(NotAllowed):
        contributed.decide(measure, admit=True, by=cast.kim)
    contributed.decide(measure, admit=False, by=cast.olga)
    assert measure.state == "declined"
    with pytest.raises(Conflict, check=code("decided")):
        contributed.decide(measure, admit=True, by=cast.olga)


def test_the_same_measure_is_not_proposed_twice(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    propose(cast, benchmark)
    with pytest.raises(Conflict, check=code("no_change")):
        propose(cast, benchmark)


@pytest.mark.parametrize("composition", [{"base": "classification"}, {"base": "conll", "labels": ["ORG"]}])
def test_a_measure_fits_the_task_and_the_labels(cast: BenchmarkCast, composition: Any) -> None:
    with pytest.raises(DomainError, check=code("bad_composition")):
        propose(cast, cast.entities(), composition=composition)


@pytest.mark.parametrize("chosen", [False, True])
def test_contributed_measures_are_held_back_while_the_gold_is_hidden(
    client: Client, cast: BenchmarkCast, chosen: bool
) -> None:
    """Also if a setting names one: what a gold label moves it by is not known."""
    benchmark = cast.entities()
    setting = benchmark.settings.get()
    setting.disclosure = "hidden"
    setting.save()
    submission = cast.submit(benchmark, SPANS)
    score_all()
    measure = propose(cast, benchmark)
    contributed.decide(measure, admit=True, by=cast.olga)
    score_all()
    if chosen:
        benchmark.settings.update(measures=[measure.key])
    client.force_login(cast.kim)
    scores = client.get(reverse("api-scores", args=[submission.pk])).json()["evaluations"][0]
    assert submission.evaluations.get().scores.filter(measure=measure.key).exists()
    for answer in (scores, board(client, benchmark)):
        assert measure.key not in keys_in(answer)


def keys_in(answer: Any) -> set[str]:
    """Keys of all objects of an answer."""
    inner = [*answer.values()] if isinstance(answer, dict) else answer if isinstance(answer, list) else []
    return {*(answer if isinstance(answer, dict) else ())}.union(*map(keys_in, inner))


def test_a_member_composes_a_measure_on_the_page_and_an_organiser_admits_it(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.entities()
    cast.submit(benchmark, SPANS)
    score_all()
    address = reverse("board-measures", args=[benchmark.slug])
    client.force_login(cast.kim)
    sent = {"title": "Own WRF", "name": "own", "figure": "f1", "over": "pooled", "gamma": "custom"}
    sent |= {"gammas": "PER = 3\nLOC = 1\n* = 0", "scheme": ""}
    page = client.post(address, sent | {"action": "words-show"}).content.decode()
    assert "PER 0.75, LOC 0.25, all types together 0" in page
    assert not benchmark.measures.exists()
    rejected = client.post(address, sent | {"action": "words", "gammas": "PER"})
    assert (rejected.status_code, "has no number" in rejected.content.decode()) == (400, True)
    rejected = client.post(address, sent | {"action": "words", "gammas": "PER = 1\nLOC = 1\nPER = 2"})
    assert (rejected.status_code, "PER has two numbers" in rejected.content.decode()) == (400, True)
    rejected = client.post(address, sent | {"action": "words", "gammas": "PER = 1\n* = 1"})
    assert (rejected.status_code, "lack LOC" in rejected.content.decode()) == (400, True)
    assert client.post(address, sent | {"action": "words"}).status_code == 302
    measure = benchmark.measures.get()
    assert measure.composition["gammas"] == {"classes": {"PER": 3.0, "LOC": 1.0}, "combined": 0.0}
    assert client.post(address, {"admit": measure.pk}).status_code == 403
    client.force_login(cast.olga)
    assert client.post(address, {"admit": measure.pk}).status_code == 302
    assert "0 of 1 scored" in client.get(address).content.decode()
    score_all()
    assert "Admitted" in client.get(address).content.decode()


def test_a_form_of_counts_states_classes_weights_and_beta(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    client.force_login(cast.kim)
    sent = {"action": "counts", "title": "Own F", "name": "own", "figure": "f1", "base": "conll"}
    sent |= {"scheme": "custom", "beta": "0.5", "labels": "PER", "weights": "PER = 2"}
    assert client.post(reverse("board-measures", args=[benchmark.slug]), sent).status_code == 302
    assert benchmark.measures.get().formula == (
        "Σ wᵢ·F0.5ᵢ with w = PER 1; F0.5 = 1.25·tp / (1.25·tp + 0.25·fn + fp)"
    )


def test_the_page_takes_as_many_queries_for_many_measures(
    client: Client, cast: BenchmarkCast, django_assert_max_num_queries: Any
) -> None:
    benchmark = cast.entities()
    for at in range(4):
        measure = propose(cast, benchmark, name=f"m{at}")
        contributed.decide(measure, admit=True, by=cast.olga)
    client.force_login(cast.kim)
    with django_assert_max_num_queries(12):
        client.get(reverse("board-measures", args=[benchmark.slug]))


def test_one_person_does_not_keep_others_from_proposing(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    waiting = [propose(cast, benchmark, name=f"m{at}") for at in range(contributed.MOST_OF_ONE)]
    with pytest.raises(Conflict, check=code("too_many_measures")):
        propose(cast, benchmark, name="m5")
    propose(cast, benchmark, name="other", by=cast.lars)
    contributed.decide(waiting[0], admit=False, by=cast.olga)
    propose(cast, benchmark, name="m5")


def test_who_proposed_a_measure_is_told_to_organisers_and_to_themselves(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.entities()
    propose(cast, benchmark)
    seen = {}
    for who, user in (("kim", cast.kim), ("lars", cast.lars), ("olga", cast.olga)):
        client.force_login(user)
        (measure,) = client.get(reverse("api-benchmark-measures", args=[benchmark.slug])).json()
        page = client.get(reverse("board-measures", args=[benchmark.slug])).content.decode()
        seen[who] = (measure["by"], cast.kim.shown_name in page.partition("</nav>")[2])
    name = cast.kim.shown_name
    assert seen["lars"] == (None, False)
    assert seen["olga"] == (name, True)
    assert seen["kim"][0] == name


# ---- main measures and retired ones --------------------------------------------------------------
def admitted(cast: BenchmarkCast, **fields: Any) -> ContributedMeasure:
    """A measure that every run of two systems is scored under."""
    benchmark = cast.entities()
    for system, lines in (("Net", SPANS), ("Tree", [*SPANS[:2], {"id": "d3", "spans": []}])):
        cast.submit(benchmark, lines, system=system)
    score_all()
    measure = propose(cast, benchmark, **fields)
    contributed.decide(measure, admit=True, by=cast.olga)
    score_all()
    measure.refresh_from_db()
    return measure


def test_an_admitted_measure_ranks_a_setting(client: Client, cast: BenchmarkCast) -> None:
    measure = admitted(cast)
    client.force_login(cast.olga)
    address = reverse("setting-change", args=["ner", "main"])
    page = client.get(address).content.decode()
    assert f'<option value="{measure.key}">Person WRF</option>' in page
    form = {"title": "Main", "main": measure.key, "disclosure": "open"}
    assert client.post(address, form).status_code == 302
    shown = board(client, measure.benchmark)
    assert shown["order_by"] == measure.key
    ranks = [(row["system"], row["rank"]) for row in shown["rows"]]
    assert ranks == [("Net", 1), ("Tree", 2)]
    for page_name, args in (
        *(("board", ["ner"]), ("boards", []), ("home", []), ("setting", ["ner", "main"])),
        *(("board-organise", ["ner"]), ("setting-change", ["ner", "main"]), ("team", ["kelpie"])),
        *(("submissions", []), ("submission", [measure.benchmark.submissions.earliest("pk").pk])),
        *(("system", ["ner", measure.benchmark.systems.earliest("pk").pk]), ("board-ledger", ["ner"])),
        *(("setting-revise", ["ner", "main"]), ("board-feed", ["ner"]), ("submit", ["ner"])),
    ):
        assert client.get(reverse(page_name, args=args)).status_code == 200, page_name
    assert "Main measure of “Main”." in client.get(reverse("board-measures", args=["ner"])).content.decode()
    assert client.get("/api/v1/benchmarks/ner").status_code == 200


def test_a_contributed_measure_ranks_no_hidden_gold(cast: BenchmarkCast) -> None:
    measure = admitted(cast)
    setting = measure.benchmark.settings.get()
    creation.change_setting(setting, by=cast.olga, main=measure.key, measures=["conll_micro_f1"])
    with pytest.raises(DomainError, check=code("bad_measure")):
        creation.change_setting(setting, by=cast.olga, disclosure="hidden")
    creation.change_setting(setting, by=cast.olga, main="conll_micro_f1", disclosure="hidden")
    with pytest.raises(DomainError, check=code("bad_measure")):
        creation.change_setting(setting, by=cast.olga, main=measure.key)


def test_a_version_that_ranks_stays_until_another_one_does(cast: BenchmarkCast) -> None:
    first = admitted(cast)
    benchmark, setting = first.benchmark, first.benchmark.settings.get()
    creation.change_setting(setting, by=cast.olga, main=first.key)
    second = propose(cast, benchmark, composition={"base": "wrf", "gamma": "lenient"})
    contributed.decide(second, admit=True, by=cast.olga)
    score_all()

    def keys() -> list[str]:
        benchmark.refresh_from_db()
        return [each["key"] for each in benchmark.contributed]

    assert keys() == [first.key, second.key]
    creation.change_setting(setting, by=cast.olga, main=second.key)
    assert keys() == [second.key]


def test_a_retired_measure_leaves_the_board_and_its_scores_are_named_retired(
    client: Client, cast: BenchmarkCast
) -> None:
    measure = admitted(cast)
    benchmark, run = measure.benchmark, measure.benchmark.submissions.earliest("pk")
    before = list(Score.objects.order_by("pk").values_list())
    client.force_login(cast.kim)
    assert measure.key in board(client, benchmark)["titles"]
    address = reverse("board-measures", args=["ner"])
    assert client.post(address, {"retire": measure.pk}).status_code == 403
    client.force_login(cast.olga)
    assert client.post(address, {"retire": measure.pk}).status_code == 302
    page = client.get(address).content.decode()
    assert "Its scores stay with their runs." in page
    assert measure.key not in board(client, benchmark)["titles"]
    assert client.get(reverse("board", args=["ner"]), {"order": measure.key}).status_code == 400
    assert list(Score.objects.order_by("pk").values_list()) == before
    assert "Person WRF (retired)" in client.get(reverse("submission", args=[run.pk])).content.decode()
    titles = client.get(reverse("api-scores", args=[run.pk])).json()["evaluations"][0]["titles"]
    assert titles[measure.key] == "Person WRF (retired)"
    new = cast.submit(benchmark, [*SPANS[:2], {"id": "d3", "spans": [[2, 3, "PER"]]}], run="2")
    score_all()
    assert not new.evaluations.get().scores.filter(measure=measure.key).exists()


def test_a_measure_that_ranks_or_was_never_admitted_is_not_retired(cast: BenchmarkCast) -> None:
    measure = admitted(cast)
    creation.change_setting(measure.benchmark.settings.get(), by=cast.olga, main=measure.key)
    with pytest.raises(Conflict, check=code("ranks_a_setting")):
        contributed.retire(measure, by=cast.olga)
    waiting = propose(cast, measure.benchmark, name="other")
    with pytest.raises(Conflict, check=code("not_admitted")):
        contributed.retire(waiting, by=cast.olga)
