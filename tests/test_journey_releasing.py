"""From a file with errors to two releases, compared, downloaded and checked in a browser."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from annotation.consensus import pending_recomputation
from annotation.ontology import inventory
from annotation.testset import TestSet
from tests.annotation.browser_keyboard import wait_until
from tests.cast.basics import sentence
from tests.cast.browser import log_in
from tests.cast.projects import ProjectCast
from tests.conftest import StartWorker

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

ANSWERS = {"s1": "born_in", "s2": "lived_in", "s3": "lived_in"}


def file(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(line if isinstance(line, str) else f"{json.dumps(line)}\n" for line in lines))
    return path


def press(page: Page, name: str, role: Any = "button") -> None:
    page.locator("#main").get_by_role(role, name=name, exact=True).first.click()


def freeze(page: Page, version: str) -> None:
    page.goto("/projects/harbour/freeze/")
    page.fill("#id_version", version)
    press(page, "Freeze test set")
    page.get_by_role("link", name="gold.jsonl").wait_for()


def test_releases_are_frozen_compared_downloaded_and_checked(
    live: str, page: Page, worker: StartWorker, tmp_path: Path
) -> None:
    cast = ProjectCast.create()
    worker()
    log_in(page, "cleo", "/projects/harbour/import/")
    lines = [sentence(at) for at in (1, 2, 3)]
    page.set_input_files("#id_upload", file(tmp_path / "sentences.jsonl", [*lines, '{"id": "s4"}\n']))
    press(page, "Import file")
    page.get_by_text("1 line rejected").wait_for()
    page.get_by_text("The object lacks a required key").wait_for()

    page.goto("/projects/harbour/import/")
    page.get_by_label("answers given elsewhere").check()
    votes = [
        {"item": id, "annotator": who, "labels": [label]} for id, label in ANSWERS.items() for who in "ab"
    ]
    page.set_input_files("#id_upload", file(tmp_path / "votes.jsonl", votes))
    press(page, "Import file")
    page.get_by_text("Imported", exact=True).wait_for()

    freeze(page, "1.0")
    inventory.merge(cast.project, ["born_in", "lived_in"], target="born_in", by=cast.curator)
    wait_until(page, lambda: not pending_recomputation.is_recomputing(cast.project))
    freeze(page, "1.1")
    press(page, "What changed since 1.0", "link")
    page.get_by_text("2 lines with other labels").wait_for()
    page.get_by_role("rowheader", name="ontology", exact=True).wait_for()

    page.go_back()
    with page.expect_download() as download:
        press(page, "Download release", "link")
    with zipfile.ZipFile(download.value.path()) as archive:
        archive.extractall(tmp_path / "copy")
    (folder,) = (tmp_path / "copy").iterdir()
    page.goto("/check-a-copy/")
    page.set_input_files("#id_copies", sorted(folder.iterdir()))
    press(page, "Check files")
    page.get_by_text("agree with each other").wait_for()
    page.get_by_role("link", name=str(TestSet.objects.get(version="1.1", origin="annotated"))).wait_for()
    gold = folder / "gold.jsonl"
    gold.write_text(gold.read_text().replace('["born_in"]', "[]", 1))
    page.set_input_files("#id_copies", sorted(folder.iterdir()))
    press(page, "Check files")
    page.get_by_text("1 file differs").wait_for()
    page.locator("#main").get_by_text("the answers give").first.wait_for()
