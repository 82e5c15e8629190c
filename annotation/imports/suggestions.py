"""Import predictions as suggested answers; later files replace earlier ones."""

from __future__ import annotations

from typing import BinaryIO

import msgspec
from django.db import connection, transaction

from annotation.consensus.choices import first_overlap, payload_of
from annotation.imports.staging import CHUNK, negatives
from annotation.models import Batch, OntologyLabel, Project, Suggestion
from annotation.queue.answer_validation import MOST_MARKS
from annotation.testset import Kind
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.formats.prediction_check import Claim, PredictionCheck
from evalsvc.core.formats.prediction_forms import Form
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_predictions
from evalsvc.core.formats.records import LabelPrediction, PredictionLine, ScoresPrediction
from evalsvc.core.formats.text_lines import Limits
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store

SURE = 0.5
NA = "N/A"
Row = tuple[int, bytes]  # an item and the answer to show on it: few answers differ, so each is stored once
REPLACE = """
    INSERT INTO annotation_suggestion (item_id, batch_id, payload) VALUES (%s, %s, %s)
    ON CONFLICT (item_id) DO UPDATE SET batch_id = excluded.batch_id, payload = excluded.payload
"""
FORMS: dict[str, tuple[Form, ...]] = {Kind.RELATIONS: ("label", "labels", "scores")}


def load(batch: Batch, file: BinaryIO, problems: Problems, limits: Limits, progress: Progress) -> Store:
    """Read and check the file; the store replaces earlier suggestions."""
    assert batch.project is not None
    items = dict(batch.project.items.present().values_list("external_id", "pk"))
    check = _check(batch, items, problems)
    negative_names = negatives(batch) - check.labels
    lines = (
        (line, _with_usual_negative(prediction, negative_names))
        for line, prediction in open_predictions(file, format=batch.format, problems=problems, limits=limits)
    )
    rows: list[Row] = []
    unique: dict[bytes, bytes] = {}
    for claim in check.claims(lines):
        if check.form == "spans" and not _can_be_submitted(claim, batch.project, check):
            continue
        payload = msgspec.json.encode(_payload(check.form, claim))
        rows.append((items[claim[0]], unique.setdefault(payload, payload)))
        if len(rows) % CHUNK == 0:
            progress(len(rows), len(items), "reading predictions")
    if not rows:
        problems.raise_if_any()
    before = Suggestion.objects.filter(batch__in=batch.project.batches.all()).exclude(batch=batch)
    replaced = {item for item, _ in rows}.intersection(before.values_list("item", flat=True).iterator())
    batch.counts = {"lines": problems.lines_read, "suggestions": len(rows), "replaced": len(replaced)}
    return lambda: _store(batch, rows)


def _check(batch: Batch, items: dict[str, int], problems: Problems) -> PredictionCheck:
    project = batch.project
    assert project is not None
    names = {part: set[str]() for part in OntologyLabel.Part.values}
    for part, name in project.labels.values_list("part", "name"):
        names[part].add(name)
    paired = project.kind == Kind.RELATIONS
    texts = project.items.present().values_list("external_id", "text", "tokens").iterator()
    return PredictionCheck(
        ids=items,
        labels=names["relation" if paired else "entity"],
        negative=NA if paired else None,
        relations=names["relation"],
        lengths=None
        if paired
        else {name: len(text if tokens is None else tokens) for name, text, tokens in texts},
        forms=FORMS.get(project.kind, ("spans",)),
        missing="wrong",
        problems=problems,
    )


def _can_be_submitted(claim: Claim, project: Project, check: PredictionCheck) -> bool:
    """Report a prediction that nobody could submit as it is."""
    name, spans, links = claim
    line, n = check.first_lines[name], max(len(spans), len(links))
    if n > MOST_MARKS:
        expected = f"at most {MOST_MARKS:,} of each"
        check.problems.add("too_many_in_line", line=line, value=f"{n:,}", expected=expected)
        return False
    overlap = None if project.spans_may_overlap else first_overlap(spans)
    if overlap:
        value = " and ".join(f"[{start}, {end}) {label}" for start, end, label in overlap)
        hint = "Remove one of them, or let spans overlap on the page of the project."
        check.problems.add("overlapping_spans", line=line, field="spans", value=value, hint=hint)
    return overlap is None


def _with_usual_negative(prediction: PredictionLine, negative_names: frozenset[str]) -> PredictionLine:
    """Replace the file's spelling of N/A by the service's."""
    match prediction:
        case LabelPrediction(label=name) if name in negative_names:
            return LabelPrediction(prediction.id, NA)
        case ScoresPrediction(scores=scores) if not negative_names.isdisjoint(scores):
            return ScoresPrediction(
                prediction.id, {NA if name in negative_names else name: scores[name] for name in scores}
            )
        case _:
            return prediction


def _payload(form: Form | None, claim: Claim) -> Payload:
    """Convert the claim to an answer; scores need at least 0.5."""
    value = claim[1]
    if form == "spans":
        return payload_of(value, ((value[head], name, value[tail]) for head, name, tail in claim[2]))
    if form == "label":
        return {"spans": [], "relations": [] if value == NA else [value]}
    if form == "scores":
        return {"spans": [], "relations": [name for name, score in value.items() if score >= SURE]}
    return {"spans": [], "relations": list(value)}


@transaction.atomic
def _store(batch: Batch, rows: list[Row]) -> None:
    """Replace the suggestions of the items at once, without an object for each: others wait on SQLite."""
    with connection.cursor() as cursor:
        cursor.executemany(REPLACE, [(item, batch.pk, payload.decode()) for item, payload in rows])
