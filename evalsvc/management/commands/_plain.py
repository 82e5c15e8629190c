"""Base class of all commands; it loads no models, for those that run as long as the service."""

from __future__ import annotations

import errno
import sys

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from django.db import DatabaseError, OperationalError, ProgrammingError

from evalsvc.checks import INSTALLATION


class PlainCommand(BaseCommand):
    """Prints error messages; tracebacks only with --traceback.

    Its help is the docstring of its module, unless it has another. It checks the installation alone: Django's
    other checks judge the code, and load every page for it.
    """

    requires_system_checks = [INSTALLATION]

    def __init_subclass__(cls) -> None:
        cls.help = vars(cls).get("help") or sys.modules[cls.__module__].__doc__ or ""

    def run_from_argv(self, argv: list[str]) -> None:
        if "--traceback" in argv:
            return super().run_from_argv(argv)
        try:
            return super().run_from_argv([*argv[:2], "--traceback", *argv[2:]])
        except CommandError as error:
            self.stderr.write(str(error))
            sys.exit(error.returncode)
        except (OperationalError, ProgrammingError) as error:
            self.stderr.write(_database_message(error))
            sys.exit(1)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            self.stderr.write(f"{error.strerror}. Make room in the data folder, {settings.DATA_DIR}, first.")
            sys.exit(1)

    def write(self, message: str) -> None:
        self.stdout.write(message)
        self.stdout.flush()


def _database_message(error: DatabaseError) -> str:
    from evalsvc.local.schema_check import database_place

    reason = str(error).strip()
    if "no such table" in reason or ("relation " in reason and "does not exist" in reason):
        return f"No tables in {database_place()} yet. Run make up once, or manage.py migrate."
    hint = "Check DATABASE_URL and the free space; --traceback shows more."
    return f"Cannot use the tables in {database_place()}: {reason}\n{hint}"
