"""The sentence patterns: per kind of pair, what states which relations and what states none."""

from evalsvc.demo.grammar import patterns
from evalsvc.demo.phrases import business, people, places, posts
from evalsvc.demo.relations import Signature

Phrasebook = dict[tuple[str, ...], tuple[str, ...]]
"""Relations stated → patterns; no relations → patterns where both entities occur without any."""


def _book(pages: dict[tuple[str, ...], str]) -> Phrasebook:
    return {stated: patterns(text) for stated, text in pages.items()}


PHRASES: dict[Signature, Phrasebook] = {
    ("person", "place"): _book(people.PERSON_PLACE),
    ("person", "person"): _book(people.PERSON_PERSON),
    ("person", "company"): _book(posts.PERSON_COMPANY),
    ("place", "place"): _book(places.PLACE_PLACE),
    ("company", "place"): _book(business.COMPANY_PLACE),
    ("company", "person"): _book(business.COMPANY_PERSON),
}
