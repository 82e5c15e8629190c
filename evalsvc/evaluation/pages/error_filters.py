"""Filters of the error browser: links with counts, chips of those in use, and the histogram of F1."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from evalsvc.core.web.formatting import counted
from evalsvc.core.web.svg import drawing, element
from evalsvc.evaluation.disclosure.outcomes import KINDS
from evalsvc.evaluation.pages.error_request import KIND_TITLES, WHO_ALONE, Browser

SWAPPED = {"a": "b", "b": "a", "neither": "neither"}
CLASSES = 12  # listed at once; the others fold


class Choice(NamedTuple):
    """A link that sets or drops a filter, and how many items it leaves."""

    title: str
    n: int
    current: bool
    query: str


def changed(request: HttpRequest, **changes: Any) -> str:
    """Return the query of the request with some parameters changed or, if None, removed."""
    query = request.GET.copy()
    for name, value in changes.items():
        if value is None:
            query.pop(name, None)
        elif isinstance(value, list):
            query.setlist(name, value)
        else:
            query[name] = str(value)
    return "?" + query.urlencode()


def kept(request: HttpRequest, *left_out: str) -> list[tuple[str, str]]:
    """Return the parameters that a form of the page sends along."""
    away = {*left_out, "page", "item"}
    return [(name, value) for name, values in request.GET.lists() if name not in away for value in values]


def kind_links(request: HttpRequest, browser: Browser) -> list[Choice]:
    links = []
    for code, n in browser.selection.by_kind.items():
        kinds = browser.wanted.kinds ^ {code}
        query = changed(request, kind=[KINDS[each] for each in sorted(kinds)], page=None, item=None)
        links.append(Choice(KIND_TITLES[KINDS[code]], n, code in browser.wanted.kinds, query))
    return links


def class_links(request: HttpRequest, browser: Browser) -> tuple[list[Choice], list[Choice]]:
    """Return the classes by number of items: those listed at once, and the others."""
    chosen, counts = browser.wanted.label, browser.selection.by_label
    names = sorted({*counts, *filter(None, (chosen,))}, key=lambda name: (-counts[name], name))
    links = [
        Choice(
            browser.titles.get(name, name),
            counts[name],
            name == chosen,
            changed(request, label=None if name == chosen else name, page=None, item=None),
        )
        for name in names
    ]
    return links[:CLASSES], links[CLASSES:]


def who_links(request: HttpRequest, browser: Browser) -> list[Choice]:
    if len(browser.sides) < 2:
        return []
    counts = {"": len(browser.selection.wrong)} | browser.selection.by_who
    return [
        Choice(
            capfirst(WHO_ALONE.get(who, "all errors")),
            n,
            who == browser.wanted.who,
            changed(request, who=who or None, page=None, item=None),
        )
        for who, n in counts.items()
    ]


def swapped(request: HttpRequest, browser: Browser) -> str:
    if len(browser.sides) < 2:
        return ""
    a, b = browser.sides
    return changed(request, a=b.value, b=a.value, who=SWAPPED.get(browser.wanted.who), page=None)


def run_links(request: HttpRequest, browser: Browser) -> list[tuple[str, list[tuple[str, bool, str]]]]:
    """Return the runs to choose from of each system with several, and the address of each."""
    return [
        (
            side.letter,
            [
                (run, run == side.run.run, changed(request, **{side.letter.lower(): value}, page=None))
                for run, value in side.others
            ],
        )
        for side in browser.sides
        if len(side.others) > 1
    ]


class Used(NamedTuple):
    """A filter in use, the address that drops it, and what would be left without it."""

    title: str
    query: str
    left: str


def used(request: HttpRequest, browser: Browser, *, count: bool) -> list[Used]:
    """Return the filters in use; with `count` what is left without each."""
    wanted, selection = browser.wanted, browser.selection
    filters: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    for code in sorted(wanted.kinds):
        others = wanted.kinds - {code}
        kinds = [KINDS[each] for each in sorted(others)]
        filters.append((KIND_TITLES[KINDS[code]], {"kinds": others}, {"kind": kinds}))
    if wanted.label:
        title = browser.titles.get(wanted.label, wanted.label)
        filters.append((title, {"label": ""}, {"label": None}))
    if wanted.text:
        filters.append((f"“{wanted.text}”", {"text": "", "having": None}, {"text": None, "line": None}))
    if wanted.who:
        filters.append((WHO_ALONE[wanted.who], {"who": ""}, {"who": None}))
    if wanted.is_narrowed:
        title = f"F1 of A {_range(wanted.low, wanted.high)}"
        filters.append((title, {"low": 0.0, "high": 1.0}, {"low": None, "high": None}))
    return [
        Used(
            title,
            changed(request, **dropped, page=None, item=None),
            counted(selection.without(**changes), browser.noun) if count else "",
        )
        for title, changes, dropped in filters
    ]


def _range(low: float, high: float) -> str:
    if low == 0:
        return f"up to {high:g}"
    return f"from {low:g}" if high == 1 else f"from {low:g} to {high:g}"


def histogram(browser: Browser) -> SafeString | str:
    """Draw the items under the other filters by F1 of A; nothing where F1 is 0 or 1 alone."""
    counts = browser.selection.by_f1
    if not any(counts[1:-1]) and not browser.wanted.is_narrowed:
        return ""
    most, bins = max(counts) or 1, len(counts)
    width = 200 // bins
    parts = [element("path", class_="axis", d="M0 48H200")]
    for place, n in enumerate(counts):
        low, high = place / bins, (place + 1) / bins
        title = f"{low:.1f} to {high:.1f}: {counted(n, browser.noun)}"
        inside = browser.wanted.low <= low + 1e-9 and high <= browser.wanted.high + 1e-9
        tall = max(1.5, 44 * n / most) if n else 0
        box = {"x": place * width + 1, "y": round(48 - tall, 1), "width": width - 2, "height": round(tall, 1)}
        parts.append(element("rect", element("title", title), class_="f1" if inside else "bar-q", **box))
    for x, anchor, text in ((0, "start", "0"), (100, "middle", "0.5"), (200, "end", "1")):
        parts.append(element("text", text, class_="ax", x=x, y=62, text_anchor=anchor))
    name = "By F1 of A: " + ", ".join(f"{n:,} from {place / bins:.1f}" for place, n in enumerate(counts) if n)
    return drawing(200, 64, name, *parts)
