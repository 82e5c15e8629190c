"""Fault points: a process that reaches an armed one waits there until it is released or killed.

The product has no hooks. Its functions are wrapped at start by `PointsConfig`, which only the settings of
these tests list, and only where CRASH_POINTS names a folder. The file `NAME.armed` in it arms a point, after
as many passes as it states; the process that gets there then renames it to `NAME.PID`, and goes on when that
file is gone.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db import transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet

FOLDER = "CRASH_POINTS"
HANG = signal.SIGRTMIN + 1
FULL = "full"  # the file of this name fills the storage
LONGEST_SECONDS = 90
CORPUS, PARTS = 40, 5  # sentences of the project whose candidates change, and the parts that are chosen
WEB = ("file stored", "hint not sent", "hint lost", "hint doubled")
SCORING = (
    "before claim",
    "after claim",
    "reading",
    "scoring",
    "heart-beating",
    "before commit",
    "not acknowledged",
)
OF_KIND = {
    "import": "importing",
    "freeze": "freezing",
    "predict": "predicting",
    "split": "splitting",
    "map": "mapping",
    "compare": "comparing",
    "candidates": "choosing",
}
LONG = (*OF_KIND.values(), "rescoring")
STAGED = ("Item", "Vote", "TestSetRow", "Suggestion")
STAGING = ("inserting", "deleting", "between chunks")
POINTS = (*WEB, *SCORING, *LONG, *STAGING)


def wait(name: str) -> None:
    """Stay here until the file of this process is removed."""
    path, end = Path(os.environ[FOLDER], f"{name}.{os.getpid()}"), time.monotonic() + LONGEST_SECONDS
    while path.exists() and time.monotonic() < end:
        time.sleep(0.02)


reached: Callable[[str], None] = wait


def is_armed(name: str) -> bool:
    return Path(os.environ[FOLDER], f"{name}.armed").exists()


def point(name: str) -> bool:
    """Stop here if the point is armed; only the first process does."""
    folder = Path(os.environ[FOLDER])
    armed = folder / f"{name}.armed"
    try:
        if passes := int(armed.read_text() or 0):
            armed.write_text(str(passes - 1))
            return False
        armed.rename(folder / f"{name}.{os.getpid()}")
    except FileNotFoundError:
        return False
    reached(name)
    return True


def is_web() -> bool:
    return "gunicorn" in sys.argv[0]


class PointsConfig(AppConfig):
    name = "tests.crash"
    label = "crash"

    def ready(self) -> None:
        if os.environ.get(FOLDER):
            from annotation import candidates

            install(web=is_web())
            candidates.AT_ONCE, candidates.CHUNK = CORPUS // 2, 4
            signal.signal(HANG, hang)
            if settings.JOB_LEASE_SECONDS < 10:
                from evalsvc.core.jobs import transitions

                transitions.LONGEST_WAIT_SECONDS = 2 * settings.JOB_LEASE_SECONDS


def hang(*_: object) -> None:
    """Never return to the main loop."""
    while True:
        time.sleep(60)


def install_without_models(lease: int) -> None:
    """In beat and the supervisor, which load no apps: let them hang, and shorten pauses like leases."""
    if not os.environ.get(FOLDER) or not {"up", "beat"} & set(sys.argv[1:]):
        return
    from evalsvc.local import child_process, supervisor

    signal.signal(HANG, hang)
    if lease < 10:
        child_process.MAX_PAUSE_SECONDS, child_process.STABLE_SECONDS = lease, 6 * lease
        supervisor.PROBE_SECONDS = 2 * lease


def install(*, web: bool) -> None:
    """Wrap the functions of the product in this process."""
    from annotation.imports import suggestions
    from evalsvc.core import database
    from evalsvc.core.jobs import lease, queue, transitions
    from evalsvc.core.storage import WholeFileStorage

    wrap(WholeFileStorage, "_save", before=on_save)
    if web:
        wrap(WholeFileStorage, "_save", after=lambda *_: point("file stored"))
        wrap(queue, "wake_worker", instead=send_hint)
    wrap(queue, "_claim_first", before=lambda *_: point("before claim"), after=on_claimed)
    wrap(transitions, "complete", after=lambda *_: point("not acknowledged"))
    wrap(transitions, "record_event", after=on_event)
    wrap(
        QuerySet, "bulk_create", before=lambda rows, *_: rows.model.__name__ in STAGED and point("inserting")
    )
    wrap(database, "_copy", before=lambda rows, *_: type(rows[0]).__name__ in STAGED and point("inserting"))
    wrap(
        CursorWrapper,
        "executemany",
        before=lambda _, sql, *__: sql == suggestions.REPLACE and point("inserting"),
    )
    wrap(QuerySet, "delete", before=lambda rows, *_: rows.model.__name__ in STAGED and point("deleting"))
    wrap(transaction.Atomic, "__enter__", before=on_transaction)
    wrap(lease.Lease, "write", before=on_write)
    wrap(lease.Progress, "__call__", before=on_progress)


def wrap(
    owner: Any,
    name: str,
    *,
    before: Callable[..., object] = lambda *_: None,
    after: Callable[..., object] = lambda *_: None,
    instead: Callable[..., Any] | None = None,
) -> None:
    """Replace a function; `after` gets its result first."""
    original = getattr(owner, name)

    @wraps(original)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        if instead:
            return instead(original, *arguments, **options)
        before(*arguments)
        result = original(*arguments, **options)
        after(result, *arguments)
        return result

    setattr(owner, name, wrapper)


def on_save(storage: Any, name: str, content: Any) -> None:
    """Let the disk be full after half of the bytes."""
    write = content.chunks

    def chunks(size: int | None = None) -> Iterator[bytes]:
        for chunk in write(size):
            if Path(os.environ[FOLDER], FULL).exists():
                yield chunk[: len(chunk) // 2]
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            yield chunk

    content.chunks = chunks


def send_hint(send: Callable[[str], None], queue: str) -> None:
    """Send the message none, one or three times."""
    point("hint not sent")
    if point("hint lost"):
        return
    for _ in range(3 if point("hint doubled") else 1):
        send(queue)


def on_claimed(job: Any, *_: Any) -> None:
    if job is not None:
        point("after claim")


def on_event(result: Any, pk: int, event: str, *_: Any) -> None:
    if event == "done":  # inside the transaction that stores the result
        point("before commit")


def on_transaction(*_: Any) -> None:
    if is_armed("between chunks"):
        callers = "".join(frame.filename for frame in traceback.extract_stack())
        if "annotation/imports" in callers or "annotation/freezing" in callers:
            point("between chunks")


def on_write(*_: Any) -> None:
    if threading.current_thread().name.startswith("lease-"):
        point("heart-beating")


def on_progress(progress: Any, done: int, total: int, step: str = "") -> None:
    job = progress._lease.job
    if job.kind == "score" and is_armed("rescoring") and is_scored(job.subject):
        point("rescoring")
    elif job.kind == "score":
        while is_armed("heart-beating"):  # until the thread that renews the lease gets there
            time.sleep(0.02)
        point("scoring" if step.endswith("scoring") else "reading")
    elif job.kind in OF_KIND:
        point(OF_KIND[job.kind])


def is_scored(submission: int) -> bool:
    from evalsvc.evaluation.models import Submission

    return Submission.objects.filter(pk=submission, scored_at__isnull=False).exists()
