"""Create a labelling project."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError, CommandParser

from annotation import projects
from annotation.models import Policy
from annotation.ontology import inventory
from annotation.ontology.presets import PRESETS
from annotation.testset import Kind
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, open_file


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("title")
        parser.add_argument("--slug", default="")
        parser.add_argument("--kind", choices=Kind.values, default=Kind.RELATIONS)
        parser.add_argument("-k", type=int, default=4, help="annotators per item")
        parser.add_argument("--policy", choices=Policy.values, default="")
        parser.add_argument("--guideline", metavar="FILE", help="Markdown file")
        parser.add_argument("--preset", choices=sorted(PRESETS), help="built-in ontology")

    def handle(self, *args: Any, **options: Any) -> None:
        guideline, path = "", options["guideline"]
        if path:
            with open_file(path) as file:
                try:
                    guideline = file.read().decode()
                except UnicodeDecodeError as error:
                    raise CommandError(f"{path} is not UTF-8 text (byte {error.start + 1}).") from error
        with errors_as_messages():
            by = self.acting_user(options["by"])
            fields = {name: options[name] for name in ("title", "slug", "kind", "k", "policy")}
            project = projects.create(**fields, guideline=guideline, by=by)
            labels = inventory.apply_preset(project, options["preset"], by=by) if options["preset"] else []
        self.write(f"{project}: /projects/{project.slug}/, {project.policy}, k = {project.k}")
        if labels:
            self.write(f"  {len(labels)} labels and N/A")
