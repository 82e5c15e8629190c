"""Write gold lines in short transactions; seal the set in one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.text import slugify

from annotation.freezing.answer_counts import StatedOfLines
from annotation.testset import Origin, TestSet, TestSetRow, export_lines, provenance_lines
from evalsvc.core.database import insert_many
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.records import canonical_line
from evalsvc.core.jobs.exceptions import RetryLater
from evalsvc.core.jobs.lease import Progress, fenced
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.web.text_validation import require_unreserved

CHUNK = 1_000
_TITLES: dict[str, str] = {
    Origin.ANNOTATED: "A test set",
    Origin.SOURCE: "A set of source labels",
    Origin.IMPORTED: "An imported test set",
}


class FrozenLine(NamedTuple):
    """A gold line, and what decided it where that is recorded."""

    gold: dict[str, Any]
    provenance: dict[str, Any] | None = None


def create_test_set(*, name: str, version: str, origin: str, **more: Any) -> TestSet:
    """Create a set to build, replacing a failed one of its name.

    That of another project, or an import of somebody else, stays: it can be retried.
    """
    name, version = name.strip(), version.strip()
    slug = slugify(f"{name} {version}".replace(".", "-") + (" source" if origin == "source" else ""))[:100]
    if not (name and version and slug) or len(name) > 120 or len(version) > 20:
        expected = "a name of 1–120 and a version of 1–20 characters"
        raise DomainError("invalid_input", f"A test set needs {expected}.", field="name")
    require_unreserved(slug, field="name")
    project = more.get("project")
    own = {"project": project} if project else {"project": None, "by": more["by"]}
    failed = TestSet.objects.filter(name=name, version=version, state=TestSet.State.FAILED, **own)
    failed.filter(twin__in=failed.filter(origin=origin)).delete()
    failed.filter(origin=origin, source_twin=None).delete()
    try:
        with transaction.atomic():
            return TestSet.objects.create(slug=slug, name=name, version=version, origin=origin, **more)
    except IntegrityError as error:
        hint = "Frozen sets never change: choose another version."
        raise Conflict(
            "name_taken", f"{_TITLES[origin]} {name} {version} already exists.", hint=hint
        ) from error


def write_rows(test_set: TestSet, lines: Iterable[FrozenLine], *, progress: Progress, total: int = 0) -> int:
    """Replace the lines of an earlier attempt; return the number written."""
    while delete_lines(test_set):
        pass
    count, source = 0, iter(lines)
    while chunk := list(islice(source, CHUNK)):
        rows = [
            TestSetRow(
                test_set=test_set,
                number=count + at,
                external_id=line.gold["id"],
                line=_written(line.gold),
                provenance=None if line.provenance is None else _written(line.provenance),
            )
            for at, line in enumerate(chunk, 1)
        ]
        with fenced():
            insert_many(rows)
        count += len(rows)
        progress(count, total, f"writing {test_set}")
    return count


def _written(value: dict[str, Any]) -> str:
    return canonical_line(value).decode().rstrip("\n")


@fenced()
def delete_lines(test_set: TestSet) -> int:
    """Delete some lines of an earlier attempt; return their number."""
    keys = list(test_set.lines.values_list("pk", flat=True)[:CHUNK])
    return TestSetRow.objects.filter(pk__in=keys).delete()[0]


class Digests(NamedTuple):
    """SHA-256 of the written lines, and of what decided them if that is recorded; the number of lines."""

    gold: str
    provenance: str
    lines: int
    stated: StatedOfLines

    def in_manifest(self, manifest: dict[str, Any]) -> dict[str, Any]:
        """Return the manifest with the digest and the figures of the provenance."""
        digest = {"provenance_sha256": self.provenance} if self.provenance else {}
        return self.stated.in_manifest(manifest) | digest


def digests(test_set: TestSet) -> Digests:
    gold, provenance, n_lines, stated = hashlib.sha256(), hashlib.sha256(), 0, StatedOfLines()
    for line in export_lines(test_set):
        gold.update(line)
        n_lines += 1
    for line in provenance_lines(test_set):
        provenance.update(line)
        stated.add(line)
    recorded = bool(stated.outcomes)
    return Digests(gold.hexdigest(), provenance.hexdigest() if recorded else "", n_lines, stated)


def seal(
    test_set: TestSet, *, count: int, labels: Sequence[dict[str, str]], manifest: dict[str, Any]
) -> None:
    """Freeze the written lines; nothing changes the set from here on."""
    written = digests(test_set)
    if written.lines != count:
        raise RetryLater(f"{written.lines:,} of {count:,} lines of {test_set} are stored; it is built again.")
    TestSet.objects.filter(pk=test_set.pk, state=TestSet.State.BUILDING).update(
        state=TestSet.State.FROZEN,
        rows=count,
        sha256=written.gold,
        labels=list(labels),
        manifest=written.in_manifest(manifest) | {"binds_files": True},
        frozen_at=Now(),
    )
    enqueue("describe", test_set.pk, lane=f"user {test_set.by_id}")
