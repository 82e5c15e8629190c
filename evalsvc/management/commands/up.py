"""Run the whole service on this machine: web, worker, clock and, unless one is given, the broker."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management import CommandError, CommandParser, call_command

from evalsvc.local.embedded_broker import BrokerFailed, die_with_parent
from evalsvc.local.startup_checks import only_one, port_of, prepare, require_free
from evalsvc.local.supervisor import Supervisor
from evalsvc.management.commands._base import Spoken


class Command(Spoken):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", default=os.environ.get("PORT") or "8000")
        parser.add_argument("--host", default=os.environ.get("HOST_ADDRESS") or "127.0.0.1")
        parser.add_argument("--no-demo", action="store_true", default=os.environ.get("DEMO") == "0")

    def handle(self, *args: Any, **options: Any) -> None:
        supervisor = Supervisor(host=options["host"], port=port_of(options["port"]), say=self.say)
        with only_one(settings.DATA_DIR, supervisor.address):
            require_free(supervisor.host, supervisor.port)
            supervisor.listen_for_the_end()
            self.say("preparing tables and static files")
            prepare()
            self.serve(supervisor, demo=not options["no_demo"])

    def serve(self, supervisor: Supervisor, *, demo: bool) -> None:
        try:
            supervisor.start()
            if not supervisor.stopping.is_set():
                self.greet(supervisor, demo=demo)
            supervisor.run()
        except BrokerFailed as failed:
            raise CommandError(str(failed)) from failed
        finally:
            self.say("stopping")
            supervisor.stop()
        self.say("stopped; the data is kept")

    def greet(self, supervisor: Supervisor, *, demo: bool) -> None:
        self.say(f"serving at {supervisor.address}  (data and logs: {settings.DATA_DIR})")
        if not (demo and self.load_demo(supervisor)):
            self.tell_who_may_enter()
        if supervisor.stopping.is_set():
            return
        if supervisor.unnamed:
            named = ", ".join(settings.ALLOWED_HOSTS)
            self.say(f"only {named} are answered; ALLOWED_HOSTS=NAME,NAME make up answers others")
        self.say(f"open {supervisor.address} in a browser; Ctrl-C stops everything")

    def load_demo(self, supervisor: Supervisor) -> bool:
        """On the first start (or after one cut short), with the service running: one can watch it arrive."""
        from evalsvc.demo import loader

        if not loader.is_wanted():
            return False
        self.say("loading the demo; DEMO=0 would start empty")
        process = subprocess.Popen(
            [sys.executable, "manage.py", "demo"],
            env=supervisor.environment(),
            cwd=settings.BASE_DIR,
            preexec_fn=die_with_parent,
        )
        self.wait_for(process, supervisor)
        return True

    def tell_who_may_enter(self) -> None:
        """The demo's log-ins on every start; where nobody is known, how to make the first account."""
        from evalsvc.core.accounts.models import User
        from evalsvc.demo.accounts import read_passwords

        if read_passwords():
            call_command("demo", logins=True, stdout=self.stdout)
        elif not User.objects.exists():
            where = f"EVALSVC_DATA={settings.DATA_DIR} " if os.environ.get("EVALSVC_DATA") else ""
            self.say(
                f"nobody has an account yet; make one: {where}{sys.executable} manage.py createsuperuser"
            )

    def wait_for(self, process: subprocess.Popen[bytes], supervisor: Supervisor) -> None:
        while process.poll() is None:
            supervisor.watch()
            if supervisor.stopping.wait(0.5):
                process.terminate()
                process.wait()
                self.say("the demo is not all here yet; the next start goes on with it")
                return
        if process.returncode:
            self.say(
                f"the demo was not loaded (exit code {process.returncode}); the service runs all the same"
            )

    def say(self, words: str) -> None:
        self.stdout.write(f"evalsvc: {words}")
        self.stdout.flush()
