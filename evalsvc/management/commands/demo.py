"""Load the demo: projects, test sets, benchmarks, runs; safe to repeat."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from evalsvc.demo.logins import login_lines
from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--logins", action="store_true", help="only print the logins")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["logins"]:
            from evalsvc.demo import loader

            loader.load(lambda message: self.write(f"demo: {message}"))
        for line in login_lines():
            self.stdout.write(line)
