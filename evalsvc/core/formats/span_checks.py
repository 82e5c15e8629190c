"""Spans of one document: bounds, duplicates, and the relations that point at them."""

from __future__ import annotations

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Link, Span


def checked_spans(
    spans: list[Span], links: list[Link], *, length: int | None, line: int, problems: Problems
) -> tuple[tuple[Span, ...], tuple[Link, ...]] | None:
    """Refuse spans outside the text and dangling relations; merge spans given twice and say so."""
    before = problems.total
    for at, span in enumerate(spans):
        check_bounds(span[0], span[1], length=length, line=line, field=f"spans[{at}]", problems=problems)
        if not span[2]:
            problems.add("wrong_type", line=line, field=f"spans[{at}]", expected="a label that is not empty")
    for at, (head, _, tail) in enumerate(links):
        if not (0 <= head < len(spans) and 0 <= tail < len(spans)):
            _report_dangling(at, head, tail, spans=len(spans), line=line, problems=problems)
    return None if problems.total > before else _merged(spans, links, line=line, problems=problems)


def check_bounds(
    start: int, end: int, *, length: int | None, line: int | None, field: str, problems: Problems
) -> bool:
    """Spans are half-open, not empty, and inside the text."""
    if 0 <= start < end and (length is None or end <= length):
        return True
    limit = "" if length is None else f" ≤ {length:,}"
    problems.add(
        "bad_span", line=line, field=field, found=f"[{start}, {end})", expected=f"0 ≤ start < end{limit}"
    )
    return False


def _report_dangling(at: int, head: int, tail: int, *, spans: int, line: int, problems: Problems) -> None:
    expected = f"span numbers 0–{spans - 1}" if spans else "at least one span"
    problems.add(
        "bad_reference", line=line, field=f"relations[{at}]", found=f"{head}, {tail}", expected=expected
    )


def _merged(
    spans: list[Span], links: list[Link], *, line: int, problems: Problems
) -> tuple[tuple[Span, ...], tuple[Link, ...]]:
    places: dict[Span, int] = {}
    for span in spans:
        if span in places:
            problems.add("duplicate_span", line=line, found=f"[{span[0]}, {span[1]}) {span[2]}")
        places.setdefault(span, len(places))
    new = [places[span] for span in spans]
    moved = dict.fromkeys((new[head], name, new[tail]) for head, name, tail in links)
    return tuple(places), tuple(moved)
