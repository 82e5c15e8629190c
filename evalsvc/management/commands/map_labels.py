"""Make a test set of imported gold with other names of its labels, or of several imported sets."""

from __future__ import annotations

from typing import Any

import msgspec
from django.core.management import CommandError, CommandParser

from annotation.splits import mapping
from annotation.testset import TestSet
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_test_set, open_file


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("test_set", help="slug of the imported test set")
        parser.add_argument(
            "--names", metavar="FILE", help=f"JSON: new names by label, such as {mapping.EXAMPLE}"
        )
        parser.add_argument("--preset", default="", help="merges and deletions of a preset, for other labels")
        parser.add_argument("--with", dest="others", action="append", default=[], metavar="SLUG",
                            help="imported set whose lines follow; may be given several times")  # fmt: skip
        parser.add_argument("--name", required=True, help="of the new set")
        parser.add_argument("--set-version", dest="set_version", required=True, help="of the new set")
        parser.add_argument("--preview", action="store_true", help="show the counts, and store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set, by = get_test_set(options["test_set"]), self.acting_user(options["by"])
        others = [get_test_set(slug) for slug in options["others"]]
        names = _names(options["names"]) if options["names"] else {}
        with errors_as_messages():
            plan = mapping.MappingPlan.of(
                test_set, others=others, names=names, preset=options["preset"], by=by
            )
            if options["preview"]:
                self._show(plan, mapping.preview(plan))
                return
            made = mapping.make(plan, name=options["name"], version=options["set_version"], by=by)
        self.run_job(mapping.KIND, made.pk, queue=options["queue"])
        for each in TestSet.objects.filter(pk=made.pk) | TestSet.objects.filter(twin=made):
            self.run_job("describe", each.pk, queue=options["queue"])
            self.write(f"{each.slug}: {each.rows:,} lines")

    def _show(self, plan: mapping.MappingPlan, found: mapping.MappingPreview) -> None:
        for name, n in found.before.items():
            new = plan.names.get(name, name)
            self.write(f"{name}: {n:,} -> {'deleted' if new is None else new}")
        for label in plan.labels:
            self.write(f"{label['name']}: {found.after[label['name']]:,}")
        self.write(f"{found.items:,} lines, {found.emptied:,} without a label by deletion")


def _names(path: str) -> dict[str, str | None]:
    with open_file(path) as file:
        try:
            return msgspec.json.decode(file.read(), type=dict[str, str | None])
        except msgspec.MsgspecError as error:
            raise CommandError(
                f"{path} is not a JSON object of names: {error}. For example {mapping.EXAMPLE}."
            ) from error
