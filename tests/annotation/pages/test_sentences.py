"""Pages of all sentences and of one: answers with names, history, and what a curator can do."""

from __future__ import annotations

import csv
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import projects
from annotation.adjudication import bulk_actions
from annotation.models import Item
from annotation.ontology import inventory
from annotation.queue import votes
from annotation.reports import item_history, item_search, item_table
from annotation.reports.item_order import ItemFilters
from evalsvc.core.activity.models import entries
from evalsvc.core.errors.exceptions import DomainError, NotAllowed
from tests.cast.basics import person, sentence
from tests.cast.projects import (
    ProjectCast,
    annotators,
    create_project,
    curator,
    import_lines,
    response_of,
    seen,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> ProjectCast:
    """s1 disputed with a comment, s2 settled, s3 open."""
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in range(1, 4)))
    cast.open().dispute(1)
    for who in ("ann", "bob"):
        cast.answer(who, 2, "died_in")
    return cast


def press(cast: ProjectCast, item: Item, action: str, **fields: Any) -> Item:
    browser = Client()
    browser.force_login(cast.curator)
    address = reverse("sentence", args=["harbour", item.key])
    response = browser.post(address, {"action": action, **fields})
    assert response.status_code == 302, response.content.decode()
    item.refresh_from_db()
    return item


def shown(cast: ProjectCast, item: Item) -> str:
    browser = Client()
    browser.force_login(cast.curator)
    return browser.get(reverse("sentence", args=["harbour", item.key])).content.decode()


def test_the_list_shows_answers_outcomes_and_remarks(cast: ProjectCast) -> None:
    page = seen(cast.project, "sentences", user="cleo")
    for text in ("1 place lived · 1 place of birth", "2 place of death", ">disputed</span>", "1 comment"):
        assert text in page


def test_the_list_by_newest_answers_shows_when_they_came(cast: ProjectCast) -> None:
    page = seen(cast.project, "sentences", user="cleo", order="answered")
    assert page.index(">s2</span>") < page.index(">s1</span>")
    assert ">s3</span>" not in page
    moment = cast.item(2).votes.latest("pk").at.isoformat()
    assert f'<time datetime="{moment}"' in page
    assert "Sentences without answers are not in this order." in page


def test_the_list_takes_as_many_queries_for_many_rows_as_for_few(cast: ProjectCast) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            seen(cast.project, "sentences", user="cleo")
        return len(captured)

    queries()
    few = queries()
    import_lines(cast.project, [sentence(at) for at in range(4, 40)], by=cast.curator)
    for at in range(4, 12):
        cast.answer("ann", at, "born_in", comment="Why?")
    assert queries() == few


def test_a_sentence_shows_every_answer_and_what_happened_to_it(cast: ProjectCast) -> None:
    item = cast.item(1)
    answer = item.answers.get(annotator__name="bob")
    press(cast, item, "answer", answer=answer.pk)
    press(cast, item, "answer", answer=answer.pk)
    press(cast, item, "exclude", finding="broken", reason="Cut off.")
    press(cast, item, "reopen")
    page = " ".join(shown(cast, item).split())
    for text in (
        "Ann Doe",
        "She stayed for years.",
        "place of birth",
        "answer of Bob Doe: excluded",
        "answer of Bob Doe: counted",
        "excluded the sentence",
        "Cut off.",
        "the decision was undone",
        "imported from lines.jsonl",
    ):
        assert text in page, text


def test_a_curator_reopens_excludes_and_includes_a_sentence(cast: ProjectCast) -> None:
    item = cast.item(2)
    assert press(cast, item, "ask").state == "open"
    assert press(cast, item, "unask").state == "settled"
    assert press(cast, item, "exclude", finding="entity").state == "unusable"
    assert press(cast, item, "reopen").state == "settled"


def test_one_more_answer_is_offered_only_while_somebody_can_give_it(cast: ProjectCast) -> None:
    button, item = "Reopen for one more answer", cast.item(2)
    assert button not in shown(cast, item)
    projects.set_member(cast.project, user=person("dora"), role="annotator", by=cast.curator)
    assert button in shown(cast, item)
    projects.close(cast.project, by=cast.curator)
    assert button not in shown(cast, item)


def test_an_unanswered_sentence_becomes_a_gold_question_and_ordinary_again(cast: ProjectCast) -> None:
    item = press(cast, cast.item(3), "gold", use="check", answer="born_in")
    assert (item.use, item.known.payload["relations"]) == ("check", ["born_in"])
    assert "hidden check" in seen(cast.project, "sentences", user="cleo", use="check")
    assert press(cast, item, "work").use == ""


def test_answers_of_span_projects_show_the_words_that_were_marked() -> None:
    project = create_project("joint", labels=("PER",), k=1)
    inventory.add_labels(project, ["born_in"], by=curator(), part="relation")
    import_lines(project, [{"id": "s0", "text": "Ada, Turin"}])
    projects.open_for_work(project, by=curator())
    (user,) = annotators(project, 1)
    payload = {"spans": [[0, 3, "PER"], [5, 10, "PER"]], "relations": [[0, "born_in", 1]]}
    votes.answer(project.items.get(), user, client_id=uuid4(), payload=payload)
    page = seen(project, "sentences")
    assert "1 Ada (PER), Turin (PER), Ada – born in – Turin" in page
    browser = Client()
    browser.force_login(curator())
    page = browser.get(reverse("sentence", args=[project.slug, project.items.get().key])).content.decode()
    assert page.count('class="lane sp--person ') == 2
    assert page.count("1 of 1") == 2
    assert "can become gold questions" in page
    assert "Mark the known answer" not in page


def test_pages_stay_small_whatever_answers_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_history, "MOST_VOTES", 3)
    project = create_project("joint", labels=("PER",), k=2)
    inventory.add_labels(project, ["born_in"], by=curator(), part="relation")
    projects.set_overlap(project, may_overlap=True, by=curator())
    import_lines(project, [{"id": "s0", "text": "abcd " * 800}])
    projects.open_for_work(project, by=curator())
    item = project.items.get()
    for shift, user in enumerate(annotators(project, 2)):
        spans = [[8 * n, min(4_000, 8 * n + 150 + shift), "PER"] for n in range(500)]
        payload = {"spans": spans, "relations": [[n, "born_in", 499 - n] for n in range(500)]}
        for base in range(2):
            votes.answer(item, user, client_id=uuid4(), base=base, payload=payload)
    browser = Client()
    browser.force_login(curator())
    pages = {
        name: browser.get(reverse(name, args=[project.slug, *keys])).content.decode()
        for name, *keys in (("sentences",), ("sentence", item.key), ("dispute", item.key))
    }
    assert "and 800 more" in pages["sentence"]
    assert "earlier answers are not listed" in pages["sentence"]
    assert "Only the first 400 parts" in pages["dispute"]
    for name, most in (("sentences", 40_000), ("sentence", 110_000), ("dispute", 1_000_000)):
        assert len(pages[name]) < most, (name, len(pages[name]))


@pytest.mark.parametrize(
    "query", [{"state": "lost"}, {"use": "lost"}, {"after": "lost"}, {"after": "0" * 32}, {"before": "x"}]
)
def test_a_filter_or_place_that_does_not_exist_is_answered_with_404(
    cast: ProjectCast, query: dict[str, str]
) -> None:
    browser = Client()
    browser.force_login(cast.curator)
    assert browser.get(reverse("sentences", args=["harbour"]), query).status_code == 404


def test_the_api_lists_the_same_with_names_of_downloads(cast: ProjectCast) -> None:
    browser = Client()
    browser.force_login(cast.curator)
    address = reverse("api-items", args=["harbour"])
    first = browser.get(address, {"page_size": 2}).json()
    rest = browser.get(address, {"page_size": 2, "after": first["next"]}).json()
    listed = first["results"] + rest["results"]
    assert [row["external_id"] for row in listed] == ["s1", "s2", "s3"]
    answers = [(answer["annotator"], answer["payload"]["relations"]) for answer in listed[0]["answers"]]
    assert answers == [("ann", ["lived_in"]), ("bob", ["born_in"])]
    assert (rest["next"], first["previous"], rest["complete"]) == (None, None, True)
    by_person = browser.get(address, {"annotator": "bob", "label": "died_in"}).json()
    assert [row["external_id"] for row in by_person["results"]] == ["s2"]
    assert browser.get(address, {"annotator": "nobody"}).status_code == 404


def test_the_list_numbers_its_pages_and_counts_what_matches(
    cast: ProjectCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_search, "PER_PAGE", 2)
    first = response_of(cast.project, "sentences", user="cleo", label="")
    assert "1 to 2 of 3" in first.content.decode()
    onwards = first.context["found"].next
    second = seen(cast.project, "sentences", user="cleo", after=onwards, start="3")
    assert "3 to 3 of 3" in second
    assert f"start=1&before={cast.item(3).key}" in second
    assert "to 3 of" not in seen(cast.project, "sentences", user="cleo", after=onwards)
    assert "to 3 of" not in seen(cast.project, "sentences", user="cleo", after=onwards, start="x")
    assert "1 of 3 match" in seen(cast.project, "sentences", user="cleo", state="open")


# ---- several sentences at once -------------------------------------------------------------------------
def select(cast: ProjectCast, action: str, *at: int, do: str = "apply", **fields: Any) -> Any:
    browser = Client()
    browser.force_login(cast.curator)
    items = [str(cast.item(number).key) for number in at]
    address = reverse("sentences-selected", args=["harbour"]) + "?order=id"
    return browser.post(address, {"action": action, "do": do, "item": items, **fields}, follow=do == "apply")


def states(cast: ProjectCast) -> dict[str, str]:
    return {item.external_id: item.use or item.state for item in cast.project.items.order_by("rank")}


STATES = {"s1": "disputed", "s2": "settled", "s3": "open"}


@pytest.mark.parametrize(
    ("action", "fields", "after", "message"),
    [
        ("exclude", {"finding": "broken"}, dict.fromkeys(STATES, "unusable"), "3 sentences excluded."),
        ("reopen", {}, {"s2": "open"}, "1 sentence reopened. Not changed: 1. This sentence is disputed"),
        (
            "include",
            {},
            {},
            "0 sentences included again. Not changed: 3. This sentence is not excluded.",
        ),
        (
            "gold",
            {"use": "check", "answer": ["born_in"]},
            {"s3": "check"},
            "1 sentence added to the gold questions. Not changed: 2. This sentence was already answered",
        ),
    ],
)
def test_selected_sentences_change_together_once_the_effect_was_shown(
    cast: ProjectCast, action: str, fields: dict[str, Any], after: dict[str, str], message: str
) -> None:
    projects.set_member(cast.project, user=person("dora"), role="annotator", by=cast.curator)
    page = select(cast, action, 1, 2, 3, do="show").content.decode()
    assert f"{len(after)} sentence" in page
    assert states(cast) == STATES
    assert message in select(cast, action, 1, 2, 3, **fields).content.decode()
    assert states(cast) == STATES | after
    entry = entries(cast.project)[0]
    assert (entry.after == sorted(after)) is bool(after)


def test_excluded_sentences_are_included_together_and_log_their_states(cast: ProjectCast) -> None:
    select(cast, "exclude", 1, 2, finding="broken", reason="Cut off.")
    assert entries(cast.project)[0].about == "2 of 2 selected: The sentence is broken; Cut off."
    select(cast, "include", 1, 2, 3)
    assert states(cast) == STATES
    entry = entries(cast.project)[0]
    logged = (entry.action, entry.about, entry.before, entry.after)
    assert logged == ("sentences included", "2 of 3 selected", {"unusable": 2}, ["s1", "s2"])


def test_a_selection_is_bounded_and_never_leaves_its_project(
    cast: ProjectCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = create_project()
    import_lines(other, [sentence(1)], by=curator())
    stranger = other.items.get()
    with pytest.raises(DomainError, match="No sentence is selected"):
        bulk_actions.apply(cast.project, [stranger.key], "exclude", by=cast.curator, finding="broken")
    monkeypatch.setattr(bulk_actions, "MAX_ITEMS", 2)
    page = select(cast, "exclude", 1, 2, 3, finding="broken").content.decode()
    assert "3 sentences are selected; the limit is 2." in page
    assert states(cast) == STATES


def select_all(cast: ProjectCast, action: str, query: str = "", *, do: str = "apply", **fields: Any) -> Any:
    browser = Client()
    browser.force_login(cast.curator)
    address = reverse("sentences-selected", args=["harbour"]) + query
    return browser.post(address, {"action": action, "do": do, "all": "1", **fields}, follow=True)


def test_all_that_match_change_together_once_the_effect_was_shown(cast: ProjectCast) -> None:
    second = {"user": "cleo", "after": str(cast.item(1).key)}
    assert "All 3 that match" in seen(cast.project, "sentences", **second)
    assert "All that match" in seen(cast.project, "sentences", **second, label="died_in")
    assert "that match" not in seen(cast.project, "sentences", user="cleo")
    shown = select_all(cast, "exclude", "?label=died_in&after=", do="show")
    assert (shown.context["n"], shown.context["n_rows"]) == (1, 1)
    shown = select_all(cast, "exclude", do="show")
    assert shown.context["groups"] == [
        (("disputed", "excluded", ""), 1),
        (("settled", "excluded", ""), 1),
        (("open", "excluded", ""), 1),
    ]
    assert select_all(cast, "exclude", "?order=answered", do="show").context["n"] == 2
    values = {"finding": "broken", "previewed": shown.context["previewed"]}
    cast.answer("ann", 3, "born_in")
    cast.answer("bob", 3, "born_in")
    assert "changed since the preview" in select_all(cast, "exclude", **values).content.decode()
    assert states(cast) == STATES | {"s3": "settled"}
    values["previewed"] = select_all(cast, "exclude", do="show").context["previewed"]
    assert "3 sentences excluded." in select_all(cast, "exclude", **values).content.decode()
    none = "None of the sentences that match can be reopened."
    assert none in select_all(cast, "reopen", do="show").content.decode()
    assert "3 sentences included again." in select_all(cast, "include", "?state=unusable").content.decode()
    assert states(cast) == STATES | {"s3": "settled"}


def test_all_that_match_are_bounded_and_the_rest_follows(
    cast: ProjectCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_actions, "MAX_ITEMS", 2)
    monkeypatch.setattr(bulk_actions, "MAX_NAMED", 1)
    first = select_all(cast, "exclude", "?q=seen", finding="broken").content.decode()
    assert "2 sentences excluded. More may match: select all again" in first
    assert entries(cast.project)[0].after == {"sentences": 2, "q": "seen"}
    assert "1 sentence excluded." in select_all(cast, "exclude", "?q=seen", finding="broken").content.decode()
    assert states(cast) == dict.fromkeys(STATES, "unusable")


@pytest.mark.parametrize("name", ["sentences-csv", "api-items-csv"])
def test_the_filtered_list_is_downloaded_in_its_order_and_kept_by_no_cache(
    cast: ProjectCast, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_table, "SIZE", 1)
    browser = Client()
    browser.force_login(cast.curator)
    address = reverse(name, args=["harbour"])
    response = browser.get(address, {"annotator": "bob", "order": "newest"})
    rows = list(csv.DictReader(b"".join(response).decode().splitlines()))
    assert [row["id"] for row in rows] == ["s2", "s1"]
    assert (rows[0]["state"], rows[0]["outcome"], rows[0]["answers"]) == ("settled", "died_in", "2 died_in")
    assert (rows[1]["votes"], rows[1]["n_answers"], rows[1]["n_comments"]) == ("1–1", "2", "1")
    assert response["Cache-Control"] == "private, no-store"


def test_a_table_that_was_begun_goes_on_when_its_reader_loses_the_role(
    cast: ProjectCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_table, "SIZE", 1)
    reader = cast.people["vera"]
    projects.set_member(cast.project, user=reader, role="curator", by=cast.curator)
    rows = item_table.rows(cast.project, ItemFilters(), for_user=reader)
    first = next(rows)
    projects.set_member(cast.project, user=reader, role="annotator", by=cast.curator)
    assert len([first, *rows]) == cast.project.items.live().count() > 1
    with pytest.raises(NotAllowed):
        item_table.rows(cast.project, ItemFilters(), for_user=reader)
