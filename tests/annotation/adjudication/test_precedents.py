"""What was decided before for the same words or entities."""

from __future__ import annotations

from itertools import combinations
from typing import Any
from uuid import uuid4

import pytest

from annotation import projects
from annotation.adjudication import decisions, precedents, second_readings
from annotation.models import Item, Project
from evalsvc.core.accounts.models import User
from tests.cast.basics import person, sentence
from tests.cast.projects import ProjectCast

pytestmark = pytest.mark.django_db


def spans_cast(*texts: str | list[str]) -> ProjectCast:
    """Import texts that two imported people mark differently at their start."""
    cast = ProjectCast.create(kind="entities", k=2, labels=["person", "location"])
    Project.objects.update(policy="majority")
    for at, text in enumerate(texts, 1):
        content, end = ({"text": text}, 7) if isinstance(text, str) else ({"tokens": text}, 1)
        cast.import_lines({"id": f"s{at}", "spans": []} | content)
        marked = {"a": [0, end, "person"], "b": [0, end + (2 if end > 1 else 1), "location"]}
        votes = [{"item": f"s{at}", "annotator": who, "spans": [span]} for who, span in marked.items()]
        cast.import_lines(*votes, what="votes")
    return cast


def decide(item: Item, cast: ProjectCast, *spans: list[Any]) -> None:
    payload = {"spans": list(spans)}
    arguments = {"payload": payload, "client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, by=cast.people["judy"], **arguments)


def outcomes(cast: ProjectCast, at: int = 1) -> dict[str, list[tuple[Any, str, int]]]:
    shown = decisions.dispute_details(cast.item(at), for_user=cast.people["judy"]).precedents
    return {
        each.words: sorted((*outcome.labels, outcome.words, n) for outcome, n in each.counts.items())
        for each in shown
    }


def test_the_same_words_are_found_whatever_their_case() -> None:
    cast = spans_cast("Sonmarg , in Kashmir", "SONMARG is high", "Sonmargs , two")
    decide(cast.item(2), cast, [0, 7, "location"])
    decide(cast.item(3), cast, [0, 8, "person"])
    assert outcomes(cast) == {"Sonmarg": [("location", "", 1)]}


def test_words_decided_as_nothing_or_with_other_bounds_are_told_apart() -> None:
    cast = spans_cast("Sonmarg , in Kashmir", "Sonmarg , again", "Sonmarg is high")
    decide(cast.item(2), cast, [0, 9, "location"])
    decide(cast.item(3), cast)
    assert outcomes(cast) == {
        "Sonmarg": [("", 1), ("location", "Sonmarg ,", 1)],
        "Sonmarg ,": [("location", "", 1)],
    }


def test_words_are_found_in_tokens_too() -> None:
    cast = spans_cast("Sonmarg , in Kashmir", ["In", "Sonmarg", ","])
    decide(cast.item(2), cast, [1, 2, "location"])
    assert outcomes(cast)["Sonmarg"] == [("location", "", 1)]


def test_words_of_a_script_without_spaces_are_found_within_others() -> None:
    pattern = precedents._pattern("東京")
    assert pattern.search("私は東京都へ")
    assert not precedents._pattern("Ada").search("Adam")


def test_only_the_last_decisions_of_the_project_are_read(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    cast = spans_cast("Sonmarg , in Kashmir", "Sonmarg is high", "Sonmarg is low")
    decide(cast.item(2), cast, [0, 7, "location"])
    decide(cast.item(3), cast, [0, 7, "person"])
    monkeypatch.setattr(precedents, "READ", 1)
    assert outcomes(cast) == {"Sonmarg": [("person", "", 1)]}
    with django_assert_max_num_queries(20):
        outcomes(cast)


def test_a_word_that_fills_long_texts_is_searched_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    cast = spans_cast("Sonmarg here", *["Sonmarg " * 100] * 3)
    for at in (2, 3, 4):
        decide(cast.item(at), cast)
    assert outcomes(cast)["Sonmarg"] == [("", 150)]
    monkeypatch.setattr(precedents, "MATCHES", 120)
    assert outcomes(cast)["Sonmarg"] == [("", 120)]
    monkeypatch.setattr(precedents, "CHARACTERS", 100)
    assert outcomes(cast)["Sonmarg"] == [("", 50)]


def test_the_first_span_that_overlaps_a_place_is_found_among_nested_ones() -> None:
    spans = [(0, 9, "A"), (2, 4, "B"), (3, 5, "C"), (3, 5, "D"), (7, 8, "E"), (12, 14, "F")]
    item = Item(text="x" * 16, gold={"spans": spans[::-1], "relations": []})
    marked = precedents._Marked.of(item)
    for start, end in combinations(range(16), 2):
        exact = tuple(label for a, b, label in spans if (a, b) == (start, end))
        beside = [label for a, b, label in spans if a < end and start < b]
        assert marked.outcome((start, end), item.text).labels == (exact or tuple(beside[:1]))


def second_reader(cast: ProjectCast) -> User:
    projects.set_member(cast.project, user=person("jo"), role="adjudicator", by=cast.people["curator"])
    return person("jo")


def test_the_same_two_entities_are_found_in_their_direction() -> None:
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in (1, 2)))
    cast.open()
    first, second = cast.dispute(1), cast.dispute(2)
    arguments = {"client_id": uuid4(), "votes_key": second.votes_key}
    decisions.decide(second, by=cast.people["judy"], payload={"relations": ["born_in"]}, **arguments)
    Item.objects.filter(pk=first.pk).update(head=second.head, tail=second.tail)
    (found,) = outcomes(cast).values()
    assert found == [("born_in", "", 1)]
    judge = second_reader(cast)
    second_readings.ask(cast.project, n=1, seed="x", by=cast.people["curator"])
    assert not decisions.dispute_details(first, for_user=judge).precedents  # it is read again without it
    Item.objects.filter(pk=first.pk).update(head=second.tail, tail=second.head)
    assert outcomes(cast) == {}
