"""Users, sentences and jobs shared by every part of the cast."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

from annotation.models import Project
from annotation.reports import agreement
from evalsvc.core.accounts.models import User
from evalsvc.core.formats.records import canonical_line
from evalsvc.core.jobs.models import Job
from workers.runner import run_inline

PASSWORD = "harbour-lamp-7"


def person(name: str, **fields: Any) -> User:
    """A user who can log in; the same one each time."""
    existing = User.objects.filter(username=name).first()
    return existing or User.objects.create_user(name, password=PASSWORD, **fields)


def sentence(
    at: int | str, text: str = "", *, name: str = "Ada", head: str = "Q1", tail: str = "Q2", **more: Any
) -> dict[str, Any]:
    """A sentence about a person and Turin; its text contains its id, so that no two are equal."""
    external_id = at if isinstance(at, str) else f"s{at}"
    text = text or f"{name} was seen in Turin, {external_id}."
    return {
        "id": external_id,
        "text": text,
        "h": _mention(text, name, head),
        "t": _mention(text, "Turin", tail),
    } | more


def _mention(text: str, name: str, entity: str) -> dict[str, Any]:
    start = text.index(name)
    return {"id": entity, "name": name, "pos": [start, start + len(name)]}


def jsonl(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return b"".join(map(canonical_line, lines))


def run_job(kind: str, subject: int) -> Job:
    """Run the newest job of this kind in this process; agreement is computed with few resamples."""
    with (
        patch("workers.scoring.agreement.REPLICATES", 20)
        if kind in ("agreement", "describe")
        else nullcontext()
    ):
        return run_inline(Job.objects.filter(kind=kind, subject=subject).latest("pk"))


def compute_agreement(project: Project, *, by: User) -> Job:
    return run_job("agreement", agreement.request_report(project, by=by).pk)
