"""Run one process of the service, and replace it if it dies or hangs: the main process of a container."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from evalsvc.local.startup_checks import parse_port
from evalsvc.local.supervisor import PROBES, Supervisor
from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("part", choices=sorted(PROBES))
        parser.add_argument("--host", default="0.0.0.0")  # noqa: S104 - its container has the only way in
        parser.add_argument("--port", default="8000")

    def handle(self, *args: Any, **options: Any) -> None:
        supervisor = Supervisor(
            host=options["host"],
            port=parse_port(options["port"]),
            report=lambda message: self.write(f"evalsvc: {message}"),
            part=options["part"],
        )
        supervisor.install_signal_handlers()
        try:
            supervisor.start()
            supervisor.run()
        finally:
            supervisor.stop()
