"""Tag schemes: IOB1, IOB2, BIOES and BILOU."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, Span

Scheme = Literal["IOB1", "IOB2", "BIOES", "BILOU"]
Repair = Literal["conlleval", "strict-iob2", "strict"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
REPAIRS: tuple[Repair, ...] = get_args(Repair)
ANY_SCHEME = f"one of {', '.join(SCHEMES)}"
PREFIXES: dict[Scheme, str] = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU"}
ANY_TAG = re.compile(r"O|[BIESLU]-\S+")
BEGINNINGS: dict[Scheme, str] = {"IOB1": "BI", "IOB2": "B", "BIOES": "BS", "BILOU": "BU"}
ENDS: dict[Scheme, str] = {"IOB1": "BI", "IOB2": "BI", "BIOES": "ES", "BILOU": "LU"}
REPAIR_CODES: dict[Repair, str] = {
    "conlleval": "repaired_tag",
    "strict-iob2": "dropped_tag",
    "strict": "dropped_tag",
}
AS_BIOES = {"L": "E", "U": "S"}


class BadTag(ValueError):
    """A tag outside its scheme, and its position."""

    def __init__(self, tag: str, at: int) -> None:
        self.tag, self.at = tag, at
        super().__init__(f"{tag!r} at {at}")


def expected_tags(scheme: Scheme) -> str:
    """List the tags of a scheme for a message."""
    return f"O or {', '.join(prefix + '-LABEL' for prefix in PREFIXES[scheme])}"


def first_bad_tag(tags: Sequence[str], scheme: Scheme) -> int | None:
    """Return the position of the first tag outside the scheme, or None."""
    known = PREFIXES[scheme]
    for at, tag in enumerate(tags):
        if tag != "O" and not (len(tag) > 2 and tag[1] == "-" and tag[0] in known):
            return at
    return None


def decode_tags(
    tags: Sequence[str], scheme: Scheme, *, repair: Repair = "conlleval"
) -> tuple[list[Span], list[Span]]:
    """Return the spans of tags, and those that break the scheme.

    Such a span begins with an inner or last tag (I, E, L) that continues no entity of its own label, or, in
    BIOES and BILOU, ends without a last one. It is an entity (`conlleval`) or is dropped (`strict`, as by
    seqeval). `strict-iob2` drops for its beginning only. In IOB1 an I is the regular opening.
    """
    at = first_bad_tag(tags, scheme)
    if at is not None:
        raise BadTag(tags[at], at)
    spans = _runs(tags)
    broken = [span for span in spans if breaks_scheme(tags[span[0]], tags[span[1] - 1], scheme, repair)]
    if broken and repair != "conlleval":
        dropped = set(broken)
        spans = [span for span in spans if span not in dropped]
    return spans, broken


def breaks_scheme(first: str, last: str, scheme: Scheme, repair: Repair) -> bool:
    """Return whether an entity with these tags lacks its beginning or end."""
    without_end = repair != "strict-iob2" and last[0] not in ENDS[scheme]
    return first[0] not in BEGINNINGS[scheme] or without_end


def encode_tags(spans: Iterable[Span], length: int, scheme: Scheme) -> list[str]:
    """Return the tags of spans that do not overlap."""
    tags, last = ["O"] * length, {"BIOES": "E", "BILOU": "L"}.get(scheme, "I")
    single = {"BIOES": "S", "BILOU": "U"}.get(scheme, "B")
    before = (-1, "")
    for start, end, label in sorted(spans):
        touches = before == (start, label)
        prefixes = ["B", *"I" * (end - start - 2), last] if end - start > 1 else [single]
        if scheme == "IOB1" and not touches:
            prefixes[0] = "I"  # B only after an entity of the same label
        tags[start:end] = [f"{prefix}-{label}" for prefix in prefixes]
        before = (end, label)
    return tags


def _runs(tags: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    start, label = -1, ""
    for at, tag in enumerate([*tags, "O"]):
        prefix, name = AS_BIOES.get(tag[0], tag[0]), tag[2:]
        continues = start >= 0 and prefix in "IE" and name == label
        if start >= 0 and not continues:
            spans.append((start, at, label))
            start = -1
        if not continues and prefix in "BSIE":
            start, label = at, name
        if start >= 0 and prefix in "ES":
            spans.append((start, at + 1, label))
            start = -1
    return spans


def scheme_hint(sentences: Iterable[Sequence[str]]) -> str:
    """Describe which scheme the tags of some sentences seem to have."""
    prefixes: set[str] = set()
    orphans = begun = 0
    for tags in sentences:
        prefixes |= {tag[0] for tag in tags if ANY_TAG.fullmatch(tag)} - {"O"}
        if prefixes <= {"B", "I"} and first_bad_tag(tags, "IOB2") is None:
            orphans += len(decode_tags(tags, "IOB2")[1])
            begun += sum(tag[0] == "B" for tag in tags)
    if not prefixes:
        return "No tag of an entity was found in its first lines."
    if prefixes & {"L", "U"}:
        scheme, reason = "BILOU", "it has L- or U- tags"
    elif prefixes & {"E", "S"}:
        scheme, reason = "BIOES", "it has E- or S- tags"
    elif orphans > begun:
        scheme, reason = "IOB1", f"of its first entities, {orphans:,} begin with I-, {begun:,} with B-"
    else:
        scheme, reason = "IOB2", f"of its first entities, {begun:,} begin with B-, {orphans:,} with I-"
    return f"The file looks like {scheme}: {reason}."


def checked_tags(
    tags: Sequence[str], scheme: Scheme | None, *, lines: Sequence[int], repair: Repair, problems: Problems
) -> list[Span] | None:
    """Return the spans of tags, or report a tag outside the scheme."""
    if scheme is None:
        hint = scheme_hint([tags])
        problems.stop("no_scheme", field="scheme", expected=ANY_SCHEME, hint=hint)
    at = first_bad_tag(tags, scheme)
    if at is not None:
        expected = f"{expected_tags(scheme)} ({scheme})"
        problems.add("bad_tag", line=lines[0], field=f"tags[{at}]", value=tags[at], expected=expected)
        return None
    spans, broken = decode_tags(tags, scheme, repair=repair)
    report_broken(broken, tags, scheme=scheme, lines=lines, repair=repair, problems=problems)
    return spans


def report_broken(
    broken: Sequence[Span],
    tags: Sequence[str],
    *,
    scheme: Scheme,
    lines: Sequence[int],
    repair: Repair,
    problems: Problems,
) -> None:
    """Warn of repaired or dropped entities at the tag that caused it.

    A single line has all tags.
    """
    for start, end, label in broken:
        at, wanted = (
            (start, BEGINNINGS[scheme])
            if tags[start][0] not in BEGINNINGS[scheme]
            else (end - 1, ENDS[scheme])
        )
        line, field = (lines[at], "tag") if len(lines) > 1 else (lines[0], f"tags[{at}]")
        expected = f"{wanted[0]}-{label}"
        problems.add(REPAIR_CODES[repair], line=line, field=field, value=tags[at], expected=expected)


def mostly_kept(
    items: Iterator[tuple[int, ItemLine]], problems: Problems, *, scheme: Scheme | None, repair: Repair
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item); reject a file of which most entities were dropped."""
    before, kept = problems.warnings["dropped_tag"], 0
    for line, item in items:
        kept += len(item.spans or ())
        yield line, item
    dropped = problems.warnings["dropped_tag"] - before
    if dropped > kept:
        other = "IOB1" if scheme == "IOB2" else "IOB2"
        problems.add(
            "other_scheme",
            field="scheme",
            value=f"{dropped:,} entities dropped, {kept:,} kept, as {scheme} with {repair}",
            expected=f"another scheme, such as {other}, or the repair conlleval",
        )


def share_tagged(lines: Sequence[str]) -> float:
    """Return the share of lines whose last column is a tag."""
    columns = [line.split() for line in lines]
    tagged = sum(len(fields) > 1 and ANY_TAG.fullmatch(fields[-1]) is not None for fields in columns)
    return tagged / len(columns) if columns else 0
