"""Freeze what is settled and adjudicated into an immutable test set."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.freezing import builder
from annotation.testset import TestSet
from evalsvc.management.commands._base import Acting, plain, project_of
from evalsvc.management.commands.describe import told


class Command(Acting):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument("--name", help="default: the project's title")
        parser.add_argument("--set-version", default="1.0", dest="set_version")
        parser.add_argument("--leave-out", action="store_true", help="leave open and disputed items out")

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_of(options["project"])
        with plain():
            made = builder.freeze(
                project,
                name=options["name"] or project.title,
                version=options["set_version"],
                leave_out=options["leave_out"],
                by=self.person(options["by"]),
            )
        self.do("freeze", made.pk, queue=options["queue"])
        for test_set in (made, TestSet.objects.filter(twin=made).first()):
            if test_set is not None:
                self.do("describe", test_set.pk, queue=options["queue"])
                told(self, test_set)
