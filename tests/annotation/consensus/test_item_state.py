"""Many items decided at once come to what each comes to alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.consensus import item_state, pending_recomputation, recomputation
from annotation.freezing import builder
from annotation.models import Item, Project
from annotation.queue import exclusions, leases
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import transitions
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from tests.cast.basics import run_job, sentence
from tests.cast.projects import (
    annotators,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)
from tests.places.postgres import in_threads
from workers.runner import run_next


def state_of(project: Project) -> list[Any]:
    return list(project.items.order_by("rank").values_list("external_id", *item_state.FIELDS))


def test_a_recomputation_agrees_with_step_by_step_results(either_database: str) -> None:
    project = project_with_items(4, k=2)
    answered_item(project, ["A"], ["A", "B"], item="s0")
    answered_item(project, ["A"], [], item="s1")
    answered_item(project, ["A"], item="s2")
    before = state_of(project)
    Item.objects.update(state="open", gold=None, pattern="", votes_key="", policy_matters=False, free=9)
    recomputation.recompute(project, lambda *progress: None)
    assert state_of(project) == before


def test_a_large_import_of_votes_is_settled_by_a_job(either_database: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    project = create_project(policy="majority-na")
    import_lines(project, [sentence(f"s{n}") for n in range(3)])
    votes = [
        {"item": f"s{n}", "annotator": f"w{w}", "labels": ["A"] if w < n else []}
        for n in range(3)
        for w in range(3)
    ]
    import_lines(project, votes, what="votes")
    assert pending_recomputation.is_recomputing(project)
    run_job("recompute", project.pk)
    assert [item.gold and item.gold["relations"] for item in project.items.order_by("rank")] == [
        [],
        None,
        ["A"],
    ]


@pytest.mark.django_db
def test_a_recomputation_that_is_tried_again_behind_a_newer_one_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A later step joined it, but only the newer one was looked at."""
    project = project_with_items(1, k=2)
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    projects.set_k(project, k=1, by=curator())
    older = Job.objects.get(kind="recompute")
    newer = enqueue("recompute", project.pk)
    change(newer, "done", claimed=2, ended=3)
    assert pending_recomputation.pending(project) == older
    change(older, "failed", claimed=1, ended=5)
    assert pending_recomputation.pending(project) == older
    assert len(list(pending_recomputation.check_pending(""))) == 1
    change(older, "done", claimed=1, ended=5)
    assert pending_recomputation.pending(project) is None


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["failed", "cancelled"])
def test_a_recomputation_that_fails_beside_an_older_one_is_not_done_with_that(
    end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older one had passed items before the step that the newer one was for."""
    project = project_with_items(1, k=2)
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    projects.set_k(project, k=1, by=curator())
    older, newer = Job.objects.get(kind="recompute"), enqueue("recompute", project.pk)
    change(newer, end, claimed=2, ended=3)
    change(older, "done", claimed=1, ended=5)
    assert pending_recomputation.pending(project) == newer
    later = enqueue("recompute", project.pk)
    assert pending_recomputation.pending(project) == later
    change(later, "done", claimed=4, ended=6)
    assert pending_recomputation.pending(project) is None


def change(job: Job, state: str, *, claimed: int, ended: int) -> None:
    """Let a job be claimed and end at these minutes."""
    times = (Now() + timedelta(minutes=at) for at in (claimed, ended))
    Job.objects.filter(pk=job.pk).update(
        state=state, **dict(zip(("claimed_at", "ended_at"), times, strict=True))
    )


@pytest.mark.django_db
@pytest.mark.parametrize("end", ["failed", "was cancelled"])
def test_a_recomputation_that_ended_early_stays_pending_until_it_is_repeated(
    end: str, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    """Else a test set was frozen from states of the former k."""
    project = project_with_items(2, k=2)
    for name in ("s0", "s1"):
        answered_item(project, ["A"], ["A"], item=name)
    with monkeypatch.context() as large:
        large.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
        projects.set_k(project, k=1, by=curator())
    assert list(pending_recomputation.check_pending("")) == []
    job = Job.objects.get(kind="recompute")
    if end == "failed":
        Job.objects.filter(pk=job.pk).update(state="running")
        job.refresh_from_db()
        transitions.fail(job, code="worker_lost", reason="The worker process ended 3 times during this job.")
    else:
        transitions.cancel(job)
    with pytest.raises(Conflict, match=end):
        builder.freeze(project, name="Set", version="1.0", by=curator())
    projects.set_policy(project, policy="majority-na", by=curator())
    assert Job.objects.get(kind="recompute", state="queued").pk != job.pk
    transitions.cancel(Job.objects.get(kind="recompute", state="queued"))
    [finding] = pending_recomputation.check_pending("")
    assert (finding.code, f"manage.py recompute {project.slug}" in finding.cure) == ("not_recomputed", True)
    client.force_login(curator())
    page = reverse("project", args=[project.slug])
    assert "until the operator repeats it" in client.get(page).content.decode()
    call_command("recompute", project.slug)
    assert pending_recomputation.pending(project) is None
    assert {item.state for item in project.items.all()} == {"settled"}
    assert 'id="recomputing"' not in client.get(page).content.decode()


@pytest.mark.django_db
def test_few_items_with_many_spans_are_recomputed_by_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """150 texts of 2 × 1,000 spans took seconds of a request, with the database locked."""
    project = project_with_items(2, k=2)
    for name in ("s0", "s1"):
        answered_item(project, ["A"], ["A"], item=name)
    monkeypatch.setattr(recomputation, "MOST_IN_REQUEST", 1)
    projects.set_k(project, k=3, by=curator())
    assert pending_recomputation.is_recomputing(project)
    run_job("recompute", project.pk)
    exclusions.exclude_annotator(project.annotators.get(name="ann0"), by=curator())
    assert pending_recomputation.is_recomputing(project)
    run_job("recompute", project.pk)
    assert {(item.state, item.free) for item in project.items.all()} == {("open", 2)}


def test_leased_items_need_one_answer_fewer(either_database: str) -> None:
    project = project_with_items(1, k=3)
    leases.lease_next(project, annotators(project, 1)[0])
    projects.set_k(project, k=2, by=curator())
    assert project.items.get().free == 1


@pytest.mark.django_db
def test_a_recomputation_decides_few_long_answers_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others wait on SQLite while it decides."""
    project = project_with_items(5, k=1)
    for name in ("s0", "s1", "s2"):
        answered_item(project, ["A"], item=name)
    monkeypatch.setattr(recomputation, "MOST_IN_REQUEST", 80)  # two answers
    decided: list[int] = []
    monkeypatch.setattr(recomputation, "recompute_items", lambda _, keys: decided.append(len(keys)))
    recomputation.recompute(project)
    assert decided == [2, 3]


@pytest.mark.postgres
def test_a_policy_changed_while_a_recomputation_starts_applies_to_every_item(
    postgres: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    project = project_with_items(2, k=3)
    for name in ("s0", "s1"):
        answered_item(project, ["A"], [], [], item=name)
    projects.set_k(project, k=4, by=curator())
    queue = Job.objects.get(kind="recompute").queue
    with transaction.atomic():
        projects.set_k(project, k=3, by=curator())
        projects.set_policy(project, policy="majority-na", by=curator())
        in_threads(1, lambda at: run_next(queue))
    while run_next(queue):
        pass
    assert not pending_recomputation.is_recomputing(project)
    assert {(item.state, tuple(item.gold["relations"])) for item in project.items.all()} == {("settled", ())}
