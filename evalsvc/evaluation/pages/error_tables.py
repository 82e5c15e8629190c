"""Tables of the error browser: the chosen items, and the documents where WRF and CoNLL F1 differ most."""

from __future__ import annotations

from math import isnan
from typing import Any

from django.http import HttpRequest

from evalsvc.core.web.formatting import counted, number
from evalsvc.core.web.tables import Cell, Head, PaperTable
from evalsvc.evaluation.disclosure.outcomes import KINDS, RIGHT, Claims, Outcomes
from evalsvc.evaluation.pages.board_tables import file_computation
from evalsvc.evaluation.pages.error_filters import changed
from evalsvc.evaluation.pages.error_items import answers_of, ratio, texts_of
from evalsvc.evaluation.pages.error_request import Browser


def against(request: HttpRequest, browser: Browser) -> dict[str, Any] | None:
    """Return how many documents lie above, at and below, and the widest differences of A."""
    outcomes = browser.sides[0].outcomes
    if outcomes.against_f1 is None:
        return None
    above, equal, below, left_out = outcomes.against_f1
    return {
        "sentence": f"WRF (strict) of {browser.sides[0].name} lies above CoNLL F1 in "
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
    """List the chosen items with gold and claims."""
    sides = browser.sides
    heads = [Head(key, key.capitalize(), numeric=False) for key in ("id", "text", "gold")]
    for side in sides:
        low = side.letter.lower()
        heads += [
            Head(f"{low}_claims", f"{side.letter}: {side.name}", numeric=False),
            Head(f"{low}_errors", f"Errors of {side.letter}", numeric=False),
            Head(f"{low}_f1", f"F1 of {side.letter}"),
        ]
    rows, items = [], browser.selection.items
    for at, text in zip(items, texts_of(browser, items), strict=True):
        outcomes = sides[0].outcomes
        first = (outcomes.ids[at], text, _claims(outcomes, outcomes.gold, at, 0))
        cells = [_text_cell(each) for each in first]
        for side in sides:
            mask, f1 = side.outcomes.masks[at], side.outcomes.f1_scores[at]
            kinds = [KINDS[code] for code in range(len(KINDS)) if mask >> code & 1 and code != RIGHT]
            cells += [
                _text_cell(_claims(side.outcomes, side.outcomes.predicted, at, 1)),
                _text_cell("; ".join(kinds)),
            ]
            cells.append(Cell(None if isnan(f1) else round(f1, 6), ratio(f1)))
        rows.append(cells)
    names = " and ".join(side.name for side in sides)
    caption = f"Errors under {browser.setting}: {names}. {file_computation(browser.board)}"
    if browser.searched and browser.searched.is_part:
        caption += f" {browser.searched}"
    return PaperTable(f"{browser.setting.benchmark.slug}-errors", caption, heads, rows)


def _text_cell(text: str) -> Cell:
    return Cell(text, text)


def _claims(outcomes: Outcomes, claims: Claims, at: int, side: int) -> str:
    """Name the claims of an item, spans with their places and answers with their texts."""
    if outcomes.answers is not None:
        return "; ".join(
            f"{label}: {' – '.join(texts)}" for texts, label, _ in answers_of(outcomes, claims, side, at)
        )
    bounds = claims.places is not None
    return "; ".join(
        outcomes.labels[label] + (f" {start}–{end}" if bounds else "")
        for label, _, start, end in claims.of(at)
    )
