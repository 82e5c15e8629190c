"""One door per kind of record: items, predictions and votes from any format that holds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from evalsvc.core.formats import (
    conll,
    crowdtruth,
    jsonl_items,
    jsonl_predictions,
    jsonl_votes,
    nyt10,
    semeval,
)
from evalsvc.core.formats.crowdtruth import Empty
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, PredictionLine, VoteLine
from evalsvc.core.formats.registry import FORMATS, ITEM_FORMATS, PREDICTION_FORMATS, VOTE_FORMATS
from evalsvc.core.formats.tag_schemes import Repair, Scheme
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source


def open_items(
    source: Source,
    *,
    format: str,
    problems: Problems,
    limits: Limits = LIMITS,
    scheme: Scheme | None = None,
    repair: Repair = "conlleval",
    column: int = -1,
    require_text: bool = True,
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) of any item format; CoNLL needs its tag scheme."""
    _exemplify(format, problems)
    if format in ("jsonl-items", "opennre-gold"):
        return jsonl_items.read_items(source, problems=problems, limits=limits, require_text=require_text)
    if format == "conll":
        return conll.read_conll_items(
            source,
            scheme=_stated(scheme, problems),
            problems=problems,
            repair=repair,
            column=column,
            limits=limits,
        )
    readers = {
        "nyt10": nyt10.read_nyt10,
        "semeval-test": semeval.read_sentences,
        "semeval-answers": semeval.read_key,
        "crowdtruth-units": crowdtruth.read_units,
    }
    if format not in readers:
        _refuse(format, ITEM_FORMATS, problems)
    return readers[format](source, problems=problems, limits=limits)


def open_predictions(
    source: Source,
    *,
    format: str,
    problems: Problems,
    limits: Limits = LIMITS,
    scheme: Scheme | None = None,
    column: int = -1,
) -> Iterator[tuple[int, PredictionLine]]:
    """Yield (line, prediction) of any prediction format; CoNLL needs its tag scheme."""
    if format in ("jsonl-predictions", "opennre-results"):
        return jsonl_predictions.read_predictions(source, problems=problems, limits=limits)
    if format == "semeval-answers":
        return semeval.read_answers(source, problems=problems, limits=limits)
    if format == "conll":
        stated = _stated(scheme, problems)
        return conll.read_conll_predictions(
            source, scheme=stated, problems=problems, column=column, limits=limits
        )
    return _refuse(format, PREDICTION_FORMATS, problems)


def open_votes(
    source: Source, *, format: str, problems: Problems, limits: Limits = LIMITS, empty: Empty = "no-vote"
) -> Iterator[tuple[int, VoteLine]]:
    """Yield (line, vote) of any vote format; `empty` says what an empty cell of a judgment table means."""
    _exemplify(format, problems)
    if format == "jsonl-votes":
        return jsonl_votes.read_votes(source, problems=problems, limits=limits)
    if format == "crowdtruth-judgments":
        return crowdtruth.read_judgments(source, problems=problems, empty=empty, limits=limits)
    return _refuse(format, VOTE_FORMATS, problems)


def _exemplify(format: str, problems: Problems) -> None:
    """What is wrong with a line is shown beside a right line of the format."""
    if format in FORMATS:
        problems.exemplified_by(lambda code: FORMATS[format].example.splitlines()[0])


def _stated(scheme: Scheme | None, problems: Problems) -> Scheme:
    if scheme is None:
        problems.stop("no_scheme", field="scheme", expected="one of IOB1, IOB2, BIOES and BILOU")
    return scheme


def _refuse(format: str, known: tuple[str, ...], problems: Problems) -> NoReturn:
    problems.stop("unknown_format", field="format", found=format, expected=f"one of: {', '.join(known)}")
