"""What an annotator must not see is not on the page, and not in what the page fetches."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests.annotation.desk import Desk, line

FETCHED = {"lease", "item", "base", "expires_at", "suggestion"}
ITEM = {"id", "text", "tokens", "head", "tail"}
SECRETS = (
    "Bob",
    "bob",
    "judy",
    "Judy",
    "sealed_by_the_source",
    "s1",
    "s2",
    "disputed",
    "She stayed for years",
)


@pytest.fixture
def desk(db: None) -> Desk:
    desk = Desk.laid(k=3)
    desk.bring(line(1, relations=["sealed_by_the_source"]), line(2, relations=["sealed_by_the_source"]))
    return desk.open()


def without_tokens(page: str) -> str:
    return re.sub(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]+', "", page)


def label_page(client: Client, desk: Desk) -> str:
    client.force_login(desk.people["ann"])
    return without_tokens(client.get(reverse("label", args=["harbour"])).content.decode())


def test_the_form_is_the_same_whatever_others_said(client: Client, desk: Desk) -> None:
    before = label_page(client, desk)
    desk.say("bob", 1, "born_in", comment="She stayed for years.")
    assert label_page(client, desk) == before


def test_no_secret_is_on_any_page_of_an_annotator(client: Client, desk: Desk) -> None:
    desk.say("bob", 1, "born_in", comment="She stayed for years.")
    client.force_login(desk.people["ann"])
    for address in (
        reverse("label", args=["harbour"]),
        reverse("project", args=["harbour"]),
        reverse("label-index"),
    ):
        page = client.get(address).content.decode()
        shown = re.sub(r"<[^>]+>", " ", page)
        assert [secret for secret in SECRETS if re.search(rf"\b{secret}\b", shown)] == []
        assert "sealed_by_the_source" not in page


def test_the_form_fetches_the_sentence_and_nothing_else(client: Client, desk: Desk) -> None:
    desk.say("bob", 1, "born_in", comment="She stayed for years.")
    client.force_login(desk.people["ann"])
    told = client.post("/api/v1/projects/harbour/lease", {"holding": []}, "application/json").json()
    assert set(told) == FETCHED
    assert told["suggestion"] is None
    assert set(told["item"]) == ITEM
    assert set(told["item"]["head"]) <= {"id", "name", "start", "end", "type"}


def test_a_frozen_set_is_not_there_for_an_annotator(client: Client, desk: Desk) -> None:
    from annotation import freezing
    from tests.annotation.desk import done

    for who in ("ann", "bob", "curator"):
        desk.say(who, 1, "born_in")
    made = freezing.freeze(desk.project, name="Harbour", version="1.0", leave_out=True, by=desk.curator)
    done("freeze", made.pk)
    client.force_login(desk.people["ann"])
    for name in ("test-set", "test-set-lines"):
        assert client.get(reverse(name, args=[made.slug])).status_code == 404
    assert made.slug not in client.get(reverse("test-sets")).content.decode()
