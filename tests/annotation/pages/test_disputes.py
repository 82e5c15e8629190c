"""The page on which a dispute is decided."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import decisions, dispute_list
from annotation.models import Adjudication, Item
from annotation.ontology import inventory, label_texts
from annotation.queue import votes as voting
from annotation.queue.quality_settings import set_quality_options
from tests.cast.basics import sentence
from tests.cast.browser import open_as
from tests.cast.projects import ProjectCast
from tests.cast.replay import replayed
from tests.places.browser import WIDER

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


def test_the_section_of_the_guideline_on_a_voted_label_is_beside_the_dispute(
    client: Client, cast: ProjectCast
) -> None:
    text = "# General\nRead twice.\n\n## born_in\nA *place*, no date.\n\n## died_in\nNot voted."
    projects.set_guideline(cast.project, guideline=text, na_means="none", by=cast.people["curator"])
    item = cast.dispute(1)
    label = cast.project.labels.get(name="born_in")
    label_texts.set_texts(label, definition="From **birth**.", by=cast.people["curator"])
    client.force_login(cast.people["judy"])
    page = client.get(address(item)).content.decode()
    assert "<p>A <em>place</em>, no date.</p>" in page
    assert "<p>From <strong>birth</strong>.</p>" in page
    assert "Not voted." not in page
    assert "Read twice." not in page


def test_one_more_person_is_offered_while_somebody_can_answer(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    assert 'name="action" value="ask"' not in client.get(address(item)).content.decode()
    projects.set_member(cast.project, user=cast.people["vera"], role="annotator", by=cast.curator)
    assert 'name="action" value="ask"' in client.get(address(item)).content.decode()


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


@pytest.mark.parametrize("odd", ["99999999999999999999", "[]", "0", '""', "false", "null", "[[]]"])
def test_a_choice_that_is_no_answer_is_not_taken_for_na(client: Client, cast: ProjectCast, odd: str) -> None:
    item = cast.dispute(1)
    client.force_login(cast.people["judy"])
    for fields in ({"choice": odd}, {"choice": "edit", "answer": odd}):
        page = client.post(address(item), decision(item) | fields)
        assert page.context["problem"].code in ("bad_payload", "nothing_chosen")
    assert not Adjudication.objects.exists()


@pytest.mark.parametrize("odd", ["{}", "[1]", "5", "null", '{"spans": 1, "relations": [2]}', "nonsense", ""])
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
    projects.set_member(cast.project, user=cast.people["vera"], role="annotator", by=cast.curator)
    client.force_login(cast.people["judy"])
    client.post(address(item), {"action": "ask"})
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == (Item.State.OPEN, 1, 1)
    assert 'value="unask"' in client.get(address(item)).content.decode()


def test_a_request_for_one_more_annotator_is_undone(client: Client, cast: ProjectCast) -> None:
    item = cast.dispute(1)
    projects.set_member(cast.project, user=cast.people["vera"], role="annotator", by=cast.curator)
    client.force_login(cast.people["judy"])
    client.post(address(item), {"action": "ask"})
    assert client.post(address(item), {"action": "unask"}).headers["Location"] == address(item)
    item.refresh_from_db()
    assert (item.state, item.extra, item.free) == (Item.State.DISPUTED, 0, 0)
    assert client.post(address(item), {"action": "unask"}).status_code == 409


def test_curators_decide_a_sentence_that_waits_for_a_person_called_without_them(
    client: Client, cast: ProjectCast
) -> None:
    set_quality_options(cast.project, by=cast.curator, calls_extra=True)
    projects.set_member(cast.project, user=cast.people["vera"], role="annotator", by=cast.curator)
    item = cast.dispute(1)
    assert (item.state, item.called, item.free) == (Item.State.OPEN, 1, 1)
    client.force_login(cast.curator)
    assert "Decide without another answer" in client.get(address(item)).content.decode()
    client.post(address(item), {"action": "unask"})
    item.refresh_from_db()
    assert (item.state, item.called, item.free) == (Item.State.DISPUTED, 0, 0)
    client.post(address(item), decision(item, "lived_in"))
    item.refresh_from_db()
    assert item.state == Item.State.ADJUDICATED


def test_a_request_is_cancelled_before_calls(cast: ProjectCast) -> None:
    item = cast.dispute(1)
    cast.project.items.filter(pk=item.pk).update(called=1, asked=1, extra=2, state=Item.State.OPEN)
    for extra, asked in ((1, 0), (0, 0)):
        item = decisions.cancel_one_more(item, by=cast.curator)
        assert (item.extra, item.asked) == (extra, asked)


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


def test_a_call_that_nobody_is_left_to_answer_is_listed_and_decided(
    client: Client, cast: ProjectCast
) -> None:
    set_quality_options(cast.project, by=cast.curator, calls_extra=True)
    cast.dispute(1)
    item = cast.item(1)
    client.force_login(cast.people["judy"])
    assert address(item) in client.get(reverse("disputes", args=["harbour"])).content.decode()
    page = client.get(address(item)).content.decode()
    shown = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "2 people answered it, and 3 answers are needed. No other annotator is left to ask" in shown
    assert "2 of the 3 answers needed, in shuffled order" in shown
    client.post(address(item), decision(item, "died_in"))
    item.refresh_from_db()
    assert item.state == Item.State.ADJUDICATED


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
        "project": "nobody is left to answer 1",
        "freeze": "Nobody is left to answer 1 of them",
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


def test_long_answers_are_searched_for_a_label_among_the_first_disputes(
    client: Client, cast: ProjectCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast.dispute(1)
    cast.dispute(2)
    client.force_login(cast.people["judy"])
    address, query = reverse("disputes", args=["harbour"]), {"label": "lived_in"}
    page = client.get(address, query).content.decode()
    assert ("s1." in page, "s2." in page, "label was looked for" in page) == (True, True, False)
    monkeypatch.setattr(dispute_list, "MOST_CHARACTERS", 1)
    page = client.get(address, query).content.decode()
    assert ("s1." in page, "s2." in page) == (True, False)
    assert "in the first 1 of these disputes only" in page
    listed = client.get("/api/v1/projects/harbour/disputes", query).json()["results"]
    assert len(listed) == 1


def test_disputes_of_one_pattern_alone_can_be_decided_together(client: Client, cast: ProjectCast) -> None:
    cast.dispute(1)
    client.force_login(cast.people["judy"])
    pattern = Item.objects.get(state="disputed").pattern
    address = reverse("disputes", args=["harbour"])
    (link,) = re.findall(r'href="(\?pattern=[^"]+)"', client.get(address).content.decode())
    page = client.get(address + link)
    assert page.context["filters"].pattern == pattern
    assert reverse("disputes-bulk", args=["harbour"]) in page.content.decode()


LABELS = ["person", "location"]
SPAN_VOTES: dict[str, list[Any]] = {"ann1": [[0, 7, "person"]], "ann2": [[0, 9, "location"]], "ann3": []}


def span_dispute(
    votes: Mapping[str, Any] = SPAN_VOTES,
    *,
    kind: str = "entities",
    text: str = "Sonmarg , in Kashmir",
    n: int = 1,
) -> ProjectCast:
    """Import texts to mark, the first with votes of imported people."""
    cast = ProjectCast.create(kind=kind, k=len(votes), labels=LABELS)
    if kind == "joint":
        inventory.add_labels(cast.project, ["lived_in"], by=cast.curator, part="relation")
    cast.project.policy = "majority"
    cast.project.save()
    cast.import_lines(*({"id": f"s{at}", "text": text, "spans": []} for at in range(1, n + 1)))
    lines = [
        {"item": f"s{at}", "annotator": who} | (own if isinstance(own, dict) else {"spans": own})
        for at in range(1, n + 1)
        for who, own in votes.items()
    ]
    cast.import_lines(*lines, what="votes")
    return cast


def span_page(client: Client, cast: ProjectCast, at: int = 1) -> Any:
    client.force_login(cast.people["judy"])
    return client.get(address(cast.item(at)))


def span_decision(cast: ProjectCast, **fields: Any) -> dict[str, Any]:
    return {"client_id": str(uuid4()), "votes_key": cast.item(1).votes_key, "choice": "parts"} | fields


def test_competing_spans_stand_once_under_the_text_with_their_votes(client: Client, db: None) -> None:
    page = span_page(client, span_dispute()).content.decode()
    (text,) = re.findall(r'<p class="laid" dir="auto">(.*?)</p>', page)
    words = "".join(re.findall(r'<span class="w[^>]*>(.*?)</span>', text))
    assert words + text.rsplit("</span>", 1)[1] == "Sonmarg , in Kashmir"
    assert re.findall(r"lane sp--\w+ (k\d n\d)", text) == ["k1 n2", "k1 n1"]
    assert "ann1" not in page


def test_words_from_right_to_left_are_isolated_from_the_types_beside_them(client: Client, db: None) -> None:
    page = span_page(client, span_dispute(text="سامي في صور", votes={"ann1": [[0, 4, "person"]], "ann2": []}))
    (option, nothing) = page.context["view"].parts[0].options
    assert (option.title, nothing.title) == ("“\u2068سامي\u2069” person", "Nothing here")
    assert '<b dir="auto">' not in page.content.decode()


def test_only_what_the_votes_left_open_is_asked(client: Client, db: None) -> None:
    cast = span_dispute(SPAN_VOTES | {"ann1": [[0, 7, "person"], [13, 20, "location"]],
                                      "ann3": [[13, 20, "location"]]})  # fmt: skip
    view = span_page(client, cast).context["view"]
    assert view.standing == "“Kashmir” location"
    (part,) = view.parts
    assert part.title == "Sonmarg ,"
    assert [(option.key, option.title) for option in part.options] == [
        ("1", "“Sonmarg” person"),
        ("2", "“Sonmarg ,” location"),
        ("3", "“Sonmarg” location"),
        ("4", "“Sonmarg ,” person"),
        ("N", "Nothing here"),
    ]
    assert [option.detail.split(":")[0] for option in part.options] == ["1 of 3"] * 2 + ["nobody"] * 2 + [
        "1 of 3"
    ]


def test_the_bounds_of_one_answer_and_the_type_of_another_take_one_key(client: Client, db: None) -> None:
    cast = span_dispute()
    (value,) = (
        option.value
        for option in span_page(client, cast).context["view"].parts[0].options
        if option.title == "“Sonmarg” location"
    )
    client.post(address(cast.item(1)), span_decision(cast, part0=value))
    assert cast.item(1).gold["spans"] == [[0, 7, "location"]]
    client.post(address(cast.item(1)), {"action": "undo"})
    assert span_page(client, cast).context["view"].parts[0].chosen == value


def test_a_part_is_decided_and_the_accepted_rest_kept(client: Client, db: None) -> None:
    cast = span_dispute({"ann1": [[0, 7, "person"], [13, 20, "location"]], "ann2": [[13, 20, "location"]]})
    value = span_page(client, cast).context["view"].parts[0].options[0].value
    client.post(address(cast.item(1)), span_decision(cast, part0=value))
    item = cast.item(1)
    assert item.state == Item.State.ADJUDICATED
    assert item.gold == {"spans": [[0, 7, "person"], [13, 20, "location"]], "relations": []}


def test_the_answer_that_nobody_gave_can_be_decided(client: Client, db: None) -> None:
    cast = span_dispute()
    client.force_login(cast.people["judy"])
    own = json.dumps({"spans": [[0, 7, "location"]]})
    client.post(address(cast.item(1)), span_decision(cast, choice="edit", answer=own))
    assert cast.item(1).gold["spans"] == [[0, 7, "location"]]


def test_all_of_one_answer_can_be_adopted(client: Client, db: None) -> None:
    cast = span_dispute()
    options = span_page(client, cast).context["view"].options
    assert [option.key for option in options] == ["⇧1", "⇧2", ""]
    assert {option.title for option in options} == {
        "“Sonmarg” person",
        "“Sonmarg ,” location",
        "Nothing in the whole text",
    }
    client.post(address(cast.item(1)), span_decision(cast, choice=options[1].value))
    assert cast.item(1).gold == json.loads(options[1].value)


def test_a_complete_answer_is_told_apart_by_what_it_has_beside_the_accepted(client: Client, db: None) -> None:
    cast = span_dispute(SPAN_VOTES | {"ann1": [[0, 7, "person"], [13, 20, "location"]],
                                      "ann3": [[13, 20, "location"]]})  # fmt: skip
    options = span_page(client, cast).context["view"].options
    assert {(option.title, option.detail.partition(", ")[2]) for option in options} == {
        ("“Sonmarg” person", "with all that is accepted"),
        ("“Sonmarg ,” location", "without “Kashmir” location"),
        ("Only what is accepted", "with all that is accepted"),
        ("Nothing in the whole text", ""),
    }


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "Part 1 of 1 has no choice."),
        ({"part0": "[[0]]"}, "The answer is not valid JSON."),
        ({"part0": "[" * 500}, "The answer is not valid JSON."),
        ({"choice": "edit", "answer": "Sonmarg"}, "The answer is not valid JSON."),
        ({"choice": "edit", "answer": '{"spans": [[0, 99, "person"]]}'}, "Expected [start, end, label]"),
    ],
)
def test_a_wrong_decision_on_spans_is_explained_and_what_was_typed_kept(
    client: Client, db: None, fields: dict[str, str], error: str
) -> None:
    cast = span_dispute()
    client.force_login(cast.people["judy"])
    page = client.post(address(cast.item(1)), span_decision(cast, reason="A place.", **fields))
    assert error in page.content.decode()
    assert page.context["reason"] == "A place."
    assert fields.get("answer", "") == page.context["view"].answer
    assert not Adjudication.objects.exists()


LINKED = {
    "ann1": {"spans": [[0, 7, "person"], [13, 20, "location"]], "relations": [[0, "lived_in", 1]]},
    "ann2": {"spans": [[0, 9, "person"], [13, 20, "location"]], "relations": [[0, "lived_in", 1]]},
}


def test_relations_on_spans_without_majority_are_listed_and_taken_with_their_span(
    client: Client, db: None
) -> None:
    cast = span_dispute(LINKED, kind="joint")
    view = span_page(client, cast).context["view"]
    assert [(link.text, link.votes, link.possible) for link in view.loose] == [
        ("“Sonmarg” person – lived in – “Kashmir” location", "1 of 2", True),
        ("“Sonmarg ,” person – lived in – “Kashmir” location", "1 of 2", True),
    ]
    values = {option.title: option.value for option in view.parts[0].options}
    part, link = values["“Sonmarg” person"], view.loose[0].value
    wrong = client.post(address(cast.item(1)), span_decision(cast, part0=part, link=view.loose[1].value))
    assert "has an end that you did not choose" in wrong.content.decode()
    client.post(address(cast.item(1)), span_decision(cast, part0=part, link=link))
    assert cast.item(1).gold == {
        "spans": [[0, 7, "person"], [13, 20, "location"]],
        "relations": [[0, "lived_in", 1]],
    }
    client.post(address(cast.item(1)), {"action": "undo"})
    view = span_page(client, cast).context["view"]
    assert (view.chosen, [each.ticked for each in view.loose]) == ("parts", [True, False])


def test_earlier_decisions_on_the_same_words_are_shown(client: Client, db: None) -> None:
    cast = span_dispute(n=2)
    client.force_login(cast.people["judy"])
    own = json.dumps({"spans": [[0, 7, "location"]]})
    client.post(address(cast.item(1)), span_decision(cast, choice="edit", answer=own))
    view = span_page(client, cast, 2).context["view"]
    assert view.precedents == [
        ("Sonmarg", [("location", 1)], [cast.item(1).key]),
        ("Sonmarg ,", [("location, as “Sonmarg”", 1)], [cast.item(1).key]),
    ]


def test_an_undone_decision_on_spans_is_on_the_form_again(client: Client, db: None) -> None:
    cast = span_dispute()
    value = span_page(client, cast).context["view"].parts[0].options[0].value
    client.post(address(cast.item(1)), span_decision(cast, part0=value))
    client.post(address(cast.item(1)), {"action": "undo"})
    view = span_page(client, cast).context["view"]
    assert (view.chosen, view.parts[0].chosen) == ("parts", value)
    own = json.dumps({"spans": [[10, 12, "location"]]})
    client.post(address(cast.item(1)), span_decision(cast, choice="edit", answer=own))
    client.post(address(cast.item(1)), {"action": "undo"})
    view = span_page(client, cast).context["view"]
    assert (view.chosen, json.loads(view.answer)["spans"]) == ("edit", [[10, 12, "location"]])


def test_adjudicators_learn_of_an_exclusion_by_a_curator_neither_name_nor_reason(
    client: Client, cast: ProjectCast
) -> None:
    item = cast.dispute(1)
    decisions.exclude_item(item, by=cast.curator, finding="broken", reason="A private note.")
    client.force_login(cast.people["judy"])
    page = client.get(address(item)).content.decode()
    assert "A curator excluded this sentence." in page
    for hidden in ("A private note.", "Cleo", "valid until the answers change", "Reopen"):
        assert hidden not in page
    rejected = client.post(f"/api/v1/items/{item.key}/take-back")
    assert (rejected.status_code, rejected.json()["detail"]) == (403, "A curator excluded this sentence.")
    client.force_login(cast.curator)
    page = client.get(address(item)).content.decode()
    assert "A private note." in page
    assert "It stays left out, whatever its answers become." in page


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


@pytest.mark.browser
def test_spans_are_decided_part_by_part_by_keys(live: str, page: Page) -> None:
    votes = {"ann1": [[0, 7, "person"], [13, 20, "person"]], "ann2": [[0, 9, "location"]]}
    cast = span_dispute(votes, n=2)
    cast.open()
    first, second = cast.item(1), cast.item(2)
    open_as(page, "judy", address(first))
    values = [page.locator(f"[name=part{at}][data-key='1']").get_attribute("value") for at in (0, 1)]
    for key in ("1", "n", "k", "1", "Enter"):  # none of the second part, then the first once more
        page.keyboard.press(key)
    page.wait_for_url(live + address(second))
    first.refresh_from_db()
    assert first.gold["spans"] == json.loads(values[0] or "")
    page.keyboard.press("Shift+2")
    assert json.loads(page.locator("[name=choice]:checked").input_value())["spans"]
    page.keyboard.press("Enter")
    page.get_by_text("All disputes are decided").wait_for()
    second.refresh_from_db()
    assert second.state == Item.State.ADJUDICATED


@pytest.mark.browser
def test_an_answer_of_ones_own_is_marked_with_the_span_editor(live: str, page: Page) -> None:
    votes = {"ann1": [[10, 38, "person"]], "ann2": [[10, 40, "location"]], "ann3": []}
    cast = span_dispute(votes, text=f"Too cold. {'Sonmarg' * 4} , in Kashmir")
    projects.set_by_sentence(cast.project, by_sentence=True, by=cast.curator)
    cast.open()
    open_as(page, "judy", address(cast.item(1)))
    page.set_viewport_size({"width": 1280, "height": 640})
    page.keyboard.press("/")
    type_button, bar = (page.locator(name).first.bounding_box() for name in ("[data-mark]", ".work__bar"))
    assert type_button
    assert bar
    assert type_button["y"] + type_button["height"] < bar["y"]
    for key in ("ArrowUp", "ArrowRight", "1"):
        page.keyboard.press(key)
    assert page.locator("#own").inner_text().startswith("Too cold.")
    page.get_by_role("button", name="Next sentence").click()
    assert page.locator("#sentence-at").inner_text() == "Sentence 2 of 2"
    page.set_viewport_size({"width": 360, "height": 740})
    aside, form = (page.locator(name).bounding_box() for name in (".side", "#own-editor"))
    assert aside
    assert form
    assert aside["y"] > form["y"] + form["height"]
    page.wait_for_function(f"{WIDER} === 0")  # once the page has its new width
    for key in ("2", "k", "[", "[", "z", "Enter"):
        page.keyboard.press(key)
    page.get_by_text("All disputes are decided").wait_for()
    assert cast.item(1).gold["spans"] == [[4, 8, "person"], [10, 37, "location"]]


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
