"""What decided each frozen line: answers for and against, rule, decision and its reason.

People appear as numbers: a1, a2 … are annotators, d1, d2 … are those who decided.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from annotation.consensus.item_state import answers_needed, counted_answers
from annotation.consensus.rules import Rules
from annotation.freezing.label_rows import label_rows
from annotation.models import Adjudication, Annotator, Answer, Item, Project

EXCLUDED = "excluded"


class ProvenanceWriter:
    """Describes decided items of a project, many at a time."""

    def __init__(self, project: Project) -> None:
        self.rules = Rules(project)
        annotators = Annotator.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
        self.annotators = {pk: f"a{number}" for number, pk in enumerate(annotators, 1)}
        self.deciders: dict[int, str] = {}

    def of(self, items: Sequence[Item]) -> dict[int, dict[str, Any]]:
        """Return the provenance of each item by its key in the database."""
        keys = [item.pk for item in items]
        answers = _answers(keys)
        active = Adjudication.objects.filter(item__in=keys).active()
        decisions = {decision.item_id: decision for decision in active}
        return {item.pk: self._item(item, answers[item.pk], decisions.get(item.pk)) for item in items}

    def of_undecided(self, items: Sequence[Item]) -> dict[int, dict[str, Any]]:
        """Return what can be compared of undecided items with two or more answers that are not set aside."""
        found = _answers([item.pk for item in items])
        several = [item for item in items if sum(not each.set_aside for each in found[item.pk]) > 1]
        return {item.pk: self._item(item, found[item.pk], None) for item in several}

    def _item(self, item: Item, answers: list[Answer], decision: Adjudication | None) -> dict[str, Any]:
        k = answers_needed(item, self.rules.project)
        answers.sort(key=lambda answer: answer.position)
        counted = counted_answers(answers, k=k)
        counting = {answer.pk for answer in counted}
        line = {
            "id": item.external_id,
            "state": item.state,
            "k": k,
            "pattern": item.pattern,
            "labels": self._labels(item, counted, k),
            "answers": [self._answer(answer, answer.pk in counting) for answer in answers],
        }
        if decision is not None:
            line["decision"] = self._decision(decision)
        return line

    def _labels(self, item: Item, counted: Sequence[Answer], k: int) -> list[dict[str, Any]]:
        mapped = [self.rules.mapping.payload(answer.payload).payload for answer in counted]
        verdict = self.rules.verdict(mapped, k, self.rules.policy)
        marks = [self._answer(answer, True).keys() for answer in counted]
        return label_rows(verdict, mapped, marks, item.gold or {"spans": [], "relations": []})

    def _answer(self, answer: Answer, counts: bool) -> dict[str, Any]:
        payload, vote = answer.payload, answer.vote
        # who joined meanwhile comes last
        by = self.annotators.setdefault(answer.annotator_id, f"a{len(self.annotators) + 1}")
        row = {"by": by, "relations": payload["relations"]}
        more: dict[str, Any] = {
            "spans": payload["spans"],
            "blank": bool(payload.get("blank")),
            "not_counted": "" if counts else not_counted(answer),
            "suggested": vote.shown_id is not None,
            "imported": vote.batch_id is not None,
            "milliseconds": vote.milliseconds,
            "guideline": vote.guideline,
        }
        return row | {name: value for name, value in more.items() if value}

    def _decision(self, decision: Adjudication) -> dict[str, Any]:
        by = self.deciders.setdefault(decision.by_id, f"d{len(self.deciders) + 1}")
        row = {"by": by, "at": decision.at.isoformat(), "relations": decision.payload["relations"]}
        more = {"spans": decision.payload["spans"], "reason": decision.reason, "in_bulk": bool(decision.bulk)}
        return row | {name: value for name, value in more.items() if value}


def _answers(items: Sequence[int]) -> dict[int, list[Answer]]:
    """Return the active answers by item."""
    found: dict[int, list[Answer]] = defaultdict(list)
    for answer in Answer.objects.filter(item__in=items).active().select_related("vote"):
        found[answer.item_id].append(answer)
    return found


def not_counted(answer: Answer) -> str:
    """Return why an answer beyond those that count is not among them."""
    if answer.set_aside:
        return EXCLUDED
    return "asked again" if answer.again else "surplus"
