"""A shared task in the browser, from its terms to the archive of its runs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.dates import ANYWHERE
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.browser import open_as, press
from tests.workers.handlers.test_score import LABEL_LINES
from workers.runner import run_next

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def follow(page: Page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("link", name=name, exact=True).first.click()


def test_a_shared_task_is_run_from_its_terms_to_its_archive(
    page: Page, broker: object, tmp_path: Path
) -> None:
    BenchmarkCast.create().relations(title="Port news", time_zone=ANYWHERE)
    Setting.objects.update(row_rule="entry")
    board = reverse("board", args=["rel"])

    open_as(page, "olga", reverse("board-organise", args=["rel"]))
    follow(page, "Entrants")
    page.get_by_label("Terms", exact=True).fill("Be **fair**.")
    press(page, "Save terms")
    page.get_by_label("Approve each team before it submits").check()
    press(page, "Save rule")

    open_as(page, "kim", reverse("submit", args=["rel"]))
    page.get_by_text("Kelpie cannot submit yet.").wait_for()
    page.goto(board)
    follow(page, "Take part")
    assert page.locator(".prose strong").inner_text() == "fair"
    press(page, "Accept the terms for Kelpie")
    page.get_by_text("wait for the organisers").wait_for()

    open_as(page, "olga", reverse("board-entrants", args=["rel"]))
    press(page, "Approve Kelpie")

    open_as(page, "kim", reverse("board-take-part", args=["rel"]))
    follow(page, "Submit a run of Kelpie")
    submit(page, tmp_path)
    press(page, "Choose as final run")
    page.get_by_text("This is the final entry of Kelpie.").wait_for()

    open_as(page, "olga", reverse("board-announcements", args=["rel"]))
    page.get_by_label("Title").fill("The task ends tonight")
    press(page, "Announce")
    end_the_task(page)

    run = Submission.objects.get()
    open_as(page, "kim", board)
    page.get_by_role("link", name="The task ends tonight").wait_for()
    page.goto(reverse("submission", args=[run.pk]))
    page.get_by_text("has ended: its runs are final. This is the final entry of Kelpie.").wait_for()
    assert page.get_by_role("button", name="Choose as final run").count() == 0
    page.goto(reverse("submit", args=["rel"]))
    page.get_by_text("This benchmark is closed to submissions.").wait_for()

    open_as(page, "olga", reverse("board-entrants", args=["rel"]))
    assert "chose no final run" not in page.content()
    page.get_by_role("link", name="Tide net, run 1").wait_for()
    with page.expect_download() as taken:
        page.get_by_role("link", name="Archive").click()
    assert_archived(taken.value.path(), run)


def submit(page: Page, tmp_path: Path) -> None:
    """Send a file, have it scored, and read its score."""
    file = tmp_path / "net.jsonl"
    file.write_bytes(jsonl(LABEL_LINES))
    page.set_input_files("#id_file", file)
    page.get_by_label("System", exact=True).fill("Tide net")
    press(page, "Submit run")
    assert run_next("score")
    assert Job.objects.get().state == Job.State.DONE
    page.get_by_text("Scored: micro F1 50.0").wait_for()


def end_the_task(page: Page) -> None:
    """Close the setting at a moment Anywhere on Earth that has passed, which is questioned first."""
    page.goto(reverse("setting-change", args=["rel", "main"]))
    page.get_by_label("Closes, AoE").fill("2026-01-01T23:59")
    press(page, "Save changes")
    page.get_by_text("Is it meant?").wait_for()
    assert Setting.objects.get().closes_at is None
    page.get_by_label("Accept a closing date in the past").check()
    press(page, "Save changes")
    assert f"{Setting.objects.get().closes_at:%Y-%m-%d %H:%M}" == "2026-01-02 11:59"


def assert_archived(path: Path, run: Submission) -> None:
    with zipfile.ZipFile(path) as archive:
        files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert files[f"files/{run.file_id}"] == jsonl(LABEL_LINES)
    (line,) = map(json.loads, files["runs.jsonl"].splitlines())
    (entrant,) = map(json.loads, files["entrants.jsonl"].splitlines())
    assert (line["team"], line["final_at"] is not None, line["final_in"]) == ("kelpie", True, [""])
    assert (entrant["state"], entrant["terms"]) == ("approved", 1)
    assert json.loads(files["benchmark.json"])["title"] == Benchmark.objects.get().title
