"""Queue runs that an older release scored without errors or digests; their scores stay as they are."""

from __future__ import annotations

from typing import Any

from django.core.management import CommandError, CommandParser

from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", nargs="?", default="", help="slug; default: all benchmarks")

    def handle(self, *args: Any, **options: Any) -> None:
        slug = options["benchmark"]
        settings = Setting.objects.select_related("benchmark", "test_set", "only")
        if slug:
            if not Benchmark.objects.filter(slug=slug).exists():
                raise CommandError(f"There is no benchmark {slug!r}.")
            settings = settings.filter(benchmark__slug=slug)
        queued = sum(versions.fill_outcomes(setting, by=None) for setting in settings)
        self.write(
            f"{counted(queued, 'run')} queued." if queued else "Every run has its errors and digests stored."
        )
