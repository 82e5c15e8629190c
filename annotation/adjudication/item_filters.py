"""Filters of items by a label, and by the remarks of people."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from annotation.consensus.rules import Rules
from annotation.models import Answer, Item, OntologyLabel, Project, Vote
from annotation.ontology.label_usage import HasLabel

MOST_CHARACTERS = 25_000_000  # of answers that are searched for a label: about half a second
REMARKS = {"comment": ~Q(comment=""), "flag": Q(flagged=True), "any": Q(flagged=True) | ~Q(comment="")}


def with_remark(items: QuerySet[Item], remark: str, votes: QuerySet[Vote] | None = None) -> QuerySet[Item]:
    """Keep items with such a remark in somebody's newest vote, or in one of `votes` (of the outer item)."""
    own = Vote.objects.filter(item=OuterRef("item"), annotator=OuterRef("annotator"))
    later = own.filter(pk__gt=OuterRef("pk"))
    rows = Vote.objects.filter(item=OuterRef("pk")) if votes is None else votes
    return items.filter(Exists(rows.filter(REMARKS[remark], ~Exists(later))))


def with_label(
    project: Project, items: QuerySet[Item], label: str, unread: Collection[int] = ()
) -> QuerySet[Item]:
    """Keep items with the label in an answer, or in their outcome unless they are `unread`."""
    mapping = Rules(project).mapping
    names = OntologyLabel.objects.filter(project=project).values_list("name", flat=True)
    raw = {name for name in names if label in mapping.labels([name])}
    answers = Answer.objects.filter(item=OuterRef("pk")).active()
    found = answers.filter(HasLabel("payload", raw, kind=project.kind))
    # for EXISTS, PostgreSQL reads the answers of all projects once many items wait
    in_answer = Q(pk=Subquery(found.values("item")[:1]))
    in_outcome = Q(HasLabel("gold", {label}, kind=project.kind)) & ~Q(pk__in=unread)
    return items.filter(in_outcome | in_answer)
