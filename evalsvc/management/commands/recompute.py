"""Recompute item states of a project, optionally by another policy."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation import projects
from annotation.consensus import effects, pending_recomputation
from annotation.freezing import builder
from annotation.models import ItemCount, Policy, Project
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_project


def write_item_states(command: ActingCommand, project: Project) -> None:
    command.write(f"{project}, policy {project.policy}:")
    settled = builder.settled_by_label_count(project)
    command.write_counts(
        ItemCount.objects.live(project).by_state()
        | {f"settled with {labels}": n for labels, n in settled.items()}
        | {"different under the other policy": effects.other_policy_changes(project)}
    )


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        parser.add_argument("--policy", choices=Policy.values)

    def handle(self, *args: Any, **options: Any) -> None:
        project = get_project(options["project"])
        if options["policy"]:
            with errors_as_messages():
                projects.set_policy(project, policy=options["policy"], by=self.acting_user(options["by"]))
        pending = pending_recomputation.pending(project)
        if pending is None or pending.state in Job.ENDED:
            enqueue("recompute", project.pk, lane=f"project {project.pk}")
        self.run_recomputation(project, queue=options["queue"])
        if not options["queue"]:
            write_item_states(self, project)
