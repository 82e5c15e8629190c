"""A person's own page: how far, how fast, what they said; nothing of anybody else."""

from __future__ import annotations

from html import unescape
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Annotator, Project
from annotation.queue import gold_questions, votes
from annotation.reports import my_work
from tests.cast.basics import person, sentence
from tests.cast.projects import annotators, curator, import_lines, project_with_items

pytestmark = pytest.mark.django_db


def said(of: Project, who: str, item: str, *labels: str, ms: int = 4_000, base: int = 0, **more: str) -> None:
    told = {"payload": {"relations": list(labels)}, "milliseconds": ms, "base": base} | more
    votes.answer(of.items.get(external_id=item), person(who), client_id=uuid4(), **told)


def worked_on() -> Project:
    of = project_with_items(4, k=3)
    annotators(of, 2)
    said(of, "ann0", "s0", "A")
    said(of, "ann0", "s1", "B", ms=8_000, comment="not sure of it")
    votes.skip(of.items.get(external_id="s2"), person("ann0"), client_id=uuid4(), reason="broken")
    said(of, "ann1", "s0", "C", comment="a word of another")
    return of


def seen(of: Project, who: str = "ann0", name: str = "mine", **query: str) -> str:
    browser = Client()
    browser.force_login(person(who))
    response = browser.get(reverse(name, args=[of.slug]), query)
    assert response.status_code == 200
    return unescape(response.content.decode())


def test_the_page_says_how_far_and_how_fast_somebody_is() -> None:
    page = seen(worked_on())
    assert "You answered 2 sentences here and skipped 1; 1 more waits for you." in page
    assert "6.0 s" in page
    assert "the middle of your last 50" in page


def test_every_sentence_stands_there_once_with_the_last_word() -> None:
    of = worked_on()
    said(of, "ann0", "s0", base=1)
    page = seen(of)
    table = page.split('id="history"')[1]
    assert table.count('<th scope="row">') == 3
    assert table.index("N/A") < table.index("Skipped: The sentence is broken") < table.index("not sure of it")


def test_nothing_of_anybody_else_is_on_it() -> None:
    page = seen(worked_on())
    for secret in ("ann1", "a word of another", ">C<", "disputed", "settled"):
        assert secret not in page


def test_a_hidden_check_looks_like_any_other_sentence() -> None:
    of = project_with_items(1, k=2)
    (user,) = annotators(of, 1)
    import_lines(of, [sentence("check")])
    item = of.items.get(external_id="check")
    gold_questions.make_gold_question(item, payload={"relations": ["A"]}, use="check", by=curator())
    said(of, "ann0", "check", "B")
    page = seen(of)
    assert "check" in page.split('id="history"')[1]
    for hint in ("right", "wrong", "known", "gold"):
        assert hint not in page.split('id="history"')[1].split("</section>")[0]
    assert my_work.history(of, user).count() == 1


def test_whoever_is_paused_is_told_so() -> None:
    of = worked_on()
    gold_questions.pause(
        Annotator.objects.get(project=of, name="ann0"), by=curator(), reason="Read the guideline again."
    )
    assert "Your work here is paused. Read the guideline again." in seen(of)


def test_the_page_of_the_project_is_the_same_for_annotators() -> None:
    of = worked_on()
    assert "What I said" in seen(of, name="project")


def test_a_curator_who_labels_has_one_too() -> None:
    of = worked_on()
    assert "You have answered nothing here yet; 4 sentences wait for you." in seen(of, "curator")


def test_own_days_can_be_taken_away() -> None:
    assert seen(worked_on(), name="mine-csv").splitlines()[1].endswith(",2,1")
    assert seen(worked_on(), name="mine-svg").startswith("<svg xmlns")


def test_the_pace_of_late_is_told_apart_from_the_one_before() -> None:
    of = project_with_items(my_work.LATELY + 2, k=1)
    (user,) = annotators(of, 1)
    for at in range(my_work.LATELY + 2):
        said(of, "ann0", f"s{at}", "A", ms=9_000 if at < 2 else 3_000)
    assert my_work.pace(of, user) == my_work.OwnPace(lately=3.0, before=9.0)
    assert "9.0 s for those before" in seen(of)


def test_a_long_history_comes_page_by_page() -> None:
    of = project_with_items(30, k=1)
    annotators(of, 1)
    for at in range(30):
        said(of, "ann0", f"s{at}", "A")
    assert "Page 1 of 2" in seen(of)
    assert seen(of, page="2").split('id="history"')[1].count('<th scope="row">') == 5
