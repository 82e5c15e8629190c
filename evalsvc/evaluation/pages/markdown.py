"""Markdown that organisers write, as safe HTML."""

from __future__ import annotations

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

TAGS = {
    "a", "blockquote", "br", "code", "em", "h3", "h4", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


SCROLL = '<div class="scroll" tabindex="0" role="group" aria-label="Table; scrolls sideways when narrow">'


def rendered(text: str) -> SafeString:
    """Headings come below those of the page; of an image its description stays."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = markdown.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3" if token.tag == "h1" else "h4"
        for inner in token.children or ():
            if inner.type == "image":
                inner.type = "text"
    html = markdown.renderer.render(tokens, markdown.options, {})
    clean = nh3.clean(html, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"})
    return mark_safe(clean.replace("<table>", f"{SCROLL}<table>").replace("</table>", "</table></div>"))  # noqa: S308
