"""Freeze settled and adjudicated items of a project into a test set."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.freezing import builder
from annotation.testset import TestSet
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_project
from evalsvc.management.commands.describe import write_description


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument("--name", help="default: the project's title")
        parser.add_argument("--set-version", default="1.0", dest="set_version")
        parser.add_argument("--leave-out", action="store_true", help="leave out open and disputed items")

    def handle(self, *args: Any, **options: Any) -> None:
        project = get_project(options["project"])
        with errors_as_messages():
            test_set = builder.freeze(
                project,
                name=options["name"] or project.title,
                version=options["set_version"],
                leave_out=options["leave_out"],
                by=self.acting_user(options["by"]),
            )
        self.run_job("freeze", test_set.pk, queue=options["queue"])
        for each in (test_set, TestSet.objects.filter(twin=test_set).first()):
            if each is not None:
                self.run_job("describe", each.pk, queue=options["queue"])
                write_description(self, each)
