"""The ontology of the relation demo: nine relations, what each means, and how common it is."""

from dataclasses import dataclass

from evalsvc.demo.names import Kind

NA = "N/A"


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation as annotators meet it: "You say: HEAD *verb* TAIL"."""

    key: str
    title: str
    verb: str
    group: str
    head: Kind
    tail: Kind
    definition: str
    choose: tuple[str, str]
    avoid: tuple[str, str]
    bags: int
    """How many pairs of the corpus hold it: the long tail."""


RELATIONS: tuple[Relation, ...] = (
    Relation(
        "works_for",
        "works for",
        "works or worked for",
        "Person and company",
        "person",
        "company",
        "The sentence says that the head is or was employed by the tail, or holds a post in it.",
        (
            "Kverndal, finance director of Isfeldt Glass,",
            "she spent nine years at Halde Kraft as an engineer",
        ),
        (
            "A customer, critic or shareholder is no employee.",
            "Founding a company is founded by, with the company as head.",
        ),
        bags=38,
    ),
    Relation(
        "contains",
        "contains",
        "contains",
        "Place and place",
        "place",
        "place",
        "The sentence says that the tail lies within the head.",
        ("in Rimvik, Nordhalde,", "Aurelha’s second harbour, Azurara,"),
        (
            "Both places are named, but as neighbours or as ends of a journey.",
            "You know the map, but the sentence does not say it.",
        ),
        bags=19,
    ),
    Relation(
        "place_lived",
        "place lived",
        "lived in",
        "Person and place",
        "person",
        "place",
        "The sentence says that the head lives or lived in the tail, or grew up there.",
        ("Løvskar, who grew up in Ostrevik,", "from his home in Azurara"),
        (
            "A visit, a concert or a conference is no residence.",
            "Born there is place of birth; choose both only if both are said.",
        ),
        bags=13,
    ),
    Relation(
        "has_site_in",
        "has site in",
        "has a site in",
        "Company and …",
        "company",
        "place",
        "The sentence says that the head has its seat, an office, a plant or another site in the tail.",
        ("Ullmora Mills, based in Gråstrand,", "the bank’s branch in Vila Otília"),
        ("Selling or shipping to a place is no site.", "A site only planned or refused does not count."),
        bags=11,
    ),
    Relation(
        "place_of_birth",
        "place of birth",
        "was born in",
        "Person and place",
        "person",
        "place",
        "The sentence says that the head was born in the tail, or in a part of it.",
        ("Tveitnes, born in Rimvik in 1951,", "the Rimvik-born poet"),
        ("Only grew up there: choose place lived.", "“A native of” counts; “from” alone does not."),
        bags=7,
    ),
    Relation(
        "founded_by",
        "founded by",
        "was founded by",
        "Company and …",
        "company",
        "person",
        "The sentence says that the tail founded the head, alone or with others.",
        ("Numeral Claro, which Valadim set up in a garage,", "a co-founder of Linha Azurém"),
        ("Running or owning a company is not founding it.", "A founder’s heirs did not found it."),
        bags=5,
    ),
    Relation(
        "place_of_death",
        "place of death",
        "died in",
        "Person and place",
        "person",
        "place",
        "The sentence says that the head died in the tail.",
        ("died on Monday at a hospital in Myrskar", "the accident near Cabo Lírio that killed him"),
        (
            "A funeral or a grave says nothing about where the death was.",
            "A notice dated from the place is not enough.",
        ),
        bags=3,
    ),
    Relation(
        "parent_of",
        "parent of",
        "is a parent of",
        "Person and person",
        "person",
        "person",
        "The sentence says that the head is the mother or the father of the tail.",
        ("Brattmo and his daughter Tyra", "Leonor Lousal, whose son Gil"),
        ("Mind the direction: the head is the older one.", "A shared surname is no evidence."),
        bags=2,
    ),
    Relation(
        "advised_by",
        "advised by",
        "is advised by",
        "Company and …",
        "company",
        "person",
        "The sentence says that the tail advises the head, or sits on a board that does.",
        ("the bank’s outside adviser, Anselmo Lousal,", "who counsels Lumeira Energia on tariffs"),
        (
            "An employee who gives advice works for the company.",
            "Criticism in a newspaper is no advice to the company.",
        ),
        bags=2,
    ),
)
BY_KEY = {relation.key: relation for relation in RELATIONS}
KEYS = tuple(BY_KEY)

Signature = tuple[Kind, Kind]
LIKELY: dict[Signature, str] = {
    ("person", "place"): "place_lived",
    ("person", "company"): "works_for",
    ("place", "place"): "contains",
    ("company", "place"): "has_site_in",
    ("company", "person"): "founded_by",
    ("person", "person"): "parent_of",
}
"""What a reader in a hurry assumes of two such entities in one sentence."""
SECOND = {
    "place_of_birth": "place_lived",
    "place_lived": "place_of_birth",
    "place_of_death": "place_lived",
    "founded_by": "advised_by",
    "advised_by": "founded_by",
}
"""The relation that is easily read into a sentence next to the one it states."""


def fits(signature: Signature) -> tuple[str, ...]:
    """The relations whose head and tail are of these kinds."""
    return tuple(r.key for r in RELATIONS if (r.head, r.tail) == signature)
