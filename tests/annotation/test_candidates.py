"""Candidates: what people label of a corpus, by criteria in order of priority; the rest stays beside them."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotation import candidates, projects
from annotation.adjudication import decisions
from annotation.candidates import Wanted, best, select
from annotation.freezing import builder
from annotation.models import Annotator, Item, Lease, Project
from annotation.ontology import plans
from annotation.queue import lease_endings, leases, votes
from annotation.testset import TestSet, read_rows
from evalsvc.core.errors.exceptions import Conflict, DomainError
from tests.cast.basics import run_job, sentence
from tests.cast.projects import annotators, answer_item, create_project, curator, import_lines

IDS = [f"s{at}" for at in range(6)]
SCORES = {"s0": 0.9, "s1": 0.2, "s3": 0.7, "s4": 0.7}


def test_criteria_take_sentences_by_priority() -> None:
    wanted = Wanted(order=["ids", "positive", "top"], top=2, scores=SCORES, ids=["s5", "unknown"])
    assert select(IDS, {"s0", "s2"}, wanted) == {
        "s5": "ids", "s0": "positive", "s2": "positive", "s3": "top", "s4": "top",
    }  # fmt: skip
    turned = Wanted(order=["top", "positive"], top=1, scores=SCORES)
    assert list(select(IDS, {"s0", "s2"}, turned)) == ["s0", "s2"]


def test_ties_go_by_id_and_sentences_without_a_score_come_last() -> None:
    assert best(["10", "9", "1"], {"10": 0.5, "9": 0.5}, 3) == ["10", "9", "1"]
    draws = [Wanted(order=["random"], random=3, seed=seed) for seed in ("a", "a", "b")]
    first, again, other = (list(select(IDS, (), wanted)) for wanted in draws)
    assert first == again != other


@pytest.mark.parametrize(
    "values",
    [
        {"order": []},
        {"order": ["positive", "positive"]},
        {"order": ["best"]},
        {"order": ["top"], "top": 3},
        {"order": ["random"], "random": 3},
        {"order": ["ids"]},
    ],
)
def test_incomplete_criteria_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(DomainError):
        Wanted(**values)


@pytest.fixture
def corpus(db: None) -> Project:
    """Six sentences, the first two with a source label."""
    project = create_project(k=1)
    lines = [sentence(at, relations=["A"] if at < 2 else []) for at in range(6)]
    import_lines(project, lines)
    return project


def uses(project: Project) -> dict[str, str]:
    return dict(project.items.order_by("rank").values_list("external_id", "use"))


POSITIVE = Wanted(order=["positive"])


def test_a_preview_reads_the_sentences_while_nobody_waits(
    corpus: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On SQLite a transaction keeps all writers waiting."""
    outside, depths, look = len(connection.savepoint_ids), list[int](), candidates.look

    def looked(*given: Any) -> Any:
        depths.append(len(connection.savepoint_ids) - outside)
        return look(*given)

    monkeypatch.setattr(candidates, "look", looked)
    for preview in (True, False):
        candidates.choose(corpus, POSITIVE, by=curator(), preview=preview)
    assert depths == [0, 1]


def test_the_rest_is_not_asked_and_not_frozen_but_has_its_source_labels(corpus: Project) -> None:
    assert candidates.choose(corpus, POSITIVE, by=curator(), preview=True).rest == 4
    assert set(uses(corpus).values()) == {""}
    chosen = candidates.choose(corpus, POSITIVE, by=curator())
    assert (chosen.by_criterion, chosen.kept, chosen.rest) == ({"positive": 2}, 0, 4)
    assert uses(corpus) == {"s0": "", "s1": ""} | dict.fromkeys(["s2", "s3", "s4", "s5"], "corpus")
    projects.open_for_work(corpus, by=curator())
    [ann] = annotators(corpus, 1)
    asked = []
    while (lease := leases.lease_next(corpus, ann)) is not None:
        answer_item(lease.item, ann, "A")
        asked.append(lease.item.external_id)
    assert sorted(asked) == ["s0", "s1"]
    test_set = builder.freeze(corpus, name="Part", version="1.0", by=curator())
    run_job("freeze", test_set.pk)
    test_set.refresh_from_db()
    assert sorted(line["id"] for line in read_rows(test_set)) == ["s0", "s1"]
    assert test_set.manifest["beside"] == 4
    twin = TestSet.objects.get(twin=test_set)
    assert sorted(line["id"] for line in read_rows(twin)) == IDS


def test_the_order_of_work_tells_neither_source_labels_nor_scores(db: None) -> None:
    project = create_project(k=1)
    import_lines(project, [sentence(at, relations=["A"] if at < 20 else []) for at in range(40)])
    labelled_first = [f"s{at}" for at in range(40)]
    scores = {name: 1 - at / 40 for at, name in enumerate(labelled_first)}
    for criteria in (["positive", "random"], ["random", "positive"], ["ids"], ["top"]):
        wanted = Wanted(order=criteria, random=20, seed="a", ids=labelled_first, top=40, scores=scores)
        candidates.choose(project, wanted, by=curator())
        order = [name for name, use in uses(project).items() if not use]
        labelled = [int(name[1:]) < 20 for name in order]
        assert labelled not in (sorted(labelled), sorted(labelled, reverse=True))


def test_who_begins_after_a_second_choice_gets_what_is_left_of_the_first_among_the_new_ones(db: None) -> None:
    project = create_project(k=1)
    import_lines(project, [sentence(at, relations=["A"] if at < 150 else []) for at in range(300)])
    candidates.choose(project, POSITIVE, by=curator())
    first = list(project.items.filter(use="").order_by("rank").values_list("pk", flat=True))
    Item.objects.filter(pk__in=first[:120]).update(free=0)
    wanted = Wanted(order=["positive", "random"], random=150, seed="a")
    candidates.choose(project, wanted, by=curator())
    left = list(project.items.filter(free__gt=0).order_by("rank").values_list("pk", flat=True))
    assert len(left) == 180
    assert set(left[:80]) & set(first)
    assert set(left[-80:]) & set(first)


def test_each_choice_draws_the_orders_of_sentences_and_of_checks_anew(db: None) -> None:
    project = create_project(k=1)
    lines = [sentence(at, relations=["A"]) for at in range(24)]
    import_lines(project, lines[:12])
    import_lines(project, lines[12:], known="check")
    orders = []
    for _ in range(2):
        candidates.choose(project, POSITIVE, by=curator())
        for use, order in (("", "rank"), ("check", "known__place")):
            items = project.items.filter(use=use).order_by(order)
            orders.append(tuple(items.values_list("pk", flat=True)))
    assert [len(order) for order in orders] == [12] * 4
    assert len(set(orders)) == 4


def test_a_label_that_the_ontology_deletes_makes_no_sentence_positive(corpus: Project) -> None:
    import_lines(corpus, [sentence(6, relations=["B"])])
    plans.apply_plan(corpus, plans.planned([{"operation": "delete", "sources": ["A"]}]), by=curator())
    assert candidates.choose(corpus, POSITIVE, by=curator(), preview=True).by_criterion == {"positive": 1}


def test_choosing_again_brings_sentences_back_and_keeps_those_that_were_answered(corpus: Project) -> None:
    candidates.choose(corpus, POSITIVE, by=curator())
    projects.open_for_work(corpus, by=curator())
    [ann] = annotators(corpus, 1)
    lease = leases.lease_next(corpus, ann)
    assert lease is not None
    answer_item(lease.item, ann, "A")
    chosen = candidates.choose(corpus, Wanted(order=["ids"], ids=["s5", "s3", "none"]), by=curator())
    assert (chosen.by_criterion, chosen.kept, chosen.rest, chosen.unknown_ids) == ({"ids": 2}, 1, 3, 1)
    work = [name for name, use in uses(corpus).items() if use == ""]
    assert set(work) == {"s5", "s3", lease.item.external_id}
    assert set(corpus.items.live().values_list("free", flat=True)) == {0, 1}
    following = leases.lease_next(corpus, ann)
    assert following is not None
    assert following.item.external_id in {"s5", "s3"}


def test_after_a_choice_people_go_on_at_its_first_sentence(
    corpus: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates.secrets.SystemRandom, "shuffle", lambda *order: None)  # s5 comes first
    projects.open_for_work(corpus, by=curator())
    [ann] = annotators(corpus, 1)
    for _ in range(3):
        answer_item(leases.lease_next(corpus, ann).item, ann, "A")
    candidates.choose(corpus, Wanted(order=["ids"], ids=["s5", "s0", "s1", "s2", "s4"]), by=curator())
    assert leases.lease_next(corpus, ann).item.external_id == "s5"


def test_a_search_that_a_choice_interrupts_misses_no_sentence_that_comes_to_the_front(
    corpus: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates.secrets.SystemRandom, "shuffle", lambda *order: None)  # s5 comes first
    projects.open_for_work(corpus, by=curator())
    [ann] = annotators(corpus, 1)
    for item in corpus.items.order_by("rank")[:5]:
        answer_item(item, ann, "A")
    searched = Annotator.objects.filter(project=corpus, user=ann)
    searched.update(cursor=5, round_since=Now())  # slices before rank 5 were searched
    candidates.choose(corpus, Wanted(order=["ids"], ids=["s5", "s4"]), by=curator())
    lease = leases.lease_next(corpus, ann)
    assert lease is not None
    assert lease.item.external_id == "s5"


@pytest.mark.parametrize("checks", [True, False])
def test_with_hidden_checks_what_somebody_held_stays_work(corpus: Project, checks: bool) -> None:
    """Of sentences and checks that a person had returned, only the checks came again."""
    corpus.items.filter(external_id="s5").update(use="check" if checks else "")
    projects.open_for_work(corpus, by=curator())
    ann = annotators(corpus, 1)[0]
    for _ in range(2):
        lease = leases.lease_next(corpus, ann)
        assert lease is not None
        lease_endings.return_lease(lease.pk, ann)
    held = set(Lease.objects.values_list("item", flat=True))
    others = corpus.items.filter(use="").exclude(pk__in=held).values_list("external_id", flat=True)
    chosen = candidates.choose(corpus, Wanted(order=["ids"], ids=list(others)[:1]), by=curator())
    assert chosen.kept == (len(held) if checks else 0)
    assert set(Item.objects.filter(pk__in=held).values_list("use", flat=True)) == {"" if checks else "corpus"}


@pytest.mark.parametrize("act", ["answer", "skip", "later"])
def test_a_vote_on_a_sentence_that_left_the_work_makes_it_work_again(corpus: Project, act: str) -> None:
    """Whoever works without a network sends answers later."""
    projects.open_for_work(corpus, by=curator())
    [ann] = annotators(corpus, 1)
    lease = leases.lease_next(corpus, ann)
    assert lease is not None
    lease_endings.return_lease(lease.pk, ann)
    others = corpus.items.exclude(pk=lease.item.pk).values_list("external_id", flat=True)
    candidates.choose(corpus, Wanted(order=["ids"], ids=list(others)[:2]), by=curator())
    assert uses(corpus)[lease.item.external_id] == "corpus"
    if act == "answer":
        answer_item(lease.item, ann, "A")
    else:
        votes.skip(lease.item, ann, client_id=uuid4(), reason="later" if act == "later" else "broken")
    item = corpus.items.live().get(pk=lease.item.pk)
    assert (item.state, item.free) == (("settled", 0) if act == "answer" else ("open", 1))
    assert candidates.of_project(corpus) == {"work": 3, "rest": 3}


def test_a_sentence_left_out_without_an_answer_stays_out_of_the_queue_whatever_is_chosen(
    corpus: Project,
) -> None:
    decisions.exclude_item(corpus.items.get(external_id="s5"), by=curator(), finding="broken")
    candidates.choose(corpus, POSITIVE, by=curator())
    candidates.choose(corpus, Wanted(order=["ids"], ids=["s4", "s5"]), by=curator())
    left_out, item = corpus.items.get(external_id="s5"), corpus.items.get(external_id="s4")
    assert (left_out.state, left_out.free, left_out.adjudications.active().count()) == ("unusable", 0, 1)
    assert (item.state, item.free) == ("open", 1)


def test_nothing_changes_when_nothing_fits(corpus: Project) -> None:
    with pytest.raises(Conflict, match="No sentence"):
        candidates.choose(corpus, Wanted(order=["ids"], ids=["none"]), by=curator())
    assert set(uses(corpus).values()) == {""}


def scores_file() -> SimpleUploadedFile:
    lines = [{"id": f"s{at}", "scores": {"A": at / 10, "NA": 0.99}} for at in range(6)]
    return SimpleUploadedFile("scores.jsonl", "\n".join(map(json.dumps, lines)).encode())


def test_the_page_previews_and_chooses_by_a_prediction_file(client: Client, corpus: Project) -> None:
    client.force_login(curator())
    url = reverse("candidates", args=[corpus.slug])
    values = {"positive": "on", "top": 1}
    page = client.post(url, values | {"predictions": scores_file(), "action": "preview"}).content.decode()
    assert "among the best scores" in page
    assert "Choose these" in page
    turned = client.post(url, values | {"predictions": scores_file(), "order": "top, positive"})
    assert [n for _, n in turned.context["rows"]] == [1, 2]
    assert list(turned.context["found"].by_criterion) == ["top", "positive"]
    odd = client.post(url, values | {"predictions": scores_file(), "order": "best"})
    assert "expected some of positive, top, random, ids" in odd.content.decode()
    assert "needs a number and predictions" in client.post(url, values).content.decode()
    assert client.post(url, values | {"predictions": scores_file(), "action": "choose"}).status_code == 302
    assert sorted(name for name, use in uses(corpus).items() if not use) == ["s0", "s1", "s5"]
    assert "3 sentences to label, 3 others" in client.get(url).content.decode()
    listed = client.get(reverse("sentences", args=[corpus.slug]), {"use": "corpus"}).content.decode()
    assert "no candidate" in listed


def test_api_and_command_choose_alike(
    client: Client, corpus: Project, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    client.force_login(curator())
    url = f"/api/v1/projects/{corpus.slug}/candidates"
    body = {"order": ["positive", "top"], "top": 1, "predictions": scores_file(), "preview": True}
    found = client.post(url, body).json()
    assert found["by_criterion"] == {"positive": 2, "top": 1}
    path = tmp_path / "scores.jsonl"
    path.write_bytes(scores_file().read())
    words = ("--order", "positive", "top", "--top", "1", "--predictions", str(path))
    call_command("choose_candidates", corpus.slug, *words, "--by", curator().username)
    assert "3  are not candidates" in capsys.readouterr().out
    assert Item.objects.filter(use="corpus").count() == found["rest"]
