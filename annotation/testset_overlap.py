"""Which frozen test sets may share gold lines, and whether everybody may download them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from annotation.testset import TestSet

Name = tuple[str, bool]  # slug of a set, or of the one whose source set it is; whether it is a source set


class _Made(NamedTuple):
    """How a set was made of others: parts of one split are disjoint."""

    pk: int
    parents: frozenset[Name]
    split: dict[str, Any]
    part: str


def overlapping(test_sets: Iterable[TestSet]) -> list[TestSet]:
    """Return sets, and those that may share lines with one of them: of the same origin, as part or mapped.

    Parts of one and the same split share none, nor does what is made of one with what is made of another.
    """
    made: dict[Name, _Made] = {}
    rows = TestSet.objects.filter(manifest__has_any_keys=["split", "mapped"]).values_list(
        "pk", "slug", "twin__slug", "manifest__split", "manifest__mapped__of"
    )
    for pk, slug, twin, split, mapped in rows:
        # the manifest of a part has what the whole was mapped from, too
        names = [split["of"]] if split else [each["slug"] for each in mapped or ()]
        is_source, plan = twin is not None, dict(split or {})
        part, parents = plan.pop("part", ""), frozenset((name, is_source) for name in names)
        made[twin or slug, is_source] = _Made(pk, parents, plan, part)
    asked = {(each.twin.slug, True) if each.twin else (each.slug, False): each for each in test_sets}
    known = {*made, *(parent for each in made.values() for parent in each.parents)} - asked.keys()
    found = {name for name in known if any(_overlap(name, other, made) for other in asked)}
    frozen = TestSet.objects.frozen()
    plain = frozen.filter(twin=None, slug__in=[slug for slug, is_source in found if not is_source])
    sources = frozen.filter(twin__slug__in=[slug for slug, is_source in found if is_source])
    return [*asked.values(), *plain, *sources]


def _overlap(one: Name, other: Name, made: dict[Name, _Made]) -> bool:
    """Follow both to what they are made of, the younger first, unless a split keeps them apart."""
    seen, left = set[tuple[Name, Name]](), [(one, other)]
    while left:
        pair = left.pop()
        if pair[0] == pair[1]:
            return True
        a, b = (made.get(name) for name in pair)
        if pair in seen or (a and b and a.split and a.split == b.split and a.part != b.part):
            continue
        seen.add(pair)
        if a and (not b or a.pk > b.pk):
            left += [(parent, pair[1]) for parent in a.parents]
        elif b:
            left += [(pair[0], parent) for parent in b.parents]
    return False


def published_gold(test_sets: Iterable[TestSet]) -> list[TestSet]:
    """Return the sets with lines of these whose gold anybody may download, or whoever accepts terms."""
    keys = {each.pk for each in overlapping(test_sets)}
    published = {"publication__with_gold": True, "publication__withdrawn_at": None}
    return list(TestSet.objects.filter(pk__in=keys, **published).exclude(publication__access="named"))
