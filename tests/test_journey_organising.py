"""An organiser creates a benchmark in the browser; a team submits to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse
from django.utils.text import slugify

from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import ENTITY_GOLD, LABELS, RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from tests.cast.browser import log_in, press
from tests.conftest import StartWorker
from tests.places.browser import barriers
from tests.workers.handlers.test_score import LABEL_LINES

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.worker]
OTHER_GOLD = [
    gold_sentence(line["id"], line["h"]["id"], line["t"]["id"], "born_in") for line in RELATION_GOLD
]


def change_user(page: Page, name: str) -> None:
    page.context.clear_cookies()
    log_in(page, name)


def follow(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("link", name=name, exact=True).click()


def create_benchmark(page: Page, tmp_path: Path) -> None:
    counts = tmp_path / "counts.tsv"
    counts.write_text("relation\tcount\nborn_in\t1204\nworks_for\t88\n")
    page.goto(reverse("boards"))
    follow(page, "Create a benchmark")
    page.get_by_label("Title").fill("Port news")
    assert_slug_follows_title(page)
    page.get_by_label("Address").fill("port news")
    page.get_by_label("Title").fill("Port news of today")
    assert page.get_by_label("Address").input_value() == "port news"
    page.get_by_label("Title").fill("Port news")
    page.get_by_label("Summary").fill("Relations in port news")
    page.get_by_label("Description").fill("From **two** papers of one port.")
    page.get_by_label("gold 1").check()
    page.get_by_text("Options", exact=True).click()
    assert_options_of_the_task_only(page)
    page.get_by_label("Beta").fill("0.5")
    page.get_by_label("Submissions per day").fill("2")
    page.get_by_label("Time zone of dates and of the daily quota").select_option("Europe/Vienna")
    page.get_by_text("Training data", exact=True).click()
    page.get_by_label("Training counts").set_input_files(counts)
    press(page, "Create benchmark")
    assert "hyphens" in page.locator("#id_slug_error").inner_text()
    assert barriers(page) == []
    page.get_by_label("Address").fill("port")
    page.get_by_label("Training counts").set_input_files(counts)
    press(page, "Create benchmark")


def assert_slug_follows_title(page: Page) -> None:
    """The script suggests the slug that the service would."""
    for title in ("Ægir’s Häfen – 2. Teil", "_Ports_ & (Bays)", "港", "ab " * 30, "Port news"):
        page.get_by_label("Title").fill(title)
        shown = page.get_by_label("Address").input_value()
        assert shown == slugify(title)[:60].strip("-_")


def assert_options_of_the_task_only(page: Page) -> None:
    """Options of other tasks are hidden."""
    for task, there, away in (("entities", "Scheme", "Threshold"), ("relations", "Threshold", "Scheme")):
        page.get_by_label("Task").select_option(task)
        page.get_by_label(there).wait_for()
        page.get_by_label(away).wait_for(state="hidden")
    page.get_by_label("spans 1").wait_for(state="hidden")


def add_setting(page: Page) -> None:
    assert page.get_by_role("heading", level=1).inner_text() == "Add a setting"
    page.get_by_label("Title").fill("Human gold, sentences")
    assert page.get_by_label("Key").input_value() == "human-gold-sentences"
    page.get_by_label("Key").fill("human")
    page.get_by_label("Test set").select_option(label="gold 1, imported: 6 items of relations")
    page.get_by_label("Main measure", exact=True).select_option("accuracy")
    page.get_by_label("Accepts submissions").select_option("dev")
    page.get_by_label("Sealed").check()
    press(page, "Add setting")
    assert "closing time" in page.locator("#id_closes_at_error").inner_text()
    assert barriers(page) == []
    page.get_by_label("Closes, Europe/Vienna").fill("2045-01-02T08:30")
    page.get_by_label("Sealed").uncheck()
    page.get_by_text("Display", exact=True).click()
    page.get_by_label("Digits").fill("2")
    page.get_by_label("accuracy", exact=True).check()
    page.get_by_label("macro F0.5", exact=True).check()
    press(page, "Add setting")


def test_a_benchmark_is_created_in_the_browser_and_scores_a_run(
    page: Page, worker: StartWorker, tmp_path: Path
) -> None:
    cast = BenchmarkCast.create()
    freeze("gold", RELATION_GOLD, by=cast.olga)
    freeze("mended", OTHER_GOLD, by=cast.olga)
    freeze("spans", ENTITY_GOLD, by=cast.olga, labels=["PER", "LOC"], kind="entities")
    log_in(page, "olga")
    create_benchmark(page, tmp_path)
    add_setting(page)
    assert barriers(page) == []
    board, setting = Benchmark.objects.get(), Setting.objects.get()
    assert (board.options, board.per_day, board.time_zone) == ({"beta": 0.5}, 2, "Europe/Vienna")
    assert board.training_counts == {"born_in": 1204, "works_for": 88}
    assert [label["name"] for label in board.labels] == LABELS
    assert (setting.phase, setting.digits, setting.measures) == ("dev", 2, ["macro_f1", "accuracy"])

    worker()
    change_user(page, "kim")
    submit(page, tmp_path)
    page.wait_for_selector("text=Scored: accuracy 50.00")
    follow(page, "Show the board")
    row = page.locator(".board tbody tr")
    assert "Tide net" in row.inner_text()
    assert "50.00" in row.inner_text()
    assert page.get_by_role("columnheader", name="micro F1").count() == 0

    change_user(page, "olga")
    revise(page)
    page.goto(reverse("board", args=["port"]))
    page.get_by_text("Version 1 of 2.").wait_for(state="detached")
    page.goto(reverse("board", args=["port"]) + "?version=1")
    page.get_by_text("Version 1 of 2.").wait_for()
    assert "50.00" in page.locator(".board tbody tr").inner_text()
    change_rules(page)


def submit(page: Page, tmp_path: Path) -> None:
    """Download the inputs; check, correct and submit a file."""
    page.goto(reverse("submit", args=["port"]))
    with page.expect_download() as taken:
        page.get_by_role("link", name="Inputs of Human gold").click()
    lines = [json.loads(line) for line in taken.value.path().read_text().splitlines()]
    assert [line["id"] for line in lines] == [line["id"] for line in LABEL_LINES]
    bad, good = tmp_path / "bad.jsonl", tmp_path / "good.jsonl"
    bad.write_bytes(jsonl([*LABEL_LINES[:5], {"id": "s6", "label": "part_off"}]))
    good.write_bytes(jsonl(LABEL_LINES))
    page.set_input_files("#id_file", bad)
    page.get_by_role("button", name="Check without submitting").click()
    page.locator(".file mark", has_text="part_off").first.wait_for()
    page.wait_for_function("() => document.getElementById('id_file').files.length === 0")
    assert barriers(page) == []
    page.set_input_files("#id_file", good)
    page.get_by_role("button", name="Check without submitting").click()
    page.get_by_text("The file is valid.").wait_for()
    assert page.evaluate("document.getElementById('id_file').files[0].name") == "good.jsonl"
    page.get_by_label("System", exact=True).fill("Tide net")
    press(page, "Submit run")
    assert Submission.objects.get().phase == "dev"


def revise(page: Page) -> None:
    """Set another gold, which begins a new version."""
    page.goto(reverse("board-organise", args=["port"]))
    follow(page, "New version of Human gold, sentences")
    page.get_by_label("Test set").select_option(label="mended 1, imported: 6 items of relations")
    page.get_by_label("Reason").fill("Four labels mended")
    press(page, "Begin version 2")
    assert page.get_by_text("Four labels mended").count() == 1
    assert barriers(page) == []


def change_rules(page: Page) -> None:
    page.goto(reverse("board-organise", args=["port"]))
    follow(page, "Change texts and limits")
    page.get_by_label("Submissions per day").fill("")
    page.get_by_label("Public").uncheck()
    press(page, "Save changes")
    board = Benchmark.objects.get()
    assert (board.per_day, board.public, board.time_zone) == (None, False, "Europe/Vienna")
