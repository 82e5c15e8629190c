"""What the settled items of a project came to, and how many answers stand behind an item."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, F, IntegerField, Max, Min
from django.db.models.expressions import Func
from django.db.models.functions import Coalesce

from annotation.models import Item, Project
from annotation.testset import Kind


class JsonLength(Func):
    """How many entries a list within a JSON column has."""

    output_field = IntegerField()

    def __init__(self, column: str, key: str) -> None:
        super().__init__(F(column))
        self.key = key  # one of our own names, never a person's word

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(
            compiler, connection, template=f"JSON_ARRAY_LENGTH(%(expressions)s, '$.{self.key}')"
        )

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(
            compiler, connection, template=f"JSONB_ARRAY_LENGTH(%(expressions)s->'{self.key}')"
        )


def settled_by_label_count(project: Project) -> dict[str, int]:
    """Settled items by the number of labels that were accepted; none is N/A."""
    key = "relations" if project.kind == Kind.RELATIONS else "spans"
    settled = project.items.live().filter(state=Item.State.SETTLED).order_by()
    rows = settled.annotate(n_labels=JsonLength("gold", key)).values_list("n_labels").annotate(n=Count("pk"))
    found = dict(sorted(rows))
    none = {"N/A": found.pop(0)} if 0 in found else {}
    return {f"{n} label{'s' * (n > 1)}": found[n] for n in found} | none


def answers_per_item(project: Project) -> tuple[int, int]:
    """The least and the most answers that an item of the project is to have: an import may say otherwise."""
    live = project.items.live().order_by()
    told = live.annotate(each=Coalesce("k", project.k)).aggregate(least=Min("each"), most=Max("each"))
    return (told["least"] or project.k, told["most"] or project.k)


def range_text(each: tuple[int, int]) -> str:
    """4, or 7 to 20."""
    least, most = each
    return str(least) if least == most else f"{least} to {most}"
