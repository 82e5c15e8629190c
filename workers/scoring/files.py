"""From two files to a report: column by column where they are regular, else line by line with all care."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evalsvc.core.formats.problems import Problems
from workers.cli.arguments import Options, naming
from workers.metrics.report import Report
from workers.scoring.conll_columns import report_of, width


def score(gold: Path, predictions: Path, options: Options) -> Report:
    """Score one prediction file; raises `Unfit` or `Misuse` when the two do not go together."""
    column = gold_column(gold, predictions, options)
    found = _quickly(gold, predictions, options, column)
    return _noted(_carefully(gold, predictions, options, column) if found is None else found, options)


def _noted(found: Report, options: Options) -> Report:
    """Averages keep their names whatever β is: then it is said."""
    if options.beta == 1 or not any(key.endswith("weighted_f1") for key in found.values):
        return found
    note = f"Averages and the F of their classes are F_β with β = {options.beta:g}; other figures are F1."
    return replace(found, notes=(*found.notes, note))


def gold_column(gold: Path, predictions: Path, options: Options) -> int:
    """The gold tag is in the last column, unless one file of three holds both."""
    if options.gold_column is not None:
        return options.gold_column
    return -2 if gold.samefile(predictions) and width(gold) > 2 else -1


def _quickly(gold: Path, predictions: Path, options: Options, column: int) -> Report | None:
    # what one task needs is imported for that task: starting takes longer than scoring a small file
    if options.task == "entities":
        return report_of(gold, predictions, options, gold_column=column)
    from workers.scoring import file_scorer, quick_files

    both = quick_files.read(gold, predictions, options)
    return None if both is None else file_scorer.report(*both, options)


def _carefully(gold: Path, predictions: Path, options: Options, column: int) -> Report:
    from workers.scoring.file_scorer import report
    from workers.scoring.gold import read_gold
    from workers.scoring.predictions import read_answers

    with naming(gold):
        truth = read_gold(gold, options, Problems(), column=column)
    with naming(predictions):
        answers = read_answers(predictions, truth, options, Problems())
    return report(truth, answers, options)
