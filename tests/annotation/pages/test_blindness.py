"""Annotators see no gold, source labels or answers of others."""

import re
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.queue import quality_settings
from tests.cast.basics import sentence
from tests.cast.projects import ProjectCast

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
def cast(db: None) -> ProjectCast:
    cast = ProjectCast.create(k=3)
    cast.import_lines(
        sentence(1, relations=["sealed_by_the_source"]), sentence(2, relations=["sealed_by_the_source"])
    )
    return cast.open()


def without_tokens(page: str) -> str:
    return re.sub(r'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]+', "", page)


def label_page(client: Client, cast: ProjectCast) -> str:
    client.force_login(cast.people["ann"])
    return without_tokens(client.get(reverse("label", args=["harbour"])).content.decode())


def test_the_form_does_not_depend_on_answers_of_others(client: Client, cast: ProjectCast) -> None:
    before = label_page(client, cast)
    cast.answer("bob", 1, "born_in", comment="She stayed for years.")
    assert label_page(client, cast) == before


def test_no_page_of_an_annotator_shows_a_secret(client: Client, cast: ProjectCast) -> None:
    cast.answer("bob", 1, "born_in", comment="She stayed for years.")
    client.force_login(cast.people["ann"])
    for address in (
        reverse("label", args=["harbour"]),
        reverse("project", args=["harbour"]),
        reverse("label-index"),
    ):
        page = client.get(address).content.decode()
        shown = re.sub(r"<[^>]+>", " ", page)
        assert [secret for secret in SECRETS if re.search(rf"\b{secret}\b", shown)] == []
        assert "sealed_by_the_source" not in page


def test_a_lease_contains_nothing_but_the_sentence(client: Client, cast: ProjectCast) -> None:
    cast.answer("bob", 1, "born_in", comment="She stayed for years.")
    client.force_login(cast.people["ann"])
    lease = client.post("/api/v1/projects/harbour/lease", {"holding": []}, "application/json").json()
    assert set(lease) == FETCHED
    assert lease["suggestion"] is None
    assert set(lease["item"]) == ITEM
    assert set(lease["item"]["head"]) <= {"name", "start", "end", "type"}


def handed_out(client: Client, cast: ProjectCast, n: int) -> list[dict[str, Any]]:
    """Return the leases of an annotator, in order."""
    client.force_login(cast.people["ann"])
    asked = {"holding": [], "n": n}
    return client.post("/api/v1/projects/harbour/reserve", asked, "application/json").json()["leases"]


def test_a_hidden_check_looks_like_any_other_sentence(client: Client, cast: ProjectCast) -> None:
    """Checks are imported last, from a file of their own; neither shows in what an annotator is handed."""
    cast.import_lines(*(sentence(at) for at in range(3, 25)))
    cast.import_lines(*(sentence(at, relations=["born_in"]) for at in range(101, 113)), known="check")
    quality_settings.set_quality_options(cast.project, by=cast.curator, check_every=2)
    checks = {f"Ada was seen in Turin, s{at}." for at in range(101, 113)}
    handed = handed_out(client, cast, 36)
    items = [entry["item"] for entry in handed]
    assert {item["text"] for item in items} > checks
    shapes = {(*entry, *entry["item"], *entry["item"]["head"], len(entry["item"]["id"])) for entry in handed}
    assert len(shapes) == 1
    # were the ids in the order of the import, the checks would be the last twelve of 36
    in_order = sorted(items, key=lambda item: item["id"])
    assert {item["text"] for item in in_order[-12:]} != checks
    assert {item["text"] for item in in_order[:12]} != checks
    assert {UUID(item["id"]).version for item in items} == {4}


def test_answers_and_history_name_an_item_by_its_key(client: Client, cast: ProjectCast) -> None:
    """No number of the row is in an answer: the numbers follow the imports."""
    for entry in handed_out(client, cast, 2):
        body = {"client_id": str(uuid4()), "payload": {"relations": ["born_in"]}, "base": 0}
        address = f"/api/v1/items/{entry['item']['id']}/answer"
        assert client.post(address, body, "application/json").status_code == 201
    past = client.get("/api/v1/projects/harbour/history").json()["results"]
    assert {act["item"]["id"] for act in past} == {str(item.key) for item in cast.project.items.all()}


def test_a_frozen_set_is_404_for_an_annotator(client: Client, cast: ProjectCast) -> None:
    from annotation.freezing import builder
    from tests.cast.basics import run_job

    for who in ("ann", "bob", "curator"):
        cast.answer(who, 1, "born_in")
    made = builder.freeze(cast.project, name="Harbour", version="1.0", leave_out=True, by=cast.curator)
    run_job("freeze", made.pk)
    client.force_login(cast.people["ann"])
    for name in ("test-set", "test-set-lines"):
        assert client.get(reverse(name, args=[made.slug])).status_code == 404
    assert made.slug not in client.get(reverse("test-sets")).content.decode()
