"""Files with old names of labels: mapped where the board says so, by the steps that its gold records."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from django.test import Client

from annotation import projects, testset
from annotation.freezing import builder
from annotation.ontology import inventory
from annotation.splits import mapping
from annotation.splits.mapping import MappingPlan
from annotation.testset import TestSet
from evalsvc.core.accounts.tokens import issue
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.npy import ColumnNames
from evalsvc.core.formats.old_labels import Stated
from evalsvc.core.formats.problems import FileRejected
from evalsvc.evaluation.benchmarks import creation, file_contract, old_names
from evalsvc.evaluation.models import Benchmark, NearDuplicate, Setting, Submission
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl, run_job, sentence
from tests.cast.benchmarks import ENTITY_GOLD, LABELS, RELATION_GOLD, BenchmarkCast, Line, freeze
from tests.cast.projects import answered_item, create_project, curator, import_lines
from workers.handlers import score, verification
from workers.runner import run_next
from workers.scoring import prediction_files
from workers.scoring.predictions import Predictions

MERGE = {"number": 1, "operation": "merge", "sources": ["native_of", "birthplace"], "target": "born_in"}
DELETE = {"number": 2, "operation": "delete", "sources": ["likes"], "target": ""}
SPLIT = {
    "number": 3,
    "operation": "split",
    "sources": ["job"],
    "target": "",
    "targets": ["works_for", "part_of"],
}
STEPS = (MERGE, DELETE, SPLIT)
OLD: list[Line] = [
    {"id": line["id"], "label": name}
    for line, name in zip(
        RELATION_GOLD, ["native_of", "likes", "works_for", "N/A", "birthplace", "born_in"], strict=True
    )
]
NEW: list[Line] = [
    {"id": line["id"], "label": name}
    for line, name in zip(
        RELATION_GOLD, ["born_in", "N/A", "works_for", "N/A", "born_in", "born_in"], strict=True
    )
]


def mapping_board(
    cast: BenchmarkCast, *units: str, steps: Iterable[dict[str, Any]] = STEPS, **fields: Any
) -> Benchmark:
    gold = freeze("merged", RELATION_GOLD, by=cast.olga, steps=steps)
    fields = {"options": {"map_old_labels": True}} | fields
    settings = [(unit, gold, unit, "micro_f1") for unit in units or ["sentence"]]
    return cast.benchmark("mapped", settings=settings, **fields)


def scored(submission: Submission) -> dict[str, float | None]:
    while run_next("ingest") or run_next("score"):
        pass
    submission.refresh_from_db()
    assert submission.state == "scored", submission.reason
    evaluation = submission.evaluations.latest("pk")
    return {each.measure: each.value for each in evaluation.scores.all()} | {
        "answers": evaluation.answers_sha256
    }  # type: ignore[dict-item]


def test_a_board_that_does_not_map_rejects_old_names(cast: BenchmarkCast) -> None:
    checked = intake.check(mapping_board(cast, options={}), [jsonl(OLD)])
    assert sum(checked.problems.by_code.values()) == 3
    assert checked.old_labels == {}


def test_a_file_of_old_names_gives_the_scores_of_the_file_of_present_names(cast: BenchmarkCast) -> None:
    benchmark = mapping_board(cast)
    old, new = cast.submit(benchmark, OLD), cast.submit(benchmark, NEW, run="2")
    assert old.counts == {"lines": 6, "claims": 6, "mapped": 3}
    assert old.old_labels == {
        "birthplace": {"to": "born_in", "labels": 1},
        "likes": {"to": None, "labels": 1},
        "native_of": {"to": "born_in", "labels": 1},
    }
    assert (new.counts, new.old_labels) == ({"lines": 6, "claims": 6}, {})
    assert scored(old) == scored(new)
    assert file_contract.of_submission(old).old_labels.clear["native_of"] == "born_in"
    assert not [
        each.differences for each in verification.verify(Submission.objects.all()) if each.differences
    ]


def test_the_sent_file_stays_and_its_team_downloads_it(cast: BenchmarkCast, client: Client) -> None:
    submission = cast.submit(mapping_board(cast), OLD)
    client.force_login(cast.kim)
    answer = client.get(f"/submissions/{submission.pk}/file/")
    assert b"".join(answer.streaming_content) == jsonl(OLD)


def test_check_submission_page_and_api_state_what_was_mapped(cast: BenchmarkCast, client: Client) -> None:
    benchmark = mapping_board(cast)
    words = "3 labels of 3 old names were mapped: birthplace → born_in, likes → N/A, native_of → born_in"
    submission = cast.submit(benchmark, OLD)
    client.force_login(cast.kim)
    form = {"do": "check", "file": io.BytesIO(jsonl(OLD))}
    assert words in client.post(f"/boards/{benchmark.slug}/submit/", form).content.decode()
    assert words in client.get(f"/submissions/{submission.pk}/").content.decode()
    token = issue(cast.kim, name="t", team=cast.kelpie)[1]
    headers = {"Authorization": f"Bearer {token}"}
    api = f"/api/v1/benchmarks/{benchmark.slug}"
    report = client.post(
        f"{api}/check", jsonl(OLD), content_type="application/x-ndjson", headers=headers
    ).json()
    assert (report["counts"]["mapped"], report["notes"]) == (3, [f"{words}."])
    assert report["old_labels"]["likes"] == {"to": None, "labels": 1}
    shown = client.get(f"/api/v1/submissions/{submission.pk}", headers=headers).json()
    assert shown["old_labels"] == report["old_labels"]


def test_a_split_label_is_rejected_by_line_and_names_what_it_became(cast: BenchmarkCast) -> None:
    checked = intake.check(mapping_board(cast), [jsonl([*OLD[:5], {"id": "s6", "label": "job"}])])
    assert checked.problems.by_code == {"old_label": 1}
    assert checked.problems.first[0].line == 6
    assert "works_for or part_of" in checked.problems.first[0].sentence()
    present = {"labels": [*LABELS, "job"], "slug": "with-job"}
    benchmark = mapping_board_again(cast, **present)
    assert not intake.check(benchmark, [jsonl([*OLD[:5], {"id": "s6", "label": "job"}])]).problems.total


def mapping_board_again(cast: BenchmarkCast, *, slug: str, **fields: Any) -> Benchmark:
    """A second board over the same gold."""
    gold, options = TestSet.objects.get(slug="merged"), {"map_old_labels": True}
    return cast.benchmark(slug, settings=[("main", gold, "sentence", "micro_f1")], options=options, **fields)


LINES: dict[str, list[Line]] = {
    "label": OLD,
    "scores": [
        {"id": "s1", "scores": {"native_of": 0.5, "born_in": 0.25, "likes": 0.75, "works_for": 0.1}},
        {"id": "s3", "scores": {"birthplace": 0.5, "native_of": 0.625, "N/A": 0.5}},
    ],
    "bag": [
        {"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.25},
        {"h": "Q1", "t": "Q2", "relation": "native_of", "score": 0.5},
        {"h": "Q3", "t": "Q4", "relation": "likes", "score": 0.5},
        {"h": "Q3", "t": "Q4", "relation": "part_of", "score": 0.75},
        {"h": "Q1", "t": "Q2", "relation": "birthplace", "score": 0.375},
    ],
}
CLAIMS = {
    "scores": {("s1", "born_in", 0.5), ("s1", "works_for", 0.1), ("s3", "born_in", 0.625)},
    "bag": {(("Q1", "Q2"), "born_in", 0.5), (("Q3", "Q4"), "part_of", 0.75)},
}


def claims(read: Predictions) -> list[tuple[Any, ...]]:
    labels, scored = [*LABELS, "N/A"], read.score if len(read.score) else np.zeros(len(read.label))
    rows = zip(read.owner, read.label, scored, strict=True)
    return sorted((read.keys[at], labels[label], float(score)) for at, label, score in rows)


@pytest.mark.parametrize("form", LINES)
def test_columns_and_lines_map_alike_and_merged_claims_keep_the_largest_score(
    form: str, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = mapping_board(cast, "bag" if form == "bag" else "sentence")
    contract, content = file_contract.for_new_file(benchmark), jsonl(LINES[form])
    read = score.load_predictions(contract, io.BytesIO(content), format="jsonl-predictions")
    monkeypatch.setattr(prediction_files, "read_columns", lambda *args, **options: None)
    slow = score.load_predictions(contract, io.BytesIO(content), format="jsonl-predictions")
    assert claims(read) == claims(slow)
    assert len(read.lines) == len(slow.lines)
    assert read.old_labels == slow.old_labels
    if form in CLAIMS:
        assert set(claims(read)) == CLAIMS[form]
        assert intake.check(benchmark, [content]).counts["claims"] == len(CLAIMS[form])


def test_spans_of_old_types_are_read_by_columns_as_by_lines(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [
        {"number": 1, "operation": "merge", "sources": ["CITY", "LAND"], "target": "LOC"},
        {"number": 2, "operation": "delete", "sources": ["DATE"], "target": ""},
    ]
    types = ["PER", "LOC"]
    gold = freeze("spans", ENTITY_GOLD, by=cast.olga, labels=types, kind="entities", steps=steps)
    benchmark = cast.benchmark(
        "ner",
        settings=[("main", gold, "document", "conll_micro_f1")],
        task="entities",
        labels=types,
        negative="",
        options={"map_old_labels": True},
    )
    spans = [[2, 4, "CITY"], [2, 4, "LAND"], [0, 1, "DATE"]]
    lines: list[Line] = [{"id": "d1", "spans": spans}, {"id": "d2", "spans": []}, {"id": "d3", "spans": []}]
    contract = file_contract.for_new_file(benchmark)
    quick = score.load_predictions(contract, io.BytesIO(jsonl(lines)), format="jsonl-predictions")
    monkeypatch.setattr(prediction_files, "read_columns", lambda *args, **options: None)
    slow = score.load_predictions(contract, io.BytesIO(jsonl(lines)), format="jsonl-predictions")
    for read in (quick, slow):
        assert (read.start.tolist(), read.end.tolist(), read.label.tolist()) == ([2], [4], [1])
        assert read.old_labels["CITY"] == {"to": "LOC", "labels": 1}


def test_columns_of_dense_scores_that_merge_keep_the_largest_score(cast: BenchmarkCast) -> None:
    benchmark = mapping_board(cast)
    names = ["works_for", "native_of", "likes", "part_of", "birthplace"]
    matrix = np.zeros((6, 5), dtype="<f4")
    matrix[0] = [0.1, 0.3, 0.9, 0.2, 0.7]
    file = io.BytesIO()
    np.save(file, matrix)
    submission = cast.submit(benchmark, file.getvalue(), names=ColumnNames("\n".join(names)))
    assert submission.counts == {"rows": 6, "claims": 18, "mapped": 18}
    read = score.load_dense(file_contract.of_submission(submission), submission, file.getvalue())
    assert dict(zip(read.label[:3].tolist(), read.score[:3].round(4).tolist(), strict=True)) == {
        0: 0.7,
        1: 0.1,
        2: 0.2,
    }
    scored(submission)
    with pytest.raises(FileRejected) as rejected:
        cast.submit(benchmark, file.getvalue(), run="2", names=ColumnNames("\n".join(["job", *names[1:]])))
    assert rejected.value.problems.by_code == {"old_label": 1}
    with pytest.raises(FileRejected):
        cast.submit(benchmark, file.getvalue(), run="2", names=ColumnNames("\n".join(["N/A", *names[1:]])))


def test_a_new_gold_maps_by_its_own_steps_what_was_checked_against_the_first(cast: BenchmarkCast) -> None:
    """`part_of` is merged in the second gold, and the file has names that only the first one mapped."""
    first = freeze("first", RELATION_GOLD, by=cast.olga, steps=[MERGE, DELETE])
    benchmark = cast.benchmark(
        "versions", settings=[("main", first, "sentence", "micro_f1")], options={"map_old_labels": True}
    )
    old = cast.submit(benchmark, [*OLD[:5], {"id": "s6", "label": "part_of"}])
    before = scored(old)
    lines = [*RELATION_GOLD[:5], RELATION_GOLD[5] | {"relations": ["works_for"]}]
    merge = {"number": 1, "operation": "merge", "sources": ["part_of"], "target": "works_for"}
    second = freeze("second", lines, by=cast.olga, labels=["born_in", "works_for"], steps=[merge])
    creation.revise_setting(Setting.objects.get(), test_set=second, by=cast.olga)
    assert scored(old)["micro_f1"] == before["micro_f1"] == 1
    options = old.evaluations.latest("pk").options
    assert options["old_labels"] == {
        "birthplace": "born_in",
        "likes": None,
        "native_of": "born_in",
        "part_of": "works_for",
    }
    new = cast.submit(benchmark, [*NEW[:5], {"id": "s6", "label": "works_for"}], run="2")
    assert scored(new) == scored(old)


def test_files_are_compared_by_their_present_names(cast: BenchmarkCast) -> None:
    benchmark = mapping_board(cast)
    Setting.objects.update(disclosure="hidden")
    first, second = cast.submit(benchmark, NEW), cast.submit(benchmark, OLD, run="2")
    scored(first)
    scored(second)
    assert NearDuplicate.objects.filter(submission=second, earlier=first).exists()


@pytest.mark.parametrize(
    ("names", "made"), [(("born_in", "native_of", "birthplace"), 1), (("likes",), 0), (("N/A",), 0)]
)
def test_fewer_claims_than_a_hidden_ranking_takes_are_not_more_by_old_names(
    cast: BenchmarkCast, names: tuple[str, ...], made: int
) -> None:
    benchmark = mapping_board(cast, "bag")
    Setting.objects.update(disclosure="hidden")
    lines: list[Line] = [{"h": "Q1", "t": "Q2", "relation": name, "score": 0.5} for name in names]
    checked = intake.check(benchmark, [jsonl(lines)])
    assert checked.problems.by_code == {"too_few_claims": 1}
    assert (checked.problems.first[0].value or "").startswith(f"{made} claims")


def test_a_frozen_set_maps_by_the_plan_it_was_frozen_under_whatever_its_project_does_next(
    cast: BenchmarkCast,
) -> None:
    project = create_project(k=1)
    import_lines(project, [sentence("s1"), sentence("s2")])
    projects.open_for_work(project, by=curator())
    answered_item(project, ["A"], item="s1")
    answered_item(project, ["C"], item="s2")
    step = inventory.merge(project, ["A", "B"], target="AB", by=curator())
    made = builder.freeze(project, name="Merged", version="1.0", by=curator())
    run_job("freeze", made.pk)
    inventory.undo(step, by=curator())
    made.refresh_from_db()
    testset.release(made, username="olga", by=curator())
    names = [label["name"] for label in made.labels]
    options = {"map_old_labels": True}
    settings = [("main", made, "sentence", "micro_f1")]
    benchmark = cast.benchmark("merged", settings=settings, labels=names, options=options)
    submission = cast.submit(benchmark, [{"id": "s1", "label": "B"}, {"id": "s2", "label": "C"}])
    assert submission.old_labels == {"B": {"to": "AB", "labels": 1}}
    assert scored(submission)["micro_f1"] == 1


RAW = ["employs", "founds", "likes", "owns", "owns", "none"]  # of six sentences; `none` is the negative class


def single(names: Iterable[str], **became: str) -> list[Line]:
    return [{"id": f"s{at}", "label": became.get(name, name)} for at, name in enumerate(names, 1)]


def mapped_set(cast: BenchmarkCast, *sets: TestSet, version: str, **names: str | None) -> TestSet:
    plan = MappingPlan.of(sets[0], others=sets[1:], names=names, by=cast.olga)
    made = mapping.make(plan, name="Mapped", version=version, by=cast.olga)
    run_job(mapping.KIND, made.pk)
    made.refresh_from_db()
    return made


def mapped_twice(cast: BenchmarkCast) -> list[TestSet]:
    """Imported gold whose label `job` replaced two others, and that in which `work` replaced `job`."""
    lines = [
        sentence(line["id"]) | {"relations": [] if line["label"] == "none" else [line["label"]]}
        for line in single(RAW)
    ]
    batch = import_lines(None, lines, what="gold", by=cast.olga, name="Raw", version="1")
    raw = TestSet.objects.get(batch=batch)
    first = mapped_set(cast, raw, version="1", employs="job", founds="job", likes=None)
    return [first, mapped_set(cast, first, version="2", job="work", owns="owner")]


def frozen_twice(cast: BenchmarkCast) -> list[TestSet]:
    """The same by steps on the ontology of a project, frozen after the first ones and after the others."""
    project, olga = create_project(k=1, labels=sorted({*RAW} - {"none"})), curator()
    import_lines(project, [sentence(line["id"]) for line in single(RAW)])
    projects.open_for_work(project, by=olga)
    for line in single(RAW):
        answered_item(project, [] if line["label"] == "none" else [line["label"]], item=line["id"])
    made = []
    inventory.merge(project, ["employs", "founds"], target="job", by=olga)
    inventory.delete(project, ["likes"], by=olga)
    for version in ("1.0", "2.0"):
        made.append(builder.freeze(project, name="Frozen", version=version, by=olga))
        run_job("freeze", made[-1].pk)
        made[-1].refresh_from_db()
        testset.release(made[-1], username="olga", by=olga)
        if version == "1.0":
            inventory.rename(project, "job", target="work", by=olga)
            inventory.rename(project, "owns", target="owner", by=olga)
    return made


@pytest.mark.parametrize("made", [mapped_twice, frozen_twice])
def test_names_replaced_twice_are_mapped_to_the_last_one_in_new_files_and_in_runs_scored_again(
    made: Any, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = made(cast)
    benchmark = cast.benchmark(
        "twice",
        settings=[("main", first, "sentence", "micro_f1")],
        labels=["job", "owns", "work", "owner"],
        negative="none",
        options={"map_old_labels": True},
    )
    once = {"employs": "job", "founds": "job", "likes": "none"}
    oldest = cast.submit(benchmark, single(RAW))
    then = cast.submit(benchmark, single(RAW, **once), run="2")
    assert scored(oldest) == scored(then)
    creation.revise_setting(Setting.objects.get(), test_set=second, by=cast.olga)
    twice = {"employs": "work", "founds": "work", "likes": "none", "owns": "owner"}
    new = cast.submit(benchmark, single(RAW, **twice), run="3")
    assert scored(oldest) == scored(then) == scored(new)
    assert scored(new)["micro_f1"] == 1
    content, contract = jsonl(single(RAW)), file_contract.for_new_file(benchmark)
    checked = intake.check(benchmark, [content])
    assert (checked.problems.total, checked.old_labels) == (0, OF_RAW)
    quick = score.load_predictions(contract, io.BytesIO(content), format="jsonl-predictions")
    monkeypatch.setattr(prediction_files, "read_columns", lambda *args, **options: None)
    slow = score.load_predictions(contract, io.BytesIO(content), format="jsonl-predictions")
    assert quick.old_labels == slow.old_labels == OF_RAW
    assert quick.label.tolist() == slow.label.tolist()


OF_RAW: Stated = {
    "employs": {"to": "work", "labels": 1},
    "founds": {"to": "work", "labels": 1},
    "likes": {"to": None, "labels": 1},
    "owns": {"to": "owner", "labels": 2},
}


def test_what_steps_unknown_to_a_new_gold_gave_is_mapped_on_by_its_own(cast: BenchmarkCast) -> None:
    """The second gold was imported anew: it knows what became of `born_in`, not what became that before."""
    lines = [RELATION_GOLD[0] | {"relations": ["birth"]}, *RELATION_GOLD[1:4]]
    lines += [line | {"relations": ["birth"]} for line in RELATION_GOLD[4:]]
    rename = {"number": 1, "operation": "rename", "sources": ["born_in"], "target": "birth"}
    second = freeze("second", lines, by=cast.olga, labels=["birth", "works_for", "part_of"], steps=[rename])
    names = [*LABELS, "birth", "native_of"]  # a label of the benchmark, though an old one of the first gold
    benchmark = mapping_board(cast, labels=names)
    old, new = cast.submit(benchmark, OLD), cast.submit(benchmark, NEW, run="2")
    scored(old)
    creation.revise_setting(Setting.objects.get(), test_set=second, by=cast.olga)
    assert scored(old) == scored(new)
    assert scored(old)["micro_f1"] == 1


# ---- switched on and off ---------------------------------------------------------------------------
def test_old_names_are_mapped_once_the_organiser_says_so_and_stored_files_are_read_as_before(
    cast: BenchmarkCast, client: Client
) -> None:
    benchmark = mapping_board(cast, options={})
    before = cast.submit(benchmark, NEW)
    figures = scored(before)
    client.force_login(cast.olga)
    api, page = f"/api/v1/benchmarks/{benchmark.slug}/old-names", f"/boards/{benchmark.slug}/organise/"
    stated = client.get(api).json()
    assert (stated["mapped"], stated["runs"], stated["changed"]) == (False, 1, {})
    assert stated["names"] == {"native_of": "born_in", "birthplace": "born_in", "likes": None}
    assert "native_of → born_in" in client.get(page).content.decode()
    assert client.post(page, {"action": "map"}).status_code == 302
    benchmark.refresh_from_db()
    mapped = cast.submit(benchmark, OLD, run="2")
    assert scored(mapped) == figures
    Setting.objects.get().benchmark.refresh_from_db()
    creation.revise_setting(Setting.objects.get(), test_set=again(cast), by=cast.olga)
    assert scored(before) == scored(mapped)
    evaluations = before.evaluations.order_by("pk")
    assert ["old_labels" in each.options for each in evaluations] == [False, False]  # it has none
    stated = client.post(api, {"mapped": False}, content_type="application/json").json()
    assert (stated["mapped"], stated["runs"], stated["with_old_names"]) == (False, 2, 1)
    benchmark.refresh_from_db()
    assert sum(intake.check(benchmark, [jsonl(OLD)]).problems.by_code.values()) == 3
    mapped.refresh_from_db()
    assert file_contract.of_submission(mapped).old_labels.clear["native_of"] == "born_in"
    assert not [
        each.differences for each in verification.verify(Submission.objects.all()) if each.differences
    ]
    logged = client.get(f"/api/v1/benchmarks/{benchmark.slug}/log").json()["results"]
    assert [
        (each["before"], each["after"]) for each in logged if each["action"] == "old names of labels"
    ] == [*((True, False), (False, True))]


def again(cast: BenchmarkCast) -> TestSet:
    """The same steps under a gold with one other line."""
    return freeze(
        "merged-2", [*RELATION_GOLD[:5], RELATION_GOLD[5] | {"relations": []}], by=cast.olga, steps=STEPS
    )


def test_a_switch_that_would_change_scores_is_rejected_and_says_by_which_labels(cast: BenchmarkCast) -> None:
    benchmark = mapping_board(cast, options={}, labels=[*LABELS, "native_of"])
    old_names.switch(benchmark, mapped=True, by=cast.olga)  # nothing was sent yet
    old_names.switch(benchmark, mapped=False, by=cast.olga)
    cast.submit(benchmark, NEW)
    with pytest.raises(Conflict, match="native_of → born_in") as rejected:
        old_names.switch(benchmark, mapped=True, by=cast.olga)
    assert rejected.value.code == "scores_would_change"
