"""Label frequencies in the training data: from a file, or from a training set beside a test set."""

from __future__ import annotations

import json
from typing import Any

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


def read_counts(content: bytes) -> dict[str, int]:
    """Return counts by label from JSON or lines.

    Reject naming the bad line.
    """
    if len(content) > MAX_BYTES:
        raise _bad(f"The file is larger than {MAX_BYTES:,} bytes.")
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise _bad("The file is not UTF-8 text.") from error
    if not text:
        raise _bad("The file is empty.")
    return _of_json(text) if text.startswith(("{", "[")) else _of_lines(text)


def _of_json(text: str) -> dict[str, int]:
    try:
        counts = json.loads(text)
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


def _of_lines(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        name, count = _split(line.strip())
        if name and count:
            if name in counts:
                raise _bad(f"Line {number} repeats {name}.")
            counts[name] = int(count)
        elif line.strip() and number > 1:  # the first may be the heading of a table
            raise _bad(f"Line {number} is {line.strip()[:60]!r}.")
    if not counts:
        raise _bad("No line has a name and a count.")
    return counts


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
