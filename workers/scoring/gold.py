"""The gold of a local file: items in order with their labels, bags, spans and tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from evalsvc.core.formats import jsonl_gold as relation_lines
from evalsvc.core.formats.jsonl_predictions import read_predictions
from evalsvc.core.formats.label_list import read_label_lines, read_labels
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_items
from evalsvc.core.formats.records import ItemLine, LabelPrediction, LabelsPrediction, Link, Span
from evalsvc.core.formats.registry import recognise_source
from workers.cli.arguments import Misuse, Options

Pair = tuple[str, str]
REPEATING = frozenset({"opennre-gold", "nyt10"})


class Rows(dict[Pair, int]):
    """Bags to rows in the order of first sight; asking for a new one enrols it."""

    def __missing__(self, pair: Pair) -> int:
        self[pair] = row = len(self)
        return row


@dataclass(slots=True)
class Gold:
    """What is to be found. A label is one entry of `owner` (the item) and of `label`; none is negative."""

    index: dict[str, int] = field(default_factory=dict)
    owner: list[int] = field(default_factory=list)
    label: list[str] = field(default_factory=list)
    bags: Rows = field(default_factory=Rows)
    bag: list[int] = field(default_factory=list)
    spans: list[tuple[Span, ...]] = field(default_factory=list)
    links: list[tuple[Link, ...]] = field(default_factory=list)
    tokens: list[tuple[str, ...] | None] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)
    inventory: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.index)

    def add(self, item: ItemLine, options: Options) -> None:
        """One more item."""
        self.index[item.id] = row = len(self.index)
        if options.task == "entities":
            self.spans.append(item.spans or ())
            self.links.append(tuple(link for link in item.relations or () if not isinstance(link, str)))
            self.tokens.append(item.tokens)
            self.texts.append(item.text)
            return
        self.add_labels(row, item, options)
        if options.task == "bags":
            if item.pair is None:
                raise Misuse(f"Item {item.id} of the gold has no head and tail, so it is in no bag.")
            self.bag.append(self.bags[item.pair])

    def add_labels(self, row: int, item: ItemLine, options: Options) -> None:
        """The labels of a line, which may repeat an item."""
        for name in item.relations or ():
            if isinstance(name, str) and name != options.negative:
                self.owner.append(row)
                self.label.append(name)


def read_gold(path: Path, options: Options, problems: Problems, *, column: int = -1) -> Gold:
    """Read the gold; problems are collected, an id that names two items is one of them."""
    format = format_of(path, options, problems)
    gold = Gold()
    for line, item in _items(path, format, options, problems, column):
        if format == "labels" and item.id != str(len(gold) + 1):
            problems.stop("wrong_columns", line=line - 1, expected="a label in every line of the gold")
        if item.id not in gold.index:
            gold.add(item, options)
        elif format in REPEATING:
            gold.add_labels(gold.index[item.id], item, options)
        else:
            problems.add("duplicate_id", line=line, field="id", found=item.id)
    problems.raise_if_any()
    return with_inventory(gold, options)


def format_of(path: Path, options: Options, problems: Problems) -> str:
    """The format by content; what looks like any lines is, among entities, columns with a wrong tag."""
    found = recognise_source(path, problems=problems)
    return "conll" if found == "labels" and options.task == "entities" else found


def _items(
    path: Path, format: str, options: Options, problems: Problems, column: int
) -> Iterable[tuple[int, ItemLine]]:
    if format == "opennre-gold" or (format == "jsonl-items" and options.task != "entities"):
        return relation_lines.read_gold(path, problems=problems)
    if format == "labels":
        return _labelled(read_label_lines(path, problems=problems), problems)
    if format == "jsonl-predictions":
        return _labelled(read_predictions(path, problems=problems), problems)
    return open_items(
        path,
        format=format,
        problems=problems,
        scheme=options.scheme,
        repair=options.repair,
        column=column,
        require_text=False,
    )


def _labelled(lines: Iterable[tuple[int, object]], problems: Problems) -> Iterator[tuple[int, ItemLine]]:
    """Gold that says no more than a label of each id."""
    for line, given in lines:
        if isinstance(given, LabelPrediction):
            yield line, ItemLine(given.id, None, relations=(given.label,))
        elif isinstance(given, LabelsPrediction):
            yield line, ItemLine(given.id, None, relations=given.labels)
        else:
            problems.add("mixed_forms", line=line, expected="gold with label or labels")


def with_inventory(gold: Gold, options: Options) -> Gold:
    """The stated labels, else those that the gold has; the negative class is not among them."""
    gold.relations = sorted({name for links in gold.links for _, name, _ in links})
    seen = {label for spans in gold.spans for _, _, label in spans} if gold.spans else set(gold.label)
    stated = stated_labels(options)
    if options.task == "entities" and options.negative in seen:
        raise Misuse(
            f"The gold has entities of the class {options.negative}: it can't be named by --negative."
        )
    strange = sorted(seen.difference(stated or seen))
    if strange:
        raise Misuse(f"The gold has the label {strange[0]}, which {options.labels} lacks.")
    gold.inventory = [name for name in stated or sorted(seen) if name != options.negative]
    return gold


def stated_labels(options: Options) -> list[str] | None:
    """The inventory that was given as a file."""
    if options.labels is None:
        return None
    problems = Problems()
    names = read_labels(options.labels, problems=problems)
    problems.raise_if_any()
    return names
