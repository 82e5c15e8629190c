"""The newest answer of each item, which triggers of the database keep, against the answers themselves."""

from __future__ import annotations

from uuid import uuid4

from django.db.models import F, Max

from annotation.adjudication import decisions
from annotation.models import Answer, Item, LastAnswer
from annotation.queue import votes
from tests.cast.projects import annotators, answer_item, curator, import_lines, project_with_items


def stored() -> dict[int, int]:
    return dict(LastAnswer.objects.values_list("item", "vote"))


def is_in_step() -> bool:
    """True if each stored state is that of its item."""
    return not LastAnswer.objects.exclude(state=F("item__state")).exists()


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
    decisions.exclude_item(s2, by=curator(), finding="broken")
    assert set(LastAnswer.objects.values_list("state", flat=True)) == {"open", "disputed", "unusable"}
    assert is_in_step()
    votes.skip(s0, ann, reason="undecided", client_id=uuid4(), base=2)
    votes.skip(s1, ann, reason="undecided", client_id=uuid4(), base=1)
    assert stored() == newest()
    assert {*stored()} == {s0.pk, s2.pk}
    batch = import_lines(
        project, [{"item": f"s{at}", "annotator": "Kim", "labels": ["A"]} for at in (1, 2, 3)], what="votes"
    )
    assert stored() == newest()
    assert len(stored()) == 4
    assert is_in_step()
    batch.delete()
    Item.objects.filter(pk=s2.pk).delete()
    assert stored() == newest()
    assert {*stored()} == {s0.pk}
