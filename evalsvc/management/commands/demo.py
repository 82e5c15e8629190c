"""Load the demo: projects, test sets, benchmarks, runs; safe to repeat."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from evalsvc.demo.accounts import PRINTED_LOGINS, read_passwords
from evalsvc.management.commands._base import PlainCommand


class Command(PlainCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--logins", action="store_true", help="only print the logins")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["logins"]:
            from evalsvc.demo import loader

            loader.load(lambda message: self.write(f"demo: {message}"))
        passwords = read_passwords()
        for purpose, name in PRINTED_LOGINS.items() if passwords else ():
            self.stdout.write(f"  {purpose:<12} {name:<10} {passwords[name]}")
