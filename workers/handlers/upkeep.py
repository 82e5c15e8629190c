"""Handler of the job kind `upkeep`."""

from __future__ import annotations

import logging

from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from evalsvc.core.upkeep import registry
from workers.sandbox.launcher import delete_stale_folders

log = logging.getLogger(__name__)


def keep_up(subject: int, progress: Progress) -> Store:
    """Sweep, and check this job's share; findings fail the job."""
    delete_stale_folders()
    registry.refresh_statistics()
    for name, removed in registry.sweep().items():
        if removed:
            log.info("Upkeep removed %s: %s", name, removed)
    findings = []
    for finding in registry.findings(registry.share_of(subject)):
        log.error("Upkeep: %s: %s %s", finding.code, finding.detail, finding.cure)
        findings.append(finding)
        progress(len(findings), 0)
    if findings:
        first = f"{findings[0].detail} {findings[0].cure}"
        raise InputFault(
            "problems_found", f"{len(findings):,} findings; run manage.py doctor. First: {first}"
        )
    return lambda: None
