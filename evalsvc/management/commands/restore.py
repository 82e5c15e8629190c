"""Restore a backup into an empty installation, verify it, and end all access that it has."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandError, CommandParser, call_command
from django.db import Error

from evalsvc.local.backup import restored
from evalsvc.local.preparation import prepare_tables
from evalsvc.local.startup_checks import lock_data_folder
from evalsvc.management.commands._plain import PlainCommand

KEPT = "Tokens, invitations, sessions and reset links of that time are valid."
RETURNED = """\
What was taken away after that time may be in force again: roles, teams, releases, identities, deactivated
accounts, changed passwords, former e-mail addresses, used quotas. Security events in the logs after it name
most of this: search for removed, role_set, revoked, deactivated, forbidden, disconnected, password_set and
email_changed. docs/operations.md, After a restore, has the steps. Do them before others reach the service.
Start with make up."""


class Command(PlainCommand):
    help = f"{__doc__} The service must be stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path, help="folder of the backup")
        parser.add_argument(
            "--keep-access",
            action="store_true",
            help="keep tokens, invitations, sessions and reset links: for a move right after the backup",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with (
                lock_data_folder(settings.DATA_DIR, "a restore"),
                restored(options["folder"]) as at,
            ):
                self.write(f"Restored: boards, test sets and files equal those of the backup. State of {at}.")
                prepare_tables()
                if options["keep_access"]:
                    self.write(KEPT)
                else:
                    call_command("end_access", stdout=self.stdout)
        except (OSError, sqlite3.Error, Error) as error:
            raise CommandError(
                f"The restore is not complete: {error}. Fix that, and run it again."
            ) from error
        self.write(RETURNED)
