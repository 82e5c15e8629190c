"""Import of votes; k becomes the number of imported answers."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from django.db import transaction
from django.db.models import Count, Max, Q

from annotation.consensus import item_state
from annotation.consensus.label_mapping import Payload
from annotation.imports import imported_labels
from annotation.imports.items import names_by_part
from annotation.imports.line_reader import CHUNK, negatives
from annotation.models import Annotator, Answer, Batch, Item, Oversight, Vote
from annotation.ontology.inventory import add_entries, lock_project, mapping_of, parts_of
from annotation.ontology.presets import PresetLabel
from annotation.testset import Kind
from evalsvc.core.formats.problems import Problems, did_you_mean
from evalsvc.core.formats.records import VoteLine
from evalsvc.core.formats.registry import open_votes
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store

Line = tuple[int, VoteLine]


def load(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits, progress: Progress) -> Store:
    """Read and stage the votes; the returned store counts them."""
    assert batch.project is not None
    options = {"empty": batch.options["empty"]} if "empty" in batch.options else {}
    lines = open_votes(file, format=batch.format, problems=problems, limits=limits, **options)
    staging = _Staging(batch, problems)
    while chunk := list(islice(lines, CHUNK)):
        progress(chunk[-1][0], 0, f"storing answers, line {chunk[-1][0]:,}")
        staging.take(chunk)
    if not (staging.stored or staging.repeats):
        problems.raise_if_any()
    batch.counts = {
        "lines": problems.lines_read,
        "answers": staging.stored,
        "repeated_answers": staging.repeats,
        "empty_cells_left_out": problems.warnings["empty_cell"],
        "answers_without_label": staging.without_label,
        "annotators": len(staging.annotators),
        "items": len(staging.positions),
    }
    return staging.store


class _Staging:
    """Staged votes, with their items, annotators and labels."""

    def __init__(self, batch: Batch, problems: Problems) -> None:
        assert batch.project is not None
        self.batch, self.project, self.problems = batch, batch.project, problems
        self.negative = negatives(batch)
        self.annotators: dict[str, int] = {}
        self.namesakes: dict[str, int] = {}
        self.exclusions: dict[int, int] = {}
        self.positions: dict[int, int] = {}
        self.stored = self.repeats = self.without_label = 0
        self.labels: dict[str, Counter[str]] = {part: Counter() for part in parts_of(self.project)}
        self.valid_labels = {part: self._valid_labels(part) for part in self.labels}

    def _valid_labels(self, part: str) -> set[str] | None:
        """Return the valid labels; None if the file's labels become the inventory."""
        of_data = self.project.labels.filter(part=part, derived=False)
        names = {*of_data.values_list("name", flat=True), *item_state.label_names(self.project, part)}
        return names if names and self.batch.options.get("labels") != "add" else None

    @transaction.atomic
    def take(self, chunk: Sequence[Line]) -> None:
        """Validate and store a chunk in one short transaction.

        Its items are locked: people may be answering them.
        """
        items = self._items(chunk)
        fitting = [
            (line, vote, payload)
            for line, vote in chunk
            if (payload := self._valid_payload(line, vote, items))
        ]
        self._add_annotators(vote for _, vote, _ in fitting)
        fresh = self._without_repeats(fitting, items)
        self._insert(fresh, items)

    def _items(self, chunk: Sequence[Line]) -> dict[str, Item]:
        names = list({vote.item for _, vote in chunk})
        rows = self.project.items.live().filter(external_id__in=names).order_by("pk")
        rows = rows.select_for_update(of=("self",), no_key=True)
        fields = (
            ("pk", "external_id")
            if self.project.kind == Kind.RELATIONS
            else ("pk", "external_id", "text", "tokens")
        )
        by_id = {row.external_id: row for row in rows.only(*fields)}
        keys = [row.pk for row in by_id.values()]
        last = Answer.objects.filter(item__in=keys).values_list("item").annotate(last=Max("position"))
        self.positions |= dict.fromkeys(keys, 0) | dict(last)
        return by_id

    def _valid_payload(self, line: int, vote: VoteLine, items: dict[str, Item]) -> Payload | None:
        """Return the payload of a valid vote, or report the problem."""
        if vote.item not in items:
            self.problems.add(
                "unknown_id",
                line=line,
                field="item",
                value=vote.item,
                expected="the id of an item of this project",
            )
            return None
        payload = self._positive(line, vote)
        if payload is None or not (
            self._in_kind(line, payload) and self._in_text(line, payload, items[vote.item])
        ):
            return None
        names_of = names_by_part(payload)
        if not all(
            self._in_inventory(line, part, name) for part, names in names_of.items() for name in names
        ):
            return None
        for part, names in names_of.items():
            self.labels[part].update(names)
        return payload

    def _positive(self, line: int, vote: VoteLine) -> Payload | None:
        """Drop N/A; reject it beside other relations of a pair."""
        relations = vote.payload["relations"]
        positive = [
            relation
            for relation in relations
            if (relation if isinstance(relation, str) else relation[1]) not in self.negative
        ]
        if positive and len(positive) < len(relations) and isinstance(relations[0], str):
            self.problems.add("negative_with_label", line=line, value=", ".join(map(str, relations)))
            return None
        blank = not relations and not vote.payload["spans"] and not vote.na
        is_cell = self.project.kind == Kind.RELATIONS
        return {"spans": vote.payload["spans"], "relations": positive} | (
            {"blank": True} if blank and is_cell else {}
        )

    def _in_kind(self, line: int, payload: Payload) -> bool:
        by_name = bool(payload["relations"]) and isinstance(payload["relations"][0], str)
        kind = self.project.kind
        wrong = (
            payload["spans"]
            if kind == Kind.RELATIONS
            else by_name or (kind == Kind.ENTITIES and payload["relations"])
        )
        if wrong:
            expected = "labels" if kind == Kind.RELATIONS else "spans"
            self.problems.add("mixed_forms", line=line, expected=f"{expected}, in a project for {kind}")
        return not wrong

    def _in_text(self, line: int, payload: Payload, item: Item) -> bool:
        if not payload["spans"]:
            return True
        length = len(item.tokens) if item.tokens is not None else len(item.text)
        outside = [span for span in payload["spans"] if span[1] > length]
        for start, end, _ in outside[:1]:
            self.problems.add(
                "bad_span", line=line, field="spans", value=f"[{start}, {end})", expected=f"end ≤ {length:,}"
            )
        return not outside

    def _in_inventory(self, line: int, part: str, name: str) -> bool:
        valid = self.valid_labels[part]
        if valid is None or name in valid:
            return True
        self.problems.add("unknown_label", line=line, value=name, hint=lambda: did_you_mean(name, valid))
        return False

    def _add_annotators(self, votes: Iterator[VoteLine]) -> None:
        """Create new annotators; those named like a local person get another name."""
        new_names = {vote.annotator for vote in votes} - self.annotators.keys()
        local = Annotator.objects.filter(project=self.project, name__in=new_names, user__isnull=False)
        namesakes = dict(local.values_list("name", "pk"))
        names = {name: f"{name} (file)" if name in namesakes else name for name in new_names}
        self.namesakes |= namesakes
        new = [Annotator(project=self.project, name=name) for name in sorted(names.values())]
        Annotator.objects.bulk_create(new, ignore_conflicts=True, batch_size=500)
        rows = Annotator.objects.filter(project=self.project, name__in=names.values())
        ids = dict(rows.values_list("name", "pk"))
        self.annotators |= {name: ids[known] for name, known in names.items()}
        exclusions = Oversight.objects.filter(annotator__in=rows.exclude(aside_at=None), act="set aside")
        self.exclusions |= dict(exclusions.values_list("annotator", "pk"))

    def _without_repeats(
        self, votes: Sequence[tuple[int, VoteLine, Payload]], items: dict[str, Item]
    ) -> list[tuple[int, VoteLine, Payload]]:
        """Drop answers stored already; reject different ones by the same annotator.

        In a re-imported export the same answer by a local person of that name is a repeat as well.
        """
        keys = {items[vote.item].pk for _, vote, _ in votes}
        before = Answer.objects.filter(item__in=keys).exclude(vote__batch=self.batch)
        answered: dict[tuple[int, int | None], Payload]
        answered = {(row.item_id, row.annotator_id): row.payload for row in before}
        fresh = []
        for line, vote, payload in votes:
            item, namesake = items[vote.item].pk, self.namesakes.get(vote.annotator)
            key = (item, self.annotators[vote.annotator])
            if answered.get((item, namesake)) == payload:
                self.repeats += 1
            elif key not in answered:
                fresh.append((line, vote, payload))
            elif answered[key] == payload:
                self.repeats += 1
            else:
                vote_name = f"{vote.annotator} on {vote.item}"
                self.problems.add(
                    "duplicate_vote",
                    line=line,
                    value=vote_name,
                    hint="Remove this line: another answer of this annotator is stored.",
                )
        return fresh

    def _insert(self, votes: Sequence[tuple[int, VoteLine, Payload]], items: dict[str, Item]) -> None:
        rows = [
            Vote(
                item_id=items[vote.item].pk,
                annotator_id=self.annotators[vote.annotator],
                client_id=uuid.uuid5(uuid.NAMESPACE_OID, f"batch {self.batch.pk} line {line}"),
                number=1,
                act=Vote.Act.ANSWER,
                payload=payload,
                batch=self.batch,
            )
            for line, vote, payload in votes
        ]
        stored = Vote.objects.bulk_create(rows, batch_size=500)
        Answer.objects.bulk_create([self._answer(row) for row in stored], batch_size=500)
        self.stored += len(rows)
        self.without_label += sum(
            not payload["spans"] and not payload["relations"] for _, _, payload in votes
        )

    def _answer(self, vote: Vote) -> Answer:
        self.positions[vote.item_id] += 1
        return Answer(
            item_id=vote.item_id,
            annotator_id=vote.annotator_id,
            vote=vote,
            payload=vote.payload,
            position=self.positions[vote.item_id],
            set_aside=vote.annotator_id in self.exclusions,
            aside_id=self.exclusions.get(vote.annotator_id),
        )

    def store(self) -> None:
        """Set k, add labels and update items, in the import's last transaction."""
        lock_project(self.project)  # before any item, in the order of label changes
        surplus = self._surplus()
        keys = sorted(self.positions.keys() - set(surplus))
        by_count: dict[int, list[int]] = defaultdict(list)
        for start in range(0, len(keys), CHUNK):
            answers = Answer.objects.filter(item__in=keys[start : start + CHUNK], set_aside=False).active()
            for item, n in answers.values_list("item").annotate(n=Count("pk")):
                by_count[self.batch.options.get("k", n)].append(item)
        for n, item_keys in by_count.items():
            for start in range(0, len(item_keys), CHUNK):
                Item.objects.filter(pk__in=item_keys[start : start + CHUNK]).update(k=n)
        added = self._add_labels()
        self.batch.counts |= imported_labels.label_counts(self.labels, added) | {
            "surplus_answers": len(surplus)
        }
        Batch.objects.filter(pk=self.batch.pk).update(counts=self.batch.counts)
        item_state.recompute_after_change(self.project)

    def _surplus(self) -> list[int]:
        """Return the items of late answers: settled here or decided before."""
        closed = Q(item__k=None, item__state=Item.State.SETTLED) | Q(item__state__in=Item.DECIDED)
        late = Answer.objects.filter(closed, vote__batch=self.batch)
        return list(late.order_by().values_list("item", flat=True))

    def _add_labels(self) -> dict[str, set[str]]:
        mapping, added = mapping_of(self.project), dict[str, set[str]]()
        for part, counts in self.labels.items():
            if self.valid_labels[part] is None:
                names = [name for name, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]
                entries = [PresetLabel(name) for name in names if name not in mapping]
                added[part] = {row.name for row in add_entries(self.project, entries, part=part)}
        return added
