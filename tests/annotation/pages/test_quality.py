"""Quality pages of a curator: gold questions, predictions, pauses, exclusions."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Annotator, Batch, Item, Mark, Project, Vote
from annotation.queue import quality_settings
from tests.cast.basics import run_job, sentence
from tests.cast.projects import ProjectCast, upload

ADDRESS = "/projects/harbour/quality/"
SETTINGS = {"action": "settings", "pass_percent": 70, "check_every": 0, "least_checks": 5, "most_extra": 3}


@pytest.fixture
def cast(db: None, client: Client) -> ProjectCast:
    cast = ProjectCast.create()
    cast.import_lines(*(sentence(at) for at in (1, 2, 3)))
    client.force_login(cast.curator)
    return cast.open()


def annotator(cast: ProjectCast, who: str) -> str:
    return reverse("annotator", args=["harbour", cast.project.annotators.get(name=who).pk])


def test_a_qualification_round_is_set_up_from_a_file_and_switched_on(
    client: Client, cast: ProjectCast
) -> None:
    known = [sentence(at, relations=["born_in"]) for at in (11, 12)]
    sent = {"action": "known_file", "k-known": "qualify", "k-upload": upload(*known)}
    answer = client.post(ADDRESS, sent)
    batch = Batch.objects.latest("pk")
    assert answer.headers["Location"] == reverse("import", args=[batch.pk])
    run_job("import", batch.pk)
    client.post(ADDRESS, SETTINGS | {"qualifies": "on", "pass_percent": 80})
    page = client.get(ADDRESS).content.decode()
    assert 'name="pass_percent" value="80"' in page
    assert "place of birth" in page


def test_a_qualification_round_without_gold_questions_is_rejected(client: Client, cast: ProjectCast) -> None:
    page = client.post(ADDRESS, SETTINGS | {"qualifies": "on"}).content.decode()
    assert 'id="id_qualifies_error"' in page
    assert not Project.objects.get().qualifies


def test_a_number_out_of_range_is_rejected_at_its_field(client: Client, cast: ProjectCast) -> None:
    page = client.post(ADDRESS, SETTINGS | {"pass_percent": 130}).content.decode()
    assert 'id="id_pass_percent_error"' in page
    assert Project.objects.get().pass_percent != 130


def test_gold_questions_without_answers_are_rejected_line_by_line(client: Client, cast: ProjectCast) -> None:
    client.post(ADDRESS, {"action": "known_file", "k-known": "check", "k-upload": upload(sentence(11))})
    batch = Batch.objects.latest("pk")
    run_job("import", batch.pk)
    assert 'title="missing_key"' in client.get(reverse("import", args=[batch.pk])).content.decode()


def test_an_item_becomes_a_gold_question_and_work_again(client: Client, cast: ProjectCast) -> None:
    one = {"action": "known_one", "one-sentence": "s2", "one-use": "check", "one-answer": ["born_in"]}
    client.post(ADDRESS, one | {"one-explains": "It says so."})
    item = cast.item(2)
    assert (item.use, item.known.payload["relations"]) == (Item.Use.CHECK, ["born_in"])
    client.post(ADDRESS, {"action": "work", "item": item.pk})
    assert (cast.item(2).use, cast.item(2).free) == (Item.Use.WORK, 2)


def test_a_gold_question_shows_how_many_annotators_answered_it_right(
    client: Client, cast: ProjectCast
) -> None:
    known = cast.item(2)
    gold = {"spans": [], "relations": ["born_in"]}
    quality_settings.make_gold_question(known, payload=gold, use="check", explains="", by=cast.curator)
    for name, right in (("Kim", True), ("Lars", False)):
        annotator = Annotator.objects.create(project=cast.project, name=name)
        Mark.objects.create(item=known, annotator=annotator, right=right)
        for number in (1, 2, 3):  # an answer and two changes of it
            vote = {"act": "answer", "payload": gold, "number": number, "client_id": uuid4()}
            Vote.objects.create(item=known, annotator=annotator, **vote)
    assert '<td class="fig">1 of 2</td>' in client.get(ADDRESS).content.decode()


def test_an_unknown_id_is_reported_at_its_field(client: Client, cast: ProjectCast) -> None:
    one = {"action": "known_one", "one-sentence": "s99", "one-use": "check"}
    assert "No sentence of this project has the id" in client.post(ADDRESS, one).content.decode()


def test_predictions_are_hidden_until_switched_on(client: Client, cast: ProjectCast) -> None:
    predictions = upload({"id": "s1", "label": "born_in"})
    client.post(ADDRESS, {"action": "predictions", "p-upload": predictions, "p-format": ""})
    batch = Batch.objects.latest("pk")
    run_job("import", batch.pk)
    page = client.get(ADDRESS).content.decode()
    assert re.search(r"1 of 3 sentences with a prediction,\s+hidden", page)
    client.post(ADDRESS, SETTINGS | {"suggests": "on"})
    assert "Predictions are shown as initial answers." in client.get(ADDRESS).content.decode()


def test_sentences_uploaded_as_predictions_are_rejected(client: Client, cast: ProjectCast) -> None:
    sent = {"action": "predictions", "p-upload": upload(sentence(11)), "p-format": ""}
    page = client.post(ADDRESS, sent).content.decode()
    assert "This looks like Items (JSONL): sentences to label, not predictions." in page


def test_an_annotator_is_paused_with_a_reason_and_resumed(client: Client, cast: ProjectCast) -> None:
    cast.answer("ann", 1, "born_in")
    client.post(annotator(cast, "ann"), {"action": "pause", "reason": "Too quick."})
    page = client.get(annotator(cast, "ann")).content.decode()
    assert "Paused. Too quick." in page
    assert "1 annotator is paused" in client.get(ADDRESS).content.decode()
    client.post(annotator(cast, "ann"), {"action": "resume", "reason": "We talked."})
    page = client.get(annotator(cast, "ann")).content.decode()
    assert "We talked." in page
    assert cast.project.annotators.get(name="ann").paused_at is None


def test_an_annotators_answers_are_excluded_and_included_again(client: Client, cast: ProjectCast) -> None:
    cast.answer("ann", 1, "born_in")
    cast.answer("bob", 1, "born_in")
    client.post(annotator(cast, "ann"), {"action": "set-aside", "reason": "Clicked through."})
    assert cast.item(1).state == Item.State.OPEN
    assert "All answers are excluded." in client.get(annotator(cast, "ann")).content.decode()
    client.post(annotator(cast, "ann"), {"action": "put-back", "reason": "A mistake."})
    assert cast.item(1).state == Item.State.SETTLED


def test_a_pause_without_a_reason_is_rejected(client: Client, cast: ProjectCast) -> None:
    cast.answer("ann", 1, "born_in")
    page = client.post(annotator(cast, "ann"), {"action": "pause", "reason": ""}).content.decode()
    assert "errorlist" in page
    assert cast.project.annotators.get(name="ann").paused_at is None
