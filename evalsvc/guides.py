"""The guides of `docs/` as pages, and the search through all documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from django.conf import settings
from django.urls import reverse
from django.utils.html import strip_tags
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

from evalsvc.core.errors.codes import SECTIONS
from evalsvc.core.formats import registry
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.web.markdown import scrolling_tables
from evalsvc.evaluation.measures.menu import MENU, by_family

FOLDER = Path(settings.BASE_DIR) / "docs"
# Files of `docs/` by section; the measures have a page of their own.
GUIDES = {
    "Tutorials": ("first-run", "shared-task"),
    "Guides": ("annotation", "boards", "api", "models", "people"),
    "For operators": ("operations", "reliability", "scaling", "security"),
    "Background": ("architecture", "benchmarks", "reference-faults"),
}
NAMES = [name for names in GUIDES.values() for name in names]
PAGES = {"measures": "docs-measures", "formats": "docs-formats", "errors": "docs-errors"}
LINK = re.compile(r"(?P<name>[\w-]+)\.md(?P<anchor>#.*)?")
MOST_FOUND, AROUND, MOST_WORDS = 30, 90, 8


@dataclass(frozen=True)
class Section:
    """Part of a page under one heading, as text."""

    page: str
    title: str
    address: str
    text: str


@dataclass(frozen=True)
class Guide:
    """A file of `docs/` as a page: its title, first paragraph, the rest, and the sections."""

    name: str
    title: str
    lead: str
    html: SafeString
    sections: list[Section]

    @property
    def address(self) -> str:
        return reverse("docs-guide", args=[self.name])


# ---- guides --------------------------------------------------------------------------------------
@cache
def guide(name: str) -> Guide:
    """Render a guide once; its links to other guides become those of the pages."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse((FOLDER / f"{name}.md").read_text())
    title, lead, body = tokens[1].content, "", tokens[3:]
    if body and body[0].type == "paragraph_open":
        lead, body = strip_tags(parser.renderInline(body[1].content)), body[3:]
    for token in body:
        for inner in token.children or ():
            if inner.type == "link_open":
                inner.attrSet("href", _address(str(inner.attrGet("href"))))
    for opening, inline in pairwise(body):
        if opening.type == "heading_open":
            opening.attrSet("id", slugify(inline.content))
    html = scrolling_tables(parser.renderer.render(body, parser.options, {}))
    sections = list(_sections(name, title, lead, body))
    return Guide(name, title, lead, mark_safe(html), sections)  # noqa: S308  own texts


def guides() -> dict[str, list[Guide]]:
    return {section: [guide(name) for name in names] for section, names in GUIDES.items()}


def _address(link: str) -> str:
    """Return where a link of a file leads on the site."""
    found = LINK.fullmatch(link)
    if found is None:
        return link
    name, anchor = found["name"], found["anchor"] or ""
    return (reverse(PAGES[name]) if name in PAGES else reverse("docs-guide", args=[name])) + anchor


def _sections(name: str, title: str, lead: str, body: Iterable[Token]) -> Iterator[Section]:
    """Part the text at its headings."""
    address = reverse("docs-guide", args=[name])
    heading, anchor, texts, opened = title, "", [lead], False
    for token in body:
        if token.type == "heading_open":
            yield Section(title, heading, address + anchor, " ".join(texts))
            anchor, texts, opened = f"#{token.attrGet('id')}", [], True
        elif token.type in ("inline", "fence", "code_block"):
            parts = token.children or [token]
            text = "".join(" " if each.type == "softbreak" else each.content for each in parts)
            if opened:
                heading, opened = text, False
            else:
                texts.append(text)
    yield Section(title, heading, address + anchor, " ".join(texts))


# ---- search --------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SearchHit:
    """Section that has every word, and the text around the first of them."""

    section: Section
    before: str
    word: str
    after: str


def search(query: str) -> list[SearchHit]:
    """Return the sections with every word of the query: headings equal to it, then those with most of them.

    A word also counts within a longer one; in a heading it counts ten times.
    """
    words = query.casefold().split()[:MOST_WORDS]
    if not words:
        return []
    ranked = []
    for place, section in enumerate(_all_sections()):
        heading, text = section.title.casefold(), section.text.casefold()
        counts = [10 * heading.count(word) + text.count(word) for word in words]
        if all(counts):
            ranked.append((heading.split() != words, -min(counts), -sum(counts), place, section))
    return [_excerpt(section, words) for *_, section in sorted(ranked)[:MOST_FOUND]]


def _excerpt(section: Section, words: list[str]) -> SearchHit:
    text = section.text
    lower = text.casefold()
    at, word = min(((lower.find(word), word) for word in words if word in lower), default=(0, ""))
    begin, end = max(0, at - AROUND), at + len(word) + AROUND
    before = ("…" if begin else "") + text[begin:at]
    return SearchHit(
        section,
        before,
        text[at : at + len(word)],
        text[at + len(word) : end] + ("…" if end < len(text) else ""),
    )


@cache
def _all_sections() -> list[Section]:
    return [
        *(section for name in NAMES for section in guide(name).sections),
        *_measures(),
        *_formats(),
        *_errors(),
    ]


def _measures() -> Iterator[Section]:
    page = reverse("docs-measures")
    for key, family, measures in by_family(MENU.values()):
        yield Section("Measures", family.title, f"{page}#{key}", family.explains)
        for each in measures:
            text = (
                f"{each.key}. {each.explains}. {each.formula}. Undefined when {each.undefined}. {each.source}"
            )
            yield Section(f"Measures: {family.title}", each.title, f"{page}#{each.key}", text)


def _formats() -> Iterator[Section]:
    page = reverse("docs-formats")
    for key, (title, introduction, roles) in registry.SECTIONS.items():
        yield Section("Formats", title, f"{page}#{key}", introduction)
        for format in registry.formats(*roles).values():
            yield Section("Formats", format.title, f"{page}#{key}-{format.key}", format.example)


def _errors() -> Iterator[Section]:
    page = reverse("docs-errors")
    for code, kind in KINDS.items():
        yield Section("Errors", code, f"{page}#{code}", f"{kind.message} {kind.example}")
    for codes in SECTIONS.values():
        for code, text in codes.items():
            yield Section("Errors", code, f"{page}#{code}", text)
