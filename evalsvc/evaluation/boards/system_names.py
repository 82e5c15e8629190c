"""Names of the systems of a board, in tables and in sentences."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from django.db.models import Q
from django.utils.text import slugify

from evalsvc.core.accounts.models import Team
from evalsvc.evaluation.boards.systems import INNER_QUOTES, BoardSystem

# one word, and none that speaks of several systems, of no system or of the one before
PLAIN = re.compile(
    r"(?!(?:all|any|both|each|every\w*|it|neither|no|nobody|none|nothing|others?|that|they|this)$)"
    r"[\w/*#&+.-]*[\w*+]",
    re.IGNORECASE,
)
LONGEST_PART = 8  # words of a name that are compared with a team's name
MOST_PARTS = 20_000  # looked up; more need all teams


def distinct_names(systems: Collection[BoardSystem]) -> dict[int, str]:
    """Return the names by key, with the team where two look alike, or where one names another team."""
    shared = Counter(_folded(system.name) for system in systems)
    parts = {system.pk: _parts(system.name) for system in systems}
    teams = _teams(set().union(*parts.values()))

    def needs_team(system: BoardSystem) -> bool:
        named = (teams.get(part, system.team_id) for part in parts[system.pk])
        return shared[_folded(system.name)] > 1 or any(team != system.team_id for team in named)

    return {
        system.pk: f"{system.name} of {system.team_name}" if needs_team(system) else system.name
        for system in systems
    }


def _teams(parts: Collection[str]) -> dict[str, int]:
    """Return the teams that parts of names name, by slug and by name."""
    if not parts:
        return {}
    teams = Team.objects.all()
    if len(parts) <= MOST_PARTS:
        teams = teams.filter(Q(slug__in=parts) | Q(name__in=parts))
    found: dict[str, int] = {}
    for pk, slug, name in teams.values_list("pk", "slug", "name"):
        found |= {slug: pk, name: pk}
    return found


def _parts(name: str) -> set[str]:
    """Return the words of a name that may be a team's, as slugs and as they are written."""
    slugs = slugify(re.sub(r"[\W_]+", " ", _folded(name))).split("-")
    written = {" ".join(words) for words in _runs(name.split())}
    return (written | {"-".join(words) for words in _runs(slugs)}) - {""}


def _runs(words: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + LONGEST_PART) + 1):
            yield words[start:end]


def _folded(name: str) -> str:
    """Return a name without case, width and accents."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    return "".join(char for char in plain if not unicodedata.combining(char))


def in_sentence(name: str) -> str:
    """Put a name in quotation marks unless it is one plain word: it may read like a part of the sentence."""
    return name if PLAIN.fullmatch(name) else f"“{name.translate(INNER_QUOTES)}”"
