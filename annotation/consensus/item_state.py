"""What the answers of an item come to: its state, its gold, how many answers are still wanted."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import BigIntegerField
from django.db.models.functions import Now

from annotation.consensus import majority
from annotation.consensus.label_mapping import LabelMapping, MappedAnswer, Payload
from annotation.models import Adjudication, Answer, Item, Lease, OntologyLabel, OntologyStep, Project
from evalsvc.core.db.prepared_queries import Given, PreparedUpdate, columns
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue

RECOMPUTE_AT_ONCE = 1_000
CHUNK = 500
FIELDS = ["state", "gold", "pattern", "votes_key", "emptied", "policy_matters", "extra", "free"]
_KEEP = PreparedUpdate(
    lambda: Item.objects.filter(pk=Given("pk", BigIntegerField())),
    **columns(Item, *FIELDS),
)


@lru_cache(maxsize=256)
def _mapping(project_id: int, stamp: UUID) -> LabelMapping:
    """Remembered by the stamp that every change of the inventory renews."""
    return LabelMapping.from_steps(OntologyStep.objects.filter(project=project_id, undone_at=None))


@lru_cache(maxsize=256)
def _names(project_id: int, stamp: UUID, part: str) -> frozenset[str]:
    raw = OntologyLabel.objects.filter(project=project_id, derived=False)
    rows = raw.filter(part=part) if part else raw
    return frozenset(_mapping(project_id, stamp).labels(rows.values_list("name", flat=True)))


def label_names(project: Project, part: str = "") -> frozenset[str]:
    """The labels there are today, of one inventory or of all."""
    return _names(project.pk, project.inventory_stamp, part)


class Rules:
    """What a project decides by; the project was read after the rows to decide on were locked."""

    def __init__(self, project: Project | int) -> None:
        self.project = project if isinstance(project, Project) else Project.objects.get(pk=project)
        self.policy, self.k = self.project.policy, self.project.k
        self.mapping = _mapping(self.project.pk, self.project.inventory_stamp)

    @property
    def names(self) -> frozenset[str]:
        return label_names(self.project)

    def verdict(self, payloads: Sequence[Payload], k: int, policy: str) -> majority.Verdict:
        overlap = self.project.spans_may_overlap
        return majority.decide(payloads, kind=self.project.kind, policy=policy, k=k, may_overlap=overlap)

    @property
    def other_policy(self) -> str:
        return majority.MAJORITY_NA if self.policy == majority.MAJORITY else majority.MAJORITY


@dataclass(slots=True)
class ItemRecords:
    """The rows that hang on an item."""

    answers: list[Answer] = field(default_factory=list)
    leases: list[Lease] = field(default_factory=list)
    decision: Adjudication | None = None


def counted_answers(answers: Iterable[Answer], *, k: int) -> list[Answer]:
    """The first k answers in the server's order that no curator has set aside."""
    return sorted((a for a in answers if not a.set_aside), key=lambda answer: answer.position)[:k]


def votes_digest(raw: Sequence[Payload], mapped: Sequence[Payload]) -> str:
    """A digest that changes when an answer does, or when the ontology makes them split differently.

    A mere renaming changes neither, and so reopens nothing.
    """
    pairs = sorted(zip(map(_canonical, raw), mapped, strict=True), key=lambda pair: pair[0])
    supporters: dict[str, list[int]] = defaultdict(list)
    for at, (_, payload) in enumerate(pairs):
        for choice in {json.dumps(choice) for choice in _choices(payload)}:
            supporters[choice].append(at)
    text = json.dumps([[raw_text for raw_text, _ in pairs], sorted(supporters.values())])
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(payload: Payload) -> str:
    parts = [sorted(payload["spans"]), sorted(payload["relations"]), bool(payload.get("blank"))]
    return json.dumps(parts, ensure_ascii=False)


def _choices(payload: Payload) -> list[Any]:
    spans = payload["spans"]
    links = payload["relations"]
    named = [[spans[x[0]], x[1], spans[x[2]]] if isinstance(x, list) else x for x in links]
    return [*spans, *named]


def update_state(item: Item, *, rules: Rules | None = None, around: ItemRecords | None = None) -> Item:
    """Derive the item's outcome; the caller holds the item's row lock."""
    rules = rules or Rules(item.project_id)
    around = around or ItemRecords(
        list(Answer.objects.filter(item=item).active()),
        list(item.leases.filter(ending="")),
        item.adjudications.filter(reopened_at=None).first(),
    )
    reopened = derive_state(item, around, rules)
    _KEEP(pk=item.pk, **dict(zip(FIELDS, _fields(item), strict=True)))
    if reopened:
        Adjudication.objects.filter(pk=reopened.pk).update(reopened_at=Now())
    return item


def answers_needed(item: Item, rules: Rules) -> int:
    """How many answers decide the item, whoever was called in beyond the usual number included."""
    return (item.k or rules.k) + item.extra


def derive_state(item: Item, around: ItemRecords, rules: Rules) -> Adjudication | None:
    """Write the outcome onto the item in memory; returns the decision that no longer stands, if any."""
    if item.use:  # its answer is known: nothing to decide, and it waits for everybody
        return None
    item.extra = item.asked
    count, mapped, verdict = _decided(item, around, rules)
    while verdict.state == majority.DISPUTED and rules.project.calls_extra and may_extend(item, rules):
        item.extra += 1
        count, mapped, verdict = _decided(item, around, rules)
    payloads = [entry.payload for entry in mapped]
    k = answers_needed(item, rules)
    other = rules.verdict(payloads, k, rules.other_policy)
    item.state, item.gold, item.pattern = verdict.state, verdict.gold, verdict.pattern
    item.emptied = sum(entry.emptied for entry in mapped)
    item.policy_matters = (verdict.state, verdict.gold) != (other.state, other.gold)
    item.votes_key = votes_digest([answer.payload for answer in count], payloads) if count else ""
    fallen = _adjudicated(item, around.decision, rules)
    held = {lease.annotator_id for lease in around.leases} - {answer.annotator_id for answer in count}
    item.free = max(0, k - len(count) - len(held)) if item.state == Item.State.OPEN else 0
    return fallen


def may_extend(item: Item, rules: Rules) -> bool:
    """Whether one more person may be called in on the item."""
    return item.extra < rules.project.most_extra


def _decided(
    item: Item, around: ItemRecords, rules: Rules
) -> tuple[list[Answer], list[MappedAnswer], majority.Verdict]:
    k = answers_needed(item, rules)
    count = counted_answers(around.answers, k=k)
    mapped = [rules.mapping.payload(answer.payload) for answer in count]
    return count, mapped, rules.verdict([entry.payload for entry in mapped], k, rules.policy)


def _adjudicated(item: Item, decision: Adjudication | None, rules: Rules) -> Adjudication | None:
    """A decision stands while the votes under it do and its labels still exist."""
    if decision is None:
        return None
    now = rules.mapping.payload(decision.payload).payload
    if decision.votes_key != item.votes_key or not labels_in(now) <= rules.names:
        return decision
    item.state, item.gold = Item.State.ADJUDICATED, now
    if decision.finding:
        item.state, item.gold = Item.State.UNUSABLE, None
    item.policy_matters = False
    return None


def labels_in(payload: Payload) -> set[str]:
    """All names an answer uses."""
    links = payload["relations"]
    return {span[2] for span in payload["spans"]} | {x if isinstance(x, str) else x[1] for x in links}


def recompute_after_change(project: Project) -> None:
    """The rules changed: small projects are decided anew at once, large ones by a job."""
    if is_recomputed_at_once(project):
        _redo(project, [])
    elif not is_recompute_queued(project):
        enqueue("recompute", project.pk)


def is_recomputed_at_once(project: Project) -> bool:
    """Whether it is small enough for a request."""
    return project.items.count() <= RECOMPUTE_AT_ONCE


def is_recompute_queued(project: Project) -> bool:
    """Whether a recomputation is still to begin; it cannot before this transaction ends."""
    waiting = Job.objects.filter(kind="recompute", subject=project.pk, state=Job.State.QUEUED)
    return bool(waiting.select_for_update(no_key=True))


def is_recomputing(project: Project) -> bool:
    """Whether outcomes may still change under a running or waiting recomputation."""
    going = (Job.State.QUEUED, Job.State.RUNNING)
    return Job.objects.filter(kind="recompute", subject=project.pk, state__in=going).exists()


def recompute(project: Project, progress: Progress) -> None:
    """Decide every item anew, in short transactions."""
    _redo(project, [progress])


def _redo(project: Project, progress: Sequence[Progress]) -> None:
    keys = list(project.items.order_by("rank", "pk").values_list("pk", flat=True))
    for start in range(0, len(keys), CHUNK):
        recompute_items(project, keys[start : start + CHUNK])
        for report in progress:
            report(min(start + CHUNK, len(keys)), len(keys), "deciding items anew")


@transaction.atomic
def recompute_items(project: Project, keys: Sequence[int]) -> list[Item]:
    """Decide these items anew under their row locks."""
    items = list(Item.objects.select_for_update(no_key=True).filter(pk__in=keys).order_by("pk"))
    rules = Rules(project.pk)
    around = load_records(keys)
    before = [_fields(item) for item in items]
    fallen = [derive_state(item, around[item.pk], rules) for item in items]
    _write([item for item, old in zip(items, before, strict=True) if _fields(item) != old])
    reopened = [decision.pk for decision in fallen if decision]
    Adjudication.objects.filter(pk__in=reopened).update(reopened_at=Now())
    return items


def _fields(item: Item) -> list[Any]:
    return [getattr(item, name) for name in FIELDS]


def _write(items: Sequence[Item]) -> None:
    """One prepared UPDATE run many times: a tenth of the time of bulk_update, which spells out every row."""
    columns: list[Any] = [Item._meta.get_field(name) for name in FIELDS]
    assignments = ", ".join(f"{connection.ops.quote_name(field.column)} = %s" for field in columns)
    rows = [
        [*(field.get_db_prep_save(getattr(item, field.name), connection) for field in columns), item.pk]
        for item in items
    ]
    with connection.cursor() as cursor:
        cursor.executemany(f"UPDATE {Item._meta.db_table} SET {assignments} WHERE id = %s", rows)  # noqa: S608


def load_records(keys: Sequence[int]) -> dict[int, ItemRecords]:
    """Answers, running leases and standing decisions of many items, in three queries."""
    around: dict[int, ItemRecords] = defaultdict(ItemRecords)
    for answer in Answer.objects.filter(item__in=keys).active():
        around[answer.item_id].answers.append(answer)
    for lease in Lease.objects.filter(item__in=keys, ending=""):
        around[lease.item_id].leases.append(lease)
    for decision in Adjudication.objects.filter(item__in=keys, reopened_at=None):
        around[decision.item_id].decision = decision
    return around


def other_policy_changes(project: Project) -> int:
    """How many items the other policy would decide otherwise."""
    return project.items.live().filter(policy_matters=True).count()


def other_policy_settles(project: Project) -> int:
    """How many disputes it would settle."""
    return project.items.live().filter(policy_matters=True, state=Item.State.DISPUTED).count()
