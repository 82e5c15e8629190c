"""Submitting in the browser: invalid lines are shown, and rejected files are not stored."""

from __future__ import annotations

import gzip
import json
import re
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from evalsvc.core.accounts.teams import create_team
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, PredictionFile, Setting, Submission
from evalsvc.evaluation.submissions import model_intake
from tests.cast.basics import jsonl
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.evalsvc.evaluation.submissions.test_dense_scores import dense
from tests.workers.handlers.test_score import LABEL_LINES
from workers.runner import run_next


def send(client: Client, content: bytes, *, name: str = "net.jsonl", **values: str) -> HttpResponse:
    fields = {"system": "Net", "run": "1", "do": "submit"} | values
    file = SimpleUploadedFile(name, content)
    return client.post(reverse("submit", args=["rel"]), fields | {"file": file})


def codes(page: str) -> list[str]:
    """Return the codes of the problems on the page, in order."""
    return re.findall(rf'href="{reverse("docs-errors")}#(\w+)"', page)


def test_the_meaning_of_a_missing_document_follows_the_benchmark(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.entities(missing="refuse")
    client.force_login(cast.kim)
    rules = {}
    for missing in ("refuse", "wrong"):
        Benchmark.objects.filter(pk=benchmark.pk).update(missing=missing)
        response = client.get(reverse("submit", args=["ner"]))
        rules[missing] = response.context["missing_lines"]
        assert rules[missing] in response.content.decode()
    assert rules["refuse"] != rules["wrong"]


def test_a_hidden_phase_asks_for_every_line_of_any_form(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.relations(missing="wrong")
    client.force_login(cast.kim)
    page = reverse("submit", args=["rel"])
    shown = client.get(page).context["missing_lines"]
    assert (
        shown
        == "Items without a line: single labels: counted as wrong; label sets, scores: counted as no label."
    )
    benchmark.settings.update(disclosure="hidden")
    assert client.get(page).context["missing_lines"] == "Items without a line: file rejected."


def test_the_command_names_the_team_for_members_of_several(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    submit, board = reverse("submit", args=["rel"]), reverse("board", args=["rel"])
    for address in (submit, board, reverse("team", args=["kelpie"])):
        assert "-F team=" not in client.get(address).content.decode()
    create_team(name="Zander", by=cast.kim)
    for address, team in (
        (submit, "kelpie"),
        (board, "kelpie"),
        (reverse("team", args=["kelpie"]), "kelpie"),
        (reverse("team", args=["zander"]), "zander"),
    ):
        assert f"-F team={team}" in client.get(address).content.decode(), address


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_becomes_a_submission(client: Client, cast: BenchmarkCast, packed: bool) -> None:
    cast.relations()
    client.force_login(cast.kim)
    content = jsonl(LABEL_LINES)
    response = send(client, gzip.compress(content) if packed else content, name="net.jsonl.gz")
    submission = Submission.objects.get()
    assert response.headers["Location"] == reverse("submission", args=[submission.pk])
    assert (submission.system.name, submission.run, submission.by) == ("Net", "1", cast.kim)


def test_the_same_file_again_redirects_to_the_existing_run(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    first = send(client, jsonl(LABEL_LINES)).headers["Location"]
    assert send(client, jsonl(LABEL_LINES)).headers["Location"] == first
    assert [message.level_tag for message in client.get(first).context["messages"]] == ["info"]


@pytest.mark.parametrize("packed", [False, True])
def test_invalid_lines_are_shown_with_numbers_and_corrections(
    client: Client, cast: BenchmarkCast, packed: bool
) -> None:
    cast.relations()
    client.force_login(cast.kim)
    lines = [*LABEL_LINES[:2], {"id": "s3", "label": "works_fro"}, *LABEL_LINES[3:]]
    content = jsonl(lines)
    response = send(client, gzip.compress(content) if packed else content)
    page = response.content.decode()
    assert response.status_code == 422
    assert "<mark>works_fro</mark>" in page
    assert "<i>2</i>" in page
    assert "<i>3</i>" in page
    assert codes(page) == ["near_label"]
    assert "works_for?" in page
    assert "{&quot;id&quot;: &quot;s1&quot;, &quot;label&quot;: &quot;works_for&quot;}" in page
    assert not Submission.objects.exists()
    assert not PredictionFile.objects.exists()


def test_a_label_is_marked_at_its_key_and_not_inside_the_id(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    response = send(client, b'{"id": "s007", "label": "7"}\n')
    (line,) = (row for row in response.context["problems"]["excerpt"] if row.bad)
    assert line.before.endswith('"label": "')


def test_missing_ids_do_not_hide_invalid_lines(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    page = send(client, b'{"id": "s1", "label": "works_fro"}\n{"id": "s2", "label": 3}\n').content.decode()
    assert codes(page) == ["near_label", "wrong_type", "missing_id"]
    assert "works_for?" in page


def test_missing_ids_are_one_row_with_a_count_and_the_first_id(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    page = send(client, jsonl(LABEL_LINES[:1])).content.decode()
    assert codes(page) == ["missing_id"]
    assert "s2, s3, s4 and 2 more" in page
    assert '<span class="quiet">5 ' in page
    assert f'href="{reverse("board-inputs", args=["rel"])}"' in page


def test_all_inputs_have_each_item_of_the_open_settings_once(client: Client, cast: BenchmarkCast) -> None:
    few, rest = (
        freeze("few", RELATION_GOLD[:3], by=cast.olga),
        freeze("rest", RELATION_GOLD[2:], by=cast.olga),
    )
    cast.benchmark(
        settings=[("main", few, "sentence", "micro_f1", None), ("more", rest, "sentence", "micro_f1", None)]
    )
    client.force_login(cast.kim)
    page = client.get(reverse("submit", args=["rel"]))
    ((_, address, n),) = page.context["inputs"]
    lines = b"".join(client.get(address).streaming_content).splitlines()  # type: ignore[attr-defined]
    assert len(lines) == n == len(RELATION_GOLD)


def test_a_problem_after_many_others_is_shown_with_its_count(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    slips = [{"id": "s1", "label": "works_fro"}] * 25
    page = send(client, jsonl(slips)).content.decode()
    (row,) = (row for row in page.split("<tr>") if "missing_id" in codes(row))
    assert '<span class="quiet">5 ' in row
    assert 'class="like"' not in row  # the report kept none of these problems, so there is no example


def test_the_text_of_a_line_is_escaped(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    page = send(client, jsonl([{"id": "s1", "label": "<script>alert(1)</script>"}])).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page


def test_a_check_shows_its_result_and_submits_nothing(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    page = send(client, jsonl(LABEL_LINES), do="check").content.decode()
    assert "note--good" in page
    assert "6 lines" in page
    assert not Submission.objects.exists()
    assert send(client, b"{", do="check").status_code == 422


def test_names_of_columns_come_from_a_file_beside_the_scores(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    content = dense(np.full((6, 4), 0.5))
    fields: dict[str, Any] = {"system": "Net", "run": "1", "do": "submit"}
    names = SimpleUploadedFile(
        "rel2id.json", json.dumps({"N/A": 0, "part_of": 1, "born_in": 2, "works_for": 3}).encode()
    )
    both = fields | {"file": SimpleUploadedFile("a.npy", content), "columns_file": names}
    assert client.post(reverse("submit", args=["rel"]), both | {"columns": "born_in"}).status_code == 400
    for file in (both["file"], names):
        file.seek(0)
    assert client.post(reverse("submit", args=["rel"]), both).status_code == 302
    assert Submission.objects.get().columns == ["N/A", "part_of", "born_in", "works_for"]


def test_each_kind_of_warning_is_shown_with_its_count(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.entities(options={"repair": "conlleval"}, missing="wrong")
    client.force_login(cast.kim)
    lines = [
        {"id": "d1", "spans": [[0, 1, "PER"], [0, 1, "PER"], [1, 2, "LOC"], [1, 2, "LOC"]]},
    ]
    file = SimpleUploadedFile("net.jsonl", jsonl(lines))
    page = client.post(reverse("submit", args=["ner"]), {"file": file, "do": "check"}).content.decode()
    message = KINDS["duplicate_span"].message
    assert f"2 × {message}" in page
    submission = cast.submit(benchmark, lines)
    run_next("score")
    page = client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert re.search(rf"<dt>2 warnings</dt>\s*<dd>{message}</dd>", page)


def test_a_taken_run_is_rejected_on_the_form(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    send(client, jsonl(LABEL_LINES))
    other = [*LABEL_LINES[:5], {"id": "s6", "label": "part_of"}]
    response = send(client, jsonl(other))
    assert response.status_code == 409
    assert "Net already has a run 1" in response.content.decode()


def test_a_missing_file_is_reported_at_its_field(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    response = client.post(reverse("submit", args=["rel"]), {"system": "Net", "run": "1"})
    assert response.status_code == 400
    assert 'id="id_file_error"' in response.content.decode()


def test_a_user_without_a_team_is_led_to_create_one(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.olga)
    page = client.get(reverse("submit", args=["rel"])).content.decode()
    assert reverse("team-new") in page
    assert 'name="file"' not in page


def test_submitting_for_another_team_is_rejected(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    response = send(client, jsonl(LABEL_LINES), team="lugworm")
    assert response.status_code == 403
    assert not Submission.objects.exists()


def test_a_private_benchmark_rejects_strangers(client: Client, cast: BenchmarkCast) -> None:
    cast.relations(public=False)
    client.force_login(cast.kim)
    assert client.get(reverse("submit", args=["rel"])).status_code == 404
    assert send(client, jsonl(LABEL_LINES)).status_code == 404


def test_the_aggregate_is_offered_only_for_bags(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    gold = freeze("bags", RELATION_GOLD, by=cast.olga)
    cast.benchmark("bags", settings=[("bag", gold, "bag", "ap")])
    client.force_login(cast.kim)
    assert 'name="aggregate"' not in client.get(reverse("submit", args=["rel"])).content.decode()
    assert 'name="aggregate"' in client.get(reverse("submit", args=["bags"])).content.decode()


def test_a_check_requires_only_a_file(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    checked = send(client, jsonl(LABEL_LINES), do="check", system="", run="")
    assert "note--good" in checked.content.decode()
    response = client.post(reverse("submit", args=["rel"]), {"do": "check"})
    assert response.status_code == 400
    assert 'id="id_file_error"' in response.content.decode()


def test_declarations_of_a_team_are_shown_on_the_board(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    client.force_login(cast.kim)
    links = {"paper": "https://example.org/paper.pdf", "code": "https://example.org/code"}
    refused = send(client, jsonl(LABEL_LINES), paper="javascript:alert(1)")
    assert refused.context["form"].errors["paper"]
    send(client, jsonl(LABEL_LINES), pretrained="BERT base", extra_data="Wikidata", **links)
    assert run_next("score")
    page = client.get(reverse("board", args=["rel"])).content.decode()
    assert "BERT base" in page
    assert "Wikidata" in page
    assert all(f'href="{address}"' in page for address in links.values())


def test_one_of_two_open_phases_is_chosen(client: Client, cast: BenchmarkCast) -> None:
    benchmark = cast.benchmark()
    for phase, lines in (("dev", RELATION_GOLD[:3]), ("test", RELATION_GOLD[3:])):
        gold = freeze(phase, lines, by=cast.olga)
        fields = {"test_set": gold, "unit": "sentence", "main": "micro_f1", "phase": phase, "by": cast.olga}
        creation.add_setting(benchmark, key=phase, title=phase, disclosure="open", **fields)
    client.force_login(cast.kim)
    page = client.get(reverse("submit", args=["rel"])).content.decode()
    assert '<option value="dev">' in page
    response = send(client, jsonl(LABEL_LINES[3:]))
    assert response.status_code == 400
    assert 'id="id_phase_error"' in response.content.decode()
    assert not Submission.objects.exists()
    send(client, jsonl(LABEL_LINES[3:]), phase="test")
    assert Submission.objects.get().phase == "test"
    send(client, jsonl(LABEL_LINES), phase="both", run="2")
    assert Submission.objects.get(run="2").phase == "both"
    assert '<option value="both">both, with one file</option>' in page
    assert f"{reverse('board-inputs', args=['rel'])}?phase=both" in page
    listed = client.get(reverse("api-submissions", args=["rel"]), {"phase": "dev"}).json()["results"]
    assert [each["run"] for each in listed] == ["2"]
    checked = send(client, jsonl(LABEL_LINES[:3]), phase="dev", do="check")
    assert "note--good" in checked.content.decode()


def test_a_benchmark_that_is_closed_offers_no_form(client: Client, cast: BenchmarkCast) -> None:
    cast.relations()
    Setting.objects.update(closes_at=timezone.now() - timedelta(hours=1))
    client.force_login(cast.kim)
    assert 'name="file"' not in client.get(reverse("submit", args=["rel"])).content.decode()


def test_inputs_and_quotas_are_shown_with_the_form(client: Client, cast: BenchmarkCast) -> None:
    cast.relations(per_day=3, limits={"upload_bytes": 5_000_000})
    client.force_login(cast.kim)
    page = client.get(reverse("submit", args=["rel"])).content.decode()
    assert reverse("setting-inputs", args=["rel", "main"]) in page
    assert "3 of 3 left" in page
    assert "up to 5 MB" in page


# ---- models --------------------------------------------------------------------------------------
def test_models_are_accepted_for_entities_if_a_machine_runs_them(
    client: Client, cast: BenchmarkCast, settings: Any
) -> None:
    settings.MODEL_UPLOADS = "auto"
    cast.entities()
    cast.relations()
    client.force_login(cast.kim)
    address = reverse("submit", args=["ner"])
    model_intake.record_self_test("here", why_not="The kernel has no Landlock.")
    page = client.get(address).content.decode()
    assert "The kernel has no Landlock." in page
    assert 'value="model"' not in page
    model_intake.record_self_test("here", why_not="")
    assert 'value="model"' in client.get(address).content.decode()
    assert 'id="models"' not in client.get(reverse("submit", args=["rel"])).content.decode()


def test_a_tar_without_a_pipeline_is_rejected_at_its_field(
    client: Client, cast: BenchmarkCast, settings: Any
) -> None:
    settings.MODEL_UPLOADS = "auto"
    cast.entities()
    model_intake.record_self_test("here", why_not="")
    client.force_login(cast.kim)
    fields = {"do": "model", "system": "Tagger", "run": "1", "file": SimpleUploadedFile("m.tar", b"no tar")}
    response = client.post(reverse("submit", args=["ner"]), fields)
    assert response.status_code == 400
    page = response.content.decode()
    assert "nlp.to_disk" in page[page.index("id_model_file") :]
    assert not Submission.objects.exists()
