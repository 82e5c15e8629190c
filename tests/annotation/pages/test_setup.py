"""From a file to the first label in the browser: project, import, ontology, members, rule."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Answer, Batch, Lease, Member, OntologyStep, Project
from annotation.queue.leases import lease_next
from annotation.roles import MAY_DECIDE
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import ProjectCast, create_project, curator, error_codes, seen, upload


def test_a_project_is_created_from_title_and_kind(client: Client, cast: ProjectCast) -> None:
    wanted = {
        "title": "Market day",
        "kind": "relations",
        "k": "3",
        "policy": "majority",
        "guideline": "# Read\n<b>x</b>",
    }
    answer = client.post(reverse("project-new"), wanted, follow=True)
    made = Project.objects.get(slug="market-day")
    assert answer.redirect_chain[-1][0] == reverse("project-import", args=[made.slug])
    assert (made.k, made.members.get().role) == (3, Member.Role.CURATOR)
    page = client.get(reverse("project", args=[made.slug])).content.decode()
    assert "<h3>Read</h3>" in page
    assert "<b>x</b>" not in page


def test_a_taken_title_is_rejected_on_the_form(client: Client, cast: ProjectCast) -> None:
    wanted = {"title": "Harbour", "kind": "relations", "k": "3", "policy": "majority"}
    page = client.post(reverse("project-new"), wanted).content.decode()
    assert 'id="id_title_error"' in page
    assert 'value="Harbour"' in page


def test_whoever_comes_early_reads_what_is_missing_and_who_can_add_it(
    client: Client, cast: ProjectCast
) -> None:
    address = reverse("label", args=["harbour"])
    assert reverse("project-import", args=["harbour"]) in client.get(address).content.decode()
    client.force_login(person("ann"))
    page = client.get(address).content.decode()
    for text in ("Not open yet", "That is up to Cleo Doe", "Import sentences", "Open the project"):
        assert text in page
    for text in ("Add labels", "Add annotators", reverse("project-import", args=["harbour"])):
        assert text not in page
    for who, name in (("ann", "project"), ("ann", "mine"), ("judy", "disputes"), ("vera", "progress")):
        page = " ".join(seen(cast.project, name, user=who).split())
        assert "Still to do: import sentences, open the project. That is up to Cleo Doe." in page


def test_a_joint_project_is_made_with_both_kinds_of_labels_on_the_pages(
    client: Client, cast: ProjectCast
) -> None:
    wanted = {"title": "Joint", "kind": "joint", "k": "3", "policy": "majority-na"}
    client.post(reverse("project-new"), wanted)
    address = reverse("ontology", args=["joint"])
    for part, name in (("relation", "born_in"), ("entity", "person")):
        client.post(address, {"action": "labels", "part": part, "labels": name})
    labels = Project.objects.get(slug="joint").labels.order_by("rank").values_list("part", "name")
    assert list(labels) == [("relation", "born_in"), ("entity", "person")]


@pytest.mark.parametrize(
    ("kind", "policy"), [("relations", "majority"), ("entities", "majority-na"), ("joint", "majority-na")]
)
def test_the_page_makes_a_project_with_the_usual_rule_of_its_kind(
    client: Client, cast: ProjectCast, kind: str, policy: str
) -> None:
    address = reverse("project-new")
    form = client.get(address).context["form"]
    fields = {name: form.get_initial_for_field(field, name) or "" for name, field in form.fields.items()}
    client.post(address, fields | {"title": "Market day", "kind": kind})
    assert Project.objects.get(slug="market-day").policy == policy


def test_a_project_is_renamed_on_its_page(client: Client, cast: ProjectCast) -> None:
    address = reverse("project", args=["harbour"])
    page = client.post(address, {"action": "rename", "title": "Market day"}, follow=True).content.decode()
    assert "<h1>Market day</h1>" in page
    invalid = client.post(address, {"action": "rename", "title": "…"})
    assert error_codes(invalid, "title") == ["invalid_input"]
    assert "<h1>Market day</h1>" in invalid.content.decode()


def test_an_archived_project_leaves_the_lists_and_comes_back(client: Client, cast: ProjectCast) -> None:
    cast.import_lines(sentence(1))
    cast.open()
    address, lists = reverse("project", args=["harbour"]), [reverse("projects"), reverse("label-index")]
    assert 'data-code="project_open"' in client.post(address, {"action": "archive"}).content.decode()
    client.post(address, {"action": "close"})
    client.post(address, {"action": "archive"})
    for each in lists:
        assert address not in client.get(each).content.decode()
    assert address in client.get(reverse("projects"), {"state": "archived"}).content.decode()
    api = reverse("api-projects")
    assert client.get(api).json()["results"] == []
    assert [row["slug"] for row in client.get(api, {"state": "archived"}).json()["results"]] == ["harbour"]
    assert "Restore project" in client.post(address, {"action": "archive"}, follow=True).content.decode()
    client.post(address, {"action": "close"})
    for each in lists[:1]:
        assert address in client.get(each).content.decode()


def test_an_import_is_undone_on_its_page(client: Client, cast: ProjectCast) -> None:
    batch = cast.import_lines(sentence(1))
    address = reverse("import", args=[batch.pk])
    hint = "This import can be undone while the"
    projects.open_for_work(cast.project, by=cast.curator)
    assert hint in client.get(address).content.decode()
    projects.close(cast.project, by=cast.curator)
    page = client.get(address).content.decode()
    assert "Undo import" in page
    assert hint not in page
    assert "Takes out 1 sentence, which nobody answered." in page
    page = client.post(address, {"action": "undo"}, follow=True).content.decode()
    assert "Import undone: 1 sentence taken out." in page
    assert "Undo import" not in page


def test_an_import_lists_rejected_lines(client: Client, cast: ProjectCast) -> None:
    bad = sentence(2) | {"h": {"id": "x", "name": "Ada", "pos": [0, 99]}}
    sent = {
        "what": "items",
        "upload": upload(sentence(1), bad),
        "format": "",
        "scheme": "",
        "empty": "no-vote",
    }
    answer = client.post(reverse("project-import", args=["harbour"]), sent)
    batch = Batch.objects.get()
    assert answer.headers["Location"] == reverse("import", args=[batch.pk])
    waiting = client.get(reverse("import", args=[batch.pk])).content.decode()
    assert 'hx-trigger="every 1s"' in waiting
    run_job("import", batch.pk)
    page = client.get(reverse("import", args=[batch.pk])).content.decode()
    assert page.count('title="bad_span"') == 1
    assert "hx-trigger" not in page


def test_the_polled_part_of_an_import_is_not_a_whole_page(client: Client, cast: ProjectCast) -> None:
    batch = cast.import_lines(sentence(1))
    part = client.get(reverse("import", args=[batch.pk]), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "state--done" in part


def test_a_queued_import_can_be_cancelled(client: Client, cast: ProjectCast) -> None:
    client.post(reverse("project-import", args=["harbour"]), {"what": "items", "upload": upload(sentence(1))})
    batch = Batch.objects.get()
    client.post(reverse("import", args=[batch.pk]))
    batch.refresh_from_db()
    assert batch.state == Batch.State.CANCELLED


def test_labels_are_typed_merged_and_restored(client: Client, cast: ProjectCast) -> None:
    address = reverse("ontology", args=["harbour"])
    client.post(address, {"action": "labels", "labels": "works_for\tworks for\nborn_in"})
    assert cast.project.labels.get(name="works_for").title == "works for"
    step = {"action": "step", "operation": "merge", "sources": ["born_in", "lived_in"], "target": "been_in"}
    client.post(address, step)
    assert "been_in" in client.get(address).content.decode()
    client.post(address, {"action": "undo", "number": "1"})
    assert OntologyStep.objects.get().undone_at is not None


@pytest.mark.parametrize(
    "step",
    [
        {"operation": "merge", "sources": ["born_in"], "target": "x"},
        {"operation": "rename", "sources": ["born_in"], "target": ""},
        {"operation": "rename", "sources": ["born_in", "lived_in"], "target": "x"},
        {"operation": "rename", "sources": ["born_in"], "target": "lived_in"},
    ],
)
def test_an_invalid_step_is_rejected_with_its_reason(
    client: Client, cast: ProjectCast, step: dict[str, str]
) -> None:
    response = client.post(reverse("ontology", args=["harbour"]), {"action": "step"} | step)
    assert sum(len(error_codes(response, field)) for field in (None, "sources", "target")) == 1
    assert not OntologyStep.objects.exists()


def test_a_preset_brings_its_labels(client: Client, cast: ProjectCast) -> None:
    client.post(reverse("ontology", args=["harbour"]), {"action": "preset", "preset": "nyt10"}, follow=True)
    assert cast.project.labels.filter(name="/location/location/contains").exists()
    # the preset's 24 and the three there were
    assert len(client.get(reverse("ontology", args=["harbour"])).context["choices"]) == 27


def test_a_member_is_added_by_user_name_and_removed(client: Client, cast: ProjectCast) -> None:
    nils = person("nils")
    address = reverse("project-members", args=["harbour"])
    client.post(address, {"user": "nils", "role": "annotator"})
    member = cast.project.members.get(user=nils)
    client.post(address, {"remove": member.pk, "confirmed": "1"})
    assert not cast.project.members.filter(user=nils).exists()


def test_a_removal_shows_its_effect_before_it_is_confirmed(client: Client, cast: ProjectCast) -> None:
    cast.import_lines(sentence(1), sentence(2))
    cast.open()
    cast.answer("ann", 1)
    lease_next(cast.project, cast.people["ann"])
    address = reverse("project-members", args=["harbour"])
    ann = cast.project.members.get(user=cast.people["ann"])
    answer = client.post(address, {"remove": ann.pk})
    shown = answer.content.decode()
    assert "1 answer and 0 decisions stay and count. 1 reserved sentence becomes free" in shown
    assert (answer.context["effect"].answers, answer.context["effect"].reservations) == (1, 1)
    assert cast.project.members.filter(pk=ann.pk).exists()
    assert Lease.objects.filter(ending="").exists()
    client.post(address, {"remove": ann.pk, "confirmed": "1"})
    assert not cast.project.members.filter(pk=ann.pk).exists()
    assert Answer.objects.count() == 1


def test_a_member_is_added_and_removed_by_api_with_the_effect_first(
    client: Client, cast: ProjectCast
) -> None:
    address, remove = (reverse(name, args=["harbour"]) for name in ("api-members", "api-member-remove"))
    person("nils")
    client.post(address, {"username": "nils", "role": "annotator"}, content_type="application/json")
    nils = {"username": "nils", "preview": True}
    effect = client.post(remove, nils, content_type="application/json").json()
    assert (effect["answers"], effect["can_label"]) == (0, projects.annotator_count(cast.project) - 1)
    assert "nils" in [member["username"] for member in client.get(address).json()["results"]]
    client.post(remove, nils | {"preview": False}, content_type="application/json")
    assert "nils" not in [member["username"] for member in client.get(address).json()["results"]]
    assert client.post(remove, nils, content_type="application/json").status_code == 404


def test_another_role_shows_its_effect_before_it_is_saved(client: Client, cast: ProjectCast) -> None:
    cast.import_lines(sentence(1), sentence(2))
    cast.open()
    cast.answer("ann", 1)
    lease_next(cast.project, cast.people["ann"])
    nils = person("nils")
    type(nils).objects.filter(pk=nils.pk).update(last_name="Holm")  # curators read names of members alone
    can_label = projects.annotator_count(cast.project)
    can_decide = cast.project.members.filter(role__in=MAY_DECIDE).count()
    page, api = (reverse(name, args=["harbour"]) for name in ("project-members", "api-members"))
    shown = client.post(page, {"user": "ann, nils", "role": "adjudicator", "do": "show"}).content.decode()
    assert "(annotator) and nils (no member yet) become adjudicators and will see disputed" in shown
    assert "1 answer and 0 decisions stay and count. 1 reserved sentence becomes free" in shown
    assert f"{can_label - 1} members can label then, and {can_decide + 2} can decide" in shown
    assert "Holm" not in shown
    asked = {"username": "nils", "role": "viewer", "preview": True}
    assert "Holm" not in client.post(api, asked, content_type="application/json").content.decode()
    sent = {"username": "ann", "role": "viewer", "preview": True}
    answer = client.post(api, sent, content_type="application/json").json()
    assert (answer["role"], answer["effect"]["can_decide"], answer["effect"]["reservations"]) == (
        ("annotator", can_decide, 1)
    )
    assert cast.project.members.get(user=cast.people["ann"]).role == "annotator"
    assert not cast.project.members.filter(user__username="nils").exists()
    assert Lease.objects.filter(ending="").exists()
    client.post(api, sent | {"preview": False}, content_type="application/json")
    assert cast.project.members.get(user=cast.people["ann"]).role == "viewer"


def test_an_unknown_user_name_is_rejected(client: Client, cast: ProjectCast) -> None:
    page = client.post(reverse("project-members", args=["harbour"]), {"user": "Nils", "role": "annotator"})
    assert "Nils" in page.context["form"].errors["user"][0]


@pytest.mark.parametrize("sent", ["²", "-1", "9" * 40, "x", ""])
def test_an_invalid_member_or_step_number_changes_nothing(
    client: Client, cast: ProjectCast, sent: str
) -> None:
    assert client.post(reverse("project-members", args=["harbour"]), {"remove": sent}).status_code in (
        200,
        302,
    )
    undone = client.post(reverse("ontology", args=["harbour"]), {"action": "undo", "number": sent})
    assert undone.status_code == 404


def test_the_last_curator_cannot_be_removed_on_the_page(client: Client, cast: ProjectCast) -> None:
    own = cast.project.members.get(user=cast.curator)
    answer = client.post(reverse("project-members", args=["harbour"]), {"remove": own.pk})
    assert answer.status_code == 409
    assert cast.project.members.filter(pk=own.pk).exists()


def test_opening_without_sentences_is_rejected(client: Client, cast: ProjectCast) -> None:
    answer = client.post(reverse("project", args=["harbour"]), {"action": "open"})
    assert answer.status_code == 409
    assert 'data-code="no_items"' in answer.content.decode()


def test_the_overview_counts_items_and_other_policy_changes(client: Client, cast: ProjectCast) -> None:
    cast.import_lines(sentence(1), sentence(2), sentence(3))
    client.post(reverse("project", args=["harbour"]), {"action": "open"})
    cast.project.refresh_from_db()
    cast.dispute(1)
    cast.answer("ann", 2)
    cast.answer("bob", 2)
    context = client.get(reverse("project", args=["harbour"])).context
    assert (context["ended"], context["counts"]["all"], context["counts"]["disputed"]) == (2, 3, 1)
    assert context["changes"] == 0


def test_changing_the_policy_recomputes_all_items(client: Client, cast: ProjectCast) -> None:
    cast.import_lines(sentence(1))
    cast.open()
    cast.dispute(1)
    client.post(reverse("project", args=["harbour"]), {"k": "1", "policy": "majority-na"})
    cast.project.refresh_from_db()
    assert (cast.project.k, cast.project.policy) == (1, "majority-na")
    assert cast.item(1).state == "settled"


def test_overlap_and_sentences_of_texts_are_settings_of_span_projects(client: Client, db: None) -> None:
    project = create_project("entities", labels=["A"])
    client.force_login(curator())
    rule = {"k": "2", "policy": "majority-na"}
    for names in (["spans_may_overlap"], ["by_sentence"], []):
        client.post(reverse("project", args=[project.slug]), rule | dict.fromkeys(names, "on"))
        project.refresh_from_db()
        chosen = [name for name in ("spans_may_overlap", "by_sentence") if getattr(project, name)]
        assert chosen == names
    paired = client.get(reverse("project", args=[create_project().slug])).context["form"]
    assert "by_sentence" not in paired.fields


def test_pages_of_an_unopened_project_link_to_its_setup(client: Client, cast: ProjectCast) -> None:
    there = reverse("project", args=[cast.project.slug])
    listed = client.get(reverse("label-index")).content.decode()
    assert re.search(f'href="{there}"\\s+aria-label="Set up {cast.project.title}"', listed)
    freeze = client.get(reverse("freeze", args=[cast.project.slug])).content.decode()
    assert reverse("project-import", args=[cast.project.slug]) in freeze
    disputes = client.get(reverse("disputes", args=[cast.project.slug])).content.decode()
    assert reverse("freeze", args=[cast.project.slug]) not in disputes
    cast.import_lines(sentence(1))
    cast.open()
    disputes = client.get(reverse("disputes", args=[cast.project.slug])).content.decode()
    assert reverse("freeze", args=[cast.project.slug]) in disputes
