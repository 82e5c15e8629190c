"""A sample of decisions is decided again by others, and their agreement is computed."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.adjudication import decisions, second_readings
from annotation.models import Adjudication, Item, Project
from annotation.queue import exclusions
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, NotAllowed
from tests.cast.basics import person
from tests.cast.projects import answer_item, answered_item, curator, project_with_items

NAMES = ("s0", "s1", "s2", "s3")
AS_JSON = "application/json"


@pytest.fixture
def judy(db: None) -> User:
    return person("judy")


@pytest.fixture
def project(judy: User) -> Project:
    project = project_with_items(4, k=2)
    projects.set_member(project, user=judy, role="adjudicator", by=curator())
    for name in NAMES:
        decide(answered_item(project, ["A"], ["B"], item=name), "A")
    return project


def decide(item: Item, label: str) -> None:
    values = {"client_id": uuid4(), "votes_key": item.votes_key, "by": curator(), "reason": "so clear"}
    decisions.decide(item, payload={"relations": [label]}, **values)


def item(project: Project, name: str) -> Item:
    return project.items.get(external_id=name)


def read(project: Project, name: str, label: str, by: User) -> None:
    second_readings.read(item(project, name), payload={"relations": [label]}, by=by)


def test_a_sample_is_drawn_by_its_seed_and_read_by_others(project: Project, judy: User) -> None:
    assert second_readings.ask(project, n=3, seed="x", by=curator()) == 3
    drawn = [each.decision.item.external_id for each in second_readings.waiting(project, judy)]
    assert (len(drawn), list(second_readings.waiting(project, curator()))) == (3, [])
    assert second_readings.ask(project, n=9, seed="x", by=curator()) == 1  # those drawn before stay
    with pytest.raises(Conflict):
        read(project, drawn[0], "A", curator())
    before = item(project, drawn[0]).gold
    read(project, drawn[0], "B", judy)
    assert item(project, drawn[0]).gold == before  # the gold stays as decided
    with pytest.raises(Conflict):
        read(project, drawn[0], "A", judy)


def test_agreement_is_the_share_of_equal_decisions_and_alpha(project: Project, judy: User) -> None:
    second_readings.ask(project, n=4, seed="x", by=curator())
    assert second_readings.agreement(project, by=curator()).share is None
    for name, label in zip(NAMES, ("A", "A", "B", "C"), strict=True):
        read(project, name, label, judy)
    result = second_readings.agreement(project, by=curator())
    assert (result.asked, result.agreed, result.share) == (4, 2, 0.5)
    # values: A six times, B and C once; 2 of 4 pairs differ, 26 of 56 ordered pairs of values
    assert result.alpha == pytest.approx(1 - (2 / 4) / (26 / 56))
    assert {pair.reading.decision.item.external_id for pair in result.differences} == {"s2", "s3"}
    exclusions.exclude_answer(item(project, "s3").answers.order_by("position")[0], by=curator())
    assert second_readings.agreement(project, by=curator()).asked == 3  # its decision lapsed


def test_annotators_neither_draw_nor_read_and_readers_see_no_figures(project: Project, judy: User) -> None:
    second_readings.ask(project, n=4, seed="x", by=curator())
    for user in (person("ann0"), judy):
        with pytest.raises(NotAllowed):
            second_readings.ask(project, n=1, seed="x", by=user)
        with pytest.raises(NotAllowed):
            second_readings.agreement(project, by=user)
    with pytest.raises(NotAllowed):
        read(project, "s0", "A", person("ann0"))


def test_whoever_is_to_read_a_decision_again_cannot_open_it_before(
    project: Project, judy: User, client: Client
) -> None:
    second_readings.ask(project, n=1, seed="x", by=curator())
    drawn = second_readings.waiting(project, judy)[0].decision.item
    client.force_login(judy)
    url, form = (reverse(name, args=[project.slug, drawn.key]) for name in ("dispute", "second-reading"))
    assert client.get(url).headers["Location"] == form
    listed = client.get(reverse("disputes", args=[project.slug]) + "?decided").content.decode()
    assert listed.count("waits for your second reading") == 1
    assert listed.count("so clear") == 3
    read(project, drawn.external_id, "B", judy)
    assert "so clear" in client.get(url).content.decode()


def test_whoever_is_to_read_a_decision_again_gets_nothing_of_it_by_api(
    project: Project, judy: User, client: Client
) -> None:
    decided = item(project, "s0")
    annotator = project.annotators.get(name="ann0")
    exclusions.exclude_annotator(annotator, by=curator())
    exclusions.include_annotator(annotator, by=curator())
    for name, values in (("s0", {"payload": {"relations": ["C"]}}), ("s1", {"finding": "broken"})):
        again = item(project, name)
        decisions.reopen(again, by=curator())
        again.refresh_from_db()
        fields = {"client_id": uuid4(), "votes_key": again.votes_key, "by": curator(), "reason": "once more"}
        decisions.decide(again, **values, **fields)
    Adjudication.objects.filter(item=decided).exclude(reason="once more").update(lapsed=True)
    client.force_login(judy)
    dispute = f"/api/v1/items/{decided.key}/dispute"
    assert client.get(dispute).json()["former"]["reason"] == "so clear"
    second_readings.ask(project, n=4, seed="x", by=curator())
    body = client.get(dispute).json()
    assert (body["former"], body["precedents"], body["may_ask_one_more"]) == (None, [], False)
    replies = {
        client.post(f"/api/v1/items/{item(project, name).key}/one-more").json()["detail"] for name in NAMES
    }
    assert replies == {"This sentence is decided, not disputed."}
    client.post(f"/api/v1/items/{decided.key}/second-reading", {"reveal": True}, content_type=AS_JSON)
    assert client.get(dispute).json()["former"]["reason"] == "so clear"


def test_a_decision_that_lapses_before_it_is_read_again_stays_hidden(
    project: Project, judy: User, client: Client
) -> None:
    second_readings.ask(project, n=4, seed="x", by=curator())
    drawn, annotator = item(project, "s0"), person("ann0")
    answer_item(drawn, annotator, "C", base=1)
    drawn.refresh_from_db()
    assert drawn.state == Item.State.DISPUTED
    client.force_login(judy)
    assert client.get(f"/api/v1/items/{drawn.key}/dispute").json()["former"] is None
    assert "so clear" not in client.get(reverse("dispute", args=[project.slug, drawn.key])).content.decode()
    other = person("celia")
    projects.set_member(project, user=other, role="curator", by=curator())
    client.force_login(other)
    assert "so clear" not in client.get(reverse("sentence", args=[project.slug, drawn.key])).content.decode()
    answer_item(drawn, annotator, "A", base=2)
    drawn.refresh_from_db()
    assert drawn.state == Item.State.ADJUDICATED
    read(project, "s0", "A", judy)


def test_a_curator_sees_no_decision_that_waits_for_their_reading_until_they_leave_it_to_others(
    project: Project, judy: User, client: Client
) -> None:
    projects.set_member(project, user=judy, role="curator", by=curator())
    for name in NAMES:
        decisions.reopen(item(project, name), by=curator())
        decide(item(project, name), "C")
    second_readings.ask(project, n=1, seed="x", by=curator())
    drawn = second_readings.waiting(project, judy)[0].decision.item
    client.force_login(judy)
    page = reverse("sentence", args=[project.slug, drawn.key])
    items = f"/api/v1/projects/{project.slug}/items?q={drawn.external_id}"
    table = reverse("sentences-csv", args=[project.slug])

    def seen() -> list[bool]:
        texts = [client.get(page).context["outcome"], client.get(items).json()["results"][0]["gold"]]
        rows = b"".join(client.get(table).streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        return [*map(bool, texts), not any(",adjudicated,1–1,," in row for row in rows)]

    by_label = f"/api/v1/projects/{project.slug}/items?label=C"  # no answer has it, all decisions do
    found = [row["external_id"] for row in client.get(by_label).json()["results"]]
    assert found == [name for name in NAMES if name != drawn.external_id]
    shown = client.get(page).content.decode()
    assert (seen(), "so clear" in shown, "Undo decision" in shown) == ([False] * 3, False, False)
    late = client.post(reverse("dispute", args=[project.slug, drawn.key]), {"choice": "{}"})
    assert late.headers["Location"] == reverse("second-reading", args=[project.slug, drawn.key])
    assert client.post(page, {"action": "reveal"}).status_code == 302
    assert (seen(), "so clear" in client.get(page).content.decode()) == ([True] * 3, True)
    assert not second_readings.waiting(project, judy)
    sent = client.post(f"/api/v1/items/{drawn.key}/second-reading", {"reveal": True}, content_type=AS_JSON)
    assert sent.json()["code"] == "no_second_reading"


def test_pages_api_and_command_draw_and_read(
    project: Project, judy: User, client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    page = reverse("second-readings", args=[project.slug])
    api = f"/api/v1/projects/{project.slug}/second-readings"
    client.force_login(curator())
    assert client.post(page, {"n": 2, "seed": "x"}).status_code == 302
    assert client.post(api, {"n": 1, "seed": "x"}, content_type=AS_JSON).json()["asked"] == 3
    reader = Client()
    reader.force_login(judy)
    first, second, _ = reader.get(api).json()["waiting"]
    url = reverse("second-reading", args=[project.slug, first])
    form = reader.get(url).content.decode()
    assert "Second reading in" in form
    assert "so clear" not in form  # the reason of the decision
    choice = {"choice": '{"spans": [], "relations": ["B"]}', "reason": "no"}
    assert reader.post(url, choice).status_code == 302
    assert reader.get(url).status_code == 404
    answer = {"payload": {"relations": ["A"]}}
    sent = reader.post(f"/api/v1/items/{second}/second-reading", answer, content_type=AS_JSON)
    assert (sent.status_code, reader.get(page).status_code) == (204, 200)
    assert "1 decision read differently" in client.get(page).content.decode()
    call_command("second_readings", project.slug, "--by", curator().username, "--ask", "1")
    assert "4 drawn, 2 read, 1 alike" in capsys.readouterr().out
