"""One action on several items by the API: its effect, the change, and what guards it."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from annotation import projects
from annotation.adjudication import bulk_actions, decisions
from annotation.consensus import recomputation
from annotation.models import KnownAnswer
from annotation.queue import quality_settings
from evalsvc.core.activity.models import entries
from tests.cast.basics import person, sentence
from tests.cast.projects import ProjectCast

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/projects/harbour/items/bulk"


@pytest.fixture
def cast() -> ProjectCast:
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in (1, 2, 3)))
    cast.open().dispute(1)
    return cast


def send(cast: ProjectCast, action: str, *at: int, query: str = "", **values: Any) -> Any:
    client = APIClient()
    client.force_login(cast.curator)
    body = {"action": action, "items": [str(cast.item(number).key) for number in at], **values}
    return client.post(ADDRESS + query, body, format="json")


def states(cast: ProjectCast) -> list[str]:
    return [item.use or item.state for item in cast.project.items.order_by("rank")]


def test_items_are_excluded_and_included_together_once_the_effect_was_read(cast: ProjectCast) -> None:
    seen = send(cast, "exclude", 1, 2, preview=True).json()
    assert (seen["changed"], seen["kept"], states(cast)) == (2, 0, ["disputed", "open", "open"])
    assert [(row["before"], row["after"]) for row in seen["effects"]] == [
        ("disputed", "unusable"),
        ("open", "unusable"),
    ]
    cast.answer("ann", 2, "born_in")
    late = send(cast, "exclude", 1, 2, finding="broken", key=seen["key"])
    assert (late.status_code, late.json()["code"]) == (409, "votes_changed")
    seen = send(cast, "include", all=True, preview=True).json()
    assert send(cast, "include", all=True, key=seen["key"]).status_code == 200  # none then, none now
    seen = send(cast, "exclude", all=True, preview=True, query="?state=disputed").json()
    send(cast, "exclude", 1, finding="broken")
    late = send(cast, "exclude", all=True, finding="broken", key=seen["key"], query="?state=disputed")
    assert (late.status_code, late.json()["code"]) == (409, "votes_changed")
    send(cast, "include", 1)
    key = send(cast, "exclude", 1, 2, preview=True).json()["key"]
    made = send(cast, "exclude", 1, 2, finding="broken", reason="No text.", key=key).json()
    assert (made["changed"], made["key"]) == (2, "")
    assert states(cast) == ["unusable", "unusable", "open"]
    back = send(cast, "include", 1, 2, 3).json()
    assert (back["changed"], back["kept"]) == (2, 1)
    assert back["effects"][2]["problem"] == "This sentence is not excluded."
    assert states(cast) == ["disputed", "open", "open"]


def test_a_preview_writes_nothing_and_states_what_the_action_then_does(
    cast: ProjectCast, django_assert_max_num_queries: Any
) -> None:
    """On SQLite a write keeps all other writers waiting until its transaction ends."""
    disputed = cast.item(1)
    payload, key = {"relations": ["born_in"]}, disputed.votes_key
    decisions.decide(disputed, by=cast.curator, payload=payload, client_id=uuid4(), votes_key=key)
    for who in ("ann", "bob"):
        cast.answer(who, 2, "born_in")
    quality_settings.set_quality_options(cast.project, most_extra=1, by=cast.curator)
    projects.set_member(cast.project, user=person("cat"), role="annotator", by=cast.curator)
    for action in ("reopen", "exclude", "include"):
        keys = [item.key for item in cast.project.items.all()]
        with django_assert_max_num_queries(30) as queries:
            seen = bulk_actions.preview(cast.project, keys, action, by=cast.curator)
        assert {query["sql"].split()[0] for query in queries.captured_queries} == {"SELECT"}, action
        values = {"finding": "broken"} if action == "exclude" else {}
        done = bulk_actions.apply(
            cast.project, keys, action, by=cast.curator, previewed=bulk_actions.digest(seen), **values
        )
        assert sum(effect.before != effect.after for effect in done) >= 2, action


def test_all_that_match_change_with_the_filters_of_the_list(
    cast: ProjectCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_actions, "MAX_ITEMS", 1)
    monkeypatch.setattr(bulk_actions, "MAX_NAMED", 0)
    first = send(cast, "exclude", query="?state=open", all=True, finding="broken").json()
    assert (first["changed"], first["more"], states(cast)) == (1, True, ["disputed", "unusable", "open"])
    assert entries(cast.project)[0].after == {"sentences": 1, "state": "open"}
    rest = send(cast, "exclude", query="?state=open", all=True, finding="broken").json()
    assert (rest["changed"], rest["more"]) == (1, False)
    none = send(cast, "exclude", query="?state=open", all=True, finding="broken").json()
    assert (none["changed"], none["effects"]) == (0, [])
    assert send(cast, "exclude", 1, 2, finding="broken").json()["code"] == "too_many_items"


def test_items_with_many_spans_change_in_parts(cast: ProjectCast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recomputation, "MOST_IN_REQUEST", 1)
    assert send(cast, "exclude", 1, 2, finding="broken").json()["code"] == "too_many_items"
    parts = [send(cast, "exclude", all=True, finding="broken").json() for _ in range(3)]
    assert [(part["changed"], part["more"]) for part in parts] == [(2, True), (1, False), (0, False)]


def test_unanswered_items_become_gold_questions_together(cast: ProjectCast) -> None:
    values = {"use": "check", "payload": {"relations": ["born_in"]}, "explains": "It is stated."}
    made = send(cast, "gold", 1, 2, **values).json()
    assert (made["changed"], made["kept"], states(cast)) == (1, 1, ["disputed", "check", "open"])
    assert KnownAnswer.objects.get().payload["relations"] == ["born_in"]


def test_a_text_becomes_a_gold_question_with_valid_spans_only() -> None:
    cast = ProjectCast.create(kind="entities", k=2, labels=["person"])
    cast.import_lines({"id": "s1", "text": "Mira left"})
    cast.open()
    invalid = send(cast, "gold", 1, use="check", payload={"spans": [[0, 40, "person"]]})
    assert (invalid.status_code, cast.item(1).use) == (400, "")
    assert send(cast, "gold", 1, use="check", payload={"spans": [[0, 4, "person"]]}).json()["changed"] == 1
    assert KnownAnswer.objects.get().payload["spans"] == [[0, 4, "person"]]


def test_an_action_without_its_values_or_items_changes_nothing(cast: ProjectCast) -> None:
    missing = send(cast, "gold", 2).json()
    assert {problem["field"] for problem in missing["errors"]} == {"use", "payload"}
    assert send(cast, "exclude", 1).status_code == 400
    assert send(cast, "reopen").json()["code"] == "nothing_chosen"
    assert send(cast, "exclude", query="?label=nowhere", all=True, finding="broken").status_code == 400
    both = send(cast, "exclude", 1, all=True, finding="broken").json()
    assert [problem["field"] for problem in both["errors"]] == ["items"]
    assert states(cast) == ["disputed", "open", "open"]
