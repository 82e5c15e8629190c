"""Project setup in a browser, from a file to the first label."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from annotation.models import Member, Project, Vote
from tests.cast.basics import person, sentence
from tests.cast.browser import log_in
from tests.conftest import StartWorker

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser

GUIDELINE = "# What counts\n\nSay what the **sentence** says."


@dataclass
class Steps:
    """Presses and choices, counted; typing belongs to the next button."""

    page: Page
    taken: list[str] = field(default_factory=list)

    def press(self, name: str, *, role: str = "button") -> None:
        self.taken.append(name)
        self.page.locator("#main").get_by_role(role, name=name, exact=True).first.click()  # type: ignore[arg-type]

    def follow(self, name: str) -> None:
        self.press(name, role="link")

    def choose(self, file: Path) -> None:
        self.taken.append(file.name)
        self.page.set_input_files("#id_upload", file)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Twelve sentences with source labels, one misspelt, and an invalid line."""
    labels = ["born_in"] * 7 + ["died_in"] * 4 + ["born_im"]
    lines = [json.dumps(sentence(at, relations=[label])) for at, label in enumerate(labels, 1)]
    path = tmp_path / "sentences.jsonl"
    path.write_text("\n".join([*lines, '{"id": "s13", "text": "No entities."}', ""]))
    return path


def test_a_project_is_set_up_from_a_file_in_ten_steps(
    live: str, page: Page, worker: StartWorker, file: Path
) -> None:
    curator = person("cleo", may_organise=True)
    for name in ("ann", "bob", "nils"):
        person(name)
    worker()
    log_in(page, "cleo", "/projects/")
    steps = Steps(page)

    steps.follow("New project")
    page.fill("#id_title", "Harbour news")
    page.fill("#id_guideline", GUIDELINE)
    steps.press("Create project")

    steps.choose(file)
    steps.press("Import file")
    page.get_by_text("1 line rejected").wait_for()
    page.get_by_text("may be a misspelling of").wait_for()
    steps.press("Merge into born_in")
    page.get_by_text("born_im now counts as born_in").wait_for()

    steps.follow("Next: add annotators")
    page.fill("#id_user", "ann, bob, nils")
    steps.press("Save role")
    page.get_by_text("Role saved for").wait_for()

    steps.follow("Next: open the project")
    steps.press("Open project")
    page.get_by_text("Project opened. Annotators can label.").wait_for()

    steps.follow("Label")
    page.locator("#sentence", has_text="was seen").wait_for()
    page.get_by_text("What counts").wait_for()
    page.keyboard.press("1")
    with page.expect_response(lambda answer: answer.url.endswith("/answer")):
        page.keyboard.press("Enter")

    assert len(steps.taken) <= 10, steps.taken
    project = Project.objects.get(slug="harbour-news")
    assert (project.state, project.k, project.items.count()) == ("open", 4, 12)
    assert project.members.filter(role=Member.Role.ANNOTATOR).count() == 3
    assert set(project.labels.values_list("name", flat=True)) == {"born_in", "died_in", "born_im"}
    vote = Vote.objects.get()
    assert (vote.annotator.user, vote.payload["relations"]) == (curator, ["born_in"])
