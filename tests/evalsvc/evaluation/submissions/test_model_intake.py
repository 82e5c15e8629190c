"""Machines that may run models: those with recently seen workers."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.models import ModelHost
from evalsvc.evaluation.submissions import model_intake

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def on(settings: Any) -> None:
    settings.MODEL_UPLOADS = "auto"


def silent_for(minutes: int, *, name: str = "here") -> None:
    ModelHost.objects.filter(name=name).update(seen_at=timezone.now() - timedelta(minutes=minutes))


def test_a_machine_not_seen_recently_offers_nothing() -> None:
    model_intake.record_self_test("here", why_not="")
    assert model_intake.unavailable_reason() == ""
    silent_for(6)
    assert model_intake.unavailable_reason() == model_intake.NO_ACTIVE_WORKER


def test_a_machine_asking_for_work_counts_again() -> None:
    model_intake.record_self_test("here", why_not="")
    silent_for(6)
    model_intake.record_seen("here")
    assert model_intake.unavailable_reason() == ""


def test_a_machine_busy_with_a_long_job_counts() -> None:
    model_intake.record_self_test("here", why_not="")
    silent_for(60)
    job = Job.objects.create(
        kind="predict",
        queue="heavy",
        subject=1,
        state="running",
        worker="here:17",
        lease_until=timezone.now(),
    )
    assert model_intake.unavailable_reason() == model_intake.NO_ACTIVE_WORKER  # its lease ran out
    Job.objects.update(lease_until=Now() + timedelta(seconds=10))
    assert model_intake.unavailable_reason() == ""
    Job.objects.filter(pk=job.pk).update(worker="here2:17")
    assert model_intake.unavailable_reason() == model_intake.NO_ACTIVE_WORKER


def test_one_capable_machine_suffices_and_inactive_ones_are_ignored() -> None:
    model_intake.record_self_test("old", why_not="The kernel has no Landlock.")
    model_intake.record_self_test("here", why_not="")
    assert model_intake.unavailable_reason() == ""
    silent_for(6)
    assert model_intake.unavailable_reason() == "The kernel has no Landlock."
    silent_for(6, name="old")
    assert model_intake.unavailable_reason() == model_intake.NO_ACTIVE_WORKER


def test_machines_not_seen_for_a_day_are_removed() -> None:
    model_intake.record_self_test("old", why_not="")
    silent_for(24 * 60 + 1, name="old")
    model_intake.record_self_test("here", why_not="")
    assert list(ModelHost.objects.values_list("name", flat=True)) == ["here"]
