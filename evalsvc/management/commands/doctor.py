"""Verify stored files, frozen test sets and jobs; name each cure."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management import CommandParser

from evalsvc.core.upkeep import registry, retention, stored_files
from evalsvc.core.web.formatting import counted
from evalsvc.management.commands._plain import PlainCommand

EVERYTHING = sys.maxsize


class Command(PlainCommand):
    help = f"{__doc__} The exit code is 1 if anything was found."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--sweep", action="store_true", help="first remove files and rows that nothing needs"
        )

        parser.add_argument("--show", action="store_true", help="only count what --sweep would remove")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["show"]:
            self.show()
            return
        if options["sweep"]:
            removed = registry.sweep()
            removed["orphan files"] = removed.get("orphan files", 0) + stored_files.sweep_orphans(
                most=EVERYTHING
            )
            for name, n in removed.items():
                self.write(f"removed: {n:,} {name}")
        found = 0
        for finding in registry.findings():
            found += 1
            self.write(f"{finding.code}: {finding.detail}\n  {finding.cure}")
        if found:
            self.stderr.write(f"{counted(found, 'finding')}.")
            sys.exit(1)
        self.write("No findings: stored files, test sets and jobs are in order.")

    def show(self) -> None:
        """Count what is kept no longer, and remove nothing."""
        for name, rows in retention.removable():
            self.write(f"would remove: {rows.count():,} {name}")
        for folder in stored_files.folders():
            orphans = sum(1 for _ in stored_files.orphans(folder))
            self.write(f"would remove: {orphans:,} files in {folder}/ without a row")
        for name, n in registry.removable():
            self.write(f"would remove: {n:,} {name}")
