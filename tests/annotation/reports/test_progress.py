"""Remaining items: the same number on every page and in the API."""

from __future__ import annotations

import re
from html import unescape
from itertools import pairwise
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Annotator, Item, Project
from annotation.queue import lease_endings, leases, pauses, quality_settings, votes
from annotation.reports.progress import answers_needed, own_times, progress_of
from evalsvc.core.accounts.models import User
from tests.cast.basics import sentence
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items

pytestmark = pytest.mark.django_db


def shown_everywhere(project: Project, user: User) -> dict[str, int]:
    """Return the remaining items of a person as each page shows them."""
    browser = Client()
    browser.force_login(user)

    def number(pattern: str, address: str) -> int:
        match = re.search(pattern, unescape(browser.get(address).content.decode()))
        return int(match[1].replace(",", "")) if match else 0

    form = reverse("label", args=[project.slug])
    return {
        "form": number(r'data-total="(\d+)"', form) - number(r'data-done="(\d+)"', form),
        "list": number(r"([\d,]+) sentences? to label", reverse("label-index")),
        "mine": number(
            r"([\d,]+) (?:more|sentences?) (?:is|are) available", reverse("mine", args=[project.slug])
        ),
        "home": number(r"([\d,]+) sentences? to label", reverse("home")),
        "api": browser.get(f"/api/v1/projects/{project.slug}").json()["progress"]["waiting"],
    }


def left(project: Project, user: User) -> int:
    return int(progress_of(project, user)["waiting"])


def left_everywhere(project: Project, user: User) -> int:
    """Return the number that all pages agree on."""
    shown = shown_everywhere(project, user)
    assert len(set(shown.values())) == 1, shown
    return shown["form"]


def total(project: Project, user: User) -> int:
    counts = progress_of(project, user)
    return int(counts["answered"] + counts["skipped"] + counts["waiting"])


def add_gold_questions(project: Project, use: str, *names: str) -> None:
    import_lines(project, [sentence(name) for name in names])
    for name in names:
        item = project.items.get(external_id=name)
        quality_settings.make_gold_question(item, payload={"relations": ["A"]}, use=use, by=curator())


def answered(project: Project, user: User) -> Item:
    lease = leases.lease_next(project, user)
    assert lease is not None
    answer_item(lease.item, user, "A", base=lease.base)
    return lease.item


def test_leased_items_count_as_remaining_on_every_page() -> None:
    project = project_with_items(5, k=1)
    (user,) = annotators(project, 1)
    assert left(project, user) == 5
    leases.lease_several(project, user, n=3)
    assert left_everywhere(project, user) == answers_needed(project) == 5
    answered(project, user)
    assert left(project, user) == answers_needed(project) == 4


def test_the_qualification_round_counts_as_remaining() -> None:
    project = project_with_items(3, k=1)
    add_gold_questions(project, "qualify", "q0", "q1")
    (user,) = annotators(project, 1)
    quality_settings.set_quality_options(project, by=curator(), qualifies=True)
    for at in range(5):
        assert left(project, user) == 5 - at
        assert total(project, user) == 5
        leases.lease_next(project, user)
        assert (left_everywhere if at in (0, 2) else left)(project, user) == 5 - at
        answered(project, user)
    assert left_everywhere(project, user) == 0


def test_a_hidden_check_changes_the_remaining_count_like_any_item() -> None:
    project = project_with_items(5, k=1)
    add_gold_questions(project, "check", "c0", "c1", "c2")
    (user,) = annotators(project, 1)
    quality_settings.set_quality_options(project, by=curator(), check_every=2, least_checks=1_000)
    counts, seen, corrected = [left_everywhere(project, user)], list[str](), list[int]()
    assert counts[0] in (7, 8)  # two checks among four sentences, and perhaps one with the fifth
    while leases.lease_next(project, user):
        if left(project, user) != counts[-1]:
            assert seen.count("") == 4  # the last block may have no check, or one more
            corrected.append(len(seen) - 1)
            counts[-1] = left(project, user)
        seen.append(answered(project, user).use)
        counts.append(left_everywhere(project, user) if len(seen) == 3 else left(project, user))
    steps = [before - after for before, after in pairwise(counts)]
    assert (counts[-1], seen.count("check")) == (0, len(seen) - 5)
    assert len(corrected) <= 1
    assert {step for at, step in enumerate(steps) if at not in corrected} == {1}


def test_pages_list_a_project_by_what_is_left_to_the_person_alone() -> None:
    project = project_with_items(2, k=1)
    add_gold_questions(project, "check", "c0", "c1")
    (user,) = annotators(project, 1)
    quality_settings.set_quality_options(project, by=curator(), check_every=2, least_checks=1_000)
    taken = leases.lease_several(project, user, n=4)  # so that no sentence has room
    assert {lease.item.use for lease in taken} == {"", "check"}
    for lease in taken:
        lease_endings.return_lease(lease.pk, user)
        assert left_everywhere(project, user) == len(taken)
        leases.lease_several(project, user, n=4)


def test_deferred_items_count_as_remaining_and_not_as_skipped() -> None:
    project = project_with_items(3, k=1)
    (user,) = annotators(project, 1)
    votes.skip(project.items.get(external_id="s0"), user, client_id=uuid4(), reason="later")
    votes.skip(project.items.get(external_id="s1"), user, client_id=uuid4(), reason="broken")
    assert (left_everywhere(project, user), progress_of(project, user)["skipped"]) == (2, 1)
    answered(project, user)
    leases.lease_next(project, user)
    assert (left(project, user), progress_of(project, user)["skipped"]) == (1, 1)


def test_unanswerable_items_need_no_answers() -> None:
    project = project_with_items(2, k=2)
    for user in annotators(project, 2):
        votes.skip(project.items.get(external_id="s0"), user, client_id=uuid4(), reason="broken")
        assert left_everywhere(project, user) == 1
    assert answers_needed(project) == 2
    browser = Client()
    browser.force_login(curator())
    address = reverse("progress", args=[project.slug])
    lead = browser.get(address).context["lead"]
    assert re.findall(r"\d+", lead)[:4] == ["0", "2", "1", "2"]  # decided, all, to adjudicate, answers needed
    for user in annotators(project, 2):
        answer_item(project.items.get(external_id="s1"), user, "A")
    assert answers_needed(project) == 0
    lead = browser.get(address).context["lead"]
    assert re.findall(r"\d+", lead) == ["1", "2", "1"]


def test_nothing_remains_for_paused_annotators_or_in_closed_projects() -> None:
    project = project_with_items(3, k=1)
    first, second = annotators(project, 2)
    answered(project, first)
    pauses.pause(Annotator.objects.get(project=project, user=first), by=curator())
    assert (progress_of(project, first)["waiting"], progress_of(project, second)["waiting"]) == (0, 2)
    projects.close(project, by=curator())
    assert progress_of(project, second)["waiting"] == 0


def test_the_median_time_is_that_of_answers_alone_in_every_report() -> None:
    project = project_with_items(3, k=1)
    (user,) = annotators(project, 1)
    first, second, third = project.items.order_by("rank")
    answer_item(first, user, "A", milliseconds=1_000)
    answer_item(second, user, "A", milliseconds=4_000)
    votes.skip(third, user, client_id=uuid4(), reason="broken", milliseconds=90_000)
    assert progress_of(project, user)["median_seconds"] == own_times(project, user).recent == 2.5
