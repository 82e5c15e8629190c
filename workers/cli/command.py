"""The command line: arguments in, a table or JSON out, 2 for a file that does not fit."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from evalsvc.core.formats.problems import FileRejected
from workers.cli.arguments import Misuse, Unfit, add_compare, add_score, options_of

FITS, DOES_NOT_FIT = 0, 2


class Outcome(NamedTuple):
    """What to print where, and the code to end with."""

    code: int
    out: str = ""
    err: str = ""


def score(given: Namespace) -> Outcome:
    """Score GOLD PREDICTIONS."""
    return _guarded(given, _score)


def compare(given: Namespace) -> Outcome:
    """Compare runs of two systems."""
    return _guarded(given, _compare)


def _guarded(given: Namespace, work: Callable[[Namespace], str]) -> Outcome:
    try:
        return Outcome(FITS, work(given))
    except Unfit as error:
        return _refusal(error, as_json=given.json)
    except OSError as error:
        return Outcome(
            DOES_NOT_FIT, err=f"{error.filename}: {error.strerror}." if error.filename else str(error)
        )
    except (Misuse, FileRejected) as error:
        return Outcome(DOES_NOT_FIT, err=str(error))


def _refusal(error: Unfit, *, as_json: bool) -> Outcome:
    if as_json:
        told = {"file": str(error.path)} | error.problems.as_json()
        return Outcome(DOES_NOT_FIT, msgspec.json.encode(told).decode())
    from workers.cli.report_output import refusal_text

    return Outcome(DOES_NOT_FIT, err=refusal_text(error.problems, file=str(error.path)))


def _score(given: Namespace) -> str:
    from workers.cli import report_output
    from workers.scoring import files

    options = options_of(given)
    report = files.score(given.gold, given.predictions, options)
    return (
        report_output.report_json(report, task=options.task).decode()
        if given.json
        else report_output.report_text(report)
    )


def _compare(given: Namespace) -> str:
    from workers.cli import comparison

    found = comparison.compare(given.runs, given.against, given.gold, options_of(given), asked=given)
    return comparison.as_json(found) if given.json else comparison.as_text(found)


def main(argv: Sequence[str] | None = None) -> int:
    """`python -m workers.metrics GOLD PREDICTIONS …`, or `compare A1 A2 … --against B1 … --gold GOLD`."""
    words = list(sys.argv[1:] if argv is None else argv)
    name = words.pop(0) if words and words[0] in ("score", "compare") else "score"
    parser = ArgumentParser(prog=f"python -m workers.metrics {name}", description=main.__doc__)
    (add_compare if name == "compare" else add_score)(parser)
    outcome = (compare if name == "compare" else score)(parser.parse_args(words))
    if outcome.out:
        sys.stdout.write(outcome.out + "\n")
    if outcome.err:
        sys.stderr.write(outcome.err + "\n")
    return outcome.code
