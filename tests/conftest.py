"""Fixtures of all tests, and a summary of skipped ones."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import kombu.pools
import pytest
from _pytest import runner
from django.conf import settings
from django.db import transaction
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as examples

from evalsvc.celery import app as celery_app
from evalsvc.local.embedded_broker import EmbeddedBroker
from tests.cast.replay import NotedPatch
from tests.places import postgres as pg
from tests.places.browser import Window, chromium
from tests.places.extent import FULL
from tests.places.rabbitmq import RabbitMQ
from tests.places.stack import with_room
from tests.places.tables import copy_sqlite, default_is, empty
from tests.places.workers import Worker

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Clock, Page

    from tests.cast.benchmarks import BenchmarkCast
    from tests.permissions.requester import Requester

StartWorker = Callable[..., Worker]
LONG = ("test_bench_queue.py", "test_load.py", "test_loader.py", "test_queue_model.py")
LONG += ("test_schemathesis.py", "test_visibility.py")
# No deadline, as the time of an example depends on the machine. Examples are the same each time, so
# that a run judges the change; a longer run (CI_SECONDS) looks for new ones.
examples.register_profile(
    "unhurried",
    deadline=None,
    max_examples=100 if FULL else 20,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=int(os.environ.get("CI_SECONDS", "10")) <= 60,
)
examples.load_profile("unhurried")


@pytest.fixture(scope="session")
def django_db_setup(
    django_test_environment: None, django_db_modify_db_settings: None, django_db_blocker: Any
) -> Iterator[None]:
    """The SQLite file of this process, also for `sqlite` and `postgres`."""
    from tests.cast import periodic

    periodic.pause()
    TransactionTestCase._fixture_teardown = lambda _: empty()  # type: ignore[method-assign]
    with django_db_blocker.unblock():
        path = Path(settings.DATABASES["default"]["TEST"]["NAME"])
        copy_sqlite(path)
    with default_is({"NAME": str(path)}):
        yield


@pytest.fixture(scope="session")
def postgres_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, Any]]:
    """One migrated PostgreSQL database for the session."""
    name = f"evalsvc_test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{os.getpid()}"
    with ExitStack() as places:
        with django_db_blocker.unblock():  # migrates, unless another process did
            url = places.enter_context(pg.server())
            entry = places.enter_context(pg.database(url, name, tables=True))
        yield entry


@pytest.fixture
def postgres(postgres_database: dict[str, Any], django_db_blocker: Any) -> Iterator[dict[str, Any]]:
    """Django on PostgreSQL for this test, with real transactions; use it instead of `db`."""
    with django_db_blocker.unblock(), pg.default_is(postgres_database):
        try:
            yield postgres_database
        finally:
            empty()


@pytest.fixture
def sqlite(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Django on SQLite for this test, with real transactions."""
    with django_db_blocker.unblock():
        try:
            yield
        finally:
            empty()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def either_database(request: pytest.FixtureRequest) -> str:
    """Real transactions, once on each database."""
    request.getfixturevalue(request.param)
    return str(request.param)


@pytest.fixture
def monkeypatch() -> Iterator[pytest.MonkeyPatch]:
    with NotedPatch.context() as patch:
        yield patch


@pytest.fixture
def cast(db: None, tmp_path: Path, settings: Any) -> BenchmarkCast:
    """The cast of benchmarks, with its own file storage."""
    from tests.cast.benchmarks import BenchmarkCast

    settings.MEDIA_ROOT = tmp_path / "files"
    return BenchmarkCast.create()


@pytest.fixture(scope="module")
def requester(django_db_setup: None, django_db_blocker: Any) -> Iterator[Requester]:
    """The whole cast, created once per module and rolled back in the end."""
    from tests.cast.service import ServiceCast
    from tests.permissions.requester import Requester

    with django_db_blocker.unblock(), transaction.atomic():
        yield Requester(ServiceCast.create())
        transaction.set_rollback(True)


def point_celery_at(url: str) -> str:
    """Publish jobs to this broker; return the previous one."""
    before = celery_app.conf.broker_url
    kombu.pools.reset()
    celery_app.conf.broker_url = url
    celery_app._pool = celery_app.amqp._producer_pool = None
    return str(before)


@pytest.fixture(scope="session", params=["valkey", *(["rabbitmq"] if FULL else [])])
def running_broker(request: pytest.FixtureRequest) -> Iterator[EmbeddedBroker | RabbitMQ]:
    is_valkey = request.param == "valkey"
    server = EmbeddedBroker(Path(settings.DATA_DIR) / "broker") if is_valkey else RabbitMQ()
    server.start()
    yield server
    server.close()


@pytest.fixture
def broker(running_broker: EmbeddedBroker | RabbitMQ) -> Iterator[EmbeddedBroker | RabbitMQ]:
    """A running, empty broker that this process publishes to; a test may stop() and start() it."""
    if not running_broker.answers():
        running_broker.start()
    running_broker.clear()
    before = point_celery_at(running_broker.url)
    yield running_broker
    point_celery_at(before)


@pytest.fixture
def worker(broker: EmbeddedBroker | RabbitMQ, tmp_path: Path) -> Iterator[StartWorker]:
    """Start real workers: `worker()` for the product's, `worker("tests.workers.slow")` for one with more."""
    started: list[Worker] = []

    def start(app: str = "workers", **options: Any) -> Worker:
        log = tmp_path / f"worker{len(started)}.log"
        started.append(Worker(app, broker_url=broker.url, log=log, **options))
        return started[-1].wait_until_ready()

    yield start
    for process in started:
        process.kill()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Playwright's loop runs in this thread
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def window(browser: Browser, live_server: Any) -> Iterator[Window]:
    window = Window(browser, live_server.url)
    yield window
    window.close()


@pytest.fixture
def page(window: Window, live: str) -> Iterator[Page]:
    """A page without cookies or stored values; any error in its console fails the test."""
    yield window.open()
    assert window.clear() == []


@pytest.fixture
def clock(window: Window, page: Page) -> Iterator[Clock]:
    """The time of the page, which the test moves."""
    page.clock.install()
    yield page.clock
    window.close()  # a clock can't be taken out


@pytest.fixture
def live(transactional_db: None, live_server: Any) -> str:
    """The address of the live server."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    return str(live_server.url)


def pytest_collection_finish() -> None:
    """Keep the collected tests from the garbage collector, which would walk them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    return bool(with_room(runner.pytest_runtest_protocol, item, nextitem))


# Folders whose tests are attacks, all of them.
ATTACKS = ("tests/attacks/", "tests/permissions/", "tests/evalsvc/evaluation/disclosure/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the attacks; run files with long tests first: none is left to one process at the end."""
    named = attacks()
    for item in items:
        if item.nodeid.partition("[")[0] in named or item.nodeid.startswith(ATTACKS):
            item.add_marker(pytest.mark.attack)
    slow = {
        item.path
        for item in items
        if item.path.name in LONG or any(map(item.get_closest_marker, ("browser", "worker")))
    }
    items.sort(key=lambda item: item.path not in slow)


def attacks() -> set[str]:
    """The tests that docs/security.md names."""
    text = (Path(settings.BASE_DIR) / "docs" / "security.md").read_text()
    return set(re.findall(r"tests/[\w/]+\.py::test_\w+", text))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Count skipped tests by reason."""
    reasons: dict[str, int] = {}
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, list | tuple) else str(report.longrepr)
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, n in sorted(reasons.items()):
        terminalreporter.write_line(f"{n} skipped: {reason.removeprefix('Skipped: ')}")
