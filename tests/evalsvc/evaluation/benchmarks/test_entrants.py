"""Taking part in a benchmark: terms, approval, announcements, and the archive of all runs."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from evalsvc.core.errors.exceptions import Conflict, DomainError, NotAllowed
from evalsvc.evaluation.api.archive import archive_file
from evalsvc.evaluation.benchmarks import announcements, entrants, events, final_entries
from evalsvc.evaluation.models import Benchmark, Entrant, Setting, Submission
from tests.cast.benchmarks import BenchmarkCast
from tests.errors import code
from tests.workers.handlers.test_score import LABEL_LINES
from workers.runner import run_next

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark(cast: BenchmarkCast) -> Benchmark:
    return cast.relations()


def test_a_team_submits_only_after_it_accepted_the_terms_in_force(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    first = entrants.set_terms(benchmark, "Do not *train* on dev.", by=cast.olga)
    assert first is not None
    with pytest.raises(NotAllowed, check=code("team_terms_not_accepted")):
        cast.submit(benchmark, LABEL_LINES)
    for wrong in (None, 2):
        with pytest.raises(Conflict, check=code("team_terms_not_accepted")):
            entrants.enter(benchmark, cast.kelpie, by=cast.kim, terms=wrong)
    entrants.enter(benchmark, cast.kelpie, by=cast.kim, terms=1)
    assert cast.submit(benchmark, LABEL_LINES).pk
    entrants.set_terms(benchmark, "Do not train on dev or test.", by=cast.olga)
    with pytest.raises(NotAllowed, match="version 2"):
        cast.submit(benchmark, LABEL_LINES, run="2")
    assert entrants.set_terms(benchmark, "", by=cast.olga) is None
    assert cast.submit(benchmark, LABEL_LINES, run="2").pk
    again = entrants.set_terms(benchmark, "Do not *train* on dev.", by=cast.olga)
    assert again is not None
    assert again.number == 3
    assert [each.number for each in benchmark.terms.all()] == [1, 2, 3]


def test_the_teams_that_other_terms_or_approval_would_stop_are_named_first(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    cast.submit(benchmark, LABEL_LINES)
    client.force_login(cast.olga)
    page, api = (reverse(name, args=[benchmark.slug]) for name in ("board-entrants", "api-terms"))
    for sent in ({"action": "terms", "text": "Be fair."}, {"action": "approval", "approval": "on"}):
        shown = client.post(page, sent | {"do": "show"}).content.decode()
        assert "Before their next submission, Kelpie must accept the terms or be approved." in shown
    entrants.set_terms(benchmark, "Be fair.", by=cast.olga)
    sent = {"text": "", "preview": True}
    answer = client.post(api, sent, content_type="application/json").json()
    assert (answer["effect"], answer["terms"]["number"]) == ("Kelpie may submit at once.", 1)
    benchmark.refresh_from_db()
    assert (benchmark.terms_number, benchmark.approval) == (1, False)
    same = client.post(api, {"text": "Be fair.", "preview": True}, content_type="application/json").json()
    assert same["effect"] == "No team that takes part is affected."


def test_the_same_terms_saved_again_make_no_version(cast: BenchmarkCast, benchmark: Benchmark) -> None:
    for _ in range(2):
        entrants.set_terms(benchmark, " Be fair. ", by=cast.olga)
    assert benchmark.terms.count() == 1


def test_texts_of_several_lines_are_taken_from_forms(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    client.force_login(cast.olga)
    lines = "Be fair.\r\n\r\n1. Do not train on dev."
    for name, body in (
        ("board-entrants", {"action": "terms", "text": lines}),
        ("board-announcements", {"action": "announce", "title": "News", "text": lines}),
    ):
        assert client.post(reverse(name, args=[benchmark.slug]), body).status_code == 302
    for text in (benchmark.terms.get().text, benchmark.announcements.get().text):
        assert text == "Be fair.\n\n1. Do not train on dev."


def test_organisers_approve_or_decline_a_team_with_a_reason(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    entrants.set_approval(benchmark, needed=True, by=cast.olga)
    with pytest.raises(NotAllowed, match="approves each team"):
        cast.submit(benchmark, LABEL_LINES)
    entrant = entrants.enter(benchmark, cast.kelpie, by=cast.kim)
    with pytest.raises(NotAllowed, match="not yet decided"):
        cast.submit(benchmark, LABEL_LINES)
    with pytest.raises(DomainError, check=code("reason_needed")):
        entrants.decide(entrant, approve=False, by=cast.olga)
    entrants.decide(entrant, approve=False, by=cast.olga, reason="Name a contact.")
    with pytest.raises(NotAllowed, match=r"Name a contact\."):
        cast.submit(benchmark, LABEL_LINES)
    entrant = entrants.enter(benchmark, cast.kelpie, by=cast.kim)
    assert entrant.state == Entrant.State.ASKED
    entrants.decide(entrant, approve=True, by=cast.olga)
    assert cast.submit(benchmark, LABEL_LINES).pk


def test_runs_of_a_team_that_is_declined_stay_and_are_scored_as_the_page_says(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    entrants.set_approval(benchmark, needed=True, by=cast.olga)
    entrant = entrants.enter(benchmark, cast.kelpie, by=cast.kim)
    entrants.decide(entrant, approve=True, by=cast.olga)
    waiting = cast.submit(benchmark, LABEL_LINES)
    client.force_login(cast.olga)
    page = reverse("board-entrants", args=[benchmark.slug])
    assert "those that wait are scored" in client.get(page).content.decode()
    declined = client.post(page, {"decline": str(entrant.pk), "reason": "Late."}, follow=True)
    assert "Its runs so far stay; those that wait are scored." in declined.content.decode()
    run_next("score")
    waiting.refresh_from_db()
    assert waiting.state == Submission.State.SCORED
    with pytest.raises(NotAllowed, match=r"Late\."):
        cast.submit(benchmark, LABEL_LINES, run="2")


def test_terms_accepted_while_an_organiser_decides_stay_accepted(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    entrants.set_approval(benchmark, needed=True, by=cast.olga)
    read_before = entrants.enter(benchmark, cast.kelpie, by=cast.kim)
    entrants.set_terms(benchmark, "Be fair.", by=cast.olga)
    entrants.enter(benchmark, cast.kelpie, by=cast.kim, terms=1)
    entrants.decide(read_before, approve=True, by=cast.olga)
    entrants.require_entered(benchmark, cast.kelpie)


def test_the_page_leads_a_team_from_terms_to_its_first_run(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    entrants.set_terms(benchmark, "Be **fair**.", by=cast.olga)
    entrants.set_approval(benchmark, needed=True, by=cast.olga)
    client.force_login(cast.kim)
    board = client.get(reverse("board", args=[benchmark.slug])).content.decode()
    address = reverse("board-take-part", args=[benchmark.slug])
    assert address in board
    assert "cannot submit yet" in client.get(reverse("submit", args=[benchmark.slug])).content.decode()
    assert "<strong>fair</strong>" in client.get(address).content.decode()
    stale = client.post(address, {"team": "kelpie", "terms": "9"})
    assert stale.status_code == 409
    assert "Version 1 of the terms" in stale.content.decode()
    assert client.post(address, {"team": "kelpie", "terms": "1"}).status_code == 302
    assert "wait for the organisers" in client.get(address).content.decode()
    client.force_login(cast.olga)
    page = reverse("board-entrants", args=[benchmark.slug])
    pk = benchmark.entrants.get().pk
    refused = client.post(page, {"decline": str(pk), "reason": ""})
    assert refused.status_code == 400
    assert "Give a reason" in refused.content.decode()
    assert client.post(page, {"approve": str(pk), "reason": ""}).status_code == 302
    client.force_login(cast.kim)
    assert "Submit a run" in client.get(address).content.decode()
    assert "cannot submit yet" not in client.get(reverse("submit", args=[benchmark.slug])).content.decode()


def test_the_api_does_what_the_pages_do(client: Client, cast: BenchmarkCast, benchmark: Benchmark) -> None:
    def post(name: str, body: dict[str, Any], *more: Any) -> Any:
        return client.post(reverse(name, args=[benchmark.slug, *more]), body, "application/json")

    client.force_login(cast.olga)
    assert post("api-terms", {"text": "Be fair.", "approval": True}).json()["terms"]["number"] == 1
    client.force_login(cast.kim)
    assert post("api-entry", {"terms": 1}).json()["state"] == "asked"
    client.force_login(cast.olga)
    listed = client.get(reverse("api-entrants", args=[benchmark.slug]), {"state": "asked"}).json()
    assert [each["team"] for each in listed] == ["kelpie"]
    assert post("api-entrant", {"approve": True}, "kelpie").json()["state"] == "approved"
    made = post("api-announcements", {"title": "Test opens on Monday", "text": "At noon."})
    assert made.status_code == 201
    client.force_login(cast.kim)
    entry = client.get(reverse("api-entry", args=[benchmark.slug])).json()
    assert (entry["approval"], entry["entries"][0]["terms"]) == (True, 1)
    (shown,) = client.get(reverse("api-announcements", args=[benchmark.slug])).json()
    assert shown["title"] == "Test opens on Monday"


def test_announcements_stand_on_the_board_and_in_the_feed_until_removed(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    announcements.announce(benchmark, title="Dev is open", text="*Now.*", by=cast.olga)
    places = [reverse(name, args=[benchmark.slug]) for name in ("board", "board-feed", "board-announcements")]
    client.force_login(cast.kim)
    assert all("Dev is open" in client.get(place).content.decode() for place in places)
    assert "&lt;em&gt;Now.&lt;/em&gt;" in client.get(places[1]).content.decode()
    announcements.remove(benchmark.announcements.get(), by=cast.olga)
    assert not any("Dev is open" in client.get(place).content.decode() for place in places)


def test_the_feed_has_the_start_of_a_long_announcement_and_a_link_to_the_page_with_all_of_it(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    with pytest.raises(DomainError, match="10,000 characters"):
        announcements.announce(benchmark, title="Long", text="a" * 10_001, by=cast.olga)
    for number in range(21):
        announcements.announce(benchmark, title=f"News {number}", text="a" * 9_999 + "z", by=cast.olga)
    newest, *_, first = events.events(benchmark)
    assert newest.html == f"<p>{'a' * 1_000}…</p>\n"
    assert "?" not in newest.path
    assert "?page=2#announcement-" in first.path
    client.force_login(cast.kim)
    for event in (newest, first):
        whole = client.get(event.path).content.decode()
        assert f'id="{event.path.partition("#")[2]}"' in whole
        assert "az</p>" in whole


@pytest.mark.django_db(transaction=True)
def test_the_archive_has_every_file_score_and_digest_and_the_same_bytes_each_time(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    entrants.set_terms(benchmark, "Be fair.", by=cast.olga)
    entrants.enter(benchmark, cast.kelpie, by=cast.kim, terms=1)
    run = cast.submit(benchmark, LABEL_LINES)
    assert run_next("score")
    Setting.objects.update(disclosure=Setting.Disclosure.HIDDEN)
    client.force_login(cast.olga)
    packed = [
        b"".join(client.get(reverse(name, args=[benchmark.slug])).streaming_content)  # type: ignore[attr-defined]
        for name in ("board-archive", "api-archive")
    ]
    assert packed[0] == packed[1]
    with zipfile.ZipFile(io.BytesIO(packed[0])) as archive:
        assert archive.testzip() is None
        files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    sums = dict(line.split("  ")[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    assert hashlib.sha256(files[f"files/{run.file_id}"]).hexdigest() == run.file_id
    (line,) = map(json.loads, files["runs.jsonl"].splitlines())
    assert (line["team"], line["system"], line["run"], line["state"]) == ("kelpie", "Net", "1", "scored")
    (scores,) = map(json.loads, files["scores.jsonl"].splitlines())
    assert scores["id"] == run.pk
    assert scores["scores"]["micro_f1"]["value"] == pytest.approx(0.5)
    assert json.loads(files["benchmark.json"])["terms"][0]["text"] == "Be fair."
    assert json.loads(files["entrants.jsonl"])["terms"] == 1
    digest = benchmark.settings.get().test_set.sha256  # organisers need not read the hidden gold
    assert not [name for name, data in files.items() if digest.encode() in data]


def test_the_archive_is_read_in_as_many_queries_for_many_runs(
    cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    """With six for each run 2,900 took 18 s."""

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            b"".join(archive_file(benchmark, person=cast.olga).streaming_content)  # type: ignore[arg-type]
        return len(captured)

    counts = []
    for label in ("born_in", "works_for", "part_of"):
        cast.submit(benchmark, [line | {"label": label} for line in LABEL_LINES], run=label)
        assert run_next("score")
        counts.append(queries())
    assert counts[0] == counts[1] == counts[2]


def test_organisers_filter_the_runs_and_see_who_has_no_final_one(
    client: Client, cast: BenchmarkCast, benchmark: Benchmark
) -> None:
    Setting.objects.update(row_rule="final")
    cast.submit(benchmark, LABEL_LINES)
    cast.submit(benchmark, LABEL_LINES, team=cast.lugworm, by=cast.lars, system="Other")
    while run_next("score"):
        pass
    final_entries.choose(Submission.objects.get(system__team=cast.lugworm), by=cast.lars)
    client.force_login(cast.olga)
    address = reverse("board-runs", args=[benchmark.slug])
    page = client.get(address).content.decode()
    assert "2 runs" in page
    assert page.count('<span class="chip">final</span>') == 1
    for query, n in (
        ({"team": "kelpie"}, 1), ({"state": "invalid"}, 0), ({"since": "2099-01-01"}, 0),
        ({"until": "2099-01-01"}, 2),
    ):  # fmt: skip
        assert f"{n} run" in client.get(address, query).content.decode()
        lines = b"".join(client.get(reverse("board-runs-csv", args=[benchmark.slug]), query)).splitlines()
        assert len(lines) == 1 + n
    assert client.get(address, {"since": "yesterday"}).status_code == 400
    assert client.get(address, {"sate": "invalid"}).status_code == 400
    listed = reverse("board-entrants-csv", args=[benchmark.slug])
    assert len(client.get(listed, {"state": "declined"}).content.splitlines()) == 1  # the heading
    assert client.get(listed, {"state": "lost"}).status_code == 404
    page = client.get(reverse("board-entrants", args=[benchmark.slug])).content.decode()
    assert "1 team chose no final run" in page
    assert str(cast.kelpie) in page.partition("chose no final run")[2].partition("</p>")[0]
