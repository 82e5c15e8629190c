"""Figures of two local files: equal in every format, by columns and by lines."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from evalsvc.core.formats.problems import Problems
from evalsvc.core.jobs.exceptions import InputFault
from tests.workers.cli.conftest import Write
from workers.cli import local_files
from workers.cli.arguments import InvalidFile, Options
from workers.metrics.report import Report

# rows gold, columns predicted: NA, A, B, C
MATRIX = [[50, 3, 2, 1], [4, 20, 1, 0], [3, 2, 7, 0], [2, 0, 1, 1]]
NAMES = ["NA", "A", "B", "C"]
CELLS = [(NAMES[i], NAMES[j]) for i, row in enumerate(MATRIX) for j, n in enumerate(row) for _ in range(n)]
SCHEMES = {
    "micro_f1": 0.7088607595,
    "weighted_f1": 0.6984800283,
    "dodrans_f1": 0.6751794698,
    "entropy_f1": 0.6501380887,
    "entropy_positive_f1": 0.6032745354,
    "macro_f1": 0.5806763285,
}
COLUMNS = "In O O\nNew B-LOC B-LOC\nYork I-LOC I-LOC\n\nAda B-PER O\nsaw O B-PER\nRome B-LOC B-LOC\n"
ENTITIES = Options(task="entities", scheme="IOB2")


def score(gold: Path, predictions: Path, options: Options) -> Report:
    return local_files.score(gold, predictions, options).report


def read_line_by_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "cli.conll_columns.score",
        "scoring.gold.relation_columns",
        "scoring.prediction_files.read_columns",
    ):
        monkeypatch.setattr(f"workers.{name}", lambda *args, **options: None)


def figures(report: Report) -> dict[str, float]:
    return {key: value.value for key, value in report.values.items()}


def mention(name: str) -> dict:
    return {"id": name, "name": name, "pos": [0, 1]}


def bag_line(number: int, pair: str, *relations: str) -> dict:
    return {"id": f"s{number}", "h": mention(pair[0]), "t": mention(pair[1]), "relations": list(relations)}


@pytest.mark.parametrize("form", ["labels", "answers", "lines", "packed"])
def test_classification_gives_the_schemes_from_every_form(write: Write, form):
    sides = []
    for side in (0, 1):
        names = [cell[side] for cell in CELLS]
        rows = {
            "labels": "".join(f"{name}\n" for name in names),
            "answers": "".join(f"{number}\t{name}\n" for number, name in enumerate(names, 1)),
            "lines": [{"id": str(number), "label": name} for number, name in enumerate(names, 1)],
            "packed": "".join(f"{name}\r\n" for name in names),
        }
        sides.append(write(f"{side}.gz" if form == "packed" else f"{side}.txt", rows[form]))
    found = score(*sides, Options(task="classification", negative="NA"))
    for key, expected in SCHEMES.items():
        assert found.values[key].value == pytest.approx(expected, abs=1e-10)
    assert found.counts["items"] == 97


def test_a_missing_prediction_is_rejected_unless_it_counts_as_wrong(write: Write):
    gold = write("gold.txt", "1\tR(e1,e2)\n2\tR(e2,e1)\n3\tOther\n")
    predictions = write("p.txt", "1\tR(e1,e2)\n3\tOther\n")
    options = Options(task="classification", negative="Other")
    with pytest.raises(InvalidFile) as refused:
        score(gold, predictions, options)
    assert refused.value.path == predictions
    assert dict(refused.value.problems.by_code) == {"missing_id": 1}
    found = score(gold, predictions, Options(task="classification", negative="Other", missing="wrong"))
    assert found.values["semeval2010_f1"].value == pytest.approx(2 / 3)
    assert found.values["semeval2010_coverage"].value == pytest.approx(2 / 3)
    assert found.counts["missing"] == 1


def test_a_full_test_file_is_gold(write: Write):
    blocks = '1\t"The <e1>a</e1> in <e2>b</e2>."\nR(e1,e2)\nComment:\n\n2\t"<e1>c</e1> <e2>d</e2>"\nOther\n'
    found = score(
        write("gold.txt", blocks),
        write("p.txt", "1\tR(e1,e2)\n2\tR(e1,e2)\n"),
        Options(task="classification", negative="Other"),
    )
    assert found.values["accuracy"].value == 0.5


def test_a_file_of_labels_that_is_a_line_short_is_rejected_whatever_missing_means(write: Write):
    gold = write("gold.jsonl", [{"id": f"s{at}", "label": "r"} for at in range(3)])
    options = Options(task="classification", missing="wrong", negative="NA")
    assert score(gold, write("p.txt", "r\n\nr\n"), options).counts["missing"] == 1
    with pytest.raises(InvalidFile) as rejected:
        score(gold, write("short.txt", "r\nr\n"), options)
    assert rejected.value.problems.first[0].value == "2 lines"


def test_two_labels_or_none_need_another_task(write: Write):
    predictions = write("p.jsonl", [{"id": "s1", "label": "r"}])
    two = write("two.jsonl", [{"id": "s1", "relations": ["q", "r"]}])
    none = write("none.jsonl", [{"id": "s1", "text": "a", "relations": []}])
    with pytest.raises(InputFault, match="--task sentences"):
        score(two, predictions, Options(task="classification"))
    with pytest.raises(InputFault, match="--negative"):
        score(none, predictions, Options(task="classification", labels=write("labels.txt", "r\n")))


def test_one_file_of_three_columns_is_both_sides(write: Write):
    both = write("both.txt", COLUMNS)
    gold = write("gold.txt", "".join(_without(line, 2) for line in COLUMNS.splitlines(keepends=True)))
    predictions = write("p.txt", "".join(_without(line, 1) for line in COLUMNS.splitlines(keepends=True)))
    alone, apart = score(both, both, ENTITIES), score(gold, predictions, ENTITIES)
    assert figures(alone) == figures(apart)
    assert alone.values["conll_micro_f1"].value == pytest.approx(2 / 3)
    assert alone.counts == apart.counts


def _without(line: str, column: int) -> str:
    fields = line.split()
    return " ".join(part for at, part in enumerate(fields) if at != column) + "\n"


@pytest.mark.parametrize("space", [" ", "  ", "\u00a0", "\u2028"])
def test_white_space_around_a_tag_is_no_part_of_it(write: Write, space):
    gold = write("gold.conll", f"Ada\tB-PER\nand\tO\nByron\tB-PER{space}\n")
    predictions = write("p.conll", f"Ada\tB-PER{space}\nand\tO{space}\nByron\tB-PER\n")
    for sides in ((gold, gold), (gold, predictions)):
        seen = score(*sides, ENTITIES)
        assert [row[:4] for row in seen.classes["conll"]] == [("PER", 2, 2, 2)]


@pytest.mark.parametrize("family", [("conll",), ("conll", "muc", "wrf")])
@pytest.mark.parametrize("change", [str, lambda text: text.replace(" ", "\t").replace("\n", "\r\n")])
def test_columns_are_scored_as_line_by_line(write: Write, monkeypatch, family, change):
    path = write("both.txt", change(COLUMNS))
    options = Options(task="entities", scheme="IOB2", family=family)
    quick = score(path, path, options)
    read_line_by_line(monkeypatch)
    careful = score(path, path, options)
    assert figures(quick) == figures(careful)
    assert quick.classes == careful.classes


def test_spans_and_tags_are_scored_against_spans(write: Write):
    gold = write(
        "gold.jsonl", [{"id": "a", "tokens": ["Ada", "saw", "Rome"], "spans": [[0, 1, "P"], [2, 3, "L"]]}]
    )
    spans = write("spans.jsonl", [{"id": "a", "spans": [[0, 1, "P"], [1, 3, "L"]]}])
    tags = write("tags.jsonl", [{"id": "a", "tags": ["B-P", "B-L", "I-L"]}])
    found = score(gold, spans, Options(task="entities"))
    assert figures(found) == figures(score(gold, tags, ENTITIES))
    assert found.values["muc_partial_f1"].value == 0.75


def test_gold_as_spans_or_tags_with_or_without_text_is_scored(write: Write):
    answers = {"spans": [[0, 1, "P"], [1, 3, "L"]]}, {"tags": ["B-P", "B-L", "I-L"]}
    paths = [write(f"{at}.jsonl", [{"id": "a"} | answer]) for at, answer in enumerate(answers)]
    with_tokens = write("tokens.jsonl", [{"id": "a", "tokens": ["Ada", "New", "York"]} | answers[1]])
    options = Options(task="entities", scheme="IOB2", family=("conll", "muc"))
    for gold in (*paths, with_tokens):
        for predictions in paths:
            assert score(gold, predictions, options).values["conll_micro_f1"].value == 1.0


def test_relations_between_spans_are_scored_by_the_task_joint(write: Write):
    tokens = {"tokens": ["Ada", "saw", "Rome"], "spans": [[0, 1, "P"], [2, 3, "L"]]}
    gold = write(
        "gold.jsonl",
        [{"id": "a", **tokens, "relations": [[0, "saw", 1]]}, {"id": "b", **tokens, "relations": []}],
    )
    predictions = [{"id": name, "spans": tokens["spans"], "relations": [[0, "saw", 1]]} for name in "ab"]
    found = score(gold, write("p.jsonl", predictions), Options(task="joint"))
    turned = score(gold, write("turned.jsonl", predictions[::-1]), Options(task="joint"))
    assert figures(turned) == figures(found)
    entities = score(gold, write("p.jsonl", predictions), Options(task="entities"))
    assert figures(entities).items() <= figures(found).items()
    assert "relation_strict_micro_f1" not in figures(entities)
    assert found.values["relation_strict_micro_precision"].value == 0.5
    assert found.values["relation_strict_micro_recall"].value == 1.0


TEXT_GOLD = [
    {"id": "a", "tokens": ["Ada", "saw", "New", "Turin"], "spans": [[0, 1, "P"], [2, 4, "L"]]},
    {"id": "b", "tokens": ["Bo", "saw", "Bo"], "spans": [[0, 1, "P"], [2, 3, "P"]]},
    {"id": "c", "tokens": ["Cy"], "spans": [[0, 1, "P"]]},
]


@pytest.mark.parametrize(("grounding", "found"), [("ordered", 4), ("first", 3), ("all", 4)])
def test_entities_as_text_are_scored_as_sets_and_in_place(write: Write, grounding: str, found: int):
    entities = [["Ada", "P"], ["New  Turin", "L"]], [["Bo", "P"]] * 2
    lines = [{"id": name, "entities": given} for name, given in zip("ab", entities, strict=True)]
    predictions = write("p.jsonl", [*lines, {"id": "c", "abstain": True}])
    options = Options(task="entities", grounding=grounding)
    report = score(write("gold.jsonl", TEXT_GOLD), predictions, options)
    assert report.values["string_micro_recall"].value == 3 / 4
    assert report.values["string_answered_recall"].value == 1
    assert report.values["conll_micro_recall"].value == found / 5
    assert report.values["answers_abstained"].value == 1 / 3


def test_gold_in_characters_and_in_tokens_finds_the_same_answers(write: Write):
    texts = [
        {"id": "a", "text": "Ada saw New Turin", "spans": [[0, 3, "P"], [8, 17, "L"]]},
        {"id": "b", "text": "Bo saw Bo", "spans": [[0, 2, "P"], [7, 9, "P"]]},
        {"id": "c", "text": "Cy", "spans": [[0, 2, "P"]]},
    ]
    answers = [["Ada", "P"], ["Turin", "L"]], [["bo", "P"]], [["Cy", "L"]]
    lines = [{"id": name, "entities": given} for name, given in zip("abc", answers, strict=True)]
    predictions, options = write("p.jsonl", lines), Options(task="entities", casefold=True)
    tokens, text = (
        score(write(name, gold), predictions, options)
        for name, gold in (("tokens.jsonl", TEXT_GOLD), ("text.jsonl", texts))
    )
    assert figures(tokens) == figures(text)
    assert 0 < tokens.values["conll_micro_f1"].value < 1


def test_triples_as_text_are_scored_by_the_task_joint(write: Write):
    tokens = {"tokens": ["Ada", "saw", "Rome"], "spans": [[0, 1, "P"], [2, 3, "L"]]}
    relations = [[0, "saw", 1]], [[0, "met", 1]]
    gold = [{"id": name, **tokens, "relations": of} for name, of in zip("ab", relations, strict=True)]
    lines = [
        {"id": "a", "triples": [["Ada", "saw", "Rome"], ["Ada", "flew", "Oslo"]]},
        {"id": "b", "triples": [["Rome", "met", "Ada"]]},
    ]
    paths = write("gold.jsonl", gold), write("p.jsonl", lines)
    values = score(*paths, Options(task="joint")).values
    assert (values["triple_micro_precision"].value, values["triple_micro_recall"].value) == (1 / 3, 1 / 2)
    assert values["answers_not_in_text"].value == values["answers_foreign_label"].value == 1 / 3
    values = score(*paths, Options(task="joint", symmetric=("met",))).values
    assert values["triple_micro_recall"].value == 1


GOLD = [bag_line(1, "ab", "r1"), bag_line(2, "ab"), bag_line(3, "cd", "r2", "r1"), bag_line(4, "ef")]
SCORES = [
    {"id": "s1", "scores": {"r1": 0.9, "NA": 0.1}},
    {"id": "s2", "scores": {"r1": 0.5, "r2": 0.7}},
    {"id": "s3", "scores": {"r2": 0.8}},
    {"id": "s4", "scores": {"r1": 0.6}},
]


@pytest.mark.parametrize("task", ["bags", "sentences"])
@pytest.mark.parametrize("profile", ["corrected", "opennre", "both"])
def test_relation_lines_are_scored_as_line_by_line(write: Write, monkeypatch, task, profile):
    gold, predictions = write("gold.jsonl", GOLD), write("p.jsonl", SCORES)
    options = Options(task=task, negative="NA", profile=profile)
    quick = score(gold, predictions, options)
    read_line_by_line(monkeypatch)
    careful = score(gold, predictions, options)
    assert {key: value for key, value in figures(quick).items() if not math.isnan(value)} == {
        key: value for key, value in figures(careful).items() if not math.isnan(value)
    }
    assert quick.counts == careful.counts
    assert (quick.curve is None) == (profile == "opennre")


def test_bags_take_the_greatest_or_the_mean_score(write: Write):
    gold, predictions = write("gold.jsonl", GOLD), write("p.jsonl", SCORES)
    one = score(gold, predictions, Options(task="bags", negative="NA"))
    mean = score(gold, predictions, Options(task="bags", negative="NA", aggregate="AVG"))
    # ranked: ab r1 .9, cd r2 .8, ab r2 .7, ef r1 .6 against three facts; by the mean ab r1 is .7, a tie
    assert one.values["ap"].value == pytest.approx(2 / 3)
    assert mean.values["ap"].value == pytest.approx((1 + 2 / 3) / 3)


def test_results_of_the_toolkit_against_its_gold(write: Write):
    lines = [{"text": "x", "h": mention(h), "t": mention(t), "relation": name} for h, t, name in TOOLKIT_GOLD]
    predictions = [{"entpair": [h, t], "relation": name, "score": value} for h, t, name, value in RESULTS]
    found = score(
        write("gold.jsonl", lines),
        write("p.jsonl", predictions),
        Options(task="bags", negative="NA", profile="both"),
    )
    assert found.values["opennre_auc"].value == pytest.approx(TOOLKIT_AUC, abs=1e-12)


def test_triples_without_text_are_gold_for_bags(write: Write):
    lines = [{"h": h, "t": t, "relation": name} for h, t, name in TOOLKIT_GOLD]
    predictions = [{"entpair": [h, t], "relation": name, "score": value} for h, t, name, value in RESULTS]
    paths = write("gold.jsonl", lines), write("p.jsonl", predictions)
    found = score(*paths, Options(task="bags", negative="NA", profile="both"))
    assert found.values["opennre_auc"].value == pytest.approx(TOOLKIT_AUC, abs=1e-12)


TOOLKIT_GOLD = [("a", "b", "r1"), ("a", "b", "r2"), ("a", "b", "r1"), ("c", "d", "NA"), ("e", "f", "r2")]
RESULTS = [("a", "b", "r1", 0.9), ("c", "d", "r1", 0.8), ("e", "f", "r2", 0.7), ("a", "b", "r2", 0.6)]
# points (1/3, 1), (1/3, 1/2), (2/3, 2/3), (1, 3/4)
TOOLKIT_AUC = (1 / 2 + 2 / 3) / 6 + (2 / 3 + 3 / 4) / 6


def test_label_sets_count_the_negative_class_as_empty(write: Write):
    predictions = [
        {"id": "s1", "labels": ["r1"]},
        {"id": "s2", "labels": ["NA"]},
        {"id": "s3", "labels": ["r2"]},
    ]
    found = score(
        write("gold.jsonl", GOLD),
        write("p.jsonl", predictions),
        Options(task="sentences", negative="NA"),
    )
    assert found.values["micro_precision"].value == 1.0
    assert found.values["micro_recall"].value == pytest.approx(2 / 3)
    assert found.values["accuracy"].value == 0.75


WRONG = [
    ({"id": "s1", "scores": {}}, "duplicate_id"),
    ({"id": "s4", "scores": {"R1": 0.1}}, "near_label"),
    ({"id": "s4", "scores": {"unheard of": 0.1}}, "unknown_label"),
    ({"id": "s4", "scores": {"r1": float("nan")}}, "bad_score"),
    ({"id": "s4", "scores": {"r1": float("inf")}}, "bad_score"),
    ({"id": "s4", "label": "r1"}, "mixed_forms"),
]


def test_predictions_for_other_items_are_dropped_and_counted(write: Write):
    gold, options = write("gold.jsonl", GOLD), Options(task="bags", negative="NA")
    others = [{"id": "s9", "scores": {"r1": 0.95}}, {"id": "s8", "scores": {"unknown": 0.1}}]
    alone = score(gold, write("alone.jsonl", SCORES), options)
    more = score(gold, write("more.jsonl", [*others, *SCORES]), options)
    assert figures(more) == pytest.approx(figures(alone), nan_ok=True)
    assert not alone.notes
    assert [note.split(" predictions")[0] for note in more.notes] == ["Left out: 2"]


def test_a_file_for_other_items_only_is_rejected(write: Write):
    gold = write("gold.jsonl", GOLD)
    predictions = write("p.jsonl", [{"id": f"x{at}", "scores": {"r1": 0.5}} for at in range(3)])
    with pytest.raises(InvalidFile) as rejected:
        score(gold, predictions, Options(task="sentences", negative="NA"))
    assert dict(rejected.value.problems.by_code) == {"unknown_id": 3}


@pytest.mark.parametrize(("line", "code"), WRONG)
def test_an_invalid_line_is_named(write: Write, line, code):
    predictions = write("p.jsonl", [*SCORES[:3], line])
    with pytest.raises(InvalidFile) as refused:
        score(write("gold.jsonl", GOLD), predictions, Options(task="bags", negative="NA"))
    assert [(one.code, one.line) for one in refused.value.problems.first] == [(code, 4)]


def test_a_pair_and_relation_claimed_twice_is_rejected(write: Write):
    predictions = [{"h": "a", "t": "b", "relation": "r1", "score": value} for value in (0.5, 0.4)]
    with pytest.raises(InvalidFile) as refused:
        score(
            write("gold.jsonl", GOLD),
            write("p.jsonl", predictions),
            Options(task="bags", negative="NA"),
        )
    assert [(one.code, one.line) for one in refused.value.problems.first] == [("duplicate_claim", 2)]


@pytest.mark.parametrize(
    ("predictions", "code", "line"),
    [
        ("In O\nOld B-LOC\n", "token_mismatch", 2),
        ("In O\n", "token_mismatch", 1),
        ("In O\nNew B-PLC\n", "unknown_label", 2),
        ("In O\nNew X-LOC\n", "bad_tag", 2),
        ("In O\n\nNew B-LOC\n", "token_mismatch", 1),
    ],
)
def test_invalid_columns_are_named(write: Write, predictions, code, line):
    with pytest.raises(InvalidFile) as refused:
        score(write("gold.txt", "In O\nNew B-LOC\n"), write("p.txt", predictions), ENTITIES)
    first = refused.value.problems.first[0]
    assert (first.code, first.line) == (code, line)


def test_a_csv_is_rejected_by_the_formats_of_its_purpose(write: Write):
    table, labels = write("t.csv", "id,label\ns1,r1\n"), write("gold.jsonl", [{"id": "s1", "label": "r1"}])
    with pytest.raises(InvalidFile, match="not with the columns of a known format"):
        score(table, labels, Options(task="classification"))
    with pytest.raises(InvalidFile) as rejected:
        score(labels, table, Options(task="classification"))
    assert "CSV" not in (rejected.value.problems.first[0].expected or "")


def test_a_label_is_explained_where_the_inventory_is_empty(write: Write):
    gold = write("gold.jsonl", [{"id": "d1", "tokens": ["Ada"], "spans": []}])
    predictions = write("p.jsonl", [{"id": "d1", "spans": [[0, 1, "P"]]}])
    with pytest.raises(InvalidFile, match="no label: the inventory is empty"):
        score(gold, predictions, Options(task="entities"))


def test_the_scheme_of_tags_is_never_guessed(write: Write):
    path = write("both.txt", COLUMNS)
    with pytest.raises(InvalidFile, match="scheme"):
        score(path, path, Options(task="entities"))


def test_stated_labels_are_the_inventory(write: Write):
    gold, predictions = write("gold.jsonl", GOLD), write("p.jsonl", SCORES)
    stated = write("labels.txt", "r1\nr2\nr3\nNA\n")
    found = score(gold, predictions, Options(task="bags", negative="NA", labels=stated))
    assert [row.label for row in found.classes["bags"]] == ["r1", "r2", "r3"]
    with pytest.raises(InputFault, match="r2"):
        score(gold, predictions, Options(task="bags", negative="NA", labels=write("few.txt", "r1\n")))


def test_a_rejection_has_twenty_problems_and_counts_all(write: Write):
    predictions = write("p.jsonl", [{"id": f"x{number}", "scores": {}} for number in range(50)])
    with pytest.raises(InvalidFile) as refused:
        score(write("gold.jsonl", GOLD), predictions, Options(task="sentences", negative="NA"))
    problems: Problems = refused.value.problems
    assert (len(problems.first), problems.total) == (20, 50)


def test_entities_have_no_negative_class(write: Write):
    gold = write("gold.conll", "Ada\tB-PER\ncame\tO\n")
    predictions = write("p.conll", "Ada\tB-PER\ncame\tB-LOC\n")
    with pytest.raises(InputFault, match="entities of the class PER"):
        score(gold, gold, Options(task="entities", scheme="IOB2", negative="PER"))
    with pytest.raises(InvalidFile) as refused:
        score(gold, predictions, Options(task="entities", scheme="IOB2", negative="LOC"))
    assert [problem.code for problem in refused.value.problems.first] == ["unknown_label"]
    named = score(gold, gold, Options(task="entities", scheme="IOB2", negative="O"))
    assert named.values["conll_micro_f1"].value == 1.0


def test_old_names_of_labels_are_mapped_by_a_file_of_names_or_a_file_of_a_release(write: Write) -> None:
    def labels(name: str, *names: str) -> Path:
        return write(name, [{"id": str(at), "label": label} for at, label in enumerate(names)])

    gold, new = labels("gold", "region", "NA", "city"), labels("new", "region", "NA", "city")
    old, split = labels("old", "us_state", "gone", "city"), labels("split", "place", "NA", "city")
    names = write("names", json.dumps({"us_state": "region", "gone": None, "place": ["region", "city"]}))
    step = {"number": 1, "operation": "merge", "sources": ["us_state"], "target": "region"}
    delete = {"number": 2, "operation": "delete", "sources": ["gone"], "target": ""}
    manifest = write("manifest", json.dumps({"ontology": [step, delete], "rows": 3}))
    ontology = write("ontology", json.dumps({"labels": [], "texts": {}, "steps": [step, delete]}))
    plain = Options(task="classification", negative="NA")
    expected = local_files.score(gold, new, plain)
    for mapping in (names, manifest, ontology):
        found = local_files.score(gold, old, replace(plain, old_labels=mapping))
        assert figures(found.report) == pytest.approx(figures(expected.report), nan_ok=True)
        assert found.computed["old_labels"] == {"us_state": "region", "gone": None}
        assert found.warnings == ("2 labels of 2 old names were mapped: gone → NA, us_state → region.",)
    for path, options, code in (
        (old, plain, "unknown_label"),
        (split, plain, "unknown_label"),
        (split, replace(plain, old_labels=names), "old_label"),
    ):
        with pytest.raises(InvalidFile) as rejected:
            local_files.score(gold, path, options)
        assert set(rejected.value.problems.by_code) <= {code, "near_label"}
    with pytest.raises(InputFault, check=lambda fault: fault.code == "bad_mapping"):
        local_files.score(gold, old, replace(plain, old_labels=write("bad", '{"us_state": 3}')))
