"""Draw decisions for a second reading, and show how far those who decide agree."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.adjudication import second_readings
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_project


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument("--ask", type=int, metavar="N", help="draw so many decisions")
        parser.add_argument("--seed", default="second-1", help="the same draws the same")

    def handle(self, *args: Any, **options: Any) -> None:
        project, by = get_project(options["project"]), self.acting_user(options["by"])
        with errors_as_messages():
            if options["ask"] is not None:
                n = second_readings.ask(project, n=options["ask"], seed=options["seed"], by=by)
                self.write(f"{n:,} decisions drawn")
            result = second_readings.agreement(project, by=by)
        alpha = "undefined" if result.alpha is None else f"{result.alpha:.4f}"
        read = f"{len(result.pairs):,} read, {result.agreed:,} alike, alpha {alpha}"
        self.write(f"{result.asked:,} drawn, {read}")
