"""How a sentence pattern becomes a sentence: choices, slots, and where the two entities stand."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle
from random import Random

from evalsvc.demo.names import Entity, World, words

CHOICE = re.compile(r"\[([^\[\]]*)\]")
SLOT = re.compile(r"\{(\w+)\}")
IMPLICIT = "~ "

DAYS = words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
MONTHS = words("January February March April May June September October November")
TRADES: dict[str, tuple[str, str, str]] = {
    "shipping": ("shipping line", "freight terminal", "ferry tickets"),
    "timber": ("timber group", "sawmill", "planed spruce"),
    "fish": ("fish packer", "cannery", "tinned sardines"),
    "software": ("software house", "development office", "payroll software"),
    "bank": ("bank", "branch", "small loans"),
    "glass": ("glass maker", "bottle works", "window glass"),
    "textile": ("textile firm", "spinning mill", "work clothes"),
    "power": ("power company", "transformer yard", "wind power"),
    "pharma": ("drug maker", "laboratory", "vaccines"),
    "instruments": ("instrument maker", "workshop", "survey instruments"),
}
"""Per trade: what the company is, what its sites are, what it sells."""
WORKS = {
    "novelist": "a new novel",
    "cellist": "a recording of two suites",
    "geologist": "a map of the coastal peat",
    "painter": "a cycle of harbour paintings",
    "architect": "the plans for a floating library",
    "historian": "a history of the herring trade",
    "poet": "a fourth book of poems",
    "filmmaker": "a film about the night ferries",
    "botanist": "a flora of the southern dunes",
    "composer": "an opera in one act",
    "photographer": "a series of portraits of dockers",
    "linguist": "a dictionary of island dialects",
}
PRONOUNS = {
    "he": ("he", "she"),
    "his": ("his", "her"),
    "him": ("him", "her"),
    "He": ("He", "She"),
    "His": ("His", "Her"),
    "himself": ("himself", "herself"),
    "spokesman": ("spokesman", "spokeswoman"),
}


@dataclass(frozen=True, slots=True)
class Mention:
    """One marked piece of a sentence: what stands in which slot, from where to where in code points."""

    slot: str
    entity: Entity
    start: int
    end: int


def patterns(text: str) -> tuple[str, ...]:
    """The patterns of a page: blank lines part them, line breaks within do not count."""
    return tuple(" ".join(block.split()) for block in text.strip().split("\n\n"))


def deck(texts: Iterable[str], rng: Random) -> Iterator[str]:
    """The patterns in a shuffled order, again and again: none comes back before all have had a turn."""
    cards = list(texts)
    rng.shuffle(cards)
    return cycle(cards)


def chosen(pattern: str, rng: Random) -> str:
    """The pattern with one branch of each `[a|b]` taken."""
    while match := CHOICE.search(pattern):
        pick = rng.choice(match[1].split("|"))
        pattern = pattern[: match.start()] + pick + pattern[match.end() :]
    return pattern


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _circumstance(slot: str, rng: Random) -> str | None:
    """A day, a number, a year: what makes one report differ from the next."""
    match slot:
        case "day":
            return rng.choice(DAYS)
        case "month":
            return rng.choice(MONTHS)
        case "year":
            return str(rng.randint(1968, 2019))
        case "born":
            return str(rng.randint(1931, 1989))
        case "age":
            return str(rng.randint(66, 93))
        case "n":
            return rng.choice(["three", "four", "six", "seven", "nine", "eleven", "14", "18", "23", "30"])
        case "big":
            return f"{rng.randrange(400, 9_000, 50):,}"
    return None


def _property(slot: str, cast: dict[str, Entity]) -> str | None:
    """What follows from the entities in play: a pronoun, a post, a product."""
    person = next((e for e in cast.values() if e.kind == "person"), None)
    company = next((e for e in cast.values() if e.kind == "company"), None)
    if person and slot in PRONOUNS:
        return PRONOUNS[slot][person.she]
    if slot == "child":
        return "daughter" if cast["t"].she else "son"
    if company and slot in ("firm", "site", "goods"):
        return TRADES[company.trade][("firm", "site", "goods").index(slot)]
    if company and slot == "a_firm":
        return _article(TRADES[company.trade][0])
    if person and slot in ("calling", "post"):
        return person.trade
    if person and slot in ("a_calling", "a_post"):
        return _article(person.trade)
    return WORKS.get(person.trade) if person and slot == "work" else None


def _extra(slot: str, cast: dict[str, Entity], world: World, rng: Random) -> Entity:
    """Someone else for a side part; a digit (`town2`) asks for one more of the kind."""
    pool = {
        "person": world.artists,
        "staff": world.staff,
        "town": world.towns,
        "land": world.lands,
        "company": world.companies,
        "org": world.institutions,
    }[slot.rstrip("123")]
    busy = " ".join(e.name for e in cast.values())
    free = [e for e in pool if e.name not in busy and not set(e.name.split()) & set(busy.split())]
    return rng.choice(free)


def rendered(pattern: str, cast: dict[str, Entity], world: World, rng: Random) -> tuple[str, list[Mention]]:
    """The sentence of a pattern, and every entity named in it with its place."""
    pieces = SLOT.split(chosen(pattern.removeprefix(IMPLICIT), rng))
    cast, mentions, text = dict(cast), [], pieces[0]
    for slot, after in zip(pieces[1::2], pieces[2::2], strict=True):
        plain = None if slot in cast else _circumstance(slot, rng) or _property(slot, cast)
        if plain is None:
            entity = cast.get(slot) or _extra(slot, cast, world, rng)
            cast[slot] = entity
            plain = entity.name
            mentions.append(Mention(slot, entity, len(text), len(text) + len(plain)))
        text += plain + after
    return text[0].upper() + text[1:], mentions
