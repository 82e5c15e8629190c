"""Import sentences into a project."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from annotation.imports import batches
from annotation.imports.options import CHOICES, OPTIONS
from annotation.models import Batch, Project
from evalsvc.core.formats.registry import formats
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_project, open_file


def receive_file(
    command: ActingCommand, what: str, options: dict[str, Any], project: Project | None = None, **more: str
) -> Batch:
    """Store the file of an import with its options."""
    names = OPTIONS[what]
    beside = options.get("annotations")
    with (
        errors_as_messages(),
        open_file(options["file"]) as file,
        open_file(beside) if beside else nullcontext() as annotations,
    ):
        return batches.receive(
            content=what,
            upload=file,
            filename=Path(options["file"]).name,
            format=options["format"],
            options={name: options[name] for name in names if options.get(name) is not None} | more,
            by=command.acting_user(options["by"]),
            project=project,
            annotations=annotations,
        )


class ImportCommand(ActingCommand):
    """An import into a project; subclasses set `what`."""

    what = ""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument("file", help="UTF-8 text, plain or gzip")
        parser.add_argument(
            "--format", choices=sorted(formats("items", "votes")), default="", help="default: detected"
        )
        parser.add_argument("--on-error", choices=CHOICES["on_error"], dest="on_error")
        parser.add_argument("--labels", choices=["add"], help="add labels missing from the ontology")
        parser.add_argument("--negative", help="spelling of N/A in the file")

    def handle(self, *args: Any, **options: Any) -> None:
        project = get_project(options["project"])
        batch = receive_file(self, self.what, options, project=project)
        try:
            self.run_job("import", batch.pk, queue=options["queue"])
        finally:
            self.report(batch)
        self.finish(project, options)

    def finish(self, project: Project, options: dict[str, Any]) -> None:
        """Run the jobs that the import queued."""

    def report(self, batch: Batch) -> None:
        batch.refresh_from_db()
        self.write(f"{batch.filename} ({batch.format or 'format not detected yet'}): {batch.state}")
        self.write_counts(batch.counts)
        self.write_counts(batch.counts.get("warnings", {}))
        if batch.refused:
            self.write(f"  {batch.refused:>9,}  rejected:")
            for problem in batch.problems:
                self.write(f"             {problem['message']}")


class Command(ImportCommand):
    what = Batch.What.ITEMS

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--annotations", metavar="FILE", help="the .ann file of brat; FILE is the .txt file"
        )
        parser.add_argument("--scheme", choices=CHOICES["scheme"], help="tag scheme of CoNLL columns")
        parser.add_argument("--unit", choices=CHOICES["unit"], help="unit of offsets, for doccano")
        parser.add_argument("--names", nargs="+", help="names of labels that are numbers in the file")
        parser.add_argument("--repair", choices=CHOICES["repair"])
        parser.add_argument("--column", type=int, help="column of the tags; -1 is the last")
