"""Decide all items of a project anew; with --policy, by another policy from now on."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation import freezing, outcomes, projects, settled
from annotation.models import Policy
from evalsvc.jobs.queueing import enqueue
from evalsvc.management.commands._here import Acting, plain, project_of


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
        if not outcomes.unsettled(project):
            enqueue("recompute", project.pk)
        self.do("recompute", project.pk, queue=options["queue"])
        if not options["queue"]:
            self.say(f"{project} by {project.policy}:")
            self.figures(freezing.blockers(project))
            self.figures({f"settled with {what}": n for what, n in settled.settled_as(project).items()})
            self.figures({"the other policy would decide otherwise": outcomes.other_policy_changes(project)})
