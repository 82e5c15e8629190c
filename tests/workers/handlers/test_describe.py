"""Statistics of a frozen set, and the quality of its source labels."""

from __future__ import annotations

from math import exp, log
from typing import Any

import pytest

from annotation import projects
from annotation.freezing import builder
from annotation.models import Batch
from annotation.releases.composition import Composition
from annotation.testset import TestSet
from evalsvc.core.errors.exceptions import Conflict, DomainError
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import answered_item, create_project, curator, import_lines
from tests.errors import code

pytestmark = pytest.mark.django_db


def described(test_set: TestSet) -> dict[str, Any]:
    assert run_job("describe", test_set.pk).state == "done"
    test_set.refresh_from_db()
    assert test_set.statistics is not None
    return test_set.statistics


def gold(lines: list[Any], **options: Any) -> Batch:
    return import_lines(None, lines, what="gold", name="G", version="1", **options)


def test_sentences_pairs_facts_and_labels_are_counted() -> None:
    other = {"h": {"id": "Q3", "name": "Ada", "pos": [0, 3]}}
    lines = [
        sentence("s0", relations=["A"]),
        sentence("s1", relations=["A", "B"]),
        sentence("s2", relations=["A"], **other),
        sentence("s3", relations=[]),
    ]
    found = described(gold(lines).test_set)
    wanted = {"sentences": 4, "pairs": 2, "facts": 3, "relations": 2, "na_share": 0.25, "ratio": 3.0}
    assert {name: found[name] for name in wanted} == wanted
    assert found["perplexity_without_negative"] == pytest.approx(exp(-(0.75 * log(0.75) + 0.25 * log(0.25))))
    shares = (0.6, 0.2, 0.2)
    assert found["perplexity_with_negative"] == pytest.approx(exp(-sum(p * log(p) for p in shares)))


@pytest.mark.parametrize(("order", "same"), [("AAABBB", 4), ("ABABAB", 0)])
def test_lines_with_the_labels_of_the_line_before_are_counted(order: str, same: int) -> None:
    """By chance a neighbour has the label in 2 of 5 cases, and 5 lines have one before them."""
    found = described(gold([f"{at}\t{label}" for at, label in enumerate(order)]).test_set)
    assert found["neighbours"] == {"same": same, "by_chance": 2.0}


def test_items_without_entities_have_no_pairs_or_facts() -> None:
    found = described(gold(["1\tA", "2\tB"]).test_set)
    assert (found["sentences"], found["pairs"], found["facts"]) == (2, None, None)


def test_spans_are_counted_by_type() -> None:
    found = described(gold(["Ada\tB-per", "saw\tO", "", "Rain\tO"], kind="entities", scheme="IOB2").test_set)
    assert (found["sentences"], found["entities"], found["na_sentences"]) == (2, 1, 1)
    assert found["labels"] == {"per": 1}


def test_tokens_name_the_texts_that_have_them() -> None:
    project = create_project("entities", labels=["per"], k=1)
    import_lines(project, [{"id": "a", "tokens": ["Ada", "left"]}, {"id": "b", "text": "Bo left."}])
    projects.open_for_work(project, by=curator())
    for name in ("a", "b"):
        answered_item(project, [], item=name)
    made = builder.freeze(project, name="G", version="1.0", by=curator())
    run_job("freeze", made.pk)
    found = described(made)
    assert (found["tokens"], found["tokenised"]) == (2, 1)
    figures = {stat.name: (stat.figure, stat.detail) for stat in Composition(made).stats}
    assert figures["Tokens"] == ("2", "of the 1 text that has them")


def imported_source(gold: TestSet, labels: list[list[str]]) -> TestSet:
    lines = [sentence(f"s{n}", tail=f"Q{n + 10}", relations=names) for n, names in enumerate(labels)]
    values = {"name": "Key", "version": "1", "source_of": gold.slug}
    return import_lines(None, lines, what="gold", **values).test_set


def test_imported_source_labels_are_scored_against_imported_gold() -> None:
    truth = [["A"], ["B"], ["C"], []]
    lines = [sentence(f"s{n}", tail=f"Q{n + 10}", relations=names) for n, names in enumerate(truth)]
    made = import_lines(None, lines, what="gold", name="Key", version="1").test_set
    described(made)
    source = imported_source(made, [["A"], ["A"], [], ["D"]])
    assert (source.origin, source.twin, source.project) == ("source", made, None)
    described(source)
    made.refresh_from_db()
    quality = made.statistics["source_quality"]
    assert (quality["fact_precision"], quality["fact_recall"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert quality["relations"]["D"]["source_facts"] == 1
    with pytest.raises(Conflict, check=code("has_source_labels")):
        imported_source(made, [["A"]])


def test_source_labels_are_imported_beside_readable_gold_of_relations_only() -> None:
    made = gold([sentence("s0", relations=["A"])]).test_set
    sam = person("sam", may_organise=True)
    for by, slug in ((sam, made.slug), (curator(), "none")):
        sent = {"name": "Own", "version": "1", "source_of": slug}
        with pytest.raises(DomainError, check=code("unknown_set")):
            import_lines(None, [sentence("s0", relations=["A"])], what="gold", by=by, **sent)


def test_source_labels_are_scored_against_the_gold_of_annotated_sentences() -> None:
    project = create_project(k=1)
    pairs = [{"t": {"id": f"Q{n}", "name": "Turin", "pos": [16, 21]}} for n in range(4)]
    source_labels: list[list[str]] = [["A"], ["A"], [], ["B"]]
    import_lines(project, [sentence(f"s{n}", relations=source_labels[n], **pairs[n]) for n in range(4)])
    projects.open_for_work(project, by=curator())
    for n, truth in enumerate([["A"], ["B"], ["C"]]):
        answered_item(project, truth, item=f"s{n}")
    made = builder.freeze(project, name="T", version="1.0", leave_out=True, by=curator())
    run_job("freeze", made.pk)
    described(TestSet.objects.get(twin=made))
    quality = described(made)["source_quality"]
    assert (quality["sentences"], quality["pairs"]) == (3, 3)
    assert quality["fact_precision"] == pytest.approx(1 / 2)
    assert quality["fact_recall"] == pytest.approx(1 / 3)
    assert quality["pair_accuracy"] == pytest.approx(1 / 3)
    of_a = quality["relations"]["A"]
    assert (of_a["precision"], of_a["recall"], of_a["source_facts"], of_a["gold_facts"]) == (0.5, 1.0, 2, 1)
    assert of_a["precision_ends"] == pytest.approx([0.0945, 0.9055], abs=1e-4)
    assert quality["relations"]["B"]["precision"] is None
    assert quality["fact_recall_ends"] == pytest.approx([0.0615, 0.7923], abs=1e-4)


def test_votes_of_stated_quality_give_the_figures_of_the_paper_on_its_source_labels() -> None:
    # Gao et al. 2021, section 3: 69.1 % precision and 33.9 % recall of facts, 47.1 % of pairs the same
    pairs = [(["A"], ["A"])] * 76 + [(["A"], ["B"])] * 34 + [([], ["C"])] * 114 + [([], [])] * 56
    project = create_project(k=4)
    import_lines(
        project,
        [sentence(f"s{n}", tail=f"Q{n + 10}", relations=source) for n, (source, _) in enumerate(pairs)],
    )
    votes = [
        # one answer of four is N/A in every third sentence
        {"item": f"s{n}", "annotator": f"p{who}"}
        | ({"labels": truth} if truth and n % 3 + who else {"na": True})
        for n, (_, truth) in enumerate(pairs)
        for who in range(4)
    ]
    import_lines(project, votes, what="votes")
    made = builder.freeze(project, name="T", version="1.0", by=curator())
    run_job("freeze", made.pk)
    described(TestSet.objects.get(twin=made))
    quality = described(made)["source_quality"]
    assert (made.statistics["pairs"], made.statistics["facts"]) == (280, 224)
    figures = [quality[name] for name in ("fact_precision", "fact_recall", "pair_accuracy")]
    assert figures == pytest.approx([0.691, 0.339, 0.471], abs=5e-4)
