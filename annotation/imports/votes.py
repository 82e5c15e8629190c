"""Import of votes; k of items with new ones becomes the number of answers, but for extra places."""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import Any, BinaryIO

from django.db.models import Count, F, Max, Min, Q

from annotation.consensus import recomputation
from annotation.imports.staging import CHUNK, Staging, name_of
from annotation.models import Adjudication, Annotator, Answer, Batch, Item, Oversight, Vote
from annotation.ontology.inventory import lock_project
from annotation.queue.answer_validation import MOST_ANSWERS_OF_ITEM, MOST_MARKS_OF_ITEM
from annotation.testset import Kind
from evalsvc.core.database import insert_many
from evalsvc.core.formats.label_mapping import Payload, is_empty
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_votes
from evalsvc.core.formats.records import VoteLine, token_starts
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.lease import Progress, fenced
from evalsvc.core.jobs.transitions import Store

Line = tuple[int, VoteLine]
Valid = tuple[int, VoteLine, Payload]

STORED = "Remove this line: another answer of this annotator is stored."
NAMESAKE = (
    "Somebody here with this name gave another answer: remove this line, or change the name in the file."
)


def load(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits, progress: Progress) -> Store:
    """Read and stage the votes; the returned store counts them."""
    assert batch.project is not None
    options = {name: batch.options[name] for name in ("empty", "item", "unit") if name in batch.options}
    options["name"] = name_of(batch.filename)
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


class _Staging(Staging):
    """Staged votes, with their items, annotators and labels."""

    def __init__(self, batch: Batch, problems: Problems) -> None:
        super().__init__(batch, problems)
        self.annotators: dict[str, int] = {}
        self.namesakes: dict[str, int] = {}
        self.exclusions: dict[int, int] = {}
        self.positions: dict[int, int] = {}
        self.last_positions: dict[int, int] = {}  # of items of the chunk that have answers
        self.marks: dict[int, int] = {}  # of all answers to an item
        self.added = Counter[int]()  # answers of the chunk to an item
        self.decided: set[int] = set()  # items of the chunk with a decision that counts, or may again
        self.repeats = self.without_label = 0

    @fenced()
    def take(self, chunk: Sequence[Line]) -> None:
        """Validate and store a chunk in one short transaction.

        Its items are locked: people may be answering them.
        """
        items = self._items(chunk)
        valid = [
            (line, vote, payload)
            for line, vote in chunk
            if (payload := self._valid_payload(line, vote, items.get(vote.item))) is not None
        ]
        self._add_annotators({vote.annotator for _, vote, _ in valid})
        self._insert(self._without_repeats(valid, items), items)

    def _items(self, chunk: Sequence[Line]) -> dict[str, Item]:
        names = list({vote.item for _, vote in chunk})
        rows = self.project.items.live().filter(external_id__in=names).order_by("pk")
        rows = rows.select_for_update(of=("self",), no_key=True)
        fields = (
            ("project", "external_id")  # without the project, each row would be read again for it
            if self.project.kind == Kind.RELATIONS
            else ("project", "external_id", "text", "tokens")
        )
        by_id = {row.external_id: row for row in rows.only(*fields)}
        keys = [row.pk for row in by_id.values()]
        last = Answer.objects.filter(item__in=keys).values_list("item").annotate(last=Max("position"))
        self.last_positions = dict(last)
        self.positions |= dict.fromkeys(keys, 0) | self.last_positions
        return by_id

    def _valid_payload(self, line: int, vote: VoteLine, item: Item | None) -> Payload | None:
        """Return a valid vote's payload without N/A, or report the problem."""
        if item is None:
            expected = "the id of an item of this project"
            self.problems.add("unknown_id", line=line, field="item", value=vote.item, expected=expected)
            return None
        spans, relations = self._spans(line, vote, item), vote.payload["relations"]
        if spans is None:
            return None
        named = [(entry if isinstance(entry, str) else entry[1], entry) for entry in relations]
        positive = [entry for name, entry in named if name not in self.negative]
        if positive and len(positive) < len(relations) and isinstance(relations[0], str):
            self.problems.add("negative_with_label", line=line, value=", ".join(map(str, relations)))
            return None
        payload: Payload = {"spans": spans, "relations": positive}
        if not (self._in_kind(line, payload) and self._in_text(line, payload, item)):
            return None
        if not self.has_valid_labels(line, payload):
            return None
        self.count_labels(payload)
        blank = self.project.kind == Kind.RELATIONS and not relations and not vote.na
        return payload | {"blank": True} if blank else payload

    def _spans(self, line: int, vote: VoteLine, item: Item) -> list[list[int | str]] | None:
        """Return the spans in the unit of the item, or report one that covers other words there."""
        spans: Any = vote.payload["spans"]
        if vote.text is None or not spans:
            return list(spans)
        tokens = tuple(item.tokens or ())
        places = {start: at for at, start in enumerate(token_starts(tokens))}
        ends = {start + len(tokens[at]): at + 1 for start, at in places.items()}
        found: list[list[int | str]] = []
        for start, end, label in spans:
            words = item.text[start:end]
            if words != vote.text[start:end] or (tokens and not (start in places and end in ends)):
                expected = vote.text[start:end] if item.tokens is None else "whole tokens of the item"
                hint = "The item has another text than the file."
                self.problems.add("wrong_words", line=line, value=words, expected=expected, hint=hint)
                return None
            found.append([places[start], ends[end], label] if tokens else [start, end, label])
        return found

    def _in_kind(self, line: int, payload: Payload) -> bool:
        """Report spans among relations of a pair, and the reverse."""
        kind, relations = self.project.kind, payload["relations"]
        if kind == Kind.RELATIONS:
            wrong, expected = bool(payload["spans"]), "labels"
        else:
            by_name = bool(relations) and isinstance(relations[0], str)
            wrong, expected = by_name or (kind == Kind.ENTITIES and bool(relations)), "spans"
        if wrong:
            self.problems.add("mixed_forms", line=line, expected=f"{expected}, in a project for {kind}")
        return not wrong

    def _in_text(self, line: int, payload: Payload, item: Item) -> bool:
        """Report a span that ends after the text."""
        outside = [span for span in payload["spans"] if span[1] > item.length]
        if outside:
            value, expected = f"[{outside[0][0]}, {outside[0][1]})", f"end ≤ {item.length:,}"
            self.problems.add("bad_span", line=line, field="spans", value=value, expected=expected)
        return not outside

    def _add_annotators(self, names_in_file: set[str]) -> None:
        """Create new annotators; those named like a local person get another name."""
        new_names = names_in_file - self.annotators.keys()
        local = Annotator.objects.filter(project=self.project, name__in=new_names, user__isnull=False)
        namesakes = dict(local.values_list("name", "pk"))
        names = {name: f"{name} (file)" if name in namesakes else name for name in new_names}
        self.namesakes |= namesakes
        new = [Annotator(project=self.project, name=name) for name in sorted(names.values())]
        Annotator.objects.bulk_create(new, ignore_conflicts=True, batch_size=500)
        rows = Annotator.objects.filter(project=self.project, name__in=names.values())
        ids = dict(rows.values_list("name", "pk"))
        self.annotators |= {name: ids[known] for name, known in names.items()}
        # those of the chunk are locked, and those excluded noted
        in_chunk = Annotator.objects.filter(pk__in=[self.annotators[name] for name in names_in_file])
        locked = in_chunk.order_by("pk").select_for_update(no_key=True)
        excluded = [row.pk for row in locked if row.aside_at is not None]
        exclusions = Oversight.objects.filter(annotator__in=excluded, act=Oversight.Act.SET_ASIDE)
        self.exclusions = dict(exclusions.values_list("annotator", "pk"))

    def _without_repeats(self, votes: Sequence[Valid], items: dict[str, Item]) -> list[Valid]:
        """Drop answers stored already; reject different ones by the same annotator.

        Those of a local person of that name count as such answers: the file may be an export. Were different
        ones added, who is asked next would tell which they are.
        """
        self.added.clear()
        before = Answer.objects.filter(item__in=self.last_positions).exclude(vote__batch=self.batch)
        known = Counter[int]()
        for row in before:
            if row.item_id not in self.marks:
                known[row.item_id] += _marks(row.payload)
        self.marks = known | self.marks
        answered = {(row.item_id, row.annotator_id): row.payload for row in before}
        fresh = []
        for line, vote, payload in votes:
            item = items[vote.item].pk
            stored = answered.get((item, self.annotators[vote.annotator]))
            local = answered.get((item, self.namesakes.get(vote.annotator, 0)))
            if payload in (stored, local):
                self.repeats += 1
            elif stored is None and local is None:
                if self._fits(line, item, payload):
                    fresh.append((line, vote, payload))
            else:
                hint = STORED if local is None else NAMESAKE
                self.problems.add(
                    "duplicate_vote", line=line, value=f"{vote.annotator} on {vote.item}", hint=hint
                )
        return fresh

    def _fits(self, line: int, item: int, payload: Payload) -> bool:
        """Report an answer with which those to the item, or their marks, are too many to be decided."""
        self.added[item] += 1
        if (answers := self.last_positions.get(item, 0) + self.added[item]) > MOST_ANSWERS_OF_ITEM:
            expected = f"at most {MOST_ANSWERS_OF_ITEM:,} answers to an item"
            self.problems.add("too_many_in_line", line=line, value=f"{answers:,}", expected=expected)
            return False
        n = self.marks[item] = self.marks.get(item, 0) + _marks(payload)
        if n > MOST_MARKS_OF_ITEM:
            expected = f"at most {MOST_MARKS_OF_ITEM:,} spans and relations of all answers to an item"
            self.problems.add("too_many_in_line", line=line, value=f"{n:,}", expected=expected)
        return n <= MOST_MARKS_OF_ITEM

    def _insert(self, votes: Sequence[Valid], items: dict[str, Item]) -> None:
        rows = [
            Vote(
                item_id=items[vote.item].pk,
                annotator_id=self.annotators[vote.annotator],
                client_id=uuid.uuid5(
                    uuid.NAMESPACE_OID, f"batch {self.batch.pk} line {line} item {vote.item}"
                ),
                number=1,
                act=Vote.Act.ANSWER,
                payload=payload,
                batch=self.batch,
            )
            for line, vote, payload in votes
        ]
        answers = []
        for vote in insert_many(rows):
            self.positions[vote.item_id] += 1
            answer = Answer(
                item_id=vote.item_id,
                annotator_id=vote.annotator_id,
                vote=vote,
                payload=vote.payload,
                position=self.positions[vote.item_id],
                set_aside=vote.annotator_id in self.exclusions,
                aside_id=self.exclusions.get(vote.annotator_id),
            )
            answers.append(answer)
        insert_many(answers)
        self.stored += len(answers)
        self.without_label += sum(is_empty(answer.payload) for answer in answers)

    def store(self) -> None:
        """Set k of items with new answers, add labels and update items, in the import's last transaction."""
        lock_project(self.project)  # before any item, in the order of label changes
        keys, counts = sorted(self.positions), Counter(surplus_answers=0, items_below_k=0)
        for start in range(0, len(keys), CHUNK):
            self._set_k(keys[start : start + CHUNK], counts)
        self.add_labels()
        self.batch.counts |= counts
        recomputation.recompute_after_change(self.project)

    def _set_k(self, keys: Sequence[int], counts: Counter[str]) -> None:
        locked = Item.objects.filter(pk__in=keys).order_by("pk").select_for_update(no_key=True)
        items = {item.pk: item for item in locked.only("state", "k", "extra")}
        kept = Adjudication.objects.filter(
            Q(reopened_at=None) | Q(lapsed=True) & ~Q(answers_key=""), item__in=keys
        )
        self.decided = set(kept.values_list("item", flat=True))
        answers = Answer.objects.filter(item__in=keys, set_aside=False).active().order_by()
        new_answers = Count("pk", filter=Q(vote__batch=self.batch))
        by_k, unchanged = defaultdict[int, list[int]](list), list[int]()
        for item, n, new in answers.values_list("item").annotate(n=Count("pk"), new=new_answers):
            k = self._new_k(items[item], n - new, new) if new else None
            if k is not None:
                by_k[k].append(item)
            elif new:
                counts["surplus_answers"] += new - min(new, self._places(items[item], n - new))
                unchanged.append(item)
        for k, item_keys in by_k.items():
            Item.objects.filter(pk__in=item_keys).update(k=k)
            counts["items_below_k"] += len(item_keys) if k < self.project.k else 0
        self._move_behind(unchanged)

    def _places(self, item: Item, before: int) -> int:
        """Return how many further answers count without another k."""
        return max(0, (item.k or self.project.k) + item.extra - before)

    def _new_k(self, item: Item, before: int, new: int) -> int | None:
        """Return the k with which new answers count; None if they are surplus.

        An item takes more of them if an import set its k and all its answers count, or if it lacks some of k.
        Whether people agree makes no difference: k, and who is asked next, would tell. Nor does whether a
        decision lapsed by a change of labels.
        """
        k, stated = item.k or self.project.k, self.batch.options.get("k")
        if item.pk in self.decided or (item.k is None and (item.state != Item.State.OPEN or before >= k)):
            return None
        if before > k + item.extra:  # of its answers some are surplus
            return None
        if stated is None:
            return before + new - max(0, min(item.extra, before - k))  # without those that fill extra places
        if stated <= k and item.state != Item.State.OPEN:
            return None
        return max(stated, min(before, k))  # what counts goes on counting

    def _move_behind(self, items: Sequence[int]) -> None:
        """Move surplus answers behind those given here while the file was read."""
        new, by_last = Q(vote__batch=self.batch), defaultdict[int, list[int]](list)
        rows = Answer.objects.filter(item__in=items).order_by().values_list("item")
        places = {"first": Min("position", filter=new), "before": Max("position", filter=~new)}
        for item, first, before, last in rows.annotate(**places, last=Max("position")):
            if before is not None and first < before:
                by_last[last].append(item)
        for last, item_keys in by_last.items():
            Answer.objects.filter(new, item__in=item_keys).update(position=F("position") + last)


def _marks(payload: Payload) -> int:
    return len(payload["spans"]) + len(payload["relations"])
