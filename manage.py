#!/usr/bin/env python
"""The command line of evalsvc."""

import os
import sys
from contextlib import suppress
from importlib import import_module

SERVES = {"up", "runserver", "try_models"}
WITHOUT_MODELS = {"up", "supervise"}  # they run as long as the service; models take 30 MB
CLOSED_PIPE = 141  # as the shell tells of a program whose reader went away


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    if not SERVES & set(sys.argv[1:2]):
        os.environ.setdefault("LOG_LEVEL", "WARNING")  # a command says itself what it does
    from django.core.exceptions import ImproperlyConfigured

    execute = run_without_models if WITHOUT_MODELS & set(sys.argv[1:2]) else run
    try:
        execute(sys.argv)
        sys.stdout.flush()
    except ImproperlyConfigured as wrong:
        if "--traceback" in sys.argv:
            raise
        sys.exit(str(wrong))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush at the end
        sys.exit(CLOSED_PIPE)


def run(arguments: list[str]) -> None:
    """Run a command; a log in the data folder keeps its security events."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from evalsvc.logs import keep_security_events

    if not SERVES & set(arguments[1:2]):
        with suppress(ImproperlyConfigured):  # the command says so
            keep_security_events(settings.LOGGING, settings.DATA_DIR / "logs" / "commands.log")
    execute_from_command_line(arguments)


def run_without_models(arguments: list[str]) -> None:
    """Run a command in a process that loads no apps."""
    from logging.config import dictConfig

    from django.conf import settings

    dictConfig(settings.LOGGING)  # Django's own configuration loads its pages of errors
    import_module(f"evalsvc.management.commands.{arguments[1]}").Command().run_from_argv(arguments)


if __name__ == "__main__":
    main()
