"""Make a benchmark with its settings, from a JSON file or from options."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser
from django.db import transaction

from annotation.testset import TestSet
from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark
from evalsvc.management.commands._base import Acting, plain, test_set_of

EXAMPLE = """The file:
  {"slug": "harbour", "title": "Harbour", "task": "relations", "negative": "N/A",
   "settings": [{"key": "manual", "title": "Human gold", "test_set": "harbour-1-0",
                 "unit": "sentence", "main": "micro_f1"}]}
Labels are those of the test sets where the file names none."""


class Command(Acting):
    help = f"{__doc__} {EXAMPLE}"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", nargs="?", help="JSON file; without it give the options below")
        parser.add_argument("--slug")
        parser.add_argument("--title")
        parser.add_argument("--task", choices=Benchmark.Task.values)
        parser.add_argument("--test-set", metavar="SLUG", help="the one setting's test set")
        parser.add_argument("--unit", help="sentence, bag or document")
        parser.add_argument("--main", help="key of the main measure")
        parser.add_argument("--negative", help="the negative class; default: the test set's")
        parser.add_argument("--missing", choices=Benchmark.Missing.values)

    def handle(self, *args: Any, **given: Any) -> None:
        told = _from_file(given["file"]) if given["file"] else _from_options(given)
        by = self.person(given["by"])
        settings = [setting | _sets_of(setting) for setting in told.pop("settings", [])]
        used = [setting["test_set"] for setting in settings]
        told.setdefault("labels", creation.labels_of(used))
        told.setdefault("negative", used[0].negative if used and told.get("task") == "relations" else "")
        try:
            with plain(), transaction.atomic():
                benchmark = creation.create(by=by, **told)
                for setting in settings:
                    creation.add_setting(benchmark, by=by, **setting)
        except TypeError as error:
            raise CommandError(f"{error}. {EXAMPLE}") from error
        n = counted(len(benchmark.labels), "label")
        self.say(f"{benchmark.slug}: {n}, {counted(len(settings), 'setting')}")


def _from_file(path: str) -> dict[str, Any]:
    try:
        told = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise CommandError(f"{path} can't be read as JSON: {error}.") from error
    if not isinstance(told, dict):
        raise CommandError(f"{path} holds no JSON object. {EXAMPLE}")
    settings = told.get("settings", [])
    if not (isinstance(settings, list) and all(isinstance(setting, dict) for setting in settings)):
        raise CommandError(f"settings of {path} is no list of JSON objects. {EXAMPLE}")
    return told


def _from_options(given: dict[str, Any]) -> dict[str, Any]:
    needed = ("slug", "title", "task", "test_set", "unit", "main")
    lacking = [f"--{name.replace('_', '-')}" for name in needed if not given[name]]
    if lacking:
        raise CommandError(f"Give a file, or also {', '.join(lacking)}.")
    told = {
        key: given[key] for key in ("slug", "title", "task", "negative", "missing") if given[key] is not None
    }
    setting = {key: given[key] for key in ("test_set", "unit", "main")}
    return told | {"settings": [{"key": "main", "title": given["title"]} | setting]}


def _sets_of(setting: dict[str, Any]) -> dict[str, Any]:
    only = setting.get("only")
    return {"test_set": _frozen(setting.get("test_set", "")), "only": _frozen(only) if only else None}


def _frozen(slug: str) -> TestSet:
    """The set of this name, when it can be scored on."""
    found: TestSet = test_set_of(slug)
    if found.state != TestSet.State.FROZEN:
        raise CommandError(
            f"The test set {slug!r} is not frozen but {found.state}: its import or freeze did not end."
        )
    return found
