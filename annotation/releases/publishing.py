"""Publication of test sets: who may download, accepted terms, and the log of downloads."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from annotation.models import Acceptance, Download, Publication, PublicationReader
from annotation.releases.folder import require_complete
from annotation.testset import TestSet, count_hiding, record_change
from annotation.testset_overlap import lock_overlapping, overlapping
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed

Person = User | AnonymousUser
Access = Publication.Access
MAX_TERMS, MAX_READERS = 50_000, 500


# ---- curators -------------------------------------------------------------------------------------
@transaction.atomic
def publish(
    test_set: TestSet,
    *,
    access: str,
    with_gold: bool = False,
    terms: str = "",
    usernames: Collection[str] = (),
    by: User,
) -> Publication:
    """Publish a test set, or change its publication; a withdrawn one is published again."""
    test_set.require_lasting_reader(by)
    require_complete(test_set)
    if access not in Access.values:
        detail = f"Unknown access {access!r}. Use one of: {', '.join(Access.values)}."
        raise DomainError("invalid_input", detail, field="access")
    if access == Access.TERMS and not terms.strip():
        raise DomainError("invalid_input", "State the terms that people accept.", field="terms")
    if len(terms) > MAX_TERMS:
        raise DomainError("invalid_input", f"Terms have at most {MAX_TERMS:,} characters.", field="terms")
    if with_gold:
        _require_no_hidden_gold(test_set)
    readers, before = _people(usernames) if access == Access.NAMED else [], _logged(test_set)
    values: dict[str, Any] = {"access": access, "with_gold": with_gold, "terms": terms.strip(), "by": by}
    again: dict[str, Any] = {"withdrawn_at": None, "withdrawn_by": None, "reason": ""}
    publication, _ = Publication.objects.update_or_create(
        test_set=test_set, defaults=values | again, create_defaults=values
    )
    publication.readers.exclude(user__in=readers).delete()
    PublicationReader.objects.bulk_create(
        [PublicationReader(publication=publication, user=user) for user in readers], ignore_conflicts=True
    )
    record_change(test_set, "test set published", by=by, before=before, after=_logged(test_set))
    return publication


def _require_no_hidden_gold(test_set: TestSet) -> None:
    """Reject gold with lines that a hidden phase scores, be it in another part or under other names."""
    lock_overlapping(test_set)
    for each in overlapping([test_set]):
        if count_hiding(each):  # not how many: some may be of benchmarks that the person does not see
            detail = f"The gold cannot be published: hidden phases use {'it' if each == test_set else each}."
            hint = "Publish the sentences to predict only, or wait until the phase closes."
            raise Conflict("gold_hidden", detail, hint=hint, field="with_gold")


def _people(usernames: Collection[str]) -> list[User]:
    names = list(dict.fromkeys(name for entry in usernames if (name := entry.strip())))
    found = {user.username: user for user in User.objects.filter(username__in=names, is_active=True)}
    missing = [name for name in names if name not in found]
    if not names or missing or len(names) > MAX_READERS:
        detail = "Name at least one person." if not names else f"At most {MAX_READERS} people can be named."
        detail = f"No account has the user name {missing[0]}." if missing else detail
        raise DomainError("invalid_input", detail, field="usernames")
    return list(found.values())


@transaction.atomic
def withdraw(test_set: TestSet, *, reason: str, by: User) -> Publication:
    """End all downloads by others; the page stays, with the reason."""
    test_set.require_reader(by)
    publication = Publication.objects.filter(test_set=test_set, withdrawn_at=None).first()
    if publication is None:
        raise Conflict("not_published", f"{test_set} is not published.")
    if not reason.strip():
        raise DomainError("invalid_input", "Say why it is withdrawn; its page shows it.", field="reason")
    before = _logged(test_set)
    Publication.objects.filter(pk=publication.pk).update(
        withdrawn_at=Now(), withdrawn_by=by, reason=reason.strip()
    )
    publication.refresh_from_db()
    record_change(test_set, "test set withdrawn", by=by, before=before, after=_logged(test_set))
    return publication


def _logged(test_set: TestSet) -> dict[str, Any]:
    """Return what the log states of a publication; terms by their beginning."""
    row = Publication.objects.filter(test_set=test_set).first()
    if row is None:
        return {}
    values = {"access": row.access, "with_gold": row.with_gold, "terms": row.terms[:200]}
    people = list(row.readers.values_list("user__username", flat=True))
    withdrawn = {"withdrawn": row.reason} if row.withdrawn_at else {}
    return (
        {name: value for name, value in values.items() if value != ""}
        | withdrawn
        | ({"people": people} if people else {})
    )


# ---- readers --------------------------------------------------------------------------------------
def visible(user: Person) -> QuerySet[Publication]:
    """Return the publications whose page a person sees; those for named people are for them."""
    rows = Publication.objects.select_related("test_set__project", "test_set__by")
    if not isinstance(user, User):
        return rows.filter(access__in=(Access.ANYBODY, Access.TERMS))
    if user.is_superuser:
        return rows
    curated = Q(test_set__project__in=user.projects.filter(role="curator").values("project"))
    own = curated | Q(test_set__project=None, test_set__by=user)
    named = Q(pk__in=PublicationReader.objects.filter(user=user).values("publication"))
    return rows.filter(Q(access__in=(Access.ANYBODY, Access.TERMS)) | named | own)


def terms_sha256(publication: Publication) -> str:
    return hashlib.sha256(publication.terms.encode()).hexdigest()


def has_accepted(publication: Publication, user: Person) -> bool:
    """True if the person accepted the terms as they are now."""
    if not isinstance(user, User):
        return False
    return publication.acceptances.filter(user=user, terms_sha256=terms_sha256(publication)).exists()


def accept(publication: Publication, *, sha256: str, by: User) -> Acceptance:
    """Accept the terms that have this digest."""
    if sha256 != terms_sha256(publication):
        hint = "Read them again, then accept them."
        raise Conflict("terms_changed", "The terms have changed since you read them.", hint=hint)
    return Acceptance.objects.get_or_create(publication=publication, user=by, terms_sha256=sha256)[0]


def require_download(publication: Publication, user: Person) -> None:
    """Require a publication that stands, and accepted terms where it has some to accept."""
    if publication.withdrawn_at is not None:
        raise Conflict(
            "set_withdrawn",
            f"{publication.test_set} was withdrawn: {publication.reason}",
            hint="Its page has the details.",
        )
    if publication.access == Access.TERMS and not has_accepted(publication, user):
        raise NotAllowed(
            "terms_not_accepted",
            f"Downloads of {publication.test_set} need acceptance of its terms.",
            hint="Log in and accept them on its page.",
        )


def may_download(publication: Publication, user: Person, *, with_gold: bool) -> bool:
    """True if the person may download the publication, and it has at least these files."""
    try:
        require_download(publication, user)
    except (Conflict, NotAllowed):
        return False
    return publication.with_gold or not with_gold


# ---- the log of downloads -------------------------------------------------------------------------
def record_download(test_set: TestSet, user: Person, what: str) -> None:
    """Log a download as it begins."""
    Download.objects.create(test_set=test_set, user=user if isinstance(user, User) else None, what=what)


def downloads(test_set: TestSet, *, by: User, most: int = 200) -> Sequence[Download]:
    """List the latest downloads, for readers of the gold."""
    test_set.require_reader(by)
    return list(test_set.downloads.select_related("user").order_by("-pk")[:most])
