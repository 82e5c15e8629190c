"""Write a frozen test set: its lines as JSONL, exactly the bytes digested, or its release folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from annotation.testset import TestSet, export_lines
from evalsvc.management.commands._base import PlainCommand, errors_as_messages, get_test_set


class Command(PlainCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("test_set", help="slug of the test set")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("-o", "--output", help="file to write; default: standard output")
        where.add_argument("--folder", help="write all files of a release into this new folder")
        parser.add_argument("--blind", action="store_true", help="with --folder: leave out the gold")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set = get_test_set(options["test_set"])
        if options["blind"] and not options["folder"]:
            raise CommandError("--blind needs --folder: without gold there are no lines to write.")
        with errors_as_messages():
            test_set.verify()
        if options["folder"]:
            self._write_folder(test_set, Path(options["folder"]), with_gold=not options["blind"])
        elif options["output"]:
            try:
                with Path(options["output"]).open("wb") as file:
                    file.writelines(export_lines(test_set))
            except OSError as error:
                raise CommandError(f"Cannot write {options['output']} ({error.strerror}).") from error
            self.stderr.write(f"{test_set.rows:,} lines, sha256 {test_set.sha256}")
        else:
            for line in export_lines(test_set):
                self.stdout.write(line.decode(), ending="")

    def _write_folder(self, test_set: TestSet, path: Path, *, with_gold: bool) -> None:
        from annotation.releases.folder import manifest_sha256, write_folder

        try:
            with errors_as_messages():
                count = write_folder(test_set, path, with_gold=with_gold)
        except OSError as error:
            raise CommandError(f"Cannot write {path} ({error.strerror}).") from error
        self.stderr.write(f"{count} files in {path}, SHA-256 of manifest.json {manifest_sha256(test_set)}")
