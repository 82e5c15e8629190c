"""Recompute stored scores from file, gold and options, and compare them bit for bit."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management import CommandError, CommandParser

from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    help = (
        f"{__doc__} Nothing is written. Scores of another scorer are counted, not recomputed. "
        "The exit code is 1 if anything differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", nargs="?", default="", help="slug; default: all benchmarks")
        parser.add_argument("--setting", default="", metavar="KEY", help="only those of this setting")
        parser.add_argument("--submission", type=int, metavar="ID", help="only those of this submission")

    def handle(self, *args: Any, **options: Any) -> None:
        from workers.handlers.verification import verify

        evaluations = scores = differing = 0
        skipped: dict[str, int] = {}
        for found in verify(_submissions(**options), setting=options["setting"]):
            evaluations += 1
            scores += found.scores
            if found.skipped:
                skipped[found.skipped] = skipped.get(found.skipped, 0) + 1
            if found.differences:
                differing += 1
                at = f"submission {found.submission.pk}, {found.evaluation.setting.key}"
                self.write(f"{at}, evaluation {found.evaluation.pk}:")
                for difference in found.differences:
                    self.write(f"  {difference}")
        for reason, count in skipped.items():
            self.write(f"{counted(count, 'evaluation')} not recomputed: {reason}")
        recomputed = counted(evaluations - sum(skipped.values()), "evaluation")
        if differing:
            self.stderr.write(f"{differing:,} of {recomputed} differ.")
            sys.exit(1)
        self.write(f"{counted(scores, 'score')} of {recomputed} recomputed: equal bit for bit.")


def _submissions(*, benchmark: str, setting: str, submission: int | None, **_: Any) -> Any:
    rows = Submission.objects.filter(evaluations__isnull=False).distinct()
    if benchmark:
        if not Benchmark.objects.filter(slug=benchmark).exists():
            raise CommandError(f"There is no benchmark {benchmark!r}.")
        rows = rows.filter(benchmark__slug=benchmark)
    settings = Setting.objects.filter(benchmark__slug=benchmark) if benchmark else Setting.objects.all()
    if setting and not settings.filter(key=setting).exists():
        raise CommandError(f"There is no setting {setting!r}.")
    if submission is not None:
        rows = rows.filter(pk=submission)
        if not rows.exists():
            raise CommandError(f"There is no scored submission {submission}.")
    return rows
