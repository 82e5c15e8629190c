"""Make the steps of a plan in the ontology of a project, all or none, or undo such a plan."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError, CommandParser

from annotation.ontology import inventory, plans, versions
from annotation.reports.plan_effects import effects_of, figures
from annotation.reports.step_effects import in_words
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_project, open_file


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("project", help="slug of the project")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--plan", metavar="FILE", help=f"JSON, such as {plans.EXAMPLE}")
        what.add_argument("--undo", type=int, metavar="NUMBER", help="number of the plan's first step")
        what.add_argument("--undo-step", type=int, metavar="NUMBER", help="number of one step")
        what.add_argument("--restore", type=int, metavar="NUMBER", help="number of an earlier version")
        parser.add_argument("--preview", action="store_true", help="show the effect, and change nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        project, by = get_project(options["project"]), self.acting_user(options["by"])
        with errors_as_messages():
            if options["undo_step"] is not None:
                step = project.steps.filter(number=options["undo_step"]).first()
                if step is None:
                    raise CommandError(f"There is no step {options['undo_step']}.")
                inventory.undo(step, by=by)
                self.write(f"step {step.number} undone")
            elif options["restore"] is not None:
                versions.restore(project, options["restore"], by=by)
                self.write(f"version {options['restore']} restored")
            elif options["undo"] is not None:
                n = plans.undo_plan(project, options["undo"], by=by)
                self.write(f"{n:,} steps undone")
            else:
                with open_file(options["plan"]) as file:
                    steps = plans.read_plan(file.read())
                if options["preview"]:
                    effects = effects_of(project, steps, by=by)
                    self.write(str(effects.effect))
                    for title, before, after, change in figures(effects):
                        self.write(f"  {title:<32} {before:>9} → {after:>9}  {change:>8}")
                    for number, step in enumerate(effects.steps.steps if effects.steps else (), 1):
                        self.write(f"  Step {number}: {in_words(step)}")
                    return
                made = plans.apply_plan(project, steps, by=by)
                self.write(f"{len(made):,} steps made, from number {made[0].number if made else 0}")
        self.run_recomputation(project, queue=options["queue"])
