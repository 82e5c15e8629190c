"""The command line: what it prints, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.workers.cli.conftest import Write
from workers.cli.command import main

ROOT = Path(__file__).resolve().parents[3]
GOLD = [{"id": str(number), "label": "a" if number % 2 else "b"} for number in range(40)]


@pytest.fixture
def two(write: Write) -> list[str]:
    predictions = [{**line, "label": "a"} for line in GOLD]
    return [
        str(write("gold.jsonl", GOLD)),
        str(write("p.jsonl", predictions)),
        "--task",
        "classification",
    ]


def test_a_table_names_every_measure_and_class(two, capsys):
    assert main(two) == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.splitlines()]
    assert ["micro_f1", "micro", "F1", "0.5000"] in rows
    assert ["a", "20", "40", "20", "0.5000", "1.0000", "0.6667"] in rows
    assert ["b", "20", "0", "0", "–", "0.0000", "0.0000"] in rows


def test_a_beta_other_than_1_has_a_note(two, capsys):
    note = "Averages and the F of their classes are F_β with β = 2; other figures are F1."
    assert main([*two, "--beta", "2"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == note
    assert main([*two, "--beta", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == [note]
    assert main([*two, "--beta", "1"]) == 0
    assert "β" not in capsys.readouterr().out


def test_json_holds_measures_reasons_and_classes(two, capsys):
    assert main(["score", *two, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measures"]["micro_f1"] == 0.5
    assert found["classes"]["classification"][0] == {
        "label": "a",
        "gold": 20,
        "predicted": 40,
        "correct": 20,
        "precision": 0.5,
        "recall": 1.0,
        "f1": 2 / 3,
    }


def test_an_undefined_figure_is_null_with_its_reason(write, capsys):
    gold = write("gold.jsonl", [{"id": "a", "tokens": ["x"], "spans": []}])
    predictions = write("p.jsonl", [{"id": "a", "spans": []}])
    assert main([str(gold), str(predictions), "--task", "entities", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measures"]["conll_micro_f1"] is None
    assert found["reasons"]["conll_micro_f1"]


def test_a_rejected_file_ends_with_two_and_its_problems(two, write, capsys):
    wrong = write("wrong.jsonl", [{**line, "label": "c"} for line in GOLD])
    assert main([two[0], str(wrong), *two[2:]]) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == ""
    assert lines[0] == f"{wrong}: 40 problems (unknown_label 40)"
    assert lines[1].startswith("unknown_label: Line 1, field label: ")
    assert len([line for line in lines if line.startswith("unknown_label: ")]) == 20
    assert lines[21] == "20 more"


def test_a_rejection_as_json_has_the_file_and_the_count(two, write, capsys):
    wrong = write("wrong.jsonl", GOLD[:30])
    assert main([two[0], str(wrong), *two[2:], "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["file"], found["total"]) == (str(wrong), 10)
    assert found["problems"][0]["code"] == "missing_id"


def test_a_file_that_cannot_be_read_is_named_without_numbers_of_the_system(two, tmp_path, capsys):
    for wrong, why in ((tmp_path / "none.jsonl", "No such file or directory"), (tmp_path, "Is a directory")):
        for files in ([str(wrong), two[1]], [two[0], str(wrong)]):
            assert main([*files, *two[2:]]) == 2
            assert capsys.readouterr().err == f"{wrong}: {why}.\n"


def test_a_missing_file_ends_with_two(two, capsys):
    assert main([two[0], "nowhere.jsonl", *two[2:]]) == 2
    assert "nowhere.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["--beta", "0"], ["--beta", "-1"], ["--beta", "nan"], ["--beta", "inf"]])
def test_an_invalid_weight_of_recall_is_rejected_with_its_value(two, capsys, wrong):
    with pytest.raises(SystemExit) as ended:
        main([*two, *wrong])
    assert ended.value.code == 2
    assert f"argument --beta: {wrong[1]} " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "least"),
    [
        (["--replicates", "0"], 1),
        (["--replicates", "many"], 1),
        (["--seed", "-1"], 0),
        (["--seed", "0.5"], 0),
    ],
)
def test_an_invalid_count_or_seed_is_rejected_with_value_and_limit(two, capsys, wrong, least):
    gold, predictions, *task = two
    with pytest.raises(SystemExit) as ended:
        main(["compare", predictions, "--against", predictions, "--gold", gold, *task, *wrong])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert f"argument {wrong[0]}: {wrong[1]} " in error
    assert f"{least} or more" in error


def test_both_commands_print_the_same(two, capsys):
    assert main([*two, "--json"]) == 0
    alone = capsys.readouterr().out
    call_command("score", *two, "--json")
    assert capsys.readouterr().out == alone


def test_a_management_command_ends_with_two_as_well(two, write):
    wrong = write("wrong.jsonl", GOLD[:30])
    with pytest.raises(SystemExit) as ended:
        call_command("score", two[0], str(wrong), *two[2:])
    assert ended.value.code == 2


def test_the_module_needs_neither_django_nor_scipy_nor_spacy(two):
    script = (
        "import sys; from workers.cli.command import main; code = main(sys.argv[1:]); "
        "print(sorted({'django', 'scipy', 'spacy', 'celery'} & sys.modules.keys()), file=sys.stderr); "
        "sys.exit(code)"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, *two], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stderr == "[]\n"


def test_the_measures_are_a_module_to_run(two):
    run = subprocess.run(
        [sys.executable, "-m", "workers.metrics", *two], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "micro_f1" in run.stdout
