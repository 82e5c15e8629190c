"""Create a benchmark with settings from a JSON file or options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser
from django.db import transaction

from annotation.testset import TestSet
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.benchmarks.label_inventory import labels_of
from evalsvc.evaluation.models import Benchmark
from evalsvc.management.commands._base import ActingCommand, errors_as_messages, get_test_set

EXAMPLE = """Example:
  {"slug": "harbour", "title": "Harbour", "task": "relations", "negative": "N/A",
   "settings": [{"key": "manual", "title": "Human gold", "test_set": "harbour-1-0",
                 "unit": "sentence", "main": "micro_f1"}]}
Without "labels", those of the test sets are used."""


class Command(ActingCommand):
    help = f"{__doc__} {EXAMPLE}"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", help="JSON file; or use the options below")
        parser.add_argument("--slug")
        parser.add_argument("--title")
        parser.add_argument("--task", choices=Benchmark.Task.values)
        parser.add_argument("--test-set", metavar="SLUG", help="test set of the only setting")
        parser.add_argument("--unit", help="sentence, bag or document")
        parser.add_argument("--main", help="key of the main measure")
        parser.add_argument("--negative", help="negative class; default: that of the test set")
        parser.add_argument("--missing", choices=Benchmark.Missing.values)

    def handle(self, *args: Any, **options: Any) -> None:
        fields = _from_file(options["file"]) if options["file"] else _from_options(options)
        by = self.acting_user(options["by"])
        settings = fields.pop("settings", [])
        for setting in settings:
            setting["test_set"] = _frozen(setting.get("test_set", ""))
            setting["only"] = _frozen(setting["only"]) if setting.get("only") else None
        used = [setting["test_set"] for setting in settings]
        fields.setdefault("labels", labels_of(used, task=fields.get("task", "")))
        fields.setdefault("negative", used[0].negative if used and fields.get("task") == "relations" else "")
        try:
            with errors_as_messages(), transaction.atomic():
                benchmark = creation.create(by=by, **fields)
                for setting in settings:
                    creation.add_setting(benchmark, by=by, **setting)
        except TypeError as error:
            raise CommandError(f"{error}. {EXAMPLE}") from error
        labels = counted(len(benchmark.labels), "label")
        self.write(f"{benchmark.slug}: {labels}, {counted(len(settings), 'setting')}")


def _from_file(path: str) -> dict[str, Any]:
    try:
        fields = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise CommandError(f"Cannot read {path} as JSON: {error}.") from error
    if not isinstance(fields, dict):
        raise CommandError(f"{path} must contain a JSON object. {EXAMPLE}")
    settings = fields.get("settings", [])
    if not (isinstance(settings, list) and all(isinstance(setting, dict) for setting in settings)):
        raise CommandError(f'"settings" in {path} must be a list of JSON objects. {EXAMPLE}')
    return fields


def _from_options(options: dict[str, Any]) -> dict[str, Any]:
    required = ("slug", "title", "task", "test_set", "unit", "main")
    missing = [f"--{name.replace('_', '-')}" for name in required if not options[name]]
    if missing:
        raise CommandError(f"Give a file, or the options {', '.join(missing)}.")
    keys = ("slug", "title", "task", "negative", "missing")
    fields = {key: options[key] for key in keys if options[key] is not None}
    setting = {key: options[key] for key in ("test_set", "unit", "main")}
    return fields | {"settings": [{"key": "main", "title": options["title"]} | setting]}


def _frozen(slug: str) -> TestSet:
    """Return the frozen test set of this slug."""
    test_set: TestSet = get_test_set(slug)
    if test_set.state != TestSet.State.FROZEN:
        raise CommandError(
            f"Test set {slug!r} is {test_set.state}, not frozen: its import or freeze did not finish."
        )
    return test_set
