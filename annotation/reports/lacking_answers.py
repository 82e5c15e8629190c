"""Items that lack some of their k answers, whether or not further people were called about them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.adjudication.unanswerable_items import unanswerable
from annotation.models import Answer, Batch, Item, ItemCount, Lease, Project

BEFORE_K = F("free") - F("extra")  # free places among the first k, if no other of them is leased


@dataclass(slots=True)
class Lacking:
    """Number of items with fewer than k counted answers, and of the answers they lack."""

    items: int = 0
    answers: int = 0


def lacking(projects: Collection[Project]) -> Mapping[int, Lacking]:
    """Count what items lack of their k answers, by project.

    Further people are called about disputes, so calls make no difference to what is counted here.
    """
    k_of, found = {project.pk: project.k for project in projects}, defaultdict[int, Lacking](Lacking)
    live = ItemCount.objects.filter(batch__project__in=k_of, batch__state=Batch.State.DONE, use="")
    short = live.filter(state=Item.State.OPEN, free__gt=F("extra")).order_by().values_list("batch__project")
    for project, items, answers in short.annotate(items=Sum("n"), answers=Sum(BEFORE_K * F("n"))):
        found[project] = Lacking(items, answers)
    for project, k, free, n_counted in _leased(k_of):
        missing, known = max(0, (k or k_of[project]) - n_counted), max(0, free)
        found[project].items += bool(missing) - bool(known)
        found[project].answers += missing - known
    return found


def _leased(k_of: Collection[int]) -> QuerySet[Item, tuple[int, int | None, int, int]]:
    """Return open items with leases: their places are not free, their answers not given."""
    leases = Lease.objects.keeping().filter(annotator__project__in=k_of)
    counted = Answer.objects.filter(item=OuterRef("pk"), set_aside=False, again=False).order_by()
    n_counted = Coalesce(Subquery(counted.values("item").annotate(n=Count("pk")).values("n")), 0)
    items = Item.objects.live().filter(project__in=k_of, state=Item.State.OPEN, pk__in=leases.values("item"))
    return items.order_by().values_list("project", "k", BEFORE_K, n_counted)


def lacking_answers(project: Project) -> int:
    """Count the answers that items lack of k, without those that nobody is left to give."""
    given_up = unanswerable(project).filter(free__gt=F("extra")).order_by().aggregate(n=Sum(BEFORE_K))["n"]
    return lacking([project])[project.pk].answers - (given_up or 0)
