"""Tables and static files at a start, made in a process of their own."""

from __future__ import annotations

import hashlib
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command

from evalsvc.environment import make_private
from evalsvc.local.child_process import end_with_parent


@dataclass(frozen=True, slots=True)
class Installation:
    """What a start finds in the database."""

    has_accounts: bool
    wants_demo: bool


def prepare_apart() -> Installation:
    """Prepare in a process of its own: models and migrations would stay in this one, with 60 MB."""
    # left behind by a killed supervisor, it would hold the lock of the folder for ever
    with ProcessPoolExecutor(1, get_context("fork"), initializer=end_with_parent) as process:
        return process.submit(_prepare_with_models).result()


def _prepare_with_models() -> Installation:
    django.setup()
    prepare()
    from evalsvc.core.accounts.models import User
    from evalsvc.demo import loader

    return Installation(has_accounts=User.objects.exists(), wants_demo=loader.is_wanted())


def prepare_tables() -> None:
    """Bring the tables to this build, unless they belong to another."""
    from evalsvc.local.schema_check import require_matching_schema, store_digests

    if require_matching_schema():
        call_command("migrate", interactive=False, verbosity=0)
    store_digests()


def prepare() -> None:
    """Update tables and static files, and create the upload folder."""
    prepare_tables()
    make_private(settings.DATA_DIR)  # of an earlier build, perhaps
    Path(settings.MEDIA_ROOT).mkdir(exist_ok=True)
    stamp, digest = settings.DATA_DIR / "static.stamp", static_digest()
    collected = settings.STATIC_ROOT.exists() and stamp.exists() and stamp.read_text() == digest
    if not collected:
        call_command("collectstatic", interactive=False, verbosity=0, clear=True)
        stamp.write_text(digest)


def static_digest() -> str:
    """A digest that changes with any static file."""
    from django.contrib.staticfiles.finders import get_finders

    digest = hashlib.sha256(settings.STORAGES["staticfiles"]["BACKEND"].encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            state = Path(storage.path(path)).stat()
            digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return digest.hexdigest()
