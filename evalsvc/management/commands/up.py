"""Run the whole service: web, workers, scheduler, broker if needed."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management import CommandError, CommandParser

from evalsvc.demo.logins import login_lines
from evalsvc.local.child_process import stop_with_parent
from evalsvc.local.embedded_broker import BrokerFailed
from evalsvc.local.preparation import Installation, prepare_apart
from evalsvc.local.startup_checks import (
    lock_data_folder,
    parse_port,
    require_free_port,
    require_no_unfinished_restore,
)
from evalsvc.local.supervisor import Supervisor
from evalsvc.management.commands._plain import PlainCommand

log = logging.getLogger("evalsvc.supervisor")


class Command(PlainCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", default=os.environ.get("PORT") or "8000")
        parser.add_argument("--host", default=os.environ.get("HOST_ADDRESS") or "127.0.0.1")
        parser.add_argument("--no-demo", action="store_true", default=os.environ.get("DEMO") == "0")

    def handle(self, *args: Any, **options: Any) -> None:
        supervisor = Supervisor(host=options["host"], port=parse_port(options["port"]), report=self.report)
        with lock_data_folder(settings.DATA_DIR, supervisor.address):
            require_no_unfinished_restore(settings.DATA_DIR)
            require_free_port(supervisor.host, supervisor.port)
            supervisor.install_signal_handlers()
            self.report("preparing tables and static files")
            self.serve(supervisor, prepare_apart(), demo=not options["no_demo"])

    def serve(self, supervisor: Supervisor, found: Installation, *, demo: bool) -> None:
        try:
            supervisor.start()
            if not supervisor.stopping.is_set():
                self.greet(supervisor, found, demo=demo)
            supervisor.run()
        except BrokerFailed as error:
            raise CommandError(str(error)) from error
        finally:
            self.report("stopping")
            supervisor.stop()
        self.report("stopped; the data is stored")

    def greet(self, supervisor: Supervisor, found: Installation, *, demo: bool) -> None:
        self.report(f"serving at {supervisor.address}  (data and logs: {settings.DATA_DIR})")
        if demo and found.wants_demo:
            self.load_demo(supervisor)
        else:
            self.print_logins(found)
        if supervisor.stopping.is_set():
            return
        if supervisor.hides_host_names:
            hosts = ", ".join(settings.ALLOWED_HOSTS)
            self.report(f"answering to {hosts} only; add names with ALLOWED_HOSTS=NAME,NAME make up")
        self.report(f"open {supervisor.address} in a browser; Ctrl-C stops everything")

    def load_demo(self, supervisor: Supervisor) -> None:
        """Load the demo on the first start; resume an interrupted load."""
        self.report("loading the demo; start with DEMO=0 to skip it")
        process = subprocess.Popen(
            [sys.executable, "manage.py", "demo"],
            env=supervisor.environment(),
            cwd=settings.BASE_DIR,
            preexec_fn=stop_with_parent,
        )
        self.wait_for(process, supervisor)

    def print_logins(self, found: Installation) -> None:
        """Print the demo's logins; without any account, how to create the first."""
        for line in login_lines():
            self.write(line)
        if not found.has_accounts:
            folder = f"EVALSVC_DATA={settings.DATA_DIR} " if os.environ.get("EVALSVC_DATA") else ""
            self.report(f"no accounts yet; create one: {folder}{sys.executable} manage.py createsuperuser")

    def wait_for(self, process: subprocess.Popen[bytes], supervisor: Supervisor) -> None:
        while process.poll() is None:
            supervisor.watch()
            if supervisor.stopping.wait(0.5):
                process.terminate()
                process.wait()
                self.report("the demo is not complete; the next start resumes loading")
                return
        if process.returncode:
            self.report(
                f"loading the demo failed (exit code {process.returncode}); the service runs without it"
            )

    def report(self, message: str) -> None:
        if settings.LOG_FORMAT == "json":
            log.info(message)
        else:
            self.write(f"evalsvc: {message}")
