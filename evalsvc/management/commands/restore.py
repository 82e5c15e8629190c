"""Restore a backup into an empty installation, and verify it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, CommandParser
from django.db import Error

from evalsvc.local.backup import restore
from evalsvc.local.startup_checks import lock_data_folder
from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    help = f"{__doc__} The service must be stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="folder of the backup")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with lock_data_folder(settings.DATA_DIR, "a restore"):
                restore(options["folder"])
        except (OSError, sqlite3.Error, Error) as error:
            raise CommandError(
                f"The restore is not complete: {error}. Fix that, and run it again."
            ) from error
        self.write("Restored: boards, test sets and files equal those of the backup. Start with make up.")
