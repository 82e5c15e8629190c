"""Limits of the service and of a benchmark, and a team's quotas."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import timezone

from evalsvc.core.accounts.models import Team
from evalsvc.evaluation.benchmarks import file_contract, quotas
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.submissions import file_check, model_intake


def of_service() -> dict[str, Any]:
    return {
        "upload_bytes": settings.UPLOAD_MAX_BYTES,
        "unpacked_bytes": settings.UPLOAD_MAX_UNPACKED_BYTES,
        "lines": settings.UPLOAD_MAX_LINES,
        "line_bytes": settings.UPLOAD_MAX_LINE_BYTES,
        "import_lines": settings.IMPORT_MAX_LINES,
        "wait_seconds": settings.WAIT_MAX_SECONDS,
        "models": model_intake.limits(),
    }


def of_benchmark(benchmark: Benchmark, team: Team) -> dict[str, Any]:
    now = timezone.now()
    open_now = file_contract.open_settings(benchmark, now)
    return {
        **of_service(),
        **{name: file_contract.limit(benchmark, name) for name in file_contract.LIMITS},
        "time_zone": benchmark.time_zone,
        "team": team.slug,
        "quotas": quotas.allowances(benchmark, team, now=now),
        "formats": file_check.formats_of(benchmark),
        "open_settings": [setting.key for setting in open_now],
        "open_phases": file_contract.open_phases(open_now),
    }
