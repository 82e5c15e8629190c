"""Every page and download for curators, on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.queue import leases
from tests.annotation.reports.test_project_stats import labelled
from tests.cast.basics import compute_agreement, person
from tests.cast.projects import annotators, answer_item, curator, project_with_items

PAGES = (
    *("project", "progress", "progress-days-svg", "progress-days-csv", "progress-people-csv"),
    *("progress-labels-csv", "otherwise", "agreement", "agreement-svg", "agreement-pairs"),
    *("agreement-relations", "judgments", "mine"),
)


def test_every_page_for_curators_responds(either_database: str) -> None:
    project = labelled()
    compute_agreement(project, by=curator())
    leases.lease_next(project, annotators(project, 3)[0])
    projects.set_member(project, user=person("newcomer"), role="annotator", by=curator())
    browser = Client()
    browser.force_login(curator())
    for name in PAGES:
        assert browser.get(reverse(name, args=[project.slug])).status_code == 200, name
    browser.force_login(person("ann0"))
    for name in ("project", "mine", "mine-svg", "mine-csv"):
        assert browser.get(reverse(name, args=[project.slug])).status_code == 200, name


QUERIES = (
    "",
    "?order=newest",
    "?state=settled",
    "?label=A",
    "?annotator=ann0",
    "?remark=any",
    "?q=SEEN",
    "?pattern=1",
)


def test_sentences_and_annotators_respond_to_each_filter(either_database: str) -> None:
    project = labelled()
    item, annotator = project.items.earliest("rank"), project.annotators.get(name="ann0")
    browser = Client()
    browser.force_login(curator())
    listed = reverse("sentences", args=[project.slug])
    for query in (*QUERIES, f"?before={item.key}", f"?after={item.key}"):
        response = browser.get(listed + query)
        assert response.status_code == 200, query
    for address in (
        reverse("sentence", args=[project.slug, item.key]),
        reverse("annotator", args=[project.slug, annotator.pk]),
        reverse("api-items", args=[project.slug]),
    ):
        assert browser.get(address).status_code == 200, address
    assert len(browser.get(listed + "?label=A").context["rows"]) == 2


@pytest.mark.parametrize("page", ["progress", "otherwise"])
def test_other_policy_changes_are_the_same_on_both(either_database: str, page: str) -> None:
    project = project_with_items(1, k=3)
    for user, labels in zip(annotators(project, 3), ([], [], ["A"]), strict=True):
        answer_item(project.items.get(), user, *labels)
    browser = Client()
    browser.force_login(curator())
    context = browser.get(reverse(page, args=[project.slug])).context
    changes = context["changes"] if page == "progress" else context["shown"].paginator.count
    assert changes == 1
