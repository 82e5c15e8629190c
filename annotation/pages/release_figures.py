"""Figures of a release: vote patterns, and the quality of source labels by relation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.urls import reverse

from annotation.pages.interval_chart import Estimate, IntervalColumn, share
from annotation.releases.composition import Composition
from annotation.testset import label_titles
from evalsvc.core.web.figures import DataTable, Figure
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.svg import drawing, element

MAX_PATTERNS = 8
MAX_RELATIONS = 8
BAR_WIDTH, BAR_START = 230, 150


def figures(content: Composition, *, route: str) -> dict[str, Any]:
    """Return the figures of a page about the set; `route` names the view that sends their files."""
    return {
        "chart_route": route,
        "patterns": pattern_figure(content, route=route),
        "quality": quality_table(content),
        "quality_note": contents_note(content),
    }


def pattern_figure(content: Composition, *, route: str = "") -> Figure | None:
    """Draw the vote patterns; bars in the second colour were decided by an adjudicator."""
    patterns: list[dict[str, Any]] = content.answers.get("patterns") or []
    if not patterns:
        return None
    total = sum(row["n"] for row in patterns)
    settled = sum(row["n"] for row in patterns if row["state"] == "settled")
    rows = [(row["pattern"] or "no label", row["n"], row["state"] == "settled") for row in patterns]
    shown = rows[:MAX_PATTERNS]
    for is_settled, name in ((True, "others, by the rule"), (False, "others, by an adjudicator")):
        n = sum(row[1] for row in rows[MAX_PATTERNS:] if row[2] == is_settled)
        shown += [(name, n, is_settled)] if n else []
    noun = f"{content.noun.capitalize()}s"
    return Figure(
        title=_settled(content, settled, total),
        caption=_caption(content, noun, adjudicated=total - settled),
        drawing=_bars(shown, total),
        name="Vote patterns",
        **_urls(content, "patterns", route),
        table=DataTable(
            ("Split", noun, "Decided by"),
            [
                (pattern, f"{n:,}", "the rule" if by_rule else "an adjudicator")
                for pattern, n, by_rule in rows
            ],
        ),
    )


def _settled(content: Composition, settled: int, total: int) -> str:
    """Count what the rule settled among what it could settle: lines, and disputes that were left out."""
    disputed = content.n_disputed
    among = total + (disputed or 0)
    of = counted(among, "kept line" if disputed is None else content.noun)
    return f"The rule settled {settled:,} of {of} ({100 * settled / among:.1f} %)"


def _caption(content: Composition, noun: str, *, adjudicated: int) -> str:
    parts = [f"{noun} by how the answers split."]
    parts += ["Each had one answer that counted."] if content.one_answer_each else []
    parts += ["Orange: decided by an adjudicator."] if adjudicated else []
    if content.n_disputed:
        left = counted(content.n_disputed, f"disputed {content.noun}")
        parts.append(f"Not drawn: {left} left out.")
    return " ".join(parts)


def _urls(content: Composition, name: str, route: str) -> dict[str, str]:
    formats = ("svg", "csv") if route else ()
    return {f"{each}_url": reverse(route, args=[content.set.slug, name, each]) for each in formats}


def _bars(rows: Sequence[tuple[str, int, bool]], total: int) -> str:
    most = max(n for _, n, _ in rows)
    parts = []
    for at, (pattern, n, by_rule) in enumerate(rows):
        width, top = max(1.0, round(BAR_WIDTH * n / most, 1)), 5 + 27 * at
        bar = {"x": BAR_START, "y": top, "width": width, "height": 16, "rx": 2}
        text = pattern if len(pattern) <= 22 else f"{pattern[:21]}…"
        parts += [
            element("text", text, class_="lab", x=BAR_START - 10, y=top + 12, text_anchor="end"),
            element("rect", element("title", f"{pattern}: {n:,}"), class_="f1" if by_rule else "f2", **bar),
            element(
                "text", f"{n:,} · {100 * n / total:.1f} %", class_="ax", x=BAR_START + width + 6, y=top + 12
            ),
        ]
    return drawing(520, 27 * len(rows) + 4, "Vote patterns", *parts)


def quality_table(content: Composition) -> dict[str, Any] | None:
    """Return rows of source quality by relation with intervals, the most frequent first."""
    quality: Mapping[str, Any] = content.statistics.get("source_quality") or {}
    relations: Mapping[str, Any] = quality.get("relations") or {}
    if not relations or any("source_facts" not in row for row in relations.values()):
        return None
    titles = label_titles(content.set.labels)
    frequent = sorted(relations.items(), key=lambda row: (-row[1]["gold_facts"], row[0]))
    supported = [(name, row) for name, row in frequent if row["gold_facts"] or row["source_facts"]]
    absent = [
        titles.get(name, name) for name, row in frequent if not (row["gold_facts"] or row["source_facts"])
    ]
    column = IntervalColumn.of([Estimate(0.0), Estimate(1.0)], width=150, unit=True)
    rows = [
        {
            "title": titles.get(name, name),
            "gold_facts": row["gold_facts"],
            "source_facts": row["source_facts"],
            **{
                measure: {
                    "estimate": estimate,
                    "text": _text(estimate),
                    "chart": column.interval(estimate, low=measure == "recall", write=share),
                }
                for measure in ("precision", "recall")
                for estimate in [_estimate(row, measure)]
            },
        }
        for name, row in supported
    ]
    return {
        "finding": _finding(quality),
        "axis": column.axis(share_tick),
        "rows": rows[:MAX_RELATIONS],
        "more": rows[MAX_RELATIONS:],
        "absent": absent,
    }


def _text(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return share(estimate.value)
    return f"{share(estimate.value)} ({100 * estimate.low:.0f} to {100 * estimate.high:.0f})"


def share_tick(value: float) -> str:
    return f"{100 * value:.0f} %"


def _estimate(row: Mapping[str, Any], measure: str) -> Estimate:
    low, high = row[f"{measure}_ends"] or (None, None)
    return Estimate(row[measure], low, high)


def _finding(quality: Mapping[str, Any]) -> str:
    recall, precision = quality.get("fact_recall"), quality.get("fact_precision")
    if recall is None or precision is None:
        return "The source labels cannot be compared: one side has no fact"
    missed = f"The source labels miss {100 * (1 - recall):.0f} % of the facts"
    return f"{missed}, and {100 * (1 - precision):.0f} % of theirs are wrong"


def contents_note(content: Composition) -> str:
    """Say on how many sentences the comparison rests."""
    quality = content.statistics.get("source_quality") or {}
    sentences, pairs = quality.get("sentences") or 0, quality.get("pairs") or 0
    compared = f"{counted(sentences, 'sentence')} and {counted(pairs, 'pair')}"
    return f"Facts of {compared} that have both labels; 95 % intervals (Wilson)."
