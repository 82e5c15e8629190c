"""Answers in that were given elsewhere: one vote each, under the annotator's name, and k is what came."""

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
    """Read and stage; the store then makes the answers count and has the items decided."""
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
    """Votes on their way in: the items and annotators they name, the labels they use."""

    def __init__(self, batch: Batch, problems: Problems) -> None:
        assert batch.project is not None
        self.batch, self.project, self.problems = batch, batch.project, problems
        self.negative = negatives(batch)
        self.annotators: dict[str, int] = {}
        self.namesakes: dict[str, int] = {}
        self.aside: dict[int, int] = {}
        self.positions: dict[int, int] = {}
        self.stored = self.repeats = self.without_label = 0
        self.labels: dict[str, Counter[str]] = {part: Counter() for part in parts_of(self.project)}
        self.known = {part: self._names(part) for part in self.labels}

    def _names(self, part: str) -> set[str] | None:
        """What a vote may say; None where the file's own labels make the inventory."""
        of_data = self.project.labels.filter(part=part, derived=False)
        names = {*of_data.values_list("name", flat=True), *item_state.label_names(self.project, part)}
        return names if names and self.batch.options.get("labels") != "add" else None

    @transaction.atomic
    def take(self, chunk: Sequence[Line]) -> None:
        """Check a chunk against the project and store what fits, in one short transaction.

        Its items are held meanwhile: people may be answering them.
        """
        items = self._items(chunk)
        fitting = [(line, vote, said) for line, vote in chunk if (said := self._fits(line, vote, items))]
        self._meet(vote for _, vote, _ in fitting)
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
        found = {row.external_id: row for row in rows.only(*fields)}
        keys = [row.pk for row in found.values()]
        last = Answer.objects.filter(item__in=keys).values_list("item").annotate(last=Max("position"))
        self.positions |= dict.fromkeys(keys, 0) | dict(last)
        return found

    def _fits(self, line: int, vote: VoteLine, items: dict[str, Item]) -> Payload | None:
        """The vote's payload if it can be an answer to its item, else None and the reason reported."""
        if vote.item not in items:
            self.problems.add(
                "unknown_id",
                line=line,
                field="item",
                value=vote.item,
                expected="the id of an item of this project",
            )
            return None
        said = self._positive(line, vote)
        if said is None or not (self._in_kind(line, said) and self._in_text(line, said, items[vote.item])):
            return None
        named = names_by_part(said)
        if not all(self._in_inventory(line, part, name) for part, names in named.items() for name in names):
            return None
        for part, names in named.items():
            self.labels[part].update(names)
        return said

    def _positive(self, line: int, vote: VoteLine) -> Payload | None:
        """The payload without the names that mean N/A; said of two entities they stand alone."""
        given = vote.payload["relations"]
        kept = [one for one in given if (one if isinstance(one, str) else one[1]) not in self.negative]
        if kept and len(kept) < len(given) and isinstance(given[0], str):
            self.problems.add("negative_with_label", line=line, value=", ".join(map(str, given)))
            return None
        blank = not given and not vote.payload["spans"] and not vote.na
        is_cell = self.project.kind == Kind.RELATIONS
        return {"spans": vote.payload["spans"], "relations": kept} | (
            {"blank": True} if blank and is_cell else {}
        )

    def _in_kind(self, line: int, said: Payload) -> bool:
        by_name = bool(said["relations"]) and isinstance(said["relations"][0], str)
        kind = self.project.kind
        wrong = (
            said["spans"]
            if kind == Kind.RELATIONS
            else by_name or (kind == Kind.ENTITIES and said["relations"])
        )
        if wrong:
            expected = "labels" if kind == Kind.RELATIONS else "spans"
            self.problems.add("mixed_forms", line=line, expected=f"{expected}: this is a project of {kind}")
        return not wrong

    def _in_text(self, line: int, said: Payload, item: Item) -> bool:
        if not said["spans"]:
            return True
        length = len(item.tokens) if item.tokens is not None else len(item.text)
        outside = [span for span in said["spans"] if span[1] > length]
        for start, end, _ in outside[:1]:
            self.problems.add(
                "bad_span", line=line, field="spans", value=f"[{start}, {end})", expected=f"end ≤ {length:,}"
            )
        return not outside

    def _in_inventory(self, line: int, part: str, name: str) -> bool:
        known = self.known[part]
        if known is None or name in known:
            return True
        self.problems.add("unknown_label", line=line, value=name, hint=lambda: did_you_mean(name, known))
        return False

    def _meet(self, votes: Iterator[VoteLine]) -> None:
        """Rows for annotators not seen before; nobody answers here in the name of a person who works here."""
        given = {vote.annotator for vote in votes} - self.annotators.keys()
        here = Annotator.objects.filter(project=self.project, name__in=given, user__isnull=False)
        namesakes = dict(here.values_list("name", "pk"))
        names = {name: f"{name} (file)" if name in namesakes else name for name in given}
        self.namesakes |= namesakes
        new = [Annotator(project=self.project, name=name) for name in sorted(names.values())]
        Annotator.objects.bulk_create(new, ignore_conflicts=True, batch_size=500)
        rows = Annotator.objects.filter(project=self.project, name__in=names.values())
        found = dict(rows.values_list("name", "pk"))
        self.annotators |= {name: found[known] for name, known in names.items()}
        theirs = Oversight.objects.filter(annotator__in=rows.exclude(aside_at=None), act="set aside")
        self.aside |= dict(theirs.values_list("annotator", "pk"))

    def _without_repeats(
        self, votes: Sequence[tuple[int, VoteLine, Payload]], items: dict[str, Item]
    ) -> list[tuple[int, VoteLine, Payload]]:
        """The same answer is there already: a repeat. Another one by the same person is refused.

        A file that was written here may come back: the same answer by somebody of that name is a repeat too.
        """
        keys = {items[vote.item].pk for _, vote, _ in votes}
        before = Answer.objects.filter(item__in=keys).exclude(vote__batch=self.batch)
        answered: dict[tuple[int, int | None], Payload]
        answered = {(row.item_id, row.annotator_id): row.payload for row in before}
        fresh = []
        for line, vote, said in votes:
            item, namesake = items[vote.item].pk, self.namesakes.get(vote.annotator)
            key = (item, self.annotators[vote.annotator])
            if answered.get((item, namesake)) == said:
                self.repeats += 1
            elif key not in answered:
                fresh.append((line, vote, said))
            elif answered[key] == said:
                self.repeats += 1
            else:
                found = f"{vote.annotator} on {vote.item}"
                self.problems.add(
                    "duplicate_vote", line=line, value=found, hint="Another answer is there already."
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
                payload=said,
                batch=self.batch,
            )
            for line, vote, said in votes
        ]
        stored = Vote.objects.bulk_create(rows, batch_size=500)
        Answer.objects.bulk_create([self._answer(row) for row in stored], batch_size=500)
        self.stored += len(rows)
        self.without_label += sum(not said["spans"] and not said["relations"] for _, _, said in votes)

    def _answer(self, vote: Vote) -> Answer:
        self.positions[vote.item_id] += 1
        return Answer(
            item_id=vote.item_id,
            annotator_id=vote.annotator_id,
            vote=vote,
            payload=vote.payload,
            position=self.positions[vote.item_id],
            set_aside=vote.annotator_id in self.aside,
            aside_id=self.aside.get(vote.annotator_id),
        )

    def store(self) -> None:
        """In the transaction that ends the import: k is what came, labels are known, items decided."""
        lock_project(self.project)  # before any item, as whoever changes the labels does
        surplus = self._surplus()
        keys = sorted(self.positions.keys() - set(surplus))
        by_count: dict[int, list[int]] = defaultdict(list)
        for start in range(0, len(keys), CHUNK):
            answers = Answer.objects.filter(item__in=keys[start : start + CHUNK], set_aside=False).active()
            for item, came in answers.values_list("item").annotate(came=Count("pk")):
                by_count[self.batch.options.get("k", came)].append(item)
        for came, some in by_count.items():
            for start in range(0, len(some), CHUNK):
                Item.objects.filter(pk__in=some[start : start + CHUNK]).update(k=came)
        added = self._offer_labels()
        self.batch.counts |= imported_labels.label_counts(self.labels, added) | {
            "surplus_answers": len(surplus)
        }
        Batch.objects.filter(pk=self.batch.pk).update(counts=self.batch.counts)
        item_state.recompute_after_change(self.project)

    def _surplus(self) -> list[int]:
        """Of each answer that came too late its item: answered here as often as was asked, or decided."""
        over = Q(item__k=None, item__state=Item.State.SETTLED) | Q(item__state__in=Item.DECIDED)
        late = Answer.objects.filter(over, vote__batch=self.batch)
        return list(late.order_by().values_list("item", flat=True))

    def _offer_labels(self) -> dict[str, set[str]]:
        gone, added = mapping_of(self.project), dict[str, set[str]]()
        for part, counts in self.labels.items():
            if self.known[part] is None:
                names = [name for name, _ in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))]
                entries = [PresetLabel(name) for name in names if name not in gone]
                added[part] = {row.name for row in add_entries(self.project, entries, part=part)}
        return added
