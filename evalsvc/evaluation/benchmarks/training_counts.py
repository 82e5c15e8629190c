"""Label frequencies in the training data: from a file, or from a training set beside a test set."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any, NamedTuple

from annotation.testset import Companion, TestSet
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.disclosure.gold_digest import SecretGold
from evalsvc.evaluation.models import Benchmark

MAX_BYTES = 1_000_000
EXPECTED = "Use a line per label with its name and count, such as `born_in 1204`, or a JSON object."
DIGITS, SEPARATORS = "0123456789,_", (" ", "\t", ";")


def training_sets(benchmark: Benchmark) -> dict[str, TestSet]:
    """Return the described training sets beside the test sets of a benchmark, by slug."""
    beside = Companion.objects.filter(test_set__settings__benchmark=benchmark, role=Companion.Role.TRAINING)
    described = beside.exclude(data__statistics=None).select_related("data").distinct()
    return {each.data.slug: each.data for each in described}


def rules_from(benchmark: Benchmark, slug: str) -> dict[str, Any]:
    """Return a training set, and how often the labels of a benchmark occur in it."""
    found = training_sets(benchmark).get(slug)
    if found is None:
        detail = f"No test set of this benchmark has a training set {slug[:60]!r}."
        raise DomainError("unknown_set", detail, field="training_set")
    figures = found.statistics or {}
    counts: dict[str, int] = figures.get("relation_labels", {}) | figures["labels"]
    counted = {label["name"]: counts.get(label["name"], 0) for label in benchmark.labels}
    return {"training_set": found, "training_counts": counted}


def are_held_back(benchmark: Benchmark, secret: SecretGold | None = None) -> bool:
    """True while a setting hides the gold of the training set, or lines of it."""
    test_set = benchmark.training_set
    return test_set is not None and (secret or SecretGold()).hides(test_set)


def shown_counts(benchmark: Benchmark, secret: SecretGold | None = None) -> dict[str, int]:
    """Return the training counts, none while they are held back."""
    return {} if are_held_back(benchmark, secret) else benchmark.training_counts


class ReadCounts(NamedTuple):
    by_label: dict[str, int]
    heading: str = ""  # the line that was skipped


def read_counts(content: bytes, labels: Collection[str]) -> ReadCounts:
    """Return counts by label from JSON or lines.

    Reject naming the bad line.
    """
    if len(content) > MAX_BYTES:
        raise _bad(f"The file is larger than {MAX_BYTES:,} bytes.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad("The file is not UTF-8 text.") from error
    if not text.strip():
        raise _bad("The file is empty.")
    is_json = text.lstrip().startswith(("{", "["))
    return ReadCounts(_of_json(text)) if is_json else _of_lines(text, labels)


def _of_json(text: str) -> dict[str, int]:
    try:
        counts = json.loads(text, object_pairs_hook=_unrepeated)
    except ValueError as error:
        raise _bad(f"The file is not valid JSON: {error}.") from error
    except RecursionError as error:
        raise _bad("The JSON is nested too deeply.") from error
    if not isinstance(counts, dict):
        raise _bad("The JSON is not an object of names and counts.")
    for name, count in counts.items():
        if type(count) is not int or count < 0:
            raise _bad(f"The count of {name} is {count!r}, not a whole number.")
    return counts


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _bad(f"The JSON repeats {name}.")
        found[name] = value
    return found


def _of_lines(text: str, labels: Collection[str]) -> ReadCounts:
    counts: dict[str, int] = {}
    heading = ""
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        name, count = _split(line)
        if name and count:
            if name in counts:
                raise _bad(f"Line {number} repeats {name}.")
            counts[name] = int(count)
        elif line and (counts or heading or _names_label(line, labels)):
            raise _bad(f"Line {number} is {line[:60]!r}.")
        else:
            heading = heading or line
    if not counts:
        raise _bad("No line has a name and a count.")
    return ReadCounts(counts, heading)


def _names_label(line: str, labels: Collection[str]) -> bool:
    """True if a line begins with a label: then it is no heading, but a count that cannot be read."""
    line = line.lstrip("\"'")
    begun = (line[len(label) :] for label in labels if line.startswith(label))
    return any(not rest or rest[0].isspace() or rest[0] in ",;\"'" for rest in begun)


def _split(line: str) -> tuple[str, str]:
    """Split name and digits; after a separator a comma marks thousands."""
    name = line.rstrip(DIGITS)
    count = line[len(name) :]
    if not name.endswith(SEPARATORS):
        before, _, count = count.partition(",")
        name += before
    digits = count.replace(",", "").replace("_", "")
    return name.rstrip(" \t,;").strip("\"'"), digits if len(digits) < 16 else ""


def _bad(detail: str) -> DomainError:
    return DomainError("bad_counts", detail, hint=EXPECTED, field="training_counts")
