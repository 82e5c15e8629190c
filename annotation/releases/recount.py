"""Figures of the gold counted anew, against those that a release states. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from annotation.releases.layout import GOLD, STATISTICS

Figure = int | float | dict[str, int | float] | None


class Stated(msgspec.Struct):
    """What the statistics state that the gold alone gives; what they leave out is not compared."""

    labels: dict[str, int] = {}
    relation_labels: dict[str, int] = {}
    sentences: Figure | msgspec.UnsetType = msgspec.UNSET
    relations: Figure | msgspec.UnsetType = msgspec.UNSET
    types: Figure | msgspec.UnsetType = msgspec.UNSET
    pairs: Figure | msgspec.UnsetType = msgspec.UNSET
    facts: Figure | msgspec.UnsetType = msgspec.UNSET
    several_labels: Figure | msgspec.UnsetType = msgspec.UNSET
    entities: Figure | msgspec.UnsetType = msgspec.UNSET
    relations_between: Figure | msgspec.UnsetType = msgspec.UNSET
    tokens: Figure | msgspec.UnsetType = msgspec.UNSET
    tokenised: Figure | msgspec.UnsetType = msgspec.UNSET
    neighbours: Figure | msgspec.UnsetType = msgspec.UNSET
    na_sentences: Figure | msgspec.UnsetType = msgspec.UNSET
    na_share: Figure | msgspec.UnsetType = msgspec.UNSET
    perplexity_with_negative: Figure | msgspec.UnsetType = msgspec.UNSET
    perplexity_without_negative: Figure | msgspec.UnsetType = msgspec.UNSET
    ratio: Figure | msgspec.UnsetType = msgspec.UNSET
    left_out: dict[str, int] | None = None
    left_out_of_whole: dict[str, int] | None = None


class Neighbours:
    """Counts the lines that have the labels of the line before them."""

    def __init__(self) -> None:
        self.same, self.lines = 0, Counter[tuple[str, ...]]()
        self.last: tuple[str, ...] | None = None

    def add(self, labels: Iterable[str]) -> None:
        key = tuple(sorted(set(labels)))
        self.same += key == self.last
        self.lines[key] += 1
        self.last = key

    @property
    def figures(self) -> dict[str, float]:
        """Return the number of lines, and how many there are on average in an order by chance."""
        n = self.lines.total()
        by_chance = sum(each * (each - 1) for each in self.lines.values()) / n if n else 0
        return {"same": self.same, "by_chance": round(by_chance, 1)}


class Recount:
    """Counts over the gold lines, one `add` each."""

    def __init__(self) -> None:
        self.labels: Counter[str] = Counter()
        self.links: Counter[str] = Counter()
        self.sentences = self.without = self.several = self.tokens = self.tokenised = 0
        self.neighbours = Neighbours()
        self.pairs: set[Any] = set()
        self.facts: set[Any] = set()
        self.has_pairs = False

    def add(self, item: Mapping[str, Any]) -> None:
        spans, relations = item.get("spans"), item["relations"]
        names = relations if spans is None else [span[2] for span in spans]
        if spans is None:
            pair = _pair(item)
            self.has_pairs = self.has_pairs or pair is not None
            owner = pair or self.sentences
            self.pairs.add(owner)
            self.facts.update((owner, name) for name in names)
            self.several += len(names) > 1
        else:
            self.links.update(str(link[1]) for link in relations)
        self.labels.update(map(str, names))
        self.neighbours.add(map(str, names))
        self.tokens += len(item.get("tokens") or ())
        self.tokenised += "tokens" in item
        self.without += not names
        self.sentences += 1

    def differences(self, stated: Stated) -> Iterator[str]:
        """Yield each figure that differs from what is stated, those of labels first."""
        for counts, given in ((self.labels, stated.labels), (self.links, stated.relation_labels)):
            for name in sorted(given.keys() | counts.keys()):
                if given.get(name, 0) != counts[name]:
                    yield _difference(name, counts[name], given.get(name, 0))
        for name, figure in self._figures().items():
            value = getattr(stated, name)
            if value is not msgspec.UNSET and not _same(figure, value):
                yield _difference(name, figure, value)

    def _figures(self) -> dict[str, Figure]:
        counts = [n for n in self.labels.values() if n]
        return {
            "sentences": self.sentences,
            "relations": len(counts),
            "types": len(counts),
            "pairs": len(self.pairs) if self.has_pairs else None,
            "facts": len(self.facts) if self.has_pairs else None,
            "several_labels": self.several,
            "entities": self.labels.total(),
            "relations_between": self.links.total(),
            "tokens": self.tokens or None,
            "tokenised": self.tokenised,
            "neighbours": self.neighbours.figures,
            "na_sentences": self.without,
            "na_share": self.without / self.sentences if self.sentences else None,
            "perplexity_with_negative": _perplexity([*counts, *([self.without] if self.without else ())]),
            "perplexity_without_negative": _perplexity(counts),
            "ratio": max(counts) / min(counts) if counts else None,
        }


def _pair(item: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Return the pair of a line by ids, else names."""
    if "h" not in item or "t" not in item:
        return None
    return tuple(item[end].get("id") or item[end].get("name") for end in "ht")


def _perplexity(counts: list[int]) -> float | None:
    total = sum(counts)
    return math.exp(-sum(n / total * math.log(n / total) for n in counts)) if counts else None


def _same(one: Figure, other: Figure) -> bool:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return one == other
    return math.isclose(one, other, rel_tol=1e-9)


def _difference(name: str, figure: Figure, stated: Figure) -> str:
    return f"{name}: {_written(figure)} in {GOLD}, {_written(stated)} in {STATISTICS}."


def _written(figure: Figure) -> str:
    return "none" if figure is None else f"{figure}" if isinstance(figure, dict) else f"{figure:,}"
