"""Blind by design: whatever others said, whatever is sealed or decided, an annotator sees the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet

from annotation.models import (
    Adjudication,
    Annotator,
    Answer,
    Item,
    KnownAnswer,
    SourceLabels,
    Suggestion,
    Vote,
)
from tests.cast import Cast
from tests.permissions.asking import Door, routes, undone
from tests.permissions.crawling import crawled

OTHERWISE = {"spans": [], "relations": ["lived_in"]}
# What differs from one request to the next by itself: times, tokens, ids that a client makes.
PASSING = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?|\b\d\d:\d\d\b"
    r"|(?<=^Expires: ).*|(?<=^Content-Length: ).*|(?<=^ETag: ).*"
    r'|(?<=csrfmiddlewaretoken" value=")\w+|(?<="X-CSRFToken": ")\w+|(?<="X-CSRFTOKEN"] = ")\w+'
    r"|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f-]{22}",
    re.MULTILINE,
)
QUEUES = re.compile(r"\b(api-)?status/?$")  # how long jobs wait, by the second


@pytest.fixture(scope="module")
def door(django_db_setup: None, django_db_blocker: Any) -> Iterator[Door]:
    with django_db_blocker.unblock(), transaction.atomic():
        yield Door(Cast.assembled())
        transaction.set_rollback(True)


def world(door: Door, who: str) -> dict[str, str]:
    """All that this person gets to read, headers too, by where."""
    found = crawled(door, who)
    return {where: PASSING.sub("·", answer.content) for where, answer in found if not QUEUES.search(where)}


def turn(cast: Cast) -> None:
    """Let everybody but Ann have said something else, and all that follows from it be otherwise."""
    others = Annotator.objects.filter(project=cast.harbour).exclude(user=cast["ann"])
    everywhere: tuple[tuple[QuerySet[Any], dict[str, Any]], ...] = (
        (
            Vote.objects.filter(annotator__in=others),
            {"payload": OTHERWISE, "comment": "else", "flagged": False},
        ),
        (Answer.objects.filter(annotator__in=others), {"payload": OTHERWISE}),
        (Adjudication.objects.all(), {"payload": OTHERWISE, "reason": "else"}),
        (SourceLabels.objects.all(), {"labels": OTHERWISE}),
        (KnownAnswer.objects.all(), {"payload": OTHERWISE, "explains": "else"}),
    )
    for rows, changes in everywhere:
        rows.update(**changes)
    # suggestions are there, and off as they are at first
    for at in range(4, 9):
        Suggestion.objects.create(item=cast.item(at), batch=cast.batch, payload=OTHERWISE)
    one, two, three = (cast.item(at) for at in (1, 2, 3))
    for item, state, gold in (
        (one, "disputed", None),
        (two, "settled", OTHERWISE),
        (three, "adjudicated", OTHERWISE),
    ):
        told = {"state": state, "gold": gold, "pattern": "1–1", "votes_key": "else", "policy_matters": True}
        Item.objects.filter(pk=item.pk).update(**told)


def test_an_annotator_s_world_is_the_same_whatever_others_said(door: Door) -> None:
    before = world(door, "anno")
    with undone():
        turn(door.cast)
        after = world(door, "anno")
    assert {where for where in before | after if before.get(where) != after.get(where)} == set()


def test_whoever_may_look_sees_the_difference(door: Door) -> None:
    """So the comparison above looks at something."""
    before = world(door, "cura")
    with undone():
        turn(door.cast)
        after = world(door, "cura")
    differing = {where for where in before if before[where] != after.get(where)}
    assert differing >= {"GET disputes", "GET api-judgments", "GET api-insight", "GET progress"}


def test_the_crawl_comes_to_every_route_there_is(door: Door) -> None:
    matches = [answer.response.wsgi_request.resolver_match for _, answer in crawled(door, "anno")]
    assert {str(match.url_name) for match in matches if match} == {name for name, _ in routes()}
