"""The commands `score`, `compare` and `agreement`.

They exit with 2 for rejected files.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.jobs.exceptions import InputFault
from workers.cli.arguments import InvalidFile, Options, add_agreement, add_compare, add_score

REJECTED = 2


class CommandOutput(NamedTuple):
    """Exit code and text for standard output and standard error."""

    code: int
    out: str = ""
    err: str = ""


def score(arguments: Namespace) -> CommandOutput:
    """Score GOLD PREDICTIONS."""
    return _run(arguments, _score)


def compare(arguments: Namespace) -> CommandOutput:
    """Compare the runs of 2 to 10 systems."""
    return _run(arguments, _compare)


def agreement(arguments: Namespace) -> CommandOutput:
    """Compare the annotators of VOTES."""
    return _run(arguments, _agreement)


def _run(arguments: Namespace, work: Callable[[Namespace], str]) -> CommandOutput:
    try:
        return CommandOutput(0, work(arguments))
    except InvalidFile as error:
        if arguments.json:
            body = {"file": str(error.path)} | error.problems.as_json()
            return CommandOutput(REJECTED, msgspec.json.encode(body).decode())
        from workers.cli.report_output import rejection_text

        labels = getattr(arguments, "labels", None)
        text = rejection_text(error.problems, file=str(error.path), labels=labels)
        return CommandOutput(REJECTED, err=text)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}." if error.filename else str(error)
        return CommandOutput(REJECTED, err=message)
    except (InputFault, FileRejected) as error:
        return CommandOutput(REJECTED, err=str(error))


# Modules are imported by the command that needs them: starting takes longer than scoring a small file.
def _score(arguments: Namespace) -> str:
    from workers.cli import local_files, report_output

    options = Options.of(arguments)
    scored = local_files.score(arguments.gold, arguments.predictions, options)
    write = report_output.report_json if arguments.json else report_output.report_text
    text = write(*scored)
    return text.decode() if isinstance(text, bytes) else text


def _compare(arguments: Namespace) -> str:
    from workers.cli import comparison

    options = Options.of(arguments)
    result = comparison.compare(
        [arguments.runs, *arguments.against],
        arguments.gold,
        options,
        measures=arguments.measures,
        replicates=arguments.replicates,
        seed=arguments.seed,
        names=arguments.names,
    )
    return comparison.as_json(result) if arguments.json else comparison.as_text(result)


def _agreement(arguments: Namespace) -> str:
    from workers.cli import agreement

    figures = agreement.figures_of(
        arguments.votes,
        labels=arguments.labels,
        texts=arguments.texts,
        negative=arguments.negative,
        empty=arguments.empty,
    )
    return agreement.as_json(figures) if arguments.json else agreement.as_text(figures)


COMMANDS = {
    "score": (score, add_score),
    "compare": (compare, add_compare),
    "agreement": (agreement, add_agreement),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Score a prediction file, compare systems, or compare annotators.

    `python -m workers.metrics GOLD PREDICTIONS …`,
    `compare A1 A2 … --against B1 … [--against C1 …] --gold GOLD`, or `agreement VOTES`.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    name = words.pop(0) if words and words[0] in COMMANDS else "score"
    parser = ArgumentParser(prog=f"python -m workers.metrics {name}", description=main.__doc__)
    run, add_arguments = COMMANDS[name]
    add_arguments(parser)
    output = run(parser.parse_args(words))
    if output.out:
        sys.stdout.write(output.out + "\n")
    if output.err:
        sys.stderr.write(output.err + "\n")
    return output.code
