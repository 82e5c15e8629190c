"""Tags to spans and back: IOB1, IOB2, BIOES and BILOU, stated and never guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from evalsvc.core.formats.records import Span

Scheme = Literal["IOB1", "IOB2", "BIOES", "BILOU"]
Repair = Literal["conlleval", "strict-iob2"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
REPAIRS: tuple[Repair, ...] = get_args(Repair)
PREFIXES: dict[Scheme, str] = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU"}
AS_BIOES = {"L": "E", "U": "S"}


class BadTag(ValueError):
    """A tag outside its scheme, with its place in the sequence."""

    def __init__(self, tag: str, at: int) -> None:
        self.tag, self.at = tag, at
        super().__init__(f"{tag!r} at {at}")


def expected_tags(scheme: Scheme) -> str:
    """Name the tags of a scheme in words."""
    return f"O or {', '.join(prefix + '-LABEL' for prefix in PREFIXES[scheme])}"


def first_bad_tag(tags: Sequence[str], scheme: Scheme) -> int | None:
    """Find the first tag that the scheme does not know."""
    known = PREFIXES[scheme]
    for at, tag in enumerate(tags):
        if tag != "O" and not (len(tag) > 2 and tag[1] == "-" and tag[0] in known):
            return at
    return None


def tags_to_spans(tags: Sequence[str], scheme: Scheme, *, repair: Repair = "conlleval") -> list[Span]:
    """Read spans off a sequence of tags.

    An inner or last tag (I, E, L) that continues no entity of its own label opens one (`conlleval`) or is
    dropped (`strict-iob2`; in IOB1 such an I is the regular opening and stays).
    """
    at = first_bad_tag(tags, scheme)
    if at is not None:
        raise BadTag(tags[at], at)
    opens = repair == "conlleval" or scheme == "IOB1"
    spans: list[Span] = []
    start, label = -1, ""
    for at, tag in enumerate([*tags, "O"]):
        prefix, name = _prefix(tag), tag[2:]
        continues = start >= 0 and prefix in "IE" and name == label
        if start >= 0 and not continues:
            spans.append((start, at, label))
            start = -1
        if not continues and (prefix in "BS" or (prefix in "IE" and opens)):
            start, label = at, name
        if start >= 0 and prefix in "ES":
            spans.append((start, at + 1, label))
            start = -1
    return spans


def _prefix(tag: str) -> str:
    return AS_BIOES.get(tag[0], tag[0])


def spans_to_tags(spans: Sequence[Span], length: int, scheme: Scheme) -> list[str]:
    """Write spans as tags; spans that overlap or leave the text have none (ValueError)."""
    tags = ["O"] * length
    last_end, last_label = -1, ""
    for start, end, label in sorted(spans):
        if start < max(last_end, 0) or not start < end <= length:
            raise ValueError(f"span [{start}, {end}) overlaps another or leaves the text")
        touches = start == last_end and label == last_label
        tags[start:end] = [f"{letter}-{label}" for letter in _letters(end - start, scheme, touches=touches)]
        last_end, last_label = end, label
    return tags


def _letters(length: int, scheme: Scheme, *, touches: bool) -> str:
    if scheme == "IOB1":
        return ("B" if touches else "I") + "I" * (length - 1)
    if scheme == "IOB2":
        return "B" + "I" * (length - 1)
    single, last = ("S", "E") if scheme == "BIOES" else ("U", "L")
    return single if length == 1 else "B" + "I" * (length - 2) + last
