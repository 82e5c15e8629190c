"""The answer to “how was this computed”, wherever it is given."""

from __future__ import annotations

import csv
import html
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsvc.client import show_scores
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.benchmarks.scoring_identity import options_of
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.measures.computation import (
    CHOICES,
    FORMS_OF_KIND,
    computation,
    in_one_line,
    in_words,
    of_setting,
)
from evalsvc.evaluation.measures.menu import MENU, with_beta
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import ENTITY_GOLD, JOINT_GOLD, LABELS, RELATION_GOLD, BenchmarkCast, freeze
from tests.workers.handlers.test_score import LABEL_LINES, SCORE_LINES
from workers.cli.command import main as command_line
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


@pytest.mark.parametrize(
    ("negative", "words"),
    [
        ("", "none; no_relation looks like it, but is averaged like a relation"),
        ("NA", "NA, not averaged; no_relation looks like it, but is averaged like a relation"),
        ("no_relation", "no_relation, not averaged"),
    ],
)
def test_an_averaged_class_that_looks_like_the_negative_one_is_named(negative: str, words: str) -> None:
    options = {"unit": "sentence", "labels": ["met", "no_relation"], "negative": negative}
    assert dict(in_words(computation(options | {"include_negative": False})))["Negative class"] == words


def test_a_setting_names_an_averaged_class_that_looks_like_the_negative_one(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    assert "similar_to_negative" not in of_setting(benchmark.settings.get())
    benchmark.labels = [*benchmark.labels, {"name": "no_relation"}]
    setting = benchmark.settings.get()
    setting.benchmark = benchmark
    assert of_setting(setting)["similar_to_negative"] == "no_relation"


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


@pytest.mark.parametrize("key", CHOICES)
def test_no_choice_is_left_out_of_the_words(key: str) -> None:
    """A new choice needs words: a reader sees each of them change."""
    usual = {"negative": "NA", "include_negative": False, "beta": 1, "threshold": None}
    usual |= {"scheme": "IOB2", "repair": "conlleval", "profile": "corrected", "symmetric": []}
    other = {"negative": "O", "include_negative": True, "beta": 2, "threshold": 0.5, "aggregate": "AVG"}
    other |= {
        "scheme": "IOB1",
        "repair": "strict",
        "casefold": True,
        "missing": "wrong",
        "symmetric": ["met"],
    }
    other |= {"entropy": "positive", "profile": "opennre", "strip_articles": True, "grounding": "all"}
    other |= {"old_labels": {"us_state": "region"}}
    assert in_words(computation(usual)) != in_words(computation(usual | {key: other[key]}))


@pytest.mark.parametrize(
    ("unit", "form"), [(unit, form) for unit in FORMS_OF_KIND for form in FORMS_OF_KIND[unit]]
)
def test_every_option_of_a_scoring_is_a_choice(unit: str, form: str) -> None:
    task = {"document": "entities", "joint": "joint"}.get(unit, "relations")
    benchmark = Benchmark(task=task, negative="N/A", labels=[{"name": "met", "part": "relation"}])
    run = Submission(form=form, benchmark=benchmark)
    contract = FileContract(benchmark, [])
    vars(contract)["labels"] = []  # without the test sets
    setting = Setting(unit="document" if unit == "joint" else unit, benchmark=benchmark)
    options = options_of(contract, setting, run)
    assert options.keys() <= {"task", "unit", "form", "labels", "relations"} | set(CHOICES)


@pytest.mark.parametrize(
    ("unit", "missing", "disclosure", "words"),
    [
        (
            "sentence",
            "refuse",
            "open",
            "single labels: file rejected; label sets, scores: counted as no label",
        ),
        ("sentence", "wrong", "hidden", "file rejected"),
        (
            "bag",
            "wrong",
            "hidden",
            "single labels, label sets, scores: file rejected; scored triples: counted as no label",
        ),
        ("document", "wrong", "open", "counted as wrong"),
    ],
)
def test_missing_predictions_are_stated_as_files_are_checked(
    unit: str, missing: str, disclosure: str, words: str
) -> None:
    benchmark = Benchmark(task="entities" if unit == "document" else "relations", missing=missing)
    setting = Setting(benchmark=benchmark, unit=unit, disclosure=disclosure)
    assert dict(in_words(of_setting(setting)))["Missing predictions"] == words


def test_scores_of_label_sets_do_not_average_the_negative_class(cast: BenchmarkCast) -> None:
    setting = cast.relations(**F2).settings.get()
    words = "N/A, averaged for single labels, if no item has several"
    assert dict(in_words(of_setting(setting)))["Negative class"] == words


@pytest.mark.parametrize(("several", "words"), [(False, "N/A, averaged"), (True, "N/A, not averaged")])
def test_gold_with_several_labels_averages_no_negative_class(
    client: Client, cast: BenchmarkCast, several: bool, words: str
) -> None:
    gold = [line | {"relations": LABELS} if several else line for line in RELATION_GOLD]
    settings = [("main", freeze("several", gold, by=cast.olga), "sentence", "micro_f1")]
    benchmark = cast.benchmark(settings=settings, options={"include_negative": True})
    submission = cast.submit(benchmark, LABEL_LINES)
    assert run_next("score")
    client.force_login(submission.by)
    (scored,) = client.get(reverse("api-scores", args=[submission.pk])).json()["evaluations"]
    assert dict(in_words(scored["computation"]))["Negative class"] == words


# ---- surfaces ----------------------------------------------------------------------------------------
TAG_LINES = [{"id": line["id"], "tags": ["O"] * len(line["tokens"])} for line in ENTITY_GOLD]
JOINT_LINES = [{key: line[key] for key in ("id", "spans", "relations")} for line in JOINT_GOLD]
OF_COMMAND = {
    "sentence": ["--task", "classification", "--include-negative", "--missing", "wrong"],
    "bag": ["--task", "bags", "--threshold", "0.5", "--aggregate", "AVG"],
    "document": ["--task", "entities", "--scheme", "IOB1", "--repair", "strict", "--casefold"],
    "joint": ["--task", "joint", "--casefold", "--symmetric", "met"],
}
Case = tuple[Submission, str, str]


@pytest.fixture(params=FORMS_OF_KIND)
def case(request: pytest.FixtureRequest, cast: BenchmarkCast, tmp_path: Path) -> Case:
    """A scored run with few default options, and the paths of its gold and predictions."""
    unit = request.param
    if unit == "joint":
        lines, gold = JOINT_LINES, JOINT_GOLD
        benchmark = cast.joint(options={"beta": 2, "casefold": True})
    elif unit == "document":
        lines, gold = TAG_LINES, ENTITY_GOLD
        benchmark = cast.entities(options={"beta": 2, "scheme": "IOB1", "repair": "strict", "casefold": True})
    else:
        lines, gold = SCORE_LINES if unit == "bag" else LABEL_LINES, RELATION_GOLD
        options = {"beta": 2, "include_negative": True, "threshold": 0.5}
        benchmark = cast.relations(unit, missing="wrong", options=options)
    submission = cast.submit(benchmark, lines, aggregate="AVG" if unit == "bag" else "ONE")
    assert run_next("score")
    paths = tmp_path / "gold.jsonl", tmp_path / "run.jsonl"
    for path, content in zip(paths, (gold, lines), strict=True):
        path.write_bytes(jsonl(content))
    return submission, str(paths[0]), str(paths[1])


@pytest.fixture
def computed(client: Client, case: Case) -> dict[str, Any]:
    """The choices behind a score, by the API."""
    client.force_login(case[0].by)
    (scored,) = client.get(reverse("api-scores", args=[case[0].pk])).json()["evaluations"]
    answer: dict[str, Any] = scored["computation"]
    return answer


def commands(case: Case, *words: str) -> list[list[str]]:
    submission, gold, run = case
    unit, negative = submission.evaluations.get().setting.kind, submission.benchmark.negative
    options = [*OF_COMMAND[unit], "--beta", "2", *words, *(["--negative", negative] if negative else [])]
    compare = ["compare", run, "--against", run, "--gold", gold, "--replicates", "1"]
    return [["score", gold, run, *options], [*compare, *options]]


def test_board_setting_and_commands_name_the_same_choices_as_a_score(
    client: Client, case: Case, computed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    setting = case[0].benchmark.settings.get()
    board = client.get(reverse("board-json", args=[case[0].benchmark.slug])).json()
    assert board["computation"] == board["setting"]["computation"]
    # the form of the file decides the others; a setting names them for each form
    of_form = {"missing", "aggregate", "missing_by_form"}
    of_form |= {"threshold", "operating_point", "profile"} if setting.unit == "sentence" else set()
    of_form |= {"include_negative"} if setting.unit == "bag" else set()
    of_form |= {"strip_articles", "grounding"}
    shared = board["computation"].keys() - of_form
    assert computed.keys() - of_form == shared
    assert {key: computed[key] for key in shared} == {key: board["computation"][key] for key in shared}
    for command in commands(case, "--json"):
        assert command_line(command) == 0
        stated = json.loads(capsys.readouterr().out)["computed"]
        keys = {*CHOICES, "operating_point", "scorer"} & computed.keys() - {"negative"}
        assert {key: stated[key] for key in keys} == {key: computed[key] for key in keys}


def test_every_text_says_how_scores_were_computed(
    client: Client, case: Case, computed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    submission, _, run = case
    slug = submission.benchmark.slug
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    texts = {"page": html.unescape(page)}
    for command in commands(case):
        assert command_line(command) == 0
        texts[command[0]] = capsys.readouterr().out
    show_scores(client.get(reverse("api-scores", args=[submission.pk])).json())
    texts["client"] = capsys.readouterr().out
    call_command("submit", slug, run, team="kelpie", system="Net", run="2", aggregate=submission.aggregate)
    texts["submit"] = capsys.readouterr().out
    for title, value in in_words(computed):
        for surface, text in texts.items():
            # commands name the digest of the file, and the page the one of the test set in full
            assert title in text, surface
            assert value in text or title == "Gold", surface
    row = next(csv.DictReader(StringIO(client.get(reverse("board-csv", args=[slug])).content.decode())))
    missing = "Missing predictions"
    stated = dict(part.split(": ", 1) for part in row["computed"].split("; ") if ": " in part)
    of_run = dict(in_words(computed))
    assert stated["F"] == of_run["F"]
    assert stated.get("Sentences to bags") == of_run.get("Sentences to bags")
    assert missing in stated
    assert "version 1" in texts["page"]


def test_an_averaged_negative_class_is_in_the_table_of_classes(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(**F2), LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert '<th scope="row">N/A</th>' in page


def test_a_board_names_the_aggregation_of_each_system(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    for run, aggregate in (("1", "ONE"), ("2", "AVG")):
        cast.submit(benchmark, SCORE_LINES, run=run, system="Both", aggregate=aggregate)
    cast.submit(benchmark, SCORE_LINES[1:], system="Mean", aggregate="AVG")
    cast.submit(benchmark, SCORE_LINES[1:], system="Best", aggregate="ONE")
    while run_next("score"):
        pass
    rows = client.get(reverse("board-json", args=["rel"])).json()["rows"]
    assert {row["system"]: row["aggregates"] for row in rows} == {
        "Both": ["AVG", "ONE"], "Mean": ["AVG"], "Best": ["ONE"],
    }  # fmt: skip
    page = client.get(reverse("board", args=["rel"])).content.decode()
    assert " · AVG · ONE" in page
    assert "same answers as “Best”" in page  # bags of one sentence: both rules rank alike
    lines = csv.DictReader(StringIO(client.get(reverse("board-csv", args=["rel"])).content.decode()))
    stated = {line["system"]: line["computed"].partition("Sentences to bags: ")[2] for line in lines}
    assert stated["Both"].startswith("AVG and ONE;")
    assert stated["Mean"].startswith("AVG;")


@pytest.mark.parametrize("page", ["setting-new", "setting-change", "board-ledger"])
def test_organisers_read_f2_too(client: Client, cast: BenchmarkCast, page: str) -> None:
    benchmark = cast.relations(**F2)
    benchmark.settings.update(disclosure="hidden")
    client.force_login(cast.olga)
    arguments = ["rel", "main"] if page == "setting-change" else ["rel"]
    content = client.get(reverse(page, args=arguments)).content.decode()
    assert re.search(r">\s*micro F2\b", content)
    assert not re.search(r">\s*micro F1\b", content)


def test_a_board_of_scores_names_its_operating_point_below_the_table(client: Client, case: Case) -> None:
    setting = case[0].benchmark.settings.get()
    page = html.unescape(client.get(reverse("board", args=[case[0].benchmark.slug])).content.decode())
    is_named = "scored predictions are counted from the threshold 0.5 on" in page
    assert is_named == (setting.unit == "bag")


@pytest.mark.parametrize("case", ["document"], indirect=True)
def test_no_text_calls_f2_f1(
    client: Client, case: Case, computed: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """Averages of classes have β; partial credit and words have not."""
    assert computed["beta"] == 2
    for command in commands(case):
        assert command_line(command) == 0
        text = capsys.readouterr().out
        assert "micro F1" not in text
        assert "macro F1" not in text
    assert "micro F2" in text
    show_scores(client.get(reverse("api-scores", args=[case[0].pk])).json())
    assert "micro F2" in capsys.readouterr().out


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
