"""Labels of an imported file, compared with the ontology."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from annotation.consensus import recomputation
from annotation.consensus.rules import labels_in
from annotation.models import Adjudication, Batch, KnownAnswer, Project, Vote
from annotation.ontology import label_usage
from annotation.ontology.inventory import lock_project, mapping_of, renew_stamp, require_no_running_import
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict

MOST = 300
RARE = 5


@dataclass(frozen=True, slots=True)
class ImportedLabel:
    """One label of a file as the ontology has it now."""

    part: str
    name: str
    lines: int
    added: bool
    lacking: bool
    like: str = ""


def label_counts(labels: Mapping[str, Counter[str]], added: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Return the most frequent labels and the number of all labels."""
    labels_by_count = [(n, name, part) for part, counts in labels.items() for name, n in counts.items()]
    rows = [
        {"part": part, "name": name, "lines": n, "added": name in added.get(part, ())}
        for n, name, part in sorted(labels_by_count, key=lambda entry: (-entry[0], entry[1]))
    ]
    return {"labels": rows[:MOST], "labels_in_file": len(rows)}


def imported_labels(batch: Batch) -> list[ImportedLabel]:
    """Return the labels of an import, compared with the current ontology."""
    rows = batch.counts.get("labels") or []
    if batch.project is None or not rows:
        return []
    mapping, raw = mapping_of(batch.project), set(batch.project.labels.values_list("part", "name"))
    lines = Counter({row["name"]: row["lines"] for row in rows})
    lines.update({name: 0 for _, name in raw})
    like = misspellings(lines, {name for _, name in raw} - {row["name"] for row in rows if row["added"]})
    return [
        ImportedLabel(
            row["part"],
            row["name"],
            row["lines"],
            row["added"] and (row["part"], row["name"]) in raw,
            (row["part"], row["name"]) not in raw,
            "" if row["name"] in mapping else like.get(row["name"], ""),
        )
        for row in rows
    ]


def misspellings(lines: Counter[str], settled: Collection[str]) -> dict[str, str]:
    """Return likely misspellings: one letter, case or spaces from a usual name."""
    shared: dict[str, list[str]] = defaultdict(list)
    for name in lines:
        plain = re.sub(r"[\s_-]+", "_", name.casefold())
        shorter = {plain[:at] + plain[at + 1 :] for at in range(len(plain))} if len(plain) > 3 else set()
        for variant in {plain} | shorter:
            shared[variant].append(name)
    misspelt: dict[str, str] = {}
    for names in shared.values():
        usual = max(names, key=lambda name: (name in settled, lines[name]))
        for name in names:
            rare = name not in settled and (usual in settled or RARE * lines[name] <= lines[usual])
            if name != usual and rare and _digits(name) == _digits(usual):
                misspelt[name] = usual
    return misspelt


def _digits(name: str) -> list[str]:
    return re.findall(r"\d", name)


@transaction.atomic
def remove_labels(project: Project, names: Collection[str], *, part: str, by: User) -> int:
    """Remove unused labels."""
    require_to_change(project, by, CURATOR)
    lock_project(project)
    require_no_running_import(project)  # its answers may have these labels
    used = set(names) & _used(project)
    label_usage.wait_for_running_votes(project)
    used |= set(names) & _used(project, at__gte=Now() - label_usage.JUST_NOW)
    if used:
        raise Conflict(
            "label_in_use",
            f"Answers or ontology steps use {', '.join(sorted(used)[:5])}.",
            hint="Delete or merge such labels in the ontology, which preserves the answers.",
        )
    removed, _ = project.labels.filter(part=part, name__in=names).delete()
    renew_stamp(project)
    record(project, "labels removed", by=by, before=sorted(names), after=[])
    recomputation.recompute_after_change(project)
    return removed


def _used(project: Project, **vote_filters: Any) -> set[str]:
    """Return labels used in votes, decisions, gold questions and steps."""
    in_project = {"item__project": project}
    answers: tuple[QuerySet[Any], ...] = (
        Vote.objects.filter(payload__isnull=False, **in_project, **vote_filters),
        Adjudication.objects.filter(**in_project),
        KnownAnswer.objects.filter(**in_project),
    )
    payloads = (payload for rows in answers for payload in rows.values_list("payload", flat=True))
    names = {name for payload in payloads for name in labels_in(payload)}
    steps = project.steps.values_list("sources", "target")
    return names | {name for sources, target in steps for name in (*sources, target)}
