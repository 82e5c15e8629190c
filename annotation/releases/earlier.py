"""The set that a release is compared with, and the right to compare."""

from __future__ import annotations

from annotation.releases.comparison import Comparison, compare
from annotation.releases.publishing import record_download
from annotation.releases.sides import side_of
from annotation.testset import TestSet, characters_of
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge

MAX_ROWS, MAX_CHARACTERS = 50_000, 10_000_000  # of both sets: a few seconds of a request


def earlier_sets(test_set: TestSet, user: User) -> list[TestSet]:
    """Return the frozen sets of the same kind and origin that a person reads, the latest before it first."""
    sets = TestSet.objects.frozen().visible_to(user).filter(kind=test_set.kind, origin=test_set.origin)
    sets = sets.filter(project=test_set.project) if test_set.project else sets.filter(project=None)
    before = sets.filter(pk__lt=test_set.pk).select_related("project").order_by("-pk")[:50]
    return [each for each in before if each.readable_by(user)]


def compare_with(test_set: TestSet, since: str, *, by: User) -> tuple[TestSet, Comparison]:
    """Compare with the set of this slug, by default with the latest before it, and log it for both."""
    test_set.require_reader(by)
    if since:
        first = TestSet.objects.frozen().visible_to(by).filter(slug=since).select_related("project").first()
        if first is None or not first.readable_by(by):
            raise DomainError(
                "unknown_set", f"There is no test set {since!r} that you may read.", field="since"
            )
        if first.kind != test_set.kind:
            detail = f"{first} has {first.kind}, {test_set} has {test_set.kind}: they cannot be compared."
            raise DomainError("other_kind", detail, field="since")
    else:
        first = next(iter(earlier_sets(test_set, by)), None)
        if first is None:
            raise Conflict("no_earlier_set", f"No test set of the same kind was frozen before {test_set}.")
    rows = first.rows + test_set.rows
    hint = "Use manage.py compare_releases, with the slugs or with two folders."
    if rows > MAX_ROWS:
        raise TooLarge("too_many_rows", f"The sets have {rows:,} lines.", hint=hint, limit=MAX_ROWS)
    if (size := characters_of(first, test_set)) > MAX_CHARACTERS:
        detail = f"The lines of the sets have {size:,} characters."
        raise TooLarge("too_many_rows", detail, hint=hint, limit=MAX_CHARACTERS)
    for read, other in ((first, test_set), (test_set, first)):  # it lists the gold of every line that differs
        record_download(read, by, f"changes, with {other.slug}"[:40])
    return first, compare(side_of(first), side_of(test_set))
