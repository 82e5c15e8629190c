"""Base classes of the commands: acting user, jobs."""

from __future__ import annotations

import logging
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from django.core.management import CommandError, CommandParser

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.jobs.models import Job
from evalsvc.management.commands._plain import PlainCommand

if TYPE_CHECKING:
    from workers.cli.command import CommandOutput


class ScoringCommand(PlainCommand):
    """Reads local files, stores nothing, and needs no database."""

    requires_system_checks = []

    def exit_with(self, function: Callable[[Namespace], CommandOutput], options: dict[str, Any]) -> None:
        """Print the outcome and exit with its code."""
        outcome = function(Namespace(**options))
        if outcome.out:
            self.stdout.write(outcome.out)
        if outcome.err:
            self.stderr.write(outcome.err)
        if outcome.code:
            sys.exit(outcome.code)


class ActingCommand(PlainCommand):
    """Acts as a user; runs its jobs or leaves them queued."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--by", default="", metavar="USER", help="acting user; default: first active superuser"
        )
        parser.add_argument("--queue", action="store_true", help="leave the work to a worker")

    def execute(self, *args: Any, **options: Any) -> Any:
        """Hide failed notifications of workers, unless jobs are left to them."""
        notifications = logging.getLogger("evalsvc.core.jobs.queue")
        before = notifications.level
        notifications.setLevel(before if options.get("queue") else logging.CRITICAL)
        try:
            return super().execute(*args, **options)
        finally:
            notifications.setLevel(before)

    def acting_user(self, name: str) -> User:
        """Return the user named, or the first superuser; deactivated ones may do nothing."""
        users = User.objects.filter(username=name) if name else User.objects.filter(is_superuser=True)
        user = users.order_by("-is_active", "pk").first()
        if user is not None and user.is_active:
            return user
        if user is not None:
            reason = f"The account {user.username!r} is deactivated."
        else:
            reason = f"There is no user {name!r}." if name else "There is no superuser."
        raise CommandError(f"{reason} Create one with manage.py createsuperuser, or name one with --by.")

    def run_job(self, kind: str, subject: int, *, queue: bool = False) -> None:
        """Run the newest job of this kind, unless it is queued."""
        job = Job.objects.filter(kind=kind, subject=subject).order_by("-pk").first()
        if job and not queue:
            self._run_to_end(job)

    def run_recomputation(self, project: Any, *, queue: bool = False) -> None:
        """Run what the project's states wait for, unless it is queued; the newest job may not be that."""
        from annotation.consensus.pending_recomputation import pending

        while not queue and (job := pending(project)):
            self._run_to_end(job)

    def _run_to_end(self, job: Job) -> None:
        from evalsvc.core.jobs import lease
        from workers.runner import run_inline

        started = time.monotonic()
        job = run_inline(job)
        if job.state not in Job.ENDED:  # a worker took it first, or it is to be tried again
            self.write(f"{job.kind}: waits for job {job.pk} ({job.state}). {job.error}".rstrip())
        while job.state not in Job.ENDED:
            time.sleep(0.2)
            lease.reconcile()  # the worker may have been killed, and no other process run
            job = run_inline(job)
        self.write(f"{job.kind}: {job.state} in {time.monotonic() - started:.1f} s")
        if job.state != Job.State.DONE:
            raise CommandError(job.error or f"The job {job.kind} was {job.state}.")

    def write_counts(self, counts: dict[str, Any]) -> None:
        """Print the whole numbers with their names, one per line."""
        for name, value in counts.items():
            if isinstance(value, int):
                self.write(f"  {value:>9,}  {name.replace('_', ' ')}")


@contextmanager
def errors_as_messages() -> Iterator[None]:
    """Turn domain errors and rejected files into command errors."""
    try:
        yield
    except DomainError as error:
        raise CommandError(" ".join(filter(None, [str(error), error.hint]))) from error
    except FileRejected as error:
        raise CommandError(str(error)) from error


@contextmanager
def open_file(path: str) -> Iterator[BinaryIO]:
    if not Path(path).is_file():
        raise CommandError(f"There is no file {path}.")
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise CommandError(f"Cannot read {path} ({error.strerror}).") from error
    with file:
        yield file


def get_project(slug: str) -> Any:
    from annotation.models import Project

    project = Project.objects.filter(slug=slug).first()
    if project is None:
        raise CommandError(f"There is no project {slug!r}. Create one with manage.py create_project.")
    return project


def get_test_set(slug: str) -> Any:
    from annotation.testset import TestSet

    test_set = TestSet.objects.filter(slug=slug).first()
    if test_set is None:
        slugs = ", ".join(TestSet.objects.values_list("slug", flat=True)[:10]) or "none"
        raise CommandError(f"There is no test set {slug!r}. Available: {slugs}.")
    return test_set
