"""Open a labelling project."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError, CommandParser

from annotation import projects
from annotation.models import Policy
from annotation.ontology import inventory
from annotation.ontology.presets import PRESETS
from annotation.testset import Kind
from evalsvc.management.commands._base import Acting, opened, plain


class Command(Acting):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("title")
        parser.add_argument("--slug", default="")
        parser.add_argument("--kind", choices=Kind.values, default=Kind.RELATIONS)
        parser.add_argument("-k", type=int, default=4, help="annotators per item")
        parser.add_argument("--policy", choices=Policy.values, default="")
        parser.add_argument("--guideline", metavar="FILE", help="Markdown")
        parser.add_argument("--preset", choices=sorted(PRESETS), help="a ready-made ontology")

    def handle(self, *args: Any, **options: Any) -> None:
        guideline = ""
        if options["guideline"]:
            guideline = _text(options["guideline"])
        with plain():
            by = self.person(options["by"])
            wanted = {name: options[name] for name in ("title", "slug", "kind", "k", "policy")}
            project = projects.create(**wanted, guideline=guideline, by=by)
            choices = inventory.apply_preset(project, options["preset"], by=by) if options["preset"] else []
        self.say(f"{project}: /projects/{project.slug}/, {project.policy}, k = {project.k}")
        if choices:
            self.say(f"  {len(choices)} labels to choose from, and N/A")


def _text(path: str) -> str:
    with opened(path) as file:
        try:
            return file.read().decode()
        except UnicodeDecodeError as error:
            raise CommandError(f"{path} is not text in UTF-8 (byte {error.start + 1}).") from error
