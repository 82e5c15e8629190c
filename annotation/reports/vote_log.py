"""The log of votes for download: every answer and skip, under pseudonyms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import Q

from annotation.consensus.rules import Rules
from annotation.models import Answer, Project, Vote
from annotation.models.voting import ACTIVE_ANSWERS
from annotation.reports.agreement import judgment
from annotation.roles import CURATOR, numbered_names, require
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.database import in_batches
from evalsvc.core.formats.records import canonical_line

FIELDS = (
    *("item__external_id", "annotator__name", "number", "act", "payload", "reason", "comment", "flagged"),
    *("milliseconds", "at", "guideline", "batch", "shown", "pk"),
)
COLUMNS = (
    *("item", "annotator", "number", "act", "current", "counted", "order", "answer", "reason", "comment"),
    *("flagged", "seconds", "at", "guideline", "imported", "suggestion_shown"),
)
ROWS, ROWS_OF_SPANS = 2_000, 50  # an answer with many spans takes a megabyte


def rows(project: Project, *, by: User) -> Iterator[dict[str, Any]]:
    """Return the acts in the order of items, then of time.

    `current` is an annotator's last answer to the item, `counted` one neither excluded nor asked again by the
    rules, and `order` its place among the answers to the item.
    """
    require(project, by, CURATOR)
    return _acts(project)


def _acts(project: Project) -> Iterator[dict[str, Any]]:
    names, rules = numbered_names(project), Rules(project)
    is_done = Q(batch=None) | Q(batch__state="done")
    acts = Vote.objects.filter(is_done, item__project=project, item__use="", item__batch__state="done")
    waiting: list[tuple[Any, ...]] = []
    size = ROWS if project.kind == Kind.RELATIONS else ROWS_OF_SPANS
    for act in in_batches(acts.order_by("item__rank", "item", "pk"), *FIELDS, size=size):
        waiting.append(act)
        if len(waiting) == size:
            yield from _rows(rules, waiting, names)
            waiting = []
    yield from _rows(rules, waiting, names)


def _rows(rules: Rules, acts: list[tuple[Any, ...]], names: dict[str, str]) -> Iterator[dict[str, Any]]:
    answers = Answer.objects.filter(ACTIVE_ANSWERS, vote__in=[act[-1] for act in acts])
    current = {
        vote: (position, aside or rules.is_asked_again(payload, guideline))
        for vote, position, aside, payload, guideline in answers.values_list(
            "vote", "position", "set_aside", "payload", "guideline"
        )
    }
    for (
        item,
        name,
        number,
        act,
        payload,
        reason,
        comment,
        flagged,
        took,
        at,
        version,
        batch,
        shown,
        key,
    ) in acts:
        position, aside = current.get(key, (None, True))
        row = {
            "item": item,
            "annotator": names[name],
            "number": number,
            "act": act,
            "current": position is not None,
            "counted": not aside,
            "order": position,
            "reason": reason or None,
            "comment": comment or None,
            "flagged": flagged,
            "seconds": None if took is None else took / 1_000,
            "at": at.isoformat(timespec="milliseconds"),
            "guideline": version,
            "imported": batch is not None,
            "suggestion_shown": shown is not None,
        }
        answer = {} if payload is None else judgment(rules.project.kind, item, name, payload)
        yield {key: value for key, value in row.items() if value is not None} | {
            key: value for key, value in answer.items() if key not in row
        }


def lines(project: Project, *, by: User) -> Iterator[bytes]:
    """Return the acts as JSON lines; the current answers in them can be imported."""
    return map(canonical_line, rows(project, by=by))


def table(project: Project, *, by: User) -> Iterator[list[object]]:
    """Return the acts as rows of `COLUMNS`; the answer is JSON."""
    return map(_cells, rows(project, by=by))


def _cells(row: dict[str, Any]) -> list[object]:
    answer = {key: row[key] for key in ("labels", "na", "spans", "relations") if key in row}
    row["answer"] = canonical_line(answer).decode().rstrip("\n") if answer else ""
    return [row.get(column, "") for column in COLUMNS]
