"""Labelling by keyboard in a browser, from the first answer to the download."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from annotation.models import Item, Vote
from annotation.testset import TestSet
from tests.cast.basics import PASSWORD, sentence
from tests.cast.projects import ProjectCast
from tests.conftest import StartWorker

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def log_in(page: Page, name: str) -> None:
    """Log in by keyboard; the first field has the focus."""
    page.context.clear_cookies()
    page.goto("/login/")
    page.locator("#id_username:focus").wait_for()
    page.keyboard.type(name)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Log out").wait_for()


def follow(page: Page, name: str) -> None:
    """Tab to a link and press Enter."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "document.activeElement.getAttribute('aria-label') || document.activeElement.innerText"
        )
        if focused.strip().startswith(name):
            with page.expect_navigation():
                page.keyboard.press("Enter")
            return
    raise AssertionError(f"Tab does not reach {name!r}.")


def label(page: Page, who: str, answers: list[str]) -> None:
    """Answer each sentence with these keys."""
    log_in(page, who)
    follow(page, "Label")
    follow(page, "Label in Harbour news")
    for at, keys in enumerate(answers, 1):
        page.locator("#sentence", has_text=f", s{at}.").wait_for()
        for key in [*keys, "Enter"]:
            page.keyboard.press(key)
    page.locator("#finished").wait_for()
    page.locator("#saved[data-state=saved]").wait_for()


def exclude_and_include(page: Page, cast: ProjectCast) -> None:
    """Exclude the first two sentences of the list by its keys, and include both again."""
    page.goto("/projects/harbour/sentences/?order=newest")
    for key in ("j", "x", "ArrowDown", " "):
        page.keyboard.press(key)
    assert page.locator("#n-selected").inner_text() == "2 selected"
    page.keyboard.press("e")
    page.get_by_role("button", name="Exclude: 2 sentences").press("Enter")
    page.get_by_text("2 sentences excluded.").wait_for()
    assert set(Item.objects.filter(state="unusable").values_list("external_id", flat=True)) == {"s2", "s3"}
    page.goto("/projects/harbour/sentences/?state=unusable")
    page.locator("#all").press(" ")
    page.get_by_role("button", name="Include again").press("Enter")
    page.get_by_role("button", name="Include again: 2 sentences").press("Enter")
    page.get_by_text("2 sentences included again.").wait_for()


def test_sentences_are_labelled_decided_frozen_and_downloaded_by_keyboard(
    live: str, page: Page, worker: StartWorker
) -> None:
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in (1, 2, 3)))
    cast.open()
    worker()

    label(page, "ann", ["1", "n", "13"])
    label(page, "bob", ["1", "n", "2"])
    states = dict(Item.objects.values_list("external_id", "state"))
    assert states == {"s1": "settled", "s2": "settled", "s3": "disputed"}
    assert Vote.objects.filter(milliseconds__gt=0).count() == 6

    log_in(page, "judy")
    follow(page, "Label")
    follow(page, "Decide disputes of Harbour news")
    follow(page, "Decide first dispute")
    page.locator("#decide").wait_for()
    page.keyboard.press("1")
    page.keyboard.press("w")
    page.keyboard.type("The text says so.")
    page.keyboard.press("Enter")
    page.get_by_text("All disputes are decided").wait_for()
    decided = cast.item(3)
    assert decided.state == "adjudicated"
    assert decided.adjudications.get().reason == "The text says so."

    log_in(page, "cleo")
    exclude_and_include(page, cast)
    page.goto("/projects/harbour/freeze/")
    page.get_by_text("Ready to freeze").wait_for()
    page.get_by_role("button", name="Freeze test set", exact=True).press("Enter")
    page.get_by_text("Frozen on").wait_for()
    page.wait_for_load_state()
    made = TestSet.objects.get(origin="annotated")
    assert made.sha256 in page.content()
    with page.expect_download() as download:
        page.get_by_role("link", name="gold.jsonl").press("Enter")
    body = Path(download.value.path()).read_bytes()
    assert hashlib.sha256(body).hexdigest() == made.sha256
    golds = [json.loads(row)["relations"] for row in body.splitlines()]
    assert golds[:2] == [["lived_in"], []]
    assert golds[2] == decided.gold["relations"]
