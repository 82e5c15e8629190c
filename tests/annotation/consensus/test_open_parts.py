"""What a disputed answer with spans leaves open: regions, pairs, and what stands."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.consensus.majority import OpenParts, decide, open_parts
from evalsvc.core.formats.label_mapping import LabelMapping
from tests.annotation.consensus.test_majority import marked

Payload = dict[str, Any]
P02, P03, O02, FAR, WIDE = (0, 2, "P"), (0, 3, "P"), (0, 2, "O"), (7, 9, "P"), (1, 4, "O")


def parts_of(*payloads: Payload, kind: str = "entities", policy: str = "majority", **more: Any) -> OpenParts:
    return open_parts(payloads, kind=kind, policy=policy, **more)


def ways(part: Any) -> list[tuple[set[Any], int]]:
    return [(set(way.choices), len(way.answers)) for way in part.alternatives]


def test_accepted_spans_stand_and_only_the_rest_is_asked() -> None:
    found = parts_of(marked(P02, FAR), marked(P02), marked(P02), marked(P02))
    assert found.spans == {P02}
    (part,) = found.parts
    assert (part.start, part.end) == (7, 9)
    assert ways(part) == [({FAR}, 1), (set(), 3)]


def test_spans_that_overlap_are_one_region() -> None:
    (part,) = parts_of(marked(P02), marked(P02), marked(P03), marked((2, 5, "O"))).parts
    assert (part.start, part.end) == (0, 5)
    assert ways(part) == [({P02}, 2), ({P03}, 1), ({(2, 5, "O")}, 1)]


def test_two_labels_of_the_same_words_are_one_region_with_two_ways() -> None:
    (part,) = parts_of(marked(P02), marked(O02), marked(P02), marked(O02)).parts
    assert ways(part) == [({O02}, 2), ({P02}, 2)]
    assert [way.answers for way in part.alternatives] == [(1, 3), (0, 2)]


def test_a_span_that_lost_to_an_accepted_one_is_not_asked_again() -> None:
    found = parts_of(marked(P02, FAR), marked(P02), marked(P02), marked(P03))
    assert [(part.start, part.end) for part in found.parts] == [(7, 9)]


def test_accepted_spans_that_clash_do_not_stand() -> None:
    both = marked(P02, WIDE)
    found = parts_of(both, both, both)
    assert found.spans == frozenset()
    assert ways(found.parts[0]) == [({P02}, 3), ({WIDE}, 3)]
    assert parts_of(both, both, both, may_overlap=True).parts == []


def test_the_relations_of_a_pair_are_asked_where_both_spans_stand() -> None:
    linked, turned = marked(P02, FAR, links=((0, "A", 1),)), marked(P02, FAR, links=((0, "B", 1),))
    found = parts_of(linked, turned, kind="joint")
    assert found.spans == {P02, FAR}
    (part,) = found.parts
    assert part.pair == (P02, FAR)
    assert ways(part) == [({(P02, "A", FAR)}, 1), ({(P02, "B", FAR)}, 1)]


def test_relations_on_spans_without_majority_are_listed() -> None:
    found = parts_of(
        marked(P02, FAR, links=((0, "A", 1),)), marked(O02, FAR, links=((0, "A", 1),)), kind="joint"
    )
    assert found.spans == {FAR}
    assert [(count.choice, count.votes) for count in found.loose] == [
        ((O02, "A", FAR), 1),
        ((P02, "A", FAR), 1),
    ]


spans = st.tuples(st.integers(0, 6), st.integers(1, 4), st.sampled_from("PO")).map(
    lambda drawn: (drawn[0], drawn[0] + drawn[1], drawn[2])
)
links = st.tuples(st.integers(0, 9), st.sampled_from("AB"), st.integers(0, 9))


@st.composite
def payloads(draw: Any) -> Payload:
    own = draw(st.lists(spans, unique=True, max_size=4))
    drawn = draw(st.lists(links, max_size=3)) if own else []
    return marked(*own, links=tuple({(a % len(own), name, b % len(own)) for a, name, b in drawn}))


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("policy", ["majority", "majority-na"])
@given(answers=st.lists(payloads(), min_size=1, max_size=5), kind=st.sampled_from(["entities", "joint"]))
def test_parts_are_open_exactly_when_the_verdict_is_disputed(
    policy: str, overlap: bool, answers: list[Payload], kind: str
) -> None:
    if kind == "entities":
        answers = [answer | {"relations": []} for answer in answers]
    verdict = decide(answers, kind=kind, policy=policy, k=len(answers), may_overlap=overlap)
    found = open_parts(answers, kind=kind, policy=policy, may_overlap=overlap)
    assert bool(found.parts) == (verdict.state == "disputed")
    accepted = {count.choice for count in verdict.tally if count.accepted}
    assert found.spans | found.links <= accepted
    if not found.parts:
        assert found.spans | found.links == accepted


@pytest.mark.parametrize("policy", ["majority", "majority-na"])
@given(answers=st.lists(payloads(), min_size=1, max_size=5))
def test_overlaps_are_found_as_if_each_pair_of_spans_was_compared(
    policy: str, answers: list[Payload]
) -> None:
    def beside(span: Any, others: Any) -> bool:
        return any(span[0] < other[1] and other[0] < span[1] for other in others)

    given = [{tuple(span) for span in answer["spans"]} for answer in answers]
    counts = Counter(span for own in given for span in own)
    won = {span for span, votes in counts.items() if 2 * votes > len(answers)}
    clashing = {span for span in won if beside(span, won - {span})}
    left = [span for span in counts if not beside(span, won)]
    if policy == "majority-na":
        left = [span for span in left if 2 * sum(beside(span, own) for own in given) >= len(answers)]
    verdict = decide(answers, kind="entities", policy=policy, k=len(answers))
    assert open_parts(answers, kind="entities", policy=policy).spans == won - clashing
    assert (verdict.state == "disputed") == bool(clashing or left)


class Place(int):
    """A bound of a span that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: Any) -> bool:
        Place.compared += 1
        return int(self) < int(other)

    def __gt__(self, other: Any) -> bool:
        Place.compared += 1
        return int(self) > int(other)

    def __eq__(self, other: Any) -> bool:
        Place.compared += 1
        return int(self) == int(other)

    __hash__ = int.__hash__


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("policy", ["majority", "majority-na"])
def test_each_mark_is_compared_with_few_others(policy: str, nested: bool) -> None:
    def answer(shift: int) -> Payload:
        ends = [(n, 2_000 - n) if nested else (3 * n + shift, 3 * n + shift + 2) for n in range(300)]
        spans = [(Place(start), Place(end), "PO"[shift]) for start, end in ends]
        return marked(*spans, links=tuple((n, "AB"[shift], (7 * n) % 300) for n in range(300)))

    Place.compared = 0
    renamed = LabelMapping({"P": "PER"})
    answers = [renamed.payload(answer(shift)).payload for shift in (0, 0, 1)]
    for overlap in (False, True):
        decide(answers, kind="joint", policy=policy, k=3, may_overlap=overlap)
        open_parts(answers, kind="joint", policy=policy, may_overlap=overlap)
    assert Place.compared < 1_000 * 300


@given(answers=st.lists(payloads(), min_size=1, max_size=4))
def test_any_choice_of_parts_is_free_of_overlaps_where_none_may_be(answers: list[Payload]) -> None:
    found = open_parts(answers, kind="entities", policy="majority")
    regions = [part.alternatives for part in found.parts]
    for chosen in list(product(*regions))[:200]:
        taken = sorted(found.spans.union(*(way.choices for way in chosen)))
        assert not any(a[0] < b[1] and b[0] < a[1] for a, b in combinations(taken, 2))


@given(answers=st.lists(payloads(), min_size=2, max_size=4))
def test_the_order_of_answers_changes_no_part(answers: list[Payload]) -> None:
    def shape(found: OpenParts) -> Any:
        return found.spans, found.links, [(part.pair, ways(part)) for part in found.parts], found.loose

    assert shape(open_parts(answers, kind="joint", policy="majority")) == shape(
        open_parts(answers[::-1], kind="joint", policy="majority")
    )
