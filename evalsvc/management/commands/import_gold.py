"""Import published gold as a frozen test set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from annotation.imports import batches
from annotation.models import Batch
from annotation.testset import Kind
from evalsvc.core.formats.registry import FORMATS
from evalsvc.management.commands._base import Acting, opened, plain
from evalsvc.management.commands.describe import told


class Command(Acting):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="UTF-8, plain or gzip")
        parser.add_argument("--name", required=True)
        # --version prints Django's own in every command
        parser.add_argument("--set-version", required=True, dest="set_version", help="such as 1.0")
        parser.add_argument("--kind", choices=Kind.values, default=Kind.RELATIONS)
        parser.add_argument("--format", choices=sorted(FORMATS), default="", help="default: told by content")
        parser.add_argument("--labels", nargs="+", help="the inventory; default: what the data uses")
        parser.add_argument("--negative", help="how the negative class is spelt; default: told by the data")
        parser.add_argument("--scheme", choices=batches.CHOICES["scheme"], help="tag scheme of CoNLL columns")
        parser.add_argument("--repair", choices=batches.CHOICES["repair"])
        parser.add_argument("--column", type=int, help="column of the tags; -1 is the last")

    def handle(self, *args: Any, **options: Any) -> None:
        known = batches.OPTIONS[Batch.What.GOLD]
        wanted = {name: options[name] for name in known if options.get(name) is not None}
        wanted["version"] = options["set_version"]
        with plain(), opened(options["file"]) as file:
            batch = batches.receive(
                what=Batch.What.GOLD,
                upload=file,
                filename=Path(options["file"]).name,
                format=options["format"],
                options=wanted,
                by=self.person(options["by"]),
            )
        self.do("import", batch.pk, queue=options["queue"])
        self.do("describe", batch.test_set.pk, queue=options["queue"])
        batch.refresh_from_db()
        self.figures(batch.counts)
        told(self, batch.test_set)
