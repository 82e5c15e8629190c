"""Item of the error browser: its text with gold and predictions, and its claims in a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.testset import TestSetRow
from evalsvc.core.formats import jsonl_items
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_gold
from evalsvc.core.formats.records import Entity, ItemLine
from evalsvc.core.formats.text_lines import UNLIMITED
from evalsvc.core.web.formatting import DASH, counted, number
from evalsvc.core.web.span_lanes import Lane, PlainText, text_with_lanes
from evalsvc.core.web.svg import element
from evalsvc.core.web.text_highlighting import colours_of, mark_pair
from evalsvc.evaluation.disclosure.outcomes import KINDS, RIGHT, Claims, Outcomes
from evalsvc.evaluation.pages.error_request import KIND_TITLES, WHO_ALONE, Browser

OF_BAG = 3  # sentences shown of a bag
MOST_DRAWN = 12_000  # spans of a page, shared by the documents and sides
MOST_ROWS = 4_000  # of the tables of a page
LONGEST = 200  # characters of an answer; files have it whole
BATCH = 200  # items whose lines a file reads at once
LANES = {"A": "lane--a", "B": "lane--b"}


@dataclass(frozen=True)
class Verdict:
    """Claims of one side in words: gold, or a system's with what is wrong."""

    text: SafeString | str
    wrong: str = ""
    right: bool = False


@dataclass(frozen=True)
class ShownItem:
    """Item with gold and predictions drawn over its text, and its claims in a table."""

    id: str
    texts: list[SafeString | str]
    more: list[str]
    bars: SafeString | str
    f1: list[tuple[str, str]]
    alone: list[str]
    heads: list[str]
    rows: list[list[Verdict]]


def _lines(browser: Browser, ids: Sequence[str]) -> dict[str, ItemLine]:
    """Read the gold lines of a page."""
    rows = TestSetRow.objects.filter(test_set=browser.board.version.test_set, external_id__in=ids)
    lines = [line.encode() for line in rows.values_list("line", flat=True)]
    if not lines:
        return {}
    source = iter([line + b"\n" for line in lines])
    key = jsonl_items.FORMAT.key
    items = open_gold(source, format=key, problems=Problems(), with_text=True, limits=UNLIMITED)
    return {item.id: item for _, item in items}


def _shown_sentences(outcomes: Outcomes, at: int) -> list[str]:
    """Return the ids of the first sentences of a bag, else that of the item."""
    return [outcomes.ids[at]] if outcomes.sentences is None else outcomes.sentences[at][:OF_BAG]


def shown_items(browser: Browser, places: Sequence[int]) -> list[ShownItem]:
    """Return the items of a page."""
    outcomes = browser.sides[0].outcomes
    lines = _lines(browser, [name for at in places for name in _shown_sentences(outcomes, at)])
    return [_item(browser, at, lines, share=1 / len(places)) for at in places]


def sentences_of(browser: Browser, places: Sequence[int]) -> Iterator[list[ItemLine]]:
    """Yield the first sentences of each item."""
    outcomes = browser.sides[0].outcomes
    for first in range(0, len(places), BATCH):
        batch = places[first : first + BATCH]
        lines = _lines(browser, [name for at in batch for name in _shown_sentences(outcomes, at)])
        for at in batch:
            yield [lines[name] for name in _shown_sentences(outcomes, at) if name in lines]


def _item(browser: Browser, at: int, lines: dict[str, ItemLine], *, share: float) -> ShownItem:
    """Show an item; of the spans and rows that a page has room for it takes its share."""
    outcomes = browser.sides[0].outcomes
    sentences = [lines[name] for name in _shown_sentences(outcomes, at) if name in lines]
    by_document = outcomes.gold.places is not None
    letters = [side.letter for side in browser.sides]
    heads: list[str] = []
    if outcomes.answers is not None:
        rows, heads = _answer_rows(browser, at), ["Answer", "Gold", *letters]
    elif by_document:
        rows = _link_rows(browser, at, sentences[0] if sentences else None)
        heads = ["Relation, from head to tail", "Gold", *letters]
    else:
        rows = _label_rows(browser, at)
    drawn = int(MOST_DRAWN * share) // (1 + len(browser.sides))
    left = {
        "sentence": 0 if outcomes.sentences is None else len(outcomes.sentences[at]) - len(sentences),
        "span": _beyond(browser, at, drawn) if by_document and outcomes.answers is None else 0,
        "row": max(0, len(rows) - int(MOST_ROWS * share)),
    }
    return ShownItem(
        id=outcomes.ids[at],
        texts=[_text(browser, at, each, drawn) for each in sentences],
        more=[f"and {counted(n, noun)} more" for noun, n in left.items() if n],
        bars=_bars([side.outcomes.f1_scores[at] for side in browser.sides]) if by_document else "",
        f1=_scores(browser, at) if by_document else [],
        alone=[f"{n} {WHO_ALONE[who]}" for who, n in browser.selection.claims_alone(at).items() if n],
        heads=heads,
        rows=rows[: int(MOST_ROWS * share)],
    )


def _scores(browser: Browser, at: int) -> list[tuple[str, str]]:
    """Return the measures of a document by name."""
    scores = [(f"CoNLL F1 of {side.letter}", ratio(side.outcomes.f1_scores[at])) for side in browser.sides]
    return scores + [
        (f"WRF of {side.letter}", ratio(side.outcomes.wrf_scores[at]))
        for side in browser.sides
        if side.outcomes.wrf is not None
    ]


def _bars(values: Sequence[float]) -> SafeString:
    """Draw a bar per system; the figures stand beside."""
    parts = []
    for place, value in enumerate(values):
        box = {"y": 8 * place, "height": 6, "rx": 2}
        parts.append(element("rect", class_="track", width=60, **box))
        if value > 0:
            parts.append(element("rect", class_=f"f{place + 1}", width=round(60 * value), **box))
    height = 8 * len(values) - 2
    frame = {"viewBox": f"0 0 60 {height}", "width": 60, "height": height}
    return element("svg", *parts, class_="fix", **frame, aria_hidden="true")


def ratio(value: float) -> str:
    return DASH if isnan(value) else number(value, digits=2)


@dataclass(frozen=True)
class _Pair:
    """Text with head and tail, as `mark_pair` takes it."""

    text: str
    head: dict[str, Any] | None
    tail: dict[str, Any] | None


def _text(browser: Browser, at: int, line: ItemLine, drawn: int) -> SafeString | str:
    outcomes = browser.sides[0].outcomes
    if outcomes.answers is not None:
        return line.text or " ".join(line.tokens or ())
    if outcomes.gold.places is None:
        ends = [_mention(end) for end in (line.head, line.tail)]
        return mark_pair(_Pair(line.text or " ".join(line.tokens or ()), *ends))
    text = PlainText(line.text or "", line.tokens)
    return text_with_lanes(
        text, list(_lanes(browser, at, drawn)), colours=colours_of(browser.sides[0].outcomes.labels)
    )


def _mention(entity: Entity | None) -> dict[str, Any] | None:
    if entity is None or entity.start is None or entity.end is None:
        return None
    return {"start": entity.start, "end": entity.end, "type": entity.type}


def _beyond(browser: Browser, at: int, drawn: int) -> int:
    """Count the spans of an item that are not drawn."""
    claims = (browser.sides[0].outcomes.gold, *(side.outcomes.predicted for side in browser.sides))
    return sum(max(0, len(each.rows(at)) - drawn) for each in claims)


def _lanes(browser: Browser, at: int, drawn: int) -> Iterator[Lane]:
    """Yield gold on the first lane, then each system's spans, with what it missed as dashes.

    Of each side only the first so many spans.
    """
    outcomes, titles = browser.sides[0].outcomes, browser.titles

    def span(label: int, start: int, end: int) -> tuple[int, int, str]:
        return start, end, outcomes.labels[label]

    for label, _, start, end in outcomes.gold.of(at, drawn):
        yield Lane(span(label, start, end), titles[outcomes.labels[label]], "gold", False, "lane--g", 0)
    for order, side in enumerate(browser.sides, 1):
        letter = side.letter
        for label, kind, start, end in side.outcomes.predicted.of(at, drawn):
            right, style = kind == RIGHT, LANES[letter]
            note = "" if right else KIND_TITLES[KINDS[kind]]
            title = letter if right else f"{letter} {titles[outcomes.labels[label]]}"
            yield Lane(
                span(label, start, end), title, note, right, style if right else f"{style} lane--wrong", order
            )
        for label, kind, start, end in side.outcomes.gold.of(at, drawn):
            if KINDS[kind] == "missed":
                yield Lane(span(label, start, end), letter, "missed", False, "lane--miss", order)


def _label_rows(browser: Browser, at: int) -> list[list[Verdict]]:
    """Return a row for the gold and for each system: its labels, and what is wrong."""
    outcomes = browser.sides[0].outcomes
    none = browser.setting.benchmark.negative or "none"

    def names(claims: Claims) -> str:
        labels = [browser.titles[outcomes.labels[label]] for label, *_ in claims.of(at)]
        return ", ".join(labels) or none

    rows = [[Verdict("Gold"), Verdict(names(outcomes.gold)), Verdict("")]]
    for side in browser.sides:
        mask = side.outcomes.masks[at]
        kind = next((code for code in range(len(KINDS)) if mask >> code & 1 and code != RIGHT), RIGHT)
        title = format_html('{} <span class="quiet">{}</span>', side.letter, side.name)
        wrong = "" if kind == RIGHT else KIND_TITLES[KINDS[kind]]
        answer = Verdict(names(side.outcomes.predicted))
        rows.append([Verdict(title), answer, Verdict("", wrong, kind == RIGHT)])
    return rows


def _answer_rows(browser: Browser, at: int) -> list[list[Verdict]]:
    """Return the answers without offsets: in the gold, and of each system."""
    rows: dict[tuple[str, ...], list[Verdict]] = {}
    width = len(browser.sides) + 1
    for place, side in enumerate(browser.sides, 1):
        parts = (side.outcomes.gold, side.outcomes.predicted)
        for part, claims in enumerate(parts):
            for texts, name, kind in answers_of(side.outcomes, claims, part, at):
                row = rows.setdefault((*texts, name), [Verdict(DASH) for _ in range(width)])
                row[0] = row[0] if part else Verdict("yes")
                row[place] = Verdict("", "" if kind == RIGHT else KIND_TITLES[KINDS[kind]], kind == RIGHT)
    return [
        [Verdict(_in_words(texts, browser.titles.get(name, name))), *verdicts]
        for (*texts, name), verdicts in sorted(rows.items())
    ]


def _in_words(texts: Sequence[str], title: str) -> SafeString | str:
    """Return head, relation and tail, or a text with its label."""
    texts = [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in texts]
    if len(texts) < 2:
        return f"{texts[0]}: {title}"
    head, tail = texts
    return format_html(
        '<span class="chip chip--head">{}</span> {} <span class="chip chip--tail">{}</span>',
        head,
        title,
        tail,
    )


def answers_of(
    outcomes: Outcomes, claims: Claims, side: int, at: int
) -> Iterator[tuple[list[str], str, int]]:
    """Yield texts, label and kind of the answers of an item."""
    _, label, kind, _, _ = claims.columns
    if outcomes.answers is not None:
        for row in claims.rows(at):
            yield outcomes.answers[side][row], outcomes.labels[label[row]], kind[row]


def _link_rows(browser: Browser, at: int, line: ItemLine | None) -> list[list[Verdict]]:
    """Return the relations of a document: in the gold, and how each system has them."""
    text = PlainText(line.text or "", line.tokens) if line is not None else PlainText("")
    rows: dict[tuple[int, Any, Any], list[Verdict]] = {}
    width = len(browser.sides) + 1
    for place, (spans, links) in enumerate(_link_sides(browser)):
        if links is None:
            continue
        ends = spans.of(at)
        for label, kind, head, tail in links.of(at):
            key = (label, (ends[head][0], *ends[head][2:]), (ends[tail][0], *ends[tail][2:]))
            row = rows.setdefault(key, [Verdict(DASH) for _ in range(width)])
            if place == 0:
                row[0] = Verdict("yes")
                row[1:] = [Verdict("", "missed") for _ in browser.sides]
            else:
                row[place] = Verdict("", "" if kind == RIGHT else _plain(KINDS[kind]), kind == RIGHT)
    named = []
    for (label, head, tail), verdicts in rows.items():
        words = [text.surface(end[1:]) for end in (head, tail)]
        relation = browser.titles[browser.sides[0].outcomes.relations[label]]
        named.append([Verdict(_in_words(words, relation)), *verdicts])
    return named


def _plain(kind: str) -> str:
    return KIND_TITLES[kind].removeprefix("relation: ")


def _link_sides(browser: Browser) -> list[tuple[Claims, Claims | None]]:
    first = browser.sides[0].outcomes
    sides = [(side.outcomes.predicted, side.outcomes.predicted_links) for side in browser.sides]
    return [(first.gold, first.gold_links), *sides]
