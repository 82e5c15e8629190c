"""What a frozen set consists of, in figures and words: from its stored statistics and its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.web.formatting import counted

DASH = "–"
MOST_BARS = 20


@dataclass(frozen=True, slots=True)
class Stat:
    """A big figure with its name and what it counts."""

    name: str
    figure: str
    detail: str


@dataclass(frozen=True, slots=True)
class Bar:
    """One label's lines in the chart."""

    title: str
    n: int
    negative: bool
    width: float
    at: int

    @property
    def short(self) -> str:
        return self.title if len(self.title) <= 26 else f"{self.title[:25]}…"

    @property
    def top(self) -> int:
        return 5 + 24 * self.at

    @property
    def base(self) -> int:
        return 17 + 24 * self.at

    @property
    def after(self) -> float:
        return 194 + self.width


def composition(found: TestSet) -> dict[str, Any]:
    """Everything below the seal."""
    figures = found.statistics or {}
    bars = _bars(found, figures)
    return {
        "lead": _lead(found),
        "described": found.statistics is not None,
        "stats": _stats(found, figures),
        "rows": bars[:MOST_BARS],
        "all_rows": bars,
        "chart_height": 24 * len(bars[:MOST_BARS]) + 6,
        "finding": _finding(bars),
        "quality": _quality(figures.get("source_quality") or {}),
        "made": _made(found),
        "left_out": _left_out(found.manifest),
        "decisions": found.manifest.get("decisions") or [],
        "not_for": _not_for(found),
    }


def _lead(found: TestSet) -> str:
    what = "sentences" if found.kind == Kind.RELATIONS else "texts"
    n = f"{found.rows:,} {what}"
    manifest = found.manifest
    if found.origin == Origin.ANNOTATED and manifest.get("k"):
        blind = "who did not see the source label, each other, or any system"
        return f"{n}, each read by {_readers(manifest)} {blind}. {_labels(found)}"
    if found.origin == Origin.SOURCE:
        return f"{n} with the labels that the source gave them, which no person checked. {_labels(found)}"
    return f"{n}. {_labels(found)}"


def _each(manifest: dict[str, Any]) -> str:
    """How many answers stand behind a sentence: an import may have brought more for some."""
    least, most = manifest.get("k_of_items") or (manifest.get("k", "?"),) * 2
    return str(least) if least == most else f"{least} to {most}"


def _readers(manifest: dict[str, Any]) -> str:
    each = _each(manifest)
    return f"{each} {'person' if each == '1' else 'people'}"


def _labels(found: TestSet) -> str:
    kind = "relations" if found.kind == Kind.RELATIONS else "entity types"
    negative = f" and {found.negative}" if found.negative and found.kind == Kind.RELATIONS else ""
    return f"{len(found.labels):,} {kind}{negative}."


def _stats(found: TestSet, figures: dict[str, Any]) -> list[Stat]:
    unit = "Sentences" if found.kind == Kind.RELATIONS else "Texts"
    known = [
        Stat(unit, f"{found.rows:,}", "lines of the file"),
        Stat("Entity pairs", _count(figures.get("pairs")), "ordered bags"),
        Stat("Facts", _count(figures.get("facts")), "head, relation, tail"),
        Stat("Entities", _count(figures.get("entities")), "labelled spans"),
        Stat("Tokens", _count(figures.get("tokens")), "as the file gives them"),
        Stat(_nothing(found), _share(figures.get("na_share")), "of sentences"),
        Stat("Perplexity", _digits(figures.get("perplexity_without_negative")), _with_negative(figures)),
        Stat("Most to least", _ratio(figures.get("ratio")), "most to least frequent label"),
    ]
    return [stat for stat in known if stat.figure]


def _nothing(found: TestSet) -> str:
    return (found.negative or "N/A") if found.kind == Kind.RELATIONS else "Without entity"


def _count(value: Any) -> str:
    return "" if value is None else f"{value:,}"


def _share(value: Any) -> str:
    return "" if value is None else f"{100 * value:.1f} %"


def _digits(value: Any) -> str:
    return "" if value is None else f"{value:.1f}"


def _ratio(value: Any) -> str:
    return "" if value is None else f"{value:,.0f} : 1"


def _with_negative(figures: dict[str, Any]) -> str:
    with_na = figures.get("perplexity_with_negative")
    return "of the label distribution" if with_na is None else f"{with_na:.1f} with N/A"


def _bars(found: TestSet, figures: dict[str, Any]) -> list[Bar]:
    counts: dict[str, int] = dict(figures.get("labels") or {})
    if figures.get("na_sentences"):
        counts[_nothing(found)] = figures["na_sentences"]
    titles = {label["name"]: label.get("title") or label["name"] for label in found.labels}
    order = sorted(counts.items(), key=lambda entry: -entry[1])
    most = max(counts.values(), default=0) or 1
    return [
        Bar(titles.get(name, name), n, name not in titles, round(270 * n / most, 1), at)
        for at, (name, n) in enumerate(order)
    ]


def _finding(bars: list[Bar]) -> str:
    positive = [bar for bar in bars if not bar.negative and bar.n]
    if not positive:
        return "No label but the negative class occurs"
    total = sum(bar.n for bar in positive)
    share = f"{100 * positive[0].n / total:.0f} %"
    return f"“{positive[0].title}” is {share} of the {counted(total, 'label')}"


def _quality(figures: dict[str, Any]) -> list[Stat]:
    names = (
        ("fact_precision", "Precision", "of the source’s facts"),
        ("fact_recall", "Recall", "of the facts in this gold"),
        ("pair_accuracy", "Pairs fully right", "the same set of relations"),
    )
    return [Stat(name, _share(figures.get(key)) or DASH, detail) for key, name, detail in names if figures]


def _made(found: TestSet) -> list[tuple[str, str]]:
    manifest = found.manifest
    made = []
    if manifest.get("policy"):
        made.append(("Made from", f"rule {manifest['policy']}, {_each(manifest)} answers per sentence"))
    counts = manifest.get("counts") or {}
    if found.origin == Origin.ANNOTATED and counts:
        made.append(
            (
                "Decided",
                f"{counts['settled']:,} by more than half, {counts['adjudicated']:,} by an adjudicator",
            )
        )
    if steps := manifest.get("ontology"):
        made.append(
            ("Ontology", f"{len(steps):,} step{'s' * (len(steps) > 1)} of merging, deleting or renaming")
        )
    if file := manifest.get("file"):
        made.append(("From the file", f"{file['name']}, SHA-256 {file['sha256'][:12]}"))
    if version := manifest.get("evalsvc"):
        made.append(("By", f"evalsvc {version}"))
    return made


def _left_out(manifest: dict[str, Any]) -> str:
    left = manifest.get("left_out") or {}
    counts = {state: len(ids) if isinstance(ids, list) else ids for state, ids in left.items()}
    unusable = counts.pop("unusable", 0)
    parts = [f"{n:,} {state}" for state, n in counts.items() if n]
    told = [f"By the curator’s word: {' and '.join(parts)} sentences."] if parts else []
    told += [f"Found broken, or with an entity marked wrongly: {unusable:,}."] if unusable else []
    return " ".join([*told, "The manifest lists them."]) if told else ""


def _not_for(found: TestSet) -> list[str]:
    if found.origin == Origin.ANNOTATED:
        return [
            "Training or tuning: a system that has seen these lines is not measured by them.",
            "Saying how often a relation occurs in the world: the curator chose the sentences.",
        ]
    if found.origin == Origin.SOURCE:
        told = "Saying how good a system is in the eyes of people: nobody checked these labels."
        return [f"{told} Hold a score on them beside one on the annotated set."]
    told = "Claims about how it was labelled: that is for its publishers to say."
    return [f"{told} Here it is only kept, hashed and scored on."]
