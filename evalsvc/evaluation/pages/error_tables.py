"""Tables of the error browser: the chosen items, and the documents where WRF and CoNLL F1 differ most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

from django.http import HttpRequest

from evalsvc.core.formats.records import ItemLine
from evalsvc.core.web.formatting import counted, number, quoted
from evalsvc.core.web.span_lanes import PlainText
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.disclosure.outcomes import KINDS, RIGHT, Outcomes
from evalsvc.evaluation.pages.board_tables import file_computation
from evalsvc.evaluation.pages.error_filters import changed
from evalsvc.evaluation.pages.error_items import answers_of, ratio, sentences_of
from evalsvc.evaluation.pages.error_request import Browser

Part = dict[str, Any]
"""Part of an item as JSON has it; `words` are those of other files."""


def against(request: HttpRequest, browser: Browser) -> dict[str, Any] | None:
    """Return how many documents lie above, at and below, and the widest differences of A."""
    outcomes = browser.sides[0].outcomes
    if outcomes.against_f1 is None:
        return None
    above, equal, below, left_out = outcomes.against_f1
    return {
        "sentence": f"WRF (strict) of {quoted(browser.sides[0].name)} lies above CoNLL F1 in "
        f"{counted(above, 'document')}, equals it in {equal:,} and lies below in {below:,}; "
        f"{left_out:,} without spans on both sides are left out.",
        "rows": [
            (
                outcomes.ids[at],
                changed(request, item=outcomes.ids[at], page=None, kind=None, who=None, label=None),
                number(words, digits=3),
                number(f1, digits=3),
                f"{'−' if words < f1 else '+'}{number(abs(words - f1), digits=3)}",
            )
            for at, words, f1 in outcomes.widest
        ],
    }


def table(browser: Browser) -> PaperTable:
    """List the chosen items with gold and claims; JSON has lists of them, with offsets."""
    sides, outcomes = browser.sides, browser.sides[0].outcomes
    links = outcomes.gold_links is not None
    keys = ("id", "text", "sentences", "gold", *(("gold_relations",) if links else ()))
    heads = [Head(key, key.capitalize().replace("_", " "), numeric=False) for key in keys]
    for side in sides:
        low = side.letter.lower()
        heads += [
            Head(f"{low}_claims", f"{side.letter}: {side.name}", numeric=False),
            *([Head(f"{low}_relations", f"Relations of {side.letter}", numeric=False)] if links else ()),
            Head(f"{low}_errors", f"Errors of {side.letter}", numeric=False),
            Head(f"{low}_f1", f"F1 of {side.letter}"),
        ]
    rows, items = [], browser.selection.items
    for at, sentences in zip(items, sentences_of(browser, items), strict=True):
        text = " | ".join(" ".join(each.tokens or ()) or each.text or "" for each in sentences)
        of = sentences[0] if sentences else None
        cells = [
            _text_cell(outcomes.ids[at]),
            _text_cell(text),
            _listed_cell(map(_sentence, sentences), "id"),
        ]
        cells += _claim_cells(outcomes, 0, at, of)
        for side in sides:
            mask, f1 = side.outcomes.masks[at], side.outcomes.f1_scores[at]
            kinds = [KINDS[code] for code in range(len(KINDS)) if mask >> code & 1 and code != RIGHT]
            cells += _claim_cells(side.outcomes, 1, at, of)
            cells.append(Cell(words := "; ".join(kinds), words, parts=kinds))
            cells.append(Cell(None if isnan(f1) else round(f1, 6), ratio(f1)))
        rows.append(cells)
    names = " and ".join(quoted(side.name) for side in sides)
    caption = f"Errors under {browser.setting}: {names}. {file_computation(browser.board)}"
    if browser.searched and browser.searched.is_part:
        caption += f" {browser.searched}"
    return PaperTable(f"{browser.setting.benchmark.slug}-errors", caption, heads, rows)


def _text_cell(text: str) -> Cell:
    return Cell(text, text)


def _listed_cell(parts: Iterable[Part], key: str) -> Cell:
    """Put parts of an item into a cell, with what each is called in a text."""
    listed = list(parts)
    text = "; ".join(part[key] for part in listed)
    return Cell(text, text, parts=[{name: part[name] for name in part if name != "words"} for part in listed])


def _sentence(line: ItemLine) -> Part:
    """Describe a sentence; bounds of head and tail count code points of its text."""
    part: Part = {"id": line.id, "text": line.text}
    if line.tokens is not None:
        part["tokens"] = list(line.tokens)
    for name, end in (("head", line.head), ("tail", line.tail)):
        if end is not None:
            part[name] = {"name": end.name, "start": end.start, "end": end.end}
    return part


def _claim_cells(outcomes: Outcomes, side: int, at: int, line: ItemLine | None) -> list[Cell]:
    """List the claims of an item, of the gold or of a system, and the relations between its spans."""
    claims = (outcomes.gold, outcomes.predicted)[side]
    links = (outcomes.gold_links, outcomes.predicted_links)[side]
    if outcomes.answers is not None:
        answers = answers_of(outcomes, claims, side, at)
        return [_listed_cell((_answer(outcomes, *each) for each in answers), "words")]
    spans = [_claim(outcomes, *each, line=line if claims.places else None) for each in claims.of(at)]
    cells = [_listed_cell(spans, "words")]
    if outcomes.gold_links is not None:
        found = links.of(at) if links else ()
        cells.append(_listed_cell((_link(outcomes, spans, *each) for each in found), "words"))
    return cells


def _answer(outcomes: Outcomes, texts: list[str], label: str, kind: int) -> Part:
    return {"words": f"{label}: {' – '.join(texts)}", "label": label, "texts": texts, "kind": KINDS[kind]}


def _claim(outcomes: Outcomes, label: int, kind: int, start: int, end: int, *, line: ItemLine | None) -> Part:
    """Describe a claim; the bounds of spans count tokens, or code points of a text without them."""
    name = outcomes.labels[label]
    part: Part = {"words": name, "label": name, "kind": KINDS[kind]}
    if line is not None:
        surface = PlainText(line.text or "", line.tokens).surface((start, end))
        part |= {"words": f"{name} {start}–{end}", "start": start, "end": end, "text": surface}
    return part


def _link(outcomes: Outcomes, spans: Sequence[Part], label: int, kind: int, head: int, tail: int) -> Part:
    """Describe a relation; head and tail are places in the list of spans."""
    name, ends = outcomes.relations[label], [spans[place]["words"] for place in (head, tail)]
    words = f"{name}: {' → '.join(ends)}"
    return {"words": words, "label": name, "kind": KINDS[kind], "head": head, "tail": tail}
