"""Compare prediction files of 2 to 10 systems and test the differences."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from evalsvc.management.commands._base import ScoringCommand


class Command(ScoringCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        from workers.cli.arguments import add_compare

        add_compare(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.cli import command

        self.exit_with(command.compare, options)
