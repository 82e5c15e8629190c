"""Markdown that organisers write, as safe HTML."""

from __future__ import annotations

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

TAGS = {"p", "em", "strong", "code", "pre", "ul", "ol", "li", "a", "blockquote", "h3", "h4", "br"}


def rendered(text: str) -> SafeString:
    html = MarkdownIt("commonmark", {"html": False}).render(text)
    clean = nh3.clean(html, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"})
    return mark_safe(clean)  # noqa: S308
