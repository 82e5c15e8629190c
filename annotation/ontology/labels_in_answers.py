"""Whether a label stands in what people said: then it cannot be taken away from under them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast

from annotation.consensus import item_state
from annotation.consensus.item_state import labels_in
from annotation.models import KnownAnswer, Project, Vote

JUST_NOW = timedelta(hours=1)  # longer than anybody takes to write one answer


def votes_with_label(project: Project, name: str, *, since: Any) -> int:
    """Acts from then on that name this label."""
    acts = Vote.objects.filter(item__project=project, at__gte=since, payload__isnull=False)
    return _naming(acts, name)


def is_in_gold_question(project: Project, name: str) -> bool:
    """Whether it is in what is known of an item."""
    return _naming(KnownAnswer.objects.filter(item__project=project), name) > 0


def _naming(rows: QuerySet[Any], name: str) -> int:
    """The database looks for the name in the text, in either spelling of JSON; few rows are read."""
    spelt = (json.dumps(name), json.dumps(name, ensure_ascii=False))
    likely = rows.annotate(said=Cast("payload", TextField())).filter(
        Q(said__contains=spelt[0]) | Q(said__contains=spelt[1])
    )
    payloads = likely.order_by().values_list("payload", flat=True).iterator()
    return sum(name in labels_in(payload) for payload in payloads)


def wait_for_running_votes(project: Project) -> None:
    """Wait for every answer being written; whoever writes after that reads the project as it is then.

    The caller holds the project's row against other changes of its labels. About to decide all items anew in
    the same transaction, it holds those, as a writer does before reading the project. Where a job decides, it
    takes the project's row for itself alone, which writers share; with that it could not wait for items.
    """
    if item_state.is_recomputed_at_once(project):
        list(project.items.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    else:
        Project.objects.select_for_update().get(pk=project.pk)
