"""Curators find items by state, votes, label, person, remark and text, in pages that stay where they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.http import Http404

from annotation import projects
from annotation.adjudication import decisions
from annotation.models import Item, OntologyLabel, Project
from annotation.ontology import inventory
from annotation.reports import item_order, item_search
from annotation.reports.item_order import ItemFilters
from annotation.roles import ANNOTATOR
from evalsvc.core.errors.exceptions import NotAllowed
from tests.cast.basics import person, sentence
from tests.cast.projects import annotators, answer_item, create_project, curator, import_lines

pytestmark = pytest.mark.django_db
ANSWERS: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {
    0: (("A",), ("A",)),
    1: (("A",), ("B",)),
    2: ((), ("C",)),
    3: ((), ()),
}


@pytest.fixture
def project() -> Project:
    """s0 settled as A, s1 and s2 disputed, s3 settled as N/A, s4 and s5 open; one comment and one flag."""
    project = create_project()
    import_lines(project, [sentence(at) for at in range(6)])
    projects.open_for_work(project, by=curator())
    first, second = annotators(project, 2)
    for at, (one, other) in ANSWERS.items():
        item = project.items.get(external_id=f"s{at}")
        answer_item(item, first, *one, comment="unclear" if at == 0 else "")
        answer_item(item, second, *other, flagged=at == 2)
    answer_item(project.items.get(external_id="s4"), first, "B")
    return project


def found(project: Project, **values: Any) -> list[str]:
    paging = {name: values.pop(name) for name in ("order", "after", "before", "size") if name in values}
    page = item_search.search(project, ItemFilters(**values), for_user=curator(), **paging)
    return [item.external_id for item in page.items]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, "s0 s1 s2 s3 s4 s5"),
        ({"order": "newest"}, "s5 s4 s3 s2 s1 s0"),
        ({"order": "id"}, "s0 s1 s2 s3 s4 s5"),
        ({"order": "id", "state": "disputed"}, "s1 s2"),
        ({"order": "answered"}, "s4 s3 s2 s1 s0"),
        ({"order": "answered", "state": "disputed"}, "s2 s1"),
        ({"order": "answered", "remark": "any"}, "s2 s0"),
        ({"order": "answered", "pattern": "1–1"}, "s1"),
        ({"order": "split"}, "s2 s1 s0 s3 s4 s5"),
        ({"order": "split", "state": "settled"}, "s0 s3"),
        ({"order": "split", "remark": "any"}, "s2 s0"),
        ({"state": "settled"}, "s0 s3"),
        ({"state": "disputed"}, "s1 s2"),
        ({"pattern": "1–1"}, "s1"),
        ({"state": "open", "pattern": "1–1"}, ""),
        ({"label": "A"}, "s0 s1"),
        ({"label": "C"}, "s2"),
        ({"label": "a"}, ""),
        ({"label": "relations"}, ""),
        ({"remark": "comment"}, "s0"),
        ({"remark": "flag"}, "s2"),
        ({"remark": "any", "state": "disputed"}, "s2"),
        ({"text": "s4"}, "s4"),
        ({"text": "nowhere to be found"}, ""),
        ({"use": "check"}, ""),
    ],
)
def test_items_are_found_by_each_filter(project: Project, filters: dict[str, Any], expected: str) -> None:
    assert found(project, **filters) == expected.split()


def test_items_are_found_by_the_person_who_answered_and_by_words(project: Project) -> None:
    of_first, of_second = (project.annotators.get(name=name) for name in ("ann0", "ann1"))
    assert found(project, annotator=of_first) == ["s0", "s1", "s2", "s3", "s4"]
    assert found(project, annotator=of_second, label="B") == ["s1"]
    words = project.items.get(external_id="s3").text.upper()
    assert "s3" in found(project, text=words)


def test_items_are_found_by_the_current_name_of_their_label(project: Project) -> None:
    inventory.merge(project, ["A", "B"], target="A", by=curator())
    assert found(project, label="A") == ["s0", "s1", "s4"]
    assert found(project, label="B") == []


def test_items_are_found_by_a_label_that_thousands_became(project: Project) -> None:
    names = [f"L{at}" for at in range(1_200)]
    OntologyLabel.objects.bulk_create(
        OntologyLabel(project=project, part="relation", name=name, rank=9) for name in names
    )
    step = {"operation": "merge", "sources": [*names, "B"], "target": "A", "number": 1, "by": curator()}
    project.steps.create(**step)
    inventory.renew_stamp(project)
    assert found(project, label="A") == ["s0", "s1", "s4"]


def test_long_answers_are_searched_for_a_label_page_by_page(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_search, "MOST_CHARACTERS", 100)
    seen, after = list[str](), None
    for _ in range(7):
        page = item_search.search(project, ItemFilters(label="B"), for_user=curator(), after=after)
        seen += [item.external_id for item in page.items]
        if page.next is None:
            break
        assert (page.scanned, page.complete) == (1, False)
        after = Item.objects.get(key=page.next)
    assert seen == ["s1", "s4"]
    assert item_search.matching(project, ItemFilters(label="B"), action="exclude", for_user=curator())[1]


@pytest.mark.parametrize("order", ["", *item_order.ORDERS])
@pytest.mark.parametrize("filters", [{}, {"remark": "any"}, {"label": "A"}, {"state": "disputed"}])
@pytest.mark.parametrize("few", [0, 1_000])
def test_pages_add_up_to_the_list_in_both_directions(
    project: Project, filters: dict[str, Any], order: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_order, "FEW", few)
    every = found(project, order=order, **filters)

    def page(**place: Item) -> item_search.ItemPage:
        filtered = ItemFilters(**filters)
        return item_search.search(project, filtered, for_user=curator(), order=order, size=1, **place)

    def walk(first: item_search.ItemPage, step: str, place: str) -> Iterator[str]:
        at: item_search.ItemPage | None = first
        while at is not None:
            yield from (item.external_id for item in at.items)
            key = getattr(at, step)
            at = page(**{place: Item.objects.get(key=key)}) if key else None

    assert list(walk(page(), "next", "after")) == every
    last = page(after=project.items.get(external_id=every[-2])) if len(every) > 1 else page()
    assert list(walk(last, "previous", "before")) == every[::-1]


def test_a_search_stops_after_a_number_of_items_and_continues(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_search, "CHUNK", 2)
    monkeypatch.setattr(item_search, "MAX_SCANNED", 2)
    pages: list[list[str]] = []
    after: Item | None = None
    while not pages or after:
        page = item_search.search(project, ItemFilters(label="C"), for_user=curator(), after=after)
        pages.append([item.external_id for item in page.items])
        after = Item.objects.get(key=page.next) if page.next else None
        assert page.scanned <= 2
    assert pages == [[], ["s2"], []]


def test_rows_of_an_import_that_is_not_done_are_not_found(project: Project) -> None:
    project.batches.update(state="running")
    assert found(project) == found(project, text="s1") == found(project, label="A") == []


def test_numbers_beside_filters_are_those_of_the_lists(project: Project) -> None:
    states, patterns, uses = item_order.counts(project)
    assert {state: n for state, n in states.items() if n} == {"open": 2, "settled": 2, "disputed": 2}
    assert {pattern: len(found(project, pattern=pattern)) for pattern in patterns} == dict(patterns)
    assert uses == {}


@pytest.mark.parametrize("role", [ANNOTATOR, "viewer", "adjudicator"])
def test_only_curators_search_items(project: Project, role: str) -> None:
    user = person("curious")
    with pytest.raises(Http404):
        item_search.search(project, ItemFilters(), for_user=user)
    projects.set_member(project, user=user, role=role, by=curator())
    with pytest.raises(NotAllowed):
        item_search.search(project, ItemFilters(), for_user=user)


# ---- exclusion of items -------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["s0", "s1", "s5"])
def test_an_excluded_item_stays_excluded_when_answers_come(project: Project, name: str) -> None:
    item = project.items.get(external_id=name)
    decisions.exclude_item(item, by=curator(), finding="broken", reason="Cut off.")
    for user in annotators(project, 3):
        answer_item(item, user, "C", base=item.votes.filter(annotator__user=user).count())
    item.refresh_from_db()
    assert (item.state, item.gold, item.free) == ("unusable", None, 0)
    decisions.reopen(item, by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold) == ("settled", {"spans": [], "relations": ["C"]})


def test_a_decision_counts_again_once_an_exclusion_is_undone(project: Project) -> None:
    item = project.items.get(external_id="s1")
    payload = {"spans": [], "relations": ["A"]}
    decisions.decide(item, by=curator(), payload=payload, client_id=uuid4(), votes_key=item.votes_key)
    decisions.exclude_item(item, by=curator(), finding="entity")
    decisions.reopen(item, by=curator())
    item.refresh_from_db()
    assert (item.state, item.gold) == ("adjudicated", payload)


def test_a_curator_reopens_a_settled_item_for_one_more_answer(project: Project) -> None:
    item = project.items.get(external_id="s0")
    decisions.ask_one_more(item, by=curator())
    item.refresh_from_db()
    assert (item.state, item.free) == ("open", 1)
    decisions.cancel_one_more(item, by=curator())
    item.refresh_from_db()
    assert item.state == "settled"
