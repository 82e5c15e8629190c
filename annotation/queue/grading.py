"""Grades of answers to gold questions, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from annotation.consensus import item_state, known_answers
from annotation.consensus.choices import choices_of
from annotation.consensus.rules import Rules
from annotation.models import Annotator, Item, KnownAnswer, Mark, Project, Vote
from annotation.queue.participants import Participant
from annotation.queue.pauses import pause_work
from evalsvc.core.formats.label_mapping import Payload, empty_answer


@dataclass(frozen=True, slots=True)
class ChoiceFeedback:
    """One choice of the answer or of the known answer."""

    choice: Any
    chosen: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Feedback:
    """Feedback on an answer in the qualification round; hidden checks give none."""

    right: bool
    choices: list[ChoiceFeedback]
    explains: str
    done: int
    of: int
    passed: bool | None


def grade(item: Item, participant: Participant, payload: Payload | None) -> Feedback:
    """Grade the first vote on an item of the qualification round; a skip is wrong."""
    annotator, project = participant.annotator, participant.project
    known = KnownAnswer.objects.get(pk=item.pk)
    mapping = Rules(project).mapping
    chosen = None if payload is None else choices_of(mapping.payload(payload).payload)
    expected = choices_of(mapping.payload(known.payload).payload)
    right = payload is not None and known_answers.is_right(payload, known.payload, mapping)
    created = Mark.objects.get_or_create(item=item, annotator=annotator, defaults={"right": right})[1]
    if created:
        passed = judge_round(annotator, project)
    else:
        row = Annotator.objects.get(pk=annotator.pk)
        passed = row.qualified_at is not None if row.qualified_at or row.paused_at else None
    choices = [
        ChoiceFeedback(choice, choice in (chosen or ()), choice in expected)
        for choice in sorted({*expected, *(chosen or ())}, key=str)
    ]
    n_done = Mark.objects.filter(annotator=annotator, item__use=Item.Use.QUALIFY).count()
    return Feedback(right, choices, known.explains, n_done, round_size(project), passed)


# ---- hidden checks --------------------------------------------------------------------------------
def grade_check(item: Item, participant: Participant, payload: Payload | None, vote: Vote) -> None:
    """Grade the first vote on a hidden check; a skip is wrong.

    A check that was put off is graded when it comes again, like any other sentence.
    """
    annotator = participant.annotator
    if not _is_first(vote):
        return
    right = _is_right_on(item, participant.project, payload)
    with transaction.atomic():
        Mark.objects.create(item=item, annotator=annotator, right=right)
    _judge_checks(annotator, participant.project)


def _is_first(vote: Vote) -> bool:
    """True unless an earlier vote of the person on the item did more than put it off."""
    earlier = Vote.objects.filter(item=vote.item_id, annotator=vote.annotator_id, number__lt=vote.number)
    return not earlier.exclude(reason="later").exists()


def _is_right_on(item: Item, project: Project, payload: Payload | None) -> bool:
    right = known_answers.is_right_on(item, payload or empty_answer(), Rules(project).mapping)
    return right and payload is not None


def rehearse_grade(item: Item, participant: Participant, payload: Payload | None, vote: Vote) -> None:
    """Take as long for a sentence as a hidden check takes to be graded, and store nothing.

    Otherwise a reply would come later for checks. The savepoint stands for that in which a check is decided,
    also when a sentence is put off: both are then written in it, and once more.
    """
    annotator = participant.annotator
    with transaction.atomic():
        if vote.reason == "later":
            item_state.rewrite(item)
        elif _is_first(vote):
            _is_right_on(item, participant.project, payload)
            with transaction.atomic():
                Mark.objects.create(item=item, annotator=annotator, right=True)
            list(_marks(annotator, Item.Use.CHECK).values_list("right", flat=True))
        transaction.set_rollback(True)


def round_size(project: Project) -> int:
    return project.items.present().filter(use=Item.Use.QUALIFY, known__isnull=False).count()


def judge_round(annotator: Annotator, project: Project) -> bool | None:
    """Return the result of the qualification round, None before its end."""
    right = list(_marks(annotator, Item.Use.QUALIFY).values_list("right", flat=True))
    if len(right) < round_size(project):
        return None
    if 100 * sum(right) >= project.pass_percent * len(right):
        Annotator.objects.filter(pk=annotator.pk).update(qualified_at=Now())
        return True
    pause_work(annotator, f"{sum(right)} of {len(right)} qualification sentences were right.")
    return False


def _judge_checks(annotator: Annotator, project: Project) -> None:
    marks = _marks(annotator, Item.Use.CHECK)
    if annotator.resumed_at is not None:
        marks = marks.filter(at__gt=annotator.resumed_at)
    right = list(marks.values_list("right", flat=True))
    enough = len(right) >= project.least_checks
    if enough and 100 * sum(right) < project.pass_percent * len(right):
        pause_work(annotator, "Too many gold questions were answered wrongly.")


def _marks(annotator: Annotator, use: str) -> QuerySet[Mark]:
    return Mark.objects.filter(annotator=annotator, item__use=use)
