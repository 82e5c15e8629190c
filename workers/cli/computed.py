"""Choices behind the figures of local files, in the service's words."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

from evalsvc.evaluation.measures.computation import computation, f_title, in_words
from workers.cli.arguments import Options
from workers.scoring.scorer import SCORED_FORMS, ScoringCase

Computed = dict[str, Any]


def computed(options: Options, case: ScoringCase | None = None) -> Computed:
    """Return every choice behind the figures.

    Choices that do not apply are absent.
    """
    choices: dict[str, Any] = {key: getattr(options, key) for key in ("beta", "missing", "entropy")}
    if options.task == "entities":
        choices |= {key: getattr(options, key) for key in ("scheme", "repair", "casefold")}
    else:
        choices |= {"negative": options.negative, "include_negative": options.include_negative}
    if case is not None and case.form in SCORED_FORMS:
        choices |= {"threshold": options.threshold, "profile": options.profile}
        choices |= {"aggregate": options.aggregate} if options.task == "bags" else {}
    libraries = {"numpy": np.__version__, "python": platform.python_version()}
    return {"task": options.task, "f": f_title(options.beta)} | computation(choices) | libraries


def computed_rows(computed: Computed) -> list[tuple[str, str]]:
    """Return titles and values for a table."""
    libraries = f"NumPy {computed['numpy']}, Python {computed['python']}"
    return [("Task", computed["task"]), *in_words(computed), ("Computed with", libraries)]
