"""List the versions of a guideline, store a new text, or ask the answers under an earlier version again."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation import projects
from annotation.consensus.effects import preview
from annotation.models import Project
from annotation.ontology import guideline_versions
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_project, open_file


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--text", metavar="FILE", help="Markdown, the new guideline")
        what.add_argument(
            "--ask-again", type=int, metavar="NUMBER", help="version whose answers are asked again"
        )
        what.add_argument(
            "--count-again", type=int, metavar="NUMBER", help="version whose answers count again"
        )
        parser.add_argument("--label", action="append", default=[], help="only answers with it; repeatable")
        parser.add_argument("--preview", action="store_true", help="show the effect, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        project, by = get_project(options["project"]), self.acting_user(options["by"])
        number = options["ask_again"] or options["count_again"]
        with errors_as_messages():
            if options["text"]:
                with open_file(options["text"]) as file:
                    projects.set_guideline(project, guideline=file.read().decode(), by=by)
            elif number:
                again = options["ask_again"] is not None

                def change(project: Project) -> None:
                    labels = options["label"]
                    guideline_versions.ask_again(project, number, labels=labels, again=again, by=by)

                if options["preview"]:
                    self.write(str(preview(project, change)))
                    return
                change(project)
                self.run_recomputation(project, queue=options["queue"])
            answers = guideline_versions.answers_by_version(project)
            for version in guideline_versions.versions(project, answers=answers, by=by):
                note = " asked again" if version.asked_again_at else ""
                self.write(f"version {version.number}: {version.answers:,} answers{note}")
