"""Check a copy of a release, from its files alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from annotation.releases.check import NOT_COMPARED, CheckResult, check
from annotation.releases.checksums import open_folder
from evalsvc.management.commands._base import ScoringCommand


class Command(ScoringCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", help="folder of the release, unpacked")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            result = check(open_folder(Path(options["folder"])))
        except OSError as error:
            raise CommandError(f"Cannot read {error.filename} ({error.strerror}).") from error
        self._write(result)
        if not result.is_intact:
            sys.exit(1)

    def _write(self, result: CheckResult) -> None:
        for name, texts in sorted(result.differences.items()):
            for text in texts:
                self.stdout.write(f"{name}: {text}")
        if result.title:
            self.stdout.write(f"{result.title}: {result.rows:,} lines, {result.redecided:,} decided anew")
        if result.is_intact:
            n = len(result.checked)
            self.stdout.write(f"The {n} files agree with each other and with the manifest.")
            if result.unbound:
                names = ", ".join(result.unbound)
                self.stdout.write(f"manifest.json states no SHA-256 of {names}: their checksums may be new.")
            if result.has_gold:
                self.stdout.write(NOT_COMPARED)
            else:
                self.stdout.write("This copy has no gold, so no label was compared.")
        if result.manifest_sha256:
            self.stdout.write(f"SHA-256 of manifest.json: {result.manifest_sha256}")
            self.stdout.write("Compare it with that on the page of the test set.")
