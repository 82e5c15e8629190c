"""The sentence patterns: enough of each, and all of them can be filled."""

from random import Random

import pytest

from evalsvc.demo.grammar import chosen, deck, patterns, rendered
from evalsvc.demo.names import Entity, world
from evalsvc.demo.phrases import PHRASES
from evalsvc.demo.relations import KEYS, RELATIONS, Signature

PAGES = [(s, stated) for s, book in PHRASES.items() for stated in book]


def cast(signature: Signature) -> dict[str, Entity]:
    w = world(5)
    pools = {"person": w.artists, "place": w.towns, "company": w.companies}
    return {"h": pools[signature[0]][1], "t": pools[signature[1]][7]}


def test_every_relation_has_at_least_six_patterns_of_its_own() -> None:
    for r in RELATIONS:
        assert len(PHRASES[r.head, r.tail][(r.key,)]) >= 6, r.key


def test_every_kind_of_pair_has_patterns_that_state_nothing() -> None:
    assert sum(len(book[()]) for book in PHRASES.values()) >= 60
    assert min(len(book[()]) for book in PHRASES.values()) >= 8


@pytest.mark.parametrize(("signature", "stated"), PAGES)
def test_every_pattern_names_both_entities_once_and_leaves_no_slot(
    signature: Signature, stated: tuple[str, ...]
) -> None:
    for pattern in PHRASES[signature][stated]:
        text, mentions = rendered(pattern, cast(signature), world(5), Random(1))
        assert not set("{}[]|~") & set(text), text
        assert {"h", "t"} <= {m.slot for m in mentions}
        assert text[0].isupper() or text[0].isdigit() or text[0] == "“"


def test_patterns_state_only_relations_of_their_kind_of_pair() -> None:
    fitting = {r.key: (r.head, r.tail) for r in RELATIONS}
    for signature, stated in PAGES:
        assert all(fitting[key] == signature for key in stated)
    assert {key for _, stated in PAGES for key in stated} == set(KEYS)


def test_a_choice_takes_one_branch() -> None:
    assert {chosen("a [b|c] d", Random(n)) for n in range(20)} == {"a b d", "a c d"}


def test_a_deck_repeats_nothing_before_all_had_a_turn() -> None:
    cards = deck("abcdef", Random(2))
    assert sorted(next(cards) for _ in range(6)) == list("abcdef")


def test_blank_lines_part_patterns_and_line_breaks_do_not() -> None:
    assert patterns("\none\ntwo\n\nthree\n") == ("one two", "three")


def test_a_mention_stands_where_it_says() -> None:
    text, mentions = rendered("{h} met {person} in {t}.", cast(("person", "place")), world(5), Random(3))
    assert [m.slot for m in mentions] == ["h", "person", "t"]
    assert all(text[m.start : m.end] == m.entity.name for m in mentions)
    assert mentions[0].entity != mentions[1].entity
