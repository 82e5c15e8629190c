"""Spans of a text: search by name, checks of bounds and references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from evalsvc.core.formats.problems import MOST_COVERING, MOST_SPANS, Problems
from evalsvc.core.formats.records import Entity, Link, Span


class NameMatch(msgspec.Struct, frozen=True):
    """The first occurrence of a name in code points.

    `times` is the number of occurrences.
    """

    start: int
    end: int
    times: int
    loose: bool = False


def find_name(text: str, name: str, *, loose: bool = False) -> NameMatch | None:
    """Return the first occurrence of the name as whole tokens.

    Tokens are separated by single spaces. With `loose`, a name without such an occurrence is searched as
    tokens in any letter case, then as any part of the text, then as any part in any letter case.
    """
    if not name:
        return None
    exact = _match_tokens(text, name)
    if exact or not loose:
        return exact
    # Lower-casing letter by letter keeps every offset.
    low_text, low_name = _lower(text), _lower(name)
    match = _match_tokens(low_text, low_name) or _match_part(text, name) or _match_part(low_text, low_name)
    return match and msgspec.structs.replace(match, loose=True)


def locate(
    text: str,
    name: str,
    *,
    entity_id: str | None,
    line: int,
    field: str,
    problems: Problems,
    loose: bool = False,
) -> Entity | None:
    """Return the entity at the first occurrence of a name.

    A missing, repeated or loose match is reported.
    """
    match = find_name(text, name, loose=loose)
    if match is None:
        problems.add(
            "entity_not_in_text", line=line, field=field, value=name, expected="whole tokens of the text"
        )
        return None
    if match.times > 1:
        problems.add("ambiguous_entity", line=line, field=field, value=f"{name} ({match.times} times)")
    if match.loose:
        problems.add("loose_entity", line=line, field=field, value=name)
    return Entity(entity_id, name, match.start, match.end)


def _match_tokens(text: str, name: str) -> NameMatch | None:
    padded, wanted = f" {text} ", f" {name} "
    first = padded.find(wanted)
    if first < 0:
        return None
    times, at = 0, first
    while at >= 0:
        times, at = times + 1, padded.find(wanted, at + 1)
    return NameMatch(first, first + len(name), times)


def _match_part(text: str, name: str) -> NameMatch | None:
    first = text.find(name)
    return None if first < 0 else NameMatch(first, first + len(name), text.count(name))


def _lower(text: str) -> str:
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def checked_spans(
    spans: list[Span], links: list[Link], *, length: int | None, line: int, problems: Problems
) -> tuple[tuple[Span, ...], tuple[Link, ...]] | None:
    """Return spans and relations without duplicates, or None after a report."""
    if len(spans) > MOST_SPANS:
        given, expected = f"{len(spans):,}", f"at most {MOST_SPANS:,} in a line"
        problems.add("too_many_in_line", line=line, field="spans", value=given, expected=expected)
        return None
    before = problems.total
    for at, (start, end, label) in enumerate(spans):
        field = f"spans[{at}]"
        check_bounds(start, end, length=length, line=line, field=field, problems=problems)
        if not label:
            problems.add("wrong_type", line=line, field=field, expected="a label that is not empty")
    for at, (head, _, tail) in enumerate(links):
        if not (0 <= head < len(spans) and 0 <= tail < len(spans)):
            expected = f"span numbers 0–{len(spans) - 1}" if spans else "at least one span"
            field = f"relations[{at}]"
            problems.add("bad_reference", line=line, field=field, value=f"{head}, {tail}", expected=expected)
    if problems.total > before:
        return None
    read = _without_repeats(spans, links, line=line, problems=problems)
    if (covering := most_covering(read[0])) > MOST_COVERING:
        given, expected = f"{covering:,} over one character", f"at most {MOST_COVERING}"
        problems.add("too_many_in_line", line=line, field="spans", value=given, expected=expected)
        return None
    return read


def most_covering(spans: Collection[Sequence[Any]]) -> int:
    """Return how many spans cover the same character at most."""
    starts, ends = sorted(start for start, _, _ in spans), sorted(end for _, end, _ in spans)
    most = ended = 0
    for begun, start in enumerate(starts, 1):
        while ends[ended] <= start:
            ended += 1
        most = max(most, begun - ended)
    return most


def _without_repeats(
    spans: list[Span], links: list[Link], *, line: int, problems: Problems
) -> tuple[tuple[Span, ...], tuple[Link, ...]]:
    """Return each span and relation once; repeats are counted."""
    numbers: dict[Span, int] = {}
    for span in spans:
        numbers.setdefault(span, len(numbers))
    if len(numbers) < len(spans):
        for (start, end, label), times in Counter(spans).items():
            if times > 1:
                value = f"[{start}, {end}) {label}"
                problems.add("duplicate_span", line=line, value=value, times=times - 1)
    new = [numbers[span] for span in spans]
    renumbered = Counter((new[head], name, new[tail]) for head, name, tail in links)
    for (head, name, tail), times in renumbered.items():
        if times > 1:
            value = f"{head} {name} {tail}"
            problems.add("duplicate_relation", line=line, value=value, times=times - 1)
    return tuple(numbers), tuple(renumbered)


def check_bounds(
    start: int, end: int, *, length: int | None, line: int | None, field: str, problems: Problems
) -> bool:
    """Return whether a half-open span is valid; report otherwise."""
    if 0 <= start < end and (length is None or end <= length):
        return True
    limit = "" if length is None else f" ≤ {length:,}"
    expected = f"0 ≤ start < end{limit}"
    problems.add("bad_span", line=line, field=field, value=f"[{start}, {end})", expected=expected)
    return False
