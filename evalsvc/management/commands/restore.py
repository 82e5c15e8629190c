"""Restore a backup into an empty installation, and verify it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandParser

from evalsvc.local.backup import restore
from evalsvc.local.startup_checks import lock_data_folder
from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    help = f"{__doc__} The service must be stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="folder of the backup")

    def handle(self, *args: Any, **options: Any) -> None:
        with lock_data_folder(settings.DATA_DIR, "a restore"):
            restore(options["folder"])
        self.write("Restored: boards, test sets and files equal those of the backup. Start with make up.")
