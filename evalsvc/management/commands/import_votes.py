"""Import answers given elsewhere and recompute the items."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.imports.options import CHOICES
from annotation.models import Batch
from evalsvc.core.web.formatting import counted
from evalsvc.management.commands.import_items import ImportCommand
from evalsvc.management.commands.recompute import write_item_states


class Command(ImportCommand):
    what = Batch.What.VOTES

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--empty", choices=CHOICES["empty"], help="meaning of an empty cell")
        parser.add_argument("--unit", choices=CHOICES["unit"], help="unit of offsets, for doccano")
        parser.add_argument("--item", help="id of the document in a person's file of INCEpTION")
        parser.add_argument(
            "-k",
            type=int,
            help="answers per item; default: as many as the file has for it, so one answer settles an item",
        )

    def report(self, batch: Batch) -> None:
        super().report(batch)
        below_k = batch.counts.get("items_below_k", 0)
        if below_k and batch.project:
            n, k = counted(below_k, "item"), batch.project.k
            need = "needs" if below_k == 1 else "need"
            self.write(
                f"{n} {need} fewer answers than the project's k = {k} now. Import with -k {k} to keep it."
            )

    def finish(self, project: Any, options: dict[str, Any]) -> None:
        self.run_recomputation(project, queue=options["queue"])
        if not options["queue"]:
            write_item_states(self, project)
