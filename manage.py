#!/usr/bin/env python
"""The command line of evalsvc."""

import os
import sys

SERVES = {"up", "runserver", "try_models"}
CLOSED_PIPE = 141  # as the shell tells of a program whose reader went away


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
    if not SERVES & set(sys.argv[1:2]):
        os.environ.setdefault("LOG_LEVEL", "WARNING")  # a command says itself what it does
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
        sys.stdout.flush()
    except ImproperlyConfigured as wrong:
        if "--traceback" in sys.argv:
            raise
        sys.exit(str(wrong))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush at the end
        sys.exit(CLOSED_PIPE)


if __name__ == "__main__":
    main()
