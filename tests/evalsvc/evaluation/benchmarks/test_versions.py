"""Versions of a setting, phases, sealed scores, and inputs for download."""

from __future__ import annotations

import json
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from psycopg.errors import DeadlockDetected

from evalsvc.core import database
from evalsvc.core.accounts.tokens import issue
from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed, QuotaExceeded
from evalsvc.core.formats.problems import FileRejected
from evalsvc.evaluation.benchmarks import creation, inputs, quotas, scoring_identity, versions
from evalsvc.evaluation.boards.leaderboard import board
from evalsvc.evaluation.models import Benchmark, Evaluation, Setting, Submission
from evalsvc.evaluation.pages import score_view
from evalsvc.evaluation.shown_scores import newest
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import ENTITY_GOLD, LABELS, RELATION_GOLD, BenchmarkCast, freeze, gold_sentence
from tests.cast.replay import replayed
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
OTHER_GOLD = [
    gold_sentence(line["id"], line["h"]["id"], line["t"]["id"], "born_in") for line in RELATION_GOLD
]


def work() -> None:
    while run_next("score"):
        pass


@replayed
def scored(cast: BenchmarkCast) -> tuple[Benchmark, Setting]:
    benchmark = cast.relations()
    cast.submit(benchmark, LINES)
    work()
    return benchmark, benchmark.settings.get()


def figure(setting: Setting, **fields: Any) -> float | None:
    (row,) = board(setting, **fields).rows
    return row.figures["accuracy"].mean


def test_another_gold_makes_a_new_version_and_leaves_the_old_scores(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    before = figure(setting)
    creation.revise_setting(
        setting, test_set=freeze("mended", OTHER_GOLD, by=cast.olga), by=cast.olga, note="Mended."
    )
    work()
    assert (before, figure(setting), setting.version) == (pytest.approx(2 / 6), 1.0, 2)
    assert figure(setting, version=1) == before
    assert Evaluation.objects.filter(setting=setting).count() == 2


def test_a_version_limited_to_a_part_of_the_gold_has_its_own_scores(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    part = freeze("part", RELATION_GOLD[:2], by=cast.olga)
    creation.revise_setting(setting, test_set=setting.test_set, only=part, by=cast.olga)
    work()
    limited = Evaluation.objects.get(setting=setting, options__only=part.sha256)
    assert figure(setting) == limited.scores.get(measure="accuracy").value
    assert figure(setting, version=1) == pytest.approx(2 / 6)


def test_figures_of_a_limited_version_name_the_set_that_limits_it(
    cast: BenchmarkCast, client: Client
) -> None:
    _, setting = scored(cast)
    part = freeze("part", RELATION_GOLD[:2], by=cast.olga)
    creation.revise_setting(setting, test_set=setting.test_set, only=part, by=cast.olga)
    work()
    client.force_login(cast.olga)
    address = f"/boards/{setting.benchmark.slug}/view.md?setting={setting.key}"
    assert f"Scored items: 2, items of {part};" in client.get(address).content.decode()
    whole = client.get(f"{address}&version=1").content.decode()
    assert "Scored items" not in whole


def test_the_board_of_an_old_version_names_the_gold_of_that_version(
    cast: BenchmarkCast, client: Client
) -> None:
    benchmark, setting = scored(cast)
    golds = [setting.test_set, freeze("mended", OTHER_GOLD, by=cast.olga)]
    creation.revise_setting(setting, test_set=golds[1], by=cast.olga)
    client.force_login(cast.kim)
    for number, gold in enumerate(golds, 1):
        body = client.get(f"/api/v1/benchmarks/{benchmark.slug}/board", {"version": str(number)}).json()
        named = body["setting"]
        assert (named["test_set"], named["gold_sha256"]) == (gold.slug, gold.sha256)
        assert (named["version"], body["version"]) == (number, number)


def test_a_board_never_mixes_versions(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    creation.revise_setting(setting, test_set=freeze("mended", OTHER_GOLD, by=cast.olga), by=cast.olga)
    assert not board(setting, version=2).rows
    assert board(setting).version.number == 1
    assert len(board(setting).rows) == 1


def test_a_version_whose_transaction_ended_as_a_deadlock_begins_again(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, setting = scored(cast)
    score_anew, tries = versions.score_anew, list[Setting]()

    def once_deadlocked(row: Setting) -> int:
        tries.append(row)
        if len(tries) == 1:
            raise OperationalError("deadlock detected") from DeadlockDetected()
        return score_anew(row)

    monkeypatch.setattr(versions, "score_anew", once_deadlocked)
    outermost = SimpleNamespace(in_atomic_block=False, vendor=connection.vendor)  # but the test's
    monkeypatch.setattr(database, "connection", outermost)
    creation.revise_setting(setting, test_set=freeze("other", OTHER_GOLD, by=cast.olga), by=cast.olga)
    assert len(tries) == setting.versions.count() == 2


def test_the_same_gold_is_no_new_version(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    with pytest.raises(Conflict):
        creation.revise_setting(setting, test_set=setting.test_set, by=cast.olga)
    assert setting.versions.count() == 1


def test_returning_to_an_earlier_gold_restores_its_scores(cast: BenchmarkCast, client: Client) -> None:
    """Its evaluation is older than that of the gold between, and holds again."""
    benchmark, setting = scored(cast)
    first, mended = setting.test_set, freeze("mended", OTHER_GOLD, by=cast.olga)
    for gold in (mended, first):
        creation.revise_setting(setting, test_set=gold, by=cast.olga)
        work()
    assert figure(setting) == pytest.approx(2 / 6)
    submission = benchmark.submissions.get()
    (held,) = newest(submission)
    assert held.gold_sha256 == first.sha256
    creation.change_setting(setting, by=cast.olga, main="accuracy")
    client.force_login(cast.kim)
    for address in (f"/submissions/{submission.pk}/", "/submissions/", "/teams/kelpie/"):
        page = client.get(address).content.decode()
        shown = page.partition('aria-labelledby="versions"')[0]  # that table has every version by its number
        assert "33.3" in shown, address
        assert "100.0" not in shown, address


def test_scores_on_an_older_gold_name_that_gold(cast: BenchmarkCast) -> None:
    benchmark, setting = scored(cast)
    creation.revise_setting(setting, test_set=freeze("mended", OTHER_GOLD, by=cast.olga), by=cast.olga)
    submission = benchmark.submissions.get()
    parts = {name: value for name, value, _ in score_view.provenance(submission, newest(submission))}
    assert parts["Gold"].startswith("gold-sentence 1, imported, version 1: sha256")


def test_only_an_organiser_revises(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    with pytest.raises(NotAllowed):
        creation.revise_setting(setting, test_set=freeze("mended", OTHER_GOLD, by=cast.olga), by=cast.kim)


def test_another_scorer_makes_a_new_version_at_the_next_submission(
    cast: BenchmarkCast, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark, setting = scored(cast)
    monkeypatch.setattr(scoring_identity, "SCORER", "2.0")
    cast.submit(benchmark, [*LINES[:-1], LINES[-1] | {"label": "works_for"}], run="2")
    work()
    setting.refresh_from_db()
    assert versions.of_setting(setting).note == versions.SCORER_CHANGED
    assert [row.n for row in board(setting).rows] == [2]
    assert [row.n for row in board(setting, version=1).rows] == [1]


def test_an_unknown_version_is_404(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    with pytest.raises(DomainError, match="no version 7"):
        board(setting, version=7)


def scores_of(client: Client, submission: Submission, **asked: str) -> Any:
    return client.get(f"/api/v1/submissions/{submission.pk}/scores", asked)


def test_scores_under_an_earlier_version_are_selected_by_number(cast: BenchmarkCast, client: Client) -> None:
    benchmark, setting = scored(cast)
    golds = [setting.test_set, freeze("mended", OTHER_GOLD, by=cast.olga)]
    creation.revise_setting(setting, test_set=golds[1], by=cast.olga)
    work()
    submission = benchmark.submissions.get()
    client.force_login(cast.kim)
    for asked, number in (({}, 2), ({"version": "2"}, 2), ({"version": "1"}, 1)):
        body = scores_of(client, submission, **asked).json()
        assert body["versions"] == {"main": [1, 2]}
        (evaluation,) = body["evaluations"]
        assert (evaluation["gold_sha256"], evaluation["versions"]) == (golds[number - 1].sha256, [number])
        assert evaluation["scores"]["accuracy"]["value"] == pytest.approx([2 / 6, 1.0][number - 1])


def test_a_version_without_a_score_is_absent(cast: BenchmarkCast, client: Client) -> None:
    benchmark, setting = scored(cast)
    creation.revise_setting(setting, test_set=freeze("mended", OTHER_GOLD, by=cast.olga), by=cast.olga)
    client.force_login(cast.kim)
    body = scores_of(client, benchmark.submissions.get(), version="2").json()
    assert (body["evaluations"], body["versions"]) == ([], {"main": [1]})


def test_a_score_that_two_versions_share_names_both(cast: BenchmarkCast, client: Client) -> None:
    benchmark, setting = scored(cast)
    first, mended = setting.test_set, freeze("mended", OTHER_GOLD, by=cast.olga)
    for gold in (mended, first):
        creation.revise_setting(setting, test_set=gold, by=cast.olga)
        work()
    client.force_login(cast.kim)
    body = scores_of(client, benchmark.submissions.get()).json()
    assert (body["versions"], body["evaluations"][0]["versions"]) == ({"main": [1, 2, 3]}, [1, 3])


@pytest.mark.parametrize(
    ("version", "code"), [("7", "unknown_version"), ("0", "invalid_input"), ("x", "invalid_input")]
)
def test_an_invalid_version_number_is_rejected(
    cast: BenchmarkCast, client: Client, version: str, code: str
) -> None:
    benchmark, _ = scored(cast)
    client.force_login(cast.kim)
    answer = scores_of(client, benchmark.submissions.get(), version=version)
    assert (answer.status_code, answer.json()["code"]) == (400, code)


# ---- phases --------------------------------------------------------------------------------------
def phased(cast: BenchmarkCast, **test: Any) -> Benchmark:
    """The first three sentences for development, the others for the test."""
    benchmark = cast.benchmark()
    now = timezone.now()
    windows: dict[str, Any] = {"dev": {}, "test": {"opens_at": now + timedelta(days=1)} | test}
    for key, lines in (("dev", RELATION_GOLD[:3]), ("test", RELATION_GOLD[3:])):
        creation.add_setting(
            benchmark,
            key=key,
            title=key,
            test_set=freeze(key, lines, by=cast.olga),
            unit="sentence",
            main="micro_f1",
            by=cast.olga,
            phase=key,
            disclosure="open",
            **windows[key],
        )
    return benchmark


def test_a_phase_that_is_not_open_expects_no_predictions(cast: BenchmarkCast) -> None:
    submission = cast.submit(phased(cast), LINES[:3])
    work()
    assert submission.phase == "dev"
    assert [each.setting.key for each in newest(submission)] == ["dev"]


def test_one_of_two_open_phases_must_be_named(cast: BenchmarkCast) -> None:
    benchmark = phased(cast, opens_at=None)
    with pytest.raises(DomainError) as caught:
        cast.submit(benchmark, LINES[:3])
    assert caught.value.code == "phase_needed"
    assert cast.submit(benchmark, LINES[3:], phase="test").phase == "test"


def test_one_file_for_both_phases_counts_and_stands_in_each(cast: BenchmarkCast) -> None:
    benchmark = phased(cast, opens_at=None)
    benchmark.settings.filter(key="test").update(disclosure="hidden")
    Benchmark.objects.update(in_total=1)
    benchmark.refresh_from_db()
    with pytest.raises(FileRejected):
        cast.submit(benchmark, LINES[:3], phase="both")
    submission = cast.submit(benchmark, LINES, phase="both")
    work()
    assert {each.setting.key for each in newest(submission)} == {"dev", "test"}
    for phase, lines in (("dev", LINES[:3]), ("test", LINES[3:]), ("both", LINES)):
        with pytest.raises(QuotaExceeded, match="all 1 submissions"):
            cast.submit(benchmark, lines, phase=phase, run="2")


def test_the_default_quota_of_a_phase_counts_runs_of_both(cast: BenchmarkCast) -> None:
    benchmark = phased(cast, opens_at=None)
    benchmark.settings.filter(key="test").update(disclosure="hidden")
    Benchmark.objects.update(default_quotas=True)
    benchmark.refresh_from_db()
    cast.submit(benchmark, LINES, phase="both")
    test = benchmark.settings.filter(key="test")
    (per_day, *_) = quotas.allowances(benchmark, cast.kelpie, hidden=list(test))
    assert (per_day.name, per_day.used) == ("per_day", 1)


def test_one_file_is_rejected_where_an_id_names_two_items(cast: BenchmarkCast) -> None:
    benchmark = phased(cast, opens_at=None)
    other = freeze("other", [gold_sentence("s1", "Q8", "Q9", "born_in")], by=cast.olga)
    fields = {"test_set": other, "unit": "sentence", "main": "micro_f1", "phase": "test"}
    creation.add_setting(benchmark, key="other", title="Other", by=cast.olga, disclosure="open", **fields)
    with pytest.raises(DomainError, match="s1") as caught:
        cast.submit(benchmark, LINES, phase="both")
    assert caught.value.code == "ids_in_both"


@pytest.mark.parametrize("key", ["", "k"])
def test_a_run_has_a_file_in_each_phase(cast: BenchmarkCast, key: str) -> None:
    benchmark = phased(cast, opens_at=None)
    first = cast.submit(benchmark, LINES[3:], phase="test", idempotency_key=key)
    if key:
        with pytest.raises(Conflict, match=rf"submission {first.pk}.*in the test phase") as caught:
            cast.submit(benchmark, LINES[:3], phase="dev", idempotency_key=key)
        assert caught.value.code == "key_reused"
    assert cast.submit(benchmark, LINES[3:], phase="test", idempotency_key=key) == first
    second = cast.submit(benchmark, LINES[:3], phase="dev")
    assert (second.run, second.system, second.phase) == (first.run, first.system, "dev")
    assert second != first
    with pytest.raises(Conflict, match=rf"submission {first.pk}, sent in the test phase"):
        cast.submit(benchmark, LINES, phase="both")


def test_a_run_of_both_phases_is_taken_in_each(cast: BenchmarkCast) -> None:
    benchmark = phased(cast, opens_at=None)
    first = cast.submit(benchmark, LINES, phase="both")
    with pytest.raises(Conflict, match=rf"submission {first.pk}, sent in both phases") as caught:
        cast.submit(benchmark, LINES[:3], phase="dev")
    assert "withdraw that submission and send one file in both phases" in caught.value.hint
    benchmark.settings.filter(key="test").update(closes_at=timezone.now())
    with pytest.raises(Conflict) as caught:
        cast.submit(benchmark, LINES[:3], phase="dev")
    assert caught.value.hint == f"Use another run name, such as dev-{first.run}."


def test_a_run_is_taken_in_all_phases_where_a_setting_scores_all(cast: BenchmarkCast) -> None:
    benchmark = phased(cast, opens_at=None)
    fields = {"test_set": benchmark.settings.get(key="dev").test_set, "unit": "sentence", "main": "micro_f1"}
    first = cast.submit(benchmark, LINES[:3], phase="dev")
    creation.add_setting(benchmark, key="all", title="All", by=cast.olga, disclosure="open", **fields)
    with pytest.raises(Conflict, match=rf"submission {first.pk}, sent in the dev phase"):
        cast.submit(benchmark, LINES, phase="test")


def test_a_phase_that_is_not_open_accepts_nothing(cast: BenchmarkCast) -> None:
    with pytest.raises(DomainError) as caught:
        cast.submit(phased(cast), LINES[3:], phase="test")
    assert caught.value.code == "unknown_phase"


def test_a_closed_benchmark_names_the_next_opening(cast: BenchmarkCast) -> None:
    benchmark = phased(cast)
    Setting.objects.filter(key="dev").update(closes_at=timezone.now() - timedelta(hours=1))
    with pytest.raises(DomainError) as caught:
        intake.check(benchmark, [jsonl(LINES)])
    assert caught.value.code == "closed"
    opening = Setting.objects.filter(opens_at__gt=timezone.now()).order_by("opens_at")[0].opens_at
    assert f"{opening:%Y-%m-%d %H:%M} UTC" in caught.value.hint


def test_a_setting_that_closes_before_it_opens_is_rejected(cast: BenchmarkCast) -> None:
    with pytest.raises(DomainError) as caught:
        phased(cast, closes_at=timezone.now())
    assert caught.value.code == "bad_window"


def test_sealed_scores_are_for_organisers_until_the_phase_has_closed(cast: BenchmarkCast) -> None:
    benchmark = phased(cast, opens_at=None, closes_at=timezone.now() + timedelta(days=1), sealed=True)
    submission = cast.submit(benchmark, LINES[3:], phase="test")
    work()
    setting = benchmark.settings.get(key="test")
    assert newest(submission) == newest(submission, person=cast.kim) == []
    assert board(setting, person=cast.kim).sealed
    assert len(newest(submission, person=cast.olga)) == 1
    Setting.objects.filter(pk=setting.pk).update(closes_at=timezone.now() - timedelta(seconds=1))
    setting.refresh_from_db()
    assert len(newest(submission)) == len(board(setting).rows) == 1


def test_an_earlier_version_of_a_sealed_setting_is_sealed_too(cast: BenchmarkCast, client: Client) -> None:
    benchmark = phased(cast, opens_at=None, closes_at=timezone.now() + timedelta(days=1), sealed=True)
    submission = cast.submit(benchmark, LINES[3:], phase="test")
    work()
    client.force_login(cast.kim)
    body = scores_of(client, submission, version="1").json()
    assert (body["evaluations"], body["versions"], body["sealed"]) == ([], {}, ["test"])


def test_a_sealed_figure_is_on_no_page(cast: BenchmarkCast, client: Client) -> None:
    benchmark = phased(cast, opens_at=None, closes_at=timezone.now() + timedelta(days=1), sealed=True)
    submission = cast.submit(benchmark, [LINES[0] | {"id": "s4", "label": "N/A"}, *LINES[4:]], phase="test")
    work()
    client.force_login(cast.kim)
    for address in (
        f"/submissions/{submission.pk}/",
        "/submissions/",
        "/boards/",
        f"/boards/{benchmark.slug}/?setting=test",
        f"/boards/{benchmark.slug}/board.csv?setting=test",
    ):
        assert "66.7" not in client.get(address).content.decode(), address
    assert client.get(f"/api/v1/submissions/{submission.pk}/scores").json()["evaluations"] == []
    assert client.get(f"/api/v1/submissions/{submission.pk}/scores").json()["sealed"] == ["test"]


def test_a_sealed_run_and_its_board_show_the_end_of_the_seal(cast: BenchmarkCast, client: Client) -> None:
    closes = timezone.now() + timedelta(days=1)
    benchmark = phased(cast, opens_at=None, closes_at=closes, sealed=True)
    submission = cast.submit(benchmark, LINES[3:], phase="test")
    work()
    sealed = f"“test” are sealed until {closes:%Y-%m-%d %H:%M} UTC."
    client.force_login(cast.kim)
    assert sealed in client.get(f"/submissions/{submission.pk}/").content.decode()
    page = client.get(f"/boards/{benchmark.slug}/?setting=test").content.decode()
    assert sealed in page
    client.force_login(cast.olga)
    assert sealed not in client.get(f"/submissions/{submission.pk}/").content.decode()


# ---- what is shown -------------------------------------------------------------------------------
def test_a_setting_shows_the_measures_it_chose(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    creation.change_setting(setting, by=cast.olga, measures=["micro_f1", "accuracy"])
    assert board(setting).measures == ["micro_f1", "accuracy"]
    with pytest.raises(DomainError):
        board(setting, "macro_f1")


def test_the_main_measure_is_among_those_shown(cast: BenchmarkCast) -> None:
    _, setting = scored(cast)
    with pytest.raises(DomainError):
        creation.change_setting(setting, by=cast.olga, measures=["accuracy"])


def test_reversing_the_main_measure_reverses_the_order(cast: BenchmarkCast) -> None:
    benchmark, setting = scored(cast)
    cast.submit(benchmark, [line | {"label": "part_of"} for line in LINES], system="Worse")
    work()
    assert [row.system.name for row in board(setting).rows] == ["Net", "Worse"]
    creation.change_setting(setting, by=cast.olga, lower_is_better=True)
    assert [row.system.name for row in board(setting).rows] == ["Worse", "Net"]


# ---- inputs --------------------------------------------------------------------------------------
def test_inputs_are_the_lines_in_order_without_their_gold(cast: BenchmarkCast) -> None:
    setting = cast.relations().settings.get()
    lines = [json.loads(line) for line in inputs.input_lines(setting)]
    assert [line["id"] for line in lines] == [line["id"] for line in RELATION_GOLD]
    assert all(line.keys() == {"id", "text", "h", "t"} for line in lines)


def test_inputs_of_entities_have_tokens_and_no_spans(cast: BenchmarkCast) -> None:
    setting = cast.entities().settings.get()
    lines = [json.loads(line) for line in inputs.input_lines(setting)]
    assert lines == [{"id": line["id"], "tokens": line["tokens"]} for line in ENTITY_GOLD]


def test_inputs_are_those_that_the_setting_scores(cast: BenchmarkCast) -> None:
    few = freeze("few", RELATION_GOLD[:2], by=cast.olga)
    whole = freeze("whole", RELATION_GOLD, by=cast.olga)
    benchmark = cast.benchmark(settings=[("main", whole, "sentence", "micro_f1", few)])
    assert len(list(inputs.input_lines(benchmark.settings.get()))) == 2


# ---- by API --------------------------------------------------------------------------------------
def test_an_organiser_configures_a_benchmark_by_api(cast: BenchmarkCast, client: Client) -> None:
    _, key = issue(cast.olga, name="organiser", scope="full")
    headers = {"Authorization": f"Bearer {key}"}
    fields: dict[str, Any] = {"content_type": "application/json", "headers": headers}
    freeze("first", RELATION_GOLD, by=cast.olga)
    freeze("second", OTHER_GOLD, by=cast.olga)
    rules = {"per_day": 5, "time_zone": "Europe/Vienna", "training_counts": {"born_in": 120}}
    labels = [{"name": name} for name in ("born_in", "works_for", "part_of")]
    base = {"slug": "tides", "title": "Tides", "task": "relations", "negative": "N/A"}
    made = client.post("/api/v1/benchmarks", base | {"labels": labels} | rules, **fields)
    assert made.status_code == 201, made.json()
    assert made.json()["training_counts"] == {"born_in": 120}
    at = "/api/v1/benchmarks/tides"
    setting = {"key": "main", "title": "Main", "unit": "sentence", "main": "micro_f1", "test_set": "first"}
    made = client.post(f"{at}/settings", setting | {"phase": "test", "digits": 2}, **fields)
    assert (made.status_code, made.json()["version"], made.json()["digits"]) == (201, 1, 2)
    made = client.post(f"{at}/settings/main/versions", {"test_set": "second", "note": "Mended."}, **fields)
    assert (made.status_code, made.json()["number"]) == (201, 2)
    changed = client.patch(at, {"per_day": None, "at_once": 3}, **fields).json()
    assert (changed["per_day"], changed["at_once"]) == (None, 3)
    changed = client.patch(f"{at}/settings/main", {"digits": None, "title": "Human gold"}, **fields).json()
    assert (changed["digits"], changed["title"]) == (None, "Human gold")
    listed = client.get(f"{at}/settings/main/versions", **fields).json()
    assert [each["test_set"] for each in listed] == ["first", "second"]
    lines = b"".join(client.get(f"{at}/settings/main/inputs", **fields).streaming_content)  # type: ignore[attr-defined]
    assert lines.count(b"\n") == 6
    assert b"relations" not in lines


def test_an_unchanged_resource_answers_304(cast: BenchmarkCast, client: Client) -> None:
    cast.relations()
    client.force_login(cast.kim)
    first = client.get("/api/v1/benchmarks/rel")
    again = client.get("/api/v1/benchmarks/rel", headers={"If-None-Match": first["ETag"]})
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_the_limits_of_a_benchmark_include_remaining_quotas(cast: BenchmarkCast, client: Client) -> None:
    benchmark = cast.relations(per_day=3, limits={"lines": 1_000})
    cast.submit(benchmark, LINES)
    client.force_login(cast.kim)
    body = client.get("/api/v1/benchmarks/rel/limits").json()
    by_name = {each["name"]: each for each in body["quotas"]}
    assert (by_name["per_day"]["used"], by_name["per_day"]["left"], by_name["in_total"]["most"]) == (
        1,
        2,
        None,
    )
    assert body["lines"] == 1_000


def test_the_negative_class_of_the_gold_is_no_relation_of_the_benchmark(cast: BenchmarkCast) -> None:
    gold = freeze("gold", RELATION_GOLD, by=cast.olga)
    with pytest.raises(DomainError, check=lambda error: error.code == "other_negative"):
        cast.benchmark(
            labels=[*LABELS, gold.negative], negative="", settings=[("main", gold, "sentence", "micro_f1")]
        )
