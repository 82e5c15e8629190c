"""Page of a submission: state, figures and visibility."""

from __future__ import annotations

import csv
import gzip
import re
from io import StringIO

import pytest
from django.test import Client
from django.urls import reverse

from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import PredictionFile, Setting, Submission
from evalsvc.evaluation.pages.score_view import micro_above_macro_in_words
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from tests.cast.replay import replayed
from tests.workers.handlers.test_score import LABEL_LINES, SCORE_LINES
from workers.handlers import score
from workers.runner import run_next


def page(client: Client, submission: Submission, name: str = "submission", **query: str) -> str:
    response = client.get(reverse(name, args=[submission.pk]), query)
    assert response.status_code == 200
    return response.content.decode()


@replayed
def bags(cast: BenchmarkCast) -> Submission:
    """Scored by bag, with a curve."""
    submission = cast.submit(cast.relations("bag", "ap"), SCORE_LINES)
    assert run_next("score")
    submission.refresh_from_db()
    return submission


def test_a_fault_of_the_service_is_shown_without_hosts_and_files(
    client: Client, cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("[Errno 5] Input/output error: '/srv/secret/file'")

    submission = cast.submit(cast.relations(), LABEL_LINES)
    monkeypatch.setattr(score, "_results", fail)
    assert run_next("score")
    client.force_login(cast.kim)
    html = page(client, submission)
    assert "A fault of the service, not of your file." in html
    assert "secret" not in html


def test_a_waiting_run_is_polled_every_second(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    client.force_login(cast.kim)
    html = page(client, submission)
    assert 'hx-trigger="every 1s"' in html
    assert 'id="scores"' not in html


def test_a_scored_state_shows_the_figures_and_stops_polling(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    client.force_login(cast.kim)
    assert "hx-get" in page(client, submission, "submission-state")
    assert run_next("score")
    response = client.get(reverse("submission-state", args=[submission.pk]))
    assert response["HX-Retarget"] == "#submission"
    html = response.content.decode()
    assert "hx-get" not in html
    assert 'id="scores"' in html


def test_a_scored_run_shows_its_figure_first_then_its_provenance(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES, filename="net-1.jsonl")
    assert run_next("score")
    client.force_login(cast.kim)
    html = page(client, submission)
    assert "micro F1 50.0" in html[: html.index('id="scores"')]
    for made_from in (submission.file_id, "net-1.jsonl", "numpy", "β = 1 (F1)"):
        assert made_from in html
    worker = Job.objects.values_list("worker", flat=True).get(kind="score")
    assert worker
    assert worker not in html


def test_averages_classes_and_errors_name_one_operating_point(client: Client, cast: BenchmarkCast) -> None:
    submission = bags(cast)
    client.force_login(cast.kim)
    html, point = page(client, submission), "counted at τ*, the score of the best micro F1 of each run"
    assert f"main, {point}, frequent first" in html
    assert f"on “main”, {point}, most in" in html
    assert html.count(point) >= 4  # scores, provenance, errors, classes
    rows = submission.evaluations.get().classes
    assert f'<td class="fig opt">{rows[0]["correct"]}</td>' in html[html.index("Relation by relation") :]


def test_a_threshold_of_the_benchmark_is_named_where_it_counts(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations("bag", "ap", options={"threshold": 0.3})
    submission = cast.submit(benchmark, SCORE_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    html = page(client, submission)
    assert html.count("counted from the threshold 0.3 on") >= 5  # the caption of the curve, too
    assert "counted at τ*" not in html


def test_further_settings_are_folded_under_their_main_figure(client: Client, cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    settings = [("first", gold, "sentence", "micro_f1"), ("second", gold, "sentence", "accuracy")]
    submission = cast.submit(cast.benchmark(settings=settings), LABEL_LINES)
    while run_next("score"):
        pass
    client.force_login(cast.kim)
    html = page(client, submission)
    assert "<summary>second: accuracy 50.0</summary>" in html
    assert "<summary>first" not in html


def test_classes_are_sorted_as_requested(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)

    def order(key: str) -> list[str]:
        table = page(client, submission, order=key)
        table = table[table.index('id="classes"') :]
        return sorted(("born_in", "works_for", "part_of"), key=table.index)

    # born_in is right once of two, works_for once of two claims, part_of is missed
    assert order("gold")[0] == "born_in"
    assert order("f1")[0] == "part_of"


def test_errors_are_listed_by_type(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    (errors,) = client.get(reverse("submission", args=[submission.pk])).context["errors"]
    assert [(n, total) for _, n, total in errors.parts] == [(1, 3)] * 3


def test_a_ranked_run_has_a_curve_to_view_and_download(client: Client, cast: BenchmarkCast) -> None:
    submission = bags(cast)
    client.force_login(cast.kim)
    submission.benchmark.settings.update(phase="test")
    html = page(client, submission)
    assert 'aria-label="Precision against recall: main, test phase"' in html
    assert re.search(r"<b[^>]*>main, test phase: best F1 at recall", html)
    rows = list(csv.reader(StringIO(page(client, submission, "submission-curve-csv"))))
    assert rows[0] == ["recall", "precision"]
    # the surest claim is right: precision 1 at recall 1 of 4
    assert [float(value) for value in rows[1]] in ([0.0, 1.0], [0.25, 1.0])
    drawn = page(client, submission, "submission-curve-svg")
    assert drawn.startswith("<svg xmlns=")


def test_single_labels_have_no_curve(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    assert client.get(reverse("submission-curve-svg", args=[submission.pk])).status_code == 404


@pytest.mark.parametrize(
    ("state", "code", "kind", "explained"),
    [
        ("failed", "worker_lost", "warn", False),
        ("failed", "gold_changed", "warn", True),
        ("invalid", "unknown_label", "bad", True),
        ("cancelled", "", "warn", False),
    ],
)
def test_a_run_without_scores_shows_a_notice_and_the_reason_of_a_failure(
    client: Client, cast: BenchmarkCast, state: str, code: str, kind: str, explained: bool
) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    Submission.objects.filter(pk=submission.pk).update(state=state, reason_code=code, reason="It broke.")
    client.force_login(cast.kim)
    html = page(client, submission)
    assert f'class="note note--{kind}"' in html
    assert ("It broke." in html) is explained
    assert "hx-get" not in html


def test_a_withdrawn_run_is_marked_and_leaves_the_board(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    client.post(reverse("submission-withdraw", args=[submission.pk]))
    assert client.get(reverse("submission", args=[submission.pk])).context["notice"].kind == "warn"
    assert client.get(reverse("board", args=["rel"])).context["table"].rows == []


def test_a_waiting_run_can_be_cancelled(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    client.force_login(cast.kim)
    client.post(reverse("submission-cancel", args=[submission.pk]))
    submission.refresh_from_db()
    assert submission.state == "cancelled"


NAMES = ["submission", "submission-state", "submission-curve-svg", "submission-curve-csv"]


@pytest.mark.parametrize("name", NAMES)
def test_another_teams_submission_is_404(client: Client, cast: BenchmarkCast, name: str) -> None:
    submission = bags(cast)
    address = reverse(name, args=[submission.pk])
    client.force_login(cast.lars)
    assert client.get(address).status_code == 404
    client.force_login(cast.olga)
    assert client.get(address).status_code == 200
    client.logout()
    assert client.get(address).headers["Location"] == f"/login/?next={address}"


@pytest.mark.parametrize("name", ["submission-withdraw", "submission-cancel"])
def test_another_team_can_neither_withdraw_nor_cancel(client: Client, cast: BenchmarkCast, name: str) -> None:
    submission = bags(cast)
    client.force_login(cast.lars)
    assert client.post(reverse(name, args=[submission.pk])).status_code == 404
    submission.refresh_from_db()
    assert (submission.state, submission.withdrawn_at) == ("scored", None)


def test_no_gold_is_on_a_submissions_page(client: Client, cast: BenchmarkCast) -> None:
    submission = bags(cast)
    client.force_login(cast.kim)
    for name in NAMES:
        assert "canary" not in page(client, submission, name)


def test_the_list_has_runs_of_my_teams_and_boards_i_organise(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    cast.submit(benchmark, LABEL_LINES, system="Mine")
    cast.submit(benchmark, LABEL_LINES[::-1], system="Theirs", team=cast.lugworm, by=cast.lars)
    client.force_login(cast.kim)
    html = client.get(reverse("submissions")).content.decode()
    assert "Mine" in html
    assert "Theirs" not in html
    client.force_login(cast.olga)
    html = client.get(reverse("submissions")).content.decode()
    assert "Mine" in html
    assert "Theirs" in html


def test_a_setting_shows_how_many_claims_it_dropped(client: Client, cast: BenchmarkCast) -> None:
    few = freeze("few", RELATION_GOLD[:2], by=cast.olga)
    every = freeze("every", RELATION_GOLD, by=cast.olga)
    benchmark = cast.benchmark(
        settings=[("few", few, "sentence", "micro_f1"), ("every", every, "sentence", "micro_f1")]
    )
    submission = cast.submit(benchmark, LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    assert "4 predictions outside" in page(client, submission)


def test_a_models_run_names_the_model_and_its_predictions(client: Client, cast: BenchmarkCast) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES, filename="net.tar")
    model = PredictionFile.objects.create(sha256="5" * 64, size=3, name="model")
    Submission.objects.filter(pk=submission.pk).update(model=model)
    assert run_next("score")
    client.force_login(cast.kim)
    html = page(client, submission)
    assert html.index("5" * 64) < html.index('<dd class="hash">net.tar</dd>') < html.index(submission.file_id)


def test_a_run_names_the_earlier_one_of_its_team_with_the_same_answers(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.relations()
    first = cast.submit(benchmark, LABEL_LINES)
    same = cast.submit(benchmark, LABEL_LINES[::-1], run="2")
    other = cast.submit(benchmark, LABEL_LINES[::-1], system="Other")
    theirs = cast.submit(benchmark, LABEL_LINES, team=cast.lugworm, by=cast.lars)
    while run_next("score"):
        pass
    client.force_login(cast.kim)
    link = reverse("submission", args=[first.pk])
    for submission, note in ((same, "The two count as one run."), (other, "Each counts for its own system.")):
        html = page(client, submission)
        assert f'Same answers as <a href="{link}">run 1 of Net</a>' in html
        assert note in html
    assert "The system’s only run." in page(client, same)
    same.system.runs.filter(run="2").update(phase="test")
    assert "The system’s only run in the test phase." in page(client, same)
    assert "Same answers" not in page(client, first)
    client.force_login(cast.lars)
    assert "Same answers" not in page(client, theirs)


def test_show_the_board_opens_the_setting_the_reader_came_from(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    two = freeze("two", RELATION_GOLD[:4], by=cast.olga)
    creation.add_setting(
        benchmark, key="two", title="Two", test_set=two, unit="sentence", main="micro_f1", by=cast.olga,
        disclosure="open",
    )  # fmt: skip
    submission = cast.submit(benchmark, LABEL_LINES)
    client.force_login(cast.kim)
    board = reverse("board", args=[benchmark.slug])
    assert f'hx-get="{reverse("submission-state", args=[submission.pk])}?setting=two"' in page(
        client, submission, setting="two"
    )
    assert run_next("score")
    for query, setting in (({"setting": "two"}, "two"), ({}, "main"), ({"setting": "no"}, "main")):
        assert f'href="{board}?setting={setting}">Show the board' in page(client, submission, **query)
    link = f"{reverse('submission', args=[submission.pk])}?setting=two"
    assert link in client.get(board, {"setting": "two"}).content.decode()


def test_a_team_downloads_its_file_as_it_was_scored(client: Client, cast: BenchmarkCast) -> None:
    lines = jsonl(LABEL_LINES)
    submission = cast.submit(cast.relations(), gzip.compress(lines), filename="run 1.jsonl.gz")
    client.force_login(cast.kim)
    address = reverse("submission-file", args=[submission.pk])
    assert address in page(client, submission)
    response = client.get(address)
    assert b"".join(response.streaming_content) == lines
    assert response.headers["Content-Disposition"] == 'attachment; filename="run 1.jsonl"'
    assert response.headers["Cache-Control"] == "private, no-store"
    client.force_login(cast.lars)
    assert client.get(address).status_code == 404


def test_scores_under_earlier_versions_stay_on_the_page(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations()
    submission = cast.submit(benchmark, LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    assert "Scores under every version" not in page(client, submission)
    other = [line | {"relations": ["part_of"]} for line in RELATION_GOLD]
    setting = benchmark.settings.get()
    creation.revise_setting(setting, test_set=freeze("later", other, by=cast.olga), by=cast.olga)
    while run_next("score"):
        pass
    response = client.get(reverse("submission", args=[submission.pk]))
    rows = response.context["versions"]
    assert [numbers for _, numbers, *_ in rows] == [[1], [2]]
    assert len({score for _, _, score, *_ in rows}) == 2


def test_words_by_type_have_means_over_documents_and_the_weights_given_and_used(
    client: Client, cast: BenchmarkCast
) -> None:
    benchmark = cast.entities(labels=["PER", "LOC", "DATE"])  # no DATE on either side
    spans = [[0, 1, "PER"]]
    submission = cast.submit(
        benchmark, [{"id": f"d{n}", "spans": spans if n != 2 else []} for n in (1, 2, 3)]
    )
    assert run_next("score")
    client.force_login(cast.kim)
    html = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page(client, submission)))
    assert "0.25 → 0.33" in html
    assert "0.25 → 0.00" in html
    means = html[html.index("Means over documents") :]
    assert "PER 2 1.00 0.75 0.83" in means  # two documents: R1-F1 1 and 2/3
    assert "DATE 0 – – –" in means
    assert "not the weighted sum of these" in means


def test_a_micro_f1_above_macro_precision_and_recall_is_explained_beside_the_figures(
    client: Client, cast: BenchmarkCast
) -> None:
    submission = cast.submit(cast.entities(), [
        {"id": "d1", "spans": [[0, 1, "PER"]]}, {"id": "d2", "spans": []},
        {"id": "d3", "spans": [[0, 1, "PER"], [2, 3, "PER"]]},
    ])  # fmt: skip
    assert run_next("score")
    client.force_login(cast.kim)
    expected = "Micro F1 85.7 is above macro precision 50.0 and macro recall 50.0. This is not an error"
    assert expected in page(client, submission)
    system = reverse("system", args=["ner", submission.system_id])
    assert expected in client.get(system).content.decode()


def test_a_micro_f1_above_by_digits_that_are_not_shown_needs_no_explanation(cast: BenchmarkCast) -> None:
    values = {"conll_micro_f1": 1.0, "conll_macro_precision": 1 - 1e-16, "conll_macro_recall": 0.9999}
    assert not micro_above_macro_in_words(values, cast.entities().settings.get())


def test_wrong_directions_are_counted_apart_from_other_wrong_relations(
    client: Client, cast: BenchmarkCast
) -> None:
    names = ["owns(e1,e2)", "owns(e2,e1)", "near(e1,e2)"]
    gold = [gold_sentence(f"s{n}", "Q1", "Q2", name) for n, name in enumerate(names)]
    gold.append(gold_sentence("s3", "Q1", "Q2"))
    settings = [("main", freeze("directed", gold, by=cast.olga, labels=names), "sentence", "micro_f1")]
    benchmark = cast.benchmark(settings=settings, labels=names, negative="Other")
    predicted = [names[1], names[2], "Other", names[2]]
    submission = cast.submit(
        benchmark, [{"id": f"s{n}", "label": label} for n, label in enumerate(predicted)]
    )
    assert run_next("score")
    client.force_login(cast.kim)
    pages = [
        client.get(reverse("submission", args=[submission.pk])),
        client.get(reverse("system", args=[benchmark.slug, submission.system_id])),
    ]
    for each in pages:
        [chart] = each.context["errors"]
        kinds = {name.split(":")[0]: n for name, n, _ in chart.parts}
        assert kinds == {"missed": 1, "spurious": 1, "wrong relation": 1, "wrong direction": 1}


def test_a_run_on_open_gold_has_its_confusions_and_a_link_to_its_errors(
    client: Client, cast: BenchmarkCast
) -> None:
    submission = cast.submit(cast.relations(), LABEL_LINES)
    assert run_next("score")
    client.force_login(cast.kim)
    opened = client.get(reverse("submission", args=[submission.pk]))
    rows = {title: n for title, n, _ in opened.context["confusion"].rows}
    assert rows == {"born_in": "2", "works_for": "1", "part_of": "1", "N/A": "2"}
    errors = client.get(opened.context["errors_address"]).context
    assert (errors["a"].run, errors["a"].median) == (submission, False)
    heads = re.findall(r'scope="col" title="(\w+)">\s*<span aria-hidden="true">(\d)', opened.content.decode())
    assert heads == [("born_in", "1"), ("works_for", "2"), ("part_of", "3")]  # long names would overlap
    Setting.objects.update(disclosure="hidden")
    hidden = client.get(reverse("submission", args=[submission.pk]))
    assert hidden.context["confusion"] is None
    assert "Gold against prediction" not in hidden.content.decode()
