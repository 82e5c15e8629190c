"""Write the menu's chapter of docs/measures.md anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand

from evalsvc.evaluation.menu_docs import renewed


class Command(BaseCommand):
    help = __doc__ or ""

    def handle(self, *args: Any, **options: Any) -> None:
        path = Path(settings.BASE_DIR) / "docs" / "measures.md"
        path.write_text(renewed(path.read_text()))
        self.stdout.write(f"{path.name} is as the menu is")
