"""Handler of job kind `describe`: statistics and label quality of sets."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from annotation.releases.listing import digests_of_lines
from annotation.releases.recount import Neighbours
from annotation.testset import Kind, Origin, TestSet, read_rows
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from evalsvc.evaluation.measures.inventory import ENTITY, RELATION, labels_in_parts
from workers.metrics.bags import Facts, facts_of_columns
from workers.metrics.statistics import label_statistics, set_statistics, source_quality, wilson_interval
from workers.scoring.provenance import provenance_figures

Pair = tuple[str, str]


def describe(subject: int, progress: Progress) -> Store:
    """Compute statistics of a set, and quality of its source labels."""
    test_set = TestSet.objects.get(pk=subject)
    progress(0, 2, f"reading {test_set}")
    result = statistics(test_set) | _provenance(test_set, progress)
    files = digests_of_lines(test_set)
    annotated = test_set.twin if test_set.origin == Origin.SOURCE else test_set
    quality: dict[str, Any] = {}
    if annotated is not None and annotated.state == TestSet.State.FROZEN:
        source = TestSet.objects.frozen().filter(twin=annotated).first()
        progress(1, 2, "comparing source labels with gold")
        quality = _quality(annotated, source) if source and test_set.kind == Kind.RELATIONS else {}

    def store() -> None:
        TestSet.objects.filter(pk=test_set.pk).update(statistics=result, file_digests=files)
        if annotated is not None and quality:
            fresh = TestSet.objects.select_for_update().get(pk=annotated.pk)
            merged = (fresh.statistics or {}) | {"source_quality": quality}
            TestSet.objects.filter(pk=fresh.pk).update(statistics=merged)

    return store


def statistics(test_set: TestSet) -> dict[str, Any]:
    """Count the set and its labels; undefined figures are None."""
    return _relation_statistics(test_set) if test_set.kind == Kind.RELATIONS else _entity_statistics(test_set)


def _provenance(test_set: TestSet, progress: Progress) -> dict[str, Any]:
    """Return figures over the answers, where the freeze recorded them."""
    if not test_set.manifest.get("provenance_sha256"):
        return {}
    return {"provenance": provenance_figures(test_set, progress)}


def _relation_statistics(test_set: TestSet) -> dict[str, Any]:
    codes = {label["name"]: at for at, label in enumerate(test_set.labels)}
    pairs: dict[Any, int] = {}
    owner: list[int] = []
    sentence: list[int] = []
    label: list[int] = []
    several, has_pairs, neighbours = 0, False, Neighbours()
    for number, gold in enumerate(read_rows(test_set)):
        key = _pair(gold)
        has_pairs = has_pairs or key is not None
        owner.append(pairs.setdefault(key or number, len(pairs)))
        several += len(gold["relations"]) > 1
        neighbours.add(gold["relations"])
        for name in gold["relations"]:
            sentence.append(number)
            label.append(codes.setdefault(name, len(codes)))
    result = set_statistics(owner, sentence, label, n_relations=max(len(codes), 1))
    per_label = np.bincount(label, minlength=len(codes))
    return {
        "sentences": result.sentences,
        "relations": result.relations,
        "pairs": result.pairs if has_pairs else None,
        "facts": result.facts if has_pairs else None,
        "several_labels": several,
        "na_sentences": result.na_sentences,
        "na_share": _figure(result.na_share),
        "perplexity_with_negative": _figure(result.labels.perplexity_with_negative),
        "perplexity_without_negative": _figure(result.labels.perplexity_without_negative),
        "ratio": _figure(result.labels.ratio),
        "labels": {name: int(per_label[at]) for name, at in codes.items()},
        "neighbours": neighbours.figures,
    }


def _entity_statistics(test_set: TestSet) -> dict[str, Any]:
    parts = {ENTITY: Counter[str](), RELATION: Counter[str]()}
    for label in labels_in_parts(test_set) if test_set.kind == Kind.JOINT else test_set.labels:
        parts[label.get("part", ENTITY)][label["name"]] = 0
    counts, relations = parts[ENTITY], parts[RELATION]
    sentences = without = tokens = tokenised = 0
    neighbours = Neighbours()
    for gold in read_rows(test_set):
        sentences += 1
        without += not gold["spans"]
        tokens += len(gold.get("tokens") or ())
        tokenised += "tokens" in gold
        counts.update(span[2] for span in gold["spans"])
        neighbours.add(span[2] for span in gold["spans"])
        relations.update(link[1] for link in gold["relations"])
    result = label_statistics(list(counts.values()))
    return {
        "sentences": sentences,
        "tokens": tokens or None,
        "tokenised": tokenised,
        "entities": counts.total(),
        "types": result.classes,
        "na_sentences": without,
        "na_share": without / sentences if sentences else None,
        "perplexity_without_negative": _figure(result.perplexity_without_negative),
        "ratio": _figure(result.ratio),
        "labels": dict(counts),
        "neighbours": neighbours.figures,
    } | ({"relations_between": relations.total(), "relation_labels": dict(relations)} if relations else {})


def _pair(gold: dict[str, Any]) -> Pair | None:
    """Return the pair of a line by ids, else names."""
    if "h" not in gold or "t" not in gold:
        return None
    return tuple(gold[key].get("id") or gold[key].get("name") for key in "ht")


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _quality(annotated: TestSet, source: TestSet) -> dict[str, Any]:
    """Compare source labels with gold on exactly the annotated sentences."""
    names = list(dict.fromkeys(label["name"] for label in [*annotated.labels, *source.labels]))
    gold = {line["id"]: line for line in read_rows(annotated)}
    labelled = {line["id"]: line for line in read_rows(source) if line["id"] in gold}
    pairs: dict[Pair | str, int] = {}
    for line in labelled.values():
        pairs.setdefault(_bag(line), len(pairs))
    compared = {name: gold[name] for name in labelled}
    result = source_quality(_facts(labelled, pairs, names), _facts(compared, pairs, names))
    counts = result.counts
    total = counts.total()
    tp, fp, fn = (int(np.sum(column)) for column in (total.tp, total.fp, total.fn))
    same_pairs = round(result.pair_accuracy * len(pairs)) if pairs else 0
    return {
        "sentences": len(labelled),
        "pairs": len(pairs),
        "fact_precision": _figure(result.precision),
        "fact_recall": _figure(result.recall),
        "pair_accuracy": _figure(result.pair_accuracy),
        "fact_precision_ends": _ends(tp, tp + fp),
        "fact_recall_ends": _ends(tp, tp + fn),
        "pair_accuracy_ends": _ends(same_pairs, len(pairs)),
        "relations": {
            name: _relation_quality(*(int(column[at]) for column in (counts.tp, counts.fp, counts.fn)))
            for at, name in enumerate(names)
        },
    }


def _relation_quality(tp: int, fp: int, fn: int) -> dict[str, Any]:
    """Return precision and recall of one relation with 95 % intervals; undefined ones are None."""
    return {
        "source_facts": tp + fp,
        "gold_facts": tp + fn,
        "precision": tp / (tp + fp) if tp + fp else None,
        "precision_ends": _ends(tp, tp + fp),
        "recall": tp / (tp + fn) if tp + fn else None,
        "recall_ends": _ends(tp, tp + fn),
    }


def _ends(hits: int, n: int) -> list[float] | None:
    return list(wilson_interval(hits, n)) if n else None


def _bag(line: dict[str, Any]) -> Pair | str:
    """Return the pair of a line; a line without entities is a bag of its own."""
    return _pair(line) or str(line["id"])


def _facts(lines: dict[str, dict[str, Any]], pairs: dict[Pair | str, int], names: list[str]) -> Facts:
    codes = {name: at for at, name in enumerate(names)}
    cells = [
        (pairs[_bag(line)], codes[name])
        for line in lines.values()
        for name in line["relations"]
        if name in codes
    ]
    columns = list(zip(*cells, strict=True)) or [(), ()]
    return facts_of_columns(*columns, n_pairs=max(len(pairs), 1), n_relations=max(len(names), 1))
