"""Presentation of a frozen test set, from its statistics and its manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.web.figures import Stat
from evalsvc.core.web.formatting import counted

DASH = "–"
MAX_BARS = 20
MAX_TITLE = 26
Statistics = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LabelBar:
    """Bar of one label's lines, with its coordinates in the chart."""

    title: str
    n: int
    negative: bool
    width: float
    at: int

    @property
    def short(self) -> str:
        return self.title if len(self.title) <= MAX_TITLE else f"{self.title[: MAX_TITLE - 1]}…"

    @property
    def top(self) -> int:
        return 5 + 24 * self.at

    @property
    def base(self) -> int:
        return 17 + 24 * self.at

    @property
    def after(self) -> float:
        return 194 + self.width


def composition(test_set: TestSet) -> dict[str, Any]:
    """Return the context of everything below the digest."""
    statistics = test_set.statistics or {}
    bars = _bars(test_set, statistics)
    return {
        "lead": _lead(test_set),
        "described": test_set.statistics is not None,
        "stats": _stats(test_set, statistics),
        "rows": bars[:MAX_BARS],
        "all_rows": bars,
        "chart_height": 24 * len(bars[:MAX_BARS]) + 6,
        "finding": _finding(bars),
        "quality": _source_quality(statistics.get("source_quality") or {}),
        "provenance": _provenance(test_set),
        "left_out": _left_out(test_set.manifest),
        "decisions": test_set.manifest.get("decisions") or [],
        "not_for": _not_for(test_set),
    }


def _lead(test_set: TestSet) -> str:
    manifest = test_set.manifest
    n = counted(test_set.rows, "sentence" if test_set.kind == Kind.RELATIONS else "text")
    if test_set.origin == Origin.ANNOTATED and manifest.get("k"):
        each = _answers_each(manifest)
        people = f"{each} {'person' if each == '1' else 'people'}"
        blind = "who saw neither source labels nor other answers"
        lead = f"{n}, each labelled by {people} {blind}."
    elif test_set.origin == Origin.SOURCE:
        lead = f"{n} with the labels of their source, not checked by people."
    else:
        lead = f"{n}."
    kind = "relations" if test_set.kind == Kind.RELATIONS else "entity types"
    negative = f" and {test_set.negative}" if test_set.negative and test_set.kind == Kind.RELATIONS else ""
    return f"{lead} {len(test_set.labels):,} {kind}{negative}."


def _answers_each(manifest: dict[str, Any]) -> str:
    """Format the answers per item, a range if they vary."""
    least, most = manifest.get("k_of_items") or (manifest.get("k", "?"),) * 2
    return str(least) if least == most else f"{least} to {most}"


def _stats(test_set: TestSet, statistics: Statistics) -> list[Stat]:
    def write(key: str, form: str, factor: int = 1) -> str:
        value = statistics.get(key)
        return "" if value is None else form.format(factor * value)

    with_na = statistics.get("perplexity_with_negative")
    perplexity = "of the label distribution" if with_na is None else f"{with_na:.1f} with N/A"
    stats = [
        Stat(
            "Sentences" if test_set.kind == Kind.RELATIONS else "Texts",
            f"{test_set.rows:,}",
            "lines of the file",
        ),
        Stat("Entity pairs", write("pairs", "{:,}"), "ordered"),
        Stat("Facts", write("facts", "{:,}"), "head, relation, tail"),
        Stat("Entities", write("entities", "{:,}"), "labelled spans"),
        Stat("Tokens", write("tokens", "{:,}"), "as in the file"),
        Stat(_negative_title(test_set), write("na_share", "{:.1f} %", 100), "of sentences"),
        Stat("Perplexity", write("perplexity_without_negative", "{:.1f}"), perplexity),
        Stat("Imbalance", write("ratio", "{:,.0f} : 1"), "most to least frequent label"),
    ]
    return [stat for stat in stats if stat.figure]


def _negative_title(test_set: TestSet) -> str:
    return (test_set.negative or "N/A") if test_set.kind == Kind.RELATIONS else "Without entity"


def _bars(test_set: TestSet, statistics: Statistics) -> list[LabelBar]:
    counts: dict[str, int] = dict(statistics.get("labels") or {})
    if statistics.get("na_sentences"):
        counts[_negative_title(test_set)] = statistics["na_sentences"]
    titles = {label["name"]: label.get("title") or label["name"] for label in test_set.labels}
    order = sorted(counts.items(), key=lambda entry: -entry[1])
    most = max(counts.values(), default=0) or 1
    return [
        LabelBar(titles.get(name, name), n, name not in titles, round(270 * n / most, 1), at)
        for at, (name, n) in enumerate(order)
    ]


def _finding(bars: list[LabelBar]) -> str:
    positive = [bar for bar in bars if not bar.negative and bar.n]
    if not positive:
        return "No label occurs"
    total = sum(bar.n for bar in positive)
    share = f"{100 * positive[0].n / total:.0f} %"
    return f"“{positive[0].title}” makes up {share} of {counted(total, 'label')}"


def _source_quality(figures: dict[str, Any]) -> list[Stat]:
    names = (
        ("fact_precision", "Precision", "of the source’s facts"),
        ("fact_recall", "Recall", "of the facts in this gold"),
        ("pair_accuracy", "Pair accuracy", "pairs with exactly the same relations"),
    )
    return [
        Stat(name, DASH if figures.get(key) is None else f"{100 * figures[key]:.1f} %", detail)
        for key, name, detail in names
        if figures
    ]


def _provenance(test_set: TestSet) -> list[tuple[str, str]]:
    manifest = test_set.manifest
    facts = []
    if manifest.get("policy"):
        facts.append(("Rule", f"{manifest['policy']}, {_answers_each(manifest)} answers per sentence"))
    counts = manifest.get("counts") or {}
    if test_set.origin == Origin.ANNOTATED and counts:
        decided = f"{counts['settled']:,} by majority, {counts['adjudicated']:,} by an adjudicator"
        facts.append(("Decided", decided))
    if steps := manifest.get("ontology"):
        facts.append(("Ontology", f"{counted(len(steps), 'step')} of merging, deleting or renaming"))
    if file := manifest.get("file"):
        facts.append(("Source file", f"{file['name']}, SHA-256 {file['sha256'][:12]}"))
    if version := manifest.get("evalsvc"):
        facts.append(("Software", f"evalsvc {version}"))
    return facts


def _left_out(manifest: dict[str, Any]) -> str:
    left = manifest.get("left_out") or {}
    counts = {state: len(ids) if isinstance(ids, list) else ids for state, ids in left.items()}
    unusable = counts.pop("unusable", 0)
    parts = [f"{n:,} {state}" for state, n in counts.items() if n]
    text = [f"Left out by the curator: {' and '.join(parts)} sentences."] if parts else []
    text += [f"Broken, or with a wrongly marked entity: {unusable:,}."] if unusable else []
    return " ".join([*text, "The manifest lists them."]) if text else ""


def _not_for(test_set: TestSet) -> list[str]:
    if test_set.origin == Origin.ANNOTATED:
        return [
            "Training or tuning: these lines cannot measure a system that has seen them.",
            "Label frequencies: the curator chose the sentences, so they are not a random sample.",
        ]
    if test_set.origin == Origin.SOURCE:
        advice = "Compare each score with the score on the annotated set."
        return [f"Measuring quality alone: nobody checked these labels. {advice}"]
    return [
        "Claims about how it was labelled: ask its publishers. Here it is only stored and used for scoring."
    ]
