"""Announcements of organisers, on the page and in the feed of a benchmark."""

from __future__ import annotations

from django.db import transaction

from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.text_validation import require_clear
from evalsvc.evaluation.models import Announcement, Benchmark
from evalsvc.evaluation.roles import ORGANISER, require

MOST_CHARACTERS = 120
MAX_LENGTH = 10_000  # of a text: anybody may read a page of them, each rendered as Markdown
PAGE = 20


@transaction.atomic
def announce(benchmark: Benchmark, *, title: str, text: str = "", by: User) -> Announcement:
    """Publish an announcement to everybody who sees the benchmark."""
    require(benchmark, by, ORGANISER)
    title, text = title.strip(), text.replace("\r\n", "\n").strip()
    if not 0 < len(title) <= MOST_CHARACTERS:
        detail = f"The title must have 1 to {MOST_CHARACTERS} characters."
        raise DomainError("bad_title", detail, field="title")
    if len(text) > MAX_LENGTH:
        raise DomainError("too_long", f"The text has at most {MAX_LENGTH:,} characters.", field="text")
    require_clear(title, field="title")
    made = Announcement.objects.create(benchmark=benchmark, title=title, text=text, by=by)
    record(benchmark, "announcement", by=by, about=title, after=text[:200])
    return made


@transaction.atomic
def remove(announcement: Announcement, *, by: User) -> None:
    """Take an announcement back; the log keeps that it was there."""
    require(announcement.benchmark, by, ORGANISER)
    before = announcement.text[:200]
    record(
        announcement.benchmark,
        "announcement removed",
        by=by,
        about=announcement.title,
        before=before,
        after="",
    )
    announcement.delete()
