"""Load the demo through the functions that pages and API use.

Every step can be repeated. `data/` holds the items, votes and decisions of four labelling projects, and the
predictions of 39 runs; six of them are also submitted to a hidden phase.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

from annotation.models import Project
from annotation.reports import agreement
from evalsvc.demo import benchmarks, labelling
from evalsvc.demo.accounts import ensure_accounts
from evalsvc.demo.logins import CURATOR, read_passwords


def is_wanted() -> bool:
    """True on an empty database, and after an unfinished load."""
    return not Project.objects.exists() or (bool(read_passwords()) and not _finished_marker().exists())


def load(report: Callable[[str], None]) -> None:
    """Load projects, test sets and benchmarks; submit runs for a worker."""
    security = logging.getLogger("evalsvc.security")
    level = security.level
    security.setLevel(logging.WARNING)  # the demo's own people are no event
    try:
        _load(report)
    finally:
        security.setLevel(level)


def _load(report: Callable[[str], None]) -> None:
    accounts = ensure_accounts()
    report("loading and freezing 317 sentences with the votes of four annotators")
    relations = benchmarks.relation_benchmark(accounts, labelling.relation_test_set(accounts))
    report("loading and freezing 140 sentences, in two sets, with the names that three annotators marked")
    entities = labelling.entity_test_set(accounts)
    labelling.more_to_label(accounts, Project.objects.get(slug="harbour-names"))
    secret = labelling.entity_test_set(  # errors on gold that is secret elsewhere are shown to nobody
        accounts, "harbour-names-hidden", title="Harbour news, names of the hidden test", part="_hidden"
    )
    report("loading and freezing 40 texts with the names and relations that two annotators marked")
    joint = labelling.joint_test_set(accounts)
    report("submitting 45 runs; the worker scores them")
    benchmarks.entity_benchmarks(accounts, entities, secret)
    benchmarks.joint_benchmark(accounts, joint)
    report("scoring 15 runs again for a corrected gold")
    benchmarks.revise(accounts, relations, labelling.corrected_test_set(accounts))
    for project in Project.objects.filter(agreements=None).order_by("pk"):
        agreement.request_report(project, by=accounts.users[CURATOR])
    _finished_marker().touch()


def _finished_marker() -> Path:
    return Path(settings.DATA_DIR) / "demo.whole"
