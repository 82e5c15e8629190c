"""Names of the systems of a board, in tables and in sentences."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection

from evalsvc.evaluation.boards.systems import BoardSystem

# up to four words, none of which joins sentences or their parts
_WORD = r"(?!(?:and|are|by|has|is|no|than|too)\b)[\w/*#&+.-]*[\w*+]"
PLAIN = re.compile(rf"{_WORD}(?: {_WORD}){{0,3}}")
INNER_QUOTES = str.maketrans('“”"', "‘’'")


def distinct_names(systems: Collection[BoardSystem]) -> dict[int, str]:
    """Return the names by key, with the team where two look alike, or where one ends like another team."""
    words = {system.pk: _words(system.name) for system in systems}
    shared = Counter(_folded(system.name) for system in systems)
    teams = {_words(system.team_name): system.team_id for system in systems}

    def needs_team(system: BoardSystem) -> bool:
        own = words[system.pk]
        ends = (teams.get(own[at:], system.team_id) for at in range(len(own)))
        return shared[_folded(system.name)] > 1 or any(team != system.team_id for team in ends)

    return {
        system.pk: f"{system.name} of {system.team_name}" if needs_team(system) else system.name
        for system in systems
    }


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", _folded(name)))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def in_sentence(name: str) -> str:
    """Put a name in quotation marks, unless it is short and plain: it may read like a sentence itself."""
    return name if PLAIN.fullmatch(name) else f"“{name.translate(INNER_QUOTES)}”"
