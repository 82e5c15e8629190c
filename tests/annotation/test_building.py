"""Failed jobs of test sets and imports are restarted, and waiting ones cancelled, by page and API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Batch
from annotation.releases import publishing
from annotation.splits import companions, making, mapping
from annotation.splits.making import Plan
from annotation.splits.mapping import MappingPlan
from annotation.testset import TestSet, logged_changes
from evalsvc.core.accounts.models import User
from evalsvc.core.jobs import transitions
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import claim, claim_job, start_drain
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import answered_item, curator, import_lines, jsonl_file, project_with_items

LINES = [{**sentence(f"s{at}"), "relations": ["born_in"] * (at % 2)} for at in range(6)]


@pytest.fixture
def by(db: None) -> User:
    return curator()


def imported(name: str = "Whole") -> TestSet:
    return TestSet.objects.get(batch=import_lines(None, LINES, what="gold", name=name, version="1"))


def frozen() -> TestSet:
    project = project_with_items(2)
    for at in range(2):
        answered_item(project, ["A"], ["A"], item=f"s{at}")
    return builder.freeze(project, name="Trial", version="1.0", by=curator())


def split() -> TestSet:
    return making.make(imported(), Plan.of(parts="dev=0.5,test=0.5", seed="split-1"), by=curator())[0]


def mapped() -> TestSet:
    plan = MappingPlan.of(imported(), names={"born_in": "birthplace"}, by=curator())
    return mapping.make(plan, name="Mapped", version="1", by=curator())


def lose(kind: str, subject: int) -> None:
    """Fail the job as if its process had been killed three times."""
    job = claim_job(Job.objects.filter(kind=kind, subject=subject).latest("pk"))
    assert job is not None
    transitions.fail(job, code="worker_lost", reason="The worker process ended 3 times.")


def requests_of(client: Client, surface: str, test_set: TestSet) -> Callable[[str], Any]:
    if surface == "page":
        return lambda action: client.post(reverse("test-set", args=[test_set.slug]), {"action": action})
    return lambda action: client.post(reverse(f"api-test-set-{action}", args=[test_set.slug]))


@pytest.mark.parametrize("surface", ["page", "api"])
@pytest.mark.parametrize("make", [frozen, split, mapped])
def test_a_set_whose_job_failed_is_made_by_a_retry(
    client: Client, by: User, make: Callable[[], TestSet], surface: str
) -> None:
    test_set = make()
    job = Job.objects.filter(subject=test_set.pk, kind__in=("freeze", "split", "map")).latest("pk")
    lose(job.kind, test_set.pk)
    client.force_login(by)
    assert b"Retry job" in client.get(reverse("test-set", args=[test_set.slug])).content
    requests_of(client, surface, test_set)("retry")
    run_job(job.kind, test_set.pk)
    test_set.refresh_from_db()
    assert test_set.state == TestSet.State.FROZEN
    logged = logged_changes(test_set).values_list("action", flat=True)
    assert [*logged[:2]] == [f"{job.kind} started again", f"{job.kind} failed"]


@pytest.mark.parametrize("surface", ["page", "api"])
@pytest.mark.parametrize("make", [frozen, split, mapped])
def test_the_making_of_a_set_is_cancelled(
    client: Client, by: User, make: Callable[[], TestSet], surface: str
) -> None:
    test_set = make()
    client.force_login(by)
    assert b"Cancel job" in client.get(reverse("test-set", args=[test_set.slug])).content
    requests_of(client, surface, test_set)("cancel")
    test_set.refresh_from_db()
    assert (test_set.state, test_set.reason) == (TestSet.State.FAILED, "It was cancelled.")
    assert logged_changes(test_set)[0].action.startswith("cancellation of ")


def test_a_freeze_that_changed_nothing_offers_the_earlier_set_instead_of_a_retry(
    client: Client, by: User
) -> None:
    earlier = frozen()
    run_job("freeze", earlier.pk)
    again = builder.freeze(earlier.project, name="Trial", version="1.1", by=by)
    run_job("freeze", again.pk)
    client.force_login(by)
    page = client.get(reverse("test-set", args=[again.slug])).content.decode()
    assert "Retry job" not in page
    assert f'href="{reverse("test-set", args=[earlier.slug])}">Open Trial 1.0</a>' in page


def test_statistics_that_failed_are_computed_by_a_retry(client: Client, by: User) -> None:
    test_set = imported()
    lose("describe", test_set.pk)
    client.force_login(by)
    assert b"Retry job" in client.get(reverse("test-set", args=[test_set.slug])).content
    requests_of(client, "page", test_set)("retry")
    run_job("describe", test_set.pk)
    test_set.refresh_from_db()
    assert test_set.statistics is not None


def test_imports_are_retried_and_cancelled_by_api(client: Client, by: User) -> None:
    project = project_with_items(1)
    client.force_login(by)

    def receive(name: str) -> Batch:
        upload = jsonl_file([sentence(name)])
        return batches.receive(content="items", upload=upload, filename=name, by=by, project=project)

    lost = receive("lost")
    lose("import", lost.pk)
    assert client.post(reverse("api-import-retry", args=[lost.pk])).json()["state"] == "received"
    run_job("import", lost.pk)
    unwanted = receive("unwanted")
    start_drain("New disks.")
    assert "no job is started now: New disks." in client.get(f"/imports/{unwanted.pk}/").content.decode()
    assert client.post(reverse("api-import-cancel", args=[unwanted.pk])).json()["state"] == "cancelled"
    again = client.post(reverse("api-import-cancel", args=[unwanted.pk]))
    assert (again.status_code, again.json()["code"]) == (409, "ended")
    assert set(project.items.live().values_list("external_id", flat=True)) == {"s0", "lost"}


def test_a_failed_count_of_shared_data_is_restarted_by_page_and_api(client: Client, by: User) -> None:
    test_set, train = imported(), imported("Train")
    companion = companions.put_beside(test_set, train, "training", by=by)
    client.force_login(by)
    page = reverse("test-set-companions", args=[test_set.slug])
    api = reverse("api-test-set-companions", args=[test_set.slug])
    assert b"is being counted" in client.get(page).content
    steps = (
        lambda: client.post(page, {"retry": train.slug}),
        lambda: client.post(api, {"set": train.slug, "retry": True}, content_type="application/json"),
        lambda: companions.put_beside(test_set, train, "training", by=by),
    )
    for step in steps:
        lose(companions.KIND, companion.pk)
        assert client.get(api).json()["companions"][0]["state"] == "failed"
        assert b"Count again" in client.get(page).content
        step()
        assert client.get(api).json()["companions"][0]["state"] == "queued"
    run_job(companions.KIND, companion.pk)
    assert client.get(api).json()["companions"][0]["state"] == "done"
    assert client.post(page, {"retry": train.slug}).status_code == 409
    log = client.get(reverse("api-test-set-log", args=[test_set.slug])).json()["results"]
    assert [row["action"] for row in log].count("train-1 beside it") == 1


def test_changes_around_a_set_are_logged_with_what_was_before(client: Client, by: User) -> None:
    whole = imported()
    run_job("describe", whole.pk)
    whole.refresh_from_db()
    publishing.publish(whole, access="anybody", by=by)
    publishing.publish(whole, access="named", usernames=["curator"], by=by)
    publishing.withdraw(whole, reason="Two texts were wrong.", by=by)
    making.make(whole, Plan.of(parts="dev=0.5,test=0.5", seed="split-1"), by=by)
    companions.put_beside(whole, imported("Train"), "training", by=by)
    client.force_login(by)
    log = client.get(reverse("api-test-set-log", args=[whole.slug])).json()["results"]
    values = {row["action"]: (row["before"], row["after"]) for row in reversed(log)}
    named = {"access": "named", "with_gold": False, "people": ["curator"]}
    assert values["test set published"] == ({"access": "anybody", "with_gold": False}, named)
    assert values["test set withdrawn"] == (named, named | {"withdrawn": "Two texts were wrong."})
    assert values["split"][1]["sets"] == ["whole-dev-1", "whole-test-1"]
    assert values["train-1 beside it"] == ("", "training")
    assert b"Two texts were wrong." in client.get(reverse("test-set-publish", args=[whole.slug])).content


def test_sets_of_two_curators_are_made_in_turns(by: User) -> None:
    other, ours = person("other", may_organise=True), imported()
    theirs = TestSet.objects.get(
        batch=import_lines(None, LINES, what="gold", name="Their", version="1", by=other)
    )
    Job.objects.filter(queue="heavy").delete()
    making.make(ours, Plan.of(parts="dev=0.5,test=0.5", seed="split-1"), by=by)
    part, *_ = making.make(theirs, Plan.of(parts="dev=0.5,test=0.5", seed="split-1"), by=other)
    order = [job.subject for _ in range(2) if (job := claim("heavy"))]
    assert order[1] == part.pk
