"""Enter figures of systems known only from a paper, from a JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from evalsvc.core.web.formatting import counted
from evalsvc.evaluation.models import Setting
from evalsvc.evaluation.reported import entries
from evalsvc.management.commands._base import ActingCommand, errors_as_messages

EXAMPLE = """Example:
  {"paper": "Harbecke et al. 2022", "table": "Table 3", "runs": 5,
   "systems": {"PTR": {"micro_f1": "72.5 ± 0.3", "macro_f1": "60.3 ± 0.8"}}}
A file may hold several tables by name: evalsvc/demo/data/reported.json has those of two papers."""


class Command(ActingCommand):
    help = f"{__doc__} {EXAMPLE}"

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("benchmark", help="slug of the benchmark")
        parser.add_argument("setting", help="key of the setting")
        parser.add_argument("file", help="JSON file with a table, or with several by name")
        parser.add_argument("--table", default="", metavar="NAME", help="the table, if the file has several")

    def handle(self, *args: Any, **options: Any) -> None:
        setting = Setting.objects.filter(benchmark__slug=options["benchmark"], key=options["setting"]).first()
        if setting is None:
            raise CommandError(f"There is no setting {options['setting']!r} of {options['benchmark']!r}.")
        by = self.acting_user(options["by"])
        with errors_as_messages():
            fields = entries.table_fields(_table(options["file"], options["table"]))
            rows = entries.add(setting, by=by, **fields)
        self.run_job(entries.KIND, setting.pk, queue=options["queue"])
        self.write(f"{setting}: {counted(len(rows), 'reported system')} added")


def _table(path: str, name: str) -> Any:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"Cannot read {path} as JSON: {error}.") from error
    several = (
        isinstance(content, dict) and content and all(isinstance(each, dict) for each in content.values())
    )
    if not several and not name:
        return content
    if not several or name not in content:
        names = ", ".join(content) if several else "none, as it is one table"
        raise CommandError(f"Name a table of {path} with --table. Its tables: {names}.")
    return content[name]
