"""Each statement gives what its ORM query gives, on both databases."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models import Q
from django.utils import timezone

from annotation import roles
from annotation.models import (
    Adjudication,
    Annotator,
    Answer,
    Batch,
    Item,
    ItemCount,
    Lease,
    Member,
    Project,
    Vote,
)
from annotation.queue import lease_endings, leases, own_votes, sql
from annotation.queue.available_items import assignable_items
from annotation.queue.participants import annotator_of
from evalsvc.core.accounts.models import User
from evalsvc.core.database import _text
from tests.cast.basics import sentence
from tests.cast.projects import annotators, answer_item, import_lines, project_with_items


def fields(row: object) -> dict[str, object]:
    return {name: value for name, value in vars(row).items() if not name.startswith("_")}


@pytest.mark.django_db(transaction=True)
def test_each_query_reads_the_rows_of_its_orm_query(either_database: str) -> None:
    project = project_with_items(5, k=2)
    ann, bob = annotators(project, 2)
    stranger = User.objects.create_user("stranger")
    answered = project.items.get(external_id="s0")
    first_vote = answer_item(answered, ann, "A").vote
    answer_item(answered, bob, "B")
    staged = import_lines(project, [{"item": "s0", "annotator": "cy", "labels": ["A"]}], what="votes")
    assert staged.counts["answers"] == 1
    lease = leases.lease_next(project, ann)
    assert lease is not None
    returned = leases.lease_next(project, ann, current_leases=[lease.pk])
    assert returned is not None
    lease_endings.return_lease(returned.pk, ann)
    import_lines(project, [sentence(at) for at in range(5, 7)])
    unfinished = (staged.pk, project.items.get(external_id="s6").batch_id)
    Batch.objects.filter(pk__in=unfinished).update(state="running")
    annotator = annotator_of(project, ann)
    Annotator.objects.filter(pk=annotator.pk).update(cursor=2)
    who = {"project": project.pk, "user": ann.pk}
    with transaction.atomic():
        for statement in (sql.PROJECT, sql.PROJECT_SHARED):
            (row,) = sql.fetch(Project, statement, project=project.pk)
            assert fields(row) == fields(Project.objects.get(pk=project.pk))
        for state, n in (("", 0), ("check", 2)):
            Item.objects.filter(project=project, external_id__in=("s3", "s4")).update(use=state)
            checks = ItemCount.objects.filter(batch__project=project, use=Item.Use.CHECK).total()
            assert (checks, bool(sql.value(sql.HAS_CHECKS, project=project.pk))) == (n, n > 0)
        Item.objects.filter(project=project).update(use="")
        visible = roles.visible_project(ann, project.slug)
        assert fields(visible) == fields(roles.visible_projects(ann).get(slug=project.slug))
        assert roles.visible_project(stranger, project.slug) is None
        annotator = Annotator.objects.get(project=project, user=ann)
        (row,) = sql.fetch(Annotator, sql.PARTICIPANT, **who)
        assert fields(row) == fields(annotator) | {"role": Member.Role.ANNOTATOR}
        (row,) = sql.fetch(Annotator, sql.VOTER, **who, item=answered.pk, client_id=first_vote.client_id)
        more = {
            "role": "annotator",
            "last_number": 1,
            "last_guideline": 1,
            "earlier_vote": first_vote.pk,
        }
        assert fields(row) == fields(annotator) | more
        (row,) = sql.fetch(Annotator, sql.VOTER, **who, item=lease.item_id, client_id=uuid4())
        assert fields(row) == fields(annotator) | more | dict.fromkeys(
            ("last_number", "last_guideline", "earlier_vote")
        )

        active = Lease.objects.filter(annotator=annotator, ending="").order_by("pk")
        read = sql.fetch(Lease, sql.ACTIVE_LEASES, annotator=annotator.pk)
        assert [fields(row) for row in read] == [fields(row) for row in active] != []
        for statement, once in product((sql.NEXT_ITEMS, sql.NEXT_UNLOCKED_ITEMS), (False, True)):
            project.check_every = 3 if once else 0
            assignable = assignable_items(project, annotator)
            assert (returned.item in assignable) is not once
            for first, n in ((0, 10), (3, 2), (4, 1)):
                where = {"project": project.pk, "annotator": annotator.pk, "once": once}
                read_items = sql.fetch(Item, statement, **where, first=first, last=99, n=n)
                items = assignable.defer(None).filter(rank__gte=first)[:n]
                assert [fields(row) for row in read_items] == [fields(row) for row in items] != []
        touched = Item.objects.filter(project=project, votes__annotator=annotator)
        assert [item.free for item in touched] == [0]
        voted = {"project": project.pk, "annotator": annotator.pk}
        for free, n in ((1, 1), (0, 0)):
            touched.update(free=free)
            assert sql.value(sql.VOTED_ITEMS_WITH_ROOM, **voted) == n
        (row,) = sql.fetch(Vote, sql.LAST_VOTE, item=answered.pk, annotator=annotator.pk)
        assert fields(row) == fields(Vote.objects.get(pk=first_vote.pk))

        (row,) = sql.fetch(Item, sql.ITEM_BY_KEY, key=answered.key)
        stored = fields(Item.objects.get(pk=answered.pk))
        assert fields(row) == stored | {"gold": None, "batch_state": "done"}
        read_answers = sql.fetch(Answer, sql.ANSWERS, item=answered.pk)
        answers = list(Answer.objects.filter(item=answered))
        active = set(Answer.objects.filter(item=answered).active())
        assert [fields(row) for row in read_answers] == [
            fields(row) | {"active": row in active} for row in answers
        ]
        assert (len(answers), len(active)) == (3, 2)
        decided = [
            Adjudication.objects.create(
                item=answered, by=ann, payload={}, votes_key=key, client_id=uuid4(), **more
            )
            for key, more in (("1", {"lapsed": True}), ("2", {}), ("3", {"lapsed": False}))
            for more in [more | ({"reopened_at": timezone.now()} if key != "2" else {})]
        ]
        read_decisions = sql.fetch(Adjudication, sql.DECISIONS, item=answered.pk)
        applicable = Adjudication.objects.filter(item=answered).applicable()
        assert [fields(row) for row in read_decisions] == [fields(row) for row in applicable]
        assert [row.pk for row in read_decisions] == [decided[1].pk, decided[0].pk]
        of_item = Lease.objects.filter(Q(ending="") | Q(annotator=annotator), item=lease.item_id)
        read = sql.fetch(Lease, sql.LEASES_OF_ITEM, item=lease.item_id, annotator=annotator.pk)
        assert [fields(row) for row in read] == [fields(row) for row in of_item.order_by("pk")] != []


@pytest.mark.django_db(transaction=True)
def test_each_change_writes_what_the_orm_would(either_database: str) -> None:
    project = project_with_items(2, k=2)
    (ann,) = annotators(project, 1)
    annotator, item = annotator_of(project, ann), project.items.get(external_id="s0")
    here = {"item": item.pk, "annotator": annotator.pk}

    assert sql.execute(sql.TAKE_ITEM, item=item.pk) == 1
    assert Item.objects.get(pk=item.pk).free == item.free - 1
    Item.objects.filter(pk=item.pk).update(free=0)
    assert sql.execute(sql.TAKE_ITEM, item=item.pk) == 0

    (lease,) = sql.fetch(Lease, sql.GRANT_LEASE, **here, shown=None, lasting="30 minutes")
    assert fields(lease) == fields(Lease.objects.get(pk=lease.pk))
    assert lease.expires_at - lease.granted_at == pytest.approx(
        timedelta(minutes=30), abs=timedelta(seconds=1)
    )
    assert abs(lease.granted_at - timezone.now()) < timedelta(minutes=1)
    assert not Lease.objects.filter(pk=lease.pk, expires_at__lte=timezone.now()).exists()
    for ending, free in (("withdrawn", 1), ("answered", 0)):
        Item.objects.filter(pk=item.pk).update(free=1)
        Lease.objects.filter(pk=lease.pk).update(ending=ending)
        assert sql.execute(sql.TAKE_ITEM_AGAIN, **here) == 1 - free
        assert Item.objects.get(pk=item.pk).free == free
    for ending, counts, n in (("", False, 1), ("withdrawn", False, 0), ("withdrawn", True, 1)):
        Lease.objects.filter(pk=lease.pk).update(ending=ending)
        assert sql.execute(sql.END_LEASE, **here, counts=counts, ending="answered") == n
    assert sql.execute(sql.END_LEASE, **here, counts=True, ending="skipped") == 0
    assert Lease.objects.get(pk=lease.pk).ending == "answered"

    position = {"cursor": 7, "since_check": 3, "check_block": 2}
    assert sql.execute(sql.SAVE_POSITION, annotator=annotator.pk, **position) == 1
    assert Annotator.objects.filter(pk=annotator.pk, **position).exists()

    payload = {"spans": [], "relations": ["100 %s “é”"]}
    values: dict[str, Any] = {"client_id": uuid4(), "number": 1, "act": "answer", "payload": payload}
    values |= {"reason": "", "comment": "100 %", "flagged": True, "milliseconds": None, "aside": False}
    values["guideline"] = 3
    (vote,) = sql.fetch(Vote, sql.ADD_VOTE, **here, **values, shown=None)
    assert fields(vote) == fields(Vote.objects.get(pk=vote.pk))
    assert {name: getattr(vote, name) for name in values} == values
    (skip,) = sql.fetch(
        Vote,
        sql.ADD_VOTE,
        **here,
        **values | {"client_id": uuid4(), "number": 2, "payload": None},
        shown=None,
    )
    assert Vote.objects.filter(pk=skip.pk, payload__isnull=True).exists()
    values = {"payload": payload, "position": 1, "set_aside": False, "aside": None, "guideline": 2}
    values |= {"first_rules": "rules", "again": True}
    (answer,) = sql.fetch(Answer, sql.ADD_ANSWER, **here, vote=vote.pk, **values)
    assert fields(answer) == fields(Answer.objects.get(pk=answer.pk))
    assert {name: getattr(answer, name) for name in values} == values
    assert own_votes.last_vote_number(lease) == 2


@pytest.mark.django_db
def test_no_item_is_looked_up_under_every_import_of_its_project() -> None:
    """A project of 400 imports took 400 look-ups for each sentence that the person voted on."""
    plan = "EXPLAIN QUERY PLAN " + sql.VOTED_ITEMS_WITH_ROOM
    with connection.cursor() as cursor:
        cursor.execute(_text(plan, "sqlite"), {"project": 1, "annotator": 1})
        steps = [row[3] for row in cursor.fetchall()]
    assert any("USING INDEX item_room" in step or "COVERING INDEX item_room" in step for step in steps)
    assert not any("batch_id=?" in step for step in steps)
