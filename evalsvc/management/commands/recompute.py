"""Decide all items of a project anew; with --policy, by another policy from now on."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation import projects
from annotation.consensus import item_state
from annotation.freezing import builder
from annotation.models import Policy
from evalsvc.core.jobs.queue import enqueue
from evalsvc.management.commands._base import Acting, plain, project_of


class Command(Acting):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument("--policy", choices=Policy.values)

    def handle(self, *args: Any, **options: Any) -> None:
        project = project_of(options["project"])
        if options["policy"]:
            with plain():
                projects.set_policy(project, policy=options["policy"], by=self.person(options["by"]))
        if not item_state.is_recomputing(project):
            enqueue("recompute", project.pk)
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
