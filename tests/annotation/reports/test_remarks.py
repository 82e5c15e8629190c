"""Comments and flags reach curators and, without names, adjudicators."""

from __future__ import annotations

import json

import pytest
from django.db import transaction
from django.urls import reverse

from tests.cast.service import COMMENTS
from tests.permissions.requester import Requester

PLACES = ("comments", "api-comments")


@pytest.mark.parametrize("row", PLACES)
def test_a_comment_on_a_settled_sentence_reaches_curators_and_adjudicators(
    requester: Requester, row: str
) -> None:
    assert requester.cast.item(1).state == "settled"
    for who in ("cura", "adju"):
        reply = requester.request(row, "GET", who)
        assert all(comment in reply.content for comment in COMMENTS.values())
        assert requester.cast.item(1).text in reply.content


@pytest.mark.parametrize("row", PLACES)
def test_names_beside_comments_are_for_curators(requester: Requester, row: str) -> None:
    names = ("Canaryann", "Canarybob")
    shown = requester.request(row, "GET", "cura").content
    assert all(name in shown for name in names)
    assert not any(name in requester.request(row, "GET", "adju").content for name in names)


def test_comments_and_flags_are_counted_on_the_page_of_the_project(requester: Requester) -> None:
    body = json.loads(requester.request("api-comments", "GET", "cura").response.content)
    assert body["total"] == len(body["results"]) == 6
    assert all(entry["flagged"] for entry in body["results"])
    page = requester.send(reverse("project", args=["harbour"]), "GET", "cura").content
    assert "Comments (6)" in page


@pytest.mark.parametrize("use", ["check", "qualify"])
def test_comments_on_gold_questions_are_listed_to_nobody_who_may_not_know_them(
    requester: Requester, use: str
) -> None:
    item = requester.cast.item(1)
    requester.request("comments", "GET", "adju")  # logs in; a session begun below would be rolled back
    with transaction.atomic():
        requester.cast.harbour.items.filter(pk=item.pk).update(use=use)
        assert not any(item.text in requester.request(row, "GET", "adju").content for row in PLACES)
        counted = json.loads(requester.request("api-comments", "GET", "adju").response.content)
        assert counted["total"] == len(counted["results"]) < 6
        transaction.set_rollback(True)
    assert all(item.text in requester.request(row, "GET", "adju").content for row in PLACES)
