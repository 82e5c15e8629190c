"""One call per task: from arrays to all figures with their reasons."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from numpy.typing import ArrayLike

from workers.metrics import semeval2010
from workers.metrics.bags import Claims, Facts, facts_of_columns, hits
from workers.metrics.classification import accuracy, averaged_classes, confusion, confusion_counts, set_counts
from workers.metrics.curve import thin
from workers.metrics.fact_ranks import rank_facts
from workers.metrics.ranking_profiles import NO_AREA, NO_CLAIMS, NO_FACTS, corrected, opennre, ranked_figures
from workers.metrics.relations import MODES, Links, argument_ceiling, link_counts
from workers.metrics.report import ClassRow, LabelOutcome, Report, Value, class_rows, value_of
from workers.metrics.semeval2010 import NO_ITEMS
from workers.metrics.semeval2013 import muc_figures, outcomes_by_label, pairings_by_label, total
from workers.metrics.spans import Spans, exact_counts
from workers.metrics.text_answers import (
    Document,
    TextAnswers,
    averages_with_foreign,
    ground,
    grounded_counts,
    inventory,
    label_codes_used,
    set_counts_of,
    shares,
    words_of_answers,
)
from workers.metrics.weights import averages, macro_flip, micro_averages
from workers.metrics.words import Tokens, word_counts, words_of_spans
from workers.metrics.wrf import figures_of_words, mean_word_rows, word_rows

ENTITY_FAMILIES = ("conll", "muc", "wrf")
NO_RELATIONS = "there are no gold relations"


def classification_suite(
    gold: ArrayLike,
    predicted: ArrayLike,
    *,
    labels: Sequence[str],
    negative: str | None = None,
    include_negative: bool = False,
    beta: float = 1.0,
    entropy: str = "all",
) -> Report:
    """Compute all figures of single-label classification.

    Parameters
    ----------
    gold, predicted : array_like of int, shape (items,)
        Codes into *labels*; −1 in *predicted* is a missing answer, counted as wrong.
    labels : sequence of str
        The benchmark's inventory.
    negative : str, optional
        The negative class; no class of the averages unless *include_negative*.
    include_negative : bool, default False
    beta : float, default 1.0
    entropy : {"all", "positive"}, default "all"
        N of the entropy scheme: all items, or the gold of the averaged classes.

    Returns
    -------
    Report
        Table ``classification`` has one row per label, including the negative one. Directed labels add the
        figures of SemEval-2010, and a table with one row per relation, correct with its direction only.

    Examples
    --------
    >>> report = classification_suite([0, 1, 1], [0, 1, -1], labels=["NA", "A"], negative="NA")
    >>> round(report.values["micro_f1"].value, 4), round(report.values["accuracy"].value, 4)
    (0.6667, 0.6667)
    """
    matrix = confusion(gold, predicted, n_labels=len(labels))
    counts = confusion_counts(matrix)
    averaged = counts.select(averaged_classes(labels, negative=negative, include_negative=include_negative))
    values = averages(averaged, beta=beta, entropy=entropy)
    values["accuracy"] = value_of(accuracy(counts), reason=NO_ITEMS)
    totals = {
        "items": float(counts.items),
        "missing": float(matrix[:, -1].sum()),
        "macro_flip": macro_flip(averaged, beta=beta),
    }
    tables = {"classification": class_rows(labels, counts, beta=beta)}
    if any(map(semeval2010.DIRECTED.fullmatch, labels)):
        official = semeval2010.evaluate_confusion(matrix, labels=labels)
        values |= semeval2010.semeval_figures(official)
        tables["semeval2010"] = class_rows(official.relations, official.official)
    return Report(values, tables, counts=totals)


def sets_suite(
    gold_items: ArrayLike,
    gold_labels: ArrayLike,
    pred_items: ArrayLike,
    pred_labels: ArrayLike,
    *,
    n_items: int,
    labels: Sequence[str],
    beta: float = 1.0,
    negative_items: int = 0,
) -> Report:
    """Compute all figures of label sets without scores.

    Items are sentences or bags; N/A is the empty set.

    Parameters
    ----------
    gold_items, gold_labels, pred_items, pred_labels : array_like of int
        One row per label of an item; repeats count once.
    n_items : int
        Items of the setting, those without labels too.
    labels : sequence of str
        The positive labels.
    beta : float, default 1.0
    negative_items : int, default 0
        Items of the negative class that the entropy scheme counts in its N; bags have no such class.

    Returns
    -------
    Report
        ``accuracy`` is the share of items with exactly the gold set; N of the entropy scheme is
        Σ n_i + *negative_items*.

    Examples
    --------
    >>> report = sets_suite([0], [0], [0, 0], [0, 1], n_items=2, labels=["A", "B"])
    >>> round(report.values["micro_f1"].value, 4), report.values["accuracy"].value
    (0.6667, 0.5)
    """
    size = {"n_pairs": n_items, "n_relations": len(labels)}
    compared = set_counts(
        facts_of_columns(gold_items, gold_labels, **size),
        facts_of_columns(pred_items, pred_labels, **size),
    )
    weighted = replace(compared.counts, items=compared.counts.items + negative_items)
    values = averages(weighted, beta=beta)
    values["accuracy"] = value_of(compared.exact_share, reason=NO_ITEMS)
    totals = {
        "items": float(n_items),
        "gold": float(compared.counts.gold.sum()),
        "macro_flip": macro_flip(compared.counts, beta=beta),
    }
    return Report(values, {"classification": class_rows(labels, compared.counts, beta=beta)}, counts=totals)


def entities_suite(
    gold: Spans,
    predicted: Spans,
    *,
    labels: Sequence[str],
    tokens: Tokens,
    beta: float = 1.0,
    wrf_scheme: str | None = None,
    families: Collection[str] = ENTITY_FAMILIES,
) -> Report:
    """Compute all figures of entities: CoNLL, SemEval-2013, WRF.

    Parameters
    ----------
    gold, predicted : Spans
        Over the same documents; label codes into *labels*.
    labels : sequence of str
    tokens : Tokens
        The benchmark's tokens, in the units of the spans, for WRF.
    beta : float, default 1.0
    wrf_scheme : str, optional
        Divide the γ of the single classes by a weighting scheme over gold entity counts.
    families : collection of {"conll", "muc", "wrf"}, default all
        Figures to compute; table and counts are always included.

    Returns
    -------
    Report
        Table ``conll`` has one row per label; ``outcomes`` has the SemEval-2013 counts by schema and label.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_lists
    >>> from workers.metrics.words import tokens_of_lists
    >>> spans = spans_of_lists([[(0, 1, "PER")]], labels=["PER"])
    >>> report = entities_suite(spans, spans, labels=["PER"], tokens=tokens_of_lists([["Ada", "came"]]))
    >>> report.values["conll_micro_f1"].value, report.values["wrf_strict"].value
    (1.0, 1.0)
    """
    counts = exact_counts(gold, predicted, n_labels=len(labels))
    values: dict[str, Value] = {}
    outcomes: dict[str, dict[str, LabelOutcome]] = {}
    rows, words = {"conll": class_rows(labels, counts, beta=beta)}, None
    if "conll" in families:
        values |= averages(counts, prefix="conll_", beta=beta)
    if "muc" in families:
        parts = pairings_by_label(gold, predicted, n_labels=len(labels))
        values |= muc_figures(total(parts))
        outcomes = outcomes_by_label(parts, list(labels))
    if "wrf" in families:
        words = word_counts(
            words_of_spans(gold, tokens), words_of_spans(predicted, tokens), n_labels=len(labels)
        )
        values |= figures_of_words(words, gold_counts=counts.gold, scheme=wrf_scheme)
        rows |= {"wrf": word_rows(labels, words.pooled), "wrf_mean": mean_word_rows(labels, words.documents)}
    totals = {
        "documents": float(gold.n_documents),
        "gold": float(len(gold)),
        "predicted": float(len(predicted)),
        "duplicates": float(predicted.duplicates),
        "macro_flip": macro_flip(counts, beta=beta),
    }
    return Report(values, rows, counts=totals, outcomes=outcomes, words=words)


def texts_suite(
    documents: Sequence[Document],
    gold: Spans,
    target: TextAnswers,
    predicted: TextAnswers,
    *,
    labels: Sequence[str],
    beta: float = 1.0,
    grounding: str = "ordered",
    families: Collection[str] = ENTITY_FAMILIES,
) -> Report:
    """Compute all figures of entities given as texts: sets, and places in the text.

    Parameters
    ----------
    documents : sequence of Document
    gold : Spans
        In code points of the documents.
    target, predicted : TextAnswers
        The same gold as texts, and the system's answers.
    labels : sequence of str
    beta : float, default 1.0
    grounding : {"ordered", "first", "all"}, default "ordered"
        The occurrences that answers take.
    families : collection of {"conll", "muc", "wrf"}, default all
        Figures to compute besides those of sets.

    Returns
    -------
    Report
        Tables ``entity_texts`` and ``conll`` have one row per label of the inventory.

    Examples
    --------
    >>> from workers.metrics.spans import spans_of_columns
    >>> gold = spans_of_columns([0], [0], [3], [0], n_documents=1)
    >>> from workers.metrics.text_answers import Answer
    >>> answers = TextAnswers([[Answer(0, ("Ada",))]], 1)
    >>> report = texts_suite([Document("Ada came .")], gold, answers, answers, labels=["PER"])
    >>> report.values["string_micro_f1"].value, report.values["conll_micro_f1"].value
    (1.0, 1.0)
    """
    size = len(labels)
    report = _sets_of_texts(
        documents, target, predicted, names=labels, family="entity_texts", prefix="string_", beta=beta
    )
    values = dict(report.values)
    spans = ground(documents, predicted, grounding=grounding)
    counts = grounded_counts(gold, spans, n_labels=size)
    outcomes: dict[str, dict[str, LabelOutcome]] = {}
    rows, words = {"conll": class_rows(labels, inventory(counts), beta=beta)}, None
    if "conll" in families:
        values |= averages_with_foreign(counts, prefix="conll_", beta=beta)
    if "muc" in families:
        parts = pairings_by_label(gold, spans, n_labels=label_codes_used(spans, size))
        values |= muc_figures(total(parts))
        outcomes = outcomes_by_label(parts[:size], list(labels))
    if "wrf" in families:
        words = word_counts(*words_of_answers(target, predicted), n_labels=size)
        values |= figures_of_words(words, gold_counts=inventory(counts).gold)
        rows |= {"wrf": word_rows(labels, words.pooled), "wrf_mean": mean_word_rows(labels, words.documents)}
    totals = {
        "documents": float(len(documents)),
        "gold": float(len(gold)),
        "predicted": float(len(spans)),
        "conll_foreign": float(counts.fp[-1]),
        "macro_flip": macro_flip(inventory(counts), beta=beta),
    }
    return replace(
        report,
        values=values,
        classes=rows | report.classes,
        counts=totals | report.counts,
        outcomes=outcomes,
        words=words,
    )


def triples_suite(
    documents: Sequence[Document],
    target: TextAnswers,
    predicted: TextAnswers,
    *,
    relations: Sequence[str],
    beta: float = 1.0,
) -> Report:
    """Compute all figures of relations given as triples of texts.

    Parameters
    ----------
    documents : sequence of Document
    target, predicted : TextAnswers
        Of two texts each, head and tail; sorted where the relation has no direction.
    relations : sequence of str
    beta : float, default 1.0

    Returns
    -------
    Report
        Table ``triple_texts`` has one row per relation.

    Examples
    --------
    >>> from workers.metrics.text_answers import Answer
    >>> answers = TextAnswers([[Answer(0, ("Ada", "Acme"))]], 1)
    >>> report = triples_suite([Document("Ada , Acme")], answers, answers, relations=["works_for"])
    >>> report.values["triple_micro_f1"].value
    1.0
    """
    report = _sets_of_texts(
        documents, target, predicted, names=relations, family="triple_texts", prefix="triple_", beta=beta
    )
    totals = {
        "documents": float(len(documents)),
        "gold_relations": float(sum(map(len, target.sets))),
        "predicted_relations": float(sum(map(len, predicted.sets))),
    }
    return replace(report, counts=totals | report.counts)


def _sets_of_texts(
    documents: Sequence[Document],
    target: TextAnswers,
    predicted: TextAnswers,
    *,
    names: Sequence[str],
    family: str,
    prefix: str,
    beta: float,
) -> Report:
    """Compute figures of sets of answers, of the answered documents too, and the shares."""
    counts = set_counts_of(target, predicted, range(len(documents)))
    values = averages_with_foreign(counts, prefix=prefix, beta=beta)
    answered = micro_averages(set_counts_of(target, predicted, predicted.answered).total(), beta=beta)
    for ratio in ("f1", "recall"):
        values[f"{prefix}answered_{ratio}"] = answered[f"micro_{ratio}"]
    found = shares(documents, predicted)
    rows = {family: class_rows(names, inventory(counts), beta=beta)}
    return Report(
        values | found.values, rows, counts=found.counts | {f"{family}_foreign": float(counts.fp[-1])}
    )


def relations_suite(gold: Links, predicted: Links, *, relations: Sequence[str], beta: float = 1.0) -> Report:
    """Compute all figures of relations between predicted spans.

    Parameters
    ----------
    gold, predicted : Links
        Over the same documents; codes into one inventory each of labels and of relations.
    relations : sequence of str
    beta : float, default 1.0

    Returns
    -------
    Report
        Tables ``relation_strict``, ``relation_bounds`` and ``relation_relaxed``; beside the first two the
        ceiling, the share of gold relations whose ends were both predicted.

    Examples
    --------
    >>> from workers.metrics.relations import links_of_columns
    >>> from workers.metrics.spans import spans_of_columns
    >>> spans = spans_of_columns([0, 0], [0, 3], [1, 4], [0, 1], n_documents=1)
    >>> links = links_of_columns(spans, [0], [0], [1])
    >>> relations_suite(links, links, relations=["in"]).values["relation_strict_micro_f1"].value
    1.0
    """
    values: dict[str, Value] = {}
    tables: dict[str, tuple[ClassRow, ...]] = {}
    for mode in MODES:
        counts = link_counts(gold, predicted, mode=mode, n_relations=len(relations))
        values |= averages(counts, prefix=f"relation_{mode}_", beta=beta)
        tables[f"relation_{mode}"] = class_rows(relations, counts, beta=beta)
    for mode in ("strict", "bounds"):
        ceiling = argument_ceiling(gold, predicted.spans, labels=mode == "strict")
        values[f"relation_{mode}_ceiling"] = value_of(ceiling, reason=NO_RELATIONS)
    bare = exact_counts(gold.spans.without_labels, predicted.spans.without_labels, n_labels=1)
    values["relation_bounds_entity_f1"] = averages(bare, beta=beta)["micro_f1"]
    totals = {"gold_relations": float(len(gold)), "predicted_relations": float(len(predicted))}
    return Report(values, tables, counts=totals)


def bags_suite(claims: Claims, facts: Facts, *, relations: Sequence[str]) -> Report:
    """Compute all figures of ranked claims, corrected and as in OpenNRE.

    Parameters
    ----------
    claims : Claims
        Of bags or sentences, in the order of the file.
    facts : Facts
    relations : sequence of str
        The positive relations.

    Returns
    -------
    Report
        Tables ``bags`` and ``opennre`` per relation at each profile's τ*; the curve is the corrected one.

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> facts = facts_of_columns([0, 1], [0, 0], n_pairs=2, n_relations=1)
    >>> claims = claims_of_columns([0, 1], [0, 0], [0.9, 0.8], n_pairs=2, n_relations=1)
    >>> report = bags_suite(claims, facts, relations=["in"])
    >>> report.values["auc"].value, report.values["opennre_auc"].value
    (1.0, 0.5)
    """
    reason = NO_CLAIMS if len(facts) else NO_FACTS
    ranks = rank_facts(claims.score, hits(claims, facts), n_facts=len(facts))
    order_free = corrected(claims, facts, ranks=ranks)
    values = ranked_figures(order_free, n_facts=len(facts))
    values["ap"] = value_of(order_free.ap, reason=NO_FACTS)
    values["auc_under_ties"] = value_of(order_free.auc_under_ties, reason=NO_AREA)
    tables = {"bags": class_rows(relations, order_free.counts)}
    curve = thin(order_free.curve) if order_free.curve is not None else None
    toolkit = opennre(claims, facts, ranks=ranks)
    values |= ranked_figures(toolkit, n_facts=len(facts), prefix="opennre_")
    for key in ("micro_f1_at_half", "macro_f1_at_half"):
        values[f"opennre_{key}"] = value_of(getattr(toolkit, key), reason=reason)
    tables["opennre"] = class_rows(relations, toolkit.counts)
    totals = {"pairs": claims.n_pairs, "facts": len(facts), "claims": len(claims)}
    return Report(values, tables, curve, {key: float(number) for key, number in totals.items()})
