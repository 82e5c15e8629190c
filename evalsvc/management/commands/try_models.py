"""Test whether this machine can run uploaded spaCy pipelines, as a worker does when it starts."""

from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.sandbox.startup_check import try_and_tell

        result = try_and_tell()
        if result.ready:
            self.stderr.write(f"Models can run here. {result.told}")
        else:
            self.stderr.write(f"Models cannot run here: {result.why_not}")
