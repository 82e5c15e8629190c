"""Import sentences into a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from annotation.imports import batches
from annotation.models import Batch
from evalsvc.core.formats.registry import FORMATS
from evalsvc.management.commands._base import Acting, opened, plain, project_of


class Importing(Acting):
    """An import into a project; the subclass says of what."""

    what = ""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument("file", help="UTF-8, plain or gzip")
        parser.add_argument("--format", choices=sorted(FORMATS), default="", help="default: told by content")
        parser.add_argument("--on-error", choices=batches.CHOICES["on_error"], dest="on_error")
        parser.add_argument("--labels", choices=["add"], help="add labels the ontology lacks")
        parser.add_argument("--negative", help="how the file spells N/A")

    def handle(self, *args: Any, **options: Any) -> None:
        known = batches.OPTIONS[self.what]
        wanted = {name: options[name] for name in known if options.get(name) is not None}
        with plain(), opened(options["file"]) as file:
            project = project_of(options["project"])
            batch = batches.receive(
                what=self.what,
                upload=file,
                filename=Path(options["file"]).name,
                format=options["format"],
                options=wanted,
                by=self.person(options["by"]),
                project=project,
            )
        try:
            self.do("import", batch.pk, queue=options["queue"])
        finally:
            self.report(batch)
        self.do_pending(project, options)

    def do_pending(self, project: Any, options: dict[str, Any]) -> None:
        """What the import set off."""

    def report(self, batch: Batch) -> None:
        batch.refresh_from_db()
        self.say(f"{batch.filename} ({batch.format or 'format not known yet'}): {batch.state}")
        self.figures(batch.counts)
        self.figures(batch.counts.get("warnings", {}))
        if batch.refused:
            self.say(f"  {batch.refused:>9,}  refused:")
            for problem in batch.problems:
                self.say(f"             {problem['message']}")


class Command(Importing):
    help = __doc__
    what = Batch.What.ITEMS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--scheme", choices=batches.CHOICES["scheme"], help="tag scheme of CoNLL columns")
        parser.add_argument("--repair", choices=batches.CHOICES["repair"])
        parser.add_argument("--column", type=int, help="column of the tags; -1 is the last")
