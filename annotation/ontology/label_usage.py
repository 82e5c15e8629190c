"""Labels in answers and gold, counted by the database."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import Aggregate, BooleanField, F, Func, Q, QuerySet, TextField
from django.db.models.functions import Cast

from annotation.consensus import recomputation
from annotation.consensus.rules import Rules, labels_in
from annotation.models import Answer, KnownAnswer, Project, SourceLabels, Vote
from annotation.testset import Kind
from evalsvc.core.formats.label_mapping import LabelMapping

JUST_NOW = timedelta(hours=1)  # longer than writing one vote takes

# The lists of a payload that name labels, and the place of the label in each entry.
PLACES: dict[str, tuple[tuple[str, int | None], ...]] = {
    Kind.RELATIONS: (("relations", None),),
    Kind.ENTITIES: (("spans", 2),),
    Kind.JOINT: (("spans", 2), ("relations", 1)),
}


class LabelsText(Func):
    """The labels in a payload as text: JSON lists joined by commas."""

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


class HasLabel(Func):
    """Whether a payload has one of the labels; it is read once, however many they are."""

    output_field = BooleanField()

    def __init__(self, payload: str, labels: Collection[str], *, kind: str) -> None:
        super().__init__(payload)
        self.labels, self.places = sorted(labels), PLACES[kind]

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        paths = (f"$.{name}[*]" + ("" if at is None else f"[{at}]") for name, at in self.places)
        return self._any_of(
            compiler, [f"jsonb_path_query_array({{}}, '{path}') ?| %s" for path in paths], self.labels
        )

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        entries = [
            f"EXISTS(SELECT 1 FROM JSON_EACH({{}}, '$.{name}') AS entry WHERE "  # noqa: S608
            + ("entry.value" if at is None else f"JSON_EXTRACT(entry.value, '$[{at}]')")
            + " IN (SELECT value FROM JSON_EACH(%s)))"
            for name, at in self.places
        ]
        return self._any_of(compiler, entries, json.dumps(self.labels))

    def _any_of(self, compiler: Any, conditions: list[str], labels: Any) -> tuple[str, list[Any]]:
        payload, params = compiler.compile(self.source_expressions[0])
        joined = " OR ".join(condition.format(payload) for condition in conditions)
        return f"({joined})", [*params, labels] * len(conditions)


class JoinDistinct(Aggregate):
    """The distinct texts of a group, joined by commas."""

    output_field = TextField()
    template = "GROUP_CONCAT(DISTINCT %(expressions)s)"

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:
        return self.as_sql(compiler, connection, template="STRING_AGG(DISTINCT %(expressions)s, ',')", **more)


def _joined(lists: list[str]) -> str:
    return "(" + " || ',' || ".join(lists) + ")"


def label_sets_of_items(project: Project, answers: QuerySet[Answer]) -> Iterator[tuple[str, set[str], int]]:
    """Yield item states with chosen labels and the number of items."""
    mapping = Rules(project).mapping
    if project.kind == Kind.JOINT and mapping:  # a relation goes with its deleted span
        chosen: dict[tuple[int, str], set[str]] = defaultdict(set)
        payloads = answers.order_by().values_list("item", "item__state", "payload")
        for item, state, payload in payloads.iterator(2_000):
            chosen[item, state] |= labels_in(mapping.payload(payload).payload)
        yield from ((state, names, 1) for (_, state), names in chosen.items())
        return
    labels = JoinDistinct(LabelsText("payload", kind=project.kind))
    rows = answers.order_by().values("item", state=F("item__state")).annotate(labels=labels)
    for state, names, n in _grouped(rows, "state", "labels"):
        yield state, set(mapping.labels(names)), n


def count_in_gold(project: Project) -> Counter[str]:
    """Count the items whose gold has each current label."""
    golds = project.items.live().exclude(gold=None).order_by()
    rows = golds.annotate(labels=LabelsText("gold", kind=project.kind)).values("labels")
    counts: Counter[str] = Counter()
    for names, n in _grouped(rows, "labels"):
        counts.update(dict.fromkeys(names, n))
    return counts


def count_emptied(project: Project, sealed: QuerySet[SourceLabels], mapping: LabelMapping) -> int:
    """Count source labels that deletions left empty; relations go with their spans."""
    if not mapping.deletes:
        return 0
    kind = Kind.ENTITIES if project.kind == Kind.JOINT else project.kind
    rows = sealed.order_by().annotate(names=LabelsText("labels", kind=kind)).values("names")
    return sum(n for names, n in _grouped(rows, "names") if names and not mapping.labels(names))


def _grouped(rows: QuerySet[Any], *by: str) -> Iterator[tuple[Any, ...]]:
    """Yield distinct rows, the last column as names, with their count."""
    sql, params = rows.query.get_compiler(connection=connection).as_sql()
    columns = ", ".join(by)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns}, COUNT(*) FROM ({sql}) AS each GROUP BY {columns}", params)  # noqa: S608
        groups = cursor.fetchall()
    for *head, text, n in groups:
        yield *head, names_in(text), n


def names_in(text: str | None) -> set[str]:
    """Return the labels in the text of `LabelsText`, or of several."""
    return {name for names in json.loads(f"[{text or ''}]") for name in names}


# ---- before a label is removed --------------------------------------------------------------------
def votes_with_label(project: Project, name: str, *, since: Any) -> int:
    """Count the votes since then that use this label."""
    votes = Vote.objects.filter(item__project=project, at__gte=since, payload__isnull=False)
    return _count_with_label(votes, name)


def is_in_gold_question(project: Project, name: str, **which: str) -> bool:
    """Tell if a gold question's answer uses this label."""
    return _count_with_label(KnownAnswer.objects.filter(item__project=project, **which), name) > 0


def _count_with_label(rows: QuerySet[Any], name: str) -> int:
    """Count rows whose payload has the label, filtering by text first."""
    spellings = (json.dumps(name), json.dumps(name, ensure_ascii=False))
    likely = rows.annotate(text=Cast("payload", TextField())).filter(
        Q(text__contains=spellings[0]) | Q(text__contains=spellings[1])
    )
    payloads = likely.order_by().values_list("payload", flat=True).iterator()
    return sum(name in labels_in(payload) for payload in payloads)


def wait_for_running_votes(project: Project) -> None:
    """Wait for votes being written; later votes see the changed project.

    The caller has locked the project's row against other changes of its labels. Where all items are
    recomputed in the same transaction, lock the items, as a vote does before it reads the project. Where a
    job recomputes them, lock the project's row exclusively: votes take a shared lock on it.
    """
    if recomputation.is_recomputed_at_once(project):
        list(project.items.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    else:
        Project.objects.select_for_update().get(pk=project.pk)
