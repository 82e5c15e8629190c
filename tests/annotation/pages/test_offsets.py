"""Offsets are code points everywhere: in a file, on the page, in the browser, in an answer, in the export."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from annotation.freezing import builder
from annotation.models import Item
from annotation.testset import export_lines
from evalsvc.core.web import text_highlighting
from tests.annotation.browser_keyboard import open_form
from tests.annotation.pages.test_text_highlighting import marked, text_of
from tests.annotation.text_samples import Text, texts
from tests.cast.basics import run_job
from tests.cast.projects import ProjectCast
from tests.places.extent import one_in

if TYPE_CHECKING:
    from playwright.sync_api import Page

ALL = texts()


def entry(at: int, text: Text) -> dict[str, Any]:
    ends = {"h": (text.head, "h"), "t": (text.tail, "t")}
    mentions = {
        key: {"id": f"{name}{at}", "name": "", "pos": list(span)} for key, (span, name) in ends.items()
    }
    for key, name in zip(("h", "t"), text.names, strict=True):
        mentions[key]["name"] = name
    return {"id": f"s{at}", "text": text.text} | mentions


def laid(shown: list[Text]) -> ProjectCast:
    """An open project with these texts, one answer each."""
    cast = ProjectCast.create(k=1)
    cast.import_lines(*(entry(at, text) for at, text in enumerate(shown)))
    return cast.open()


def frozen(cast: ProjectCast) -> list[dict[str, Any]]:
    made = builder.freeze(cast.project, name="Scripts", version="1.0", leave_out=True, by=cast.curator)
    run_job("freeze", made.pk)
    made.refresh_from_db()
    return [json.loads(line) for line in b"".join(export_lines(made)).splitlines()]


def test_the_suite_has_two_hundred_texts_and_two_of_five_thousand_characters() -> None:
    assert len({text.text for text in ALL}) >= 200
    assert sum(len(text.text) >= 4_900 for text in ALL) == 2


@pytest.mark.django_db
def test_imported_offsets_are_the_same_when_shown_and_exported() -> None:
    cast = laid(ALL)
    found = {item.external_id: item for item in Item.objects.filter(project=cast.project)}
    assert len(found) == len(ALL)
    for at, text in enumerate(ALL):
        html = str(text_highlighting.mark_pair(found[f"s{at}"]))
        assert (marked(html, "head"), marked(html, "tail")) == text.names
        assert text_of(html) == text.text
        cast.answer("ann", at, "lived_in")
    rows = {row["id"]: row for row in frozen(cast)}
    for at, text in enumerate(ALL):
        row = rows[f"s{at}"]
        assert (row["text"], tuple(row["h"]["pos"]), tuple(row["t"]["pos"])) == tuple(text)
        assert row["relations"] == ["lived_in"]


SHOWN = """
p => ({
  text: [...p.childNodes].map(x => x.tagName ? x.firstChild.textContent : x.textContent).join(''),
  marks: ['head', 'tail'].map(role => p.querySelector('.ent--' + role).firstChild.textContent),
})
"""


def shown_when(page: Page, wanted: str) -> dict[str, Any]:
    """Wait for a sentence; return its text and marks."""
    shown: dict[str, Any] = {}
    for _ in range(1_200):
        shown = page.locator("#sentence").evaluate(SHOWN)
        if shown["text"] == wanted:
            break
        page.wait_for_timeout(25)
    assert shown["text"] == wanted
    return shown


@pytest.mark.browser
def test_the_form_marks_every_text_at_its_offsets(page: Page, live: str) -> None:
    shown_here = one_in(4, ALL)
    cast = laid(shown_here)
    open_form(page)
    for text in shown_here:
        shown = shown_when(page, text.text)
        assert shown["marks"] == list(text.names)
        page.keyboard.press("1")
        page.keyboard.press("Enter")
    page.get_by_role("heading", name="No sentences to label").wait_for()
    rows = {row["id"]: row for row in frozen(cast)}
    exported = [(row["text"], tuple(row["h"]["pos"]), tuple(row["t"]["pos"])) for row in rows.values()]
    assert sorted(exported) == sorted(tuple(text) for text in shown_here)
    assert {tuple(row["relations"]) for row in rows.values()} == {("lived_in",)}
