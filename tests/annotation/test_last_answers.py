"""The newest answer of each item, which triggers of the database keep, against the answers themselves."""

from __future__ import annotations

from uuid import uuid4

from django.db.models import Max

from annotation.models import Answer, Item, LastAnswer
from annotation.queue import votes
from tests.cast.projects import annotators, answer_item, import_lines, project_with_items


def stored() -> dict[int, int]:
    return dict(LastAnswer.objects.values_list("item", "vote"))


def newest() -> dict[int, int]:
    return dict(Answer.objects.order_by().values_list("item").annotate(Max("vote")))


def test_the_newest_answer_follows_answers_changes_skips_imports_and_deletions(either_database: str) -> None:
    project = project_with_items(4)
    ann, bob = annotators(project, 2)
    s0, s1, s2, _ = project.items.order_by("rank")
    for item in (s0, s1, s2):
        answer_item(item, ann, "A")
    answer_item(s0, bob, "A")
    answer_item(s0, ann, "B", base=1)
    assert stored() == newest()
    assert stored()[s0.pk] == s0.votes.get(number=2).pk
    votes.skip(s0, ann, reason="undecided", client_id=uuid4(), base=2)
    votes.skip(s1, ann, reason="undecided", client_id=uuid4(), base=1)
    assert stored() == newest()
    assert {*stored()} == {s0.pk, s2.pk}
    batch = import_lines(
        project, [{"item": f"s{at}", "annotator": "Kim", "labels": ["A"]} for at in (1, 2, 3)], what="votes"
    )
    assert stored() == newest()
    assert len(stored()) == 4
    batch.delete()
    Item.objects.filter(pk=s2.pk).delete()
    assert stored() == newest()
    assert {*stored()} == {s0.pk}
