"""The claims of a prediction file, held against its gold, as columns."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalsvc.core.formats.label_list import read_label_lines
from evalsvc.core.formats.prediction_check import FORM_OF, Claim, Form, PredictionCheck
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_predictions
from evalsvc.core.formats.records import LabelPrediction, Link, PredictionLine, TagsPrediction
from workers.cli.arguments import Options
from workers.scoring.gold import Gold, Pair, format_of

FORMS: dict[str, tuple[Form, ...]] = {
    "classification": ("label", "labels"),
    "sentences": ("label", "labels", "scores"),
    "bags": ("bag", "scores", "labels", "label"),
    "entities": ("spans", "tags"),
}
# In these forms silence is an answer: an item without a line has no label, and costs recall.
SILENT: tuple[Form, ...] = ("labels", "scores", "bag")
WITHOUT_IDS = ("conll", "labels")


@dataclass(slots=True)
class Answers:
    """One row for each thing claimed: the item (or bag) and the label, with a score or a span."""

    form: str = ""
    row: Any = field(default_factory=lambda: array("q"))
    label: Any = field(default_factory=lambda: array("q"))
    score: Any = field(default_factory=lambda: array("d"))
    start: Any = field(default_factory=lambda: array("q"))
    end: Any = field(default_factory=lambda: array("q"))
    links: dict[int, tuple[Link, ...]] = field(default_factory=dict)
    dropped_negative: int = 0


def read_answers(path: Path, gold: Gold, options: Options, problems: Problems) -> Answers:
    """Read and check a prediction file; raises `FileRejected` when it does not fit."""
    format = format_of(path, options, problems)
    check = PredictionCheck(
        ids=gold.index,
        labels=gold.inventory,
        negative=options.negative if options.task != "entities" else None,
        pairs=gold.bags,
        tokens=_tokens(gold),
        lengths=_lengths(gold),
        relations=gold.relations,
        scheme=options.scheme,
        repair=options.repair,
        forms=FORMS[options.task],
        missing=options.missing,
        problems=problems,
    )
    lines = _lines(path, format, options, problems)
    if format in WITHOUT_IDS:
        lines = _in_order(lines, list(gold.index))
    answers = _collected(check, lines, gold)
    problems.raise_if_any()
    return answers


def _tokens(gold: Gold) -> dict[str, tuple[str, ...]] | None:
    if not gold.tokens or None in gold.tokens:
        return None
    return {name: tokens for name, tokens in zip(gold.index, gold.tokens, strict=True) if tokens is not None}


def _lengths(gold: Gold) -> dict[str, int] | None:
    texts = zip(gold.index, gold.texts, strict=False)
    return {name: len(text) for name, text in texts if text is not None} or None


def _lines(
    path: Path, format: str, options: Options, problems: Problems
) -> Iterator[tuple[int, PredictionLine]]:
    if format == "labels":
        return read_label_lines(path, problems=problems)
    return open_predictions(
        path, format=format, problems=problems, scheme=options.scheme, column=options.column
    )


def _in_order(
    lines: Iterator[tuple[int, PredictionLine]], names: list[str]
) -> Iterator[tuple[int, PredictionLine]]:
    """A file without ids: the n-th line or sentence answers the n-th item."""
    for line, given in lines:
        if isinstance(given, LabelPrediction | TagsPrediction):
            at = int(given.id) - 1
            name = names[at] if at < len(names) else f"number {given.id} of {len(names):,}"
            yield line, msgspec.structs.replace(given, id=name)


def _collected(
    check: PredictionCheck,
    lines: Iterable[tuple[int, PredictionLine]],
    gold: Gold,
) -> Answers:
    answers = Answers()
    code = {name: at for at, name in enumerate(gold.inventory)}
    code |= {check.negative: len(code)} if check.negative is not None else {}
    for claim in check.claims(_silence(lines, check)):
        if check.form == "bag":
            _add_triple(answers, claim, gold.bags, code)
        else:
            _add(answers, check.form, claim, gold.index[claim[0]], code)
    answers.form, answers.dropped_negative = check.form or "", check.dropped_negative
    return answers


def _silence(
    lines: Iterable[tuple[int, PredictionLine]], check: PredictionCheck
) -> Iterator[tuple[int, PredictionLine]]:
    """Let silence be an answer where the form of the file has it so."""
    for line, given in lines:
        if FORM_OF[type(given)] in SILENT:
            check.missing = "wrong"
        yield line, given


def _add_triple(answers: Answers, claim: Claim, bags: dict[Pair, int], code: dict[str, int]) -> None:
    head, tail, relation, score = claim
    answers.row.append(bags[head, tail])
    answers.label.append(code[relation])
    answers.score.append(score)


def _add(answers: Answers, form: Form | None, claim: Claim, row: int, code: dict[str, int]) -> None:
    if form == "label":
        answers.row.append(row)
        answers.label.append(code[claim[1]])
    elif form in ("labels", "scores"):
        answers.row.extend([row] * len(claim[1]))
        answers.label.extend([code[name] for name in claim[1]])
        if form == "scores":
            answers.score.extend(claim[1].values())
    else:
        for start, end, name in claim[1]:
            answers.row.append(row)
            answers.start.append(start)
            answers.end.append(end)
            answers.label.append(code[name])
        answers.links[row] = claim[2]
