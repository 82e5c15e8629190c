"""Compare two systems by their prediction files: the significance report; nothing is stored."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from django.core.management import CommandParser

from evalsvc.management.commands._scoring import Scored


class Command(Scored):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        from workers.cli.arguments import add_compare

        add_compare(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.cli import command

        self.end(command.compare(Namespace(**options)))
