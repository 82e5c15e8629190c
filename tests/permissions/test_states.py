"""Every route in unusual states of its objects: no error of the service, and no more rights than usual.

Each world puts one state on each kind of object. Every row of the table is requested in two of the worlds:
in one by an administrator, who gets through to the code behind it, in the other by one more person; with
`FULL=1` in every world by everybody.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.freezing import builder
from annotation.models import Annotator, Batch, Item, Lease, Project
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.evaluation.models import Submission
from tests.cast.service import ServiceCast
from tests.permissions.requester import PEOPLE, Requester, rolled_back
from tests.permissions.table import EXPECTED, REJECTED
from tests.permissions.test_visibility import LABELLING_ROUTES
from tests.places.extent import FULL

World = Callable[[ServiceCast], None]


def in_state(cast: ServiceCast, *, project: str, import_: str, submission: str) -> None:
    Project.objects.filter(pk=cast.harbour.pk).update(state=project)
    Batch.objects.filter(pk__in=(cast.batch.pk, cast.gold_batch.pk)).update(state=import_)
    runs = Submission.objects.filter(pk__in=(cast.scored.pk, cast.queued.pk))
    runs.update(state=submission, ended_at=timezone.now())


def unfrozen(cast: ServiceCast, state: str) -> None:
    """Replace the test set by one whose freeze has not ended well, or not at all."""
    cast.test_set = builder.freeze(
        cast.harbour, name="Harbour", version="2.0", leave_out=True, by=cast["cleo"]
    )
    sets = TestSet.objects.filter(pk__in=(cast.test_set.pk, cast.test_set.source_twin.pk))
    sets.update(state=state)
    cast.test_set.refresh_from_db()


def closed(cast: ServiceCast) -> None:
    unfrozen(cast, TestSet.State.FAILED)
    in_state(cast, project="closed", import_="refused", submission="cancelled")
    cast.tides.settings.update(opens_at=day(-3), closes_at=day(-1))
    Lease.objects.filter(pk=cast.lease.pk).update(ending="expired", expires_at=day(-1))


def half_built(cast: ServiceCast) -> None:
    unfrozen(cast, TestSet.State.BUILDING)
    in_state(cast, project="setup", import_="running", submission="running")
    cast.tides.settings.update(opens_at=day(1), closes_at=day(2))


def emptied(cast: ServiceCast) -> None:
    in_state(cast, project="setup", import_="received", submission="received")
    cast.tides.settings.all().update(phase="test", sealed=True, closes_at=day(1))
    cast.tides.__class__.objects.filter(pk=cast.tides.pk).update(public=False)
    Item.objects.filter(project=cast.harbour, external_id__in=("s6", "s7", "s8")).delete()


def withdrawn(cast: ServiceCast) -> None:
    in_state(cast, project="open", import_="failed", submission="scored")
    Submission.objects.filter(pk=cast.scored.pk).update(withdrawn_at=timezone.now())
    cast.tides.settings.update(sealed=True, closes_at=day(-1))
    annotators = Annotator.objects.filter(pk=cast.lease.annotator_id)
    annotators.update(paused_at=timezone.now(), pause_reason="Paused.", aside_at=timezone.now())


def failed(cast: ServiceCast) -> None:
    in_state(cast, project="archived", import_="cancelled", submission="failed")
    Submission.objects.filter(pk=cast.scored.pk).update(state="invalid", reason_code="x", reason="Invalid.")
    cast.harbour.members.filter(user=cast["ann"]).delete()
    cast.tides.__class__.objects.filter(pk=cast.tides.pk).update(public=False)
    User.objects.filter(pk=cast["bob"].pk).update(is_active=False)


WORLDS: dict[World, str] = {
    closed: "anno",
    half_built: "memb",
    emptied: "rivl",
    withdrawn: "adju",
    failed: "stra",
}


def day(number: int) -> object:
    return timezone.now() + timedelta(days=number)


def in_turn(world: World) -> Iterator[tuple[str, str, str]]:
    """Yield row, method and person of the requests in a world."""
    turn = list(WORLDS).index(world)
    for at, ((row, method), cells) in enumerate(sorted(EXPECTED.items()), turn):
        other = {0: "root", 2: "root", 4: WORLDS[world]}.get(at % len(WORLDS), "")
        for who in PEOPLE if FULL else (other,):
            # of several objects an administrator may open each
            if who in cells and (FULL or who != "root" or ":" not in row):
                yield row, method, who


@pytest.fixture(params=WORLDS, ids=lambda world: world.__name__)
def world(requester: Requester, request: pytest.FixtureRequest) -> Iterator[tuple[World, Requester]]:
    with rolled_back():
        cast = copy.copy(requester.cast)
        request.param(cast)
        yield request.param, Requester(cast)


def test_no_state_of_an_object_gives_an_error_of_the_service_or_more_rights(
    world: tuple[World, Requester],
) -> None:
    errors, gained = {}, {}
    for row, method, who in in_turn(world[0]):
        usual, outcome = EXPECTED[row, method][who], world[1].request(row, method, who).outcome
        if outcome.startswith("5") and outcome != usual:
            errors[row, method, who] = outcome
        if usual in REJECTED and outcome not in REJECTED:
            gained[row, method, who] = f"{usual} → {outcome}"
    assert errors == {}
    assert gained == {}


# Restoring it, its members, reports that a job computes, and terms of what is published of it.
CHANGES_WHEN_ARCHIVED = {
    *("project", "project-members", "api-members", "api-member-remove"),
    *("agreement", "api-agreement", "release", "api-release-accept"),
}


def test_an_archived_project_changes_in_nothing_but_its_members_until_it_is_restored(
    requester: Requester,
) -> None:
    with rolled_back():
        Project.objects.filter(pk=requester.cast.harbour.pk).update(state=Project.State.ARCHIVED)
        replies = {
            row: requester.request(row, method, "cura")
            for row, method in EXPECTED
            if method != "GET" and row.partition(":")[0] in LABELLING_ROUTES
        }
    done = {row: reply.writes for row, reply in replies.items() if reply.outcome[0] in "23"}
    # requests are counted wherever they are limited
    changed = {row for row, writes in done.items() if any("teams_passwordtry" not in each for each in writes)}
    assert changed == CHANGES_WHEN_ARCHIVED
    assert "project_archived" in replies["api-freeze"].content
