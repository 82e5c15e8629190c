"""What the commands about local files share: a table or JSON, a refusal, the code to end with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from evalsvc.management.commands._base import Spoken

if TYPE_CHECKING:
    from workers.cli.command import CommandOutput


class Scored(Spoken):
    """A command that reads local files, stores nothing, and needs no database."""

    requires_system_checks = []

    def end(self, outcome: CommandOutput) -> None:
        """Print what came of it where it belongs."""
        if outcome.out:
            self.stdout.write(outcome.out)
        if outcome.err:
            self.stderr.write(outcome.err)
        if outcome.code:
            sys.exit(outcome.code)
