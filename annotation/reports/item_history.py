"""Answers to an item with names, and its history, for curators."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from annotation.consensus import item_state
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Annotator, Answer, Item, Oversight, Project, Vote
from annotation.queue.votes import SKIP_REASONS
from annotation.roles import display_names
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import LogEntry, entries
from evalsvc.core.formats.label_mapping import Payload

MOST_VOTES = 200  # of an item's history: anybody may answer an item again and again


@dataclass(frozen=True, slots=True)
class ItemAnswer:
    """A current answer in current labels; `counted` ones decide."""

    answer: Answer
    name: str
    payload: Payload
    counted: bool

    @property
    def note(self) -> str:
        if self.answer.aside_id:
            return "excluded with all answers of this person"
        if self.answer.set_aside:
            return "excluded"
        if self.answer.again:
            return "not counted: asked again since labels or guideline changed"
        return "" if self.counted else "not counted: enough others answered earlier"


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of an item's history; an answer or decision has a payload."""

    at: datetime
    what: str
    by: str
    payload: Payload | None = None
    note: str = ""


def answers_of(project: Project, items: Sequence[Item]) -> dict[int, list[ItemAnswer]]:
    """Return the answers to each of these items, in the server's order.

    Which count goes by the rules, also while a recomputation waits.
    """
    names, rules = display_names(project), Rules(project)
    of_keys = {item.pk: item for item in items}
    answers: dict[int, list[Answer]] = defaultdict(list)
    rows = Answer.objects.filter(item__in=items).active().order_by("position")
    for answer in rows.select_related("vote", "annotator"):
        answers[answer.item_id].append(answer)
    for pk, given in answers.items():
        item_state.mark_asked_again(of_keys[pk], given, rules)
    needed = {item.pk: item_state.answers_needed(item, project) for item in items}
    counted = {
        answer.pk
        for pk, given in answers.items()
        for answer in item_state.counted_answers(given, k=needed[pk])
    }
    return {
        item.pk: [
            ItemAnswer(
                answer,
                names[answer.annotator.name],
                rules.mapping.payload(answer.payload).payload,
                answer.pk in counted,
            )
            for answer in answers[item.pk]
        ]
        for item in items
    }


def remark_counts(items: Iterable[Item]) -> dict[int, tuple[int, int]]:
    """Count the comments and flags of each of these items."""
    votes = Vote.objects.filter(item__in=[item.pk for item in items]).order_by()
    commented: dict[int, set[int]] = defaultdict(set)
    flagged: dict[int, set[int]] = defaultdict(set)
    # filtered here: SQLite would scan another index for the condition
    for item, annotator, comment, flag in votes.values_list("item", "annotator", "comment", "flagged"):
        if comment:
            commented[item].add(annotator)
        if flag:
            flagged[item].add(annotator)
    return {pk: (len(commented[pk]), len(flagged[pk])) for pk in {*commented, *flagged}}


def history(item: Item, *, decisions: bool = True) -> list[Event]:
    """Return all that happened to an item, oldest first; without what was decided if that is hidden."""
    project = item.project
    names, mapping = display_names(project), Rules(project).mapping
    batch = item.batch
    events = [Event(batch.ended_at or batch.created_at, f"imported from {batch.filename}", _shown(batch.by))]
    done = item.votes.filter(Q(batch=None) | Q(batch__state="done")).select_related("annotator")
    votes = list(done.order_by("-pk")[: MOST_VOTES + 1])
    if len(votes) > MOST_VOTES:
        events.append(Event(votes.pop().at, "earlier answers are not listed", ""))
    people = {vote.annotator for vote in votes}
    events += [
        Event(
            vote.at,
            _vote_text(vote),
            names[vote.annotator.name],
            mapping.payload(vote.payload).payload if vote.payload else None,
            vote.comment,
        )
        for vote in votes
    ]
    for decision in item.adjudications.select_related("by"):
        made = _decision_events(decision, mapping.payload(decision.payload).payload)
        events += made if decisions else [Event(decision.at, "decided", "")]
    events += _exclusions(item, people, names)
    return sorted(events, key=lambda event: event.at)


def _vote_text(vote: Vote) -> str:
    if vote.act == Vote.Act.SKIP:
        return f"skipped ({SKIP_REASONS.get(vote.reason, vote.reason).lower()})"
    verb = "answered" if vote.number == 1 else "answered again"
    return f"{verb}{' in an import' if vote.batch_id else ''}{', with a flag' if vote.flagged else ''}"


def _decision_events(decision: Adjudication, payload: Payload) -> Iterable[Event]:
    finding = Adjudication.Finding(decision.finding)
    if finding:
        yield Event(
            decision.at, f"excluded the sentence ({finding})", _shown(decision.by), None, decision.reason
        )
    else:
        yield Event(decision.at, "decided", _shown(decision.by), payload, decision.reason)
    if decision.reopened_at:
        lapsed = "the decision lapsed: the answers changed" if decision.lapsed else "the decision was undone"
        yield Event(decision.reopened_at, lapsed, "")


def _exclusions(item: Item, people: Iterable[Annotator], names: Mapping[str, str]) -> Iterable[Event]:
    """Yield exclusions of single answers from the log, and those of people."""
    about = {f"{person} on {item.external_id}"[:300]: names[person.name] for person in people}
    logged: Iterable[LogEntry] = entries(item.project).filter(action="answer", about__in=about)
    for entry in logged:
        yield Event(entry.at, f"answer of {about[entry.about]}: {entry.after_text}", _shown(entry.by))
    acts = {Oversight.Act.SET_ASIDE: "excluded", Oversight.Act.PUT_BACK: "included again"}
    for row in Oversight.objects.filter(annotator__in=people, act__in=acts).select_related("by", "annotator"):
        what = f"all answers of {names[row.annotator.name]} {acts[Oversight.Act(row.act)]}"
        yield Event(row.at, what, _shown(row.by), None, row.reason)


def _shown(user: User | None) -> str:
    return user.shown_name if user else ""
