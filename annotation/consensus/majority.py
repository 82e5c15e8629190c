"""Verdicts on counted answers: strict majority, each label on its own. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from annotation.consensus.label_mapping import Payload

MAJORITY, MAJORITY_NA = "majority", "majority-na"
OPEN, SETTLED, DISPUTED = "open", "settled", "disputed"

Span = tuple[int, int, str]
Link = tuple[Span, str, Span]


@dataclass(frozen=True, slots=True)
class ChoiceCount:
    """Votes for a choice: a relation, a span or a triple."""

    choice: Any
    votes: int
    accepted: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision; `tally` lists the choices in order of votes."""

    state: str
    gold: Payload | None
    pattern: str
    tally: list[ChoiceCount] = field(default_factory=list)
    na: int = 0
    n: int = 0


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
    return Verdict(state, gold, rule.pattern(), rule.tally(), rule.na(), n)


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
        return _some_but_none(self.answers, self.accepted, self.policy, na=self.n_na)

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
        clash = not self.may_overlap and any(_overlap(a, b) for a, b in combinations(self.accepted, 2))
        return clash or any(self._is_left_over(span) for span in self.counts)

    def _is_left_over(self, span: Span) -> bool:
        """True if a span neither won nor overlaps a winner."""
        if any(_overlap(span, winner) for winner in self.accepted):
            return False
        if self.policy == MAJORITY:
            return True
        beside = sum(any(_overlap(span, other) for other in answer) for answer in self.answers)
        return 2 * beside >= len(self.answers)

    def gold(self) -> Payload:
        return {"spans": [list(span) for span in sorted(self.accepted)], "relations": []}

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
        self.links = [_links(payload) for payload in payloads]
        self.link_counts = _count(self.links)
        won = _majority(self.link_counts, len(self.links))
        self.won = {link for link in won if {link[0], link[2]} <= self.accepted}

    def disputed(self) -> bool:
        pairs = {(head, tail) for head, _, tail in self.link_counts if {head, tail} <= self.accepted}
        return super().disputed() or any(self._pair_is_disputed(pair) for pair in pairs)

    def _pair_is_disputed(self, pair: tuple[Span, Span]) -> bool:
        answers = [frozenset(link for link in answer if (link[0], link[2]) == pair) for answer in self.links]
        return _some_but_none(answers, self.won, self.policy, na=sum(not answer for answer in answers))

    def gold(self) -> Payload:
        spans = sorted(self.accepted)
        at = {span: number for number, span in enumerate(spans)}
        links = sorted([at[head], name, at[tail]] for head, name, tail in self.won)
        return {"spans": [list(span) for span in spans], "relations": links}

    def tally(self) -> list[ChoiceCount]:
        """Include relations on rejected spans: adjudicators see them."""
        return super().tally() + _tally(self.link_counts, self.won)

    def _whole(self) -> list[frozenset[Any]]:
        return [spans | links for spans, links in zip(self.answers, self.links, strict=True)]


_RULES: dict[str, type[_Relations | _Spans]] = {"relations": _Relations, "entities": _Spans, "joint": _Joint}


def _links(payload: Payload) -> frozenset[Link]:
    """Return the relations with their spans instead of the spans' numbers."""
    spans = [tuple(span) for span in payload["spans"]]
    return frozenset((spans[head], name, spans[tail]) for head, name, tail in payload["relations"])


def _count(answers: Iterable[frozenset[Any]]) -> Counter[Any]:
    return Counter(choice for answer in answers for choice in answer)


def _majority(counts: Counter[Any], n: int) -> set[Any]:
    """Return choices with strictly more than half of the answers."""
    return {choice for choice, votes in counts.items() if 2 * votes > n}


def _some_but_none(answers: Sequence[frozenset[Hashable]], won: set[Any], policy: str, *, na: int) -> bool:
    """True if something was chosen but nothing won, nor N/A under `majority-na`."""
    chosen = frozenset[Any]().union(*answers)
    if not chosen or chosen & won:
        return False
    return policy == MAJORITY or 2 * na <= len(answers)


def _overlap(a: Span, b: Span) -> bool:
    return a[0] < b[1] and b[0] < a[1]


def _tally(counts: Counter[Any], accepted: set[Any]) -> list[ChoiceCount]:
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1], str(entry[0])))
    return [ChoiceCount(choice, votes, choice in accepted) for choice, votes in ordered]


def _pattern(counts: Counter[Any], na: int) -> str:
    """Format the split: `2–2`, `2–1–1`, `1 against 3 N/A`."""
    split = "–".join(str(votes) for _, votes in counts.most_common())
    words = f"{split} against {na} N/A" if split and na else split or (f"{na} N/A" if na else "")
    return words if len(words) <= 40 else words[:39] + "…"
