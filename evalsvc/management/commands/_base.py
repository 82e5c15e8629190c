"""What the commands share: who acts, a job done in this process, refusals as plain sentences."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, OperationalError, ProgrammingError

from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.jobs.models import Job
from evalsvc.local.schema_check import place


class Spoken(BaseCommand):
    """A command that ends with a sentence where it can't go on, not with the name of an exception."""

    def run_from_argv(self, argv: list[str]) -> None:
        """As a person types it; --traceback shows where it stopped."""
        if "--traceback" in argv:
            return super().run_from_argv(argv)
        try:
            return super().run_from_argv([*argv[:2], "--traceback", *argv[2:]])
        except CommandError as error:
            self.stderr.write(str(error))
            sys.exit(error.returncode)
        except (OperationalError, ProgrammingError) as error:
            self.stderr.write(_of_the_database(error))
            sys.exit(1)


def _of_the_database(error: DatabaseError) -> str:
    """Tables that are not there, or a database that does not do what it is asked."""
    words = str(error).strip()
    if "no such table" in words or ("relation " in words and "does not exist" in words):
        return f"There are no tables in {place()} yet. Start once with make up, or run manage.py migrate."
    where = "DATABASE_URL says where they are; --traceback shows more."
    return f"The tables in {place()} can't be used: {words}\n{where}"


class Acting(Spoken):
    """A command that acts as somebody and may leave its work to a worker."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--by", default="", metavar="USER", help="who acts; default: the first superuser")
        parser.add_argument(
            "--queue", action="store_true", help="leave the work to a worker instead of doing it here"
        )

    def execute(self, *args: Any, **options: Any) -> Any:
        """What is done here needs no hint to a worker, so that none could be given is no news."""
        hints = logging.getLogger("evalsvc.core.jobs.queue")
        before = hints.level
        hints.setLevel(before if options.get("queue") else logging.CRITICAL)
        try:
            return super().execute(*args, **options)
        finally:
            hints.setLevel(before)

    def person(self, name: str) -> User:
        """The one who acts."""
        users = User.objects.filter(username=name) if name else User.objects.filter(is_superuser=True)
        found = users.order_by("pk").first()
        if found is None:
            hint = f"There is no user {name!r}." if name else "There is no superuser."
            raise CommandError(f"{hint} Make one with manage.py createsuperuser, or name one with --by.")
        return found

    def do(self, kind: str, subject: int, *, queue: bool = False) -> Job | None:
        """Do the newest job of this kind here and report on it, unless it is left to a worker."""
        job = Job.objects.filter(kind=kind, subject=subject).order_by("-pk").first()
        if job is None or queue:
            return job
        from workers.runner import run_inline

        begun = time.monotonic()
        job = run_inline(job)
        while job.state not in Job.ENDED:
            time.sleep(0.2)  # a worker was faster: it does the work, and this waits
            job = run_inline(job)
        self.say(f"{kind}: {job.state} in {time.monotonic() - begun:.1f} s")
        if job.state != Job.State.DONE:
            raise CommandError(job.error or f"The job {kind} was {job.state}.")
        return job

    def say(self, words: str) -> None:
        self.stdout.write(words)
        self.stdout.flush()

    def figures(self, found: dict[str, Any]) -> None:
        """Names and whole numbers, one a line."""
        for name, value in found.items():
            if isinstance(value, int):
                self.say(f"  {value:>9,}  {name.replace('_', ' ')}")


@contextmanager
def plain() -> Iterator[None]:
    """Refusals end the command with a sentence instead of a traceback."""
    try:
        yield
    except DomainError as error:
        raise CommandError(" ".join(filter(None, [str(error), error.hint]))) from error
    except FileRejected as error:
        raise CommandError(str(error)) from error


@contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
    """The file, or a sentence that it isn't there."""
    if not Path(path).is_file():
        raise CommandError(f"There is no file {path}.")
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise CommandError(f"{path} can't be read ({error.strerror}).") from error
    with file:
        yield file


def project_of(slug: str) -> Any:
    from annotation.models import Project

    found = Project.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"There is no project {slug!r}. Make one with manage.py create_project.")
    return found


def test_set_of(slug: str) -> Any:
    from annotation.testset import TestSet

    found = TestSet.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(TestSet.objects.values_list("slug", flat=True)[:10]) or "none yet"
        raise CommandError(f"There is no test set {slug!r}; there are: {known}.")
    return found
