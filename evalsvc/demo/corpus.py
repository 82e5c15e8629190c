"""The relation corpus: pairs that hold facts, sentences that state them, and a knowledge base that errs."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from evalsvc.demo.grammar import IMPLICIT, Mention, deck, rendered
from evalsvc.demo.names import Entity, World, world
from evalsvc.demo.phrases import PHRASES
from evalsvc.demo.relations import BY_KEY, RELATIONS, Signature, fits

EMPTY_BAGS: dict[Signature, int] = {
    ("person", "place"): 15,
    ("person", "company"): 11,
    ("place", "place"): 9,
    ("company", "place"): 9,
    ("company", "person"): 4,
    ("person", "person"): 4,
}
"""Pairs of which no sentence states any relation."""
DOUBLE_BAGS = {
    ("place_of_birth", "place_lived"): 4,
    ("place_of_birth", "place_of_death"): 2,
    ("place_of_death", "place_lived"): 1,
    ("founded_by", "advised_by"): 1,
}
"""Pairs that hold two facts."""
ONCE = ("place_of_birth", "place_of_death")
BAG_SIZES, SIZE_WEIGHTS = (1, 2, 3, 4, 5), (36, 32, 18, 10, 4)
STATED = 0.74
"""How often a further sentence of a pair states its facts too."""
KNOWN, KNOWN_AND_RIGHT = 0.339, 0.691
"""Recall and precision of source facts against human gold, as published for NYT10."""
STRAY_ON_EMPTY = 0.8
"""The share of wrong source facts that falls on pairs of which no sentence states anything."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with its two entities, what it truly says, and what the source labels claim."""

    id: str
    text: str
    head: Mention
    tail: Mention
    relations: tuple[str, ...]
    source: tuple[str, ...] = ()
    implicit: bool = False

    @property
    def pair(self) -> tuple[str, str]:
        """The ids of head and tail: the bag this sentence is in."""
        return self.head.entity.id, self.tail.entity.id

    @property
    def signature(self) -> Signature:
        """The kinds of head and tail."""
        return self.head.entity.kind, self.tail.entity.kind


@dataclass(frozen=True, slots=True)
class Bag:
    """A pair, and the relations its sentences are to state."""

    head: Entity
    tail: Entity
    facts: tuple[str, ...]


def _pools(signature: Signature, *, stated: bool, world: World, rng: Random) -> tuple[Entity, Entity]:
    """A head and a tail of the kinds asked for; a land is the head of what it contains."""
    heads: dict[Signature, tuple[Sequence[Entity], Sequence[Entity]]] = {
        ("person", "place"): (world.artists, world.towns),
        ("person", "person"): (world.artists, world.artists),
        ("person", "company"): (world.staff, world.companies),
        ("place", "place"): (world.lands if stated or rng.random() < 0.6 else world.towns, world.towns),
        ("company", "place"): (world.companies, world.towns),
        ("company", "person"): (world.companies, world.staff),
    }
    heads_pool, tails_pool = heads[signature]
    return rng.choice(heads_pool), rng.choice(tails_pool)


def _possible(bag: Bag) -> bool:
    """Nobody is their own pair or namesake, and what is said to contain a town does so on the map."""
    namesakes = set(bag.head.name.split()) & set(bag.tail.name.split())
    return not namesakes and ("contains" not in bag.facts or bag.head.name in bag.tail.within)


def _bags(world: World, rng: Random) -> Iterator[Bag]:
    """The planned pairs, none twice and none turned round."""
    plan: list[tuple[Signature, tuple[str, ...]]] = []
    for relation in RELATIONS:
        plan += [((relation.head, relation.tail), (relation.key,))] * relation.bags
    for both, count in DOUBLE_BAGS.items():
        plan += [((BY_KEY[both[0]].head, BY_KEY[both[0]].tail), both)] * count
    for signature, count in EMPTY_BAGS.items():
        plan += [(signature, ())] * count
    taken: set[frozenset[str]] = set()
    for signature, facts in plan:
        bag, claims = _drawn(signature, facts, world=world, rng=rng)
        while claims & taken or not _possible(bag):
            bag, claims = _drawn(signature, facts, world=world, rng=rng)
        taken |= claims
        yield bag


def _drawn(
    signature: Signature, facts: tuple[str, ...], *, world: World, rng: Random
) -> tuple[Bag, set[frozenset[str]]]:
    """A pair for these facts, and what it claims for itself: people are born once and die once."""
    head, tail = _pools(signature, stated=bool(facts), world=world, rng=rng)
    once = {frozenset((head.id, fact)) for fact in facts if fact in ONCE}
    return Bag(head, tail, facts), once | {frozenset((head.id, tail.id))}


def _statements(bag: Bag, rng: Random) -> Iterator[tuple[str, ...]]:
    """What each sentence of the bag says: the first all of its facts, later ones all, one or none."""
    size = rng.choices(BAG_SIZES, SIZE_WEIGHTS)[0]
    if any(BY_KEY[fact].bags <= 2 for fact in bag.facts):
        size = 2
    for n in range(size):
        if n == 0:
            yield bag.facts
        elif rng.random() >= STATED:
            yield ()
        else:
            yield (rng.choice(bag.facts),) if bag.facts else ()


def _written(world: World, rng: Random) -> Iterator[Sentence]:
    """All sentences, bag after bag, without ids and source labels."""
    decks = {
        (signature, stated): deck(texts, rng)
        for signature, book in PHRASES.items()
        for stated, texts in book.items()
    }
    for bag in list(_bags(world, rng)):
        signature = (bag.head.kind, bag.tail.kind)
        for stated in _statements(bag, rng):
            pattern = next(decks[signature, stated])
            text, mentions = rendered(pattern, {"h": bag.head, "t": bag.tail}, world, rng)
            place = {m.slot: m for m in reversed(mentions)}
            yield Sentence("", text, place["h"], place["t"], stated, implicit=pattern.startswith(IMPLICIT))


Facts = dict[tuple[str, str], tuple[str, ...]]


def facts_of(sentences: Sequence[Sentence], *, source: bool = False) -> Facts:
    """Per pair the union of what its sentences say, or of what the source labels claim."""
    facts: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for s in sentences:
        facts[s.pair].update(s.source if source else s.relations)
    return {pair: tuple(sorted(held)) for pair, held in facts.items()}


def _stray(signature: Signature, held: tuple[str, ...], rng: Random) -> str | None:
    """A fact the base holds of such a pair although its sentences do not say it; common ones are likelier."""
    free = [key for key in fits(signature) if key not in held]
    return rng.choices(free, [BY_KEY[key].bags for key in free])[0] if free else None


def _known(truth: Facts, rng: Random) -> set[tuple[tuple[str, str], str]]:
    """The facts that the base knows: the published share, spread over frequent and rare relations."""
    facts = sorted((pair, relation) for pair, held in truth.items() for relation in held)
    rng.shuffle(facts)
    facts.sort(key=lambda fact: fact[1])
    start = rng.random()
    return {fact for n, fact in enumerate(facts) if int(start + (n + 1) * KNOWN) > int(start + n * KNOWN)}


def _knowledge_base(sentences: Sequence[Sentence], rng: Random) -> Facts:
    """Facts about pairs as a source would hold them: many missing, some that no sentence states."""
    truth = facts_of(sentences)
    kinds = {s.pair: s.signature for s in sentences}
    base: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    known = _known(truth, rng)
    for pair, relation in sorted(known):
        base[pair].add(relation)
    strays = round(len(known) * (1 / KNOWN_AND_RIGHT - 1))
    empty = [pair for pair, held in truth.items() if not held]
    stating = [pair for pair, held in truth.items() if held]
    rng.shuffle(empty)
    rng.shuffle(stating)
    on_empty = round(strays * STRAY_ON_EMPTY)
    for pool, count in ((empty, on_empty), (stating, strays - on_empty)):
        for pair in pool:
            stray = _stray(kinds[pair], truth[pair], rng) if count else None
            if stray:
                base[pair].add(stray)
                count -= 1
    return {pair: tuple(sorted(held)) for pair, held in base.items()}


def relation_corpus(seed: int) -> list[Sentence]:
    """The sentences of the relation demo, in mixed order, with ids `s001` and on."""
    rng = Random(f"relations {seed}")
    sentences = list(_written(world(seed), rng))
    rng.shuffle(sentences)
    base = _knowledge_base(sentences, rng)
    return [replace(s, id=f"s{n:03d}", source=base.get(s.pair, ())) for n, s in enumerate(sentences, 1)]
