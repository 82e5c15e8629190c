"""Candidates, a change of labels with preview and undo, and a split, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from annotation import projects
from annotation.freezing import builder
from annotation.ontology import inventory
from annotation.testset import TestSet
from tests.cast.basics import run_job, sentence
from tests.cast.browser import open_as
from tests.cast.projects import answered_item, create_project, curator, import_lines

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_a_curator_chooses_candidates_changes_labels_undoes_it_and_splits_the_set(
    live: str, page: Page
) -> None:
    project = create_project(k=2)
    sources = ["A", "B", "A", "", "", ""]
    lines = [
        sentence(at, head=f"Q{at}", tail=f"T{at}", relations=[label] * bool(label))
        for at, label in enumerate(sources)
    ]
    import_lines(project, lines)
    main = page.locator("#main")

    def press(name: str) -> None:
        with page.expect_navigation():
            main.get_by_role("button", name=name, exact=True).click()

    open_as(page, "curator", f"{live}/projects/{project.slug}/candidates/")
    page.get_by_label("Every sentence with a source label").check()
    page.fill("#id_random", "1")
    page.fill("#id_seed", "x")
    press("Preview")
    page.get_by_text("What this choice gives").wait_for()
    assert project.items.live().count() == 6  # nothing has changed yet
    press("Choose these")
    assert project.items.live().count() == 4

    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], ["B"], item="s0")
    answered_item(project, ["C"], ["C"], item="s1")
    answered_item(project, ["A"], ["A"], item="s2")
    page.goto(f"{live}/projects/{project.slug}/ontology/")
    main.get_by_role("link", name="Plan several steps").click()
    page.select_option("#id_operation", "merge")
    page.get_by_label("A", exact=True).check()
    page.get_by_label("B", exact=True).check()
    page.fill("#id_target", "AB")
    press("Add step")
    page.select_option("#id_operation", "split")
    page.get_by_label("C", exact=True).check()
    page.fill("#id_target", "C1; C2")
    press("Add step")
    page.get_by_text("2 labels would change").or_(page.get_by_text("labels would change")).first.wait_for()
    row = main.get_by_role("row", name="Disputed")
    assert [cell.inner_text() for cell in row.get_by_role("cell").all()] == ["1", "0", "−1"]
    assert project.steps.count() == 0
    press("Make 2 steps")
    page.get_by_text("2 steps made").wait_for()
    assert {choice.name for choice in inventory.inventory(project)} == {"AB", "C1", "C2"}
    press("Undo the plan from step 1")
    page.get_by_text("2 steps undone").wait_for()
    assert {choice.name for choice in inventory.inventory(project)} == {"A", "B", "C"}

    test_set = builder.freeze(project, name="Harbour", version="1.0", leave_out=True, by=curator())
    run_job("freeze", test_set.pk)
    page.goto(f"{live}/test-sets/{test_set.slug}/split/")
    press("Preview")
    page.get_by_text("What this split gives").wait_for()
    press("Make these test sets")
    page.get_by_text("are being written").wait_for()
    assert TestSet.objects.count() == 6  # the set, two parts, and a set of source labels for each
