"""Predictions beside items: when they are shown, and with which lease.

They must not tell hidden checks: one without a prediction would stand out, and so would one whose prediction
stays as it was when those of sentences are replaced.
"""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from annotation.models import Batch, Item, Lease, Project, Suggestion
from annotation.queue.gold_questions import has_checks


def checks_without_prediction(project: Project) -> int:
    """Count the hidden checks without a current prediction, where predictions are shown.

    One older than a file that replaced predictions isn't current. While there are any no prediction is shown.
    """
    if not project.suggests or not has_checks(project):
        return 0
    newest = _replacing(project).values_list("pk", flat=True).first() or 0
    current = Suggestion.objects.filter(item=OuterRef("pk"), batch__gte=newest)
    return Item.objects.filter(project=project, use=Item.Use.CHECK).exclude(Exists(current)).count()


def for_new_lease(project: Project, item: Item) -> Suggestion | None:
    """Return the prediction to show with a lease that is granted now."""
    if not project.suggests or checks_without_prediction(project):
        return None
    return Suggestion.objects.filter(item=item).first()


def of_lease(lease: Lease, project: Project) -> Suggestion | None:
    """Return the prediction shown with a lease.

    With hidden checks, no earlier lease shows one after predictions were replaced.
    """
    if not lease.shown_id or checks_without_prediction(project):
        return None
    if has_checks(project) and _replacing(project).filter(ended_at__gte=lease.granted_at).exists():
        return None
    return Suggestion.objects.filter(item=lease.item, batch=lease.shown_id).first()


def _replacing(project: Project) -> QuerySet[Batch]:
    """Return the files that replaced predictions, newest first."""
    done = project.batches.filter(what=Batch.What.SUGGESTIONS, state=Batch.State.DONE)
    return done.filter(counts__replaced__gt=0).order_by("-pk")
