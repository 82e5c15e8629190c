"""Smallest examples of faults in reference implementations."""

import numpy as np
import pytest

from workers.metrics.bags import claims_of_columns, facts_of_columns
from workers.metrics.encoding import Vocabulary
from workers.metrics.matching import PairingCounts, document_pairings
from workers.metrics.ranking_profiles import corrected, opennre
from workers.metrics.spans import exact_counts, spans_of_lists
from workers.metrics.tags import spans_of_tags
from workers.metrics.weights import micro_averages, scheme_weights
from workers.metrics.words import tokens_of_lists, words_of_spans, wrf_counts

GOLD = [(0, 0, "A")]


def nervaluated(predicted: list[tuple[int, int, str]]) -> dict[str, tuple[int, ...]]:
    """Correct, incorrect, partial, missed, spurious by schema; bounds include the last token."""
    from nervaluate import Evaluator

    sides = [[[{"label": label, "start": s, "end": e} for s, e, label in side]] for side in (GOLD, predicted)]
    found = Evaluator(*sides, tags=["A", "B"], loader="dict").evaluate()["overall"]
    names = {"ent_type": "type"}
    return {
        names.get(name, name): (one.correct, one.incorrect, one.partial, one.missed, one.spurious)
        for name, one in found.items()
    }


def paired(predicted: list[tuple[int, int, str]]) -> dict[str, tuple[int, ...]]:
    sides = [
        spans_of_lists([[(s, e + 1, label) for s, e, label in side]], labels=["A", "B"])
        for side in (GOLD, predicted)
    ]
    counts = PairingCounts(*document_pairings(*sides).sum(axis=0).tolist())
    return {schema: tuple(counts.outcome(schema)) for schema in ("strict", "exact", "partial", "type")}


@pytest.mark.parametrize("rival", [(0, 0, "B"), (0, 1, "A")])
def test_nervaluate_pairs_the_first_overlap_before_an_exact_match(rival):
    best = (1, 0, 0, 0, 1)
    assert nervaluated([*GOLD, rival])["strict"] == best
    assert nervaluated([rival, *GOLD])["strict"] == (0, 1, 0, 0, 1)
    assert paired([*GOLD, rival]) == paired([rival, *GOLD])
    assert paired([rival, *GOLD])["strict"] == best


@pytest.mark.filterwarnings("ignore")
def test_seqeval_scores_no_gold_and_no_predictions_as_zero():
    from seqeval.metrics import f1_score
    from seqeval.scheme import IOB2

    assert f1_score([["O"]], [["O"]]) == 0.0
    assert f1_score([["O"]], [["O"]], mode="strict", scheme=IOB2) == 0.0
    labels = Vocabulary()
    none = spans_of_tags([["O"]], labels=labels)
    assert np.isnan(micro_averages(exact_counts(none, none, n_labels=0))["micro_f1"].value)


@pytest.mark.filterwarnings("ignore:U-X seems not")
def test_seqeval_reads_two_units_as_one_entity():
    from seqeval.metrics.sequence_labeling import get_entities

    assert get_entities(["U-X", "U-X"]) == [("X", 0, 1)]
    assert len(spans_of_tags([["U-X", "U-X"]], labels=Vocabulary(), scheme="bilou")) == 2


def test_rouge_score_ignores_letters_outside_a_to_z():
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rouge1"])
    assert scorer.score("日本", "日本")["rouge1"].fmeasure == 0
    assert scorer.score("Größe", "gr e")["rouge1"].fmeasure == 1
    tokens = tokens_of_lists([["日本", "Größe"]])
    words = words_of_spans(spans_of_lists([[(0, 2, "A")]], labels=["A"]), tokens)
    assert wrf_counts(words, words, n_labels=1).f1.tolist() == [1.0]


def test_an_absent_class_makes_the_published_entropy_formula_nan():
    gold = np.array([3, 0])
    with np.errstate(all="ignore"):
        assert np.isnan(gold * np.log(gold / gold.sum())).any()
    assert scheme_weights([3, 2, 0], "entropy", items=5).values[2] == 0
    assert scheme_weights(gold, "entropy", items=3).values.tolist() == [1, 0]


def test_opennre_scores_a_perfect_ranking_of_two_facts_as_one_half():
    facts = facts_of_columns([0, 1], [0, 0], n_pairs=2, n_relations=1)
    claims = claims_of_columns([0, 1], [0, 0], [0.9, 0.8], n_pairs=2, n_relations=1)
    assert opennre(claims, facts).auc == 0.5
    assert corrected(claims, facts).auc == 1.0


def test_opennre_raises_macro_f1_with_fewer_claims():
    facts = facts_of_columns([0, 1, 2], [0, 0, 1], n_pairs=3, n_relations=2)
    size = {"n_pairs": 3, "n_relations": 2}
    less = claims_of_columns([0], [0], [0.9], **size)
    assert opennre(less, facts).macro_f1_at_tau == 0.5
    assert corrected(less, facts).macro_f1_at_tau == pytest.approx(1 / 3)
