"""Import answers that annotators gave elsewhere, and have the items decided."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.consensus import item_state
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Batch
from evalsvc.management.commands.import_items import Importing


class Command(Importing):
    help = __doc__
    what = Batch.What.VOTES

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--empty", choices=batches.CHOICES["empty"], help="what an empty cell means")
        parser.add_argument("-k", type=int, help="answers an item needs; default: as many as came for it")

    def do_pending(self, project: Any, options: dict[str, Any]) -> None:
        if item_state.is_recomputing(project):
            self.do("recompute", project.pk, queue=options["queue"])
        if not options["queue"]:
            self.say(f"{project} by {project.policy}:")
            self.figures(builder.count_by_state(project))
            self.figures(
                {f"settled with {what}": n for what, n in builder.settled_by_label_count(project).items()}
            )
            self.figures(
                {"the other policy would decide otherwise": item_state.other_policy_changes(project)}
            )
