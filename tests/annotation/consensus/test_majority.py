"""Strict majority, label by label: cases easy to get wrong, and all small ones against an oracle."""

from __future__ import annotations

import tracemalloc
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from annotation.consensus.majority import decide


def answer_of(*relations: str) -> dict[str, Any]:
    return {"spans": [], "relations": list(relations)}


def marked(*spans: tuple[int, int, str], links: tuple[Any, ...] = ()) -> dict[str, Any]:
    return {"spans": [list(span) for span in spans], "relations": [list(link) for link in links]}


NA = answer_of()
P02, P03, O02 = (0, 2, "P"), (0, 3, "P"), (0, 2, "O")


def relations(*payloads: dict[str, Any], policy: str = "majority", k: int = 0) -> Any:
    return decide(payloads, kind="relations", policy=policy, k=k or len(payloads))


def entities(*payloads: dict[str, Any], policy: str = "majority", overlap: bool = False) -> Any:
    return decide(payloads, kind="entities", policy=policy, k=len(payloads), may_overlap=overlap)


def test_only_relations_with_more_than_half_of_the_votes_are_accepted() -> None:
    verdict = relations(answer_of("A", "B"), answer_of("A"), answer_of("A", "C"), answer_of("B"))
    assert (verdict.state, verdict.gold) == ("settled", answer_of("A"))


def test_a_tie_is_disputed() -> None:
    verdict = relations(answer_of("A"), answer_of("A"), answer_of("B"), answer_of("B"))
    assert (verdict.state, verdict.gold, verdict.pattern) == ("disputed", None, "2–2")


def test_a_relation_with_half_of_the_votes_is_dropped_beside_an_accepted_one() -> None:
    assert relations(answer_of("A", "B"), answer_of("A", "B"), answer_of("A"), NA).gold == answer_of("A")


def test_two_relations_may_both_be_accepted() -> None:
    assert relations(answer_of("A", "B"), answer_of("B", "A"), answer_of("A", "B"), NA).gold == answer_of(
        "A", "B"
    )


def test_an_item_nobody_labelled_is_na() -> None:
    verdict = relations(NA, NA, NA, NA)
    assert (verdict.state, verdict.gold, verdict.na) == ("settled", NA, 4)


@pytest.mark.parametrize(
    ("policy", "state", "gold"), [("majority", "disputed", None), ("majority-na", "settled", NA)]
)
def test_one_against_three_na_is_decided_by_the_policy(policy: str, state: str, gold: Any) -> None:
    verdict = relations(answer_of("A"), NA, NA, NA, policy=policy)
    assert (verdict.state, verdict.gold, verdict.pattern) == (state, gold, "1 against 3 N/A")


def test_na_needs_more_than_half_under_both_policies() -> None:
    for policy in ("majority", "majority-na"):
        assert relations(answer_of("A"), answer_of("B"), NA, NA, policy=policy).state == "disputed"


def test_a_blank_answer_counts_as_an_answer_but_not_as_na() -> None:
    blank = NA | {"blank": True}
    assert relations(answer_of("A"), NA, NA, blank, policy="majority-na").state == "disputed"
    assert relations(answer_of("A"), answer_of("A"), blank, blank).state == "disputed"
    assert relations(blank, NA, blank).gold == NA


def test_fewer_than_k_answers_leave_the_item_open() -> None:
    verdict = relations(answer_of("A"), answer_of("A"), answer_of("A"), k=4)
    assert (verdict.state, verdict.gold) == ("open", None)


def test_only_the_first_k_answers_count() -> None:
    assert relations(
        answer_of("A"), answer_of("A"), answer_of("B"), answer_of("B"), answer_of("B"), k=3
    ).gold == answer_of("A")


def test_the_tally_lists_every_choice_with_its_votes() -> None:
    tally = relations(answer_of("A", "B"), answer_of("A"), answer_of("A"), NA).tally
    assert [(count.choice, count.votes, count.accepted) for count in tally] == [
        ("A", 3, True),
        ("B", 1, False),
    ]


def test_a_minority_span_that_overlaps_an_accepted_one_is_dropped() -> None:
    assert entities(marked(P02), marked(P02), marked(P02), marked(P03)).gold == marked(P02)


def test_the_same_span_with_two_labels_is_disputed() -> None:
    for policy in ("majority", "majority-na"):
        assert entities(marked(P02), marked(P02), marked(O02), marked(O02), policy=policy).state == "disputed"


@pytest.mark.parametrize(
    ("policy", "state", "gold"), [("majority", "disputed", None), ("majority-na", "settled", NA)]
)
def test_one_span_against_three_without_is_decided_by_the_policy(policy: str, state: str, gold: Any) -> None:
    verdict = entities(marked(P02), NA, NA, NA, policy=policy)
    assert (verdict.state, verdict.gold) == (state, gold)


def test_overlapping_spans_with_half_of_the_votes_are_disputed_under_majority_na() -> None:
    assert entities(marked(P02), marked(P03), NA, NA, policy="majority-na").state == "disputed"


def test_two_accepted_spans_that_overlap_are_disputed_unless_the_ontology_allows_it() -> None:
    both = marked(P02, (1, 4, "O"))
    assert entities(both, both, both).state == "disputed"
    assert entities(both, both, both, overlap=True).gold == both


def test_spans_that_touch_do_not_overlap() -> None:
    both = marked(P02, (2, 4, "O"))
    assert entities(both, both, both).gold == both


def test_an_accepted_span_does_not_hide_a_dispute_elsewhere() -> None:
    far = (7, 9, "P")
    verdict = entities(marked(P02, far), marked(P02), marked(P02), marked(P02))
    assert verdict.state == "disputed"
    assert entities(
        marked(P02, far), marked(P02), marked(P02), marked(P02), policy="majority-na"
    ).gold == marked(P02)


def joint(*payloads: dict[str, Any], policy: str = "majority") -> Any:
    return decide(payloads, kind="joint", policy=policy, k=len(payloads))


def test_a_relation_between_accepted_spans_needs_more_than_half_of_all_answers() -> None:
    tail = (3, 5, "P")
    linked = marked(P02, tail, links=((0, "A", 1),))
    turned = marked(tail, P02, links=((1, "A", 0),))
    assert joint(linked, turned, marked(P02, tail)).gold == linked
    assert joint(linked, turned, marked(P02, tail), marked(P02, tail)).state == "disputed"


def test_relations_on_rejected_spans_are_tallied_and_not_accepted() -> None:
    wide = (3, 6, "P")
    votes = [marked(P02, (3, 5, "P")), marked(P02, (3, 5, "P")), marked(P02, wide, links=((0, "A", 1),))]
    verdict = joint(*votes)
    assert (verdict.state, verdict.gold) == ("settled", marked(P02, (3, 5, "P")))
    assert ((P02, "A", wide), 1, False) in [(c.choice, c.votes, c.accepted) for c in verdict.tally]


def expected(answers: tuple[frozenset[str], ...], *, policy: str) -> Any:
    """The rule once more, from its words alone."""
    n = len(answers)
    won = {label for label in "AB" if sum(label in answer for answer in answers) > n / 2}
    if won:
        return sorted(won)
    if not any(answers):
        return []
    if policy == "majority-na" and sum(not answer for answer in answers) > n / 2:
        return []
    return "disputed"


SETS = [frozenset(labels) for labels in ("", "A", "B", "AB")]


@pytest.mark.parametrize("policy", ["majority", "majority-na"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_up_to_four_votes_on_two_relations_follow_the_rule(k: int, policy: str) -> None:
    for answers in product(SETS, repeat=k):
        verdict = relations(*(answer_of(*sorted(answer)) for answer in answers), policy=policy)
        found = verdict.gold["relations"] if verdict.state == "settled" else verdict.state
        assert found == expected(answers, policy=policy), answers


@pytest.mark.parametrize("policy", ["majority", "majority-na"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_one_span_is_decided_like_one_relation(k: int, policy: str) -> None:
    """With one span to choose or not, entities and relations are the same question."""
    for chosen in product([False, True], repeat=k):
        spans = entities(*(marked(P02) if yes else NA for yes in chosen), policy=policy)
        named = relations(*(answer_of("P") if yes else NA for yes in chosen), policy=policy)
        assert (spans.state, spans.gold and len(spans.gold["spans"])) == (
            named.state,
            named.gold and len(named.gold["relations"]),
        )


@pytest.mark.parametrize("policy", ["majority", "majority-na"])
def test_the_order_of_answers_does_not_matter(policy: str) -> None:
    for answers in combinations_with_replacement(SETS, 3):
        payloads = [answer_of(*sorted(answer)) for answer in answers]
        assert relations(*payloads, policy=policy) == relations(*reversed(payloads), policy=policy)


def test_relations_of_spans_that_nobody_else_marked_take_no_room_for_each_answer() -> None:
    """Fifty answers with 380 relations each took 220 MB, while others waited."""
    at, shared = range(20), [(0, 1, "P"), (2, 3, "P")]
    links = [(head, "r", tail) for head in at for tail in at if head != tail][:200]
    own = [[(40 * n + 2 * i, 40 * n + 2 * i + 1, "P") for i in range(2, 20)] for n in range(30)]
    payloads = [marked(*shared, *spans, links=tuple(links)) for spans in own]
    tracemalloc.start()
    try:
        verdict = decide(payloads, kind="joint", policy="majority-na", k=len(payloads))
        assert tracemalloc.get_traced_memory()[1] < 15_000_000
    finally:
        tracemalloc.stop()
    assert verdict.state == "settled"
