"""Labels of a frozen line with the votes for and against them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from annotation.consensus.choices import choices_of
from annotation.consensus.majority import Verdict
from evalsvc.core.formats.label_mapping import Payload

MARKS = ("suggested", "imported")  # of an answer, counted for its labels


def label_rows(
    verdict: Verdict, counted: Sequence[Payload], marks: Iterable[Collection[str]], gold: Payload
) -> list[dict[str, Any]]:
    """List each label that was voted for or is gold, most votes first.

    `counted` are the answers in labels of the set, `marks` those of each.
    """
    votes = {count.choice: count.votes for count in verdict.tally}
    chosen = choices_of(gold)
    marked: dict[str, Counter[Any]] = {name: Counter() for name in MARKS}
    for payload, names in zip(counted, marks, strict=True):
        for name in names & marked.keys():
            marked[name].update(choices_of(payload))
    rows = []
    for choice in [*votes, *sorted(chosen - votes.keys(), key=str)]:
        row = {"label": choice, "for": votes.get(choice, 0), "gold": choice in chosen}
        row["against"] = len(counted) - row["for"]
        rows.append(row | {name: counts[choice] for name, counts in marked.items() if counts[choice]})
    return rows
