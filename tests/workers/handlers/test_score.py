"""Scoring: a submission becomes evaluations with figures, once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotation import testset
from evalsvc.core.jobs import queue as job_queue
from evalsvc.core.jobs.models import Job
from evalsvc.core.storage import MISSING_TRIES
from evalsvc.evaluation.benchmarks import inputs
from evalsvc.evaluation.disclosure import gold_counts
from evalsvc.evaluation.models import Evaluation, PredictionFile, Score, Submission
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, Line, freeze, gold_sentence
from workers.metrics.ranking_profiles import FEW_CLAIMS
from workers.runner import run_next
from workers.scoring.tokenizer import MIXED

LABEL_LINES: list[Line] = [
    {"id": "s1", "label": "born_in"},
    {"id": "s2", "label": "born_in"},
    {"id": "s3", "label": "works_for"},
    {"id": "s4", "label": "N/A"},
    {"id": "s5", "label": "N/A"},
    {"id": "s6", "label": "works_for"},
]
SCORE_LINES: list[Line] = [
    {"id": "s1", "scores": {"born_in": 0.9, "works_for": 0.2}},
    {"id": "s2", "scores": {"born_in": 0.6}},
    {"id": "s3", "scores": {"works_for": 0.8}},
    {"id": "s5", "scores": {"born_in": 0.4}},
    {"id": "s6", "scores": {"works_for": 0.7}},
]


def scored(submission: Submission) -> Submission:
    assert run_next("score")
    submission.refresh_from_db()
    assert submission.state == "scored", submission.reason
    return submission


def figures(submission: Submission, setting: str = "main") -> dict[str, float | None]:
    evaluation = submission.evaluations.get(setting__key=setting)
    return {score.measure: score.value for score in evaluation.scores.all()}


def test_single_labels_are_scored_as_a_classification(cast: BenchmarkCast) -> None:
    submission = scored(cast.submit(cast.relations(), LABEL_LINES))
    found = figures(submission)
    # right: s1, s3; claimed: s1 s2 s3 s6; to find: s1 s3 s5 s6
    assert found["micro_precision"] == pytest.approx(2 / 4)
    assert found["micro_recall"] == pytest.approx(2 / 4)
    assert found["accuracy"] == pytest.approx(3 / 6)
    assert "ap" not in found
    assert "semeval2010_f1" not in found


def test_errors_are_counted_by_type(cast: BenchmarkCast) -> None:
    submission = scored(cast.submit(cast.relations(), LABEL_LINES))
    assert submission.evaluations.get().detail["lost"] == {"missed": 1, "spurious": 1, "confused": 1}


def test_scores_are_ranked_and_counted_at_one_operating_point(cast: BenchmarkCast) -> None:
    submission = scored(cast.submit(cast.relations(), SCORE_LINES))
    found, evaluation = figures(submission), submission.evaluations.get()
    # claims by score: s1+ .9, s3+ .8, s6− .7, s2− .6, s5+ .4, s1− .2; four facts
    assert found["ap"] == pytest.approx((1 / 1 + 2 / 2 + 3 / 5) / 4)
    assert found["tau"] == 0.8
    assert found["micro_f1"] == found["max_f1"] == pytest.approx(2 / 3)
    assert (found["micro_precision"], found["micro_recall"]) == (1.0, 2 / 4)
    rows = {row["family"]: [] for row in evaluation.classes}
    for row in evaluation.classes:
        rows[row["family"]].append((row["label"], row["gold"], row["predicted"], row["correct"]))
    assert rows["classification"] == rows["bags"]
    assert sum(evaluation.detail["lost"].values()) == 2  # the two facts below τ*


def test_claims_without_facts_are_all_spurious(cast: BenchmarkCast) -> None:
    gold = freeze("empty", [{**line, "relations": []} for line in RELATION_GOLD], by=cast.olga)
    benchmark = cast.benchmark(settings=[("main", gold, "sentence", "micro_f1")])
    submission = scored(cast.submit(benchmark, SCORE_LINES))
    assert figures(submission)["micro_precision"] == 0.0
    assert submission.evaluations.get().detail["lost"]["spurious"] == 6


def test_the_threshold_is_an_option_stored_with_the_score(cast: BenchmarkCast) -> None:
    submission = scored(cast.submit(cast.relations(options={"threshold": 0.3}), SCORE_LINES))
    assert submission.evaluations.get().options["threshold"] == 0.3
    assert figures(submission)["micro_recall"] == pytest.approx(3 / 4)
    lost = submission.evaluations.get().detail["lost"]
    assert lost == {"missed": 0, "spurious": 1, "confused": 1}  # s2 is spurious, s6 confused


def test_bags_are_scored_by_maximum_or_mean_as_submitted(cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap")
    one = scored(cast.submit(benchmark, SCORE_LINES, run="one", aggregate="ONE"))
    mean = scored(cast.submit(benchmark, SCORE_LINES, run="mean", aggregate="AVG"))
    tables = [run.evaluations.get().detail["curve"]["score"][0] for run in (one, mean)]
    assert tables == [0.9, 0.8]


def test_triples_of_bags_are_scored_in_bag_settings_only(cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    settings = [("bags", gold, "bag", "ap"), ("sentences", gold, "sentence", "micro_f1")]
    lines = [
        {"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.9},
        {"h": "Q3", "t": "Q4", "relation": "born_in", "score": 0.8},
    ]
    submission = scored(cast.submit(cast.benchmark(settings=settings), lines))
    assert [e.setting.key for e in submission.evaluations.all()] == ["bags"]
    assert figures(submission, "bags")["ap"] == pytest.approx(1 / 4)


def test_label_sets_of_sentences_are_united_in_their_bag(cast: BenchmarkCast) -> None:
    lines = [{"id": "s1", "labels": []}, {"id": "s2", "labels": ["born_in"]}]
    found = figures(scored(cast.submit(cast.relations("bag", "micro_f1"), lines)))
    assert found["micro_precision"] == 1.0
    assert found["micro_recall"] == pytest.approx(1 / 4)


def test_a_setting_can_be_restricted_to_the_sentences_of_another_set(cast: BenchmarkCast) -> None:
    whole = freeze("whole", RELATION_GOLD, by=cast.olga, origin="source")
    part = freeze("part", RELATION_GOLD[:3], by=cast.olga)
    settings = [("all", whole, "sentence", "micro_f1"), ("same", whole, "sentence", "micro_f1", part)]
    submission = scored(cast.submit(cast.benchmark(settings=settings), LABEL_LINES))
    same = submission.evaluations.get(setting__key="same")
    assert figures(submission, "same")["accuracy"] == pytest.approx(2 / 3)
    assert same.detail["counts"]["left_out"] == 3
    assert same.options["only"] == part.sha256


def test_a_missing_prediction_counts_as_wrong_on_request(cast: BenchmarkCast) -> None:
    found = figures(scored(cast.submit(cast.relations(missing="wrong"), LABEL_LINES[:3])))
    assert found["accuracy"] == pytest.approx(2 / 6)
    assert found["micro_recall"] == pytest.approx(2 / 4)


def test_several_gold_labels_make_label_sets_of_single_answers(cast: BenchmarkCast) -> None:
    gold = freeze("many", [gold_sentence("s1", "Q1", "Q2", "born_in", "part_of")], by=cast.olga)
    benchmark = cast.benchmark(settings=[("main", gold, "sentence", "micro_f1")])
    found = figures(scored(cast.submit(benchmark, [{"id": "s1", "label": "part_of"}])))
    assert (found["micro_precision"], found["micro_recall"]) == (1.0, 0.5)


def test_spans_are_scored_exactly_partially_and_by_words(cast: BenchmarkCast) -> None:
    lines = [
        {"id": "d1", "spans": [[0, 1, "PER"], [3, 4, "LOC"]]},
        {"id": "d2", "spans": []},
        {"id": "d3", "spans": [[0, 1, "PER"]]},
    ]
    submission = scored(cast.submit(cast.entities(), lines))
    found = figures(submission)
    assert found["conll_micro_precision"] == pytest.approx(2 / 3)
    assert found["conll_micro_recall"] == pytest.approx(2 / 4)
    assert found["muc_type_recall"] == pytest.approx(3 / 4)
    # words: PER {Ada}, {Bo} of {Ada}, {Bo, Cy}; LOC {Turin} of {New, Turin}
    per, loc, both = 2 * 2 / (2 + 3), 2 * 1 / (1 + 2), 2 * 3 / (3 + 5)
    assert found["wrf_strict"] == pytest.approx((per + loc + both) / 3)
    assert submission.evaluations.get().detail["lost"]["wrong bounds"] == 1


def test_tags_and_spans_of_the_same_answer_give_the_same_figures(cast: BenchmarkCast) -> None:
    benchmark = cast.entities()
    tags = ["B-PER O B-LOC I-LOC", "O O", "B-PER O O"]
    spans = [[[0, 1, "PER"], [2, 4, "LOC"]], [], [[0, 1, "PER"]]]
    by_tags = [{"id": f"d{n}", "tags": line.split()} for n, line in enumerate(tags, 1)]
    by_spans = [{"id": f"d{n}", "spans": line} for n, line in enumerate(spans, 1)]
    one = figures(scored(cast.submit(benchmark, by_tags, run="tags")))
    other = figures(scored(cast.submit(benchmark, by_spans, run="spans")))
    assert one == other


def test_conll_columns_are_taken_in_the_order_of_the_documents(cast: BenchmarkCast) -> None:
    columns = (
        "Ada\tB-PER\nleft\tO\nNew\tB-LOC\nTurin\tI-LOC\n\nIt\tO\nrained\tO\n\nBo\tB-PER\nmet\tO\nCy\tB-PER\n"
    )
    submission = scored(cast.submit(cast.entities(), columns.encode()))
    assert submission.format == "conll"
    assert figures(submission)["conll_micro_f1"] == 1.0


def test_words_of_texts_without_tokens_are_those_of_the_blank_tokenizer(cast: BenchmarkCast) -> None:
    gold = freeze(
        "texts",
        [
            {
                "id": "d1",
                "text": "Ada left New Turin.",
                "spans": [[0, 3, "PER"], [9, 18, "LOC"]],
                "relations": [],
            }
        ],
        by=cast.olga,
        labels=["PER", "LOC"],
        kind="entities",
    )
    benchmark = cast.benchmark(
        "texts", task="entities", labels=["PER", "LOC"], negative="",
        settings=[("main", gold, "document", "wrf_strict")],
    )  # fmt: skip
    submission = scored(cast.submit(benchmark, [{"id": "d1", "spans": [[0, 3, "PER"], [13, 18, "LOC"]]}]))
    assert figures(submission)["wrf_strict"] == pytest.approx((1 + 2 / 3 + 4 / 5) / 3)


def test_gold_in_tokens_and_in_text_has_no_wrf_of_spans_and_says_why(cast: BenchmarkCast) -> None:
    """Of earlier imports, and of parts with and without tokens: every file of spans failed."""
    line = {"relations": [], "spans": [[0, 1, "PER"]]}
    lines = [{"id": "d1", "tokens": ["A", "left"]} | line, {"id": "d2", "text": "B left"} | line]
    gold = freeze("mixed", lines, by=cast.olga, labels=["PER"], kind="entities")
    benchmark = cast.benchmark(
        "mixed", task="entities", labels=["PER"], negative="",
        settings=[("main", gold, "document", "wrf_strict")],
    )  # fmt: skip
    answers = [{"id": line["id"], "spans": [[0, 1, "PER"]]} for line in lines]
    submission = scored(cast.submit(benchmark, answers))
    found = figures(submission)
    assert found["conll_micro_f1"] == 1.0
    assert "wrf_strict" not in found
    assert submission.evaluations.get().detail["notes"] == [MIXED]
    texts = [{"id": "d1", "entities": [["A", "PER"]]}, {"id": "d2", "entities": [["B", "PER"]]}]
    assert figures(scored(cast.submit(benchmark, texts, run="2")))["wrf_strict"] == 1.0


def test_the_provenance_of_a_score_is_stored(cast: BenchmarkCast) -> None:
    submission = scored(cast.submit(cast.relations(), LABEL_LINES))
    evaluation = submission.evaluations.get()
    assert evaluation.gold_sha256 == evaluation.setting.test_set.sha256
    assert evaluation.file_id == submission.file_id
    assert evaluation.options["labels"] == ["born_in", "works_for", "part_of"]
    assert evaluation.options["negative"] == "N/A"
    assert evaluation.scorer
    assert set(evaluation.libraries) == {"python", "numpy", "scipy"}
    assert {row["label"] for row in evaluation.classes} == {"born_in", "works_for", "part_of", "N/A"}


def test_an_undefined_figure_is_null_with_its_reason(cast: BenchmarkCast) -> None:
    submission = scored(cast.submit(cast.relations(), SCORE_LINES))
    score = Score.objects.get(evaluation__submissions=submission, measure="p_at_100")
    assert (score.value, score.reason) == (None, FEW_CLAIMS)


@pytest.mark.parametrize("damage", [("{", "{{"), ('"born_in"', '"bornein"'), ('"s1"', '"s0"')])
def test_changed_gold_delays_scoring_until_it_is_restored(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch, damage: tuple[str, str]
) -> None:
    before, after = (text.encode() for text in damage)
    submission = cast.submit(cast.relations(), LABEL_LINES)
    batches = testset.export_batches
    inputs._read_ids.cache_clear()

    def changed(of: testset.TestSet) -> Iterator[list[bytes]]:
        return ([line.replace(before, after, 1) for line in each] for each in batches(of))

    with monkeypatch.context() as damaged:
        damaged.setattr(testset, "export_batches", changed)
        run_next("score")
    submission.refresh_from_db()
    assert submission.state == "queued"
    assert not Evaluation.objects.exists()
    assert "must restore" in Job.objects.get().events.get(what="retried").detail
    Job.objects.update(run_after=Now())
    assert scored(submission).state == "scored"


def test_a_file_is_not_checked_against_changed_gold(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark, batches = cast.relations(), testset.export_batches
    inputs._read_ids.cache_clear()
    with monkeypatch.context() as damaged:
        damaged.setattr(testset, "export_batches", lambda of: list(batches(of))[:0])
        with pytest.raises(testset.GoldChanged):
            cast.submit(benchmark, LABEL_LINES)
    assert cast.submit(benchmark, LABEL_LINES).state == "queued"


def test_a_lost_file_fails_the_scoring_after_some_tries(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    name = PredictionFile.objects.get().name
    PredictionFile.objects.update(name="predictions/gone")
    for _ in range(MISSING_TRIES + 1):
        submission.refresh_from_db()
        assert submission.state == "queued"
        Job.objects.update(run_after=Now())
        run_next("score")
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("failed", "file_lost")
    assert "Submit it again" in submission.reason
    PredictionFile.objects.update(name=name)  # restored
    job_queue.restart(submission.job, by="an administrator")
    assert scored(submission).state == "scored"


def test_scoring_waits_for_a_storage_that_is_away(cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    folder = Path(default_storage.path(""))
    away = folder.rename(folder.with_name("away"))
    for _ in range(MISSING_TRIES + 2):
        Job.objects.update(run_after=Now())
        run_next("score")
    away.rename(folder)
    Job.objects.update(run_after=Now())
    assert scored(submission).state == "scored"


def test_a_changed_file_fails_the_scoring(cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    submission = cast.submit(benchmark, LABEL_LINES)
    other = cast.submit(benchmark, [*LABEL_LINES[:5], {"id": "s6", "label": "N/A"}], run="2")
    PredictionFile.objects.filter(pk=submission.file_id).update(name=other.file.name)
    run_next("score")
    submission.refresh_from_db()
    assert (submission.state, submission.reason_code) == ("failed", "file_changed")


def test_relations_of_joint_gold_are_no_types_of_entities(cast: BenchmarkCast, client: Client) -> None:
    spans = [[0, 1, "PER"], [3, 4, "LOC"]]
    lines = [
        {"id": "d1", "tokens": ["Ada", "lives", "in", "Kiel"], "spans": spans, "relations": [[0, "in", 1]]},
        {"id": "d2", "tokens": ["Ada", "left", "it", "now"], "spans": [[0, 1, "PER"]], "relations": []},
    ]
    labels = ["PER", "LOC", "in"]
    gold = freeze("joint", lines, by=cast.olga, labels=labels, kind="joint")
    benchmark = cast.benchmark(
        "ner", task="entities", labels=labels, negative="",
        settings=[("main", gold, "document", "conll_macro_all_f1")],
    )  # fmt: skip
    submission = scored(cast.submit(benchmark, [{"id": "d1", "spans": spans[:1]}, {"id": "d2", "spans": []}]))
    found, evaluation = figures(submission), submission.evaluations.get()
    # PER: 1 right, 1 missed; LOC: 1 missed
    assert found["conll_macro_all_f1"] == found["conll_macro_f1"] == pytest.approx(1 / 3)
    assert evaluation.options["labels"] == ["PER", "LOC"]
    assert [row["label"] for row in evaluation.classes if row["family"] == "conll"] == ["PER", "LOC"]
    assert list(gold_counts.of_version(benchmark.settings.get()).classes) == ["PER", "LOC"]
    client.force_login(cast.kim)
    page = client.get(reverse("submit", args=[benchmark.slug])).content.decode()
    assert "2 labels" in page
    assert "<code>in</code>" not in page
