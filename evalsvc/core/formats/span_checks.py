"""Checks of spans and of the relations between them."""

from __future__ import annotations

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Link, Span


def checked_spans(
    spans: list[Span], links: list[Link], *, length: int | None, line: int, problems: Problems
) -> tuple[tuple[Span, ...], tuple[Link, ...]] | None:
    """Return spans and relations without duplicates, or None after reporting invalid ones."""
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
    numbers: dict[Span, int] = {}
    for span in spans:
        if span in numbers:
            problems.add("duplicate_span", line=line, value=f"[{span[0]}, {span[1]}) {span[2]}")
        numbers.setdefault(span, len(numbers))
    new = [numbers[span] for span in spans]
    renumbered = dict.fromkeys((new[head], name, new[tail]) for head, name, tail in links)
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
