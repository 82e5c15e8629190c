"""Options and versions that figures of local files were computed with."""

from __future__ import annotations

import platform

import numpy as np

from workers.cli.arguments import Options
from workers.metrics.report import Report
from workers.scoring.scorer import SCORED_FORMS, ScoringCase

Computed = dict[str, str | float | bool | None]


def computed(options: Options, report: Report | None, case: ScoringCase | None = None) -> Computed:
    """Return every choice behind the figures; what does not apply is None.

    Without a report, each of several runs has its own τ*.
    """
    by_document, ranked = options.task == "entities", case is not None and case.form in SCORED_FORMS
    return {
        "task": options.task,
        "f": f"F{options.beta:g}",
        "beta": options.beta,
        "negative_class": None if by_document else options.negative,
        "negative_averaged": options.include_negative if options.negative and not by_document else None,
        "claims_counted_from": _operating_point(options, report) if ranked else None,
        "scheme": options.scheme if by_document else None,
        "repair": options.repair if by_document else None,
        "missing": options.missing,
        "aggregate": options.aggregate if ranked and options.task == "bags" else None,
        "profile": options.profile if ranked else None,
        "entropy": options.entropy,
        "casefold": options.casefold if by_document else None,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _operating_point(options: Options, report: Report | None) -> str:
    if options.threshold is not None:
        return f"{options.threshold:g}"
    if report is None:
        return "τ* of each run"
    tau = report.values.get("opennre_tau" if options.profile == "opennre" else "tau")
    return f"τ* = {tau.value:.4g}" if tau is not None and tau.defined else "the lowest score"
