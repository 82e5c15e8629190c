"""Card and citations of a test set, for data hubs and reference managers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from annotation.models import Card
from annotation.releases.card import card_of
from annotation.releases.composition import Composition
from annotation.releases.licences import hub_fields, spdx
from annotation.splits.companions import held_back, sets_table
from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.web.tables import latex_text

TASKS = {
    Kind.RELATIONS: ("text-classification", ["relation-extraction"]),
    Kind.ENTITIES: ("token-classification", ["named-entity-recognition"]),
    Kind.JOINT: ("token-classification", ["named-entity-recognition", "relation-extraction"]),
}
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
WORDS_BEGIN, WORDS_END = "<!-- the curators' words begin -->", "<!-- the curators' words end -->"


def authors(test_set: TestSet, card: Card) -> list[str]:
    """Return the names for citations; by default whoever froze the set."""
    return list(card.authors) or [test_set.by.shown_name]


def title(test_set: TestSet) -> str:
    """Return the name for cards and citations, which tells the two sets of a freeze apart."""
    return f"{test_set.name}, source labels" if test_set.origin == Origin.SOURCE else test_set.name


def readme(content: Composition, *, with_gold: bool, files: Sequence[tuple[str, str]]) -> str:
    """Return the card: a YAML head for data hubs, and a Markdown body."""
    test_set = content.set
    card = card_of(test_set)
    parts = [
        f"---\n{_yaml(_head(test_set, card, with_gold=with_gold))}---\n",
        f"# {_inline(f'{title(test_set)} {test_set.version}')}\n",
    ]
    if card.words.strip():
        parts.append(f"## In the curators' words\n\n{WORDS_BEGIN}\n\n{card.words.strip()}\n\n{WORDS_END}\n")
    parts.append(
        "## Computed from the test set\n\n"
        f"Everything below was written by evalsvc.\n\n{_inline(content.lead)}\n"
    )
    parts.append(_table("Files", ("File", "Content"), files))
    if with_gold:
        stats = [(stat.name, stat.figure, stat.detail) for stat in content.stats]
        parts.append(_table("Content", ("Figure", "Value", ""), stats))
        for chart in content.charts:
            bars = [(bar.title, f"{bar.n:,}") for bar in chart.bars]
            parts.append(_table(chart.title, ("Label", "Count"), bars))
    else:
        parts.append("The gold is not among the files: systems are scored on it by the service.\n")
    if with_gold and test_set.companions.exists():
        sets = sets_table(test_set, without=held_back(test_set, None))
        cells = [[cell.text for cell in row] for row in sets.rows]
        parts.append(_table("Training and validation data", [head.title for head in sets.heads], cells))
        parts.append(f"{_inline(sets.caption)}\n")
    parts.append(_table("How the labels were decided", ("", ""), content.provenance))
    if content.left_out:
        parts.append(f"## Left out\n\n{_inline(content.left_out)}\n")
    parts.append("## Not suitable for\n\n" + "".join(f"- {text}\n" for text in content.not_for))
    parts.append(f"## Citation\n\n```bibtex\n{bibtex(test_set, with_gold=with_gold)}```\n")
    return "\n".join(parts)


def _head(test_set: TestSet, card: Card, *, with_gold: bool) -> dict[str, Any]:
    category, tags = TASKS[Kind(test_set.kind)]
    size = next((name for most, name in SIZES if test_set.rows < most), "n>1M")
    data = {"split": "test", "path": "gold.jsonl" if with_gold else "blind.jsonl"}
    head: dict[str, Any] = {
        "pretty_name": f"{title(test_set)} {test_set.version}",
        "language": card.languages,
        **hub_fields(card.licence),
        "task_categories": [category],
        "tags": tags,
        "size_categories": [size],
        "configs": [{"config_name": "default", "data_files": [data]}],
    }
    return {name: value for name, value in head.items() if value}


def citation_cff(test_set: TestSet, *, with_gold: bool) -> str:
    """Return the citation in the Citation File Format 1.2."""
    card = card_of(test_set)
    digest = f"sha256:{test_set.sha256}"
    identifier = {"type": "other", "value": digest, "description": "SHA-256 of gold.jsonl"}
    return _yaml(
        {
            "cff-version": "1.2.0",
            "message": "If you use this test set, cite it as below.",
            "type": "dataset",
            "title": title(test_set),
            "version": test_set.version,
            "date-released": _date(test_set, "%Y-%m-%d"),
            "authors": [_person(name) for name in authors(test_set, card)],
        }
        | ({"identifiers": [identifier]} if with_gold else {})
        | ({"license": licence} if (licence := spdx(card.licence)) else {})
    )


def _person(name: str) -> dict[str, str]:
    family, comma, given = name.partition(",")
    if comma and given.strip():
        return {"family-names": family.strip(), "given-names": given.strip()}
    return {"name": name}


def bibtex(test_set: TestSet, *, with_gold: bool) -> str:
    """Return the citation for BibTeX, with the digest of the gold if that leaves."""
    fields = {
        "author": " and ".join(
            # a name without a comma is one unit, as is that of an organisation
            latex_text(name) if "," in name else f"{{{latex_text(name)}}}"
            for name in authors(test_set, card_of(test_set))
        ),
        "title": f"{{{latex_text(title(test_set))}, version {latex_text(test_set.version)}}}",
        "year": _date(test_set, "%Y"),
        "note": f"Test set, SHA-256 {test_set.sha256}" if with_gold else "Test set",
    }
    body = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
    return f"@misc{{{test_set.slug},\n{body}}}\n"


def citation_text(test_set: TestSet, *, with_gold: bool = True) -> str:
    """Return the citation for a page, with the digest of the gold if that leaves."""
    names = "; ".join(authors(test_set, card_of(test_set)))
    year = _date(test_set, "%Y")
    digest = f" SHA-256 {test_set.sha256[:12]}." if with_gold else ""
    return f"{names} ({year}). {title(test_set)}, version {test_set.version}.{digest}"


def _date(test_set: TestSet, form: str) -> str:
    return (test_set.frozen_at or test_set.created_at).strftime(form)


def _yaml(values: Mapping[str, Any]) -> str:
    """Return block YAML whose values are JSON, which YAML contains."""
    return "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_inline, cells))} |" for cells in (heads, *rows)]
    lines.insert(1, f"|{'---|' * len(heads)}")
    return f"## {title}\n\n" + "".join(f"{line}\n" for line in lines)


def _inline(text: str) -> str:
    """Escape a text for a line or a cell of Markdown."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))
