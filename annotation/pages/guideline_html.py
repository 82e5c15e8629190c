"""A guideline in Markdown, as HTML that holds nothing but text, lists, tables and links."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

TAGS = {
    "a", "b", "blockquote", "br", "code", "em", "h3", "h4", "hr", "i", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def rendered(text: str) -> SafeString:
    """Sanitised HTML; headings come below those of the page."""
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    for level in (2, 1):
        html = html.replace(f"<h{level}>", "<h3>").replace(f"</h{level}>", "</h3>")
    return mark_safe(nh3.clean(html, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"}))  # noqa: S308


def section(text: str, *names: str) -> SafeString:
    """What the guideline says under the heading with one of these names, down to the next heading as high."""
    wanted = {name.strip().casefold() for name in names} - {""}
    heads = _heads(text)
    for at, (level, name, _, body) in enumerate(heads):
        if name in wanted:
            end = next((line for other, _, line, _ in heads[at + 1 :] if other <= level), None)
            return rendered("\n".join(_lines(text)[body:end]))
    return mark_safe("")


@lru_cache(maxsize=8)
def _heads(text: str) -> list[tuple[int, str, int, int]]:
    """Level, name and line of each heading, and the line after it; read once for all the labels of a page."""
    tokens = MarkdownIt("commonmark", {"html": False}).parse("\n".join(_lines(text)))
    return [
        (int(head.tag[1]), said.content.strip("`* ").casefold(), head.map[0], head.map[1])
        for head, said in pairwise(tokens)
        if head.type == "heading_open" and head.level == 0 and head.map
    ]


def _lines(text: str) -> list[str]:
    """As Markdown counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
