"""The command line: what it prints, and how it ends."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from nervaluate import Evaluator

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
    assert ["micro", "0.5000", "0.5000", "0.5000", "micro_f1"] in rows
    assert ["total", "40", "40", "20", "0.5000", "0.5000", "0.5000"] in rows
    assert ["F", "β", "=", "1", "(F1)"] in rows
    assert ["a", "20", "40", "20", "0.5000", "1.0000", "0.6667"] in rows
    assert ["b", "20", "0", "0", "–", "0.0000", "0.0000"] in rows


def test_f2_is_called_f2(two, capsys):
    assert main([*two, "--beta", "2"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["precision", "recall", "F2", "key"] in rows
    assert ["class", "gold", "predicted", "correct", "precision", "recall", "F2"] in rows
    assert not any("F1" in row for row in rows)
    assert main([*two, "--beta", "2", "--json"]) == 0
    computed = json.loads(capsys.readouterr().out)["computed"]
    assert (computed["f"], computed["beta"]) == ("F2", 2)


@pytest.fixture
def tacred(write: Write) -> list[str]:
    names = ["no_relation"] * 3 + ["per:title"]
    gold = [{"id": str(at), "label": name} for at, name in enumerate(names)]
    return [str(write("gold.jsonl", gold)), str(write("p.jsonl", gold)), "--task", "classification"]


@pytest.mark.parametrize("words", [(), ("--negative", "NA")])
def test_an_averaged_class_that_looks_like_the_negative_one_has_a_warning(tacred, capsys, words):
    warning = (
        "no_relation looks like the negative class, but is averaged like a relation. "
        "Use --negative no_relation."
    )
    assert main([*tacred, *words]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"Warning: {warning}"
    assert main([*tacred, *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"] == [warning]
    runs = ["compare", tacred[1], "--against", tacred[1], "--gold", tacred[0], *tacred[2:]]
    assert main([*runs, *words, "--replicates", "10"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"Warning: {warning}"


def test_the_negative_class_is_marked_as_not_averaged(tacred, capsys):
    assert main([*tacred, "--negative", "no_relation"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("Warning") for line in lines)
    assert any(line.startswith("no_relation") and line.endswith("not averaged") for line in lines)
    assert ["total", "1", "1", "1", "1.0000", "1.0000", "1.0000"] in [line.split() for line in lines]


def test_a_threshold_decides_which_claims_are_counted(write, capsys):
    gold = [{"id": "a", "labels": ["r"]}, {"id": "b", "labels": ["r"]}, {"id": "c", "labels": []}]
    scores = [{"id": name, "scores": {"r": score}} for name, score in (("a", 0.9), ("b", 0.4), ("c", 0.6))]
    words = [str(write("g.jsonl", gold)), str(write("p.jsonl", scores)), "--task", "sentences"]
    assert main([*words, "--threshold", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["measures"]["micro_recall"] == 0.5
    assert (found["computed"]["operating_point"], found["computed"]["threshold"]) == ("threshold", 0.5)


def test_classes_of_a_ranking_are_named_as_those_at_tau_beside_a_threshold(write, capsys):
    gold = [{"id": "a", "labels": ["r"]}, {"id": "b", "labels": ["r"]}]
    scores = [{"id": name, "scores": {"r": score}} for name, score in (("a", 0.9), ("b", 0.4))]
    words = [str(write("g.jsonl", gold)), str(write("p.jsonl", scores)), "--task", "sentences"]
    assert main([*words, "--threshold", "0.5"]) == 0
    table = capsys.readouterr().out
    assert "Relations by label: classes, counted from the threshold 0.5 on" in table
    assert "Ranked claims: classes, counted at τ*" in table
    assert main([*words, "--threshold", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: rows[0]["predicted"] for name, rows in found["classes"].items()} == {
        "classification": 1,
        "bags": 2,
    }
    assert found["classes_counted"] == {
        "classification": "counted from the threshold 0.5 on",
        "bags": "counted at τ*, the score of the best micro F1",
    }


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("classification", ["--threshold", "0"]),
        ("classification", ["--na", "first"]),
        ("sentences", ["--aggregate", "AVG"]),
        ("bags", ["--casefold"]),
        ("entities", ["--symmetric", "r"]),
        ("entities", ["--profile", "both"]),
        ("joint", ["--scheme", "IOB2"]),
    ],
)
def test_an_option_without_effect_on_the_task_is_rejected(two, capsys, task, words):
    assert main([*two[:2], "--task", task, *words]) == 2
    assert f"{words[0]} has no effect on {task}, only on " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("classification --negative b", "--missing wrong"),
        ("classification --negative b", "--include-negative"),
        ("sentences", "--threshold 0"),
        ("sentences", "--na first"),
        ("bags", "--aggregate AVG"),
    ],
)
def test_an_option_without_effect_on_the_form_is_rejected(write, capsys, task, words):
    gold = [
        {"id": str(at), "h": {"id": "h", "name": "x"}, "t": {"id": str(at), "name": "y"}} for at in range(2)
    ]
    files = write("g.jsonl", [{**line, "relations": ["a"]} for line in gold])
    predictions = write("p.jsonl", [{"id": str(at), "labels": ["a"]} for at in range(2)])
    assert main([str(files), str(predictions), "--task", *task.split(), *words.split()]) == 2
    assert f"{words.split()[0]} has no effect on these predictions" in capsys.readouterr().err


@pytest.mark.parametrize("labels", [False, True])
def test_a_larger_inventory_is_advised_only_where_none_is_stated(two, write, capsys, labels):
    stated = ["--labels", str(write("labels.txt", "a\nb\n"))] if labels else []
    other = write("other.jsonl", [{**line, "label": "c"} for line in GOLD])
    assert main([two[0], str(other), *two[2:], *stated]) == 2
    assert ("--labels FILE" in capsys.readouterr().err) is not labels


def test_a_file_that_lacks_items_has_a_way_to_score_it(two, write, capsys):
    part = write("part.jsonl", GOLD[:30])
    assert main([two[0], str(part), *two[2:]]) == 2
    assert "--missing wrong" in capsys.readouterr().err


def test_bags_without_a_negative_class_are_named_so(write, capsys):
    lines = [{"h": "h", "t": "t", "relation": "a", "score": 1.0}]
    gold = write("g.jsonl", [{"h": "h", "t": "t", "relation": "a"}])
    assert main([str(gold), str(write("p.jsonl", lines)), "--task", "bags"]) == 0
    assert "Negative class       none" in capsys.readouterr().out


@pytest.mark.parametrize("by_line", [False, True])
def test_repaired_and_dropped_tags_of_both_files_are_counted(write, capsys, monkeypatch, by_line):
    if by_line:
        monkeypatch.setattr("workers.cli.conll_columns.score", lambda *args, **options: None)
    gold = write("gold.txt", "a I-X\nb O\nc B-X\n\nd B-X\n")
    predictions = write("p.txt", "a B-X\nb I-Y\nc I-X\n\nd B-X\n")
    words = [str(gold), str(predictions), "--task", "entities", "--scheme", "IOB2", "--labels"]
    words.append(str(write("labels.txt", "X\nY\n")))
    assert main([*words, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert (counts["gold_repaired_tag"], counts["predictions_repaired_tag"]) == (1, 2)
    assert main([*words, "--repair", "strict-iob2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["counts"]["gold_dropped_tag"], found["counts"]["predictions_dropped_tag"]) == (1, 2)
    assert len(found["warnings"]) == 2


@pytest.mark.parametrize("by_line", [False, True])
@pytest.mark.parametrize(("repair", "count"), [("conlleval", "repaired_tag"), ("strict", "dropped_tag")])
def test_ends_of_bioes_are_honoured_and_counted(write, capsys, monkeypatch, by_line, repair, count):
    if by_line:
        monkeypatch.setattr("workers.cli.conll_columns.score", lambda *args, **options: None)
    gold = write("gold.txt", "a B-X\nb E-X\nc S-X\n")
    predictions = write("p.txt", "a B-X\nb I-X\nc S-X\n")
    words = [str(gold), str(predictions), "--task", "entities", "--scheme", "BIOES", "--json"]
    assert main([*words, "--repair", repair]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"][f"predictions_{count}"] == 1
    assert found["counts"]["predicted"] == (2 if repair == "conlleval" else 1)


def test_scores_with_names_of_columns_are_read_in_any_order(write, tmp_path, capsys):
    gold = [{"id": name, "labels": labels} for name, labels in (("s1", ["a"]), ("s2", ["b"]), ("s3", []))]
    scores = np.array([[0.1, 0.9, 0.5], [0.8, 0.2, 0.5], [0.1, 0.3, 0.5]])
    np.savez(tmp_path / "scores.npz", scores=scores, columns=np.array(["b", "a", "NA"]))
    words = [str(write("gold.jsonl", gold)), str(tmp_path / "scores.npz"), "--task", "sentences"]
    assert main([*words, "--negative", "NA", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["ap"] == 1.0


@pytest.mark.parametrize("named", [False, True])
def test_columns_of_scores_need_a_stated_order(write, tmp_path, capsys, named):
    """Labels that were found in a gold have no order that a matrix could follow."""
    gold = write(
        "gold.jsonl", [{"id": name, "labels": [label]} for name, label in (("s1", "b"), ("s2", "a"))]
    )
    np.save(tmp_path / "scores.npy", np.eye(2))
    words = [str(gold), str(tmp_path / "scores.npy"), "--task", "sentences", "--json"]
    assert main([*words, "--labels", str(write("labels.txt", "b\na\n"))] if named else words) == (
        0 if named else 2
    )
    found = json.loads(capsys.readouterr().out)
    if named:
        assert found["measures"]["ap"] == 1.0
    else:
        assert (found["problems"][0]["code"], found["problems"][0]["field"]) == ("wrong_shape", "columns")
        assert "--columns" in found["problems"][0]["hint"]


def test_predictions_for_other_items_are_named_as_such(write, capsys):
    gold = write("gold.jsonl", [{"id": str(number), "label": "a"} for number in range(3)])
    other = write("p.jsonl", [{"id": str(number), "label": "a"} for number in range(3, 5)])
    assert main([str(gold), str(other), "--task", "classification"]) == 2
    err = capsys.readouterr().err
    assert "2 ids of the file are not in the gold, and 3 of the gold not in the file." in err


def test_a_tar_is_named_as_such(write, tmp_path, capsys):
    gold = write("gold.jsonl", [{"id": "1", "label": "a"}])
    with tarfile.open(tmp_path / "p.tar", "w") as archive:
        archive.add(gold, "p.jsonl")
    assert main([str(gold), str(tmp_path / "p.tar"), "--task", "classification"]) == 2
    assert "Found a tar archive." in capsys.readouterr().err


def test_gold_that_loses_most_entities_is_rejected(write, capsys):
    gold = write("gold.txt", "a I-X\nb O\nc I-X\nd B-X\n")
    words = [str(gold), str(gold), "--task", "entities", "--scheme", "IOB2", "--repair", "strict-iob2"]
    assert main(words) == 2
    assert "other_scheme: " in capsys.readouterr().err


def test_a_merged_span_is_counted(write, capsys):
    gold = write("gold.jsonl", [{"id": "1", "tokens": ["a", "b"], "spans": [[0, 1, "X"]]}])
    twice = write("p.jsonl", [{"id": "1", "spans": [[0, 1, "X"], [0, 1, "X"]]}])
    assert main([str(gold), str(twice), "--task", "entities", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["duplicates"] == 1


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [("B-X I-X", "IOB2"), ("I-X O", "IOB1"), ("S-X O", "BIOES"), ("U-X O", "BILOU")],
)
def test_a_missing_scheme_is_named_with_what_the_file_looks_like(write, capsys, tags, scheme):
    gold = write("gold.txt", "".join(f"w {tag}\n" for tag in tags.split()))
    assert main([str(gold), str(gold), "--task", "entities"]) == 2
    error = capsys.readouterr().err
    assert f"The file looks like {scheme}" in error
    assert "--scheme" in error


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


# ---- SemEval-2013 task 9.1 against nervaluate -------------------------------------------------------
# token, gold, predicted: right, wrong type, wrong bounds, both, missed, spurious, a split, a merge, a repair
SENTENCES = """
Ada B-PER B-PER, Lovelace I-PER I-PER, left O O, Turin B-LOC B-ORG, for O O, Porto B-LOC O, Alegre I-LOC B-LOC
The O O, North B-ORG B-LOC, Sea I-ORG I-LOC, Board I-ORG O, met O O, in O O, Oslo B-LOC O
Rain O B-PER, fell O O, on O O, Bo B-PER B-PER, Berg I-PER B-PER, and O O, Cy B-PER O
It O O, rained O O
Acme B-ORG B-ORG, Dover B-LOC I-ORG, sold O O, Mars B-LOC B-LOC, City I-LOC I-LOC, twice O O
We O O, saw O O, New B-LOC I-LOC, York I-LOC I-LOC, Times B-ORG O
"""


def test_the_semeval_2013_figures_of_columns_are_those_of_nervaluate(write, capsys):
    rows = [[cell.split() for cell in line.split(", ")] for line in SENTENCES.strip().splitlines()]
    files = [
        write(f"{name}.txt", "\n\n".join("\n".join(f"{r[0]}\t{r[at]}" for r in row) for row in rows))
        for at, name in ((1, "gold"), (2, "predicted"))
    ]
    gold, predicted = ([[row[at] for row in sentence] for sentence in rows] for at in (1, 2))
    theirs = Evaluator(gold, predicted, tags=["LOC", "ORG", "PER"], loader="list").evaluate()["overall"]
    words = ["--task", "entities", "--scheme", "IOB2", "--family", "muc", "conll", "--json"]
    assert main([*map(str, files), *words]) == 0
    figures = json.loads(capsys.readouterr().out)["measures"]
    for ours, name in (
        ("strict", "strict"),
        ("exact", "exact"),
        ("partial", "partial"),
        ("type", "ent_type"),
    ):
        for part in ("precision", "recall", "f1"):
            assert figures[f"muc_{ours}_{part}"] == pytest.approx(getattr(theirs[name], part)), (ours, part)
        assert min(theirs[name].correct, theirs[name].missed, theirs[name].spurious) > 0
    assert figures["muc_strict_f1"] == figures["conll_micro_f1"]
