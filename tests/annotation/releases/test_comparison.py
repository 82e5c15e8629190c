"""Two releases compared: what changed, and what caused it."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation import candidates, projects
from annotation.adjudication import decisions
from annotation.models import Answer, Project
from annotation.ontology import inventory
from annotation.pages import releases
from annotation.queue import exclusions
from annotation.releases import earlier, folder, publishing
from annotation.releases.comparison import Cause, Comparison, compare
from annotation.releases.sides import side_of
from annotation.testset import TestSet
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark
from tests.annotation.releases.test_folder import frozen
from tests.cast.basics import sentence
from tests.cast.projects import answered_item, create_project, curator, import_lines
from tests.cast.replay import replayed

pytestmark = pytest.mark.django_db
PAIRS = [f"Q{at}" for at in range(10, 15)]


@replayed
def project_of_pairs() -> Project:
    """s0 A by 3, s1 A by 2 to 1, s2 disputed, s3 open, s4 B; each with its own pair."""
    project = create_project(k=3)
    import_lines(project, [sentence(f"s{at}", tail=pair) for at, pair in enumerate(PAIRS)])
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], ["A"], ["A"], item="s0")
    answered_item(project, ["A"], ["A"], ["B"], item="s1")
    answered_item(project, ["A"], ["B"], ["C"], item="s2")
    answered_item(project, ["B"], ["B"], ["B"], item="s4")
    return project


def decide(project: Project, *relations: str) -> None:
    item = project.items.get(external_id="s2")
    decisions.decide(
        item,
        by=curator(),
        payload={"relations": list(relations)},
        client_id=uuid4(),
        votes_key=item.votes_key,
    )


def compared(project: Project, first: TestSet) -> Comparison:
    return compare(side_of(first), side_of(frozen(project, "1.1")))


def causes(found: Comparison) -> dict[str, list[Cause]]:
    return {change.id: change.causes for change in found.changes}


def test_a_decision_is_the_cause_of_a_line_decided_otherwise() -> None:
    project = project_of_pairs()
    decide(project, "A")
    first = frozen(project)
    decisions.reopen(project.items.get(external_id="s2"), by=curator())
    decide(project, "B")
    found = compared(project, first)
    assert causes(found) == {"s2": [Cause("decision", "decided otherwise")]}
    assert [(change.before, change.after) for change in found.changed] == [(["A"], ["B"])]
    assert [(change.fact, change.ids) for change in found.facts_added] == [(("Q1", "B", "Q12"), ["s2"])]
    assert [(change.fact, change.names) for change in found.facts_lost] == [
        (("Q1", "A", "Q12"), ("Ada", "Turin"))
    ]


def test_a_line_that_one_side_lacks_says_in_which_state_it_was_left_out() -> None:
    project = project_of_pairs()
    first = frozen(project)
    decide(project, "A")
    answered_item(project, ["C"], ["C"], ["C"], item="s3")
    assert causes(compared(project, first)) == {
        "s2": [Cause("sentence added", "disputed before")],
        "s3": [Cause("sentence added", "open before")],
    }


@pytest.mark.parametrize(
    ("chosen", "added", "removed"),
    [
        ([], "not in the set before", "not in the set now"),
        (
            ["s0", "s1", "s4"],
            "no candidate before, or not in the project",
            "no candidate now, or not in the project",
        ),
    ],
)
def test_a_line_that_was_no_candidate_is_not_said_to_be_new_in_the_project(
    chosen: list[str], added: str, removed: str
) -> None:
    project = create_project(k=1)
    import_lines(project, [sentence(f"s{at}") for at in range(6)])
    if chosen:
        candidates.choose(project, candidates.Wanted(order=["ids"], ids=chosen), by=curator())
    projects.open_for_work(project, by=curator())
    for item in project.items.filter(use=""):
        answered_item(project, ["A"], item=item.external_id)
    first = frozen(project)
    if chosen:
        candidates.choose(
            project, candidates.Wanted(order=["ids"], ids=[f"s{at}" for at in range(6)]), by=curator()
        )
    else:
        import_lines(project, [sentence("s6")])
    for item in project.items.filter(use="", state="open"):
        answered_item(project, ["A"], item=item.external_id)
    found = compared(project, first)
    assert found.added
    assert {cause for cause, _ in found.causes} == {Cause("sentence added", added)}
    back = compare(side_of(TestSet.objects.get(version="1.1")), side_of(first))
    assert {cause for cause, _ in back.causes} == {Cause("sentence left out", removed)}


def test_a_step_is_the_cause_of_the_lines_it_turned_and_of_no_other() -> None:
    project = project_of_pairs()
    first = frozen(project)
    inventory.rename(project, "B", target="B2", by=curator())
    step = inventory.merge(project, ["A", "C"], target="A", by=curator())
    found = compared(project, first)
    assert causes(found)["s4"] == [Cause("ontology", "rename B → B2")]
    assert causes(found)["s2"] == [Cause("sentence added", "disputed before")]  # A by 2 of 3 now
    assert "s0" not in causes(found)
    second = TestSet.objects.get(version="1.1")
    inventory.undo(step, by=curator())
    back = compare(side_of(second), side_of(frozen(project, "1.2")))
    assert causes(back) == {"s2": [Cause("sentence left out", "disputed now")]}


def test_a_rule_and_excluded_answers_are_causes_too() -> None:
    project = project_of_pairs()
    first = frozen(project)
    exclusions.exclude_answer(
        Answer.objects.filter(item__external_id="s1").earliest("position"), by=curator()
    )
    projects.set_k(project, k=2, by=curator())
    decide(project, "C")
    found = compared(project, first)
    assert {cause.what for cause in causes(found)["s2"]} == {"sentence added"}
    assert causes(found)["s1"] == [Cause("sentence left out", "disputed now")]


def test_another_rule_is_the_cause_where_it_turns_the_gold() -> None:
    project = create_project(k=3, policy="majority-na")
    import_lines(project, [sentence("s0")])
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], [], [])
    first = frozen(project)
    projects.set_policy(project, policy="majority", by=curator())
    item = project.items.get()
    write = {"by": curator(), "client_id": uuid4(), "votes_key": item.votes_key}
    decisions.decide(item, payload={"relations": ["A"]}, **write)
    found = compare(side_of(first), side_of(frozen(project, "1.1")))
    assert [cause.what for cause in causes(found)["s0"]] == ["rule", "decision"]
    assert causes(found)["s0"][0].detail == "majority-na → majority"


def test_the_command_compares_folders_and_sets_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = project_of_pairs()
    sets = [frozen(project)]
    decide(project, "A")
    sets.append(frozen(project, "1.1"))
    for test_set in sets:
        folder.write_folder(test_set, tmp_path / test_set.version)
    outputs = []
    for names in ([each.slug for each in sets], [str(tmp_path / each.version) for each in sets]):
        call_command("compare_releases", *names, "--json")
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0] == outputs[1]
    assert [change["id"] for change in outputs[0]["changes"]] == ["s2"]


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("gold.jsonl", None, "Cannot read .*gold.jsonl"),
        ("gold.jsonl", b"%s%s", "line 2 repeats the id 's0'"),
        ("gold.jsonl", b"%s{", "line 2 is not a gold line"),
        ("gold.jsonl", b'%s{"id": "s1"}', "line 2 is not a gold line"),
        ("manifest.json", b"[]", "is not a release folder"),
        ("provenance.jsonl", b"%s{", "verify_release"),
    ],
)
def test_a_damaged_folder_is_not_compared_and_the_place_is_named(
    tmp_path: Path, name: str, damage: bytes | None, message: str
) -> None:
    """Of two lines with one id, the last was compared without a word."""
    project = project_of_pairs()
    sound = frozen(project)
    decide(project, "A")
    folder.write_folder(frozen(project, "1.1"), tmp_path / "1.1")
    path = tmp_path / "1.1" / name
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.unlink() if damage is None else path.write_bytes(damage.replace(b"%s", first))
    with pytest.raises(CommandError, match=message):
        call_command("compare_releases", sound.slug, str(path.parent))


def test_a_comparison_is_a_download_of_both_sets(client: Client) -> None:
    """It lists the labels of all lines where the sets share none."""
    project = project_of_pairs()
    first = frozen(project)
    decide(project, "A")
    second = frozen(project, "1.1")
    client.force_login(curator())
    client.get(reverse("test-set-changes", args=[second.slug]))
    client.get(f"/api/v1/test-sets/{second.slug}/changes", {"since": first.slug})
    for made, other in ((first, second), (second, first)):
        logged = [(each.what, each.user) for each in publishing.downloads(made, by=curator())]
        assert logged == [(f"changes, with {other.slug}", curator())] * 2


def test_page_and_api_show_changes_causes_and_the_boards_that_use_both(client: Client) -> None:
    project = project_of_pairs()
    first = frozen(project)
    decide(project, "A")
    second = frozen(project, "1.1")
    by = curator()
    by.may_organise = True
    by.save()
    labels = [{"name": name} for name in "ABC"]
    board = creation.create(title="Own", slug="own", task="relations", labels=labels, negative="N/A", by=by)
    setting = creation.add_setting(
        board, key="main", title="Main", test_set=first, unit="sentence", main="macro_f1", by=by
    )
    creation.revise_setting(setting, test_set=second, by=by, note="More.")
    client.force_login(by)
    page = client.get(reverse("test-set-changes", args=[second.slug])).content.decode()
    assert "disputed before" in page
    assert releases._first([*"abcdefghijklmnopqrstuvw"]) == [*"abcdefghijklmnopqrst", "3 more"]
    assert reverse("version-moves", args=["own", "main", 2]) in page
    assert (
        reverse("test-set-changes", args=[second.slug])
        in client.get(reverse("test-set", args=[second.slug])).content.decode()
    )
    body = client.get(f"/api/v1/test-sets/{second.slug}/changes", {"since": first.slug}).json()
    assert [(change["id"], change["before"], change["after"]) for change in body["changes"]] == [
        ("s2", None, ["A"])
    ]
    assert body["boards"][0]["text"] == "No run has scores under both versions."
    assert Benchmark.objects.count() == 1
    unknown = client.get(f"/api/v1/test-sets/{second.slug}/changes", {"since": "none"})
    assert (unknown.status_code, unknown.json()["code"]) == (400, "unknown_set")
    none = client.get(f"/api/v1/test-sets/{first.slug}/changes")
    assert (none.status_code, none.json()["code"]) == (409, "no_earlier_set")


def test_sets_with_wide_lines_are_compared_by_the_command_only(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = project_of_pairs()
    first = frozen(project)
    decide(project, "A")
    second = frozen(project, "1.1")
    client.force_login(curator())
    address = f"/api/v1/test-sets/{second.slug}/changes?since={first.slug}"
    assert client.get(address).status_code == 200
    monkeypatch.setattr(earlier, "MAX_CHARACTERS", 10)
    rejected = client.get(address)
    assert (rejected.status_code, rejected.json()["code"]) == (413, "too_many_rows")
    assert "compare_releases" in rejected.json()["hint"]
