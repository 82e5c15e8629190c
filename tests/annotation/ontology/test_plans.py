"""Plans: several steps of the ontology at once, all or none, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotation import projects
from annotation.adjudication import decisions
from annotation.consensus.effects import preview
from annotation.freezing import builder
from annotation.models import Adjudication, Item, Project
from annotation.ontology import drafts, inventory, plans
from annotation.ontology.plans import apply_plan, planned, read_plan, undo_plan
from annotation.reports import step_effects
from annotation.reports.plan_effects import effects_of
from annotation.reports.step_effects import in_words
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.exceptions import Conflict, DomainError
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import (
    answered_item,
    curator,
    import_lines,
    label_names,
    project_with_items,
    response_of,
)

STEPS = [
    {"operation": "add", "target": "D"},
    {"operation": "merge", "sources": ["A", "B"], "target": "AB"},
    {"operation": "rename", "sources": ["AB"], "target": "D2"},
    {"operation": "delete", "sources": ["C"]},
]


@pytest.fixture
def project(db: None) -> Project:
    return project_with_items(3, k=2)


def decide(item: Item, label: str) -> None:
    item.refresh_from_db()
    values = {"client_id": uuid4(), "votes_key": item.votes_key, "reason": "clear"}
    decisions.decide(item, by=curator(), payload={"spans": [], "relations": [label]}, **values)


def states(project: Project) -> list[tuple[str, Any]]:
    return list(project.items.order_by("rank").values_list("state", "gold"))


def test_a_plan_is_made_as_its_steps_and_undone_at_once(project: Project) -> None:
    answered_item(project, ["A"], ["B"])
    before = states(project)
    assert before[0][0] == Item.State.DISPUTED
    made = apply_plan(project, planned(STEPS), by=curator())
    assert sorted(label_names(project)) == ["D", "D2"]
    assert [(step.number, step.plan) for step in made] == [(1, 1), (2, 1), (3, 1)]
    assert states(project)[0] == (Item.State.SETTLED, {"spans": [], "relations": ["D2"]})
    assert undo_plan(project, 1, by=curator()) == 3
    assert sorted(label_names(project)) == ["A", "B", "C", "D"]  # what was added stays
    assert states(project) == before


def test_a_plan_with_an_impossible_step_changes_nothing(project: Project) -> None:
    steps = planned([*STEPS, {"operation": "delete", "sources": ["nobody"]}])
    with pytest.raises(DomainError, match=r"Step 5: .*nobody"):
        apply_plan(project, steps, by=curator())
    assert sorted(label_names(project)) == ["A", "B", "C"]
    assert project.steps.count() == 0


def test_the_effect_of_a_plan_is_counted_without_making_it(project: Project) -> None:
    answered_item(project, ["A"], ["B"])
    effect = preview(project, lambda copy: apply_plan(copy, planned(STEPS), by=curator()))
    assert effect.ended == 1
    assert (sorted(label_names(project)), project.steps.count()) == (["A", "B", "C"], 0)


def test_each_step_states_what_it_touches_after_the_steps_before_it(project: Project) -> None:
    answered_item(project, ["A"], ["B"])  # the merge settles it
    decide(answered_item(project, ["B"], ["C"], item="s1"), "B")  # it changes its votes: the decision lapses
    answered_item(project, ["C"], ["C"], item="s2")
    steps = planned([*STEPS, {"operation": "split", "sources": ["D2"], "targets": ["D3", "D4"]}])
    effects = effects_of(project, steps, by=curator())
    assert effects.steps
    add, merge, rename, delete, split = effects.steps.steps
    assert in_words(add) == "0 sentences"
    assert in_words(merge) == "2 sentences, 1 fact · settles 1"
    assert in_words(rename) == "2 sentences, 1 fact"  # of the same pair
    assert in_words(delete) == "2 sentences, 1 fact · opens 1 · 1 decision lapses"
    assert in_words(split) == "2 sentences, 1 fact · opens 1"
    assert project.steps.count() == 0
    apply_plan(project, steps, by=curator())
    after = dict(project.items.values_list("pk", "state"))
    assert after == effects.after.states
    waits = sum(step.reopened - step.ended for step in effects.steps.steps)
    assert waits == len(effects.moved(waits=True)) - len(effects.moved(waits=False))


def test_long_plans_are_counted_by_step_on_fewer_sentences(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 renames took 20 s of a request."""
    for item in ("s0", "s1", "s2"):
        answered_item(project, ["A"], ["A"], item=item)
    monkeypatch.setattr(step_effects, "MOST_LABELS", 1)
    monkeypatch.setattr(step_effects, "FEWEST_ITEMS", 1)
    effects = effects_of(project, planned(STEPS), by=curator())
    assert (effects.effect.items, effects.steps and effects.steps.items) == (3, 1)


def test_a_step_with_too_many_labels_is_rejected(project: Project) -> None:
    split = {"operation": "split", "sources": ["A"], "targets": [f"A{n}" for n in range(201)]}
    with pytest.raises(DomainError, match="Step 1: The step names 201 labels; 200 are allowed"):
        effects_of(project, planned([split]), by=curator())


def test_decisions_stand_again_when_a_plan_is_undone(project: Project) -> None:
    item = answered_item(project, ["A"], ["B"])
    decide(item, "A")
    before = states(project)
    apply_plan(project, planned(STEPS), by=curator())
    undo_plan(project, 1, by=curator())
    assert states(project) == before
    assert Adjudication.objects.filter(item=item).active().count() == 1


def test_steps_of_a_plan_are_undone_from_the_last_one_on(project: Project) -> None:
    apply_plan(project, planned(STEPS[1:]), by=curator())
    inventory.undo(project.steps.get(number=3), by=curator())
    assert sorted(label_names(project)) == ["C", "D2"]
    inventory.merge(project, ["C", "D2"], target="all", by=curator())
    with pytest.raises(Conflict, match=r"Step 4 \(merge C, D2\) changes what step 2 left"):
        undo_plan(project, 1, by=curator())
    assert sorted(label_names(project)) == ["all"]
    inventory.undo(project.steps.get(number=4), by=curator())
    assert undo_plan(project, 1, by=curator()) == 2
    with pytest.raises(Conflict, match="no plan"):
        undo_plan(project, 1, by=curator())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "not valid JSON"),
        ("{}", "a list"),
        ("[]", "a list"),
        ('[{"operation": "part", "sources": ["A"]}]', "Step 1: unknown operation 'part'"),
        ('[{"operation": "split", "sources": ["A"], "target": "B"}]', "split takes sources and targets"),
        ('[{"operation": "add", "sources": ["A"]}]', "add takes target"),
        ('[{"operation": "delete", "sources": ["A"], "target": "B"}]', "delete takes sources"),
        ('[{"operation": "merge", "sources": "A", "target": "B"}]', "lists of names"),
        ('[{"operation": "rename", "sources": ["A", "B"], "target": "C"}]', "one label"),
        ('[{"operation": "merge", "from": []}]', "nothing else"),
    ],
)
def test_an_invalid_plan_names_its_step(text: str, message: str) -> None:
    with pytest.raises(DomainError, match=message):
        read_plan(text)


def press(project: Project, action: str, *, by: User | None = None, **values: Any) -> Any:
    """Press a button of the page of plans, as it is now unless `values` are those of an older one."""
    client = Client()
    client.force_login(by or curator())
    page = reverse("ontology-plan", args=[project.slug])
    form = client.get(page).context["form"].initial
    now = {name: form[name] for name in ("draft", "stamp")}
    return client.post(page, now | {"action": action} | values)


def test_a_curator_builds_sees_makes_and_undoes_a_plan_on_the_page(project: Project) -> None:
    item = answered_item(project, ["A"], ["B"])
    decide(answered_item(project, ["B"], ["C"], item="s1"), "B")
    shown = press(project, "add", operation="merge", sources=["A", "B"], target="AB")
    plan = shown.context["form"]["plan"].value()
    shown = press(project, "add", plan=plan, operation="split", sources=["C"], target="C1; C2")
    plan = shown.context["form"]["plan"].value()
    assert [text for _, text, *_ in shown.context["steps"]] == ["Merge A, B into AB", "Split C into C1 or C2"]
    figures = {title: rest for title, *rest in shown.context["figures"]}
    assert (
        "leaves the number of labels at 3. It settles 1 sentence, opens 1; 1 decision lapses."
        in shown.context["finding"]
    )
    assert figures["Disputed"] == ["1", "0", "−1"]
    assert figures["Labels, without N/A"] == ["3", "3", "0"]
    assert "Source precision, frozen part" not in figures  # nothing is frozen: source labels are sealed
    changes = {bar["row"].title: bar["row"] for bar in shown.context["changes"]}
    assert (changes["AB"].before, changes["AB"].after, changes["AB"].why) == (None, 1, "from A, B")
    assert changes["C"].why == "became C1 or C2"
    assert [n for _, n, _ in shown.context["lists"]] == [1, 1]  # s0 settles, s1 is asked again
    assert project.steps.count() == 0
    shown = press(project, "up 2", plan=plan)
    assert shown.context["steps"][0][1] == "Split C into C1 or C2"
    shown = press(project, "add", plan=plan, operation="delete", sources=["A"])
    assert "Step 3" in shown.content.decode()
    assert [fails for _, _, fails, _ in shown.context["steps"]] == [False, False, True]
    shown = press(project, "remove 1", plan=plan)
    assert len(shown.context["steps"]) == 1
    assert press(project, "apply", plan=plan).status_code == 302
    item.refresh_from_db()
    assert item.gold == {"spans": [], "relations": ["AB"]}
    page = response_of(project, "ontology-plan")
    assert [(row["what"], row["state"]) for row in page.context["past"]] == [("1 merge, 1 split", "in use")]
    client = Client()
    client.force_login(curator())
    ontology = reverse("ontology", args=[project.slug])
    shown = client.post(ontology, {"action": "show-undo-plan", "number": 1}, follow=True).content.decode()
    assert "Undoing from step 1: Reopens 1 and ends 1 sentences" in shown
    assert sorted(label_names(project)) == ["AB", "C1", "C2"]
    undone = client.post(ontology, {"action": "undo-plan", "number": 1})
    assert undone.status_code == 302
    assert sorted(label_names(project)) == ["A", "B", "C"]


def test_a_step_of_a_plan_is_edited_in_place(project: Project) -> None:
    press(project, "add", operation="merge", sources=["A", "B"], target="AB")
    plan = press(project, "read", plan=json.dumps(STEPS[1:])).context["form"].initial["plan"]
    shown = press(project, "edit 2", plan=plan)
    form = shown.context["form"]
    assert [form.initial[name] for name in ("operation", "sources", "target")] == ["rename", ["AB"], "D2"]
    assert {name for name, _ in form.fields["sources"].choices} == {"AB", "C"}  # as step 1 leaves them
    assert "Save step 2" in shown.content.decode()
    wrong = press(project, "save 2", plan=plan, operation="rename", sources=["AB", "C"], target="D5")
    assert "Save step 2" in wrong.content.decode()
    assert wrong.context["form"].initial["sources"] == ["AB", "C"]
    saved = press(project, "save 2", plan=plan, operation="rename", sources=["AB"], target="D5")
    assert [text for _, text, *_ in saved.context["steps"]] == [
        *("Merge A, B into AB", "Rename AB to D5", "Delete C")
    ]
    assert "Add a step" in saved.content.decode()
    assert project.steps.count() == 0


@pytest.mark.parametrize("action", ["remove", "up", "mine", "edit", "save"])
def test_a_step_of_thousands_of_digits_is_no_step(project: Project, action: str) -> None:
    press(project, "add", operation="merge", sources=["A", "B"], target="AB")
    assert press(project, f"{action} {'9' * 5_000}").status_code in (200, 302)


def test_a_plan_is_there_again_after_its_page_was_left(project: Project) -> None:
    press(project, "add", operation="merge", sources=["A", "B"], target="AB")
    page = response_of(project, "ontology-plan")
    assert [text for _, text, *_ in page.context["steps"]] == ["Merge A, B into AB"]
    assert "draft by curator" in page.content.decode()
    press(project, "discard")
    assert response_of(project, "ontology-plan").context["steps"] == []


def test_a_page_that_states_an_unknown_version_begins_the_first_draft(project: Project) -> None:
    page = press(project, "add", draft=7, operation="delete", sources=["C"])
    assert [text for _, text, *_ in page.context["steps"]] == ["Delete C"]


def test_the_page_tells_how_many_answers_came_since_its_figures(project: Project) -> None:
    answered_item(project, ["A"], ["B"])
    shown = press(project, "add", operation="merge", sources=["A", "B"], target="AB")
    since = shown.context["last_vote"]
    assert f"?since={since}" in shown.content.decode()
    client = Client()
    client.force_login(curator())
    page = reverse("ontology-plan", args=[project.slug])
    quiet = client.get(page, {"since": since})
    assert (quiet.status_code, quiet.content.strip()) == (200, b"")
    answered_item(project, ["C"], [], item="s1")
    came = client.get(page, {"since": since})
    assert (came.status_code, "2 answers came since" in came.content.decode()) == (286, True)
    assert client.get(page, {"since": "x"}).content.strip() == b""


def test_two_curators_of_one_draft_choose_between_their_steps(project: Project) -> None:
    other = person("olga")
    projects.set_member(project, user=other, role="curator", by=curator())
    press(project, "add", operation="merge", sources=["A", "B"], target="AB")
    form = response_of(project, "ontology-plan").context["form"].initial
    press(project, "add", by=other, plan=form["plan"], operation="delete", sources=["C"])
    clash = press(project, "add", **form, operation="rename", sources=["C"], target="D")
    assert clash.context["theirs"] == ["Merge A, B into AB", "Delete C"]
    assert [text for _, text, *_ in clash.context["steps"]] == ["Merge A, B into AB", "Rename C to D"]
    assert "olga changed the draft" in clash.content.decode()
    mine = clash.context["form"].initial
    assert press(project, "apply", **mine).context[
        "clash"
    ]  # nothing is made of a draft that isn't the stored one
    assert project.steps.count() == 0
    taken = press(project, "theirs", **mine)
    assert [text for _, text, *_ in taken.context["steps"]] == ["Merge A, B into AB", "Delete C"]
    kept = press(project, f"mine {clash.context['clash'].version}", **mine)
    assert [text for _, text, *_ in kept.context["steps"]] == ["Merge A, B into AB", "Rename C to D"]


def test_a_draft_that_another_curator_discards_meanwhile_is_not_made(project: Project) -> None:
    seen = drafts.save(project, planned(STEPS[3:]), seen=0, by=curator())
    drafts.save(project, [], seen=seen.version, by=curator())
    project.refresh_from_db()
    with pytest.raises(drafts.DraftChanged):
        drafts.make(project, seen, stamp=str(project.inventory_stamp), by=curator())
    assert project.steps.count() == 0


def test_a_plan_is_not_made_on_other_labels_than_its_preview_had(project: Project) -> None:
    shown = press(project, "add", operation="merge", sources=["A", "B"], target="AB").context["form"].initial
    inventory.rename(project, "C", target="D", by=curator())
    answer = press(project, "apply", **shown)
    assert "The last change is “rename step 1” by" in answer.content.decode()
    assert [step.operation for step in project.steps.all()] == ["rename"]
    now = answer.context["form"].initial
    assert press(project, "apply", plan=now["plan"], stamp=now["stamp"]).status_code == 302
    assert sorted(label_names(project)) == ["AB", "D"]
    assert response_of(project, "ontology-plan").context["steps"] == []


def test_the_quality_of_source_labels_is_compared_on_what_is_frozen_only(db: None) -> None:
    project = project_with_items(0, k=1, opened=False)
    sources = {"s0": "A", "s1": "B", "s2": "C"}
    lines = [sentence(name, relations=[label]) for name, label in sources.items()]
    import_lines(project, lines)
    projects.open_for_work(project, by=curator())
    for name in ("s0", "s1"):
        answered_item(project, ["A"], item=name)
    test_set = builder.freeze(project, name="One", version="1.0", leave_out=True, by=curator())
    run_job("freeze", test_set.pk)
    answered_item(project, ["C"], item="s2")  # its source label is still sealed
    effects = effects_of(project, planned(STEPS[1:2]), by=curator())
    before, after = effects.before.quality, effects.after.quality
    assert before is not None
    assert after is not None
    assert [(q.both, q.source, q.gold) for q in (before, after)] == [(1, 2, 1), (1, 1, 1)]
    asked = {"change": "plan", "steps": STEPS[1:2]}
    web = Client()
    web.force_login(curator())
    url = f"/api/v1/projects/{project.slug}/effects"
    body = web.post(url, asked, content_type="application/json").json()
    assert [body[side]["source_precision"] for side in ("before", "after")] == [0.5, 1]


def test_a_merge_of_labels_that_answers_confuse_raises_their_agreement(db: None) -> None:
    project = project_with_items(3, k=2)
    answered_item(project, ["A"], ["B"], item="s0")
    answered_item(project, ["A"], ["A"], item="s1")
    answered_item(project, ["C"], ["C"], item="s2")
    effects = effects_of(project, planned(STEPS[1:2]), by=curator())
    assert effects.before.alpha == pytest.approx(1 - 2 * 5 / 22)
    assert effects.after.alpha == 1


def test_api_and_command_make_and_undo_a_plan(
    project: Project, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    client.force_login(curator())
    url = f"/api/v1/projects/{project.slug}"
    asked = {"change": "plan", "steps": STEPS}
    effect = client.post(f"{url}/effects", asked, content_type="application/json")
    assert (effect.status_code, project.steps.count()) == (200, 0)
    assert {"facts", "alpha", "source_precision"} <= effect.json()["before"].keys()
    assert [row["title"] for row in effect.json()["changed_labels"]]
    by_step = effect.json()["by_step"]
    assert (by_step["items"], len(by_step["steps"])) == (3, len(STEPS))
    made = client.post(f"{url}/steps", {"steps": STEPS}, content_type="application/json")
    assert [step["plan"] for step in made.json()] == [1, 1, 1]
    undone = client.post(f"{url}/steps/1/undo", {}, content_type="application/json").json()
    assert all(step["undone_at"] for step in undone)
    assert len(client.get(f"{url}/steps").json()) == 3
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(STEPS))
    words = (project.slug, "--by", curator().username)
    call_command("change_ontology", *words, "--plan", str(file), "--preview")
    shown = capsys.readouterr().out
    assert all(
        words in shown
        for words in ("get another gold", "α of complete answers", "Labels, without", "Step 4: ")
    )
    call_command("change_ontology", *words, "--plan", str(file))
    assert "3 steps made, from number 4" in capsys.readouterr().out
    call_command("change_ontology", *words, "--undo-step", "6")
    assert "step 6 undone" in capsys.readouterr().out
    call_command("change_ontology", *words, "--undo", "4")
    assert "2 steps undone" in capsys.readouterr().out
    change = {"sources": ["B"], "targets": ["B1", "B2"]}
    effect = client.post(f"{url}/effects", change | {"change": "split"}, content_type="application/json")
    assert effect.status_code == 200
    made = client.post(
        f"{url}/steps", {"steps": [change | {"operation": "split"}]}, content_type="application/json"
    )
    assert made.json()[0]["targets"] == ["B1", "B2"]
    undone = client.post(f"{url}/steps/7/undo", {"alone": True}, content_type="application/json").json()
    assert [step["number"] for step in undone] == [7]
    assert plans.EXAMPLE


def test_the_53_relations_of_nyt10_become_25_and_come_back_with_every_decision(db: None) -> None:
    project = project_with_items(2, k=2, labels=(), opened=False)
    inventory.apply_preset(project, "nyt10", by=curator())
    steps = project.steps.filter(undone_at=None)
    assert (len(sorted(label_names(project))), {step.plan for step in steps}) == (24, {1})  # and N/A
    undo_plan(project, 1, by=curator())
    assert len(sorted(label_names(project))) == 52
    projects.open_for_work(project, by=curator())
    first, second = "/location/country/capital", "/location/us_state/capital"
    item = answered_item(project, [first], [second])
    decide(item, first)
    before = states(project)
    inventory.apply_preset(project, "nyt10", by=curator())
    assert len(sorted(label_names(project))) == 24
    undo_plan(project, project.steps.filter(undone_at=None).earliest("number").number, by=curator())
    assert states(project) == before
    assert Adjudication.objects.filter(item=item).active().count() == 1


def test_the_labels_are_read_once_for_all_steps_of_a_plan(db: None) -> None:
    project = project_with_items(0, k=1, labels=[f"L{at}" for at in range(12)], opened=False)
    read: list[int] = []
    for steps in (3, 12):
        plan = [{"operation": "rename", "sources": [f"L{at}"], "target": f"N{at}"} for at in range(steps)]
        with CaptureQueriesContext(connection) as queries:
            made = apply_plan(project, planned(plan), by=curator())
        texts = [query["sql"] for query in queries]
        read.append(sum('FROM "annotation_ontologystep"' in text and "MAX(" not in text for text in texts))
        undo_plan(project, made[0].number, by=curator())
    assert read[0] == read[1]
