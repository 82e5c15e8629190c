"""What a training file shares with a test set: pairs, facts, sentences, entity names."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.splits import making
from evalsvc.core.web.formatting import percent
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_test_set, open_file


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("test_set", help="slug of the test set")
        parser.add_argument("file", help="training data in any format of sentences")
        parser.add_argument("--format", default="", help="default: as recognised")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set, by = get_test_set(options["test_set"]), self.acting_user(options["by"])
        with errors_as_messages(), open_file(options["file"]) as file:
            rows = making.leakage_of(test_set, file, by=by, format=options["format"])
        for row in rows:
            share = "" if row.share_of_test is None else f" ({percent(row.share_of_test)} %)"
            self.write(
                f"{row.title}: {row.train:,} in the file, {row.test:,} in {test_set}, shared"
                f" {row.shared:,}{share}, in {row.test_items:,} test items"
            )
