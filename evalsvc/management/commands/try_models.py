"""Try here whether spaCy pipelines of others can run, and tell the web; a worker does it at its start."""

from __future__ import annotations

from typing import Any

from django.core.management import BaseCommand


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.sandbox.startup_check import try_and_tell

        found = try_and_tell()
        if found.ready:
            self.stderr.write(f"Models can run here. {found.told}")
        else:
            self.stderr.write(f"Models can't run here: {found.why_not}")
