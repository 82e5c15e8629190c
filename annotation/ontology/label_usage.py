"""Which labels answers name, told by the database: it reads the JSON and groups what is alike."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.db.models import Aggregate, F, Func, QuerySet, TextField

from annotation.consensus import item_state
from annotation.consensus.label_mapping import LabelMapping
from annotation.models import Answer, Project, SourceLabels
from annotation.testset import Kind

# Where an answer of each kind names labels: a list, and the place of the label in each entry of it.
PLACES: dict[str, tuple[tuple[str, int | None], ...]] = {
    Kind.RELATIONS: (("relations", None),),
    Kind.ENTITIES: (("spans", 2),),
    Kind.JOINT: (("spans", 2), ("relations", 1)),
}


class LabelsText(Func):
    """The labels in a payload as text: JSON lists with commas between them."""

    output_field = TextField()

    def __init__(self, payload: str, *, kind: str) -> None:
        super().__init__(payload)
        self.places = PLACES[kind]

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        paths = (f"$.{name}[*]" + ("" if at is None else f"[{at}]") for name, at in self.places)
        lists = [f"jsonb_path_query_array(%(expressions)s, '{path}')::text" for path in paths]
        return self.as_sql(compiler, connection, template=_joined(lists), **more)

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        lists = [
            f"JSON_EXTRACT(%(expressions)s, '$.{name}')"
            if at is None
            else f"(SELECT JSON_GROUP_ARRAY(JSON_EXTRACT(entry.value, '$[{at}]'))"  # noqa: S608
            f" FROM JSON_EACH(%(expressions)s, '$.{name}') AS entry)"
            for name, at in self.places
        ]
        return self.as_sql(compiler, connection, template=_joined(lists), **more)


class JoinDistinct(Aggregate):
    """What the rows of a group say, each once, with commas between."""

    output_field = TextField()
    template = "GROUP_CONCAT(DISTINCT %(expressions)s)"

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="STRING_AGG(DISTINCT %(expressions)s, ',')", **more)


def _joined(lists: list[str]) -> str:
    return "(" + " || ',' || ".join(lists) + ")"


def label_sets_of_items(project: Project, answers: QuerySet[Answer]) -> Iterator[tuple[str, set[str], int]]:
    """A state, today's labels that anybody chose on an item, and on how many items it was just these."""
    mapping = item_state.Rules(project).mapping
    if project.kind == Kind.JOINT and mapping:  # what hangs on a deleted span goes with it
        yield from _one_by_one(answers, mapping)
        return
    said = JoinDistinct(LabelsText("payload", kind=project.kind))
    rows = answers.order_by().values("item", state=F("item__state")).annotate(said=said)
    for state, names, n in _grouped(rows, "state", "said"):
        yield state, set(mapping.labels(names)), n


def _one_by_one(answers: QuerySet[Answer], mapping: LabelMapping) -> Iterator[tuple[str, set[str], int]]:
    chosen: dict[tuple[int, str], set[str]] = defaultdict(set)
    rows = answers.order_by().values_list("item", "item__state", "payload")
    for item, state, payload in rows.iterator(2_000):
        chosen[item, state] |= item_state.labels_in(mapping.payload(payload).payload)
    return ((state, names, 1) for (_, state), names in chosen.items())


def count_in_gold(project: Project) -> Counter[str]:
    """On how many items each of today's labels is gold."""
    golds = project.items.live().exclude(gold=None).order_by()
    rows = golds.annotate(said=LabelsText("gold", kind=project.kind)).values("said")
    found: Counter[str] = Counter()
    for names, n in _grouped(rows, "said"):
        found.update(dict.fromkeys(names, n))
    return found


def count_emptied(project: Project, labels: QuerySet[SourceLabels], mapping: LabelMapping) -> int:
    """How many of these said something of which the deletions left nothing; relations go with their spans."""
    kind = Kind.ENTITIES if project.kind == Kind.JOINT else project.kind
    rows = labels.order_by().annotate(said=LabelsText("labels", kind=kind)).values("said")
    return sum(n for names, n in _grouped(rows, "said") if names and not mapping.labels(names))


def _grouped(rows: QuerySet[Any], *by: str) -> Iterator[tuple[Any, ...]]:
    """Rows that are alike once, the names in the last of these columns read, and how many rows there are."""
    sql, params = rows.query.get_compiler(connection=connection).as_sql()
    columns = ", ".join(by)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns}, COUNT(*) FROM ({sql}) AS each GROUP BY {columns}", params)  # noqa: S608
        found = cursor.fetchall()
    return ((*head, _names(said), n) for *head, said, n in found)


def _names(said: str | None) -> set[str]:
    return {name for part in json.loads(f"[{said or ''}]") for name in part}
