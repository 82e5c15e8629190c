"""Import sentences: merge repeats, seal source labels, add labels to the ontology."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from typing import Any, BinaryIO

from django.db.models import Max
from django.db.models.functions import Now

from annotation.consensus.known_answers import known_answer
from annotation.consensus.rules import Rules
from annotation.imports.staging import CHUNK, Staging, fitting_lines, read_item_lines, with_progress
from annotation.models import Batch, Item, SourceLabels
from evalsvc.core.database import count_anew, insert_many
from evalsvc.core.formats.duplicates import FactCounter, MergedItem, find_repeats
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import Entity, ItemLine, payload
from evalsvc.core.formats.registry import formats
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.lease import Progress, fenced
from evalsvc.core.jobs.transitions import Store

MANY = 1_000  # stored items after which the database counts them
MOST_REPEATS = 1_000  # lines that are stored with the item that they repeat


def load(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits, progress: Progress) -> Store:
    """Read twice, merging repeated lines, and stage items; the store opens them."""
    lines = with_progress(read_item_lines(batch, file, problems, limits), progress)
    repeats = find_repeats(
        fitting_lines(lines, batch, problems), problems=problems, by=formats()[batch.format].merge_by
    )
    staging = _Staging(batch, problems)
    ignored = Problems()  # reported by the first reading already
    lines = fitting_lines(read_item_lines(batch, file, ignored, limits), batch, ignored)
    merged, done = repeats.merged(lines), 0
    while chunk := list(islice(merged, CHUNK)):
        progress(done, repeats.items, "storing items")
        staging.take(chunk)
        done += len(chunk)
    if not (staging.stored or staging.repeated):
        problems.raise_if_any()
    batch.counts = {"lines": problems.lines_read} | staging.counts()
    return staging.store


def content_key(item: ItemLine, *, by: str = "content") -> str:
    """Return the item's digest: sentence, places, and id where needed."""
    places = [[e.key, e.start, e.end] for e in (item.head, item.tail) if e is not None]
    parts = [item.text, places, item.id if by == "id" or not places else ""]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


class _Staging(Staging):
    """Staged items, and those the project already has."""

    def __init__(self, batch: Batch, problems: Problems) -> None:
        super().__init__(batch, problems)
        self.rank = self.project.items.aggregate(last=Max("rank"))["last"] or 0
        self.use = str(batch.options.get("known", ""))
        self.repeated_lines = self.exact_repeats = self.several = 0
        self.facts = FactCounter()
        self.repeated: dict[int, list[MergedItem]] = {}

    def counts(self) -> dict[str, Any]:
        """Return the counts so far."""
        return {
            "items": self.stored,
            "repeated_items": len(self.repeated),
            "repeated_lines": self.repeated_lines,
            "exact_repeats": self.exact_repeats,
            "several_labels": self.several,
            "pairs": self.facts.pairs,
            "facts": self.facts.facts,
        }

    def positive(self, item: ItemLine) -> ItemLine:
        """Return the item without names for N/A."""
        relations = tuple(name for name in item.relations or () if name not in self.negative)
        return ItemLine(item.id, item.text, item.tokens, item.head, item.tail, item.spans, relations)  # type: ignore[arg-type]

    def take(self, chunk: Sequence[MergedItem]) -> None:
        """Store new items in one transaction; collect labels of repeated ones."""
        by = formats()[self.batch.format].merge_by
        keys = {content_key(entry.item, by=by): entry for entry in chunk}
        present = self.project.items.present()
        stored = self._same_texts(keys)
        stored |= dict(present.filter(content_key__in=keys).values_list("content_key", "pk"))
        taken = present.filter(external_id__in=[entry.item.id for entry in chunk])
        names = dict(taken.values_list("external_id", "content_key"))
        fresh: list[tuple[str, MergedItem]] = []
        for key, entry in keys.items():
            if key in stored:
                # the text is left out: the stored item has it
                item = ItemLine(entry.item.id, None, spans=entry.item.spans, relations=entry.item.relations)
                repeat = MergedItem(entry.line, item, entry.repeats)
                self.repeated.setdefault(stored[key], []).append(repeat)
            elif names.get(entry.item.id, key) != key:
                hint = "Another sentence of this project has the same id."
                self.problems.add("duplicate_id", line=entry.line, field="id", value=entry.item.id, hint=hint)
            elif not self.use or self.has_valid_labels(entry.line_of, self.source(entry.item)):
                fresh.append((key, entry))
        self._insert(fresh)
        for entry in chunk:
            self.count_labels(self.source(entry.item))
            positive = self.positive(entry.item)
            self.facts.add(positive)
            self.several += len(positive.relations or ()) > 1
            self.repeated_lines += len(entry.repeats)
            self.exact_repeats += entry.exact

    def _same_texts(self, keys: Mapping[str, MergedItem]) -> dict[str, int]:
        """Return the checks with the texts of new sentences, and any items with those of new checks.

        Items without entities may have equal texts, but whoever gets one twice would know of a check.
        """
        texts = {key: entry.item.text or "" for key, entry in keys.items() if entry.item.head is None}
        items = self.project.items.present().exclude(batch=self.batch)
        if self.use != Item.Use.CHECK:
            items = items.filter(use=Item.Use.CHECK)
        rows = items.filter(text__in=set(texts.values())).values_list("text", "pk") if texts else ()
        same = dict(rows)
        return {key: same[text] for key, text in texts.items() if text in same}

    @fenced()
    def _insert(self, fresh: Sequence[tuple[str, MergedItem]]) -> None:
        rows = [
            Item(
                project=self.project,
                batch=self.batch,
                external_id=entry.item.id,
                content_key=key,
                rank=rank,
                use=self.use,
                text=entry.item.text or "",
                tokens=list(entry.item.tokens) if entry.item.tokens is not None else None,
                head=entity_json(entry.item.head),
                tail=entity_json(entry.item.tail),
                repeats=self._repeats(entry),
            )
            for rank, (key, entry) in enumerate(fresh, self.rank + 1)
        ]
        rows = insert_many(rows)
        self.rank += len(rows)
        self.stored += len(rows)
        pairs = [(row, self.source(entry.item)) for row, (_, entry) in zip(rows, fresh, strict=True)]
        if self.use:
            mapping = Rules(self.project).mapping
            answers = [known_answer(row, labels, mapping) for row, labels in pairs if labels is not None]
            insert_many(answers)
        else:
            sealed = [SourceLabels(item=row, labels=labels) for row, labels in pairs if labels is not None]
            insert_many(sealed)

    def _repeats(self, entry: MergedItem) -> list[dict[str, Any]]:
        file = self.batch.filename
        stored = entry.repeats[:MOST_REPEATS]
        return [{"file": file, "line": repeat.line, "id": repeat.id} for repeat in stored]

    def _lines(self, entry: MergedItem) -> list[dict[str, Any]]:
        return [{"file": self.batch.filename, "line": entry.line, "id": entry.item.id}, *self._repeats(entry)]

    def source(self, item: ItemLine) -> Payload | None:
        """Return the source labels of an item, None if it has none."""
        if item.relations is None and item.spans is None:
            return None
        positive = self.positive(item)
        return dict(payload(spans=positive.spans or (), relations=positive.relations or ()))

    def store(self) -> None:
        """Open the items and add labels of repeats, in one transaction."""
        self.project.refresh_from_db()
        Item.objects.filter(batch=self.batch, use="").update(free=self.project.k, freed_at=Now())
        # reading a time takes longer than none: a check has one like a sentence
        Item.objects.filter(batch=self.batch, use=Item.Use.CHECK).update(freed_at=Now())
        if self.stored >= MANY:
            count_anew(Item)
        keys = list(self.repeated)
        for start in range(0, len(keys), 500):
            items = list(Item.objects.filter(pk__in=keys[start : start + 500]).select_related("sealed"))
            for item in items:
                lines = chain.from_iterable(map(self._lines, self.repeated[item.pk]))
                item.repeats += islice(lines, max(1, MOST_REPEATS - len(item.repeats)))
                for entry in self.repeated[item.pk]:
                    self._merge_source_labels(item, entry)
            Item.objects.bulk_update(items, ["repeats"], batch_size=100)
        # labels may have been added while the file was read
        self.valid_labels = {part: self._valid_labels(part) for part in self.labels}
        self.batch.counts["labels_added"] = self.add_labels()

    def _merge_source_labels(self, item: Item, entry: MergedItem) -> None:
        """Merge the source labels of repeated lines."""
        labels, sealed = self.source(entry.item), getattr(item, "sealed", None)
        if labels is None or item.use or self.use:
            return
        if sealed is None:
            SourceLabels.objects.create(item=item, labels=labels)
        elif item.head is not None and set(labels["relations"]) - set(sealed.labels["relations"]):
            names = dict.fromkeys([*sealed.labels["relations"], *labels["relations"]])
            sealed.labels["relations"] = list(names)
            sealed.save(update_fields=["labels"])


def entity_json(entity: Entity | None) -> dict[str, Any] | None:
    """Return an entity as stored in the item's row."""
    if entity is None:
        return None
    columns = {"id": entity.key, "name": entity.name, "start": entity.start, "end": entity.end}
    return columns | ({"type": entity.type} if entity.type else {})
