"""Back up database and files together, while the service runs or not."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser
from django.db import Error

from evalsvc.local.backup import back_up
from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="new folder to write")

    def handle(self, *args: Any, **options: Any) -> None:
        folder = options["folder"]
        try:
            differences = back_up(folder)
        except (OSError, sqlite3.Error, Error) as error:
            raise CommandError(f"There is no backup in {folder}: {error}. Fix that first.") from error
        self.write(f"The backup is in {folder}.")
        for detail in differences:
            self.stderr.write(f"Left out: {detail}")
        if differences:
            self.stderr.write("Run manage.py doctor for the cures.")
            sys.exit(1)
