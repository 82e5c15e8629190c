"""The error browser: texts with gold and predictions, filters, two systems, downloads, hidden gold."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import strip_tags

from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.disclosure.outcomes import KINDS, MISSED, SPURIOUS
from evalsvc.evaluation.models import Benchmark, Evaluation, EvaluationOutcomes, Score, Setting, Submission
from evalsvc.evaluation.pages import error_items, error_request, error_search
from tests.cast.benchmarks import ENTITY_GOLD, BenchmarkCast
from workers.metrics.text_answers import Answer
from workers.runner import run_next
from workers.scoring import outcomes


def page(client: Client, benchmark: str = "rel", **query: Any) -> tuple[dict[str, Any], str]:
    response = client.get(reverse("board-errors", args=[benchmark]), query)
    assert response.status_code == 200, response.content.decode()[-1500:]
    return response.context, response.content.decode()


def shown(context: dict[str, Any]) -> list[str]:
    return [item.id for item in context["shown"]]


@pytest.fixture
def entities(cast: BenchmarkCast) -> Benchmark:
    """A misses Turin and shortens Bo, B adds a span."""
    benchmark = cast.entities()
    answers = {
        "A": [[[0, 1, "PER"], [3, 4, "LOC"]], [], [[2, 3, "PER"]]],
        "B": [[[0, 1, "PER"], [2, 4, "LOC"]], [[1, 2, "LOC"]], [[0, 1, "LOC"], [2, 3, "PER"]]],
    }
    for system, spans in answers.items():
        ids = [line["id"] for line in ENTITY_GOLD]
        lines = [{"id": name, "spans": of} for name, of in zip(ids, spans, strict=True)]
        cast.submit(benchmark, lines, system=system)
    while run_next("score"):
        pass
    return benchmark


def test_sentences_with_errors_show_gold_and_answers_worst_first(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    client.force_login(cast.lars)  # of another team
    context, html = page(client, a="kelpie/Tree")
    assert context["lead"] == "5 of 6 sentences have an error of “Tree”."
    assert "canary-s3" in html
    assert '<mark class="ent ent--head">' in html
    assert [(title, n) for title, n, *_ in context["kinds"]] == [*(("spurious", 2), ("wrong relation", 3))]
    few, _ = page(client, a="kelpie/Tree", kind="spurious")
    assert shown(few) == ["s2", "s4"]
    by_class, _ = page(client, a="kelpie/Tree", label="works_for")
    assert set(shown(by_class)) < set(shown(context))
    one, _ = page(client, a="kelpie/Tree", item="s1")
    assert shown(one) == ["s1"]


def test_two_systems_are_split_into_who_alone_is_right(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    client.force_login(cast.lars)
    both = {"a": "kelpie/Net", "b": "kelpie/Tree"}  # the median runs have 5 and 1 right
    context, _ = page(client, **both)
    assert [(title, n) for (title, n, *_), _ in context["who"]] == [
        *(("All errors", 5), ("Only A right", 4), ("Only B right", 0), ("Neither right", 1))
    ]
    assert sorted(shown(page(client, who="a", **both)[0])) == ["s2", "s3", "s4", "s5"]
    assert shown(page(client, who="neither", **both)[0]) == ["s6"]
    none, html = page(client, who="b", kind="spurious", **both)
    assert "No error matches all 2 filters." in html
    assert [(title, left) for title, _, left in none["used"]] == [
        ("spurious", "0 sentences"), ("only B right", "2 sentences"),
    ]  # fmt: skip
    swapped = client.get(f"/boards/rel/errors/{none['swapped']}")
    assert (swapped.context["a"].name, swapped.context["wanted"].who) == ("Tree", "a")
    counts = {title: n for title, n, *_ in page(client, **both)[0]["classes"]}
    assert counts["works_for"] == len(shown(page(client, label="works_for", **both)[0]))


def test_spans_lie_on_lanes_under_one_text(client: Client, cast: BenchmarkCast, entities: Benchmark) -> None:
    client.force_login(cast.lars)
    context, html = page(client, "ner", a="kelpie/A", b="kelpie/B", order="file")
    assert shown(context) == ["d1", "d2", "d3"]
    lanes = re.findall(
        r'class="lane sp--\w+[^"]*?(lane--[^"]+)"><span><span class="sr">[^>]*>(.*?)</i>', html
    )
    assert ("lane--g", "LOC <i>gold") in lanes
    assert ("lane--a lane--wrong", "A LOC <i>wrong bounds") in lanes
    assert ("lane--b", "B <i>✓") in lanes
    assert ("lane--miss", "A <i>missed") in lanes
    assert ("lane--b lane--wrong", "B LOC <i>spurious") in lanes
    assert [(title, n) for (title, n, *_), _ in context["who"]][1:] == [
        *(("Only A right", 0), ("Only B right", 1), ("Neither right", 1))
    ]
    assert context["against"]["sentence"].startswith("WRF (strict) of “A” lies above CoNLL F1 in")
    between, _ = page(client, "ner", a="kelpie/A", low="0.6", high="1")
    assert shown(between) == ["d3"]
    alone = {item.id: item.alone for item in context["shown"]}
    assert alone == {"d1": ["1 only B right"], "d2": [], "d3": ["1 neither right"]}


def test_a_page_draws_so_many_spans_and_says_how_many_it_leaves_out(
    client: Client, cast: BenchmarkCast, entities: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(cast.lars)
    context, html = page(client, "ner", a="kelpie/A", item="d1")
    drawn = html.count('class="lane ')
    assert (drawn > 2, context["shown"][0].more) == (True, [])
    monkeypatch.setattr(error_items, "MOST_DRAWN", 2)
    context, html = page(client, "ner", a="kelpie/A", item="d1")
    [more] = context["shown"][0].more
    assert re.fullmatch(r"and \d+ spans? more", more)
    assert html.count('class="lane ') == drawn - 2  # all but one of the gold and one of A
    assert more in html


def test_items_are_counted_by_their_f1_and_chosen_by_it_to_the_digit(
    client: Client, cast: BenchmarkCast, entities: Benchmark
) -> None:
    client.force_login(cast.lars)
    context, html = page(client, "ner", a="kelpie/A")
    assert shown(context) == ["d1", "d3"]  # F1 of 1/2 and 2/3
    assert 'aria-label="By F1 of A: 1 from 0.5, 1 from 0.6"' in html
    chosen, html = page(client, "ner", a="kelpie/A", low="0.3", high="0.5")
    assert shown(chosen) == ["d1"]
    assert 'aria-label="By F1 of A: 1 from 0.5, 1 from 0.6"' in html  # the filter itself is left out
    assert "F1 of A from 0.3 to 0.5" in html
    spans: list[list[Any]] = [
        [0, 1, "PER"],
        [1, 2, "PER"],
        [3, 4, "LOC"],
    ]  # 1 of 3 right, 1 of 2 found: F1 .4
    lines = [{"id": line["id"], "spans": spans if line["id"] == "d1" else []} for line in ENTITY_GOLD]
    cast.submit(entities, lines, system="C")
    assert run_next("score")
    assert shown(page(client, "ner", a="kelpie/C", low="0.1", high="0.4")[0]) == ["d1"]


def test_relations_between_entities_stand_below_their_text(client: Client, cast: BenchmarkCast) -> None:
    claims = [
        {"id": "d1", "spans": [[2, 4, "LOC"], [0, 1, "PER"]], "relations": [[0, "left", 1]]},
        {"id": "d2", "spans": [], "relations": []},
        {"id": "d3", "spans": [[0, 1, "PER"], [2, 3, "PER"]], "relations": [[1, "met", 0]]},
    ]
    cast.submit(cast.joint(), claims)
    assert run_next("score")
    client.force_login(cast.kim)
    context, _ = page(client, "joint")
    assert shown(context) == ["d1"]
    rows = [[(strip_tags(cell.text), cell.wrong) for cell in row] for row in context["shown"][0].rows]
    assert rows == [
        [("Ada left New Turin", ""), ("yes", ""), ("", "missed")],
        [("New Turin left Ada", ""), ("–", ""), ("", "wrong direction")],
    ]
    file = reverse("board-errors-file", args=["joint", "json"])
    [row] = client.get(file, {"a": "kelpie/Net"}).json()["rows"]
    ends = [each["text"] for each in row["a_claims"]]
    assert [(each["label"], each["kind"]) for each in row["a_relations"]] == [("left", "turned relation")]
    assert [ends[row["a_relations"][0][end]] for end in ("head", "tail")] == ["New Turin", "Ada"]
    assert [each["kind"] for each in row["gold_relations"]] == ["missed relation"]


def test_the_chosen_items_leave_as_a_table(client: Client, cast: BenchmarkCast, entities: Benchmark) -> None:
    client.force_login(cast.lars)
    query = {"a": "kelpie/A", "b": "kelpie/B", "order": "file"}
    response = client.get(reverse("board-errors-file", args=["ner", "json"]), query)
    first = json.loads(response.content)["rows"][0]
    assert (first["id"], first["a_errors"]) == ("d1", ["bounds"])
    assert first["gold"][1] == {"label": "LOC", "kind": "bounds", "start": 2, "end": 4, "text": "New Turin"}
    assert [each["kind"] for each in first["a_claims"]] == ["right", "bounds"]
    assert [each["tokens"][:1] for each in first["sentences"]] == [["Ada"]]
    assert (first["a_f1"], first["b_f1"]) == (0.5, 1.0)
    lines = client.get(reverse("board-errors-file", args=["ner", "csv"]), query).content.decode().splitlines()
    assert "PER 0–1; LOC 2–4" in lines[1]
    assert client.get(reverse("board-errors-file", args=["ner", "xls"]), query).status_code == 404


def test_a_hidden_gold_shows_no_sentence_and_no_answer(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    Setting.objects.update(disclosure="hidden")
    client.force_login(cast.kim)  # not even to the team itself
    context, html = page(client, a="kelpie/Net")
    assert "Nothing can be shown" in html
    assert "canary" not in html
    assert "shown" not in context
    file = reverse("board-errors-file", args=["rel", "csv"])
    assert client.get(file, {"a": "kelpie/Net"}).status_code == 404
    client.force_login(cast.olga)
    assert "canary-s6" in page(client, a="kelpie/Net")[1]


def test_a_gold_that_another_setting_hides_is_not_shown_under_an_open_one(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    gold = benchmark.settings.get().test_set
    other = cast.benchmark("other", settings=[("main", gold, "sentence", "micro_f1")])
    other.settings.update(disclosure="hidden")
    client.force_login(cast.kim)
    html = page(client, a="kelpie/Net")[1]
    assert "Another setting hides this gold, or gold that may share lines with it." in html
    assert "canary" not in html
    file = reverse("board-errors-file", args=["rel", "csv"])
    assert client.get(file, {"a": "kelpie/Net"}).status_code == 404


def test_what_cannot_be_shown_says_why(client: Client, cast: BenchmarkCast, benchmark: Benchmark) -> None:
    client.force_login(cast.kim)
    address = reverse("board-errors", args=["rel"])
    for wrong in ({"a": "kelpie/Nothing"}, {"item": "s77"}, {"setting": "nothing"}):
        assert client.get(address, wrong).status_code == 404
    for unknown in ({"kind": "Missed"}, {"order": "F1"}, {"who": "c"}):
        assert client.get(address, unknown).status_code == 400
    EvaluationOutcomes.objects.all().delete()
    assert "before errors were stored" in page(client, a="kelpie/Net")[1]


def test_pages_take_as_many_queries_for_many_items_as_for_one(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    client.force_login(cast.lars)
    counts = []
    for query in ({"item": "s6"}, {}):
        with CaptureQueriesContext(connection) as queries:
            page(client, a="kelpie/Tree", **query)
        counts.append(len(queries))
    assert counts[0] == counts[1]


# ---- scores from before errors were stored ------------------------------------------------------
def stored() -> tuple[dict[int, bytes], list[tuple[Any, ...]]]:
    outcomes = dict(EvaluationOutcomes.objects.values_list("evaluation", "content"))
    return outcomes, list(Score.objects.order_by("pk").values_list())


def test_an_organiser_has_the_errors_of_older_scores_stored(
    client: Client, cast: BenchmarkCast, entities: Benchmark
) -> None:
    before = stored()
    EvaluationOutcomes.objects.all().delete()
    client.force_login(cast.kim)
    assert "Score these runs again" not in page(client, "ner")[1]
    address = reverse("board-errors", args=["ner"])
    assert client.post(address).status_code == 403
    client.force_login(cast.olga)
    assert "computed before errors were stored" in page(client, "ner")[1]
    answer = client.post(address, follow=True).content.decode()
    assert "2 runs will be scored again." in answer
    assert "Its runs are being scored again." in answer
    assert "Score these runs again" not in answer
    while run_next("score"):
        pass
    assert stored() == before
    assert page(client, "ner")[0]["lead"]


def test_a_command_fills_the_errors_of_all_benchmarks(
    cast: BenchmarkCast, entities: Benchmark, benchmark: Benchmark
) -> None:
    before = stored()
    kept = entities.submissions.earliest("pk").evaluations.get().outcomes
    EvaluationOutcomes.objects.exclude(pk=kept.pk).delete()
    out = StringIO()
    n = Submission.objects.exclude(evaluations=kept.evaluation).count()
    call_command("fill_outcomes", stdout=out)
    assert f"{n} runs queued." in out.getvalue()
    while run_next("score"):
        pass
    assert stored() == before
    digests = list(Evaluation.objects.values_list("pk", "claims_sha256"))
    Evaluation.objects.filter(pk=kept.evaluation_id).update(claims_sha256="", order_sha256="")
    call_command("fill_outcomes", stdout=out)
    while run_next("score"):
        pass
    assert list(Evaluation.objects.values_list("pk", "claims_sha256")) == digests
    call_command("fill_outcomes", stdout=out)
    assert "Every run has its errors and digests stored." in out.getvalue()


def test_a_bag_shows_its_sentences_and_the_claims_of_both_systems(
    client: Client, cast: BenchmarkCast
) -> None:
    client.force_login(cast.kim)
    benchmark = cast.relations("bag", "ap")
    right = [{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.5}]
    wrong = {"h": "Q3", "t": "Q4", "relation": "part_of", "score": 0.9}
    cast.submit(benchmark, right, system="A")
    cast.submit(benchmark, [wrong, *right], system="B")
    while run_next("score"):
        pass
    assert versions.fill_outcomes(benchmark.settings.get(), by=cast.olga) == 0
    context, html = page(client, a="kelpie/A", b="kelpie/B", order="file")
    [first, *_] = context["shown"]
    assert (first.id, len(first.texts)) == ("Q3 → Q4", 1)
    assert "canary-s3" in html
    gold, *claims = [(row[1].text, row[2].wrong) for row in first.rows]
    assert (gold, claims) == (("works_for", ""), [("N/A", "missed"), ("part_of", "wrong relation")])
    assert "Scored predictions: counted at τ*" in html
    assert context["lead"].startswith("Of 5 pairs, ")
    assert "both bounds and the type" not in html
    both, _ = page(client, a="kelpie/A", item="Q1 → Q2")
    assert len(both["shown"][0].texts) == 2  # s1 and s2
    file = client.get(reverse("board-errors-file", args=["rel", "csv"]), {"a": "kelpie/A"}).content.decode()
    assert 'Q3 → Q4,"Ada was seen in Turin, canary-s3.",s3,works_for,,missed,0' in file
    chart = client.get(reverse("system", args=["rel", benchmark.systems.get(name="A").pk])).content.decode()
    assert "errors/?setting=main" in chart


def test_a_long_bag_shows_its_first_sentences(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(error_items, "OF_BAG", 1)
    client.force_login(cast.kim)
    benchmark = cast.relations("bag", "ap")
    cast.submit(benchmark, [{"h": "Q9", "t": "Q2", "relation": "part_of", "score": 0.5}], system="A")
    run_next("score")
    context, html = page(client, a="kelpie/A", item="Q1 → Q2")
    assert (len(context["shown"][0].texts), context["shown"][0].more) == (1, ["and 1 sentence more"])
    assert "and 1 sentence more" in html


def test_answers_without_offsets_show_in_a_table(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.kim)
    benchmark = cast.entities()
    answers = {
        "A": [["Ada", "LOC"], ["Turin", "LOC"], ["Rome", "CITY"], ["y" * 201, "LOC"]],
        "B": [["Ada", "PER"], ["New Turin", "LOC"]],
    }
    for system, of_first in answers.items():
        lines = [{"id": line["id"], "entities": []} for line in ENTITY_GOLD]
        lines[0]["entities"] = of_first
        cast.submit(benchmark, lines, system=system)
    while run_next("score"):
        pass
    context, html = page(client, "ner", a="kelpie/A", b="kelpie/B", item="d1")
    [item] = context["shown"]
    assert item.heads == ["Answer", "Gold", "A", "B"]
    rows = {
        row[0].text: [cell.text or cell.wrong or ("right" if cell.right else "") for cell in row[1:]]
        for row in item.rows
    }
    assert rows == {
        "Ada: PER": ["yes", "wrong type", "right"],
        "Ada: LOC": ["–", "wrong type", "–"],
        "New Turin: LOC": ["yes", "missed", "right"],
        "Rome: not in the inventory": ["–", "spurious", "–"],
        "Turin: LOC": ["–", "spurious", "–"],
        f"{'y' * 199}…: LOC": ["–", "spurious", "–"],
    }
    assert "Ada left New Turin" in html
    only_b, _ = page(client, "ner", a="kelpie/A", b="kelpie/B", who="b")
    assert shown(only_b) == ["d1"]
    cast.submit(benchmark, [{"id": line["id"], "spans": []} for line in ENTITY_GOLD], system="C")
    run_next("score")
    context, _ = page(client, "ner", a="kelpie/A", b="kelpie/C")
    assert context["reason"] == error_request.TWO_FORMS


def test_triples_without_offsets_are_turned_or_another_relation() -> None:
    answer = {Answer(0, ("Ada", "Bo")): "right", Answer(1, ("Bo", "Cy")): "relation"}
    gold = frozenset({Answer(0, ("Ada", "Bo")), Answer(0, ("Bo", "Cy")), Answer(0, ("Cy", "Di"))})
    predicted = frozenset({*answer, Answer(0, ("Di", "Cy"))})
    kinds = outcomes._kinds_of_answers(predicted, gold, SPURIOUS)
    assert {KINDS[kind] for kind in kinds.values()} == {"right", "relation", "direction"}
    missed = outcomes._kinds_of_answers(gold, predicted, MISSED)
    assert sorted(KINDS[kind] for kind in missed.values()) == ["direction", "relation", "right"]


# ---- another run, and words of the text ---------------------------------------------------------
def test_another_run_than_the_median_can_be_chosen_and_stand_beside_it(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    client.force_login(cast.lars)
    median, html = page(client, a="kelpie/Net")
    names = [run for run, _ in median["a"].others]
    other = next(name for name in names if name != median["a"].run.run)
    assert len(names) == 3
    assert f"run {median['a'].run.run}, the median one" in html
    chosen, html = page(client, a=f"kelpie/Net/{other}", b="kelpie/Net")
    assert (chosen["a"].run.run, chosen["a"].name) == (other, f"Net, run {other}")
    assert chosen["b"].run == median["a"].run
    assert [current for _, current, _ in chosen["runs"][0][1]] == [name == other for name in names]
    address = reverse("board-errors", args=["rel"])
    for unknown in ("kelpie/Net/none", "kelpie/None/1", "kelpie/Net/"):
        assert client.get(address, {"a": unknown}).status_code == 404


def test_a_search_keeps_the_items_with_the_words_in_any_case_or_spacing(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark, entities: Benchmark
) -> None:
    client.force_login(cast.lars)
    assert shown(page(client, a="kelpie/Tree", text="CANARY-S3")[0]) == ["s3"]
    assert shown(page(client, "ner", a="kelpie/A", text="left  new")[0]) == ["d1"]
    assert not page(client, a="kelpie/Tree", text="CANARY-S3")[0]["browser"].searched.is_part
    none, _ = page(client, a="kelpie/Tree", text="spans")  # a key of the lines, in no text
    assert not shown(none)
    assert ("“spans”", "5 sentences") in [(title, left) for title, _, left in none["used"]]


def test_a_search_reads_some_lines_and_goes_on_from_there(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(cast.lars)
    whole, found = shown(page(client, a="kelpie/Tree", text="canary", order="file")[0]), []
    monkeypatch.setattr(error_search, "LINES", 2)
    for line, part in (("", "1 to 2"), (3, "3 to 4"), (5, "5 to 6")):
        context, html = page(client, a="kelpie/Tree", text="canary", order="file", line=line)
        assert f"Only lines {part} of the gold’s 6 were searched" in html
        assert (f"line={int(part[-1]) + 1}" in html) == (part[-1] != "6")
        found += shown(context)
        assert len(context["browser"].searched.items) == 2
    assert found == whole == ["s2", "s3", "s4", "s5", "s6"]
    assert shown(page(client, a="kelpie/Tree", text="canary", line="9" * 5_000)[0]) == ["s2"]
    address = reverse("api-errors", args=[benchmark.slug])
    query = {"a": "kelpie/Tree", "text": "canary", "line": 3}
    assert "lines 3 to 4 of the gold’s 6" in client.get(address, query).json()["caption"]
    assert client.get(address, query | {"line": "9" * 5_000}).status_code == 400
