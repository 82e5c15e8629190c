"""Predictions held against what is expected: ids, labels, scores, bounds, forms; normalised claims out.

A claim is a compact tuple, by form:

    label    (id, label)              negative class included
    labels   (id, (label, …))         the negative class is the empty tuple
    scores   (id, {label: score})     scores of the negative class left out and counted
    bag      (head, tail, relation, score)   the same
    spans    (id, spans, relations)   the unit of the gold's spans
    tags     as spans, read by the stated scheme
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from evalsvc.core.formats.bag_check import Bags
from evalsvc.core.formats.error_examples import RightLines
from evalsvc.core.formats.problems import Problems, did_you_mean, near
from evalsvc.core.formats.records import (
    BagPrediction,
    LabelPrediction,
    LabelsPrediction,
    Link,
    PredictionLine,
    ScoresPrediction,
    Span,
    SpansPrediction,
    TagsPrediction,
)
from evalsvc.core.formats.span_checks import check_bounds
from evalsvc.core.formats.tag_schemes import Repair, Scheme, expected_tags, first_bad_tag, tags_to_spans

Form = Literal["label", "labels", "scores", "bag", "spans", "tags"]
Claim = tuple[Any, ...]
FORM_OF: dict[type[Any], Form] = {
    LabelPrediction: "label",
    LabelsPrediction: "labels",
    ScoresPrediction: "scores",
    BagPrediction: "bag",
    SpansPrediction: "spans",
    TagsPrediction: "tags",
}
FORMS: tuple[Form, ...] = tuple(FORM_OF.values())
BAG_ONLY: tuple[Form, ...] = ("bag",)
# In these forms an item without a line has no label, and costs recall.
SILENT_FORMS: frozenset[Form] = frozenset({"labels", "scores", "bag"})

# looking for what was meant is slow: only among few ids, only for so many labels
FEW = 1_000
FEW_LABELS = 100
SHOWN_LABELS = 6


class PredictionCheck:
    """Checks one prediction file in one pass; `form` and `dropped_negative` tell what it met."""

    def __init__(
        self,
        *,
        ids: Collection[str] = (),
        labels: Collection[str],
        negative: str | None = None,
        pairs: Collection[tuple[str, str]] | None = None,
        tokens: Mapping[str, Sequence[str]] | None = None,
        lengths: Mapping[str, int] | None = None,
        relations: Collection[str] = (),
        scheme: Scheme | None = None,
        repair: Repair = "conlleval",
        forms: Collection[Form] = FORMS,
        missing: Literal["refuse", "wrong"] = "refuse",
        silent: Collection[Form] = BAG_ONLY,
        problems: Problems | None = None,
    ) -> None:
        """Say what is expected.

        `pairs` are the bags; None allows any. `tokens` (or `lengths`) bound spans by id; tags need one of
        them. `labels` are the classes (of spans, for spans and tags), `relations` those between spans.
        `forms` are those the benchmark takes. With `missing="wrong"` an id without a line is no problem,
        nor is it in the `silent` forms, in which no line is an answer.
        """
        self.problems = Problems() if problems is None else problems
        self.ids, self.pairs, self.forms, self.missing = frozenset(ids), pairs, tuple(forms), missing
        self.labels = frozenset(labels) | ({negative} if negative is not None else frozenset())
        self.silent = frozenset(silent)
        self.negative, self.relations = negative, frozenset(relations)
        self.tokens, self.scheme, self.repair = tokens, scheme, repair
        self.lengths = {name: len(of) for name, of in tokens.items()} if tokens is not None else lengths
        self.form: Form | None = None
        self.first_lines: dict[str, int] = {}
        self.bags = Bags(pairs, self.labels)
        self.dropped_negative = 0
        self._hints: dict[str, str | None] = {}
        self.right = RightLines(
            ids=self.ids, labels=self.labels - {negative}, pairs=pairs, forms=self.forms,
            lengths=self.lengths, scheme=scheme, relations=self.relations,
        )  # fmt: skip
        self.problems.exemplified_by(self.right)

    @property
    def missing_ids(self) -> list[str]:
        """Expected ids that have no line so far, in order."""
        return sorted(self.ids - self.first_lines.keys())

    def claims(self, lines: Iterable[tuple[int, PredictionLine]]) -> Iterator[Claim]:
        """Yield the claims of the lines that are right and report the others; missing ids at the end."""
        handlers = self._handlers()
        for line, prediction in lines:
            form = FORM_OF[type(prediction)]
            if form != self.form and not self._takes(form, line, prediction):
                continue
            claim = handlers[form](prediction, line)
            if claim is not None:
                yield claim
        # Where no line told its form, every id would be missing: that says nothing.
        if self.form is not None and self.form not in self.silent and self.missing == "refuse":
            missing, hint = self.problems.unread.besides(self.missing_ids)
            for name in missing:
                self.problems.add(
                    "missing_id", field="id", found=f"no line for {name}", expected="one line for each id",
                    hint=hint, example=partial(self.right, "missing_id", id=name),
                )  # fmt: skip

    def check(self, lines: Iterable[tuple[int, PredictionLine]]) -> Problems:
        """Run through a file for its problems only."""
        for _ in self.claims(lines):
            pass
        return self.problems

    def _handlers(self) -> dict[Form, Callable[[Any, int], Claim | None]]:
        return {
            "label": self._label, "labels": self._labels, "scores": self._scores,
            "bag": self._bag, "spans": self._spans, "tags": self._tags,
        }  # fmt: skip

    def _takes(self, form: Form, line: int, prediction: PredictionLine) -> bool:
        if self.form is None and form in self.forms:
            self.form = self.right.form = form
            return True
        expected = f"the form {self.form} throughout" if self.form else f"one of: {', '.join(self.forms)}"
        self.problems.add("mixed_forms", line=line, found=form, expected=expected)
        self.problems.unread.named(getattr(prediction, "id", None))
        return False

    def _label(self, given: LabelPrediction, line: int) -> Claim | None:
        known = self._known_id(given.id, line)
        if given.label not in self.labels:
            self._unknown_label(given.label, self.labels, line, "label")
            return None
        return (given.id, given.label) if known else None

    def _labels(self, given: LabelsPrediction, line: int) -> Claim | None:
        known = self._known_id(given.id, line)
        labels = dict.fromkeys(given.labels)
        if not self._all_labels(labels, line, "labels"):
            return None
        if len(labels) < len(given.labels):
            said = {"found": ", ".join(given.labels), "expected": "each label once"}
            self.problems.add("duplicate_label", line=line, field="labels", **said)
            return None
        if self.negative in labels and len(labels) > 1:
            expected = f"{self.negative} alone, or the others without it"
            self.problems.add(
                "negative_with_label", line=line, field="labels", found=", ".join(labels), expected=expected
            )
            return None
        return (given.id, tuple(label for label in labels if label != self.negative)) if known else None

    def _scores(self, given: ScoresPrediction, line: int) -> Claim | None:
        known = self._known_id(given.id, line)
        scores = given.scores
        if not (scores.keys() <= self.labels or self._all_labels(scores, line, "scores")):
            return None
        if not all(map(math.isfinite, scores.values())):
            bad = next(f"{label}: {score}" for label, score in scores.items() if not math.isfinite(score))
            self.problems.add("bad_score", line=line, field="scores", found=bad, expected="finite numbers")
            return None
        if self.negative in scores:
            self.dropped_negative += 1
            scores = {label: score for label, score in scores.items() if label != self.negative}
        return (given.id, scores) if known else None

    def _bag(self, given: BagPrediction, line: int) -> Claim | None:
        if given.relation not in self.labels:
            self._unknown_label(given.relation, self.labels, line, "relation")
            return None
        if not math.isfinite(given.score):
            self.problems.add(
                "bad_score", line=line, field="score", found=given.score, expected="a finite number"
            )
            return None
        if not self._fresh(given, line):
            return None
        if given.relation == self.negative:
            self.dropped_negative += 1
            return None
        return (given.head, given.tail, given.relation, given.score)

    def _fresh(self, given: BagPrediction, line: int) -> bool:
        fresh = self.bags.first(given.head, given.tail, given.relation)
        if fresh is None:
            turned = self.bags.holds(given.tail, given.head)
            hint = "The pair is there the other way round: head first, then tail." if turned else None
            found, expected = f"{given.head}, {given.tail}", "a pair of the benchmark"
            self.problems.add("unknown_id", line=line, found=found, expected=expected, hint=hint)
        elif not fresh:
            found = f"{given.head}, {given.tail}, {given.relation}"
            self.problems.add("duplicate_claim", line=line, found=found, expected="one score for each")
        return bool(fresh)

    def _spans(self, given: SpansPrediction, line: int) -> Claim | None:
        known = self._known_id(given.id, line)
        length = self.lengths.get(given.id) if self.lengths is not None else None
        before = self.problems.total
        for at, (start, end, label) in enumerate(given.spans):
            field = f"spans[{at}]"
            check_bounds(start, end, length=length, line=line, field=field, problems=self.problems)
            if label not in self.labels:
                self._unknown_label(label, self.labels, line, field)
        self._check_links(given.relations, line)
        return (given.id, given.spans, given.relations) if known and self.problems.total == before else None

    def _check_links(self, links: tuple[Link, ...], line: int) -> None:
        for at, (_, name, _) in enumerate(links):
            if name not in self.relations:
                self._unknown_label(name, self.relations, line, f"relations[{at}]")

    def _tags(self, given: TagsPrediction, line: int) -> Claim | None:
        if not self._known_id(given.id, line) or not self._aligned(given, line):
            return None
        spans = self._read_tags(given.tags, line)
        unknown = [
            label for label in dict.fromkeys(span[2] for span in spans or ()) if label not in self.labels
        ]
        for label in unknown:
            self._unknown_label(label, self.labels, line, "tags")
        return None if spans is None or unknown else (given.id, tuple(spans), ())

    def _read_tags(self, tags: tuple[str, ...], line: int) -> list[Span] | None:
        if self.scheme is None:
            self.problems.stop("bad_tag", field="scheme", expected="a stated tag scheme")
        at = first_bad_tag(tags, self.scheme)
        if at is None:
            return tags_to_spans(tags, self.scheme, repair=self.repair)
        expected = f"{expected_tags(self.scheme)} ({self.scheme})"
        self.problems.add("bad_tag", line=line, field=f"tags[{at}]", found=tags[at], expected=expected)
        return None

    def _aligned(self, given: TagsPrediction, line: int) -> bool:
        """As many tags as tokens, and the tokens themselves where the file repeats them."""
        length = self.lengths.get(given.id) if self.lengths is not None else None
        if length is not None and len(given.tags) != length:
            expected = f"{length:,} for {given.id}"
            found, tags = f"{len(given.tags):,} tags", "tag" if given.tokens else "tags"
            self.problems.add("token_mismatch", line=line, field=tags, found=found, expected=expected)
            return False
        if given.tokens is None or self.tokens is None:
            return True
        for at, (ours, theirs) in enumerate(zip(self.tokens[given.id], given.tokens, strict=True)):
            if ours != theirs:
                # The word itself is not named: one that is never handed out could be asked out of the check.
                expected = f"token {at + 1:,} of {given.id} as the text has it"
                self.problems.add(
                    "token_mismatch", line=line + at, field="token", found=theirs, expected=expected
                )
                return False
        return True

    def _known_id(self, name: str, line: int) -> bool:
        first = self.first_lines.setdefault(name, line)
        if first != line:
            said = {"expected": "each id once", "hint": f"Its first line is {first:,}."}
            self.problems.add("duplicate_id", line=line, field="id", found=name, **said)
            return False
        if name not in self.ids:
            few = self.ids if len(self.ids) <= FEW else ()
            expected = f"one of the {len(self.ids):,} ids of the inputs, such as {self.right.usual[0]}"
            self.problems.add(
                "unknown_id", line=line, field="id", found=name, expected=expected,
                hint=lambda: did_you_mean(name, few),
            )  # fmt: skip
            return False
        return True

    def _all_labels(self, given: Iterable[str], line: int, field: str) -> bool:
        unknown = [label for label in given if label not in self.labels]
        for label in unknown:
            self._unknown_label(label, self.labels, line, field)
        return not unknown

    def _unknown_label(self, label: str, known: frozenset[str], line: int, field: str) -> None:
        if label not in self._hints and len(self._hints) < FEW_LABELS:
            self._hints[label] = near(label, known)
        meant = self._hints.get(label)
        code, hint = ("near_label", f"Did you mean {meant}?") if meant else ("unknown_label", None)
        few, example = sorted(known)[:SHOWN_LABELS], partial(self.right, code, label=meant or "")
        expected = f"one of: {', '.join(few)}{', …' if len(known) > len(few) else ''}"
        said: dict[str, Any] = {"found": label, "expected": expected, "hint": hint, "example": example}
        self.problems.add(code, line=line, field=field, **said)
