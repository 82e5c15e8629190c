"""Which frozen test sets may share gold lines, and whether everybody may download them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from django.db.models import Q

from annotation.testset import TestSet, count_hiding

Name = tuple[str, bool]  # slug of a set, or of the one whose source set it is; whether it is a source set


class _Made(NamedTuple):
    """How a set was made of others: parts of one split are disjoint."""

    pk: int
    parents: frozenset[Name]
    split: dict[str, Any]
    part: str


class Origins:
    """What all test sets were made of."""

    def __init__(self) -> None:
        self._names: dict[int, Name] = {}
        self._made: dict[Name, _Made] = {}
        self._roots_of: dict[Name, frozenset[Name]] = {}
        rows = TestSet.objects.values_list(
            "pk", "slug", "twin__slug", "manifest__split", "manifest__mapped__of"
        )
        for pk, slug, twin, split, mapped in rows:
            # the manifest of a part has what the whole was mapped from, too
            of = [split["of"]] if split else [each["slug"] for each in mapped or ()]
            name = self._names[pk] = (twin or slug, twin is not None)
            if of:
                plan = dict(split or {})
                part, parents = plan.pop("part", ""), frozenset((parent, name[1]) for parent in of)
                self._made[name] = _Made(pk, parents, plan, part)

    def overlapping(self, keys: Collection[int]) -> set[int]:
        """Return the sets that may share lines with one of these, and these."""
        return {pk for pk in self._names if pk in keys or any(self.may_share(pk, other) for other in keys)}

    def may_share(self, one: int, other: int) -> bool:
        """True unless two sets have no common origin, or a split keeps them apart."""
        pair = self._names[one], self._names[other]
        return not self._roots(pair[0]).isdisjoint(self._roots(pair[1])) and self._meet(*pair)

    def _roots(self, name: Name) -> frozenset[Name]:
        """Return the sets that were made of no other, of which a set was made."""
        if name not in self._roots_of:
            made = self._made.get(name)
            roots = frozenset([name])
            if made:
                roots = frozenset().union(*map(self._roots, made.parents))
            self._roots_of[name] = roots
        return self._roots_of[name]

    def _meet(self, one: Name, other: Name) -> bool:
        """Follow both to what they are made of, the younger first, unless a split keeps them apart."""
        seen, left = set[tuple[Name, Name]](), [(one, other)]
        while left:
            pair = left.pop()
            if pair[0] == pair[1]:
                return True
            a, b = (self._made.get(name) for name in pair)
            if pair in seen or (a and b and a.split and a.split == b.split and a.part != b.part):
                continue
            seen.add(pair)
            if a and (not b or a.pk > b.pk):
                left += [(parent, pair[1]) for parent in a.parents]
            elif b:
                left += [(pair[0], parent) for parent in b.parents]
        return False


def overlapping(test_sets: Iterable[TestSet]) -> list[TestSet]:
    """Return frozen sets, and those that may share lines with one of them: of one origin, as part or mapped.

    Parts of one and the same split share none, nor does what is made of one with what is made of another.
    """
    keys = Origins().overlapping({each.pk for each in test_sets})
    return list(TestSet.objects.frozen().filter(pk__in=keys).order_by("pk"))


def lock_overlapping(test_set: TestSet) -> None:
    """Lock a set, those that may share lines with it, and copies of all: either is published, or hidden."""
    sets = overlapping([test_set])
    alike = Q(pk__in=[each.pk for each in sets]) | Q(sha256__in={each.sha256 for each in sets})
    list(TestSet.objects.filter(alike).order_by("pk").select_for_update(no_key=True).values_list("pk"))


def hidden_among(test_sets: Iterable[TestSet]) -> set[int]:
    """Return the keys of the sets with lines that a hidden phase scores, be it in other sets."""
    origins, hidden = Origins(), set[int]()
    for each in test_sets:
        if count_hiding(*TestSet.objects.frozen().filter(pk__in=origins.overlapping({each.pk}))):
            hidden.add(each.pk)
    return hidden


def published_gold(test_sets: Iterable[TestSet]) -> list[TestSet]:
    """Return the sets with lines of these whose gold anybody may download, or whoever accepts terms."""
    keys = {each.pk for each in overlapping(test_sets)}
    published = {"publication__with_gold": True, "publication__withdrawn_at": None}
    return list(TestSet.objects.filter(pk__in=keys, **published).exclude(publication__access="named"))
