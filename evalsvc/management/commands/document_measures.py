"""Update the list of measures in docs/measures.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings

from evalsvc.evaluation.measures.documentation import renewed
from evalsvc.management.commands._base import PlainCommand


class Command(PlainCommand):
    help = __doc__ or ""

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(settings.BASE_DIR) / "docs" / "measures.md"
        path.write_text(renewed(path.read_text()))
        self.stdout.write(f"updated docs/{path.name}")
