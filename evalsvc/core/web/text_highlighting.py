"""Text with head and tail as HTML, and the colours of labels.

Offsets are code points.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

BRACKETS = {"lrb": "(", "rrb": ")", "lsb": "[", "rsb": "]", "lcb": "{", "rcb": "}"}
COLOURS = ("person", "org", "place", "date", "vessel")


class PairText(Protocol):
    """Text with the places of head and tail."""

    @property
    def text(self) -> str: ...
    @property
    def head(self) -> dict[str, Any] | None: ...
    @property
    def tail(self) -> dict[str, Any] | None: ...


def readable(text: str, *, name: bool = False) -> str:
    """Show brackets as signs, and in a name underscores as spaces, as `sentence.js` does."""
    text = re.sub(r"-([lr][rsc]b)-", lambda found: BRACKETS[found[1].lower()], text, flags=re.IGNORECASE)
    if not name:
        return text
    return re.sub(r"(?<=[^\W_])_+(?=[^\W_])|(?<=[.,])_+(?=[^\W_])", lambda run: " " * len(run[0]), text)


def shortened(words: str) -> str:
    """Return the beginning and the end of words too long for a line."""
    return words if len(words) <= 40 else f"{words[:25]}…{words[-12:]}"


def mark_pair(item: PairText) -> SafeString:
    """Mark head and tail in the text; they may overlap."""
    marks = [(role, mark) for role, mark in (("head", item.head), ("tail", item.tail)) if mark]
    cuts = sorted({0, len(item.text), *(mark[end] for _, mark in marks for end in ("start", "end"))})
    pieces = [_piece(item.text[a:b], a, b, marks) for a, b in pairwise(cuts)]
    return format_html_join("", "{}", ((piece,) for piece in pieces))


def _piece(text: str, start: int, end: int, marks: Sequence[tuple[str, dict[str, Any]]]) -> SafeString:
    around = [(role, mark) for role, mark in marks if mark["start"] <= start and end <= mark["end"]]
    html = format_html("{}", readable(text, name=bool(around)))
    for role, mark in around:
        name = f"{role}, {mark['type']}" if mark.get("type") else role
        tag = (
            format_html('<span class="sr">, </span><span class="role">{}</span>', name)
            if end == mark["end"]
            else ""
        )
        html = format_html('<mark class="ent ent--{}">{}{}</mark>', role, html, tag)
    return html


def colours_of(labels: Sequence[str]) -> dict[str, str]:
    """Assign each label of a project a colour."""
    return {label: COLOURS[at % len(COLOURS)] for at, label in enumerate(labels)}
