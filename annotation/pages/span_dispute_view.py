"""Presentation of a dispute about spans: lanes, open parts, complete answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from operator import itemgetter
from typing import Any
from unicodedata import bidirectional

from django.http import QueryDict
from django.utils.safestring import SafeString

from annotation.adjudication.decisions import DisputeDetails, FormerDecision
from annotation.consensus.choices import Link, Span, links_of, payload_of
from annotation.consensus.majority import Alternative, OpenPart, OpenParts
from annotation.pages.dispute_view import DecisionOption, DisputeView, as_json
from annotation.pages.span_editor import SpanEditor, read_answer, unreadable
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.label_mapping import Payload, empty_answer
from evalsvc.core.web.span_lanes import Lane, text_with_lanes
from evalsvc.core.web.text_highlighting import colours_of

MAX_TEXT, MAX_LINE = 40, 240
MAX_ANSWERS = 9
MAX_PARTS = 400  # and as many relations
MAX_LANES = 1_000
PARTS, EDIT = "parts", "edit"
FIELDS = ("link", "answer", *(f"part{number}" for number in range(MAX_PARTS)))


@dataclass(frozen=True, slots=True)
class PartView:
    """An open part with its options; `chosen` is the value of one of them."""

    name: str
    title: str
    pair: bool
    options: list[DecisionOption]
    chosen: str


@dataclass(frozen=True, slots=True)
class LooseLink:
    """Relation on spans without a majority; `ends` are those the form may still choose."""

    value: str
    text: str
    votes: str
    ends: str
    possible: bool
    ticked: bool


class SpanDisputeView(DisputeView):
    """A dispute about spans, and relations between them, as its page shows it."""

    relations = False

    def __init__(self, details: DisputeDetails, *, sent: QueryDict, former: FormerDecision | None) -> None:
        super().__init__(details)
        assert details.open_parts is not None
        self.open: OpenParts = details.open_parts
        self.sent, self.item = sent, details.item
        payload = former.payload if former else None
        self.before = _canonical(payload) if payload is not None else None

    @property
    def reason(self) -> str:
        """Return the key of the reason for the dispute."""
        if not self.parts:
            return "unanswered"
        accepted = {count.choice for count in self.details.tally if count.accepted}
        return "overlap" if accepted & self.open.competing else "choice_without_majority"

    @property
    def text(self) -> SafeString:
        """Return the text with all voted spans on lanes."""
        lanes = [
            Lane(
                count.choice,
                self.title(count.choice[2]),
                f"{count.votes} of {self.details.n}",
                count.choice in self.open.spans,
            )
            for count in self.details.tally
            if not _is_link(count.choice)
        ]
        return text_with_lanes(self.item, lanes[:MAX_LANES], colours=colours_of(list(self.choices)))

    @property
    def is_cut(self) -> bool:
        """True if there is more to decide than the page shows."""
        return max(len(self.open.parts), len(self.open.loose)) > MAX_PARTS

    @cached_property
    def parts(self) -> list[PartView]:
        return [self._part(number, part) for number, part in enumerate(self.open.parts[:MAX_PARTS])]

    def _part(self, number: int, part: OpenPart) -> PartView:
        name, keys = f"part{number}", iter("123456789")
        ways = _ways(part)
        options = [self._option(way, part, next(keys, "") if way.choices else "N") for way in ways]
        title = " – ".join(map(self._clipped, part.pair or [(part.start, part.end)]))
        chosen = self.sent.get(name, "") or self._before(part, ways)
        return PartView(name, title, part.pair is not None, options, chosen)

    def _before(self, part: OpenPart, ways: list[Alternative]) -> str:
        """Return the value of the way that the former decision has."""
        if self.before is None:
            return ""
        spans, links = self.before
        own: set[Any] = {link for link in links if (link[0], link[2]) == part.pair}
        if not part.pair:
            own = {span for span in spans if span[0] < part.end and part.start < span[1]}
        return next((_value(way.choices) for way in ways if way.choices == own), "")

    def _option(self, way: Alternative, part: OpenPart, key: str) -> DecisionOption:
        none = "no relation" if part.pair else "nothing here"
        title = self._listed(sorted(way.choices)) or none.capitalize()
        return DecisionOption(key, title, self._given_by(way.answers), _value(way.choices))

    def _given_by(self, answers: Iterable[int]) -> str:
        letters = " ".join(self.details.columns[at].letter for at in sorted(answers))
        n = len(letters.split())
        return f"{n} of {self.details.n}: {letters}" if n else "nobody"

    @cached_property
    def options(self) -> list[DecisionOption]:
        """Return the distinct complete answers, and an empty one."""
        given: dict[str, list[int]] = {}
        for at, column in enumerate(self.details.columns):
            given.setdefault(as_json(_ordered(column.payload)), []).append(at)
        nothing = as_json(empty_answer())
        empty = given.pop(nothing, [])
        order = sorted(given.items(), key=lambda entry: -len(entry[1]))[:MAX_ANSWERS]
        options = [
            DecisionOption(f"⇧{number}", *self._whole(json.loads(value), answers), value)
            for number, (value, answers) in enumerate(order, 1)
        ]
        key = "" if self.parts else "N"
        return [*options, DecisionOption(key, "Nothing in the whole text", self._given_by(empty), nothing)]

    def _whole(self, payload: Payload, answers: list[int]) -> tuple[str, str]:
        """Return what an answer has beside the accepted, and who gave it, with what it lacks."""
        spans, links = _canonical(payload)
        own: set[Any] = {*spans, *links}
        accepted: set[Any] = {*self.open.spans, *self.open.links}
        title = self._listed([*sorted(spans - accepted), *sorted(links - accepted)])
        lacking = [*sorted(self.open.spans - own), *sorted(self.open.links - own)]
        if not accepted:
            return title, self._given_by(answers)
        rest = f"without {self._listed(lacking)}" if lacking else "with all that is accepted"
        return title or "Only what is accepted", f"{self._given_by(answers)}, {rest}"

    @property
    def editor(self) -> SpanEditor:
        return SpanEditor(self.item, self.answer, self.open.parts[0].start if self.open.parts else 0)

    @property
    def standing(self) -> str:
        """Return the accepted spans and relations as a line."""
        return self._line(payload_of(self.open.spans, self.open.links))

    @cached_property
    def loose(self) -> list[LooseLink]:
        """Return the relations on spans without a majority."""
        asked = self.open.spans | self.open.competing
        ticked = self.sent.getlist("link")
        before = self.before[1] if self.before and not self.sent else frozenset()
        return [
            LooseLink(
                value,
                self._words(count.choice),
                f"{count.votes} of {self.details.n}",
                as_json([list(end) for end in count.choice[::2] if end not in self.open.spans]),
                {*count.choice[::2]} <= asked,
                value in ticked or count.choice in before,
            )
            for count in self.open.loose[:MAX_PARTS]
            for value in [as_json(count.choice)]
        ]

    @property
    def chosen(self) -> str:
        """Return the value of the choice to show: as sent, as decided before, or part by part."""
        if self.sent:
            return self.value_of(self.sent.get("choice", "")) or self.sent.get("choice", "")
        if self.before is None:
            return PARTS if self.parts else ""
        before = as_json(payload_of(*self.before))
        return PARTS if self._is_by_part() else self.value_of(before) or EDIT

    def _is_by_part(self) -> bool:
        """True if the parts and relations ticked give the former decision."""
        values = [part.chosen for part in self.parts]
        if not values or not all(values):
            return False
        values += [f"[{link.value}]" for link in self.loose if link.ticked]
        chosen = {choice for value in values for choice in _choices(value)}
        links = {choice for choice in chosen if _is_link(choice)}
        return (self.open.spans | chosen - links, self.open.links | links) == self.before

    @property
    def answer(self) -> str:
        """Return the text of the field for an answer of one's own."""
        if self.sent:
            return self.sent.get("answer", "")
        spans, links = self.before or (self.open.spans, self.open.links)
        payload = payload_of(spans, links)
        lines = ",\n           ".join(as_json(span) for span in payload["spans"])
        return f'{{"spans": [{lines}],\n "relations": {as_json(payload["relations"])}}}'

    def _line(self, payload: Payload) -> str:
        spans, links = _canonical(payload)
        return self._listed([*sorted(spans), *sorted(links)])

    def _listed(self, choices: Sequence[Any]) -> str:
        line = ", ".join(map(self._words, choices[:MAX_LINE]))
        return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…"

    def _words(self, choice: Any) -> str:
        if _is_link(choice):
            head, name, tail = choice
            return f"{self._words(head)} – {self.title(name)} – {self._words(tail)}"
        return f"“{self._clipped(choice)}” {self.title(choice[2])}"

    def _clipped(self, span: Any) -> str:
        text = self.item.surface(span)
        short = text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"
        return f"\u2068{short}\u2069" if any(bidirectional(c) in ("R", "AL") for c in short) else short


def _ways(part: OpenPart) -> list[Alternative]:
    """Return the ways of the answers, bounds of one with the type of another, and nothing."""
    given = [way for way in part.alternatives if way.choices]
    spans = [] if part.pair else sorted({span for way in given for span in way.choices})
    bounds, labels = (sorted({cut(span) for span in spans}) for cut in (itemgetter(0, 1), itemgetter(2)))
    voted = {way.choices for way in given}
    mixed = (frozenset([(*ends, label)]) for ends, label in product(bounds, labels))
    unvoted = (Alternative(way, ()) for way in mixed if way not in voted)
    more = list(islice(unvoted, max(0, MAX_ANSWERS - len(given))))
    none = [way for way in part.alternatives if not way.choices] or [Alternative(frozenset(), ())]
    return [*given, *more, *none]


def submitted_answer(sent: QueryDict, parts: OpenParts) -> Any:
    """Return the answer that the form says part by part, or in its own field."""
    if sent.get("choice") == EDIT:
        return read_answer(sent.get("answer", ""))
    names = [f"part{number}" for number in range(len(parts.parts[:MAX_PARTS]))]
    missing = [number for number, name in enumerate(names, 1) if not sent.get(name)]
    if missing:
        detail = f"Part {missing[0]} of {len(names)} has no choice."
        hint = "Choose one of its answers, or that nothing is there."
        raise DomainError("nothing_chosen", detail, hint=hint, field="choice")
    values = [choice for name in names for choice in _choices(sent.get(name, ""))]
    values += [choice for text in sent.getlist("link") for choice in _choices(f"[{text}]")]
    links = {choice for choice in values if _is_link(choice)} | parts.links
    spans = {choice for choice in values if not _is_link(choice)} | parts.spans
    if lost := [link for link in links if not {link[0], link[2]} <= spans]:
        raise DomainError(
            "span_missing",
            f"The relation {lost[0][1]} has an end that you did not choose.",
            hint="Choose its span too, or do not take the relation.",
            field="link",
        )
    return payload_of(spans, links)


def _choices(text: str) -> list[Any]:
    """Read spans and relations of a value of the form."""
    try:
        return [_frozen(choice) for choice in read_answer(text, "choice")]
    except (TypeError, ValueError, IndexError) as error:
        raise unreadable("choice") from error


def _frozen(choice: Any) -> Any:
    first, second, third = choice
    if isinstance(first, list):
        return (_span(first), str(second), _span(third))
    return _span(choice)


def _span(value: Any) -> Span:
    start, end, label = value
    return int(start), int(end), str(label)


def _canonical(payload: Payload) -> tuple[frozenset[Span], frozenset[Link]]:
    return frozenset(tuple(span) for span in payload["spans"]), links_of(payload)


def _ordered(payload: Payload) -> Payload:
    return payload_of(*_canonical(payload))


def _value(choices: Iterable[Any]) -> str:
    return as_json(sorted(choices))


def _is_link(choice: Any) -> bool:
    """Tell a relation between two spans from a span."""
    return isinstance(choice[0], tuple)
