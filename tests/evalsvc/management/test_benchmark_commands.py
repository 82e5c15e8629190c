"""Benchmarks and submissions from the command line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command, load_command_class

from annotation.testset import TestSet
from evalsvc.core.accounts.models import Team, User
from evalsvc.evaluation.api.uploads import FIELDS
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from tests.cast.basics import jsonl, person
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze

SETTING = {"key": "m", "title": "Human gold", "test_set": "gold", "unit": "sentence", "main": "micro_f1"}


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


@pytest.fixture
def file(cast: BenchmarkCast, tmp_path: Path) -> Path:
    freeze("gold", RELATION_GOLD, by=cast.olga)
    return tmp_path / "benchmark.json"


def write(file: Path, **changes: Any) -> str:
    output = {"slug": "rel", "title": "Relations", "task": "relations", "settings": [SETTING]}
    file.write_text(json.dumps(output | changes))
    return str(file)


def test_a_file_makes_a_benchmark_with_the_labels_of_its_test_sets(file: Path) -> None:
    assert "3 labels, 1 setting\n" in run("create_benchmark", write(file), "--by", "olga")
    benchmark = Benchmark.objects.get(slug="rel")
    assert [label["name"] for label in benchmark.labels] == ["born_in", "works_for", "part_of"]
    assert benchmark.negative == "N/A"
    assert benchmark.settings.get().title == "Human gold"


def test_options_make_a_benchmark_with_one_setting(file: Path) -> None:
    words = (
        "--slug rel --title Relations --task relations --test-set gold --unit bag --main ap --missing wrong"
    )
    run("create_benchmark", *words.split(), "--by", "olga")
    benchmark = Benchmark.objects.get(slug="rel")
    assert (benchmark.missing, benchmark.settings.get().unit) == ("wrong", "bag")


def test_an_invalid_setting_creates_no_benchmark(file: Path) -> None:
    path = write(file, settings=[SETTING | {"main": "conll_micro_f1"}])
    with pytest.raises(CommandError, match="conll_micro_f1"):
        run("create_benchmark", path, "--by", "olga")
    assert not Benchmark.objects.exists()


def test_an_unknown_key_of_the_file_is_named(file: Path) -> None:
    with pytest.raises(CommandError, match="colour"):
        run("create_benchmark", write(file, colour="blue"), "--by", "olga")


@pytest.mark.parametrize("output", ["gold", [["gold"]], {"test_set": "gold"}])
def test_settings_other_than_a_list_of_objects_are_rejected_with_an_example(file: Path, output: Any) -> None:
    with pytest.raises(CommandError, match=r"settings(.|\n)*Example:"):
        run("create_benchmark", write(file, settings=output), "--by", "olga")


def test_a_test_set_whose_import_failed_is_rejected_with_its_state(file: Path) -> None:
    olga = User.objects.get(username="olga")
    TestSet.objects.create(slug="half", name="Half", version="1", kind="relations", state="failed", by=olga)
    with pytest.raises(CommandError, match=r"'half'.* failed"):
        run("create_benchmark", write(file, settings=[SETTING | {"test_set": "half"}]), "--by", "olga")


def test_a_missing_option_is_named(file: Path) -> None:
    with pytest.raises(CommandError, match="--test-set"):
        run("create_benchmark", "--slug", "rel", "--title", "R", "--task", "relations", "--by", "olga")


@pytest.mark.parametrize(("beta", "row"), [(1, "micro F1 40.00 micro_f1"), (2, "micro F2 45.45 micro_f1")])
def test_a_submitted_file_is_scored_and_its_figures_are_printed(
    file: Path, tmp_path: Path, beta: float, row: str
) -> None:
    output = write(file, settings=[SETTING | {"disclosure": "open"}], options={"beta": beta})
    run("create_benchmark", output, "--by", "olga")
    predictions = tmp_path / "a.jsonl"
    predictions.write_bytes(jsonl({"id": line["id"], "label": "born_in"} for line in RELATION_GOLD))
    output = run("submit", "rel", str(predictions), "--team", "kelpie", "--system", "Net")
    assert row in [" ".join(line.split()) for line in output.splitlines()]
    assert Submission.objects.get().state == "scored"


def test_a_rejected_file_is_reported_with_its_first_problem(file: Path, tmp_path: Path) -> None:
    run("create_benchmark", write(file), "--by", "olga")
    predictions = tmp_path / "a.jsonl"
    predictions.write_bytes(jsonl([{"id": "s1", "label": "born_im"}]))
    with pytest.raises(CommandError, match=r"Line 1, field label.*\bborn_in\b"):
        run("submit", "rel", str(predictions), "--team", "kelpie", "--system", "Net")


def test_a_submission_by_command_takes_all_that_one_by_api_does(cast: BenchmarkCast, tmp_path: Path) -> None:
    parser = load_command_class("evalsvc", "submit").create_parser("manage.py", "submit")
    own = {action.dest for action in parser._actions}
    assert own >= {field.name for field in FIELDS} - {"filename"}  # that of the file
    cast.relations()
    Setting.objects.update(phase="dev")
    predictions = tmp_path / "net.jsonl"
    predictions.write_bytes(jsonl({"id": item["id"], "label": "born_in"} for item in RELATION_GOLD))
    words = ["submit", "rel", str(predictions), "--team", "kelpie", "--system", "Net", "--phase", "dev"]
    run(*words, "--tags", '{"pretrained": true}')
    submission = Submission.objects.get()
    assert (submission.phase, submission.tags) == ("dev", {"pretrained": True})
    with pytest.raises(CommandError, match="JSON object"):
        run(*words, "--run", "2", "--tags", "[]")


def test_a_submission_by_command_is_made_by_an_active_member(cast: BenchmarkCast, tmp_path: Path) -> None:
    cast.relations()
    team = Team.objects.get(slug="kelpie")
    User.objects.filter(memberships__team=team).update(is_active=False)
    team.members.create(user=person("second"))
    predictions = tmp_path / "net.jsonl"
    predictions.write_bytes(jsonl({"id": item["id"], "label": "born_in"} for item in RELATION_GOLD))
    run("submit", "rel", str(predictions), "--team", "kelpie", "--system", "Net")
    assert Submission.objects.get().by.username == "second"
