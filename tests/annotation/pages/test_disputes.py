"""The page on which a dispute is decided."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Adjudication, Item
from annotation.queue import votes as voting
from tests.cast.basics import sentence
from tests.cast.browser import open_as
from tests.cast.projects import ProjectCast
from tests.cast.replay import replayed

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
@replayed
def cast(db: None) -> ProjectCast:
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in (1, 2, 3)))
    return cast.open()


def address(item: Item) -> str:
    return reverse("dispute", args=["harbour", item.key])


def decision(item: Item, *relations: str, **more: str) -> dict[str, str]:
    choice = {"spans": [], "relations": list(relations)}
    return {"client_id": str(uuid4()), "votes_key": item.votes_key, "choice": json.dumps(choice)} | more


def test_answers_are_shown_without_names_under_letters_that_are_no_keys(
    client: Client, cast: ProjectCast
) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    page = client.get(address(item)).content.decode()
    shown = re.sub(r"<[^>]+>", " ", page)
    letters = re.findall(r'<th scope="col">([A-Z])</th>', page)
    assert len(set(letters)) == 2
    assert not set(letters) & set(re.findall(r'<kbd class="key">(.)</kbd>', page))
    assert "She stayed for years." in shown
    assert not re.search(r"\b([Aa]nn|[Bb]ob)\b", shown)


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ((["born_in"], [], [], []), "na_not_unanimous"),
        ((["born_in"], ["born_in"], [], []), "no_majority"),
        ((["born_in"], ["lived_in"], ["died_in"], []), "no_majority"),
    ],
)
def test_the_reason_of_a_dispute_agrees_with_its_votes(
    client: Client, db: None, answers: tuple[list[str], ...], reason: str
) -> None:
    cast = ProjectCast.create(k=4)
    cast.import_lines(sentence(1))
    cast.import_lines(
        *({"item": "s1", "annotator": f"a{at}"} | ({"labels": each} if each else {"na": True})
          for at, each in enumerate(answers)),
        what="votes",
    )  # fmt: skip
    client.force_login(cast.people["judy"])
    assert client.get(address(cast.item(1))).context["view"].reason == reason


def test_each_voted_relation_both_and_none_have_a_key(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    page = client.get(address(item)).content.decode()
    assert re.findall(r'data-key="(.)"', page) == ["1", "2", "3", "N", "/", "B", "E"]
    assert 'name="action" value="ask"' in page


def test_a_decision_settles_the_sentence_and_opens_the_next(client: Client, cast: ProjectCast) -> None:
    first, second = cast.dispute(1), cast.dispute(2)
    client.force_login(cast.people["judy"])
    answer = client.post(address(first), decision(first, "lived_in", reason="The text says so."))
    assert answer.headers["Location"] == address(second)
    first.refresh_from_db()
    assert first.gold == {"spans": [], "relations": ["lived_in"]}
    assert Adjudication.objects.get().reason == "The text says so."


def test_the_last_decision_returns_to_the_list(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    answer = client.post(address(item), decision(item), follow=True)
    assert answer.redirect_chain[-1][0] == reverse("disputes", args=["harbour"])
    assert (answer.context["waiting"], answer.context["decided"]) == (0, 1)


def test_a_relation_nobody_voted_for_can_be_decided(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    client.post(address(item), decision(item) | {"choice": "other", "relation": "died_in"})
    item.refresh_from_db()
    assert item.gold == {"spans": [], "relations": ["died_in"]}


def test_a_decision_without_a_choice_is_rejected_and_keeps_the_reason(
    client: Client, cast: ProjectCast
) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    page = client.post(address(item), decision(item) | {"choice": "", "reason": "half a thought"})
    assert page.context["problem"].code == "nothing_chosen"
    assert 'value="half a thought"' in page.content.decode()
    assert not Adjudication.objects.exists()


@pytest.mark.parametrize("odd", ["{}", "[1]", '{"spans": 1, "relations": [2]}', "nonsense", ""])
def test_a_second_decision_is_rejected_and_shown(client: Client, cast: ProjectCast, odd: str) -> None:
    item = cast.dispute(1)
    client.force_login(cast.curator)
    client.post(address(item), decision(item))
    client.force_login(cast.people["judy"])
    second = decision(item, "born_in", reason="It names a birth.")
    page = client.post(address(item), second)
    assert page.context["decision"].by == cast.curator
    assert re.search("<b>place of birth</b>.*It names a birth.", page.content.decode())
    assert Adjudication.objects.count() == 1
    assert client.post(address(item), second | {"choice": odd}).status_code == 200


def test_a_changed_vote_rejects_the_decision_and_keeps_the_reason(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    stale = decision(item, "lived_in", reason="The text says so.") | {"votes_key": "0" * 64}
    page = client.post(address(item), stale).content.decode()
    assert 'data-code="votes_changed"' in page
    assert 'value="The text says so."' in page
    assert not Adjudication.objects.exists()


def test_asking_one_more_annotator_returns_the_sentence_to_the_queue(
    client: Client, cast: ProjectCast
) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    client.post(address(item), {"action": "ask"})
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == (Item.State.OPEN, 1, 1)
    assert 'value="unask"' in client.get(address(item)).content.decode()


def test_a_request_for_one_more_annotator_is_undone(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    client.post(address(item), {"action": "ask"})
    assert client.post(address(item), {"action": "unask"}).headers["Location"] == address(item)
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == (Item.State.DISPUTED, 0, 0)
    assert client.post(address(item), {"action": "unask"}).status_code == 409


def test_unanswerable_items_are_listed_and_decided_with_their_reasons(
    client: Client, cast: ProjectCast
) -> None:
    item = cast.item(1)
    for who in ("ann", "bob"):
        voting.skip(
            item, cast.people[who], client_id=uuid4(), reason="undecided", comment=f"Hard, says {at(who)}."
        )
    client.force_login(cast.people["judy"])
    listed = client.get(reverse("disputes", args=["harbour"]))
    assert listed.context["unanswerable"] == 1
    assert address(item) in listed.content.decode()
    page = client.get(address(item)).content.decode()
    shown = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert re.search(r"2 of 2 .*Hard, says 1\..*Hard, says 2\.", shown)
    assert re.findall(r'data-key="(.)"', page) == ["N", "/", "B", "E"]
    assert not re.search(r"\b([Aa]nn|[Bb]ob)\b", shown)
    answer = client.post(address(item), decision(item, "died_in", reason="It says so."))
    assert answer.headers["Location"] == reverse("disputes", args=["harbour"])
    item.refresh_from_db()
    assert (item.state, item.gold["relations"]) == (Item.State.ADJUDICATED, ["died_in"])


def at(who: str) -> int:
    return ["ann", "bob"].index(who) + 1


@pytest.mark.parametrize("page", ["home", "label-index", "project", "freeze", "progress"])
def test_every_page_counts_unanswerable_items_as_disputes(
    client: Client, cast: ProjectCast, page: str
) -> None:
    for who in ("ann", "bob"):
        voting.skip(cast.item(1), cast.people[who], client_id=uuid4(), reason="broken")
    client.force_login(cast.curator)
    expected = {
        "home": "1 dispute to decide",
        "label-index": "1 dispute to decide",
        "project": "1 skipped by everyone",
        "freeze": "Everyone skipped 1 of them",
        "progress": "1 needs a decision",
    }
    args = [] if page in ("home", "label-index") else ["harbour"]
    assert expected[page] in client.get(reverse(page, args=args)).content.decode()


def test_disputes_can_be_filtered_by_vote_pattern(client: Client, cast: ProjectCast) -> None:
    cast.dispute(1)
    cast.answer("ann", 2, "lived_in")
    cast.answer("bob", 2)
    client.force_login(cast.people["judy"])
    patterns = dict(Item.objects.filter(state="disputed").values_list("external_id", "pattern"))
    page = client.get(reverse("disputes", args=["harbour"]), {"pattern": patterns["s2"]}).content.decode()
    assert "Turin, s2." in page
    assert "Turin, s1." not in page


def test_equal_span_answers_are_grouped(client: Client, db: None) -> None:
    cast = ProjectCast.create(kind="entities", k=3, labels=["PER", "LOC"])
    cast.import_lines({"id": "s1", "tokens": ["Ada", "Lovelace", "saw", "Turin"], "spans": []})
    votes = {"ann1": [[0, 2, "PER"]], "ann2": [[0, 2, "PER"], [3, 4, "LOC"]], "ann3": [[3, 4, "PER"]]}
    cast.import_lines(
        *({"item": "s1", "annotator": who, "spans": spans} for who, spans in votes.items()), what="votes"
    )
    item = cast.item(1)
    assert item.state == Item.State.DISPUTED, item.pattern
    client.force_login(cast.people["judy"])
    page = client.get(address(item)).content.decode()
    assert page.count('data-label="PER"') == 3
    assert page.count('data-label="LOC"') == 1
    assert re.findall(r'data-key="(.)"', page) == ["1", "2", "3", "N", "B", "E"]
    assert "ann1" not in page


@pytest.mark.parametrize("finding", ["broken", "entity"])
def test_a_sentence_can_be_excluded_from_the_set_with_a_reason(
    client: Client, cast: ProjectCast, finding: str
) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    client.post(address(item), decision(item) | {"choice": finding, "reason": "Cut off."})
    item.refresh_from_db()
    assert (item.state, item.gold) == (Item.State.UNUSABLE, None)
    page = client.get(address(item)).content.decode()
    assert "Cut off." in page


def test_an_undone_decision_is_on_the_form_again(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    client.post(address(item), decision(item, "born_in", "lived_in", reason="It names both."))
    answer = client.post(address(item), {"action": "undo"})
    assert answer.headers["Location"] == address(item)
    page = client.get(address(item)).content.decode()
    (chosen,) = re.findall(r'data-key="(.)" checked', page)
    assert chosen == "3"
    assert 'value="It names both."' in page


def test_decisions_are_listed_with_links_to_their_sentences(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    client.post(address(item), decision(item, "lived_in", reason="The text says so."))
    page = client.get(reverse("disputes", args=["harbour"]) + "?decided").content.decode()
    assert "place lived" in page
    assert "The text says so." in page
    assert address(item) in page


def test_only_the_adjudicator_or_a_curator_can_undo_a_decision(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["curator"])
    client.post(address(item), decision(item, "lived_in"))
    client.force_login(cast.people["judy"])
    assert "Reopen</button>" not in client.get(address(item)).content.decode()
    assert client.post(address(item), {"action": "undo"}).status_code == 403
    client.force_login(cast.people["curator"])
    assert "Reopen</button>" in client.get(address(item)).content.decode()


def test_votes_on_spans_are_listed_with_their_text(client: Client, db: None) -> None:
    cast = ProjectCast.create(kind="entities", k=3, labels=["PER", "LOC"])
    cast.import_lines({"id": "s1", "tokens": ["Ada", "Lovelace", "saw", "Turin"], "spans": []})
    votes = {"ann1": [[0, 2, "PER"]], "ann2": [[0, 2, "PER"], [3, 4, "LOC"]], "ann3": [[3, 4, "PER"]]}
    cast.import_lines(
        *({"item": "s1", "annotator": who, "spans": spans} for who, spans in votes.items()), what="votes"
    )
    item = cast.item(1)
    assert (item.state, item.pattern) == (Item.State.DISPUTED, "1–1–1")
    client.force_login(cast.people["judy"])
    page = " ".join(re.sub(r"<[^>]+>", " ", client.get(address(item)).content.decode()).split())
    assert "Ada Lovelace PER" in page
    assert "2 of 3 ✓" in page
    assert "Turin LOC" in page


@pytest.mark.browser
def test_a_dispute_is_decided_undone_and_excluded_by_keys(live: str, page: Page) -> None:
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in (1, 2)))
    cast.open()
    first, second = cast.dispute(1), cast.dispute(2)
    open_as(page, "judy", address(first))
    for key in ("3", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(live + address(second))
    page.keyboard.press("z")
    page.wait_for_url(live + address(first))
    page.locator("input[data-key='3']:checked").wait_for(state="attached")
    for key in ("b", "w"):
        page.keyboard.press(key)
    page.keyboard.type("Cut off.")
    page.keyboard.press("Enter")
    page.wait_for_url(live + address(second))
    for key in ("/", "Escape", "n", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("All disputes are decided").wait_for()
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.state, first.adjudications.count()) == (Item.State.UNUSABLE, 2)
    assert second.gold == {"spans": [], "relations": []}


@pytest.mark.parametrize("choice", ["[" * 100_000, "[" * 500 + "]" * 500, '{"relations": ["\\u0000"]}'])
def test_an_unreadable_choice_is_rejected(client: Client, cast: ProjectCast, choice: str) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    page = client.post(address(item), decision(item) | {"choice": choice})
    assert page.status_code in (200, 400)
    assert not Adjudication.objects.exists()


@pytest.mark.browser
def test_a_phone_shows_no_decision_keys(page: Page, live: str) -> None:
    cast = ProjectCast.create()
    cast.import_lines(sentence(1))
    item = cast.open().dispute(1)
    open_as(page, "judy", address(item))
    keys = page.locator(".choice .key")
    assert keys.first.is_visible()
    page.set_viewport_size({"width": 360, "height": 740})
    assert keys.count() >= 4
    assert page.locator(".choice .key:visible").count() == 0
