"""Where a name stands in a text: first occurrence as tokens, with an optional looser search."""

from __future__ import annotations

import msgspec

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity


class Found(msgspec.Struct, frozen=True):
    """Code points of the first occurrence; how many there are; whether it had to be searched for loosely."""

    start: int
    end: int
    times: int
    loose: bool = False


def find_name(text: str, name: str, *, loose: bool = False) -> Found | None:
    """Find the first occurrence equal to the name as tokens (between single spaces).

    With `loose`, a name that is no run of tokens is searched as tokens in any letter case, then as any part
    of the text, then as any part in any letter case.
    """
    if not name:
        return None
    exact = _as_tokens(text, name)
    if exact or not loose:
        return exact
    # lower-casing letter by letter keeps every offset
    low, wanted = _lower(text), _lower(name)
    anywhere = _as_tokens(low, wanted) or _as_part(text, name) or _as_part(low, wanted)
    return anywhere and msgspec.structs.replace(anywhere, loose=True)


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
    """Give a name its position, and report where it is missing, ambiguous or only loosely there."""
    found = find_name(text, name, loose=loose)
    if found is None:
        problems.add(
            "entity_not_in_text", line=line, field=field, found=name, expected="a run of whole tokens"
        )
        return None
    if found.times > 1:
        problems.add("ambiguous_entity", line=line, field=field, found=f"{name} ({found.times} times)")
    if found.loose:
        problems.add("loose_entity", line=line, field=field, found=name)
    return Entity(entity_id, name, found.start, found.end)


def _as_tokens(text: str, name: str) -> Found | None:
    padded, wanted = f" {text} ", f" {name} "
    first = padded.find(wanted)
    if first < 0:
        return None
    times, at = 0, first
    while at >= 0:
        times, at = times + 1, padded.find(wanted, at + 1)
    return Found(first, first + len(name), times)


def _as_part(text: str, name: str) -> Found | None:
    first = text.find(name)
    return None if first < 0 else Found(first, first + len(name), text.count(name))


def _lower(text: str) -> str:
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)
