"""What can be asked for on the command line, and how it is written."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Any, Literal, cast

from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.tag_schemes import REPAIRS, SCHEMES, Repair, Scheme

TASKS = ("classification", "entities", "bags", "sentences")
PROFILES = ("corrected", "opennre", "both")
FAMILIES = ("conll", "muc", "wrf")


class Misuse(ValueError):
    """What was asked for does not go together; the message says what would."""


class Unfit(Exception):
    """A file that is refused, by name, with what is wrong with it."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path, self.problems = path, problems
        super().__init__(f"{path}: {problems.summary()}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let a refusal say which file it is about."""
    try:
        yield
    except FileRejected as error:
        raise Unfit(path, error.problems) from error


@dataclass(frozen=True)
class Options:
    """Every choice that changes a figure."""

    task: str
    negative: str | None = None
    labels: Path | None = None
    missing: Literal["refuse", "wrong"] = "refuse"
    scheme: Scheme | None = None
    repair: Repair = "conlleval"
    column: int = -1
    gold_column: int | None = None
    profile: str = "corrected"
    aggregate: str = "ONE"
    beta: float = 1.0
    entropy: str = "all"
    include_negative: bool = False
    casefold: bool = False
    family: tuple[str, ...] = FAMILIES


def options_of(given: Namespace | dict[str, Any]) -> Options:
    """Options from parsed arguments; those not given keep their defaults."""
    known = given if isinstance(given, dict) else vars(given)
    names = {field.name for field in fields(Options)}
    chosen = {name: value for name, value in known.items() if name in names and value is not None}
    family = tuple(chosen.pop("family", FAMILIES))
    return Options(**cast(Any, chosen), family=family)


def whole(least: int) -> Callable[[str], int]:
    """A whole number that is not below the least."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ArgumentTypeError(f"expected a whole number, {least} or more, found {text}")
        return number

    return read


def weight(text: str) -> float:
    """A finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < inf:
        raise ArgumentTypeError(f"{text} is no weight, expected a number above 0")
    return number


def add_score(parser: ArgumentParser) -> None:
    """GOLD PREDICTIONS and the options."""
    parser.add_argument("gold", type=Path, help="gold file")
    parser.add_argument("predictions", type=Path, help="prediction file, in any form that fits the task")
    add_options(parser)


def add_compare(parser: ArgumentParser) -> None:
    """A1 A2 … --against B1 B2 … --gold GOLD and the options."""
    parser.add_argument("runs", type=Path, nargs="+", help="prediction files of the first system, one a run")
    parser.add_argument("--against", type=Path, nargs="+", required=True, help="those of the second system")
    parser.add_argument("--gold", type=Path, required=True, help="gold file")
    parser.add_argument("--measures", nargs="+", metavar="MEASURE", help="which measures; default: main ones")
    parser.add_argument("--replicates", type=whole(1), default=1_000, help="with one run each (default 1000)")
    parser.add_argument("--seed", type=whole(0), default=0, help="of the replicates (default 0)")
    add_options(parser)


def add_options(parser: ArgumentParser) -> None:
    """What both commands have in common."""
    parser.add_argument("--task", choices=TASKS, required=True, help="what is scored")
    parser.add_argument("--negative", metavar="LABEL", help="the negative class (NA, no_relation, Other)")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="inventory, one label a line")
    parser.add_argument("--missing", choices=("refuse", "wrong"), help="what an item without answer is")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    ranked = parser.add_argument_group("bags and sentences")
    ranked.add_argument("--profile", choices=PROFILES, help="how a ranking is read (default corrected)")
    ranked.add_argument("--aggregate", choices=("ONE", "AVG"), help="scores of sentences to those of bags")
    tags = parser.add_argument_group("entities")
    tags.add_argument("--scheme", choices=SCHEMES, help="tag scheme of CoNLL columns and tags")
    tags.add_argument("--repair", choices=REPAIRS, help="an inner tag that continues nothing")
    tags.add_argument("--column", type=int, help="column of the predicted tag (default -1, the last)")
    tags.add_argument(
        "--gold-column", type=int, help="of the gold tag (default: last, in one file last but one)"
    )
    tags.add_argument("--family", nargs="+", choices=FAMILIES, help="which measures of entities")
    tags.add_argument("--casefold", action="store_true", help="WRF: words that differ in case are one")
    averages = parser.add_argument_group("averages")
    averages.add_argument("--beta", type=weight, help="weight of recall in F (default 1)")
    averages.add_argument("--entropy", choices=("all", "positive"), help="N of the entropy scheme")
    averages.add_argument("--include-negative", action="store_true", help="average the negative class too")
