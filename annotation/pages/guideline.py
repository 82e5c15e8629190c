"""A guideline in Markdown, as HTML that holds nothing but text, lists, tables and links."""

from __future__ import annotations

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
