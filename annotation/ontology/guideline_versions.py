"""Versions of the guideline: each answer has one, and those of an old one can be asked again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import unified_diff

from django.db import transaction
from django.db.models import Count, QuerySet
from django.db.models.functions import Now

from annotation.consensus import recomputation
from annotation.consensus.rules import label_names
from annotation.models import Answer, GuidelineVersion, Project
from annotation.ontology.inventory import lock_project, mapping_of, renew_stamp
from annotation.ontology.labels import inventory, parts_of
from annotation.roles import CURATOR, require, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.problems import did_you_mean

MOST_LINES = 5_000  # of each text that is compared


@dataclass(frozen=True)
class Version:
    """A version of the guideline, with its answers to ordinary sentences."""

    number: int
    text: str
    by: str
    at: datetime
    answers: int | None  # None while a job counts them
    asked_again_at: datetime | None
    labels: list[str]


def answers_by_version(project: Project) -> dict[int, int]:
    """Count the answers given here under each version."""
    given = Answer.objects.filter(item__project=project, item__use="", vote__batch=None).order_by()
    return dict(given.filter(guideline__isnull=False).values_list("guideline").annotate(n=Count("pk")))


def versions(project: Project, *, answers: Mapping[int, int] | None, by: User) -> list[Version]:
    """Return all versions, the newest first, with their answers if these are counted."""
    require(project, by, CURATOR)
    mapping, known = mapping_of(project), label_names(project)
    rows = list(project.guideline_versions.select_related("by").order_by("-number")) or [_first(project)]
    return [
        Version(
            row.number,
            row.text,
            row.by.shown_name,
            row.at,
            None if answers is None else answers.get(row.number, 0),
            row.asked_again_at,
            [name for name in mapping.labels(row.asked_labels) if name in known] or row.asked_labels,
        )
        for row in rows
    ]


def _first(project: Project) -> GuidelineVersion:
    """Return the version that projects have before any is stored."""
    values = {"text": project.guideline, "by": project.created_by, "at": project.created_at}
    return GuidelineVersion(project=project, number=project.guideline_version, **values)


def differences(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines that differ, with two around them, each after its sign: −, +, none, or … for a gap."""
    old, new = (text.splitlines()[:MOST_LINES] for text in (before, after))
    rows = list(unified_diff(old, new, n=2, lineterm=""))[2:]
    signs = {"-": "−", "+": "+", "@": "…"}
    return [(signs.get(row[0], ""), "" if row[0] == "@" else row[1:]) for row in rows]


def set_text(project: Project, text: str, *, by: User) -> None:
    """Change the text of a locked project; from its opening on, each text is a version.

    Somebody's page may show the former text, though nobody has answered under it yet.
    """
    if not project.guideline_versions.exists():
        _first(project).save()
    if project.state != Project.State.SETUP:
        project.guideline_version += 1
        GuidelineVersion.objects.create(project=project, number=project.guideline_version, text=text, by=by)
    else:
        project.guideline_versions.filter(number=project.guideline_version).update(text=text, by=by, at=Now())
    values = {"guideline": text, "guideline_version": project.guideline_version}
    Project.objects.filter(pk=project.pk).update(**values)


@transaction.atomic
def ask_again(
    project: Project, number: int, *, labels: Collection[str] = (), again: bool = True, by: User
) -> None:
    """Ask the answers under an old version again, all or those with one of the labels; or count them again.

    Until the person answers again, such an answer is kept and doesn't count. The raw labels of the moment are
    stored, with those of earlier orders.
    """
    require_to_change(project, by, CURATOR)
    project = lock_project(project)
    version = _old_version(project, number)
    known = {choice.name for part in parts_of(project) for choice in inventory(project, part)}
    for name in labels:
        if name not in known:
            hint = did_you_mean(name, known) or ""
            raise DomainError("unknown_label", f"Unknown label {name[:80]!r}.", hint=hint, field="labels")
    asked = sorted(set(labels)) if again else []
    raw = mapping_of(project).raw_names(asked)
    earlier = version.exclude(asked_again_at=None).values_list("asked_labels", flat=True).first()
    if again and earlier is not None:  # a further order takes none back
        raw = sorted({*earlier, *raw}) if earlier and raw else []
    version.update(asked_again_at=Now() if again else None, asked_labels=raw)
    renew_stamp(project)
    action = "answers asked again" if again else "answers count again"
    record(
        project, action, by=by, about=f"guideline version {number}", before="", after=asked or "all labels"
    )
    recomputation.recompute_after_change(project)


def _old_version(project: Project, number: int) -> QuerySet[GuidelineVersion]:
    version = project.guideline_versions.filter(number=number).exclude(number=project.guideline_version)
    if not version.exists():
        detail = f"The guideline has no earlier version {number}."
        hint = f"The current one is version {project.guideline_version}."
        raise Conflict("unknown_guideline", detail, hint=hint, field="number")
    return version
