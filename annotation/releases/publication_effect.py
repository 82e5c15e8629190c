"""What publishing or withdrawing a test set would change for others, in words."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from annotation.models import Download, Publication
from annotation.releases import publishing
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.web.formatting import counted

Access = publishing.Access


@transaction.atomic
def of_publishing(test_set: TestSet, *, by: User, **values: Any) -> tuple[Publication, str]:
    """Publish, state what it changes, and take it back."""
    before = _active(test_set)
    readers, accepted = _readers(before), _accepted(before)
    publication = publishing.publish(test_set, by=by, **values)
    sentences = [f"{_whom(publication)} may download {_what(publication)}."]
    lost = len(readers - _readers(publication)) if publication.access == Access.NAMED else 0
    again = len(accepted - _accepted(publication)) if publication.access == Access.TERMS else 0
    if lost:
        sentences.append(f"{counted(lost, 'named person', 'named people')} may no longer.")
    if again:
        sentences.append(f"{counted(again, 'person has', 'people have')} to accept the changed terms.")
    transaction.set_rollback(True)
    return publication, " ".join(sentences)


def of_withdrawal(test_set: TestSet) -> str:
    """State what a withdrawal ends, and what it leaves with others; nothing if the set is not published."""
    publication = _active(test_set)
    if publication is None:
        return ""
    made = Download.objects.filter(test_set=test_set, what__startswith="published")
    people = made.exclude(user=None).values("user").distinct().count()
    whom, what = _whom(publication), _what(publication)
    by_whom = f", by {counted(people, 'person', 'people')} with a login" if people else ""
    so_far = f"{counted(made.count(), 'download')} so far{by_whom}"
    return f"{whom} can no longer download {what}. {so_far}: copies stay."


def _active(test_set: TestSet) -> Publication | None:
    return Publication.objects.filter(test_set=test_set, withdrawn_at=None).first()


def _readers(publication: Publication | None) -> set[int]:
    return set(publication.readers.values_list("user", flat=True)) if publication else set()


def _accepted(publication: Publication | None) -> set[int]:
    """Return the people who accepted the terms as they are."""
    if publication is None:
        return set()
    digest = publishing.terms_sha256(publication)
    return set(publication.acceptances.filter(terms_sha256=digest).values_list("user", flat=True))


def _whom(publication: Publication) -> str:
    if publication.access == Access.NAMED:
        return counted(publication.readers.count(), "named person", "named people")
    return {Access.ANYBODY: "Anybody", Access.TERMS: "People who accept the terms"}[
        Access(publication.access)
    ]


def _what(publication: Publication) -> str:
    gold = "with" if publication.with_gold else "without"
    return f"{counted(publication.test_set.rows, 'sentence')} {gold} gold"
