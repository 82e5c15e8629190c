"""Invented people, places and companies of two coasts: one northern, one southern."""

from dataclasses import dataclass
from random import Random
from typing import Literal

Kind = Literal["person", "place", "company", "organisation"]


@dataclass(frozen=True, slots=True)
class Entity:
    """Someone or something a sentence can name; `trade` keys what it does, makes or is."""

    id: str
    name: str
    kind: Kind
    trade: str = ""
    she: bool = False
    within: tuple[str, ...] = ()
    """Of a town: the names of the lands it lies in."""


@dataclass(frozen=True, slots=True)
class World:
    """All that can be named: artists, business people, towns, lands, companies, institutions."""

    artists: tuple[Entity, ...]
    staff: tuple[Entity, ...]
    towns: tuple[Entity, ...]
    lands: tuple[Entity, ...]
    companies: tuple[Entity, ...]
    institutions: tuple[Entity, ...]


def words(text: str) -> tuple[str, ...]:
    """The words of a list; an underscore is a space within one."""
    return tuple(word.replace("_", " ") for word in text.split())


WOMEN = words(
    "Ingunn Sólveig Torbjørg Aslaug Ragnfrid Eldrid Gudveig Synnøve Maiken Tyra "
    "Benedita Inês Graciela Otília Leonor Rosaura Zulmira Conceição Iracema Délia"
)
MEN = words(
    "Torleif Eskil Håvard Sindre Gunnulf Bjarte Ørjan Vidkun Alfgeir Steinar "
    "Joaquim Tomé Baltasar Anselmo Evaristo Gil Amadeu Honório Lázaro Sebastião"
)
SURNAMES = words(
    "Kverndal Råheim Løvskar Isfeldt Brattmo Haugrim Skjelvåg Ullmora Tveitnes Grønskag Vinterhaug Aspmyr "
    "Haldorsmo Ystebrand Fjærstad Corvelo Valadim Azurém Pardelha Mirandeiro Lousal Veridiano Sarabanda "
    "Figueiral Tordesal Beirão-Luz Carvalhosa Montalvar Aldegunde Antelmo"
)
TOWNS = words(
    "Kaldvågen Brennøy Tørrisund Lindmora Ostrevik Hargfjord Sølvhavn Myrskar Eidsvåle "
    "Gråstrand Rimvik Ulvesund "
    "Arraduba Quintaréu Jequimara Ribalça Monteçura Lavrinhal Serafina Pardelhas Azurara Corvalém "
    "Porto_Mirando Santa_Oriela Vila_Otília Cabo_Lírio"
)
NORTH, SOUTH = (
    ("Kestland", "Nordhalde", "Skarvøy", "Vestermyr"),
    ("Aurelha", "Sundeira", "Serramar", "Baixa-Lume"),
)
"""Two countries, each with three regions."""
POSTS = (
    "finance director",
    "chief engineer",
    "head of research",
    "personnel manager",
    "sales director",
    "chief counsel",
    "chief economist",
    "safety officer",
    "export manager",
    "head of design",
)
CALLINGS = words(
    "novelist cellist geologist painter architect historian poet filmmaker botanist composer "
    "photographer linguist"
)
COMPANIES = (
    ("Kverndal Shipping", "shipping"),
    ("Linha Azurém", "shipping"),
    ("Brennøy Timber", "timber"),
    ("Madeiras Valadim", "timber"),
    ("Haugrim Canneries", "fish"),
    ("Conservas Pardelha", "fish"),
    ("Ordvarp Systems", "software"),
    ("Numeral Claro", "software"),
    ("Skjelvåg Savings Bank", "bank"),
    ("Banco Corvelo", "bank"),
    ("Isfeldt Glass", "glass"),
    ("Vidros Tordesal", "glass"),
    ("Ullmora Mills", "textile"),
    ("Tecelagem Lousal", "textile"),
    ("Halde Kraft", "power"),
    ("Lumeira Energia", "power"),
    ("Vinterhaug Pharma", "pharma"),
    ("Laboratórios Antelmo", "pharma"),
    ("Råheim & Daughters", "instruments"),
    ("Teodolito Irmãos", "instruments"),
)

INSTITUTIONS = words(
    "Rimvik_Harbour_Board University_of_Azurara Kestland_Ministry_of_Fisheries Museum_of_Tides "
    "Serramar_Farmers’_Union Ostrevik_Rescue_Service Institute_for_Northern_Languages "
    "Sundeira_Court_of_Appeal Friends_of_the_Lighthouse "
    "Aurelha_Railways Myrskar_Rowing_Club Academy_of_Letters"
)


def _people(rng: Random, trades: tuple[str, ...], *, count: int, first_id: int) -> list[Entity]:
    """People with names that no other of the same call carries."""
    surnames = rng.sample(SURNAMES * 3, count)
    people, taken = [], set()
    for n, surname in enumerate(surnames):
        she = n % 2 == 0
        name = f"{rng.choice(WOMEN if she else MEN)} {surname}"
        while name in taken:
            name = f"{rng.choice(WOMEN if she else MEN)} {surname}"
        taken.add(name)
        people.append(Entity(f"p{first_id + n:03d}", name, "person", trades[n % len(trades)], she))
    return people


def _town(n: int, name: str) -> Entity:
    """A town with its region and its country; the list begins in the north."""
    lands = NORTH if n <= TOWNS.index("Arraduba") else SOUTH
    return Entity(f"l{n:02d}", name, "place", "town", within=(lands[0], lands[1 + n % 3]))


def world(seed: int) -> World:
    """The invented world of a seed: who does what differs, the map and the firms stay."""
    rng = Random(f"world {seed}")
    folk = _people(rng, ("-",), count=72, first_id=1)
    artists = [Entity(p.id, p.name, "person", CALLINGS[n % 12], p.she) for n, p in enumerate(folk[:30])]
    staff = [Entity(p.id, p.name, "person", POSTS[n % 10], p.she) for n, p in enumerate(folk[30:])]
    return World(
        artists=tuple(artists),
        staff=tuple(staff),
        towns=tuple(_town(n, name) for n, name in enumerate(TOWNS, 1)),
        lands=tuple(Entity(f"l{n:02d}", name, "place", "land") for n, name in enumerate(NORTH + SOUTH, 51)),
        institutions=tuple(
            Entity(f"o{n:02d}", name, "organisation", "institution") for n, name in enumerate(INSTITUTIONS, 1)
        ),
        companies=tuple(
            Entity(f"c{n:02d}", name, "company", trade) for n, (name, trade) in enumerate(COMPANIES, 1)
        ),
    )
