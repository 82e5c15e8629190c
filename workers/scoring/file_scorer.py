"""From gold and answers to a report: which suite of measures serves which task and form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workers.cli.arguments import Misuse, Options
from workers.metrics import suites
from workers.metrics.bags import Claims, Facts, bag_claims, claims_of_columns, facts_of_columns
from workers.metrics.classification import MISSING
from workers.metrics.counts import Ints
from workers.metrics.relations import Links, links_of_columns
from workers.metrics.report import Report
from workers.metrics.spans import Spans, spans_of_columns
from workers.metrics.wrf import Tokens, tokens_of_lists
from workers.scoring import arrays
from workers.scoring.gold import Gold
from workers.scoring.predictions import Answers

WORDLESS = "The gold has neither tokens nor text: no WRF."


def report(gold: Gold, answers: Answers, options: Options) -> Report:
    """Every figure of the task."""
    if options.task == "classification" and answers.form == "label":
        return classification(gold, answers, options)
    if options.task == "entities":
        return entities(gold, answers, options)
    if answers.form in ("label", "labels"):
        return label_sets(gold, answers, options)
    return ranked(gold, answers, options)


def inventory(gold: Gold, options: Options) -> list[str]:
    """The labels, the negative class last."""
    return [*gold.inventory, options.negative] if options.negative is not None else list(gold.inventory)


def gold_cells(gold: Gold) -> tuple[Ints, Ints]:
    """Item and label code of every gold label, each once."""
    code = {name: at for at, name in enumerate(gold.inventory)}
    owner = np.array(gold.owner, dtype=np.int64)
    label = np.fromiter(map(code.__getitem__, gold.label), np.int64, len(gold.label))
    width = max(len(code), 1)
    cells = np.unique(owner * width + label)
    return cells // width, cells % width


def label_codes(gold: Gold, answers: Answers, options: Options) -> tuple[Ints, Ints]:
    """Gold and answer of every item of single-label classification."""
    owner, label = gold_cells(gold)
    labels = np.bincount(owner, minlength=len(gold))
    if (labels > 1).any():
        name = list(gold.index)[int(np.argmax(labels > 1))]
        raise Misuse(f"Item {name} has {labels.max()} labels: use --task sentences, which takes sets.")
    if options.negative is None and not labels.all():
        name = list(gold.index)[int(np.argmin(labels))]
        raise Misuse(f"Item {name} has no label: name the class of such items with --negative.")
    truth = np.full(len(gold), len(gold.inventory), dtype=np.int64)
    truth[owner] = label
    given = np.full(len(gold), MISSING, dtype=np.int64)
    given[np.asarray(answers.row)] = answers.label
    return truth, given


def classification(gold: Gold, answers: Answers, options: Options) -> Report:
    """One gold label and one answer an item."""
    truth, given = label_codes(gold, answers, options)
    return arrays.single_labels(
        truth,
        given,
        labels=inventory(gold, options),
        negative=options.negative,
        include_negative=options.include_negative,
        beta=options.beta,
        entropy=options.entropy,
    )


def facts_of(gold: Gold, options: Options) -> tuple[Facts, Ints]:
    """Facts of bags or sentences, and the bag of each item."""
    owner, label = gold_cells(gold)
    bag_of = np.array(gold.bag, dtype=np.int64) if options.task == "bags" else np.arange(len(gold))
    size = len(gold.bags) if options.task == "bags" else len(gold)
    return facts_of_columns(bag_of[owner], label, n_pairs=size, n_relations=len(gold.inventory)), bag_of


def claims_of(gold: Gold, answers: Answers, options: Options) -> tuple[Claims, Facts]:
    """Scored claims on the unit of the task."""
    facts, bag_of = facts_of(gold, options)
    of_sentences = options.task == "bags" and answers.form == "scores"
    claims = claims_of_columns(
        answers.row,
        answers.label,
        answers.score,
        n_pairs=len(gold) if of_sentences else facts.n_pairs,
        n_relations=facts.n_relations,
    )
    if of_sentences:
        claims = bag_claims(claims, bag_of, aggregation=options.aggregate, n_bags=facts.n_pairs)
    return claims, facts


def ranked(gold: Gold, answers: Answers, options: Options) -> Report:
    """Claims by score, in the profile asked for."""
    claims, facts = claims_of(gold, answers, options)
    found = suites.bags_suite(claims, facts, relations=gold.inventory)
    return found if options.profile == "both" else _of_profile(found, options.profile)


def _of_profile(found: Report, profile: str) -> Report:
    theirs = profile == "opennre"
    values = {key: value for key, value in found.values.items() if key.startswith("opennre_") == theirs}
    tables = {key: rows for key, rows in found.classes.items() if (key == "opennre") == theirs}
    return replace(found, values=values, classes=tables, curve=None if theirs else found.curve)


def set_columns(gold: Gold, answers: Answers, options: Options) -> tuple[Facts, Ints, Ints]:
    """Facts, and the item and label of every answer that is not the negative class."""
    facts, bag_of = facts_of(gold, options)
    row, label = np.asarray(answers.row, dtype=np.int64), np.asarray(answers.label, dtype=np.int64)
    positive = label < len(gold.inventory)
    return facts, bag_of[row[positive]], label[positive]


def label_sets(gold: Gold, answers: Answers, options: Options) -> Report:
    """Sets of labels without scores; the negative class is the empty set."""
    facts, item, label = set_columns(gold, answers, options)
    bare = facts.n_pairs - len(np.unique(facts.pair)) if options.task != "bags" else 0
    return suites.sets_suite(
        facts.pair,
        facts.cells % facts.n_relations,
        item,
        label,
        n_items=facts.n_pairs,
        labels=gold.inventory,
        beta=options.beta,
        negative_items=bare,
    )


def gold_spans(gold: Gold) -> Spans:
    """The spans to be found."""
    return arrays.spans_of_rows(gold.spans, {name: at for at, name in enumerate(gold.inventory)})


def entities(gold: Gold, answers: Answers, options: Options) -> Report:
    """Spans compared exactly, in part and by their words; relations between them where the gold has any."""
    truth = gold_spans(gold)
    columns = (answers.row, answers.start, answers.end, answers.label)
    said = spans_of_columns(*map(np.asarray, columns), n_documents=len(gold))
    tokens, note = words(gold, options)
    families = [name for name in options.family if name != "wrf" or note != WORDLESS]
    found = suites.entities_suite(
        truth, said, labels=gold.inventory, tokens=tokens, beta=options.beta, families=families
    )
    found = replace(found, notes=(note,) if note else ())
    if not gold.relations:
        return found
    more = suites.relations_suite(
        _links(truth, dict(enumerate(gold.links)), gold),
        _links(said, answers.links, gold),
        relations=gold.relations,
        beta=options.beta,
    )
    return replace(found, values=found.values | more.values, classes=found.classes | more.classes)


def _links(spans: Spans, links: dict[int, tuple[tuple[int, str, int], ...]], gold: Gold) -> Links:
    """Links count spans within a document; spans here are numbered through."""
    first = np.searchsorted(spans.document, np.arange(spans.n_documents))
    code = {name: at for at, name in enumerate(gold.relations)}
    rows = [
        (first[row] + head, code[name], first[row] + tail)
        for row, given in sorted(links.items())
        for head, name, tail in given
    ]
    head, relation, tail = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return links_of_columns(spans, head, relation, tail)


def words(gold: Gold, options: Options) -> tuple[Tokens, str]:
    """The gold's own tokens, else those of its texts, and a word on where they are from."""
    given = [tokens for tokens in gold.tokens if tokens is not None]
    if len(given) == len(gold):
        return tokens_of_lists(given, casefold=options.casefold), ""
    texts = [text for text in gold.texts if text is not None]
    if len(texts) < len(gold) or "wrf" not in options.family:
        return tokens_of_lists([]), WORDLESS
    return arrays.words_of_texts(texts, casefold=options.casefold), arrays.TOKENIZER
