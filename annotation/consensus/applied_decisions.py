"""Decisions on an item: which of them hold on its answers, and which lapse."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet
from django.db.models.functions import Now

from annotation.consensus.choices import choices_of
from annotation.consensus.rules import Rules, labels_in
from annotation.models import Adjudication, Item
from annotation.models.voting import ANY_VOTES, AdjudicationQuerySet
from evalsvc.core.formats.label_mapping import Payload


@dataclass(slots=True)
class DecisionChanges:
    """Decisions that cease to count, and those that count again.

    `outdated` decisions are on answers that changed since, otherwise than by k. `renewed` ones count: the
    digest of the answers.
    """

    lapsed: list[int] = field(default_factory=list)
    restored: list[int] = field(default_factory=list)
    outdated: list[int] = field(default_factory=list)
    renewed: dict[int, str] = field(default_factory=dict)

    def save(self, *, runs_all: bool = False) -> None:
        """Store the changes; an item has one active decision at any time.

        With `runs_all` the statements on decisions run also without a change, so that the time of a vote does
        not tell whether there is a decision.
        """
        for decisions, at in ((self.lapsed, Now()), (self.restored, None)):
            if decisions or runs_all:
                rows = Adjudication.objects.filter(pk__in=decisions or [0])
                rows.update(reopened_at=at, lapsed=at is not None)
        if self.outdated or runs_all:
            Adjudication.objects.filter(pk__in=self.outdated or [0]).update(answers_key="")
        for pk, key in self.renewed.items() or [(0, "")] * runs_all:
            Adjudication.objects.filter(pk=pk).update(answers_key=key)


def apply_decision(
    item: Item,
    decisions: Sequence[Adjudication],
    raw: Sequence[Payload],
    k: int,
    rules: Rules,
    changes: DecisionChanges,
) -> None:
    """Apply the first decision that holds on the first k answers, in current labels; the others lapse.

    While answers are missing, an item decided on these very answers is disputed where no decision holds. A
    change of labels alone brings no item back to annotators: which ones come would tell the answers, or the
    decision.
    """
    key = answers_digest(raw[:k])
    known = [each for each in decisions if each.answers_key == key]
    others = [each for each in decisions if each.answers_key and each.answers_key != key]
    more = others and {answers_digest(raw[:n]) for n in range(k + 1, len(raw) + 1)}  # before k was lowered
    changes.outdated += [each.pk for each in others if each.answers_key not in more]
    holding = (each for each in decisions if _holds(each, item, key) and decided_payload(each, rules))
    decision = next(holding, None)
    changes.lapsed += [each.pk for each in decisions if not each.lapsed and each is not decision]
    if decision is None:
        item.state = Item.State.DISPUTED if known and item.state == Item.State.OPEN else item.state
        return
    if decision.lapsed:
        changes.restored.append(decision.pk)
    if not decision.is_exclusion and decision.answers_key != key:
        changes.renewed[decision.pk] = key
    item.state, item.gold = Item.State.ADJUDICATED, decided_payload(decision, rules)
    if decision.finding:
        item.state, item.gold = Item.State.UNUSABLE, None
    item.policy_matters = False


def _holds(decision: Adjudication, item: Item, key: str) -> bool:
    """True if the decision is about the item's answers, whose digest as given is `key`.

    With enough answers they must be split as they were, by current labels. While answers are missing, they
    must be the same as given, or, without a digest, be split as they were under a decision that never lapsed:
    one that came back would tell whoever tries labels how others answered, since nobody is asked any more.
    """
    if decision.is_exclusion:
        return True
    same_split = decision.votes_key == item.votes_key
    if item.state == Item.State.OPEN:
        return decision.answers_key == key or (same_split and not decision.lapsed)
    return same_split


def decided_payload(decision: Adjudication, rules: Rules) -> Payload | None:
    """Return the decided answer in current labels, None if one is missing."""
    mapped = rules.mapping.payload(decision.payload)
    return mapped.payload if not mapped.unclear and labels_in(mapped.payload) <= rules.names else None


def outdate_decisions(items: QuerySet[Item]) -> None:
    """Let missing answers be asked for, though no answer under the decisions changed."""
    Adjudication.objects.filter(item__in=items).exclude(answers_key="").update(answers_key="")


def reopen(decisions: AdjudicationQuerySet) -> None:
    """Undo active decisions.

    One on the answers takes the lapsed ones of its item with it: these would keep missing answers from being
    asked for. After an exclusion, they count again as before.
    """
    on_answers = decisions.exclude(votes_key=ANY_VOTES)
    outdate_decisions(Item.objects.filter(pk__in=on_answers.values("item")))
    decisions.update(reopened_at=Now())


def votes_digest(raw: Sequence[Payload], mapped: Sequence[Payload]) -> str:
    """Return a digest of the answers and of their split by ontology.

    Renaming a label changes neither, and so reopens no decision.
    """
    pairs = sorted(zip(map(_text, raw), mapped, strict=True), key=lambda pair: pair[0])
    supporters: dict[str, list[int]] = defaultdict(list)
    for at, (_, payload) in enumerate(pairs):
        for choice in choices_of(payload):
            supporters[choice].append(at)
    text = json.dumps([[raw_text for raw_text, _ in pairs], sorted(supporters.values())])
    return hashlib.sha256(text.encode()).hexdigest()


def answers_digest(raw: Iterable[Payload]) -> str:
    """Return a digest of the answers as given, which no change of labels changes."""
    return hashlib.sha256(json.dumps(sorted(map(_text, raw))).encode()).hexdigest()


def _text(payload: Payload) -> str:
    parts = [sorted(payload["spans"]), sorted(payload["relations"]), bool(payload.get("blank"))]
    return json.dumps(parts, ensure_ascii=False)
