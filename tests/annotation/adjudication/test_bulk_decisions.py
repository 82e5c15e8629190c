"""Disputes of one vote pattern decided together: previewed, with a reason, never over a decision."""

from __future__ import annotations

import json
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import bulk_decisions, decisions, dispute_list
from annotation.adjudication.bulk_decisions import LEADING, NA
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.adjudication.unanswerable_items import UNANSWERABLE
from annotation.consensus import recomputation
from annotation.freezing.provenance import ProvenanceWriter
from annotation.models import Adjudication, Item, Project
from annotation.ontology import plans
from annotation.queue import votes
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import entries
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from tests.cast.basics import sentence
from tests.cast.projects import (
    adjudicator,
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)
from tests.cast.replay import replayed

pytestmark = pytest.mark.django_db
PATTERN = "1 against 2 N/A"


@replayed
def project() -> Project:
    """Four disputes: two of the pattern with A, one with B, and one of three different answers."""
    made = project_with_items(4, k=3, policy="majority")
    for at, answers in enumerate([(["A"], [], []), (["A"], [], []), ([], ["B"], []), (["A"], ["B"], ["C"])]):
        answered_item(made, *answers, item=f"s{at}")
    return made


def gold(of: Project) -> list[object]:
    return [item.gold and item.gold["relations"] for item in of.items.order_by("rank")]


def states(of: Project) -> list[str]:
    return list(of.items.order_by("rank").values_list("state", flat=True))


def test_decisions_made_together_are_undone_with_those_that_lapsed() -> None:
    """Some came back by themselves once a change of labels was undone, or a sentence was included."""
    made = project()
    bulk = decided(made)
    plan = plans.apply_plan(made, plans.planned([{"operation": "delete", "sources": ["A"]}]), by=curator())
    third = made.items.get(external_id="s2")
    decisions.exclude_item(third, by=curator(), finding="broken")
    assert Adjudication.objects.filter(bulk=bulk, lapsed=True).count() == 3
    assert bulk_decisions.undo(made, bulk, by=curator(), preview=True) == 3
    assert bulk_decisions.undo(made, bulk, by=curator()) == 3
    with pytest.raises(Conflict, match="All of these decisions are undone"):
        bulk_decisions.undo(made, bulk, by=curator())
    plans.undo_plan(made, plan[0].number, by=curator())
    decisions.reopen(third, by=curator())
    assert states(made) == ["disputed"] * 4


def test_nothing_is_decided_together_while_states_wait_for_recomputation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = project()
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    projects.set_k(made, k=4, by=curator())
    with pytest.raises(Conflict, match="being recomputed"):
        decided(made)


def decided(of: Project, answer: str = NA, *, by: User | None = None, **filters: str) -> UUID:
    chosen, by = DisputeFilters(**{"pattern": PATTERN} | filters), by or curator()
    bulk, key = uuid4(), bulk_decisions.preview(of, chosen, answer, by=by).key
    bulk_decisions.decide_all(of, chosen, answer, reason="One is not enough.", key=key, client_id=bulk, by=by)
    return bulk


def test_all_disputes_of_the_pattern_get_the_answer_and_no_other() -> None:
    made = project()
    decided(made)
    assert gold(made) == [[], [], [], None]
    assert set(Adjudication.objects.values_list("reason", flat=True)) == {"One is not enough."}
    (entry,) = [each for each in entries(made) if each.action == "disputes decided in bulk"]
    assert (entry.after["pattern"], entry.after["decided"]) == (PATTERN, 3)


def test_the_leading_label_is_adopted_and_ties_are_left() -> None:
    made = project()
    decided(made, LEADING)
    assert gold(made) == [["A"], ["A"], ["B"], None]
    seen = bulk_decisions.preview(made, DisputeFilters("1–1–1"), LEADING, by=curator())
    assert (seen.items, seen.tied) == ([], 1)


def test_a_label_and_flags_narrow_the_disputes() -> None:
    made = project()
    listed = dispute_list.disputes(made, DisputeFilters(label="B"))
    assert [item.external_id for item in listed] == ["s2", "s3"]
    answer_item(made.items.get(external_id="s0"), annotators(made, 3)[0], "A", base=1, flagged=True)
    assert [item.external_id for item in dispute_list.disputes(made, DisputeFilters(remark="flag"))] == ["s0"]
    answer_item(made.items.get(external_id="s0"), annotators(made, 3)[0], "A", base=2)
    assert not dispute_list.disputes(made, DisputeFilters(remark="flag"))  # taken back by the newest answer
    with pytest.raises(DomainError, match="Unknown remark"):
        DisputeFilters(remark="stars")
    decided(made, label="B")
    assert gold(made) == [None, None, [], None]


def test_nothing_is_decided_when_a_vote_changed_after_the_preview() -> None:
    made, filters = project(), DisputeFilters(PATTERN)
    key = bulk_decisions.preview(made, filters, NA, by=curator()).key
    answer_item(made.items.get(external_id="s1"), annotators(made, 3)[0], "B", base=1)
    with pytest.raises(Conflict, match="changed since the preview"):
        bulk_decisions.decide_all(made, filters, NA, reason="Why.", key=key, client_id=uuid4(), by=curator())
    assert gold(made) == [None] * 4


def test_a_decision_that_stands_is_never_replaced() -> None:
    made = project()
    item = made.items.get(external_id="s0")
    decisions.decide(
        item, by=adjudicator(made), payload={"relations": ["C"]}, client_id=uuid4(), votes_key=item.votes_key
    )
    decided(made)
    assert gold(made)[0] == ["C"]


def test_a_pattern_and_a_reason_are_needed() -> None:
    made = project()
    for pattern in ("", UNANSWERABLE):
        with pytest.raises(DomainError, match="pattern of votes"):
            bulk_decisions.preview(made, DisputeFilters(pattern), NA, by=curator())
    with pytest.raises(DomainError, match="Unknown answer"):
        bulk_decisions.preview(made, DisputeFilters(PATTERN), "A", by=curator())
    with pytest.raises(DomainError, match="State the reason"):
        bulk_decisions.decide_all(
            made, DisputeFilters(PATTERN), NA, reason=" ", key="", client_id=uuid4(), by=curator()
        )
    with pytest.raises(NotAllowed):
        bulk_decisions.preview(made, DisputeFilters(PATTERN), NA, by=annotators(made, 1)[0])


def test_the_same_decision_twice_is_made_once() -> None:
    made, filters = project(), DisputeFilters(PATTERN)
    key, bulk = bulk_decisions.preview(made, filters, NA, by=curator()).key, uuid4()
    sent = {"reason": "Why.", "key": key, "client_id": bulk, "by": curator()}
    assert [bulk_decisions.decide_all(made, filters, NA, **sent) for _ in range(2)] == [3, 3]
    assert Adjudication.objects.count() == 3


def test_decisions_made_together_are_undone_together() -> None:
    made = project()
    other = adjudicator(made)
    bulk = decided(made)
    with pytest.raises(NotAllowed):
        bulk_decisions.undo(made, bulk, by=other)
    assert bulk_decisions.undo(made, bulk, by=curator()) == 3
    assert gold(made) == [None] * 4
    assert entries(made)[0].action == "bulk decision undone"
    with pytest.raises(Conflict, match="All of these decisions are undone"):
        bulk_decisions.undo(made, bulk, by=curator())


def test_open_parts_of_spans_get_their_leading_answer_and_the_rest_stands() -> None:
    made = create_project("entities", k=3, labels=("PER", "LOC"))
    import_lines(made, [{"id": "d", "text": "Ann saw Bergen"}])
    projects.open_for_work(made, by=curator())
    ann, city, part = [0, 3, "PER"], [8, 14, "LOC"], [8, 14, "PER"]
    item = Item.objects.get(project=made)
    for user, spans in zip(annotators(made, 3), ([ann, city], [ann], [ann, part]), strict=True):
        votes.answer(item, user, client_id=uuid4(), payload={"spans": spans, "relations": []})
    item.refresh_from_db()
    assert item.state == "disputed"
    (seen,) = [bulk_decisions.preview(made, DisputeFilters(item.pattern), LEADING, by=curator())]
    assert seen.tied == 1  # LOC and PER have a vote each
    decided(made, pattern=item.pattern)
    item.refresh_from_db()
    assert item.gold["spans"] == [ann]


def test_disputes_with_many_spans_are_decided_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    made, chosen = project(), DisputeFilters(PATTERN)
    assert (len((whole := bulk_decisions.preview(made, chosen, NA, by=curator())).items), whole.more) == (
        3,
        False,
    )
    size = len(json.dumps({"spans": [], "relations": ["A"]}))
    for most, n in ((size * 7, 2), (1, 1)):
        monkeypatch.setattr(recomputation, "MOST_IN_REQUEST", most)
        part = bulk_decisions.preview(made, chosen, NA, by=curator())
        assert (part.items, part.more) == (whole.items[:n], True)
    for left in (2, 1, 0):
        decided(made)
        assert len(bulk_decisions.preview(made, chosen, NA, by=curator()).items) == min(left, 1)


def test_disputes_behind_tied_ones_are_reached(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    """Tied disputes never leave the list."""
    made = create_project("entities", k=2, labels=("PER", "LOC"))
    import_lines(made, [{"id": f"d{n}", "text": "Ann saw Bergen"} for n in range(3)])
    projects.open_for_work(made, by=curator())
    of_ann, of_bergen = [[0, 3, "PER"]], [[8, 14, "LOC"]]
    for n, second in enumerate(([[0, 3, "LOC"]], [[0, 3, "LOC"]], of_bergen)):
        item = Item.objects.get(external_id=f"d{n}")
        for user, spans in zip(annotators(made, 2), (of_ann, second), strict=True):
            votes.answer(item, user, client_id=uuid4(), payload={"spans": spans, "relations": []})
    (pattern,) = set(made.items.values_list("pattern", flat=True))
    monkeypatch.setattr(bulk_decisions, "MOST", 2)
    client.force_login(curator())
    address = reverse("disputes-bulk", args=[made.slug]) + f"?pattern={pattern}"
    first = client.post(address, {"action": "preview", "answer": LEADING, "reason": "R"})
    seen = first.context["seen"]
    assert (seen.items, seen.tied, seen.more) == ([], 2, True)
    with pytest.raises(Conflict, match="2 disputes looked at: all are tied"):
        decided(made, LEADING, pattern=pattern)
    sent = {"answer": LEADING, "reason": "R", "key": seen.key, "client_id": str(uuid4())}
    following = client.post(address, sent | {"action": "next", "last": str(seen.last)}).context
    assert [item.external_id for item, _ in following["seen"].items] == ["d2"]
    sent |= {"action": "decide", "key": following["seen"].key, "after": str(following["after"])}
    assert client.post(address, sent).status_code == 302
    assert made.items.get(external_id="d2").gold["spans"] == [*of_ann, *of_bergen]


def test_the_dispute_to_go_on_after_tells_no_hidden_check() -> None:
    """Annotators could ask an adjudicator which of their sentences exist."""
    made = project()
    import_lines(made, [sentence("plain")])
    import_lines(made, [sentence("check", relations=["A"])], known="check")
    replies = set()
    for name in ("plain", "check"):
        key = made.items.get(external_id=name).key
        with pytest.raises(DomainError) as caught:
            bulk_decisions.preview(made, DisputeFilters(PATTERN), NA, by=adjudicator(made), after=key)
        replies.add((caught.value.code, caught.value.detail.replace(str(key), "")))
    assert len(replies) == 1


def test_bulk_decisions_stand_through_recomputation_and_reach_the_release() -> None:
    made = project()
    decided(made)
    recomputation.recompute_after_change(made)
    assert gold(made)[:3] == [[], [], []]
    items = list(made.items.filter(state="adjudicated"))
    assert all(row["decision"]["in_bulk"] for row in ProvenanceWriter(made).of(items).values())


def test_disputes_are_filtered_and_decided_together_on_pages(client: Client) -> None:
    made = project()
    client.force_login(curator())
    url = reverse("disputes", args=[made.slug])
    listed = client.get(url, {"label": "B"})
    assert ("s2" in listed.content.decode(), "Decide these together" in listed.content.decode()) == (
        True,
        False,
    )
    named = {name: n for name, _, n in listed.context["patterns"]}
    assert (named[PATTERN], listed.context["matching"]) == (1, 2)  # of those with B
    assert client.get(reverse("disputes-bulk", args=[made.slug])).headers["Location"] == url
    page = reverse("disputes-bulk", args=[made.slug]) + DisputeFilters(PATTERN, label="A").query
    assert "label=A" in client.get(url, {"pattern": PATTERN, "label": "A"}).content.decode()
    shown = client.post(page, {"answer": NA, "action": "preview"})
    assert "2 disputes would be decided" in shown.content.decode()
    sent = {"answer": NA, "action": "decide", "key": shown.context["seen"].key, "client_id": str(uuid4())}
    assert "State the reason" in client.post(page, sent).content.decode()
    assert client.post(page, sent | {"reason": "Alone."}).status_code == 302
    assert gold(made) == [[], [], None, None]
    assert "Undo 2 made together" in client.get(url + "?decided").content.decode()
    body = {"client_id": sent["client_id"], "preview": True}
    address = reverse("api-disputes-undo", args=[made.slug])
    counted = client.post(address, body, content_type="application/json")
    assert (counted.json(), gold(made)) == ({"reopened": 2}, [[], [], None, None])
    undo = client.post(reverse("disputes-bulk-undo", args=[made.slug]), {"bulk": sent["client_id"]})
    assert (undo.status_code, gold(made)) == (302, [None] * 4)


def test_the_next_dispute_keeps_the_filters(client: Client) -> None:
    made = project()
    client.force_login(curator())
    item = made.items.get(external_id="s0")
    address = reverse("dispute", args=[made.slug, item.key]) + DisputeFilters(label="A").query
    sent = {"choice": json.dumps({"spans": [], "relations": ["A"]}), "client_id": str(uuid4())}
    after = client.post(address, sent | {"votes_key": item.votes_key})
    following = made.items.get(external_id="s1")
    assert after["Location"] == reverse("dispute", args=[made.slug, following.key]) + "?label=A"


def test_the_api_filters_previews_decides_and_undoes(client: Client) -> None:
    made, kind = project(), "application/json"
    client.force_login(curator())
    url = f"/api/v1/projects/{made.slug}/disputes"
    assert len(client.get(url, {"label": "B"}).json()["results"]) == 2
    assert client.get(url, {"remark": "stars"}).status_code == 400
    body = {"pattern": PATTERN, "answer": LEADING}
    seen = client.post(f"{url}/bulk", body | {"preview": True}, content_type=kind).json()
    assert (seen["decided"], seen["items"][0]["payload"]["relations"]) == (3, ["A"])
    sent = body | {"key": seen["key"], "reason": "Read.", "client_id": str(uuid4())}
    assert client.post(f"{url}/bulk", sent, content_type=kind).json()["decided"] == 3
    assert gold(made)[:3] == [["A"], ["A"], ["B"]]
    undone = client.post(f"{url}/bulk/undo", {"client_id": sent["client_id"]}, content_type=kind)
    assert undone.json() == {"reopened": 3}
