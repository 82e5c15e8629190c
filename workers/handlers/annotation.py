"""Handlers of jobs on projects and test sets."""

from __future__ import annotations

import time

from django.db.models import Q

from annotation import candidate_choices, conversion
from annotation.consensus import recomputation
from annotation.consensus.rules import Rules, label_names
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import AgreementReport, Batch, CandidateChoice, MadeExport, Project
from annotation.reports import agreement, vote_figures
from annotation.splits import companions, making, mapping
from annotation.testset import Companion, Kind, TestSet
from evalsvc.core.database import in_batches
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from workers.scoring.agreement import agreement_figures
from workers.scoring.answer_columns import AnswerColumns
from workers.scoring.provenance import agreement_with

STEP = 2_000


def import_file(subject: int, progress: Progress) -> Store:
    """Import a batch; first delete what unfinished imports left in its project. Upkeep deletes the rest."""
    batch = Batch.objects.select_related("project", "by").get(pk=subject)
    if batch.project_id is not None:  # an answer of theirs would be in the way of the same person's
        batches.sweep_imports(Q(project=batch.project_id))
    return batches.load(batch, progress)


def freeze(subject: int, progress: Progress) -> Store:
    """Build a test set and its source set."""
    test_set = TestSet.objects.select_related("project").get(pk=subject)
    return builder.build(test_set, progress, agreement_with)


def split(subject: int, progress: Progress) -> Store:
    """Build a part of a test set, and of its source set."""
    return making.build(TestSet.objects.get(pk=subject), progress)


def map_labels(subject: int, progress: Progress) -> Store:
    """Build a set of mapped or combined gold, and its source set."""
    return mapping.build(TestSet.objects.get(pk=subject), progress)


def leakage(subject: int, progress: Progress) -> Store:
    """Count what training or validation data share with a test set; one that was removed is skipped."""
    companion = Companion.objects.select_related("data", "test_set").filter(pk=subject).first()
    return companions.count_shared(companion, progress) if companion else lambda: None


def export(subject: int, progress: Progress) -> Store:
    """Write a test set in a format that the web can't write."""
    row = MadeExport.objects.select_related("test_set").defer("data").get(pk=subject)
    return conversion.build(row, progress)


def figures(subject: int, progress: Progress) -> Store:
    return vote_figures.compute(Project.objects.get(pk=subject))


def recompute(subject: int, progress: Progress) -> Store:
    """Recompute every item of a project in transactions of its own."""
    recomputation.recompute(Project.objects.get(pk=subject), progress)
    return lambda: None


def candidates(subject: int, progress: Progress) -> Store:
    """Count what a choice of candidates changes, or apply it."""
    choice = CandidateChoice.objects.select_related("project", "by").get(pk=subject)
    return candidate_choices.work_on(choice, progress)


def agree(subject: int, progress: Progress) -> Store:
    """Compute the report of a project."""
    begun = time.monotonic()
    report = AgreementReport.objects.select_related("project").get(pk=subject)
    project = report.project
    answers = read_answers(project, progress)
    labels = sorted(label_names(project, "relation"))
    figures = agreement_figures(answers, labels, by_label=project.kind == Kind.RELATIONS, progress=progress)
    return lambda: agreement.store_figures(report, figures | {"seconds": round(time.monotonic() - begun, 1)})


def read_answers(project: Project, progress: Progress) -> AnswerColumns:
    """Read the answers that count, surplus ones too, in present labels."""
    mapping = Rules(project).mapping
    answers = AnswerColumns()
    rows = agreement.included_answers(project, "item", "annotator", "annotator__name")
    for at, (item, annotator, name, payload) in enumerate(rows):
        present = mapping.payload(payload).payload
        answers.add(item, annotator, name, present, blank=bool(present.get("blank")))
        if at % STEP == 0:
            progress(at, 0, "reading answers")
    if project.kind != Kind.RELATIONS:
        for item, text, tokens in in_batches(project.items.live(), "pk", "text", "tokens"):
            if item in answers.items:
                answers.add_text(item, text, tokens)
    return answers
