"""Split a frozen test set into parts that share no entity pair and no sentence."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandParser

from annotation.splits import making
from annotation.splits.splitting import Unit
from annotation.testset import TestSet
from evalsvc.core.web.formatting import percent
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_test_set


class Command(ActingCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("test_set", help="slug of the test set")
        parser.add_argument("--parts", required=True, help=f"names and shares, such as {making.EXAMPLE}")
        parser.add_argument("--seed", required=True, help="any text; the same one gives the same parts")
        parser.add_argument(
            "--keep-together", choices=list(Unit), default=Unit.NEITHER, help="what parts never share"
        )
        parser.add_argument("--stratified", action="store_true", help="balance the relations")
        parser.add_argument("--preview", action="store_true", help="show the parts, and store nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set, by = get_test_set(options["test_set"]), self.acting_user(options["by"])
        with errors_as_messages():
            chosen = {name: options[name] for name in ("parts", "seed", "keep_together", "stratified")}
            plan = making.Plan.of(**chosen)
            self._show(making.preview(test_set, plan, by=by))
            made = [] if options["preview"] else making.make(test_set, plan, by=by)
        for part in made:
            self.run_job(making.KIND, part.pk, queue=options["queue"])
            for each in TestSet.objects.filter(pk=part.pk) | TestSet.objects.filter(twin=part):
                self.run_job("describe", each.pk, queue=options["queue"])
                self.write(f"{each.slug}: {each.rows:,} lines")

    def _show(self, found: making.Preview) -> None:
        for name, counts in found.parts.items():
            self.write(name + ": " + ", ".join(f"{n:,} {what}" for what, n in counts.items()))
        for a, b, rows in found.shared:
            shared = ", ".join(f"{row.shared:,} {row.title}" for row in rows)
            self.write(f"{a} and {b} share: {shared}")
        self.write(f"worst share of a relation: {percent(found.worst)} % off")
