"""Arguments and options of the commands `score`, `compare` and `agreement`."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Any, Literal, get_args

from evalsvc.core.formats.negative_class import NA_PLACES
from evalsvc.core.formats.prediction_forms import SILENT_FORMS, TEXT_FORMS, Form
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.tag_schemes import REPAIRS, SCHEMES, Repair, Scheme
from evalsvc.core.jobs.exceptions import InputFault

TASKS = ("classification", "entities", "joint", "bags", "sentences")
PROFILES = ("corrected", "opennre", "both")
GROUNDINGS = ("ordered", "first", "all")
FAMILIES = ("conll", "muc", "wrf")
RANKED = ("bags", "sentences")
SPANS = ("entities", "joint")
TASKS_OF = {
    **dict.fromkeys(("profile", "threshold", "na", "columns"), RANKED),
    "aggregate": ("bags",),
    **dict.fromkeys(("scheme", "repair", "column", "gold_column", "grounding"), ("entities",)),
    **dict.fromkeys(("family", "casefold", "strip_articles"), SPANS),
    **dict.fromkeys(("relations", "symmetric"), ("joint",)),
}
FORMS_OF: dict[str, Collection[str]] = {
    **dict.fromkeys(("threshold", "profile"), ("scores", "bag")),
    **dict.fromkeys(("na", "columns"), ("matrix",)),
    "aggregate": ("scores",),
    "missing": set(get_args(Form)) - SILENT_FORMS,
    "include_negative": ("label",),
    "strip_articles": TEXT_FORMS,
    "grounding": ("entity_texts",),
}


class InvalidFile(Exception):
    """A rejected file, with its path and its problems."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self.path, self.problems = path, problems
        super().__init__(f"{path}: {problems.summary()}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the path to the rejection of a file."""
    try:
        yield
    except FileRejected as error:
        raise InvalidFile(path, error.problems) from error


@dataclass(frozen=True)
class Options:
    """Every choice that changes a figure."""

    task: str
    negative: str | None = None
    labels: Path | None = None
    old_labels: Path | None = None
    missing: Literal["refuse", "wrong"] = "refuse"
    scheme: Scheme | None = None
    repair: Repair = "conlleval"
    column: int = -1
    gold_column: int | None = None
    profile: str = "corrected"
    aggregate: str = "ONE"
    threshold: float | None = None
    columns: Path | None = None
    na: str = ""
    beta: float = 1.0
    entropy: str = "all"
    include_negative: bool = False
    casefold: bool = False
    strip_articles: bool = False
    grounding: str = "ordered"
    relations: Path | None = None
    symmetric: tuple[str, ...] = ()
    family: tuple[str, ...] = FAMILIES
    measure: tuple[Path, ...] = ()
    stated: frozenset[str] = frozenset()

    @classmethod
    def of(cls, arguments: Namespace) -> Options:
        """Take the options from parsed arguments; absent ones keep their defaults."""
        for name, tasks in TASKS_OF.items():
            value = getattr(arguments, name, None)
            if value is not None and value is not False and arguments.task not in tasks:
                option, where = f"--{name.replace('_', '-')}", " or ".join(tasks)
                raise InputFault(
                    "bad_option", f"{option} has no effect on {arguments.task}, only on {where}."
                )
        values: dict[str, Any] = {field.name: getattr(arguments, field.name, None) for field in fields(cls)}
        values |= {
            "family": tuple(values["family"] or FAMILIES),
            "symmetric": tuple(values["symmetric"] or ()),
            "measure": tuple(values["measure"] or ()),
            "stated": frozenset(
                name for name, value in values.items() if value is not None and value is not False
            ),
        }
        return cls(**{name: value for name, value in values.items() if value is not None})

    def require_effect(self, forms: Collection[str]) -> None:
        """Reject a stated option that changes nothing about files of these forms."""
        for name, affected in FORMS_OF.items():
            if name in self.stated and not set(forms) & set(affected):
                option, of = f"--{name.replace('_', '-')}", " or ".join(sorted(affected))
                detail = f"{option} has no effect on these predictions, only on the form {of}."
                raise InputFault("bad_option", detail)


def integer_from(least: int) -> Callable[[str], int]:
    """Return an argument type for whole numbers with a lower limit."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ArgumentTypeError(f"{text} is not a whole number. Give {least} or more.")
        return number

    return read


def weight(text: str) -> float:
    """Read a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < inf:
        raise ArgumentTypeError(f"{text} is not a valid weight. Give a number above 0.")
    return number


def finite(text: str) -> float:
    """Read a finite number."""
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not -inf < number < inf:
        raise ArgumentTypeError(f"{text} is not a finite number.")
    return number


def add_score(parser: ArgumentParser) -> None:
    """Add GOLD PREDICTIONS and the options."""
    parser.add_argument("gold", type=Path, help="gold file")
    parser.add_argument("predictions", type=Path, help="prediction file in any format that fits the task")
    parser.add_argument(
        "--measure",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="measures composed from the menu, each as JSON: base, figure, beta, scheme, weights, labels, "
        "gamma, gammas, over",
    )
    add_options(parser)


def add_compare(parser: ArgumentParser) -> None:
    """Add the runs, --against, --gold and the options."""
    parser.add_argument(
        "runs", type=Path, nargs="+", help="prediction files of the first system, one per run"
    )
    parser.add_argument(
        "--against",
        type=Path,
        nargs="+",
        required=True,
        action="append",
        metavar="FILE",
        help="prediction files of another system, one per run; repeat it for up to nine systems",
    )
    parser.add_argument("--names", nargs="+", metavar="NAME", help="names of the systems (default A, B, …)")
    parser.add_argument("--gold", type=Path, required=True, help="gold file")
    parser.add_argument(
        "--measures", nargs="+", metavar="MEASURE", help="measures to test (default: main ones)"
    )
    parser.add_argument(
        "--replicates",
        type=integer_from(1),
        default=1_000,
        help="resamples, with one run each (default 1000)",
    )
    parser.add_argument("--seed", type=integer_from(0), default=0, help="seed of the resamples (default 0)")
    add_options(parser)


def add_agreement(parser: ArgumentParser) -> None:
    """Add VOTES and the options."""
    parser.add_argument("votes", type=Path, help="answers of annotators, in any format of votes")
    parser.add_argument("--negative", metavar="LABEL", help="spelling of N/A (default: the usual ones)")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="relations to report, one per line")
    parser.add_argument("--texts", type=Path, metavar="FILE", help="texts of the items, for α of tokens")
    parser.add_argument(
        "--empty",
        choices=("no-vote", "no-label"),
        default="no-vote",
        help="meaning of an empty cell (default no-vote)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def add_options(parser: ArgumentParser) -> None:
    """Add the options that both commands share."""
    parser.add_argument("--task", choices=TASKS, required=True, help="task to score")
    parser.add_argument(
        "--negative", metavar="LABEL", help="negative class, such as NA, no_relation or Other"
    )
    parser.add_argument("--labels", type=Path, metavar="FILE", help="label inventory, one label per line")
    parser.add_argument(
        "--old-labels",
        type=Path,
        metavar="FILE",
        help="old names of labels in predictions, to be mapped: of a release ontology.json, or manifest.json "
        'if its gold was mapped, or JSON such as {"us_state": "region", "gone": null}',
    )
    parser.add_argument(
        "--missing",
        choices=("refuse", "wrong"),
        help="reject items without a prediction, or count them wrong",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    ranked = parser.add_argument_group("bags and sentences")
    ranked.add_argument("--profile", choices=PROFILES, help="ranking profile (default corrected)")
    ranked.add_argument("--aggregate", choices=("ONE", "AVG"), help="bag score: best or mean sentence score")
    ranked.add_argument(
        "--threshold", type=finite, help="lowest score that counts as a label (default τ*, of the best F1)"
    )
    ranked.add_argument("--na", choices=NA_PLACES, help="column of the negative class in a .npy file")
    ranked.add_argument(
        "--columns", type=Path, metavar="FILE", help="labels of the columns of a .npy file, one per line"
    )
    _add_entities(parser)
    averages = parser.add_argument_group("averages")
    averages.add_argument("--beta", type=weight, help="weight of recall in F (default 1)")
    averages.add_argument("--entropy", choices=("all", "positive"), help="N of the entropy scheme")
    averages.add_argument("--include-negative", action="store_true", help="average the negative class too")


def _add_entities(parser: ArgumentParser) -> None:
    tags = parser.add_argument_group("entities")
    tags.add_argument("--scheme", choices=SCHEMES, help="tag scheme of CoNLL columns and tags")
    tags.add_argument("--repair", choices=REPAIRS, help="treatment of entities that break the tag scheme")
    tags.add_argument("--column", type=int, help="column of the predicted tag (default -1, the last)")
    tags.add_argument(
        "--gold-column",
        type=int,
        help="column of the gold tag (default: last; last but one in a shared file)",
    )
    tags.add_argument(
        "--grounding", choices=GROUNDINGS, help="places that entities as text take (default ordered)"
    )
    spans = parser.add_argument_group("entities and joint")
    spans.add_argument("--family", nargs="+", choices=FAMILIES, help="families of entity measures")
    spans.add_argument(
        "--casefold", action="store_true", help="ignore case in the words of WRF and in answers as text"
    )
    spans.add_argument(
        "--strip-articles", action="store_true", help="leave out the, a and an before answers as text"
    )
    joint = parser.add_argument_group("joint")
    joint.add_argument(
        "--relations",
        type=Path,
        metavar="FILE",
        help="inventory of relations, one per line (default: the gold's)",
    )
    joint.add_argument(
        "--symmetric", nargs="+", metavar="RELATION", help="relations without direction (default none)"
    )
