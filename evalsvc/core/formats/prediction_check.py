"""Check of predictions against a benchmark, yielding normalised claims.

A claim is a compact tuple, by form:

    label    (id, label)              the negative class included
    labels   (id, (label, …))         the negative class is the empty tuple
    scores   (id, {label: score})     without the negative class, whose scores are counted
    bag      (head, tail, relation, score)   likewise
    spans    (id, spans, relations)   in the unit of the gold's spans
    tags     like spans, decoded by the tag scheme
    entity_texts  (id, ((text, label), …))            None for an abstention
    triple_texts  (id, ((head, relation, tail), …))   likewise
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

from evalsvc.core.formats.bag_claims import BagClaims
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.negative_class import similar_to_negative
from evalsvc.core.formats.old_labels import NOTHING, OldLabels
from evalsvc.core.formats.prediction_forms import BAG_ONLY, FORM_OF, FORMS, TEXT_FORMS, ExampleLines, Form
from evalsvc.core.formats.problems import Problems, did_you_mean, near
from evalsvc.core.formats.records import (
    Abstention,
    BagPrediction,
    EntityTextsPrediction,
    LabelPrediction,
    LabelsPrediction,
    PredictionLine,
    ScoresPrediction,
    SpansPrediction,
    TagsPrediction,
    TriplesPrediction,
)
from evalsvc.core.formats.tag_schemes import (
    Repair,
    Scheme,
    checked_tags,
)
from evalsvc.core.formats.text_spans import check_bounds

Claim = tuple[Any, ...]

MAX_IDS_FOR_HINTS = 1_000  # looking for a similar id is slow
MAX_LABELS_WITH_HINTS = MOST_NAMED = 100  # MOST_NAMED of a line
SHOWN_LABELS = 6
REVERSED_PAIR = "The reversed pair is expected. Write the head first, then the tail."
MAX_STRANGERS = 50
MOST_RELATIONS = 2_000  # of a document: those of one name are compared one by one
MOST_ANSWERS, LONGEST_ANSWER = 1_000, 2_000  # of a document, which are looked for in its text


class Stranger(NamedTuple):
    """An answer that fits no expected item.

    Its id, or its place and tokens, or its pair.
    """

    id: str
    place: int = 0
    n_tokens: int = 0
    tokens: tuple[str, ...] | None = None
    pair: tuple[str, str] | None = None


class PredictionCheck:
    """Check of one prediction file in one pass."""

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
        old: LabelMapping = NOTHING,
        problems: Problems | None = None,
    ) -> None:
        """Set what is expected.

        `pairs` are the bags; None allows any. `tokens` (or `lengths`) limit spans by id; tags need one of
        them. `labels` are the classes (of spans, for spans and tags), numbered by `codes`, the negative one
        last; `relations` are those between spans. `old` maps names of labels that files may still have. With
        `missing="wrong"`, and in the `silent` forms, ids may lack a line.
        """
        self.problems = Problems() if problems is None else problems
        self.ids: Mapping[str, Any] = ids if isinstance(ids, Mapping) else dict.fromkeys(ids)
        self.pairs, self.forms, self.missing = pairs, tuple(forms), missing
        names = labels if negative is None else [*labels, negative]
        self.codes = {name: at for at, name in enumerate(names)}
        self.labels = frozenset(self.codes)
        self.silent = frozenset(silent)
        self.negative, self.relations = negative, frozenset(relations)
        self.old = OldLabels(old, negative, self.problems)
        self.names = self.labels | self.old.parts.keys()  # as files may spell them
        self.repeats = False
        self.tokens, self.scheme, self.repair = tokens, scheme, repair
        self.lengths = {name: len(words) for name, words in tokens.items()} if tokens is not None else lengths
        self.form: Form | None = None
        self.first_lines: dict[str, int] = {}
        self.strangers: list[Stranger] = []
        self.unknown_ids = 0
        self.dropped_negative = 0
        self._hints: dict[str, str | None] = {}
        self._expected: dict[frozenset[str], str] = {}
        self.example = ExampleLines(
            ids=self.ids, labels=self.labels - {negative}, pairs=pairs, forms=self.forms,
            lengths=self.lengths, scheme=scheme, relations=self.relations,
        )  # fmt: skip
        self.problems.set_example(self.example)

    @property
    def missing_ids(self) -> list[str]:
        """Return the expected ids without a line so far, sorted."""
        return sorted(self.ids.keys() - self.first_lines.keys())

    @property
    def may_lack_lines(self) -> bool:
        """True if the form of the file allows ids without lines."""
        return self.form in self.silent or self.missing == "wrong"

    @cached_property
    def bags(self) -> BagClaims:
        return BagClaims(self.pairs, self.names)

    def claims(self, lines: Iterable[tuple[int, PredictionLine]]) -> Iterator[Claim]:
        """Yield the claims of valid lines; report invalid lines, then missing ids."""
        handlers: dict[Form, Callable[[Any, int], Claim | None]] = {
            "label": self._label, "labels": self._labels, "scores": self._scores,
            "bag": self._bag, "spans": self._spans, "tags": self._tags,
            "entity_texts": self._texts, "triple_texts": self._texts,
        }  # fmt: skip
        for line, prediction in lines:
            form = FORM_OF.get(type(prediction)) or self._abstaining_form
            if form != self.form and not self._accept_form(form, line, prediction):
                continue
            current = self.old.current(prediction, line) if self.old else prediction
            if current is None:
                self._check_id(getattr(prediction, "id", ""), line)
                continue
            claim = handlers[form](current, line)
            if claim is not None:
                yield claim
        # If no line is valid, every id is missing, which explains nothing.
        if self.form is not None and not self.may_lack_lines and (missing := self.missing_ids):
            missing, hint = self.problems.unread.certainly_missing(missing)
            for name in missing:
                self.problems.add(
                    "missing_id", field="id", value=f"no line for {name}",
                    expected="one line for each id of the inputs", hint=hint,
                    example=partial(self.example, "missing_id", id=name),
                )  # fmt: skip

    @property
    def _abstaining_form(self) -> Form:
        """Return the form of a line that only abstains: that of the file, or the accepted one."""
        if self.form in TEXT_FORMS:
            return self.form
        return next((form for form in TEXT_FORMS if form in self.forms), TEXT_FORMS[0])

    def check(self, lines: Iterable[tuple[int, PredictionLine]]) -> Problems:
        """Check all lines and return the problems."""
        for _ in self.claims(lines):
            pass
        return self.problems

    def _accept_form(self, form: Form, line: int, prediction: PredictionLine) -> bool:
        if self.form is None and form in self.forms:
            self.form = self.example.form = form
            return True
        expected = f"the form {self.form} in all lines" if self.form else f"one of: {', '.join(self.forms)}"
        hint = None if self.form else f"Predictions of the form {form} are not accepted here."
        self.problems.add("mixed_forms", line=line, value=form, expected=expected, hint=hint)
        self.problems.unread.add_id(getattr(prediction, "id", None))
        return False

    def _label(self, prediction: LabelPrediction, line: int) -> Claim | None:
        is_known = self._check_id(prediction.id, line)
        if prediction.label not in self.labels:
            self._unknown_label(prediction.label, self.labels, line, "label")
            return None
        return (prediction.id, prediction.label) if is_known else None

    def _labels(self, prediction: LabelsPrediction, line: int) -> Claim | None:
        is_known = self._check_id(prediction.id, line)
        labels = dict.fromkeys(prediction.labels)
        if not self._all_labels(labels, line, "labels"):
            return None
        if len(labels) < len(prediction.labels):
            given, expected = ", ".join(prediction.labels), "each label once"
            return self._reject("duplicate_label", line, "labels", given, expected)
        if self.negative in labels and len(labels) > 1:
            expected = f"{self.negative} alone, or the others without it"
            return self._reject("negative_with_label", line, "labels", ", ".join(labels), expected)
        positive = tuple(label for label in labels if label != self.negative)
        return (prediction.id, positive) if is_known else None

    def _scores(self, prediction: ScoresPrediction, line: int) -> Claim | None:
        is_known = self._check_id(prediction.id, line)
        scores = prediction.scores
        if not (scores.keys() <= self.labels or self._all_labels(scores, line, "scores")):
            return None
        if not all(map(math.isfinite, scores.values())):
            bad = next(f"{label}: {score}" for label, score in scores.items() if not math.isfinite(score))
            return self._reject("bad_score", line, "scores", bad, "finite numbers")
        if self.negative in scores:
            self.dropped_negative += 1
            scores = {label: score for label, score in scores.items() if label != self.negative}
        return (prediction.id, scores) if is_known else None

    def _bag(self, prediction: BagPrediction, line: int) -> Claim | None:
        """Return the claim; it `repeats` an earlier one whose relation has the same present name."""
        if prediction.relation not in self.names:
            self._unknown_label(prediction.relation, self.labels, line, "relation")
            return None
        if self.old and not self.old.are_clear([prediction.relation], line, "relation"):
            return None
        if not math.isfinite(prediction.score):
            return self._reject("bad_score", line, "score", prediction.score, "a finite number")
        pair, relation = (prediction.head, prediction.tail), prediction.relation
        is_new = self.bags.add(*pair, relation)
        if is_new is None:
            self._note_stranger(Stranger(", ".join(pair), pair=pair))
            hint = REVERSED_PAIR if pair[::-1] in self.bags.rows else None
            return self._reject("unknown_id", line, None, ", ".join(pair), "a pair of the benchmark", hint)
        if not is_new:
            claim = ", ".join((*pair, relation))
            return self._reject("duplicate_claim", line, None, claim, "one score for each")
        current = self.old.mapping.label(relation)
        if current in (None, self.negative):
            self.dropped_negative += relation == self.negative
            return None
        self.repeats = bool(self.old) and not self.bags.add(*pair, current, 2)
        return (*pair, current, prediction.score)

    def _spans(self, prediction: SpansPrediction, line: int) -> Claim | None:
        is_known = self._check_id(prediction.id, line)
        length = self.lengths.get(prediction.id) if self.lengths is not None else None
        before = self.problems.total
        for at, (start, end, label) in enumerate(prediction.spans):
            field = f"spans[{at}]"
            check_bounds(start, end, length=length, line=line, field=field, problems=self.problems)
            if label not in self.labels:
                self._unknown_label(label, self.labels, line, field)
        if len(prediction.relations) > MOST_RELATIONS:
            given, expected = f"{len(prediction.relations):,}", f"at most {MOST_RELATIONS:,} in a line"
            return self._reject("too_many_in_line", line, "relations", given, expected)
        for at, (_, name, _) in enumerate(prediction.relations):
            if name not in self.relations:
                self._unknown_label(name, self.relations, line, f"relations[{at}]")
        is_valid = is_known and self.problems.total == before
        return (prediction.id, prediction.spans, prediction.relations) if is_valid else None

    def _tags(self, prediction: TagsPrediction, line: int) -> Claim | None:
        if not self._check_id(prediction.id, line):
            return None
        if not self._tokens_fit(prediction, line):
            place = len(self.first_lines) - 1
            self._note_stranger(Stranger(prediction.id, place, len(prediction.tags), prediction.tokens))
            return None
        lines = prediction.lines or [line]
        spans = checked_tags(
            prediction.tags, self.scheme, lines=lines, repair=self.repair, problems=self.problems
        )
        if spans is None:
            return None
        if self.old:
            if not self.old.are_clear([name for _, _, name in spans], line, "tags"):
                return None
            spans = list(self.old.spans(spans))
        unknown = [(start, label) for start, _, label in spans if label not in self.labels]
        for start, label in unknown:
            at = prediction.lines[start] if prediction.lines else line
            self._unknown_label(label, self.labels, at, "tag" if prediction.lines else f"tags[{start}]")
        if unknown:
            return None
        return prediction.id, tuple(spans), ()

    def _texts(
        self, prediction: EntityTextsPrediction | TriplesPrediction | Abstention, line: int
    ) -> Claim | None:
        """Accept any label: one outside the inventory is a wrong answer, and is counted."""
        is_known = self._check_id(prediction.id, line)
        if isinstance(prediction, Abstention):
            return (prediction.id, None) if is_known else None
        field = "entities" if isinstance(prediction, EntityTextsPrediction) else "triples"
        answers: Sequence[tuple[str, ...]] = getattr(prediction, field)
        if len(answers) > MOST_ANSWERS:
            given, expected = f"{len(answers):,}", f"at most {MOST_ANSWERS:,} in a line"
            return self._reject("too_many_in_line", line, field, given, expected)
        kept = []
        for at, answer in enumerate(answers):
            texts, place = (answer[0], *answer[2:]), f"{field}[{at}]"  # the label comes second
            if (longest := max(map(len, texts))) > LONGEST_ANSWER:
                given, expected = f"{longest:,} characters", f"at most {LONGEST_ANSWER:,}"
                return self._reject("long_answer", line, place, given, expected)
            if all(map(str.strip, texts)):
                kept.append(answer)
            else:
                self.problems.add("empty_answer", line=line, field=place, value=answer[1])
        if is_known and self.lengths is not None and prediction.id not in self.lengths:
            expected = "spans, whose places need no text"
            return self._reject("textless_item", line, "id", prediction.id, expected)
        return (prediction.id, tuple(kept)) if is_known else None

    def _tokens_fit(self, prediction: TagsPrediction, line: int) -> bool:
        """Return whether tags and tokens match the text."""
        length = self.lengths.get(prediction.id) if self.lengths is not None else None
        if length is not None and len(prediction.tags) != length:
            tags = f"{len(prediction.tags):,} tags"
            expected = f"{length:,}, one for each token of document {prediction.id}"
            self._reject("token_mismatch", line, "tag" if prediction.tokens else "tags", tags, expected)
            return False
        if prediction.tokens is None or self.tokens is None:
            return True
        for at, (expected, token) in enumerate(
            zip(self.tokens[prediction.id], prediction.tokens, strict=True)
        ):
            if token != expected:
                own_line = prediction.lines[at] if prediction.lines else line
                place = f"{expected}, which is token {at + 1:,} of document {prediction.id} in the inputs"
                self._reject("token_mismatch", own_line, "token", token, place)
                return False
        return True

    def _note_stranger(self, stranger: Stranger) -> None:
        """Store the first answers that fit no expected item."""
        if len(self.strangers) < MAX_STRANGERS and stranger not in self.strangers:
            self.strangers.append(stranger)

    def _check_id(self, name: str, line: int) -> bool:
        if name not in self.ids:
            self.unknown_ids += 1
            self._note_stranger(Stranger(name))
            candidates = self.ids if len(self.ids) <= MAX_IDS_FOR_HINTS else ()
            expected = f"one of the {len(self.ids):,} ids of the inputs, such as {self.example.usual[0]}"
            self._reject("unknown_id", line, "id", name, expected, lambda: did_you_mean(name, candidates))
            return False
        first = self.first_lines.setdefault(name, line)
        if first != line:
            hint = f"Line {first:,} already has this id. Remove one of the lines."
            self._reject("duplicate_id", line, "id", name, "each id once", hint)
            return False
        return True

    def _reject(
        self, code: str, line: int, field: str | None, value: object, expected: str,
        hint: str | Callable[[], str | None] | None = None,
    ) -> Claim | None:  # fmt: skip
        """Report a problem; such a line claims nothing."""
        self.problems.add(code, line=line, field=field, value=value, expected=expected, hint=hint)
        return None

    def _all_labels(self, labels: Iterable[str], line: int, field: str) -> bool:
        unknown = [label for label in labels if label not in self.labels]
        for label in unknown[:MOST_NAMED]:
            self._unknown_label(label, self.labels, line, field)
        if (rest := len(unknown) - MOST_NAMED) > 0:
            self.problems.add("unknown_label", line=line, field=field, times=rest)
        return not unknown

    def _unknown_label(self, label: str, known: frozenset[str], line: int, field: str) -> None:
        if label not in self._hints and len(self._hints) < MAX_LABELS_WITH_HINTS:
            self._hints[label] = near(label, known)
        meant = self._hints.get(label)
        if self.negative in known and similar_to_negative([label]):
            meant, question = self.negative, f"The negative class here is {self.negative}."
        else:
            question = f"Did you mean {meant}?"
        code, hint = ("near_label", question) if meant else ("unknown_label", None)
        example = partial(self.example, code, label=meant or "")
        if (expected := self._expected.get(known)) is None:
            shown = sorted(known)[:SHOWN_LABELS]
            more = ", …" if len(known) > len(shown) else ""
            expected = f"one of: {', '.join(shown)}{more}" if known else "no label: the inventory is empty"
            self._expected[known] = expected
        self.problems.add(
            code, line=line, field=field, value=label, expected=expected, hint=hint, example=example
        )
