"""Markdown of users as safe HTML: text, lists, tables, links."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

TAGS = {
    "a", "blockquote", "br", "code", "em", "h3", "h4", "hr", "li", "ol", "p", "pre", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
MAX_LENGTH = 100_000  # of a text, in characters
# The parser looks for the end of a bracket or an emphasis from each of its marks on: without a bound,
# 100,000 characters take minutes.
MAX_COST, MARKS = 5_000_000, "[*_`<"
MAX_CELLS = 10_000  # of all tables; 50,000 cells take seconds
# The parser checks a line up to four times, and once more for each quote that it continues without a
# mark: 50,000 lines after 18 quotes take seconds. Checks up to the bound take at most half a second. Lists of
# 2,000 items, or 1,000 of four levels, take 10,000.
MAX_LINE_CHECKS = 60_000
SHORT = 10_000  # characters of a text of which many are kept rendered: a feed has 50
SCROLL = '<div class="scroll" tabindex="0" role="group" aria-label="Table; scrolls sideways when narrow">'


class _TooManyLineChecks(Exception):
    """A text whose lines the parser checks too often."""


def _block_parser() -> MarkdownIt:
    """Return a parser of one text that gives up after too many checks of lines."""
    parser, checks = MarkdownIt("commonmark", {"html": False}), 0

    def count_check(_state: StateBlock, _start: int, _end: int, silent: bool) -> bool:
        nonlocal checks
        checks += 1 if silent else 2  # one that makes a block takes longer
        if checks > MAX_LINE_CHECKS:
            raise _TooManyLineChecks
        return False

    # first of the rules: whatever a line turns out to be
    parser.block.ruler.before(
        "table", "count_check", count_check, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    return parser


def _parse_inline(state: StateCore) -> None:
    """Parse the text of blocks, while its cost is bounded; beyond that it stays as written."""
    cost = 0
    for token in state.tokens:
        if token.type != "inline" or token.children is None:
            continue
        cost += len(token.content) * sum(map(token.content.count, MARKS))
        if cost > MAX_COST:
            token.children.append(Token("text", "", 0, content=token.content))
        else:
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def to_html(text: str) -> SafeString:
    """Render sanitised HTML; headings start at `h3`, an image becomes its description."""
    return _short_html(text) if len(text) <= SHORT else _long_html(text)


def _html(text: str) -> SafeString:
    parser = _block_parser()
    if text.count("|") <= MAX_CELLS:
        parser.enable("table")
    parser.core.ruler.at("inline", _parse_inline)
    try:
        tokens = parser.parse(text[:MAX_LENGTH])
    except _TooManyLineChecks:
        return mark_safe(scrolling_tables(f"<pre>{escape(text[:MAX_LENGTH])}</pre>"))  # noqa: S308
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "h3" if token.tag == "h1" else "h4"
        for inner in token.children or ():
            if inner.type == "image":
                inner.type = "text"
    html = parser.renderer.render(tokens, parser.options, {})
    clean = nh3.clean(html, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https"})
    return mark_safe(scrolling_tables(clean))  # noqa: S308


_short_html, _long_html = lru_cache(maxsize=256)(_html), lru_cache(maxsize=32)(_html)


def scrolling_tables(html: str) -> str:
    """Let tables and code scroll sideways, by keyboard too; an empty heading becomes an empty cell."""
    html = html.replace("<th></th>", "<td></td>").replace("<pre>", '<pre tabindex="0">')
    return html.replace("<table>", f"{SCROLL}<table>").replace("</table>", "</table></div>")


def section_html(text: str, *names: str) -> SafeString:
    """Render the section under the first heading with one of the names."""
    wanted = {name.strip().casefold() for name in names} - {""}
    headings = _headings(text)
    for index, (level, name, _, body) in enumerate(headings):
        if name in wanted:
            end = next((line for other, _, line, _ in headings[index + 1 :] if other <= level), None)
            return to_html("\n".join(_lines(text)[body:end]))
    return mark_safe("")


@lru_cache(maxsize=8)
def _headings(text: str) -> list[tuple[int, str, int, int]]:
    """Level, name and lines of each heading, cached per text."""
    try:
        tokens = _block_parser().disable("inline").parse("\n".join(_lines(text[:MAX_LENGTH])))
    except _TooManyLineChecks:
        return []
    return [
        (int(heading.tag[1]), inline.content.strip("`* ").casefold(), heading.map[0], heading.map[1])
        for heading, inline in pairwise(tokens)
        if heading.type == "heading_open" and heading.level == 0 and heading.map
    ]


def _lines(text: str) -> list[str]:
    """Split into lines as Markdown counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
