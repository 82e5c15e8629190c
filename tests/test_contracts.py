"""Agreement between packages: job kinds and handlers, queues, routes, docs."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver

from evalsvc.celery import app
from evalsvc.core.jobs import kinds
from evalsvc.evaluation.measures.menu import MENU

ROOT = Path(__file__).resolve().parent.parent


def routes(patterns: list[URLPattern | URLResolver] | None = None, prefix: str = "") -> list[tuple[str, str]]:
    """Each route as (address, name)."""
    found: list[tuple[str, str]] = []
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        address = prefix + str(entry.pattern)
        if isinstance(entry, URLResolver):
            found += routes(entry.url_patterns, address)
        else:
            found.append((address, entry.name or ""))
    return found


def api_routes() -> list[str]:
    return sorted({address for address, _ in routes() if address.startswith("api/v1/")})


def test_every_kind_of_job_has_a_handler_and_every_handler_a_kind() -> None:
    from workers.runner import HANDLERS

    assert set(HANDLERS) == set(kinds.names())


def test_every_kind_of_job_has_a_queue_that_workers_serve() -> None:
    assert {kinds.get(name).queue for name in kinds.names()} <= set(settings.JOB_QUEUES)


def test_the_task_published_by_the_web_exists_in_the_workers() -> None:
    from workers.celery import app as workers_app

    workers_app.loader.import_default_modules()
    own = {name for name in workers_app.tasks if not name.startswith("celery.")}
    assert workers_app is app
    assert own == {"workers.run_next"}


def test_every_page_has_a_unique_name() -> None:
    names = [name for address, name in routes() if not address.startswith("api/")]
    assert "" not in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("key", sorted(MENU))
def test_the_docs_name_every_measure(key: str) -> None:
    assert f"`{key}`" in (ROOT / "docs" / "measures.md").read_text()


@pytest.mark.parametrize("address", api_routes() if settings.configured else [])
def test_the_docs_name_every_endpoint(address: str) -> None:
    shown = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", address).replace("{pk}", "{id}")
    assert f"`{shown}`" in (ROOT / "docs" / "api.md").read_text(), shown
