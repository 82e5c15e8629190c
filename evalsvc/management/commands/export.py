"""Write a frozen test set as JSONL, exactly the bytes digested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from annotation.testset import export_lines
from evalsvc.management.commands._base import PlainCommand, errors_as_messages, get_test_set


class Command(PlainCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("test_set", help="slug of the test set")
        parser.add_argument("-o", "--output", help="file to write; default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set = get_test_set(options["test_set"])
        with errors_as_messages():
            test_set.verify()
        if options["output"]:
            try:
                with Path(options["output"]).open("wb") as file:
                    file.writelines(export_lines(test_set))
            except OSError as error:
                raise CommandError(f"Cannot write {options['output']} ({error.strerror}).") from error
            self.stderr.write(f"{test_set.rows:,} lines, sha256 {test_set.sha256}")
        else:
            for line in export_lines(test_set):
                self.stdout.write(line.decode(), ending="")
