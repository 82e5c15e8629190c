"""The answer to “how was this computed”, wherever it is given."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.measures.computation import computation, in_one_line, in_words, of_setting
from evalsvc.evaluation.measures.menu import MENU, with_beta
from tests.cast.benchmarks import BenchmarkCast
from tests.workers.handlers.test_score import LABEL_LINES, SCORE_LINES
from workers.runner import run_next

F2: dict[str, Any] = {"options": {"beta": 2.0, "include_negative": True}}


@pytest.mark.parametrize(
    ("key", "beta", "title"),
    [
        ("micro_f1", 1.0, "micro F1"),
        ("micro_f1", 2.0, "micro F2"),
        ("conll_macro_f1", 0.5, "macro F0.5"),
        ("micro_precision", 2.0, "micro precision"),
        ("max_f1", 2.0, "best micro F1"),
        ("semeval2010_f1", 2.0, "official F1"),
    ],
)
def test_a_measure_is_named_by_its_beta(key: str, beta: float, title: str) -> None:
    assert with_beta(MENU[key], beta).title == title


def test_every_choice_is_named_in_words() -> None:
    options = {"negative": "NA", "include_negative": True, "beta": 2, "missing": "wrong", "threshold": None}
    computed = computation(options, scorer="1.1", gold={"gold_sha256": "ab" * 32}, version=3)
    assert computed["operating_point"] == "τ*"
    assert in_words(computed) == [
        ("Negative class", "NA, averaged"),
        ("F", "β = 2 (F2)"),
        ("Scored predictions", "counted at τ*, the score of the best micro F1 of each run"),
        ("Ranking profile", "corrected; measures named OpenNRE as in that toolkit"),
        ("Missing predictions", "counted as wrong"),
        ("Gold", "version 3, sha256 abababababab…"),
        ("Scorer", "1.1"),
    ]


def test_tags_are_read_by_a_named_scheme() -> None:
    words = dict(in_words(computation({"scheme": "IOB2", "repair": "strict-iob2", "threshold": 0.5})))
    assert words["Tags"] == "IOB2, repair strict-iob2"
    assert words["Scored predictions"] == "counted from the threshold 0.5 on"


def test_a_setting_names_the_threshold_of_its_old_scorer(cast: BenchmarkCast) -> None:
    setting = cast.relations("bag", "ap").settings.get()
    version = versions.of_setting(setting)
    assert of_setting(setting, version)["operating_point"] == "τ*"
    version.scorer = "1.0"
    assert of_setting(setting, version)["threshold"] == 0.5


def test_board_setting_and_downloads_say_how_scores_were_computed(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.relations(**F2)
    cast.submit(benchmark, LABEL_LINES)
    assert run_next("score")
    setting = benchmark.settings.get()
    version = versions.of_setting(setting)
    computed = of_setting(setting, version, gold=gold_digest.of_version(version))
    board, words = client.get(reverse("board", args=["rel"])).content.decode(), in_words(computed)
    page = client.get(reverse("setting", args=["rel", "main"])).content.decode()
    for title, value in words:
        assert f"<dt>{title}</dt>" in board
        assert value in board
        assert value in page
    assert "selected>micro F2</option>" in board
    assert "<dd>micro F2, higher is better</dd>" in board
    assert ">micro F1<" not in board
    body = client.get(reverse("board-json", args=["rel"])).json()
    assert body["computation"] == computed == body["setting"]["computation"]
    assert body["titles"]["micro_f1"] == "micro F2"
    rows = list(csv.DictReader(StringIO(client.get(reverse("board-csv", args=["rel"])).content.decode())))
    assert {row["computed"] for row in rows} == {in_one_line(computed)}
    assert {row["title"] for row in rows if row["measure"] == "micro_f1"} == {"micro F2"}


def test_scores_by_api_say_how_they_were_computed(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations("bag", "ap", options={"beta": 2.0}), SCORE_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    (scored,) = client.get(reverse("api-scores", args=[submission.pk])).json()["evaluations"]
    assert scored["computation"]["operating_point"] == "τ*"
    assert scored["computation"]["aggregate"] == "ONE"
    assert scored["computation"]["negative"] == "N/A"
    assert scored["titles"]["micro_f1"] == "micro F2"
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert '<th scope="col" class="fig">F2</th>' in page
