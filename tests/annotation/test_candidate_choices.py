"""Candidates of large projects: counted and applied by jobs, never seen half changed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import candidate_choices, candidates, projects
from annotation.candidate_choices import KIND
from annotation.candidates import Wanted
from annotation.freezing import builder
from annotation.models import CandidateChoice, Project
from annotation.queue import leases
from annotation.queue.search import StillSearching
from evalsvc.core.activity.models import LogEntry
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.jobs import queue, transitions
from evalsvc.core.jobs.lease import Lease, Progress, hand_back
from evalsvc.core.jobs.models import Job
from tests.cast.basics import run_job, sentence
from tests.cast.projects import annotators, answer_item, create_project, curator, import_lines
from tests.places.postgres import in_threads

ORDER = ["s5", "s4", "s0"]
CHOICE = Wanted(order=["ids"], ids=ORDER)
AS_IMPORTED = [(f"s{at}", "", 1) for at in range(6)]
CHOSEN = [("s0", "", 1), ("s4", "", 1), ("s5", "", 1)]


@pytest.fixture
def large(either_database: str, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Six sentences, more than are chosen at once, moved two by two."""
    monkeypatch.setattr(candidates, "AT_ONCE", 5)
    monkeypatch.setattr(candidates, "CHUNK", 2)
    project = create_project(k=1)
    import_lines(project, [sentence(at) for at in range(6)])
    return projects.open_for_work(project, by=curator())


def counted(project: Project) -> CandidateChoice:
    choice = candidate_choices.request(project, CHOICE, by=curator())
    assert run_job(KIND, choice.pk).state == Job.State.DONE
    choice.refresh_from_db()
    return choice


def places(project: Project) -> list[tuple[str, str, int]]:
    return list(project.items.order_by("rank", "pk").values_list("external_id", "use", "free"))


def work(project: Project) -> list[tuple[str, str, int]]:
    """Return what people label, by id: its order is drawn."""
    return sorted(place for place in places(project) if not place[1])


def stopped_half_way(choice: CandidateChoice, monkeypatch: pytest.MonkeyPatch) -> Job:
    """Run the job until two sentences have moved; its process then ends."""
    job = queue.claim_job(Job.objects.filter(kind=KIND, subject=choice.pk).latest("pk"))
    assert job is not None
    moves, move_some = [0], candidates._move_some

    def one(*args: Any) -> None:
        if moves[0]:
            raise SystemExit
        moves[0] += 1
        move_some(*args)

    stored = CandidateChoice.objects.select_related("project", "by").get(pk=choice.pk)
    with monkeypatch.context() as patch, Lease(job) as lease:
        patch.setattr(candidates, "_move_some", one)
        with pytest.raises(SystemExit):
            candidate_choices.work_on(stored, Progress(lease))
    assert places(choice.project) != AS_IMPORTED
    return job


def test_the_effect_comes_first_and_the_log_has_numbers_before_and_after(large: Project) -> None:
    choice = counted(large)
    assert choice.state == "ready"
    assert choice.effect == {"by_criterion": {"ids": 3}, "kept": 0, "rest": 3, "unknown_ids": 0}
    assert places(large) == AS_IMPORTED
    candidate_choices.apply(choice, by=curator())
    assert places(large) == AS_IMPORTED
    run_job(KIND, choice.pk)
    assert work(large) == CHOSEN
    choice.refresh_from_db()
    assert (choice.state, choice.places, choice.former) == ("done", None, None)
    entry = LogEntry.objects.get(action="candidates chosen")
    assert entry.before == {"work": 6, "rest": 0}
    assert entry.after == {"criteria": {"ids": 3}, "work": 3, "rest": 3}
    with pytest.raises(Conflict):
        candidate_choices.apply(choice, by=curator())


def test_a_job_that_is_killed_half_way_goes_on_and_nobody_sees_half_a_choice(
    large: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    [ann] = annotators(large, 1)
    choice = counted(large)
    candidate_choices.apply(choice, by=curator())
    hand_back(stopped_half_way(choice, monkeypatch))
    with pytest.raises(StillSearching) as searching:
        leases.lease_next(large, ann)
    assert searching.value.wait
    for act in (
        lambda: builder.freeze(large, name="Half", version="1.0", by=curator()),
        lambda: import_lines(large, [sentence(7)]),
        lambda: candidate_choices.request(large, CHOICE, by=curator()),
    ):
        with pytest.raises(Conflict, match="being"):
            act()
    run_job(KIND, choice.pk)
    assert work(large) == CHOSEN
    lease = leases.lease_next(large, ann)
    assert lease is not None
    assert lease.item.rank == 1


def test_a_choice_that_is_cancelled_half_way_puts_every_sentence_back(
    large: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = counted(large)
    candidate_choices.apply(choice, by=curator())
    job = stopped_half_way(choice, monkeypatch)
    candidate_choices.cancel(choice, by=curator())
    hand_back(job)
    choice.refresh_from_db()
    assert choice.state == "returning"
    run_job(KIND, choice.pk)
    choice.refresh_from_db()
    assert (choice.state, places(large)) == ("cancelled", AS_IMPORTED)
    large.refresh_from_db()
    assert not large.choosing
    assert not LogEntry.objects.filter(action="candidates chosen").exists()


def crashed(job: Job) -> None:
    transitions.fail(job, code="worker_lost", reason="The worker process ended 3 times during this job.")


def test_a_choice_whose_process_is_killed_too_often_is_taken_back(
    large: Project, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    [ann] = annotators(large, 1)
    choice = counted(large)
    candidate_choices.apply(choice, by=curator())
    crashed(stopped_half_way(choice, monkeypatch))
    choice.refresh_from_db()
    assert choice.state == "returning"
    run_job(KIND, choice.pk)
    assert places(large) == AS_IMPORTED
    assert leases.lease_next(large, ann)
    client.force_login(curator())
    page = client.get(reverse("candidates", args=[large.slug])).content.decode()
    assert "Every sentence was put back" in page
    assert "The worker process ended 3 times" in page
    latest = client.get(f"/api/v1/projects/{large.slug}/candidates").json()["latest"]
    assert (latest["state"], latest["failed"]) == ("cancelled", False)
    assert latest["reason"].startswith("The worker process ended 3 times")


def test_a_project_whose_sentences_cannot_be_put_back_says_how_it_goes_on(
    large: Project, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    choice = counted(large)
    candidate_choices.apply(choice, by=curator())
    crashed(stopped_half_way(choice, monkeypatch))
    client.force_login(curator())
    page = reverse("project", args=[large.slug])
    assert "Candidates are being changed" in client.get(page).content.decode()
    assert list(candidate_choices.check_stuck("")) == []
    crashed(stopped_half_way(choice, monkeypatch))
    assert "nobody gets new sentences until its job is retried" in client.get(page).content.decode()
    [finding] = candidate_choices.check_stuck("")
    job = Job.objects.filter(kind=KIND).latest("pk")
    assert (finding.code, f"manage.py jobs retry {job.pk}" in finding.cure) == ("candidates_stuck", True)
    call_command("jobs", "retry", str(job.pk))
    run_job(KIND, choice.pk)
    assert places(large) == AS_IMPORTED
    assert "Candidates" not in re.sub(r"<[^>]+>", "", client.get(page).content.decode()).split("Checklist")[0]


def test_an_answer_that_comes_while_sentences_move_keeps_its_sentence_in_the_work(
    large: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    [ann] = annotators(large, 1)
    choice = counted(large)
    candidate_choices.apply(choice, by=curator())
    hand_back(stopped_half_way(choice, monkeypatch))
    answer_item(large.items.get(external_id="s3"), ann, "A")
    run_job(KIND, choice.pk)
    assert work(large) == sorted([*CHOSEN, ("s3", "", 0)])


def test_of_two_requests_at_once_one_is_taken(large: Project) -> None:
    by = curator()

    def ask(at: int) -> bool:
        try:
            candidate_choices.request(large, CHOICE, by=by)
        except Conflict:
            return False
        return True

    assert sorted(in_threads(2, ask)) == [False, True]
    assert Job.objects.filter(kind=KIND).count() == 1


def test_one_choice_is_made_at_a_time_and_a_new_one_replaces_an_unconfirmed_one(large: Project) -> None:
    first = candidate_choices.request(large, CHOICE, by=curator())
    with pytest.raises(Conflict, match="being chosen"):
        candidate_choices.request(large, CHOICE, by=curator())
    run_job(KIND, first.pk)
    second = counted(large)
    first.refresh_from_db()
    assert (first.state, second.state) == ("cancelled", "ready")
    candidate_choices.cancel(second, by=curator())
    third = candidate_choices.request(large, CHOICE, by=curator())
    candidate_choices.cancel(third, by=curator())
    third.refresh_from_db()
    assert (third.state, places(large)) == ("cancelled", AS_IMPORTED)


def test_a_choice_counted_before_an_import_is_not_applied(large: Project) -> None:
    choice = counted(large)
    import_lines(large, [sentence(6)])
    candidate_choices.apply(choice, by=curator())
    assert run_job(KIND, choice.pk).error_code == "candidates_outdated"
    assert len(work(large)) == 7
    candidate_choices.retry(choice, by=curator())
    run_job(KIND, choice.pk)
    assert counted(large).effect["rest"] == 4


def test_criteria_that_nothing_fits_end_the_job_with_that_reason(large: Project) -> None:
    choice = candidate_choices.request(large, Wanted(order=["ids"], ids=["none"]), by=curator())
    assert run_job(KIND, choice.pk).error_code == "no_candidates"
    assert counted(large).state == "ready"


def test_the_page_shows_progress_effect_and_outcome(large: Project, client: Client) -> None:
    client.force_login(curator())
    url = reverse("candidates", args=[large.slug])
    assert client.post(url, {"ids": " ".join(ORDER), "action": "preview"}).status_code == 302
    waiting = client.get(url).content.decode()
    assert "Counting what changes" in waiting
    assert "Preview" not in waiting
    choice = large.candidate_choices.get()
    run_job(KIND, choice.pk)
    assert client.get(url, headers={"HX-Request": "true"})["HX-Refresh"] == "true"
    assert "What this choice gives" in client.get(url).content.decode()
    client.post(url, {"action": "apply"})
    assert "Changing the candidates" in client.get(url).content.decode()
    client.post(url, {"action": "retry"})
    assert "no job of it has failed" in client.get(url).content.decode()
    run_job(KIND, choice.pk)
    assert "3 sentences to label, 3 others" in client.get(url).content.decode()


def test_the_api_counts_applies_and_states_progress(large: Project, client: Client) -> None:
    client.force_login(curator())
    url = f"/api/v1/projects/{large.slug}/candidates"
    body = {"order": ["ids"], "ids": ORDER, "preview": True}
    reply = client.post(url, body)
    assert reply.status_code == 202
    assert reply.json()["effect"] is None
    number = reply.json()["choice"]
    run_job(KIND, number)
    assert client.get(url).json()["latest"]["effect"]["rest"] == 3
    act = {"choice": number, "action": "apply"}
    assert client.post(f"{url}/choice", act, "application/json").json()["state"] == "applying"
    run_job(KIND, number)
    now = client.get(url).json()
    assert (now["work"], now["rest"], now["latest"]["state"]) == (3, 3, "done")
    assert client.post(f"{url}/choice", act, "application/json").status_code == 409
    at_once = client.post(url, {"order": ["ids"], "ids": ["s1"]}).json()["choice"]
    run_job(KIND, at_once)
    run_job(KIND, at_once)
    assert work(large) == [("s1", "", 1)]
