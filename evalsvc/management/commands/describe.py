"""Print what a frozen test set is made of."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.testset import TestSet
from evalsvc.management.commands._base import Acting, test_set_of


def told(command: Acting, test_set: TestSet) -> None:
    """A set's name, digest and statistics."""
    test_set.refresh_from_db()
    command.say(f"{test_set} ({test_set.origin}, {test_set.slug}): {test_set.state}")
    command.say(f"  sha256 {test_set.sha256}")
    for name, value in (test_set.statistics or {}).items():
        if isinstance(value, float):
            command.say(f"  {value:>9.4f}  {name.replace('_', ' ')}")
    command.figures(test_set.statistics or {})
    quality = (test_set.statistics or {}).get("source_quality") or {}
    for name in ("fact_precision", "fact_recall", "pair_accuracy"):
        if quality.get(name) is not None:
            command.say(f"  {100 * quality[name]:>9.1f}  % {name.replace('_', ' ')} of the source labels")


class Command(Acting):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("test_set", help="slug of the test set")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set = test_set_of(options["test_set"])
        if test_set.statistics is None:
            self.do("describe", test_set.pk, queue=options["queue"])
        told(self, test_set)
