"""Lists of disputes and unanswerable items, by vote pattern, label and remark."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import Case, Count, F, OuterRef, Q, QuerySet, Subquery, Sum, TextField, Value, When
from django.db.models.functions import Cast, Length

from annotation.adjudication import unanswerable_items
from annotation.adjudication.item_filters import MOST_CHARACTERS, REMARKS, with_label, with_remark
from annotation.models import Answer, Item, ItemCount, Project
from evalsvc.core.errors.exceptions import DomainError

MOST_SEARCHED = 50_000  # disputes in which a label is looked for


@dataclass(frozen=True, slots=True)
class DisputeFilters:
    """Which disputes to list: those with all of these; empty values filter nothing.

    `label` is in an answer; `remark` is `flag`, `comment` or `any`, in somebody's newest answer.
    """

    pattern: str = ""
    label: str = ""
    remark: str = ""

    def __post_init__(self) -> None:
        if self.remark and self.remark not in REMARKS:
            detail = f"Unknown remark {self.remark[:40]!r}. Use one of: {', '.join(REMARKS)}."
            raise DomainError("invalid_input", detail, field="remark")

    def __bool__(self) -> bool:
        return bool(self.pattern or self.label or self.remark)

    @property
    def query(self) -> str:
        """Return the filters as the query of an address, with its question mark."""
        values = {name: value for name, value in asdict(self).items() if value}
        return f"?{urlencode(values)}" if values else ""


def disputes(project: Project, filters: DisputeFilters = DisputeFilters()) -> QuerySet[Any]:
    """Return disputed and unanswerable items.

    They are ordered by `split` (the vote pattern, or unanswerable), then by rank. A label is looked for
    in the first of them only, if answers are long.
    """
    waiting, _ = searched(project, filters)
    if filters.label:
        waiting = with_label(project, waiting, filters.label)
    return with_remark(waiting, filters.remark) if filters.remark else waiting


def searched(project: Project, filters: DisputeFilters) -> tuple[QuerySet[Any], int]:
    """Return the disputes of a pattern to look for a label in, and their number if these aren't all."""
    waiting = _waiting(project, filters.pattern)
    if not filters.label:
        return waiting, 0
    spent = 0
    answers = Answer.objects.filter(item=OuterRef("pk")).order_by().values("item")
    sizes = answers.annotate(size=Sum(Length(Cast("payload", TextField())))).values("size")
    rows = waiting.values_list("split", "rank", Subquery(sizes))
    for n, (split, rank, size) in enumerate(rows.iterator()):
        spent += size or 0
        if (n and spent > MOST_CHARACTERS) or n == MOST_SEARCHED:
            return waiting.filter(Q(split__lt=split) | Q(split=split, rank__lt=rank)), n
    return waiting, 0


def _waiting(project: Project, pattern: str) -> QuerySet[Any]:
    passed = unanswerable_items.unanswerable_ids(project)
    live: QuerySet[Item] = project.items.live()
    if not passed:  # an index has them in this order
        disputed = live.filter(state=Item.State.DISPUTED, **({"pattern": pattern} if pattern else {}))
        return disputed.annotate(split=F("pattern")).order_by("pattern", "rank")
    split = Case(
        When(state=Item.State.OPEN, then=Value(unanswerable_items.UNANSWERABLE)), default=F("pattern")
    )
    waiting = live.filter(Q(state=Item.State.DISPUTED) | Q(pk__in=passed)).annotate(split=split)
    return (waiting.filter(split=pattern) if pattern else waiting).order_by("split", "rank")


def next_dispute(item: Item, filters: DisputeFilters = DisputeFilters()) -> UUID | None:
    """Return the key of the dispute after this item, going round."""
    others = disputes(item.project, filters).exclude(pk=item.pk)
    kind = dispute_kind(item)
    later = others.filter(split__gte=kind).exclude(split=kind, rank__lte=item.rank)
    keys = (rows.values_list("key", flat=True).first() for rows in (later, others))
    return next((key for key in keys if key), None)


def count_by_pattern(project: Project, filters: DisputeFilters = DisputeFilters()) -> Counter[str]:
    """Count disputed and unanswerable items by `split`, those with the label and remark of the filters."""
    if filters.label or filters.remark:
        of_all = disputes(project, replace(filters, pattern="")).order_by()
        return Counter(dict(of_all.values_list("split").annotate(n=Count("pk"))))
    disputed = ItemCount.objects.live(project).filter(state=Item.State.DISPUTED).order_by()
    rows = disputed.values_list("pattern").annotate(total=Sum("n")).filter(total__gt=0)
    counts = Counter({pattern: int(total) for pattern, total in rows})
    if passed := len(unanswerable_items.unanswerable_ids(project)):
        counts[unanswerable_items.UNANSWERABLE] = passed
    return counts


def dispute_kind(item: Item) -> str:
    """Return the item's pattern, or that it is unanswerable."""
    return unanswerable_items.UNANSWERABLE if item.state == Item.State.OPEN else item.pattern
