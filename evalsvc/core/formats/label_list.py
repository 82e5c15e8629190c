"""Label lists.

A list has one label per line, or OpenNRE's relation numbers as JSON or as `name number`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, LabelPrediction
from evalsvc.core.formats.registry import Format, Reader, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines

if TYPE_CHECKING:
    from evalsvc.core.formats.prediction_check import PredictionCheck

NUMBERED = re.compile(r"(\S+)[ \t]+(\d{1,9})")
LONGEST_LABEL, MOST_WORDS, MAX_LABELS = 200, 8, 2_000


def read_labels(source: Source, *, problems: Problems) -> list[str]:
    """Return the labels, in the order of their numbers if numbered."""
    lines = [(line, text.strip()) for line, text in read_lines(source, problems=problems) if text.strip()]
    if lines[0][1].startswith("{"):
        return _from_json("\n".join(text for _, text in lines), problems)
    return _once(_without_numbers(lines), problems)


def _without_numbers(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    body = lines[1:] if len(lines) > 1 and lines[0][1] == str(len(lines) - 1) else lines
    matches = [NUMBERED.fullmatch(text) for _, text in body]
    numbered = [(int(m[2]), line, m[1]) for (line, _), m in zip(body, matches, strict=True) if m]
    if len(numbered) < len(body) or sorted(n for n, _, _ in numbered) != list(range(len(body))):
        return lines
    return [(line, name) for _, line, name in sorted(numbered)]


def _from_json(text: str, problems: Problems) -> list[str]:
    try:
        numbers = msgspec.json.decode(text, type=dict[str, int])
    except (msgspec.DecodeError, RecursionError) as error:
        problems.stop("not_json", value=text, expected=f"an object of relation: number ({error})")
    names = [name for name, _ in json.loads(text, object_pairs_hook=list, parse_int=str)]  # repeated ones too
    for name, after in pairwise(sorted(numbers, key=numbers.__getitem__)):
        if numbers[name] == numbers[after]:
            hint = f"{name} has it, too."
            problems.add("wrong_type", line=1, value=after, expected="a number of its own", hint=hint)
    return _once([(1, name) for name in sorted(names, key=numbers.__getitem__)], problems)


def _once(lines: list[tuple[int, str]], problems: Problems) -> list[str]:
    first: dict[str, int] = {}
    for line, label in lines:
        if not label or len(label) > LONGEST_LABEL:
            problems.add("wrong_type", line=line, value=label, expected=f"1–{LONGEST_LABEL} characters")
        elif label in first:
            hint = f"It is already in line {first[label]:,}."
            problems.add("duplicate_label", line=line, value=label, hint=hint)
        first.setdefault(label, line)
    if len(first) > MAX_LABELS:
        problems.stop("too_many_labels", value=f"{len(first):,}", expected=f"at most {MAX_LABELS:,}")
    return list(first)


def read_label_lines(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, LabelPrediction]]:
    """Yield (line, prediction) of a file with one label per line.

    The id is the line number. A blank line is an item without an answer.
    """
    for line, text in read_lines(source, problems=problems, limits=limits):
        label = text.strip()
        if len(label) > LONGEST_LABEL:
            problems.add("wrong_type", line=line, value=label, expected=f"1–{LONGEST_LABEL} characters")
        elif label:
            yield line, LabelPrediction(str(line), label)


def require_every_line(format: str, check: PredictionCheck) -> None:
    """Report a file of labels with fewer lines than there are items, even if items may lack an answer.

    Where a line is left out, all labels after it are those of other items.
    """
    problems, items = check.problems, len(check.ids)
    if format == FORMAT.key and check.may_lack_lines and problems.lines_read < items:
        expected = f"{items:,}, one for each item; a blank line is an item without an answer"
        hint = "Labels count by their place: without a line, all after it would be about other items."
        problems.add("missing_id", value=f"{problems.lines_read:,} lines", expected=expected, hint=hint)


def read_label_items(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of gold with one label per line."""
    for number, (line, answer) in enumerate(read_label_lines(source, problems=problems, limits=limits), 1):
        if line != number and not problems.total:
            problems.stop("wrong_columns", line=number, expected="a label in every line of the gold")
        yield line, ItemLine(answer.id, None, relations=(answer.label,))


def _is_csv(lines: Sequence[str]) -> bool:
    """Return true if lines are ids with values, not labels."""
    firsts = [line.partition(",")[0] for line in lines if "," in line]
    distinct = len(set(firsts)) == len(lines) > 1
    return distinct and not any(mark in first for first in firsts for mark in "( ")


FORMAT = register(
    Format(
        "labels",
        "Labels",
        "One label per line: a label inventory, or gold or predicted labels in the order of the items.",
        "born_in",
        roles=("gold", "predictions", "labels"),
        rank=100,
        recognise=lambda sample: (
            not sample.keys
            and not sample.lines[0].lstrip().startswith("[")
            and not _is_csv(sample.lines)
            and all("\t" not in line and len(line) <= LONGEST_LABEL for line in sample.lines)
            and all(len(line.split()) <= MOST_WORDS for line in sample.lines)
        ),
        readers={"items": Reader(read_label_items), "predictions": Reader(read_label_lines)},
        has_ids=False,
        catch_all=True,
        task="relations",
        example_line=lambda id, label, tag: label,
    )
)
