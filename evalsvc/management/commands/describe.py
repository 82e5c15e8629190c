"""Print the statistics of a frozen test set."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.testset import TestSet
from evalsvc.management.commands._base import ActingCommand, get_test_set


def write_description(command: ActingCommand, test_set: TestSet) -> None:
    """Print name, digest and statistics of a test set."""
    test_set.refresh_from_db()
    statistics = test_set.statistics or {}
    command.write(f"{test_set} ({test_set.origin}, {test_set.slug}): {test_set.state}")
    command.write(f"  sha256 {test_set.sha256}")
    for name, value in statistics.items():
        if isinstance(value, float):
            command.write(f"  {value:>9.4f}  {name.replace('_', ' ')}")
    command.write_counts(statistics)
    quality = statistics.get("source_quality") or {}
    for name in ("fact_precision", "fact_recall", "pair_accuracy"):
        if quality.get(name) is not None:
            command.write(f"  {100 * quality[name]:>9.1f}  % {name.replace('_', ' ')} of the source labels")


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("test_set", help="slug of the test set")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set = get_test_set(options["test_set"])
        if test_set.statistics is None:
            self.run_job("describe", test_set.pk, queue=options["queue"])
        write_description(self, test_set)
