"""Import published gold as a frozen test set."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.imports.options import CHOICES
from annotation.models import Batch
from annotation.testset import Kind
from evalsvc.core.formats.registry import formats
from evalsvc.management.commands._base import ActingCommand
from evalsvc.management.commands.describe import write_description
from evalsvc.management.commands.import_items import receive_file


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="UTF-8 text, plain or gzip")
        parser.add_argument("--name", required=True)
        # every command has --version, which prints Django's
        parser.add_argument("--set-version", required=True, dest="set_version", help="for example 1.0")
        parser.add_argument("--kind", choices=Kind.values, default=Kind.RELATIONS)
        parser.add_argument("--format", choices=sorted(formats("gold")), default="", help="default: detected")
        parser.add_argument("--labels", nargs="+", help="label names; default: the labels in the file")
        parser.add_argument("--negative", help="spelling of the negative class; default: detected")
        parser.add_argument(
            "--annotations", metavar="FILE", help="the .ann file of brat; FILE is the .txt file"
        )
        parser.add_argument("--scheme", choices=CHOICES["scheme"], help="tag scheme of CoNLL columns")
        parser.add_argument("--unit", choices=CHOICES["unit"], help="unit of offsets, for doccano")
        parser.add_argument("--names", nargs="+", help="names of labels that are numbers in the file")
        parser.add_argument("--repair", choices=CHOICES["repair"])
        parser.add_argument("--column", type=int, help="column of the tags; -1 is the last")

    def handle(self, *args: Any, **options: Any) -> None:
        batch = receive_file(self, Batch.What.GOLD, options, version=options["set_version"])
        self.run_job("import", batch.pk, queue=options["queue"])
        self.run_job("describe", batch.test_set.pk, queue=options["queue"])
        batch.refresh_from_db()
        self.write_counts(batch.counts)
        write_description(self, batch.test_set)
