"""A label's own words: given by a curator in the browser, read where somebody has to choose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from annotation import projects
from annotation.models import OntologyLabel
from annotation.ontology import inventory, label_texts
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.markdown import section_html as section
from tests.annotation.browser_keyboard import Start, press
from tests.cast.projects import ProjectCast, create_project, curator
from tests.errors import code

if TYPE_CHECKING:
    from playwright.sync_api import Page

GUIDELINE = """Read the whole sentence.

## per:age

An age in *years*.

### Months

Months count too.

Place of birth
--------------

A town or a country.
"""


def given(**changed: str) -> dict[str, Any]:
    words = {"title": "place lived", "phrase": "lived in", "group": "Life", "head_type": "person"}
    words |= {"tail_type": "place", "definition": "Had a **home** there.", "choose": "", "avoid": ""}
    return words | changed


def address(cast: ProjectCast, name: str) -> str:
    return f"/projects/harbour/ontology/{cast.project.labels.get(name=name).pk}/"


def test_a_curator_edits_label_texts_and_the_form_shows_them(client: Client, cast: ProjectCast) -> None:
    cast.import_lines(
        {"id": "s1", "text": "Ada in Turin"} | mentions(), {"id": "s2", "text": "Ada of Turin"} | mentions()
    )
    cast.open()
    sent = given(choose="Ada lived in Turin.\r\n\r\n Ada’s house in Turin \r\n", avoid="Ada saw Turin.")
    answer = client.post(address(cast, "born_in"), sent)
    assert answer.headers["Location"] == "/projects/harbour/ontology/"
    label = cast.project.labels.get(name="born_in")
    assert (label.phrase, label.group, label.head_type, label.tail_type) == (
        "lived in",
        "Life",
        "person",
        "place",
    )
    assert label.choose == ["Ada lived in Turin.", "Ada’s house in Turin"]
    client.force_login(cast.people["ann"])
    page = client.get("/label/harbour/").content.decode()
    assert "Had a <strong>home</strong> there." in page
    assert re.search(r'data-phrase="lived in"\s+data-head="person"\s+data-tail="place"', page)
    assert "<em>Ada’s house in Turin</em>" in page


def mentions() -> dict[str, Any]:
    return {"h": {"id": "a", "name": "Ada", "pos": [0, 3]}, "t": {"id": "t", "name": "Turin", "pos": [7, 12]}}


def test_a_definition_cannot_inject_markup(client: Client, cast: ProjectCast) -> None:
    cast.import_lines({"id": "s1", "text": "Ada in Turin"} | mentions())
    cast.open()
    client.post(address(cast, "born_in"), given(definition="<script>x</script>[a](javascript:x)"))
    client.force_login(cast.people["ann"])
    page = client.get("/label/harbour/").content.decode()
    assert "<script>x" not in page
    assert "&lt;script&gt;x" in page
    assert 'href="javascript' not in page


def test_the_ontology_links_to_labels_and_marks_missing_definitions(
    client: Client, cast: ProjectCast
) -> None:
    page = client.get("/projects/harbour/ontology/").content.decode()
    for name in ("lived_in", "born_in", "died_in"):
        assert f'href="{address(cast, name)}"' in page
    assert page.count(">no definition<") == 2


def test_texts_of_merged_and_preset_labels_can_be_edited(client: Client, cast: ProjectCast) -> None:
    inventory.apply_preset(cast.project, "nyt10", by=cast.curator)
    inventory.merge(cast.project, ["born_in", "lived_in"], target="been_in", by=cast.curator)
    for name in ("been_in", "/location/location/contains"):
        client.post(address(cast, name), given(definition=f"Words of {name}."))
    definitions = {choice.name: choice.definition for choice in inventory.inventory(cast.project)}
    assert definitions["been_in"] == "Words of been_in."
    assert definitions["/location/location/contains"] == "Words of /location/location/contains."


def test_a_later_preset_keeps_edited_texts(client: Client, cast: ProjectCast) -> None:
    name = "/location/location/contains"
    inventory.add_labels(cast.project, [name], by=cast.curator)
    client.post(address(cast, name), given(definition="Our own words."))
    inventory.apply_preset(cast.project, "nyt10", by=cast.curator)
    assert cast.project.labels.get(name=name).definition == "Our own words."


def test_label_texts_are_previewed_and_rejected_when_too_long(client: Client, cast: ProjectCast) -> None:
    page = client.get(address(cast, "lived_in")).content.decode()
    assert 'value="place lived"' in page
    assert "The head lived there." in page
    page = client.post(address(cast, "lived_in"), given(title="")).content.decode()
    assert "This field is required" in page
    page = client.post(address(cast, "lived_in"), given(definition="x" * 20_001)).content.decode()
    assert "20000" in page
    assert OntologyLabel.objects.get(name="lived_in").definition == "The head lived there."


def test_invalid_texts_of_a_label_are_rejected_by_field(cast: ProjectCast) -> None:
    label = cast.project.labels.get(name="born_in")
    for wrong in (
        {"name": "x"},
        {"title": ""},
        {"phrase": "x" * 201},
        {"choose": "not a list"},
        {"group": None},
    ):
        with pytest.raises(DomainError, check=code("bad_label", field=next(iter(wrong)))):
            label_texts.set_texts(label, by=cast.curator, **wrong)  # type: ignore[arg-type]


def test_a_label_page_of_another_project_is_404(client: Client, cast: ProjectCast) -> None:
    other = projects.create(title="Other", kind="relations", by=cast.curator)
    (label,) = inventory.add_labels(other, ["x"], by=cast.curator)
    assert client.get(f"/projects/harbour/ontology/{label.pk}/").status_code == 404


@pytest.mark.parametrize(
    ("names", "shown", "absent"),
    [
        (
            ("per:age", "age"),
            ["An age in <em>years</em>.", "Months count too."],
            ["A town", "Read the whole"],
        ),
        (("born_in", "place of birth"), ["A town or a country."], ["An age", "<h3>"]),
        (("months", ""), ["Months count too."], ["A town", "An age"]),
        (("lived_in", "place lived"), [], ["A town", "An age", "Months"]),
    ],
)
def test_a_guideline_section_is_linked_to_the_label_in_its_heading(
    names: tuple[str, ...], shown: list[str], absent: list[str]
) -> None:
    found = section(GUIDELINE, *names)
    assert all(words in found for words in shown)
    assert not any(words in found for words in absent)


@pytest.mark.browser
def test_the_guideline_stays_in_view_for_a_label_without_texts(page: Page, start: Start) -> None:
    labels = [
        {"name": "per:age"},
        {"name": "lived_in", "definition": "The head **lived** there."},
        {"name": "per:x"},
    ]
    cast = start(labels=labels)
    projects.set_guideline(cast.project, guideline=GUIDELINE, by=cast.curator)
    page.reload()
    page.locator("#work").wait_for()
    press(page, "ArrowDown")
    aged = page.locator('[data-guide="per:age"]')
    aged.get_by_text("An age in years.").wait_for()
    assert page.get_by_text("Read the whole sentence.").is_visible()
    press(page, "ArrowDown")
    page.locator("strong", has_text="lived").wait_for()
    assert page.get_by_text("Read the whole sentence.").is_hidden()
    press(page, "ArrowDown")
    page.get_by_text("Read the whole sentence.").wait_for()
    assert page.get_by_text("A town or a country.").is_visible()


def test_curators_order_groups_and_labels_by_buttons_and_save(cast: ProjectCast, client: Client) -> None:
    project = create_project(labels=[{"name": name, "group": name[0]} for name in ("x1", "x2", "x3", "y1")])
    client.force_login(curator())
    address = f"/projects/{project.slug}/ontology/order/"
    row = {choice.name: choice.row for choice in inventory.inventory(project)}
    rows = [*row.values()]
    for move in (f"label {row['x3']} first", f"label {row['x1']} down", f"group {row['y1']} up"):
        page = client.post(address, {"part": "relation", "label": rows, "move": move}).content.decode()
        assert f'value="{move}"' in page.replace("\n", "")
        assert re.search(rf'value="{move}"[^>]*autofocus', page)
        rows = [int(pk) for pk in re.findall(r'name="label" value="(\d+)"', page)]
    assert [choice.name for choice in inventory.inventory(project)] == [*row]
    client.post(address, {"part": "relation", "label": rows, "action": "save"})
    keys = [(choice.name, choice.key) for choice in inventory.inventory(project)]
    assert keys == [("y1", "1"), ("x3", "2"), ("x2", "3"), ("x1", "4")]
