"""Score a prediction file against a gold file; nothing is stored."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from django.core.management import CommandParser

from evalsvc.management.commands._here import Spoken


class Command(Spoken):
    help = __doc__
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        from workers.scorecard.arguments import add_score

        add_score(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.scorecard import command

        outcome = command.score(Namespace(**options))
        if outcome.out:
            self.stdout.write(outcome.out)
        if outcome.err:
            self.stderr.write(outcome.err)
        if outcome.code:
            sys.exit(outcome.code)
