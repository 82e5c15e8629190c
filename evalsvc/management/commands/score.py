"""Score a prediction file against a gold file; nothing is stored."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from evalsvc.management.commands._base import ScoringCommand


class Command(ScoringCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        from workers.cli.arguments import add_score

        add_score(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.cli import command

        self.exit_with(command.score, options)
