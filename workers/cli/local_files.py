"""The command line's sources: gold and prediction files of any format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from evalsvc.core.formats import conll, jsonl_items, label_list, npy
from evalsvc.core.formats.prediction_check import SILENT_FORMS, Form, PredictionCheck
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import (
    BagPrediction,
    LabelPrediction,
    PredictionLine,
    TagsPrediction,
)
from evalsvc.core.formats.registry import formats, open_gold, open_items, open_predictions, recognise_source
from evalsvc.core.jobs.exceptions import InputFault
from workers.cli import conll_columns
from workers.cli.arguments import Options, naming
from workers.metrics.report import Report
from workers.scoring import column_reader
from workers.scoring.column_reader import uncollected
from workers.scoring.gold import Gold, NumberedItems, relation_columns
from workers.scoring.predictions import Collector, Expected, Predictions, dense_predictions
from workers.scoring.scorer import ScoringCase, ScoringOptions, report_of

UNITS = {"classification": "sentence", "sentences": "sentence", "bags": "bag", "entities": "document"}
FORMS: dict[str, tuple[Form, ...]] = {
    "classification": ("label", "labels"),
    "sentences": ("label", "labels", "scores"),
    "bags": ("bag", "scores", "labels", "label"),
    "entities": ("spans", "tags"),
}
LEFT_OUT = "Left out: {:,} predictions about items that the gold does not have."
BETA = "Averages and the F of their classes are F_β with β = {:g}; other figures are F1."


@dataclass(frozen=True)
class LocalGold:
    """A gold file with the options it is scored under."""

    gold: Gold
    options: Options
    scoring: ScoringOptions

    def case(self, path: Path) -> ScoringCase:
        """Read a prediction file against this gold, or reject it by name."""
        with naming(path), uncollected():
            case = ScoringCase.of(self.gold, _read_predictions(path, self), self.scoring)
        if self.scoring.single and case.form == "label":
            _require_single_labels(case)
        return case


def score(gold: Path, predictions: Path, options: Options) -> Report:
    """Score one prediction file, regular CoNLL files by columns."""
    column, report, left_out = gold_column(gold, predictions, options), None, 0
    if options.task == "entities":
        report = conll_columns.score(gold, predictions, options, gold_column=column)
    if report is None:
        case = read_gold(gold, options, column=column).case(predictions)
        report, left_out = report_of(case), case.placed.left_out
    notes = [LEFT_OUT.format(left_out)] if left_out else []
    if options.beta != 1 and any(key.endswith("weighted_f1") for key in report.values):
        notes.append(BETA.format(options.beta))
    return replace(report, notes=(*report.notes, *notes))


def gold_column(gold: Path, predictions: Path, options: Options) -> int:
    """Return the gold column: the last, or last but one when shared."""
    if options.gold_column is not None:
        return options.gold_column
    return -2 if gold.samefile(predictions) and conll_columns.width(gold) > 2 else -1


# ---- gold ----------------------------------------------------------------------------------------
def read_gold(path: Path, options: Options, *, column: int) -> LocalGold:
    """Read gold by columns where it is regular, else line by line."""
    with naming(path), uncollected():
        problems = Problems()
        format, unit = _format_of(path, options, problems), UNITS[options.task]
        gold = None
        if format == jsonl_items.FORMAT.key and unit != "document":
            gold = relation_columns(path, unit, negatives=(options.negative,))
        if gold is None:
            gold = _gold_by_line(_items(path, format, options, problems, column), format, options, problems)
    return LocalGold(gold, options, _scoring_options(gold, options))


def _require_single_labels(case: ScoringCase) -> None:
    """Reject gold for classification with several labels, or none, per item."""
    labels, ids = case.labels_per_item, list(case.gold.index)
    if (labels > 1).any():
        name = ids[int(np.argmax(labels > 1))]
        reason = f"Item {name} has {labels.max()} labels. Use --task sentences, which takes label sets."
        raise InputFault("several_labels", reason)
    if case.options.negative is None and not labels.all():
        reason = f"Item {ids[int(np.argmin(labels))]} has no label. Name the class of such items: --negative."
        raise InputFault("no_label", reason)


def _format_of(path: Path, options: Options, problems: Problems) -> str:
    """Recognise the format; entities have columns, never a list of labels."""
    format = recognise_source(path, problems=problems)
    is_guess = formats()[format].catch_all and options.task == "entities"
    return conll.FORMAT.key if is_guess else format


def _gold_by_line(items: NumberedItems, format: str, options: Options, problems: Problems) -> Gold:
    gold, negatives, repeats = Gold(), (options.negative,), formats()[format].repeats_items
    for line, item in items:
        if format == label_list.FORMAT.key and item.id != str(len(gold) + 1):
            problems.stop("wrong_columns", line=line - 1, expected="a label in every line of the gold")
        if item.id not in gold.index:
            gold.add(item, UNITS[options.task], negatives)
        elif repeats:
            gold.add_labels(gold.index[item.id], item, negatives)
        else:
            problems.add("duplicate_id", line=line, field="id", value=item.id)
    problems.raise_if_any()
    return gold


def _items(path: Path, format: str, options: Options, problems: Problems, column: int) -> NumberedItems:
    open_lines = open_gold
    if options.task == "entities" and "items" in formats()[format].readers:
        open_lines = partial(open_items, require_text=False)
    return open_lines(
        path, format=format, problems=problems, scheme=options.scheme, repair=options.repair, column=column
    )


def _scoring_options(gold: Gold, options: Options) -> ScoringOptions:
    """Complete the options with the labels of --labels, else the gold's."""
    by_document = options.task == "entities"
    used = dict.fromkeys(gold.label)
    if by_document and options.negative in used:
        reason = f"The gold has entities of the class {options.negative}: it can't be named by --negative."
        raise InputFault("negative_class", reason)
    stated = sorted(used)
    if options.labels is not None:
        with naming(options.labels):
            problems = Problems()
            stated = label_list.read_labels(options.labels, problems=problems)
            problems.raise_if_any()
    labels = [name for name in stated if name != options.negative]
    unlisted = sorted(used.keys() - set(labels))
    if unlisted:
        reason = f"The gold has the label {unlisted[0]}, which {options.labels} lacks."
        raise InputFault("gold_label", reason)
    return ScoringOptions(
        unit=UNITS[options.task],
        labels=labels,
        negative=None if by_document else options.negative,
        relations=sorted({name for links in gold.links.values() for _, name, _ in links}),
        single=options.task == "classification",
        beta=options.beta,
        entropy=options.entropy,
        include_negative=options.include_negative,
        aggregate=options.aggregate,
        profile=options.profile,
        casefold=options.casefold,
        families=options.family,
        without_words="skip",
    )


# ---- predictions ---------------------------------------------------------------------------------
def _read_predictions(path: Path, local: LocalGold) -> Predictions:
    expected, problems = _expected(local), Problems()
    with path.open("rb") as file:
        if file.read(len(npy.MAGIC)) == npy.MAGIC:
            return _dense(path.read_bytes(), expected, problems)
    format = _format_of(path, local.options, problems)
    if column_reader.can_read(format):
        predictions = column_reader.read_columns(path, expected)
        if predictions is not None:
            return predictions
    return _by_line(path, format, local, expected)


def _expected(local: LocalGold) -> Expected:
    gold, options = local.gold, local.options
    return Expected(
        ids=list(gold.index),
        pairs=list(gold.pairs),
        labels=local.scoring.labels,
        negative=local.scoring.negative,
        forms=FORMS[options.task],
        lengths=gold.lengths() if gold.tokens else {},
        missing_allowed=options.missing == "wrong",
    )


def _by_line(
    path: Path, format: str, local: LocalGold, expected: Expected, *, others: bool = True
) -> Predictions:
    """Check each line; leave out other items unless there are no others."""
    problems, gold, options = Problems(), local.gold, local.options
    check, collector = _check(local, expected, problems), Collector(expected.codes)
    lines = open_predictions(
        path, format=format, problems=problems, scheme=options.scheme, column=options.column
    )
    if not formats()[format].has_ids:
        lines = _in_order(lines, expected.ids)
    elif others:
        lines = _about_gold(lines, gold, collector)
    for claim in check.claims(lines):
        collector.add(check.form or "", claim)
    if collector.left_out and check.form is None:
        return _by_line(path, format, local, expected, others=False)
    problems.raise_if_any()
    return collector.predictions(check.form or "")


def _check(local: LocalGold, expected: Expected, problems: Problems) -> PredictionCheck:
    gold, options = local.gold, local.options
    tokens = {name: given for name, given in zip(gold.index, gold.tokens, strict=False) if given is not None}
    return PredictionCheck(
        ids=gold.index,
        labels=expected.labels,
        negative=expected.negative,
        pairs=gold.pairs,
        tokens=tokens if len(tokens) == len(gold) else None,
        lengths=expected.lengths,
        relations=local.scoring.relations,
        scheme=options.scheme,
        repair=options.repair,
        forms=expected.forms,
        missing=options.missing,
        silent=SILENT_FORMS,
        problems=problems,
    )


def _in_order(
    lines: Iterator[tuple[int, PredictionLine]], ids: Sequence[str]
) -> Iterator[tuple[int, PredictionLine]]:
    """Give the n-th line of a file without ids the n-th id."""
    for line, given in lines:
        if isinstance(given, LabelPrediction | TagsPrediction):
            at = int(given.id) - 1
            name = ids[at] if at < len(ids) else f"number {given.id} of {len(ids):,}"
            yield line, msgspec.structs.replace(given, id=name)


def _about_gold(
    lines: Iterator[tuple[int, PredictionLine]], gold: Gold, collector: Collector
) -> Iterator[tuple[int, PredictionLine]]:
    for line, given in lines:
        if isinstance(given, BagPrediction):
            inside = (given.head, given.tail) in gold.pairs
        else:
            inside = given.id in gold.index
        if inside:
            yield line, given
        else:
            collector.left_out += 1


def _dense(content: bytes, expected: Expected, problems: Problems) -> Predictions:
    """Read a score matrix: rows as items or pairs, columns as labels."""
    header, columns = npy.read_header(content[: npy.LONGEST_HEADER + 12], problems), len(expected.labels)
    npy.check_size(header, len(content), problems)
    keys = {"scores": expected.ids, "bag": expected.pairs}
    form = next((form for form in expected.forms if form in keys and len(keys[form]) == header.rows), None)
    if form is None or not columns <= header.columns <= columns + (expected.negative is not None):
        sizes = " or ".join(f"{len(keys[form]):,}" for form in expected.forms if form in keys)
        shape = f"({sizes or 'no'} rows, {columns:,} columns)"
        problems.stop("wrong_shape", value=f"({header.rows:,}, {header.columns:,})", expected=shape)
    matrix = np.frombuffer(content, header.type, offset=header.begin).reshape(header.rows, header.columns)
    if not np.isfinite(matrix).all():
        problems.stop("bad_score", value="nan or infinity", expected="a finite number in every cell")
    return dense_predictions(matrix, keys[form], form, columns)
