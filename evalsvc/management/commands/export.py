"""Write a frozen test set: its lines as JSONL, exactly the bytes digested, its release, or another format."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from shutil import copyfileobj
from typing import Any

from django.core.management import CommandError, CommandParser

from annotation import conversion
from annotation.testset import TestSet
from evalsvc.core.formats.documents import UNITS
from evalsvc.core.formats.registry import own_format, written_formats
from evalsvc.core.formats.tag_schemes import SCHEMES
from evalsvc.management.commands._base import errors_as_messages, get_test_set
from evalsvc.management.commands._plain import PlainCommand


def _private(path: str, flags: int) -> int:
    """Open a file so that only its owner reads it, also one that exists; refuse a link."""
    descriptor = os.open(path, flags | os.O_NOFOLLOW, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.fchmod(descriptor, 0o600)
    return descriptor


class Command(PlainCommand):
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("test_set", help="slug of the test set")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("-o", "--output", help="file to write; default: standard output")
        where.add_argument("--folder", help="write all files of a release into this new folder")
        parser.add_argument("--blind", action="store_true", help="with --folder: leave out the gold")
        parser.add_argument(
            "--format",
            choices=sorted(written_formats()),
            default=own_format().key,
            help="several files are a zip",
        )
        parser.add_argument("--scheme", choices=SCHEMES, default="", help="tag scheme of CoNLL columns")
        parser.add_argument("--unit", choices=UNITS, default="", help="unit of offsets, for doccano")

    def handle(self, *args: Any, **options: Any) -> None:
        test_set = get_test_set(options["test_set"])
        if options["blind"] and not options["folder"]:
            raise CommandError("--blind needs --folder: without gold there are no lines to write.")
        with errors_as_messages():
            test_set.verify()
        if options["folder"]:
            self._write_folder(test_set, Path(options["folder"]), with_gold=not options["blind"])
        else:
            self._write(test_set, options)

    def _write(self, test_set: TestSet, options: dict[str, Any]) -> None:
        chosen = {name: options[name] for name in ("format", "scheme", "unit")}
        with errors_as_messages():
            made = conversion.export(test_set, **chosen, in_web=False)
        with made.file:
            if options["output"]:
                try:
                    with open(options["output"], "wb", opener=_private) as file:
                        copyfileobj(made.file, file)
                except OSError as error:
                    why = "it is a link" if error.errno == errno.ELOOP else error.strerror
                    raise CommandError(f"Cannot write {options['output']} ({why}).") from error
            elif made.name.endswith(".zip"):
                raise CommandError(f"{made.name} is a zip of several files: name it with --output.")
            else:
                for line in made.file:
                    self.stdout.write(line.decode(), ending="")
        if options["output"]:
            digest = f", sha256 {test_set.sha256}" if options["format"] == own_format().key else ""
            self.stderr.write(f"{test_set.rows:,} lines{digest}")
        for name, n in made.lost.items():
            self.stderr.write(f"  {n:>9,}  lost: {name}")

    def _write_folder(self, test_set: TestSet, path: Path, *, with_gold: bool) -> None:
        from annotation.releases.folder import manifest_sha256, write_folder

        try:
            with errors_as_messages():
                count = write_folder(test_set, path, with_gold=with_gold)
        except OSError as error:
            raise CommandError(f"Cannot write {path} ({error.strerror}).") from error
        digest = manifest_sha256(test_set, with_gold=with_gold)
        self.stderr.write(f"{count} files in {path}, SHA-256 of manifest.json {digest}")
