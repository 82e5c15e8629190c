"""What a request names: a benchmark to organise, a setting, a version."""

from __future__ import annotations

from rest_framework.request import Request

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Unknown
from evalsvc.core.web.request_validation import whole_number
from evalsvc.evaluation import roles
from evalsvc.evaluation.models import Benchmark, Setting


def setting_of(benchmark: Benchmark, key: str) -> Setting:
    """Return the setting with a key, by default the first."""
    settings = benchmark.settings.select_related("test_set", "only", "benchmark")
    setting = (settings.filter(key=key) if key else settings).first()
    if setting is None:
        known = benchmark.settings.values_list("key", flat=True)
        raise Unknown("unknown_setting", "setting", key, where=str(benchmark), known=known)
    return setting


def requested_version(request: Request) -> int | None:
    """Return the version in the query, None for the newest."""
    return whole_number(request, "version", most=9_999)


def organised(request: Request, slug: str) -> tuple[Benchmark, User]:
    """Return the benchmark and the user, who must organise it."""
    benchmark, person = roles.benchmark_for(request.user, slug), users.person(request)
    roles.require(benchmark, person, roles.ORGANISER)
    return benchmark, person
