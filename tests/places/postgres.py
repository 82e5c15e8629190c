"""A PostgreSQL server for a test session, and Django switched to it for one test."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import environ
import psycopg
from django.db import connections

from tests.places.skipping import skip_or_fail
from tests.places.tables import default_is, made_once, migrate

WITH_TABLES = "with_tables"  # the migrated database in a prepared data folder


def binary(name: str) -> str | None:
    found = shutil.which(name) or max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)
    return str(Path(found).resolve()) if found else None


def as_postgres_user() -> dict[str, Any]:
    """Process arguments, as initdb refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    person = pwd.getpwnam("postgres")
    return {"user": person.pw_uid, "group": person.pw_gid, "extra_groups": [], "cwd": "/"}


class Cluster:
    """A temporary server on a unix socket, without fsync."""

    def __init__(self, prepared: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="evalsvc-pg-"))
        if prepared:
            subprocess.run(["cp", "-a", prepared, self.folder / "data"], check=True)
        else:
            options = ("-U", "test", "-A", "trust", "-E", "UTF8", "--no-sync")
            self.run("initdb", "-D", f"{self.folder}/data", *options)
        self.start()

    @property
    def url(self) -> str:
        return f"postgres://test@/postgres?host={self.folder}"

    def run(self, program: str, *words: str) -> None:
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        command = [binary(program) or program, *words]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=180, **as_postgres_user())

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c max_connections=120"
        data, log = f"{self.folder}/data", f"{self.folder}/log"
        self.run("pg_ctl", "start", "-w", "-D", data, "-l", log, "-o", options)

    def stop(self, *, mode: str = "fast") -> None:
        self.run("pg_ctl", "stop", "-w", "-m", mode, "-D", f"{self.folder}/data")

    def close(self) -> None:
        self.stop(mode="immediate")
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def server() -> Iterator[str]:
    """Address of TEST_DATABASE_URL, else of a server started here, else skip."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield given
        return
    if not (binary("initdb") and binary("pg_ctl")):
        skip_or_fail("postgres", "no TEST_DATABASE_URL and no initdb (apt-get install postgresql)")
    cluster = Cluster(prepared_folder())
    try:
        yield cluster.url
    finally:
        cluster.close()


def prepared_folder() -> Path:
    """The data folder of a server with a migrated database, made once."""
    version = Path(binary("initdb") or "").parent.parent.name
    return made_once(f"postgres-{version}", _make_data_folder)


def _make_data_folder(path: Path) -> None:
    cluster = Cluster()
    try:
        with psycopg.connect(cluster.url, autocommit=True) as admin:
            admin.execute(f'CREATE DATABASE "{WITH_TABLES}"')
        with default_is(_entry(cluster.url, WITH_TABLES)):
            migrate()
    finally:
        cluster.stop()
    subprocess.run(["mv", cluster.folder / "data", path], check=True)
    shutil.rmtree(cluster.folder)


def _entry(url: str, name: str) -> dict[str, Any]:
    """Address of a database for DATABASES, with options as the settings have them."""
    entry: dict[str, Any] = dict(environ.Env.db_url_config(url))
    options = {"server_side_binding": True, "prepare_threshold": 2, **entry.get("OPTIONS", {})}
    return {**entry, "OPTIONS": options, "NAME": name, "CONN_MAX_AGE": 0}


@contextmanager
def database(url: str, name: str, *, tables: bool = False) -> Iterator[dict[str, Any]]:
    """A database on that server, as an entry of DATABASES; empty, or with all tables."""
    entry = _entry(url, name)
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        names = [row[0] for row in admin.execute("SELECT datname FROM pg_database")]
        prepared = tables and WITH_TABLES in names
        admin.execute(f'CREATE DATABASE "{name}"' + f' TEMPLATE "{WITH_TABLES}"' * prepared)
        try:
            if tables and not prepared:
                with default_is(entry):
                    migrate()
            yield entry
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def is_any_lock_awaited() -> bool:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


def until(condition: Callable[[], bool], *, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.01)


def in_threads(n: int, work: Callable[[int], Any]) -> list[Any]:
    """Results of `work(i)` in n threads started at once, each with its own connection."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    gate = Barrier(n)

    def one(i: int) -> Any:
        try:
            connections["default"].ensure_connection()
            gate.wait(120)
            return work(i)
        finally:
            connections["default"].close()

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(one, range(n)))
