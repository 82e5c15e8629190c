"""Saved views of a board: its address under a name, for everybody or for one person."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web.text_validation import require_clear
from evalsvc.evaluation.models import Benchmark, SavedView
from evalsvc.evaluation.roles import ORGANISER, Person, require

MOST, MOST_CHARACTERS = 50, 60


def seen_by(benchmark: Benchmark, person: Person) -> QuerySet[SavedView]:
    """Return the views for everybody, and the person's own."""
    own = Q(by=person) if isinstance(person, User) else Q(pk=None)
    return benchmark.saved_views.filter(Q(shared=True) | own)


def save(benchmark: Benchmark, *, title: str, query: str, by: User, shared: bool = False) -> SavedView:
    """Save a checked query of the board under a name; only organisers share it."""
    if shared:
        require(benchmark, by, ORGANISER)
    view = SavedView(benchmark=benchmark, query=query, by=by, shared=shared)
    with transaction.atomic():
        _lock(benchmark)
        same = benchmark.saved_views.filter(shared=shared)
        if (same if shared else same.filter(by=by)).count() >= MOST:
            raise Conflict("too_many_views", f"There are {MOST} saved views.", hint="Delete one first.")
        _write(view, title, by=by)
    return view


@transaction.atomic
def rename(view: SavedView, *, title: str, by: User) -> SavedView:
    """Give a view another name; its address stays."""
    require_own(view, by)
    _lock(view.benchmark)
    _write(view, title, by=by)
    return view


@transaction.atomic
def remove(view: SavedView, *, by: User) -> None:
    """Delete a view."""
    require_own(view, by)
    _lock(view.benchmark)
    if view.shared:
        record(view.benchmark, "view removed", by=by, about=view.title)
    view.delete()
    _show(view.benchmark)


def _lock(benchmark: Benchmark) -> None:
    """Change the views of a benchmark one after another."""
    Benchmark.objects.select_for_update().get(pk=benchmark.pk)


def require_own(view: SavedView, by: User) -> None:
    """Organisers change the views for everybody, people their own."""
    if view.shared or view.by_id != by.pk:
        require(view.benchmark, by, ORGANISER)


def _write(view: SavedView, title: str, *, by: User) -> None:
    before, view.title = view.title, title.strip()
    if not 0 < len(view.title) <= MOST_CHARACTERS:
        detail = f"The name must have 1 to {MOST_CHARACTERS} characters."
        raise DomainError("bad_title", detail, field="title")
    require_clear(view.title, field="title")
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:
        raise Conflict("view_taken", f"“{view.title}” is another saved view.", field="title") from error
    if view.shared:
        record(view.benchmark, "view", by=by, about=view.title, before=before, after=view.title)
        _show(view.benchmark)


def _show(benchmark: Benchmark) -> None:
    """Keep the views for everybody with the benchmark, so that its board needs no query for them."""
    shared = benchmark.saved_views.filter(shared=True)
    benchmark.views = list(shared.values("pk", "title", "query"))
    benchmark.save(update_fields=["views"])
