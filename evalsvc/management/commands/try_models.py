"""Test whether this machine can run uploaded spaCy pipelines."""

from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.sandbox.readiness import run_and_record

        result = run_and_record()
        if result.ready:
            self.stderr.write(f"Models can run here. {result.detail}")
        else:
            self.stderr.write(f"Models cannot run here: {result.reason}")
