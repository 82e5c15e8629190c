"""The reference pages list every measure, format and error code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from evalsvc import guides
from evalsvc.core.errors.codes import SECTIONS, STATUSES
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.formats.registry import formats
from evalsvc.core.web.templatetags.formatting import powers
from evalsvc.evaluation.measures.menu import MENU

if TYPE_CHECKING:
    from playwright.sync_api import Page


def page_text(client: Client, name: str) -> str:
    response = client.get(reverse(name))
    assert response.status_code == 200
    return response.content.decode()


def test_every_measure_has_an_anchor_and_a_formula(client: Client) -> None:
    page = page_text(client, "docs-measures")
    for measure in MENU.values():
        assert f'id="{measure.key}"' in page
        assert powers(measure.formula) in page


def test_every_format_has_an_example(client: Client) -> None:
    page = page_text(client, "docs-formats")
    for format in formats().values():
        assert escape(format.example.splitlines()[0]) in page


def test_every_code_of_a_line_has_an_anchor_and_an_example(client: Client) -> None:
    page = page_text(client, "docs-errors")
    for code, kind in KINDS.items():
        assert f'id="{code}"' in page
        assert escape(kind.example) in page


RAISED = {"DomainError", "Conflict", "NotAllowed", "TooLarge", "QuotaExceeded", "InputFault"}
COMMANDS = (Path("workers/cli"), Path("evalsvc/demo"))  # print messages; no page shows their codes


def raised_codes() -> Iterator[tuple[str, str]]:
    """Every code of a response or of a failed job, with the file that raises it."""
    root = Path(settings.BASE_DIR)
    for package in ("evalsvc", "annotation", "workers"):
        for path in (root / package).rglob("*.py"):
            if any(path.relative_to(root).is_relative_to(folder) for folder in COMMANDS):
                continue
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RAISED and node.args:
                    first = node.args[0]
                    if isinstance(first, ast.Constant):
                        yield str(first.value), path.name


def test_every_raised_code_is_explained() -> None:
    explained = {code for codes in SECTIONS.values() for code in codes}
    known = explained | set(KINDS) | {code for code, _ in STATUSES.values()}
    assert {(code, file) for code, file in raised_codes() if code not in known} == set()


def test_every_code_has_one_anchor(client: Client) -> None:
    page = page_text(client, "docs-errors")
    for codes in SECTIONS.values():
        for code in codes:
            assert page.count(f'id="{code}"') == 1


@pytest.mark.browser
def test_the_address_of_a_code_format_or_family_opens_its_group(page: Page) -> None:
    anchors = [("errors", "bad_aggregate"), ("formats", "predictions-opennre-results"), ("measures", "bags")]
    for path, anchor in anchors:
        page.goto(f"/docs/{path}/")
        assert page.evaluate("document.documentElement.scrollHeight") < 3000
        page.goto(f"/docs/{path}/#{anchor}")
        page.locator(f"#{anchor}").wait_for()


@pytest.mark.parametrize(
    "name", ["docs-measures", "docs-formats", "docs-errors", "docs-keyboard", "boards", "home"]
)
def test_pages_have_a_content_security_policy_without_exceptions(client: Client, db: None, name: str) -> None:
    response = client.get(reverse(name))
    assert "unsafe" not in response["Content-Security-Policy"]
    assert "style=" not in response.content.decode()


def test_only_the_interactive_documentation_allows_inline_styles(client: Client, db: None) -> None:
    policy = client.get(reverse("api-docs"))["Content-Security-Policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";") if " " in rule.strip())
    assert "'unsafe-inline'" in rules["style-src"]
    assert "unsafe" not in rules["script-src"]


def test_powers_are_superscripts_in_formulas(client: Client) -> None:
    page = client.get("/docs/measures/").content.decode()
    assert "nᵢ<sup>¾</sup>" in page
    assert "^¾" not in page


# ---- guides and search ----------------------------------------------------------------------------
def test_every_document_is_a_page(client: Client) -> None:
    index = page_text(client, "docs")
    for path in (Path(settings.BASE_DIR) / "docs").glob("*.md"):
        address = reverse(
            "docs-measures" if path.stem == "measures" else "docs-guide",
            args=[path.stem][: path.stem != "measures"],
        )
        assert f'href="{address}"' in index, path.name
        assert client.get(address).status_code == 200
    assert client.get(reverse("docs-guide", args=["readme"])).status_code == 404


def test_links_between_guides_lead_to_their_pages_and_sections(client: Client) -> None:
    for name in guides.NAMES:
        page = client.get(reverse("docs-guide", args=[name])).content.decode()
        assert ".md" not in "".join(re.findall(r'href="([^"]*)"', page)), name
        for target, anchor in re.findall(r'href="(/docs/guides/[\w-]+/)#([^"]+)"', page):
            assert f'id="{anchor}"' in client.get(target).content.decode(), f"{target}#{anchor}"


@pytest.mark.parametrize(
    ("query", "address"),
    [
        ("graceful handover of a queue that no text has", ""),
        ("restore backup", "/docs/guides/operations/#backup-and-restore"),
        ("macro_f1", "/docs/measures/#macro_f1"),
        ("bad_aggregate", "/docs/errors/#bad_aggregate"),
        ("opennre", "/docs/formats/#predictions-opennre-results"),
    ],
)
def test_a_search_finds_sections_of_guides_and_references(client: Client, query: str, address: str) -> None:
    page = client.get(reverse("docs"), {"q": query}).content.decode()
    if address:
        assert f'<a href="{address}">' in page
    else:
        assert "No section has all of these words" in page


def test_the_measure_whose_name_is_searched_comes_first_with_its_family() -> None:
    first = guides.search("Macro F1")[0].section
    assert (first.page, first.title) == ("Measures: Relations by label", "macro F1")


def test_lines_of_a_guide_that_are_one_sentence_are_found_with_a_blank_between_them() -> None:
    texts = [section.text for name in guides.NAMES for section in guides.guide(name).sections]
    lines = [line.strip() for line in (guides.FOLDER / "api.md").read_text().splitlines()]
    first = next(place for place, line in enumerate(lines) if line.startswith("Create a token on"))
    assert any(f"{lines[first][-9:]} {lines[first + 1][:9]}" in text for text in texts)


def test_a_search_shows_the_query_as_text(client: Client) -> None:
    page = client.get(reverse("docs"), {"q": "<b>quota</b>"}).content.decode()
    assert "<b>quota" not in page
