"""Test whether this machine can run uploaded spaCy pipelines."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

log = logging.getLogger("workers.sandbox")


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.sandbox.readiness import run_and_record

        result = run_and_record()
        message = f"Models cannot run here: {result.reason}"
        if result.ready:
            message = f"Models can run here. {result.detail}"
        if settings.LOG_FORMAT == "json":  # workers run this, and their log is JSON only
            log.log(logging.INFO if result.ready else logging.WARNING, message)
        else:
            self.stderr.write(message)
