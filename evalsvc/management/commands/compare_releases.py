"""Compare two releases: labels changed, facts added and lost, and the cause of each change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from django.core.management import CommandError, CommandParser

from annotation.releases.comparison import compare, summary
from annotation.releases.sides import Side, side_of, side_of_folder
from evalsvc.core.formats.records import canonical_line
from evalsvc.management.commands._base import ScoringCommand, get_test_set


class Command(ScoringCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        for name in ("first", "second"):
            parser.add_argument(name, help="folder of a release, or slug of a test set")
        parser.add_argument("--json", action="store_true", help="print everything as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            found = compare(_side(options["first"]), _side(options["second"]))
        except OSError as error:
            raise CommandError(f"Cannot read {error.filename} ({error.strerror}).") from error
        except ValueError as error:
            raise CommandError(f"{error} Check the folder with `verify_release`.") from error
        if options["json"]:
            self.stdout.write(canonical_line(msgspec.to_builtins(found)).decode(), ending="")
            return
        for line in summary(found):
            self.stdout.write(line)


def _side(name: str) -> Side:
    if not Path(name).is_dir():
        return side_of(get_test_set(name))
    try:
        return side_of_folder(Path(name))
    except (msgspec.MsgspecError, KeyError) as error:
        raise CommandError(f"{name} is not a release folder: {error}.") from error
