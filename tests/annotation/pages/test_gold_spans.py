"""Gold questions with spans, made on the page of a sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Item, Mark, Project
from annotation.ontology import inventory
from annotation.queue import leases, quality_settings, votes
from tests.cast.browser import open_as
from tests.cast.projects import ProjectCast

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.django_db

TEXT = "Mira left Oslo early"
PERSON, PLACE = [0, 4, "person"], [10, 14, "place"]


def open_cast(kind: str) -> ProjectCast:
    cast = ProjectCast.create(kind=kind, k=2, labels=["person", "place"])
    if kind == "joint":
        inventory.add_labels(cast.project, ["lived_in"], by=cast.curator, part="relation")
    cast.import_lines(*({"id": f"s{at}", "text": TEXT} for at in (1, 2)))
    return cast.open()


def address(item: Item) -> str:
    return reverse("sentence", args=["harbour", item.key])


def send(cast: ProjectCast, item: Item, payload: Any, use: str = "check") -> Any:
    browser = Client()
    browser.force_login(cast.curator)
    answer = payload if isinstance(payload, str) else json.dumps(payload)
    return browser.post(address(item), {"action": "gold", "use": use, "answer": answer})


@pytest.mark.parametrize(
    ("kind", "spans", "relations"),
    [
        ("entities", [PERSON, PLACE], []),
        ("entities", [], []),
        ("joint", [PERSON, PLACE], [[0, "lived_in", 1]]),
    ],
)
def test_a_text_becomes_a_gold_question_with_what_was_marked(
    kind: str, spans: list[Any], relations: list[Any]
) -> None:
    cast = open_cast(kind)
    payload = {"spans": spans, "relations": relations}
    assert send(cast, cast.item(1), payload, "qualify").status_code == 302
    item = cast.item(1)
    assert (item.use, item.known.payload) == (Item.Use.QUALIFY, payload)


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ({"spans": [[0, 40, "person"]]}, "[start, end, label]"),
        ({"spans": [[0, 4, "planet"]]}, "planet"),
        ({"spans": [[0, 9, "person"], [5, 9, "place"]]}, "overlap"),
        ({"spans": [PERSON], "relations": [[0, "lived_in", 1]]}, "relations"),
        ("[" * 100_000, "not valid JSON"),
        ('{"spans": "\\u0000"}', "NUL character"),
    ],
)
def test_an_invalid_known_answer_is_rejected_and_stays_in_the_form(payload: Any, problem: str) -> None:
    cast = open_cast("entities")
    response = send(cast, cast.item(1), payload)
    assert response.status_code in (200, 400)
    page = response.content.decode()
    assert problem in page
    assert (cast.item(1).use, "errorlist" in page) == ("", True)


def test_only_a_text_that_nobody_answered_or_holds_gets_a_known_answer() -> None:
    cast = open_cast("entities")
    answered, held = cast.item(1), cast.item(2)
    votes.answer(answered, cast.people["ann"], client_id=uuid4(), payload={"spans": []})
    assert leases.lease_next(cast.project, cast.people["ann"])
    browser = Client()
    browser.force_login(cast.curator)
    for item in (answered, held):
        page = browser.get(address(item)).content.decode()
        assert "Only sentences that nobody answered or has reserved" in page
        assert "data-marks" not in page
        assert 'note--bad" role="alert"' in send(cast, item, {"spans": []}).content.decode()
        item.refresh_from_db()
        assert item.use == ""


@pytest.mark.browser
def test_a_known_answer_is_marked_by_keys_and_the_hidden_check_is_graded(live: str, page: Page) -> None:
    cast = open_cast("joint")
    item = cast.item(1)
    open_as(page, "cleo", reverse("sentences", args=["harbour"]))
    page.locator("#rows th a").first.click()
    page.get_by_role("link", name="Mark the known answer").click()
    page.wait_for_url(f"{live}{address(item)}#marking")
    page.locator("#own").focus()
    for key in ("ArrowRight", "1", "ArrowRight", "ArrowRight", "2"):
        page.keyboard.press(key)
    page.locator("#own-spans tr").nth(1).wait_for()
    page.get_by_label("Use").select_option("hidden check")
    page.get_by_role("button", name="Make it a gold question").click()
    page.get_by_text("is now a gold question").wait_for()
    item.refresh_from_db()
    assert (item.use, item.known.payload["spans"]) == (Item.Use.CHECK, [PERSON, PLACE])
    page.get_by_text("Known answer: Mira (person), Oslo (place)").wait_for()
    quality_settings.set_quality_options(cast.project, by=cast.curator, check_every=1)
    for name, spans in (("ann", [PERSON, PLACE]), ("bob", [PERSON])):
        answer_check(cast.project, item, cast.people[name], spans)
    assert {mark.annotator.name: mark.right for mark in Mark.objects.all()} == {"ann": True, "bob": False}


def answer_check(project: Project, item: Item, user: Any, spans: list[Any]) -> None:
    while lease := leases.lease_next(project, user):
        marked = spans if lease.item_id == item.pk else []
        base = lease.base
        payload = {"spans": marked, "relations": []}
        votes.answer(lease.item, user, client_id=uuid4(), payload=payload, base=base)
