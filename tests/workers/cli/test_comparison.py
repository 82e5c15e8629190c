"""The significance report: Welch over runs, resampling of single runs, Holm over pairs."""

import json
import math

import pytest
from django.core.management import call_command

from evalsvc.evaluation.measures.families import class_key
from tests.workers.cli.conftest import Write
from workers.cli.arguments import Options
from workers.cli.command import main
from workers.cli.local_files import read_local_gold
from workers.metrics.systems import NO_VARIANCE, holm
from workers.scoring.resampled_comparison import Draws, resampled
from workers.scoring.significance import NEAR

GOLD = [{"id": str(number), "label": "abc"[number % 3]} for number in range(60)]


def run(*wrong: int) -> list[dict]:
    """Answers with some of them wrong."""
    return [
        {**line, "label": "a" if line["label"] != "a" else "b"} if at in wrong else line
        for at, line in enumerate(GOLD)
    ]


def report(capsys, *words: object) -> dict:
    assert main(["compare", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def rows_of(found: dict) -> dict[str, dict]:
    return {row["measure"]: row for row in found["measures"]}


@pytest.fixture
def options(write: Write) -> list[object]:
    return ["--gold", write("gold.jsonl", GOLD), "--task", "classification"]


def test_runs_are_compared_by_welch(write, options, capsys):
    from scipy import stats

    a = [write(f"a{at}.jsonl", run(*range(at + 1))) for at in range(3)]
    b = [write(f"b{at}.jsonl", run(*range(5 * at + 9))) for at in range(4)]
    found = report(capsys, *a, "--against", *b, *options)
    row = rows_of(found)["accuracy"]
    left, right = [1 - (at + 1) / 60 for at in range(3)], [1 - (5 * at + 9) / 60 for at in range(4)]
    expected = stats.ttest_ind(left, right, equal_var=False)
    assert found["runs"] == [3, 4]
    assert row["p"] == pytest.approx(expected.pvalue, abs=1e-12)
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected.confidence_interval()), abs=1e-12)
    assert row["word"] == "huge"


def test_systems_whose_runs_err_once_each_in_different_classes_do_not_vary(write, options, capsys):
    one = [write(f"one{at}.jsonl", run(at)) for at in range(3)]
    two = [write(f"two{at}.jsonl", run(at, at + 3)) for at in range(3)]
    row = rows_of(report(capsys, *one, "--against", *two, *options, "--measures", "macro_f1"))["macro_f1"]
    assert (row["a_sd"], row["b_sd"], row["p"], row["d"]) == (0.0, 0.0, None, None)
    assert row["reason"] == NO_VARIANCE


def test_no_run_is_ahead_of_several_whose_mean_is_the_same_to_the_shown_digits(write, capsys):
    gold = [{"id": str(number), "label": "abc"[number % 3]} for number in range(1500)]

    def wrong(name, count):
        lines = [line | {"label": "a" if line["label"] != "a" else "b"} for line in gold[:count]]
        return write(name, lines + gold[count:])

    trio = [wrong("t0.jsonl", 150), wrong("t1.jsonl", 151), wrong("t2.jsonl", 598)]
    words = ["--against", wrong("solo.jsonl", 300), "--gold", write("all.jsonl", gold)]
    words += ["--task", "classification", "--measures", "accuracy", "--replicates", "199"]
    found = report(capsys, *trio, *words)
    row = rows_of(found)["accuracy"]
    assert (row["p"], row["reason"]) == (None, NEAR)
    # of the median run, as rows with a test are
    assert (row["a"], row["b"], row["difference"]) == pytest.approx((1349 / 1500, 0.8, 149 / 1500))
    assert found["sentences"] == [
        f"The median run of A has 89.9 accuracy, B 80.0; nothing is claimed: {NEAR}."
    ]


def test_figures_that_differ_in_the_table_are_not_called_the_same(write, capsys):
    gold = [{"id": str(number), "label": "abc"[number % 3]} for number in range(3000)]

    def wrong(name, count):
        lines = [line | {"label": "a" if line["label"] != "a" else "b"} for line in gold[:count]]
        return write(name, lines + gold[count:])

    words = [*(wrong(f"a{count}.jsonl", count) for count in (600, 620)), "--against"]
    words += [*(wrong(f"b{count}.jsonl", count) for count in (599, 622)), "--gold", write("all.jsonl", gold)]
    words += ["--task", "classification", "--measures", "accuracy"]
    row = rows_of(found := report(capsys, *words))["accuracy"]
    assert (f"{row['a']:.4f}", f"{row['b']:.4f}") == ("0.7967", "0.7965")
    [sentence] = found["sentences"]
    assert sentence.startswith("No difference between A and B could be shown: +0.02, 95 % interval ")


def test_of_three_items_no_difference_is_said_to_be_found(write, options, capsys):
    gold = write("three.jsonl", GOLD[:3])
    right, wrong = write("right.jsonl", GOLD[:3]), write("wrong.jsonl", run(0, 1, 2)[:3])
    found = report(capsys, right, "--against", wrong, "--gold", gold, *options[2:], "--measures", "accuracy")
    row = rows_of(found)["accuracy"]
    assert (row["difference"], row["low"], row["high"], row["detectable"]) == (1.0, 1.0, 1.0, None)
    assert row["p"] > 0.05
    assert ": +100.0, 95 % interval +100.0 to +100.0. The test decides" in found["sentences"][0]


def test_p_values_are_adjusted_over_the_pairs_of_a_measure_as_in_the_service(write, options, capsys):
    systems = [[write(f"{name}{at}.jsonl", run(*range(at * 2 + first))) for at in range(3)]
               for name, first in zip("abc", (1, 4, 20), strict=True)]  # fmt: skip
    words = [*systems[0], "--against", *systems[1], "--against", *systems[2], *options]
    found = report(capsys, *words, "--names", "Net", "Tree", "Rules")
    assert [(pair["a"], pair["b"]) for pair in found["pairs"]] == [
        ("Net", "Tree"), ("Net", "Rules"), ("Tree", "Rules"),
    ]  # fmt: skip
    for rows in zip(*(pair["measures"] for pair in found["pairs"]), strict=True):
        p = [math.nan if row["p"] is None else row["p"] for row in rows]
        assert [row["p_holm"] for row in rows] == pytest.approx(holm(p).tolist())
    assert found["matrix"] == [["", "=", "W"], ["=", "", "W"], ["L", "L", ""]]
    ahead, behind = found["sentences"][1], found["sentences"][0]
    assert ahead.startswith("Net is ahead of Rules by ")
    assert "Welch’s t over runs)." in ahead
    assert behind.startswith("No difference between Net and Tree could be shown: +")
    two = report(capsys, *systems[0], "--against", *systems[1], *options)
    assert all(row["p_holm"] == row["p"] for row in two["measures"])


def test_as_many_names_as_systems_are_needed_and_ten_systems_at_most(write, options, capsys):
    same = str(write("same.jsonl", run(3)))
    for words in (["--against", same, "--names", "Net"], ["--against", same] * 10):
        assert main(["compare", same, *words, *map(str, options)]) == 2
        assert "expected 2 to 10" in (err := capsys.readouterr().err) or "1 names for 2 systems" in err


def test_equal_runs_have_a_reason_instead_of_p(write, options, capsys):
    same = [write(f"{at}.jsonl", run(at)) for at in range(4)]
    found = report(capsys, *same[:2], "--against", *same[2:], *options)
    row = rows_of(found)["accuracy"]
    assert row["p"] is None
    assert row["reason"] == "the runs of both sides do not vary"


def test_files_with_the_same_answers_are_one_run(write, options, capsys):
    first, same, other = (
        write(f"{name}.jsonl", lines)
        for name, lines in zip("abc", (run(1), run(1)[::-1], run(1, 2)), strict=True)
    )
    found = report(capsys, first, same, "--against", other, other, *options, "--replicates", 50)
    assert found["runs"] == [1, 1]
    assert found["test"].startswith("One run each")
    assert found["notes"] == [
        f"{path}: same answers as {earlier}, counted once"
        for path, earlier in ((same, first), (other, other))
    ]


@pytest.mark.parametrize(("wrong", "median"), [((9, 30, 4), 0), ((30, 9, 4, 20), 1), ((9, 8, 9), 2)])
def test_several_runs_against_one_give_their_median_run(write, options, capsys, wrong, median):
    """Of an even number the middle one nearer to the other run, of equal ones the first."""
    single = write("single.jsonl", run(1))
    several = [write(f"{at}.jsonl", run(*range(at, at + n))) for at, n in enumerate(wrong)]
    words = [*options, "--replicates", 50, "--measures", "accuracy"]
    found = report(capsys, *several, "--against", single, *words)
    alone = report(capsys, several[median], "--against", single, *words)
    assert found["measures"] == alone["measures"]
    assert found["test"].startswith(f"One run against the median of {len(wrong)}: paired")
    assert found["notes"] == [f"median run of A: {several[median]}"]
    turned = rows_of(report(capsys, single, "--against", *several, *words))["accuracy"]
    assert turned["b"] == found["measures"][0]["a"]


def test_each_measure_has_its_median_run(write, options, capsys):
    one_class = range(2, 60, 3)  # costs more of macro F1 than as many errors everywhere
    runs = [run(*one_class[:16]), run(*range(17)), run(*range(25))]
    several = [write(f"{at}.jsonl", lines) for at, lines in enumerate(runs)]
    words = [*options, "--replicates", 50, "--measures", "accuracy", "macro_f1"]
    single = write("single.jsonl", run(1))
    found = report(capsys, single, "--against", *several, *words)
    assert found["notes"] == [f"median run of B: {several[1]} (accuracy); {several[0]} (macro_f1)"]
    for row in found["measures"]:
        alone = [
            rows_of(report(capsys, single, "--against", file, *words))[row["measure"]] for file in several
        ]
        assert row["b"] == sorted(each["b"] for each in alone)[1]
        assert row["p"] in [each["p"] for each in alone if each["b"] == row["b"]]


def test_an_undefined_figure_of_a_run_leaves_no_median(write, capsys):
    gold = write("gold.jsonl", [{"id": "1", "label": "a"}, {"id": "2", "label": "NA"}])
    a, b, nothing = (
        write(f"{name}.jsonl", [{"id": str(at), "label": label} for at, label in enumerate(labels, 1)])
        for name, labels in (("a", ("a", "a")), ("b", ("NA", "a")), ("c", ("NA", "NA")))
    )
    words = ["--gold", gold, "--task", "classification", "--negative", "NA", "--measures", "micro_precision"]
    found = report(capsys, a, "--against", b, nothing, *words, "--replicates", 50)
    assert rows_of(found)["micro_precision"]["reason"] == "the measure is undefined for a run"


def test_single_runs_are_resampled_over_items(write, options, capsys):
    good, bad = write("good.jsonl", run(1)), write("bad.jsonl", run(*range(1, 40)))
    row = rows_of(report(capsys, good, "--against", bad, *options, "--replicates", 200))["accuracy"]
    assert row["difference"] == pytest.approx(38 / 60)
    assert row["low"] < 38 / 60 < row["high"]
    assert row["p"] == pytest.approx(1 / 201)


def test_the_replicates_are_those_of_an_independent_computation(write, capsys):
    """Philox with key [seed, replicate]; computed once by plain NumPy."""
    letters = {"gold": "ABAACBACBANN", "a": "ABACCBABBAAN", "b": "ABCCCAABBNAA"}
    gold, a, b = (
        write(f"{name}.jsonl", [{"id": str(at), "label": label} for at, label in enumerate(labels)])
        for name, labels in letters.items()
    )
    words = ["--gold", gold, "--task", "classification", "--negative", "N", "--measures", "micro_f1"]
    row = rows_of(report(capsys, a, "--against", b, *words))["micro_f1"]
    assert row["difference"] == pytest.approx(0.2857142857142857, abs=1e-12)
    assert row["low"] == pytest.approx(0.05427371541501978, abs=1e-12)
    assert row["high"] == pytest.approx(0.5619875776397515, abs=1e-12)
    assert row["p"] == pytest.approx(0.13386613386613386, abs=1e-12)


def test_a_run_against_itself_does_not_differ(write, options, capsys):
    same = write("same.jsonl", run(3, 8))
    found = report(capsys, same, "--against", same, *options, "--replicates", 50)
    assert found["measures"]
    for row in found["measures"]:
        assert (row["difference"], row["low"], row["high"], row["p"]) == (0, 0, 0, 1)


def test_the_seed_alone_fixes_the_replicates(write, options, capsys):
    pair = [write("a.jsonl", run(1, 2)), "--against", write("b.jsonl", run(3))]
    first = report(capsys, *pair, *options, "--replicates", 50)
    assert report(capsys, *pair, *options, "--replicates", 50) == first
    assert report(capsys, *pair, *options, "--replicates", 50, "--seed", 1) != first


def test_ranked_claims_are_resampled_over_bags(write, capsys):
    gold = [
        {
            "id": str(at),
            "h": {"id": f"h{at}", "name": "h"},
            "t": {"id": f"t{at}", "name": "t"},
            "relations": ["r"] * (at % 2),
        }
        for at in range(40)
    ]
    good = [{"h": f"h{at}", "t": f"t{at}", "relation": "r", "score": at % 2 + at / 100} for at in range(40)]
    bad = [{**line, "score": -line["score"]} for line in good]
    found = report(
        capsys,
        write("good.jsonl", good),
        "--against",
        write("bad.jsonl", bad),
        *("--gold", write("gold.jsonl", gold), "--task", "bags", "--replicates", 100),
    )
    rows = rows_of(found)
    assert rows["ap"]["a"] == pytest.approx(1.0)
    assert rows["ap"]["p"] == pytest.approx(1 / 101)
    assert "auc" not in rows  # ties win it


WRF = ("wrf_strict", "wrf_lenient", "wrf_strict_mean", "wrf_lenient_mean")


def entities_report(capsys, a, b, gold, *more):
    words = ["--gold", gold, "--task", "entities", "--scheme", "IOB2", "--replicates", 200, *more]
    return rows_of(report(capsys, a, "--against", b, *words))


def test_entities_and_their_words_are_resampled(write, capsys):
    both = "".join(f"w{at} B-X {'B-X' if at % 3 else 'O'}\n\n" for at in range(30))
    path = write("both.txt", both)
    rows = entities_report(capsys, path, path, path)
    assert rows["conll_micro_f1"]["p"] == rows["muc_partial_f1"]["p"] == rows["wrf_lenient"]["p"] == 1
    assert rows["wrf_lenient"]["a"] == pytest.approx(rows["conll_micro_f1"]["a"])


def test_a_better_system_by_words_has_an_interval(write, capsys):
    gold = write("gold.txt", "".join(f"Ada{at} B-P\nLee I-P\nin O\nRome{at} B-Q\n\n" for at in range(40)))
    near = write("near.txt", "".join(f"Ada{at} B-P\nLee O\nin O\nRome{at} B-Q\n\n" for at in range(40)))
    far = write("far.txt", "".join(f"Ada{at} O\nLee B-P\nin B-P\nRome{at} O\n\n" for at in range(40)))
    rows = entities_report(capsys, near, far, gold, "--measures", *WRF)
    for name in WRF:
        row = rows[name]
        assert row["p"] == pytest.approx(1 / 201)
        assert 0 < row["low"] <= row["difference"] + 1e-9
        assert row["difference"] - 1e-9 <= row["high"]


def test_answers_as_text_are_resampled_and_compared_with_spans_by_their_places(write, capsys):
    documents = [(f"{at}", ["Ada", "saw", f"Rome{at}"]) for at in range(40)]
    spans = [[0, 1, "P"], [2, 3, "Q"]]
    gold = write("g.jsonl", [{"id": name, "tokens": of, "spans": spans} for name, of in documents])
    good, poor = (
        write(name, [{"id": id, "entities": [[of[0], "P"], [of[2], label]]} for id, of in documents])
        for name, label in (("good.jsonl", "Q"), ("poor.jsonl", "other"))
    )
    tagged = write("tagged.jsonl", [{"id": name, "spans": spans[:1]} for name, _ in documents])
    text_measures = ("string_micro_f1", "conll_micro_f1", "muc_type_f1", "wrf_strict")
    rows = entities_report(capsys, good, poor, gold, "--measures", *text_measures)
    assert [rows[name]["p"] for name in text_measures] == pytest.approx([1 / 201] * 4)
    assert rows["conll_micro_f1"]["difference"] == pytest.approx(0.5)
    cases = [local_case(gold, path) for path in (good, tagged)]
    found = resampled(*cases, measures=["conll_micro_f1", "muc_partial_f1"], draws=Draws(range(100)))
    assert {name: (test.a, round(test.b, 4)) for name, test in found.items()} == {
        "conll_micro_f1": (1.0, 0.6667),
        "muc_partial_f1": (1.0, 0.6667),
    }


def test_the_f1_of_each_class_is_resampled_with_the_averages(write):
    gold = write("gold.jsonl", GOLD)
    cases = [
        read_local_gold(gold, Options(task="classification"), column=-1).case(write(name, run(*wrong)))
        for name, wrong in (("a.jsonl", (0,)), ("b.jsonl", range(0, 30, 3)))
    ]
    key = class_key("classification", "a")
    found = resampled(*cases, measures=["accuracy", key], draws=Draws(range(200)))
    assert found[key].a == pytest.approx(2 * 19 / (2 * 19 + 1))  # of 20 one is missed
    assert found[key].b == pytest.approx(2 * 10 / (2 * 10 + 10))
    assert found[key].tested().p < 0.05
    assert found[key].tested().interval[0] > 0


def local_case(gold, path):
    return read_local_gold(gold, Options(task="entities"), column=-1).case(path)


def test_items_differ_where_one_system_alone_is_right(write):
    """Whatever else is claimed: a hidden gold withholds tests by this number."""
    tokens = ["Ada", "saw", "Rome"]
    documents = [{"id": f"{at}", "tokens": tokens, "spans": [[0, 1, "P"], [2, 3, "Q"]]} for at in range(30)]
    right = [{"id": line["id"], "spans": line["spans"]} for line in documents]
    texts = [{"id": line["id"], "entities": [["Ada", "P"], ["Rome", "Q"]]} for line in documents]

    def found(task, gold, *sides, measures):
        source = read_local_gold(write("gold.jsonl", gold), Options(task=task), column=-1)
        cases = [source.case(write(f"{at}.jsonl", lines)) for at, lines in enumerate(sides)]
        tests = resampled(*cases, measures=measures, draws=Draws(range(2)))
        return [tests[name].differing for name in measures]

    assert found("classification", GOLD, run(0, 1, 2), run(2, 3), measures=["accuracy"]) == [3]

    spans = ["conll_micro_f1", "muc_exact_f1", "muc_type_f1", "muc_strict_f1", "wrf_strict"]

    def spoilt(lines, key, index, change):
        changed = [{**line, key: [*line[key][:1], change]} for line in lines[:index]]
        return [*changed, *lines[index:]]

    wrong_type = spoilt(right, "spans", 4, [2, 3, "P"])
    wrong_bounds = spoilt(right, "spans", 5, [1, 3, "Q"])
    assert found("entities", documents, right, wrong_type, measures=spans) == [4, 0, 4, 4, 4]
    assert found("entities", documents, right, wrong_bounds, measures=spans) == [5, 5, 0, 5, 0]
    other = spoilt(texts, "entities", 3, ["Rome", "P"])
    of_texts = ["string_micro_f1", "conll_micro_f1", "muc_exact_f1", "muc_type_f1", "wrf_strict"]
    assert found("entities", documents, texts, other, measures=of_texts) == [3, 3, 0, 3, 3]


def test_pairs_differ_by_the_first_claims_of_a_ranking(write):
    """Claims that complete rankings make further down differ in nearly every pair."""
    gold = [
        {
            "id": str(at),
            "h": {"id": f"h{at}", "name": "h"},
            "t": {"id": f"t{at}", "name": "t"},
            "relations": ["r"] * (at < 10),
        }
        for at in range(40)
    ]
    source = read_local_gold(write("gold.jsonl", gold), Options(task="bags"), column=-1)

    def ranked(*order):
        lines = [
            {"h": f"h{at}", "t": f"t{at}", "relation": "r", "score": 1 - place / 100}
            for place, at in enumerate(order)
        ]
        return source.case(write("ranked.jsonl", lines))

    perfect = ranked(*range(40))
    for order, differing in (
        ((9, *range(9), *range(10, 40)), 0),
        ((10, *range(10), *range(11, 40)), 1),
        (range(39, -1, -1), 10),
    ):
        tests = resampled(perfect, ranked(*order), measures=["ap", "auc"], draws=Draws(range(2)))
        assert {test.differing for test in tests.values()} == {differing}


def test_an_unknown_measure_is_rejected(write, options, capsys):
    same = write("same.jsonl", run(3))
    assert main(["compare", str(same), "--against", str(same), *map(str, options), "--measures", "bleu"]) == 2
    assert "bleu" in capsys.readouterr().err


def test_the_report_is_the_same_table_from_both_commands(write, options, capsys):
    files = [str(write(f"{at}.jsonl", run(*range(at)))) for at in range(4)]
    words = [*files[:2], "--against", *files[2:], *map(str, options), "--measures", "accuracy"]
    assert main(["compare", *words]) == 0
    out = capsys.readouterr().out
    call_command("compare", *words)
    assert capsys.readouterr().out == out
    assert out.splitlines()[0].startswith("A: 2 runs, B: 2 runs. Welch")
    accuracy = next(line for line in out.splitlines() if line.startswith("accuracy"))
    assert math.isclose(float(accuracy.split()[1]), 1 - 0.5 / 60, abs_tol=5e-5)


def test_runs_with_different_measures_are_not_compared(write, capsys):
    gold = write("gold.jsonl", [{"id": "1", "relations": ["a"]}, {"id": "2", "relations": []}])
    labels = write("labels.jsonl", [{"id": "1", "label": "a"}, {"id": "2", "label": "NA"}])
    scores = write("scores.jsonl", [{"id": "1", "scores": {"a": 0.5}}])
    words = ["--gold", str(gold), "--task", "sentences", "--negative", "NA"]
    for a, b in (([labels], [scores]), ([scores], [labels]), ([scores, labels], [scores])):
        assert main(["compare", *map(str, a), "--against", *map(str, b), *words]) == 2
        assert "labels, or scores, in all of them" in capsys.readouterr().err


def test_runs_are_compared_in_the_profile_of_the_toolkit_too(write, capsys):
    gold = write("gold.jsonl", [{"id": str(at), "relations": ["a"]} for at in range(3)])
    runs = [
        write(f"{run}.jsonl", [{"id": str(at), "scores": {"a": 0.5 + at / 9}} for at in range(run)])
        for run in (1, 2, 3)
    ]
    words = ["--gold", gold, "--task", "sentences", "--negative", "NA", "--profile", "opennre"]
    found = rows_of(report(capsys, *runs[:2], "--against", *runs[1:], *words))
    counted = {"micro_f1", "macro_f1", "weighted_f1", "accuracy"}
    assert found.keys() == {"opennre_auc", "opennre_max_f1"} | counted
    assert found["opennre_max_f1"]["p"] is not None
