"""Error browser: sentences with gold and predictions, where the gold is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isnan
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.safestring import SafeString

from annotation.testset import TestSetRow, label_titles
from evalsvc.core.accounts import users
from evalsvc.core.formats import jsonl_items
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine
from evalsvc.core.formats.registry import open_gold
from evalsvc.core.web import views
from evalsvc.core.web.formatting import DASH, counted, number
from evalsvc.core.web.span_lanes import Lane, PlainText, text_with_lanes
from evalsvc.core.web.tables import Cell, Head, PaperTable, download
from evalsvc.core.web.text_highlighting import colours_of, mark_pair
from evalsvc.evaluation import leaderboard, roles
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.disclosure.error_selection import ORDERS, WHO, Selection, Wanted, same_gold
from evalsvc.evaluation.disclosure.outcomes import KINDS, RIGHT, Claims, Outcomes, outcomes_of, why_closed
from evalsvc.evaluation.disclosure.policy import Disclosed
from evalsvc.evaluation.leaderboard import Board, BoardRow
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.pages import board_view, error_search
from evalsvc.evaluation.pages.board_tables import board_computation
from evalsvc.evaluation.pages.boards import chosen

SHOWN, LISTED = 20, 50  # items on a page; systems to choose from
OF_BAG = 3  # sentences shown of a bag
LANES = {"A": "lane--a", "B": "lane--b"}
KIND_TITLES = {
    "missed": "missed",
    "spurious": "spurious",
    "type": "wrong type",
    "bounds": "wrong bounds",
    "type and bounds": "wrong type and bounds",
    "relation": "wrong relation",
    "direction": "wrong direction",
    "missed relation": "relation: missed",
    "turned relation": "relation: wrong direction",
    "other relation": "relation: another one",
    "type of an end": "relation: wrong type of an entity",
    "bounds of an end": "relation: wrong bounds of an entity",
    "end not in the gold": "relation: entity not in the gold",
    "spurious relation": "relation: spurious",
}
ORDER_TITLES = {"f1": "lowest F1 of A first", "errors": "most errors first", "file": "order of the file"}
TWO_FORMS = "One of the two systems answers with offsets, the other without. Choose two of one form."
NOT_STORED = "The scores of this system were computed before errors were stored."
WHO_TITLES = {"": "All errors", "a": "Only A right", "b": "Only B right", "neither": "Neither right"}
SWAPPED = {"a": "b", "b": "a", "neither": "neither"}
WAITING = "Its runs are being scored again."


@dataclass(frozen=True)
class Side:
    """A system with a run, by default the median one, and the outcomes of that run.

    `value` names both in addresses; `others` are its runs, each with its value.
    """

    letter: str
    name: str
    value: str
    run: Submission
    outcomes: Outcomes
    median: bool
    others: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Browser:
    """What a request asks to see."""

    board: Board
    sides: list[Side]
    wanted: Wanted
    reason: str = ""

    @property
    def setting(self) -> Setting:
        return self.board.setting

    @cached_property
    def selection(self) -> Selection:
        b = self.sides[1].outcomes if len(self.sides) > 1 else None
        return Selection(self.sides[0].outcomes, b, self.wanted)

    @cached_property
    def titles(self) -> dict[str, str]:
        return label_titles(self.setting.benchmark.labels)

    @property
    def noun(self) -> str:
        return board_view.ITEM_NAMES[self.setting.unit]


def requested(request: HttpRequest, slug: str) -> Browser:
    """Return the systems and filters in the query; without systems the first of the board."""
    _, _, setting = chosen(request, slug)
    if setting is None:
        raise Http404
    roles.require_begun(setting, request.user)
    board = leaderboard.board(setting, person=request.user)
    wanted = _wanted(request.GET)
    closed = roles.sealed_until(setting) if board.sealed else ""
    if closed := closed or why_closed(board.policy, board.version.gold_sha256, request.user):
        return Browser(board, [], wanted, closed)
    names = board_view.system_names(board)
    by_name = {_value(row): row for row in board.rows}
    values = dict.fromkeys(filter(None, (request.GET.get("a", ""), request.GET.get("b", ""))))
    picks = [_pick(value, by_name) for value in values]
    if unknown := [value for value, pick in zip(values, picks, strict=True) if pick is None]:
        raise Http404(f"{unknown[0][:200]!r} has no scored run under “{setting.title}”.")
    asked = [pick for pick in picks if pick] or [(row, "") for row in board.rows[:1]]
    sides, reason = [], "" if asked else f"“{setting.title}” has no scored run yet."
    for letter, (row, run) in zip("AB", asked, strict=False):
        runs = leaderboard.open_runs(board, row.system.pk, request.user)
        picked = _run(board, runs, run)
        outcomes = outcomes_of(picked[1], request.user) if picked else None
        if picked is None or outcomes is None:
            reason = _no_outcomes(picked[0] if picked else None)
            break
        value, name = _value(row), names[row.system.pk]
        others = [(each.run, f"{value}/{each.run}") for each, _ in runs]
        if run:
            value, name = f"{value}/{run}", f"{name}, run {run}"
        sides.append(Side(letter, name, value, picked[0], outcomes, not run, others))
    if len({side.outcomes.answers is None for side in sides}) == 2:
        reason = TWO_FORMS
    elif len(sides) == 2 and not same_gold(sides[0].outcomes, sides[1].outcomes):
        reason = NOT_STORED
    if wanted.text and not reason:
        having = error_search.items_with(wanted.text, sides[0].outcomes, board.version.test_set)
        wanted = replace(wanted, having=having)
    return Browser(board, [] if reason else sides, wanted, reason)


def _pick(value: str, by_name: Mapping[str, BoardRow]) -> tuple[BoardRow, str] | None:
    """Return the system, and the run behind its name: TEAM/SYSTEM or TEAM/SYSTEM/RUN."""
    if value in by_name:
        return by_name[value], ""
    system, _, run = value.rpartition("/")
    return (by_name[system], run) if run and system in by_name else None


def _run(
    board: Board, runs: Sequence[tuple[Submission, Disclosed]], name: str
) -> tuple[Submission, Disclosed] | None:
    """Return the run of this name, without one the median run."""
    if not name:
        return leaderboard.median_run(board, runs)
    found = next((each for each in runs if each[0].run == name), None)
    if found is None:
        raise Http404(f"The system has no scored run {name[:200]!r} of its own answers.")
    return found


def _no_outcomes(run: Submission | None) -> str:
    waiting = run is not None and run.state != Submission.State.SCORED
    return f"{NOT_STORED} {WAITING}" if waiting else NOT_STORED


def _value(row: BoardRow) -> str:
    return f"{row.system.team_slug}/{row.system.name}"


def _wanted(query: QueryDict) -> Wanted:
    kinds = frozenset(KINDS.index(kind) for kind in query.getlist("kind") if kind in KIND_TITLES)
    who, order = query.get("who", ""), query.get("order", "")
    return Wanted(
        kinds=kinds,
        label=query.get("label", ""),
        low=_share(query.get("low", ""), 0.0),
        high=_share(query.get("high", ""), 1.0),
        who=who if who in WHO and query.get("b") and query.get("a") else "",
        order=order if order in ORDERS else "f1",
        text=query.get("text", "").strip()[: error_search.MOST_CHARACTERS],
    )


def _share(text: str, default: float) -> float:
    try:
        value = float(text)
    except ValueError:
        return default
    return min(max(value, 0.0), 1.0) if isfinite(value) else default


# ---- the page and its file -----------------------------------------------------------------------
@views.page("GET", "POST", names=())
def errors_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Errors of the chosen systems; organisers have those of older scores stored."""
    if request.method == "POST":  # the role comes before the state of the setting
        roles.require(roles.benchmark_for(request.user, slug), users.person(request), roles.ORGANISER)
    browser = requested(request, slug)
    if request.method == "POST":
        queued = versions.fill_outcomes(browser.setting, by=users.person(request))
        messages.info(request, f"{counted(queued, 'run')} will be scored again.")
        return redirect(request.get_full_path())
    context = _choices(browser) | {"browser": browser, "reason": browser.reason}
    if browser.reason == NOT_STORED:
        context["fill"] = roles.role_in(browser.setting.benchmark, request.user) == roles.ORGANISER
    return render(
        request, "evaluation/errors.html", context | (_shown(request, browser) if browser.sides else {})
    )


@views.page()
def errors_file(request: HttpRequest, slug: str, format: str) -> HttpResponse:
    """Download every chosen item with its labels, or the documents where WRF and F1 differ most."""
    browser = requested(request, slug)
    if not browser.sides:
        raise Http404(browser.reason)
    return download(_table(browser), format)


def _choices(browser: Browser) -> dict[str, Any]:
    board, setting = browser.board, browser.setting
    names = board_view.system_names(board) if not browser.board.sealed else {}
    listed = [(_value(row), names[row.system.pk]) for row in board.rows[:LISTED]]
    listed += [(side.value, side.name) for side in browser.sides if (side.value, side.name) not in listed]
    return {
        "benchmark": setting.benchmark,
        "setting": setting,
        "systems": listed,
        "orders": ORDER_TITLES.items(),
        "wanted": browser.wanted,
    }


def _shown(request: HttpRequest, browser: Browser) -> dict[str, Any]:
    selection, query, sides = browser.selection, request.GET, browser.sides
    item, ids = query.get("item", ""), sides[0].outcomes.ids
    if item and item not in ids:
        raise Http404(f"The setting has no item {item[:200]!r}.")
    items = [ids.index(item)] if item else selection.items
    pages = Paginator(items, SHOWN).get_page(query.get("page"))
    lines = _lines(browser, [name for at in pages for name in _shown_sentences(sides[0].outcomes, at)])
    wanted = browser.wanted
    return {
        "a": sides[0],
        "b": sides[1] if len(sides) > 1 else None,
        "item": item,
        "lead": _lead(browser),
        "kinds": _kind_links(request, selection),
        "kinds_chosen": [KINDS[code] for code in sorted(wanted.kinds)],
        "who": _who_links(request, browser),
        "labels": [
            (name, browser.titles.get(name, name), selection.by_label[name])
            for name in _labels(sides[0].outcomes)
            if selection.by_label[name] or name == wanted.label
        ],
        "runs": _run_links(request, browser),
        "swapped": _query(request, a=sides[1].value, b=sides[0].value, who=SWAPPED.get(wanted.who), page=None)
        if len(sides) > 1
        else "",
        "drops": _drops(request, browser) if not items else [],
        "filtered": bool(
            wanted.kinds
            or wanted.label
            or wanted.who
            or wanted.text
            or (wanted.low, wanted.high) != (0.0, 1.0)
        ),
        "cleared": _query(
            request, kind=None, label=None, low=None, high=None, who=None, text=None, page=None, item=None
        ),
        "file_query": _query(request, page=None, item=None),
        "n": counted(len(items), browser.noun),
        "pages": pages,
        "previous": _query(request, page=pages.previous_page_number()) if pages.has_previous() else "",
        "next": _query(request, page=pages.next_page_number()) if pages.has_next() else "",
        "shown": [_item(request, browser, at, lines) for at in pages],
        "against": _against(request, browser),
    }


def _drops(request: HttpRequest, browser: Browser) -> list[tuple[str, str, str]]:
    """Return each filter in use, what is left without it, and the address that drops it."""
    wanted, selection = browser.wanted, browser.selection
    kinds = " or ".join(KIND_TITLES[KINDS[code]] for code in sorted(wanted.kinds))
    filters: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
        (kinds, {"kinds": frozenset()}, ("kind",)),
        (browser.titles.get(wanted.label, wanted.label), {"label": ""}, ("label",)),
        (f"“{wanted.text}”" if wanted.text else "", {"text": "", "having": None}, ("text",)),
        (WHO_TITLES[wanted.who] if wanted.who else "", {"who": ""}, ("who",)),
        (
            f"F1 of A from {wanted.low} to {wanted.high}" if (wanted.low, wanted.high) != (0.0, 1.0) else "",
            {"low": 0.0, "high": 1.0},
            ("low", "high"),
        ),
    )
    return [
        (
            title,
            counted(selection.without(**changes), browser.noun),
            _query(request, **dict.fromkeys(names), page=None),
        )
        for title, changes, names in filters
        if title
    ]


def _labels(outcomes: Outcomes) -> list[str]:
    return [*outcomes.labels, *(name for name in outcomes.relations if name not in outcomes.labels)]


def _query(request: HttpRequest, **changes: Any) -> str:
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


def _lead(browser: Browser) -> str:
    selection, noun = browser.selection, browser.noun
    n = len(browser.sides[0].outcomes.ids)
    if len(browser.sides) > 1:
        by_who, (a, b) = selection.by_who, browser.sides
        right = "right about a gold claim" if a.outcomes.gold.places is not None else "right"
        return (
            f"Of {counted(n, noun)}, {a.name} alone is {right} in {by_who['a']:,} and {b.name} alone in "
            f"{by_who['b']:,}; neither is in {by_who['neither']:,}."
        )
    wrong = len(selection.wrong)
    have = "has" if wrong == 1 else "have"
    return f"{wrong:,} of {counted(n, noun)} {have} an error of {browser.sides[0].name}."


def _run_links(request: HttpRequest, browser: Browser) -> list[tuple[str, list[tuple[str, bool, str]]]]:
    """Return the runs to choose from of each system with several, and the address of each."""
    return [
        (
            side.letter,
            [
                (run, run == side.run.run, _query(request, **{side.letter.lower(): value}, page=None))
                for run, value in side.others
            ],
        )
        for side in browser.sides
        if len(side.others) > 1
    ]


def _kind_links(request: HttpRequest, selection: Selection) -> list[tuple[str, int, bool, str]]:
    links = []
    for code, n in selection.by_kind.items():
        kinds = selection.wanted.kinds ^ {code}
        query = _query(request, kind=[KINDS[each] for each in sorted(kinds)], page=None, item=None)
        links.append((KIND_TITLES[KINDS[code]], n, code in selection.wanted.kinds, query))
    return links


def _who_links(request: HttpRequest, browser: Browser) -> list[tuple[str, int, bool, str]]:
    if len(browser.sides) < 2:
        return []
    counts = {"": len(browser.selection.wrong)} | browser.selection.by_who
    return [
        (
            WHO_TITLES[who],
            n,
            who == browser.wanted.who,
            _query(request, who=who or None, page=None, item=None),
        )
        for who, n in counts.items()
    ]


# ---- one item ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Verdict:
    """Claims of one side in words: gold, or a system's with what is wrong."""

    text: str
    wrong: str = ""
    right: bool = False


@dataclass(frozen=True)
class ShownItem:
    """Item with gold and predictions drawn over its text, and its claims in a table."""

    id: str
    link: str
    texts: list[SafeString | str]
    more: str
    f1: list[tuple[str, str]]
    heads: list[str]
    rows: list[list[Verdict]]


def _lines(browser: Browser, ids: Sequence[str]) -> dict[str, ItemLine]:
    """Read the gold lines of a page."""
    rows = TestSetRow.objects.filter(test_set=browser.board.version.test_set, external_id__in=ids)
    lines = [line.encode() for line in rows.values_list("line", flat=True)]
    if not lines:
        return {}
    source = iter([line + b"\n" for line in lines])
    found = open_gold(source, format=jsonl_items.FORMAT.key, problems=Problems(), with_text=True)
    return {item.id: item for _, item in found}


def _shown_sentences(outcomes: Outcomes, at: int) -> list[str]:
    """Return the ids of the first sentences of a bag, else that of the item."""
    return [outcomes.ids[at]] if outcomes.sentences is None else outcomes.sentences[at][:OF_BAG]


def _item(request: HttpRequest, browser: Browser, at: int, lines: dict[str, ItemLine]) -> ShownItem:
    outcomes = browser.sides[0].outcomes
    found = [lines[name] for name in _shown_sentences(outcomes, at) if name in lines]
    line = found[0] if found else None
    by_document = outcomes.gold.places is not None
    f1 = [(side.letter, _ratio(side.outcomes.f1_scores[at])) for side in browser.sides]
    words = [
        (f"WRF of {side.letter}", _ratio(side.outcomes.wrf_scores[at]))
        for side in browser.sides
        if side.outcomes.wrf is not None
    ]
    first: list[str] = []
    if outcomes.answers is not None:
        rows, first = _answer_rows(browser, at), ["Answer"]
    elif by_document:
        rows, first = _link_rows(browser, at, line), ["Relation"]
    else:
        rows = [_sentence_row(browser, at)]
    left = 0 if outcomes.sentences is None else len(outcomes.sentences[at]) - len(found)
    return ShownItem(
        id=outcomes.ids[at],
        link=_query(
            request,
            **dict.fromkeys(("page", "kind", "who", "label", "low", "high", "text")),
            item=outcomes.ids[at],
        ),
        texts=[_text(browser, at, each) for each in found],
        more=f"and {counted(left, 'sentence')} more" if left else "",
        f1=([(f"CoNLL F1 of {letter}", text) for letter, text in f1] + words) if by_document else [],
        heads=[*first, "Gold", *(f"{side.letter}: {side.name}" for side in browser.sides)] if rows else [],
        rows=rows,
    )


def _ratio(value: float) -> str:
    return DASH if isnan(value) else number(value, digits=2)


@dataclass(frozen=True)
class _Pair:
    """Text with head and tail, as `mark_pair` takes it."""

    text: str
    head: dict[str, Any] | None
    tail: dict[str, Any] | None


def _text(browser: Browser, at: int, line: ItemLine) -> SafeString | str:
    outcomes = browser.sides[0].outcomes
    if outcomes.answers is not None:
        return line.text or " ".join(line.tokens or ())
    if outcomes.gold.places is None:
        ends = [_mention(end) for end in (line.head, line.tail)]
        return mark_pair(_Pair(line.text or " ".join(line.tokens or ()), *ends))
    text = PlainText(line.text or "", line.tokens)
    return text_with_lanes(
        text, list(_lanes(browser, at)), colours=colours_of(browser.sides[0].outcomes.labels)
    )


def _mention(entity: Entity | None) -> dict[str, Any] | None:
    if entity is None or entity.start is None or entity.end is None:
        return None
    return {"start": entity.start, "end": entity.end, "type": entity.type}


def _lanes(browser: Browser, at: int) -> Iterator[Lane]:
    """Yield gold on the first lane, then each system's spans, with what it missed as dashes."""
    outcomes, titles = browser.sides[0].outcomes, browser.titles

    def span(label: int, start: int, end: int) -> tuple[int, int, str]:
        return start, end, outcomes.labels[label]

    for label, _, start, end in outcomes.gold.of(at):
        yield Lane(span(label, start, end), titles[outcomes.labels[label]], "gold", False, "lane--g", 0)
    for order, side in enumerate(browser.sides, 1):
        letter = side.letter
        for label, kind, start, end in side.outcomes.predicted.of(at):
            right, style = kind == RIGHT, LANES[letter]
            note = "" if right else KIND_TITLES[KINDS[kind]]
            title = letter if right else f"{letter} {titles[outcomes.labels[label]]}"
            yield Lane(
                span(label, start, end), title, note, right, style if right else f"{style} lane--wrong", order
            )
        for label, kind, start, end in side.outcomes.gold.of(at):
            if KINDS[kind] == "missed":
                yield Lane(span(label, start, end), letter, "missed", False, "lane--miss", order)


def _sentence_row(browser: Browser, at: int) -> list[Verdict]:
    """Return the labels of gold and systems, with what is wrong."""
    outcomes = browser.sides[0].outcomes
    none = browser.setting.benchmark.negative or "none"

    def names(claims: Claims) -> str:
        found = [browser.titles[outcomes.labels[label]] for label, *_ in claims.of(at)]
        return ", ".join(found) or none

    verdicts = [Verdict(names(outcomes.gold))]
    for side in browser.sides:
        mask = side.outcomes.masks[at]
        kind = next((code for code in range(len(KINDS)) if mask >> code & 1 and code != RIGHT), RIGHT)
        wrong = "" if kind == RIGHT else KIND_TITLES[KINDS[kind]]
        verdicts.append(Verdict(names(side.outcomes.predicted), wrong, kind == RIGHT))
    return verdicts


def _answer_rows(browser: Browser, at: int) -> list[list[Verdict]]:
    """Return the answers without offsets: in the gold, and of each system."""
    rows: dict[tuple[str, ...], list[Verdict]] = {}
    width = len(browser.sides) + 1
    for place, side in enumerate(browser.sides, 1):
        parts = (side.outcomes.gold, side.outcomes.predicted)
        for part, claims in enumerate(parts):
            for texts, name, kind in _answers_of(side.outcomes, claims, part, at):
                row = rows.setdefault((*texts, name), [Verdict(DASH) for _ in range(width)])
                row[0] = row[0] if part else Verdict("yes")
                row[place] = Verdict("", "" if kind == RIGHT else KIND_TITLES[KINDS[kind]], kind == RIGHT)
    return [
        [Verdict(_answer_in_words(texts, browser.titles.get(name, name))), *verdicts]
        for (*texts, name), verdicts in sorted(rows.items())
    ]


def _answer_in_words(texts: list[str], title: str) -> str:
    return f" – {title} – ".join(texts) if len(texts) > 1 else f"{texts[0]}: {title}"


def _answers_of(
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
        named.append([Verdict(f"{words[0]} – {relation} – {words[1]}"), *verdicts])
    return named


def _plain(kind: str) -> str:
    return KIND_TITLES[kind].removeprefix("relation: ")


def _link_sides(browser: Browser) -> list[tuple[Claims, Claims | None]]:
    first = browser.sides[0].outcomes
    sides = [(side.outcomes.predicted, side.outcomes.predicted_links) for side in browser.sides]
    return [(first.gold, first.gold_links), *sides]


# ---- WRF against CoNLL F1, downloads -------------------------------------------------------------
def _against(request: HttpRequest, browser: Browser) -> dict[str, Any] | None:
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
                _query(request, item=outcomes.ids[at], page=None, kind=None, who=None, label=None),
                number(words, digits=3),
                number(f1, digits=3),
                f"{'−' if words < f1 else '+'}{number(abs(words - f1), digits=3)}",
            )
            for at, words, f1 in outcomes.widest
        ],
    }


def _table(browser: Browser) -> PaperTable:
    """List the chosen items with gold and claims."""
    sides = browser.sides
    heads = [Head("id", "Id", numeric=False), Head("gold", "Gold", numeric=False)]
    for side in sides:
        low = side.letter.lower()
        heads += [
            Head(f"{low}_claims", f"{side.letter}: {side.name}", numeric=False),
            Head(f"{low}_errors", f"Errors of {side.letter}", numeric=False),
            Head(f"{low}_f1", f"F1 of {side.letter}"),
        ]
    rows = []
    for at in browser.selection.items:
        outcomes = sides[0].outcomes
        cells = [_text_cell(outcomes.ids[at]), _text_cell(_claims(outcomes, outcomes.gold, at, 0))]
        for side in sides:
            mask, f1 = side.outcomes.masks[at], side.outcomes.f1_scores[at]
            kinds = [KINDS[code] for code in range(len(KINDS)) if mask >> code & 1 and code != RIGHT]
            cells += [
                _text_cell(_claims(side.outcomes, side.outcomes.predicted, at, 1)),
                _text_cell("; ".join(kinds)),
            ]
            cells.append(Cell(None if isnan(f1) else round(f1, 6), _ratio(f1)))
        rows.append(cells)
    names = " and ".join(side.name for side in sides)
    caption = f"Errors under {browser.setting}: {names}. {board_computation(browser.board)}"
    return PaperTable(f"{browser.setting.benchmark.slug}-errors", caption, heads, rows)


def _text_cell(text: str) -> Cell:
    return Cell(text, text)


def _claims(outcomes: Outcomes, claims: Claims, at: int, side: int) -> str:
    """Name the claims of an item, spans with their places and answers with their texts."""
    if outcomes.answers is not None:
        return "; ".join(
            f"{label}: {' – '.join(texts)}" for texts, label, _ in _answers_of(outcomes, claims, side, at)
        )
    bounds = claims.places is not None
    return "; ".join(
        outcomes.labels[label] + (f" {start}–{end}" if bounds else "")
        for label, _, start, end in claims.of(at)
    )
