"""Predictions without offsets on entity and joint boards."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.core.formats.problems import FileRejected
from tests.cast.benchmarks import BenchmarkCast, Line
from workers.runner import run_next

pytestmark = pytest.mark.django_db
ENTITIES: list[Line] = [
    {"id": "d1", "entities": [["Ada", "PER"], ["New  Turin", "LOC"], ["Rome", "PLACE"]]},
    {"id": "d2", "abstain": True},
    {"id": "d3", "entities": [["cy", "PER"]]},
]
TRIPLES: list[Line] = [
    {"id": "d1", "triples": [["Ada", "left", "New Turin"]]},
    {"id": "d2", "triples": []},
    {"id": "d3", "triples": [["Cy", "met", "Bo"]]},
]


def test_entities_as_text_stand_on_the_board_of_spans(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    spans = [{"id": name, "spans": []} for name in ("d2", "d3")]
    cast.submit(benchmark, [{"id": "d1", "spans": [[0, 1, "PER"]]}, *spans], system="Tagger")
    submission = cast.submit(benchmark, ENTITIES, system="Generator")
    while run_next("score"):
        pass
    evaluation = submission.evaluations.get()
    values = dict(evaluation.scores.values_list("measure", "value"))
    assert (values["string_micro_precision"], values["string_micro_recall"]) == (2 / 4, 2 / 4)
    assert (values["answers_not_in_text"], values["answers_foreign_label"]) == (2 / 4, 1 / 4)
    assert (values["answers_abstained"], values["conll_micro_f1"]) == (1 / 3, 0.5)
    assert evaluation.detail["counts"]["answers"] == 4
    assert evaluation.detail["lost"] == {"missed": 2, "spurious": 2}
    assert evaluation.options["grounding"] == "ordered"
    client.force_login(cast.kim)
    board = client.get(reverse("board-json", args=[benchmark.slug])).json()
    assert [row["system"] for row in board["rows"]] == ["Generator", "Tagger"]
    header = client.get(reverse("board", args=[benchmark.slug])).content.decode().partition("</thead>")[0]
    assert all(share in header for share in ("not in the text", "outside the inventory", "abstained"))
    page = client.get(reverse("submission", args=[submission.pk]))
    assert "each answer takes the next place of its text" in page.content.decode()
    assert "All types together" in page.content.decode()
    scores = client.get(reverse("api-scores", args=[submission.pk])).json()["evaluations"][0]
    (together,) = [row for row in scores["classes"] if (row["family"], row["label"]) == ("wrf", "*")]
    assert (together["gold"], together["predicted"], together["correct"]) == (5, 4, 3)
    assert "outside the inventory" in page.content.decode()


def test_options_decide_which_answers_are_the_same(cast: BenchmarkCast) -> None:
    folded = cast.entities(options={"casefold": True, "grounding": "all"})
    submission = cast.submit(folded, ENTITIES)
    assert run_next("score")
    evaluation = submission.evaluations.get()
    assert evaluation.scores.get(measure="string_micro_recall").value == 3 / 4
    assert evaluation.options["grounding"] == "all"
    again = cast.submit(folded, [*ENTITIES[:2], {"id": "d3", "entities": [["CY", "PER"]]}], run="2")
    assert run_next("score")
    assert again.evaluations.get().claims_sha256 == evaluation.claims_sha256


def test_triples_as_text_stand_on_joint_boards(cast: BenchmarkCast) -> None:
    """A relation without direction is right both ways, and the same answers."""
    submission = cast.submit(cast.joint(), TRIPLES)
    turned = [*TRIPLES[:2], {"id": "d3", "triples": [["Bo", "met", "Cy"]]}]
    again = cast.submit(submission.benchmark, turned, run="2")
    while run_next("score"):
        pass
    one, two = submission.evaluations.get(), again.evaluations.get()
    assert one.scores.get(measure="triple_micro_f1").value == 1
    assert one.answers_sha256 == two.answers_sha256


@pytest.mark.parametrize("kind", ["entities", "joint"])
def test_answers_of_the_other_task_are_rejected(cast: BenchmarkCast, kind: str) -> None:
    benchmark = getattr(cast, kind)()
    with pytest.raises(FileRejected) as rejected:
        cast.submit(benchmark, TRIPLES if kind == "entities" else ENTITIES)
    assert "mixed_forms" in rejected.value.problems.by_code


def test_a_near_duplicate_of_answers_as_text_is_recognised(cast: BenchmarkCast) -> None:
    """While the gold is hidden, a file that hardly differs shows the earlier figures."""
    benchmark = cast.entities()
    setting = benchmark.settings.get()
    setting.disclosure = "hidden"
    setting.save()
    cast.submit(benchmark, ENTITIES)
    near = cast.submit(benchmark, [*ENTITIES[:2], {"id": "d3", "entities": []}], run="2")
    while run_next("score"):
        pass
    assert near.near.get().claims == 1
