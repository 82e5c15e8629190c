"""Verdicts on counted answers: strict majority, each label on its own. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from annotation.consensus.choices import Covered, Link, Span, clashing, first_overlap, links_of, payload_of
from evalsvc.core.formats.label_mapping import Payload

MAJORITY, MAJORITY_NA = "majority", "majority-na"
POLICY_VERSION = 1  # another one whenever the same answers could give another outcome
OPEN, SETTLED, DISPUTED = "open", "settled", "disputed"


@dataclass(frozen=True, slots=True)
class ChoiceCount:
    """Votes for a choice: a relation, a span or a triple."""

    choice: Any
    votes: int
    accepted: bool


@dataclass(frozen=True)
class Verdict:
    """The decision on n answers, `na` of them N/A."""

    state: str
    gold: Payload | None
    pattern: str
    na: int
    n: int
    rule: _Relations | _Spans = field(repr=False, compare=False)

    @cached_property
    def tally(self) -> list[ChoiceCount]:
        """Return the choices in order of votes; the queue needs none."""
        return self.rule.tally()


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to fill an open part; `answers` are the positions of those that have it."""

    choices: frozenset[Any]
    answers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OpenPart:
    """Region of competing spans, or a pair of accepted spans, without an outcome.

    Alternatives are in order of votes; the empty one comes last.
    """

    start: int
    end: int
    alternatives: list[Alternative]
    pair: tuple[Span, Span] | None = None


@dataclass(frozen=True, slots=True)
class OpenParts:
    """Accepted spans and relations that stand, and what is left to decide.

    `loose` are relations with an end that does not stand.
    """

    spans: frozenset[Span]
    links: frozenset[Link]
    parts: list[OpenPart]
    loose: list[ChoiceCount]

    @property
    def competing(self) -> frozenset[Span]:
        """Return the spans of all open regions."""
        ways = [way for part in self.parts if not part.pair for way in part.alternatives]
        return frozenset(span for way in ways for span in way.choices)


def open_parts(
    payloads: Sequence[Payload], *, kind: str, policy: str, may_overlap: bool = False
) -> OpenParts:
    """Separate what the answers decided from the regions and pairs left open."""
    rule = _RULES[kind](payloads, policy=policy, may_overlap=may_overlap)
    assert isinstance(rule, _Spans), "relation projects have no parts"
    return rule.open_parts()


def decide(
    payloads: Sequence[Payload], *, kind: str, policy: str, k: int, may_overlap: bool = False
) -> Verdict:
    """Decide on the first k answers; fewer leave the item open."""
    if policy not in (MAJORITY, MAJORITY_NA):
        raise ValueError(f"{policy!r} is not a policy")
    rule = _RULES[kind](payloads[:k], policy=policy, may_overlap=may_overlap)
    n = len(rule.answers)
    state = OPEN if n < k else DISPUTED if rule.disputed() else SETTLED
    gold = rule.gold() if state == SETTLED else None
    return Verdict(state, gold, rule.pattern(), rule.na(), n, rule)


class _Relations:
    """Each answer is a set of relations; the empty set is N/A."""

    def __init__(self, payloads: Sequence[Payload], *, policy: str, may_overlap: bool) -> None:
        self.answers = [frozenset(payload["relations"]) for payload in payloads]
        # a blank answer counts as an answer, but not as N/A
        self.n_na = sum(not payload["relations"] and not payload.get("blank") for payload in payloads)
        self.policy = policy
        self.counts = _count(self.answers)
        self.accepted = _majority(self.counts, len(self.answers))

    def na(self) -> int:
        return self.n_na

    def disputed(self) -> bool:
        return _some_but_none(self.counts, self.accepted, self.policy, na=self.n_na, n=len(self.answers))

    def gold(self) -> Payload:
        return {"spans": [], "relations": sorted(self.accepted)}

    def tally(self) -> list[ChoiceCount]:
        return _tally(self.counts, self.accepted)

    def pattern(self) -> str:
        return _pattern(self.counts, self.na())


class _Spans:
    """Answers as sets of (start, end, label); an empty set is N/A."""

    def __init__(self, payloads: Sequence[Payload], *, policy: str, may_overlap: bool) -> None:
        self.answers = [frozenset(tuple(span) for span in payload["spans"]) for payload in payloads]
        self.policy, self.may_overlap = policy, may_overlap
        self.counts = _count(self.answers)
        self.accepted = _majority(self.counts, len(self.answers))

    def na(self) -> int:
        return sum(not answer for answer in self.answers)

    def disputed(self) -> bool:
        clash = not self.may_overlap and first_overlap(self.accepted)
        return bool(clash) or any(self._is_left_over(span) for span in self.counts)

    def _is_left_over(self, span: Span) -> bool:
        """True if a span neither won nor overlaps a winner."""
        if self._winners.touch(span):
            return False
        if self.policy == MAJORITY:
            return True
        beside = sum(covered.touch(span) for covered in self._covered)
        return 2 * beside >= len(self.answers)

    @cached_property
    def _winners(self) -> Covered:
        return Covered(self.accepted)

    @cached_property
    def _covered(self) -> list[Covered]:
        return [Covered(answer) for answer in self.answers]

    @cached_property
    def standing(self) -> set[Span]:
        """Return the accepted spans that clash with no other."""
        if self.may_overlap:
            return self.accepted
        return self.accepted - clashing(self.accepted)

    def open_parts(self) -> OpenParts:
        return OpenParts(frozenset(self.standing), frozenset(), self._regions(), [])

    def _regions(self) -> list[OpenPart]:
        """Join spans that overlap each other and nothing that stands; keep the disputed regions."""
        standing = Covered(self.standing)
        contested = [span for span in sorted(self.counts.keys() - self.standing) if not standing.touch(span)]
        regions: list[list[Span]] = []
        end = 0
        for span in contested:
            if not regions or span[0] >= end:
                regions.append([])
            regions[-1].append(span)
            end = max(end, span[1])
        return [
            OpenPart(region[0][0], max(span[1] for span in region), self._ways(frozenset(region)))
            for region in regions
            if any(span in self.accepted or self._is_left_over(span) for span in region)
        ]

    def _ways(self, region: frozenset[Span]) -> list[Alternative]:
        """Return what the answers have of a region, without overlaps that may not be."""
        ways: dict[frozenset[Any], list[int]] = {}
        for at, answer in enumerate(self.answers):
            own = answer & region
            clash = not self.may_overlap and first_overlap(own)
            for way in [frozenset([span]) for span in own] if clash else [own]:
                ways.setdefault(way, []).append(at)
        return _alternatives(ways)

    def gold(self) -> Payload:
        return payload_of(self.accepted)

    def tally(self) -> list[ChoiceCount]:
        return _tally(self.counts, self.accepted)

    def pattern(self) -> str:
        """Count equal answers; single spans would make too many patterns."""
        return _pattern(Counter(answer for answer in self._whole() if answer), self.na())

    def _whole(self) -> list[frozenset[Any]]:
        return list(self.answers)


class _Joint(_Spans):
    """Spans first; then pairs of accepted spans by the relation rule."""

    def __init__(self, payloads: Sequence[Payload], *, policy: str, may_overlap: bool) -> None:
        super().__init__(payloads, policy=policy, may_overlap=may_overlap)
        self.links = [links_of(payload) for payload in payloads]
        self.link_counts = _count(self.links)
        won = _majority(self.link_counts, len(self.links))
        self.won = {link for link in won if {link[0], link[2]} <= self.accepted}

    def disputed(self) -> bool:
        pairs = {(head, tail) for head, _, tail in self.link_counts if {head, tail} <= self.accepted}
        return super().disputed() or any(self._pair_is_disputed(pair) for pair in pairs)

    def _pair_is_disputed(self, pair: tuple[Span, Span]) -> bool:
        by_answer, n = self._between[pair], len(self.links)
        chosen = frozenset[Link]().union(*by_answer.values())
        return _some_but_none(chosen, self.won, self.policy, na=n - len(by_answer), n=n)

    @cached_property
    def _between(self) -> Mapping[tuple[Span, Span], dict[int, set[Link]]]:
        """Return the relations from one accepted span to another, of each answer that has any."""
        between: dict[tuple[Span, Span], dict[int, set[Link]]] = defaultdict(dict)
        for at, answer in enumerate(self.links):
            for link in answer:
                if link[0] in self.accepted and link[2] in self.accepted:
                    between[link[0], link[2]].setdefault(at, set()).add(link)
        return between

    def open_parts(self) -> OpenParts:
        ends = self.standing
        pairs = sorted({(head, tail) for head, _, tail in self.link_counts if {head, tail} <= ends})
        parts = [self._pair(pair) for pair in pairs if self._pair_is_disputed(pair)]
        won = frozenset(link for link in self.won if {link[0], link[2]} <= ends)
        loose = [count for count in _tally(self.link_counts, set()) if not {*count.choice[::2]} <= ends]
        return OpenParts(frozenset(ends), won, [*self._regions(), *parts], loose)

    def _pair(self, pair: tuple[Span, Span]) -> OpenPart:
        ways: dict[frozenset[Any], list[int]] = {}
        chosen = self._between[pair]
        for at in range(len(self.links)):
            ways.setdefault(frozenset(chosen.get(at, ())), []).append(at)
        start, end = min(pair[0][0], pair[1][0]), max(pair[0][1], pair[1][1])
        return OpenPart(start, end, _alternatives(ways), pair)

    def gold(self) -> Payload:
        return payload_of(self.accepted, self.won)

    def tally(self) -> list[ChoiceCount]:
        """Include relations on rejected spans: adjudicators see them."""
        return super().tally() + _tally(self.link_counts, self.won)

    def _whole(self) -> list[frozenset[Any]]:
        return [spans | links for spans, links in zip(self.answers, self.links, strict=True)]


_RULES: dict[str, type[_Relations | _Spans]] = {"relations": _Relations, "entities": _Spans, "joint": _Joint}


def _count(answers: Iterable[frozenset[Any]]) -> Counter[Any]:
    return Counter(choice for answer in answers for choice in answer)


def _majority(counts: Counter[Any], n: int) -> set[Any]:
    """Return choices with strictly more than half of the answers."""
    return {choice for choice, votes in counts.items() if 2 * votes > n}


def _some_but_none(chosen: Collection[Any], won: set[Any], policy: str, *, na: int, n: int) -> bool:
    """True if some of n answers chose something but nothing won, nor N/A under `majority-na`."""
    if not chosen or not won.isdisjoint(chosen):
        return False
    return policy == MAJORITY or 2 * na <= n


def _alternatives(ways: Mapping[frozenset[Any], list[int]]) -> list[Alternative]:
    """Sort the ways by votes, the empty one last."""
    order = sorted(ways.items(), key=lambda way: (not way[0], -len(way[1]), sorted(way[0])))
    return [Alternative(choices, tuple(answers)) for choices, answers in order]


def _tally(counts: Counter[Any], accepted: set[Any]) -> list[ChoiceCount]:
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], str(entry[0])))
    return [ChoiceCount(choice, votes, choice in accepted) for choice, votes in ordered]


def _pattern(counts: Counter[Any], na: int) -> str:
    """Format the split: `2–2`, `2–1–1`, `1 against 3 N/A`."""
    split = "–".join(str(votes) for _, votes in counts.most_common())
    words = f"{split} against {na} N/A" if split and na else split or (f"{na} N/A" if na else "")
    return words if len(words) <= 40 else words[:39] + "…"
