"""The JSON door: the same verbs, blind for annotators, errors in one shape."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.response import Response
from rest_framework.test import APIClient

from annotation import projects
from annotation.api.lease_numbers import row_of
from annotation.models import Lease, Project
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.web import places
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import (
    annotators,
    answer_item,
    answered_item,
    create_project,
    curator,
    import_lines,
    project_with_items,
)

pytestmark = pytest.mark.django_db
API = "/api/v1/"


def client(user: User) -> APIClient:
    made = APIClient()
    made.force_authenticate(user)
    return made


def member(project: Project, role: str) -> User:
    user = person(role)
    projects.set_member(project, user=user, role=role, by=curator())
    return user


def upload(lines: list[Any]) -> SimpleUploadedFile:
    return SimpleUploadedFile("file.jsonl", "\n".join(json.dumps(entry) for entry in lines).encode())


def test_an_annotator_leases_answers_and_reads_the_history() -> None:
    project = project_with_items(2, k=1)
    me = client(annotators(project, 1)[0])
    lease = me.post(f"{API}projects/{project.slug}/lease").json()
    assert lease["item"]["head"] == {"name": "Ada", "start": 0, "end": 3}
    assert me.post(f"{API}leases/{lease['lease']}/heartbeat").status_code == 200
    answer = {"client_id": str(uuid4()), "payload": {"relations": ["A"]}, "base": lease["base"]}
    address = f"{API}items/{lease['item']['id']}/answer"
    first, again = me.post(address, answer), me.post(address, answer)
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["number"], again.json()["repeated"]) == (1, True)
    past = me.get(f"{API}projects/{project.slug}/history").json()["results"]
    assert [(act["payload"]["relations"], act["number"]) for act in past] == [(["A"], 1)]


def test_of_one_person_one_answer_is_stored_at_a_time_and_one_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sixteen large answers of one person at once delayed everybody."""
    project = project_with_items(2, k=1)
    busy, other = annotators(project, 2)
    monkeypatch.setattr(places.answers, "holders", [busy.pk])
    monkeypatch.setattr(places.answers, "wait", 0.01)

    def answer(user: User) -> Response:
        me = client(user)
        lease = me.post(f"{API}projects/{project.slug}/lease").json()
        values = {"client_id": str(uuid4()), "payload": {"relations": ["A"]}, "base": lease["base"]}
        return me.post(f"{API}items/{lease['item']['id']}/answer", values)

    rejected = answer(busy)
    assert (rejected.status_code, rejected.json()["code"]) == (429, "too_many_answers")
    assert answer(other).status_code == 201
    places.answers.holders.remove(busy.pk)
    assert answer(busy).status_code == 201


def test_numbers_of_leases_do_not_tell_how_many_others_got_meanwhile() -> None:
    project = project_with_items(9, k=2)
    me, other = (client(user) for user in annotators(project, 2))
    address = f"{API}projects/{project.slug}/reserve"
    held = [lease["lease"] for lease in me.post(address, {"n": 5}).json()["leases"]]
    rows = list(Lease.objects.order_by("pk").values_list("pk", flat=True))
    assert [row_of(number) for number in held] == rows
    assert len({b - a for a, b in pairwise(held)}) == 4  # where a row follows another, its number does not
    assert max(held) < 2**53
    more = me.post(address, {"n": 4, "holding": held}).json()["leases"]
    assert {lease["lease"] for lease in more}.isdisjoint(held)
    for number, status in ((held[0], 200), (rows[0], 404), (2**52, 404), (2**63, 404)):
        assert me.post(f"{API}leases/{number}/heartbeat").status_code == status
    assert other.post(f"{API}leases/{held[0]}/return").status_code == 404


def test_an_empty_queue_is_204_and_a_returned_lease_is_leased_again() -> None:
    project = project_with_items(1, k=1)
    me = client(annotators(project, 1)[0])
    lease = me.post(f"{API}projects/{project.slug}/lease", {"holding": []}).json()
    assert me.post(f"{API}projects/{project.slug}/lease", {"holding": [lease["lease"]]}).status_code == 204
    assert me.post(f"{API}leases/{lease['lease']}/return").status_code == 204
    assert me.post(f"{API}projects/{project.slug}/lease").status_code == 200


@pytest.mark.parametrize("act", ["answer", "skip", "dispute", "decision", "one-more", "take-back"])
def test_an_item_is_found_by_its_key_only(act: str) -> None:
    project = project_with_items(1)
    me, number = client(annotators(project, 1)[0]), project.items.get().pk
    fields = {"answer": {"payload": {"relations": []}}, "skip": {"reason": "broken"}}
    fields["decision"] = {"payload": {"relations": []}, "votes_key": "x"}
    body = {"client_id": str(uuid4())} | fields[act] if act in fields else {}
    for name in (number, 2**63, 2**200, uuid4()):
        address = f"{API}items/{name}/{act}"
        response = me.get(address) if act == "dispute" else me.post(address, body)
        assert response.status_code == 404, response.json()


def test_an_outdated_answer_is_a_409_problem() -> None:
    project = project_with_items(1)
    user = annotators(project, 1)[0]
    item = project.items.get()
    answer_item(item, user, "A")
    answer = {"client_id": str(uuid4()), "payload": {"relations": ["B"]}}
    refused = client(user).post(f"{API}items/{item.key}/answer", answer)
    assert (refused.status_code, refused["Content-Type"]) == (409, "application/problem+json")
    assert (refused.json()["code"], refused.json()["number"]) == ("answered_elsewhere", 1)
    assert refused.json()["hint"]


@pytest.mark.parametrize(
    "body", [{}, {"client_id": "x", "payload": {}}, {"client_id": str(uuid4()), "payload": []}]
)
def test_an_invalid_body_is_rejected(body: dict[str, Any]) -> None:
    project = project_with_items(1)
    refused = client(annotators(project, 1)[0]).post(f"{API}items/{project.items.get().key}/answer", body)
    assert (refused.status_code, refused.json()["code"]) == (400, "invalid_input")


def test_a_skip_needs_a_listed_reason() -> None:
    project = project_with_items(1)
    me, item = client(annotators(project, 1)[0]), project.items.get()
    me.post(f"{API}projects/{project.slug}/lease", {"holding": []}, format="json")
    skip = {"client_id": str(uuid4()), "reason": "broken"}
    assert me.post(f"{API}items/{item.key}/skip", skip | {"reason": "dull"}).status_code == 400
    assert me.post(f"{API}items/{item.key}/skip", skip).status_code == 201


def test_an_answer_needs_a_lease_even_an_ended_one() -> None:
    project = project_with_items(2, k=2)
    user = annotators(project, 1)[0]
    me, answer = client(user), {"payload": {"relations": ["A"]}}
    lease = me.post(f"{API}projects/{project.slug}/lease", {"holding": []}, format="json").json()
    other = project.items.exclude(key=lease["item"]["id"]).get()
    picked = me.post(f"{API}items/{other.key}/answer", answer | {"client_id": str(uuid4())}, format="json")
    assert (picked.status_code, picked.json()["code"]) == (409, "not_handed_out")
    me.post(f"{API}leases/{lease['lease']}/return")
    late = answer | {"client_id": str(uuid4())}
    assert me.post(f"{API}items/{lease['item']['id']}/answer", late, format="json").status_code == 201


def test_a_dispute_is_read_and_decided_by_api() -> None:
    project = project_with_items(1, k=2)
    item = answered_item(project, ["A"], ["B"])
    judge = client(member(project, "adjudicator"))
    waiting = judge.get(f"{API}projects/{project.slug}/disputes").json()["results"]
    assert [(entry["id"], entry["pattern"]) for entry in waiting] == [(str(item.key), "1–1")]
    dossier = judge.get(f"{API}items/{item.key}/dispute").json()
    assert [column["letter"] for column in dossier["columns"]] == ["P", "Q"]
    decision = {
        "client_id": str(uuid4()),
        "payload": dossier["columns"][0]["payload"],
        "votes_key": dossier["votes_key"],
    }
    assert judge.post(f"{API}items/{item.key}/decision", decision).json()["state"] == "adjudicated"
    assert judge.post(f"{API}items/{item.key}/one-more").status_code == 409


def test_a_file_is_imported_labelled_frozen_and_downloaded() -> None:
    boss = client(curator())
    slug = boss.post(f"{API}projects", {"title": "By API", "kind": "relations", "k": 1}).json()["slug"]
    asked = boss.post(
        f"{API}projects/{slug}/imports",
        {"file": upload([sentence("s0", relations=["A"])])},
        format="multipart",
    )
    assert asked.status_code == 202
    run_job("import", asked.json()["id"])
    batch = boss.get(f"{API}imports/{asked.json()['id']}").json()
    assert (batch["state"], batch["counts"]["items"]) == ("done", 1)
    project = Project.objects.get(slug=slug)
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"])
    made = boss.post(f"{API}projects/{slug}/freeze", {"name": "By API", "version": "1.0"})
    run_job("freeze", TestSet.objects.get(slug=made.json()["slug"]).pk)
    shown = boss.get(f"{API}test-sets/{made.json()['slug']}").json()
    assert (made.status_code, shown["state"], shown["rows"]) == (202, "frozen", 1)
    lines = boss.get(f"{API}test-sets/{shown['slug']}/lines")
    assert (lines["X-Content-SHA256"], lines.getvalue().count(b"\n")) == (shown["sha256"], 1)


def test_imported_gold_is_readable_by_its_importer_only() -> None:
    boss = client(curator())
    form = {"file": upload([sentence("s0", relations=["A"])]), "name": "Gold", "version": "1"}
    asked = boss.post(f"{API}test-sets", form, format="multipart").json()
    run_job("import", asked["id"])
    address = f"{API}test-sets/{asked['test_set']}/lines"
    assert boss.get(address).status_code == 200
    assert client(person("organiser", may_organise=True)).get(address).status_code == 404
    assert client(person("stranger")).get(address).status_code == 404


CANARY = "canary"


def blind_project() -> Project:
    """Votes, names, source labels and gold that all carry the canary, none of it in the inventory."""
    project = create_project(labels=("A", "B"), k=2)
    import_lines(project, [sentence(f"s{n}", relations=[f"{CANARY}-source"]) for n in range(3)])
    import_lines(
        project,
        [{"item": "s0", "annotator": f"{CANARY}-{n}", "labels": ["AB"[n]]} for n in range(2)],
        what="votes",
    )
    projects.open_for_work(project, by=curator())
    return project


def test_an_annotator_reads_no_source_labels_votes_names_or_gold() -> None:
    project = blind_project()
    me = client(annotators(project, 1)[0])
    item = project.items.get(external_id="s0")
    addresses = [
        "projects",
        f"projects/{project.slug}",
        f"projects/{project.slug}/imports",
        f"projects/{project.slug}/history",
        f"projects/{project.slug}/disputes",
        f"items/{item.key}/dispute",
        "test-sets",
        *(f"imports/{batch.pk}" for batch in project.batches.all()),
    ]
    seen = [me.get(API + address) for address in addresses] + [me.post(f"{API}projects/{project.slug}/lease")]
    assert {response.status_code for response in seen} == {200, 403, 404}
    for response in seen:
        assert CANARY not in response.content.decode()
        assert "votes_key" not in response.content.decode()
    assert "states" not in me.get(f"{API}projects/{project.slug}").json()


def test_a_stranger_gets_404_everywhere() -> None:
    project = blind_project()
    stranger = client(person("stranger"))
    item = project.items.first()
    assert stranger.get(f"{API}projects").json()["results"] == []
    for address in (
        f"projects/{project.slug}",
        f"items/{item.key}/dispute",
        f"imports/{project.batches.first().pk}",
    ):
        assert stranger.get(API + address).status_code == 404
    answer = {"client_id": str(uuid4()), "payload": {"relations": ["A"]}}
    assert stranger.post(f"{API}items/{item.key}/answer", answer).status_code == 404


def test_a_request_without_credentials_is_answered_401() -> None:
    assert APIClient().get(f"{API}projects").status_code == 401


@pytest.mark.parametrize("options", ["[1]", '"x"', "3"])
def test_import_options_that_are_not_an_object_are_rejected(options: str) -> None:
    slug = create_project().slug
    sent = {"file": upload([sentence("s0")]), "options": options}
    answer = client(curator()).post(f"{API}projects/{slug}/imports", sent, format="multipart")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["field"] == "options"


def test_a_filter_that_no_item_can_match_is_rejected() -> None:
    project = project_with_items(1)
    address = f"{API}projects/{project.slug}/items"
    filters = {"label": "AA", "pattern": "two to two", "state": "lost"}
    sent = {name: client(curator()).get(address, {name: value}) for name, value in filters.items()}
    assert {name: answer.status_code for name, answer in sent.items()} == dict.fromkeys(filters, 400)
    assert f"{project.slug}/labels lists them" in sent["label"].json()["detail"]


def test_a_role_is_required_before_the_fields_of_a_freeze() -> None:
    project = project_with_items(1)
    refused = client(annotators(project, 1)[0]).post(f"{API}projects/{project.slug}/freeze", {})
    assert refused.status_code == 403


def test_an_error_quotes_little_of_a_long_value() -> None:
    project = project_with_items(1)
    refused = client(curator()).get(f"{API}projects/{project.slug}/items", {"state": "A" * 90_000})
    assert len(refused.content) < 6_000
