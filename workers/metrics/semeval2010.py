"""Official score of SemEval-2010 Task 8: macro F1 of directed relations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from workers.metrics.classification import confusion
from workers.metrics.counts import Counts, Ints
from workers.metrics.ratios import divide, scores
from workers.metrics.report import Value, value_of
from workers.metrics.weights import NO_GOLD, weighted_average

DIRECTED = re.compile(r"(?P<relation>.+)\((?:e1,e2|e2,e1)\)")
NO_ITEMS = "there are no items"
NO_ANSWERS = "no item was answered"
KEYS = tuple(f"semeval2010_{key}" for key in ("f1", "coverage", "accuracy_answered", "accuracy_as_other"))
NO_DIRECTION = "no label of the inventory has a direction, (e1,e2) or (e2,e1)"


@dataclass(frozen=True)
class Evaluation:
    """Counts of the official scorer's three views, and of answered items."""

    directed_labels: tuple[str, ...]
    relations: tuple[str, ...]
    directed: Counts
    undirected: Counts
    official: Counts
    answered: int
    items: int
    right: int
    skipped_without_direction: int

    @property
    def accuracies(self) -> tuple[float, float, float]:
        """Accuracy of answers, of items, and with skipped items as Other."""
        as_other = self.right + self.skipped_without_direction
        totals = (self.right, self.answered), (self.right, self.items), (as_other, self.items)
        return tuple(float(divide(right, of)) for right, of in totals)  # type: ignore[return-value]

    @property
    def coverage(self) -> float:
        """Share of items with an answer; nan without items."""
        return float(divide(self.answered, self.items))


def relation_of(label: str) -> str | None:
    """Return the relation of a directed label; None without a direction.

    Parameters
    ----------
    label : str

    Returns
    -------
    str or None

    Examples
    --------
    >>> relation_of("Cause-Effect(e2,e1)")
    'Cause-Effect'
    >>> relation_of("Other") is None
    True
    """
    match = DIRECTED.fullmatch(label)
    return match["relation"] if match else None


def evaluate(gold: ArrayLike, predicted: ArrayLike, *, labels: Sequence[str]) -> Evaluation:
    """Count predictions as the task's scorer does (Hendrickx et al. 2010).

    Per relation, either direction: right = relation and direction right; precision divides by every
    prediction of the relation, recall by all of its gold, unanswered items included.

    Parameters
    ----------
    gold, predicted : array_like of int, shape (items,)
        Codes into *labels*; −1 in *predicted* is an item without an answer.
    labels : sequence of str
        Directed labels such as ``Cause-Effect(e1,e2)``; others (``Other``) are never averaged.

    Returns
    -------
    Evaluation
        Without directed labels its counts are empty.

    Examples
    --------
    >>> names = ["R(e1,e2)", "R(e2,e1)", "Other"]
    >>> counts = evaluate([0, 0, 1], [0, 1, 1], labels=names)
    >>> counts.official.tp.tolist(), counts.official.predicted.tolist(), counts.undirected.tp.tolist()
    ([2], [3], [3])
    """
    return evaluate_confusion(confusion(gold, predicted, n_labels=len(labels)), labels=labels)


def evaluate_confusion(matrix: Ints, *, labels: Sequence[str]) -> Evaluation:
    """Count from a confusion matrix with a column of missing answers.

    Parameters
    ----------
    matrix : int64 ndarray of shape (labels, labels + 1)
    labels : sequence of str

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> evaluate_confusion(np.array([[1, 1]]), labels=["R(e1,e2)"]).coverage
    0.5
    """
    owners = [relation_of(label) for label in labels]
    relations = tuple(dict.fromkeys(owner for owner in owners if owner is not None))
    member = np.array([[owner == relation for owner in owners] for relation in relations], dtype=np.int64)
    member = member.reshape(len(relations), len(labels))
    answers = matrix[:, :-1]
    items = int(matrix.sum())
    gold, predicted, right = matrix.sum(axis=1), answers.sum(axis=0), np.diagonal(answers)
    loose = np.diagonal(member @ answers @ member.T).copy()
    directed = np.array([owner is not None for owner in owners], dtype=bool)
    return Evaluation(
        directed_labels=tuple(
            label for label, owner in zip(labels, owners, strict=True) if owner is not None
        ),
        relations=relations,
        directed=Counts.from_totals(right[directed], predicted[directed], gold[directed], items=items),
        undirected=Counts.from_totals(loose, member @ predicted, member @ gold, items=items),
        official=Counts.from_totals(member @ right, member @ predicted, member @ gold, items=items),
        answered=int(answers.sum()),
        items=items,
        right=int(right.sum()),
        skipped_without_direction=int(matrix[~directed, -1].sum()),
    )


def macro(counts: Counts) -> tuple[float, float, float]:
    """Average precision, recall and F1 over the relations of the key.

    As in the task's scorer, a relation without gold is not averaged, and claims of it are no relation's
    spurious claims. A 0/0 of a relation counts 0.

    Parameters
    ----------
    counts : Counts
        One of the three views.

    Returns
    -------
    precision, recall, f1 : float
        nan when no relation has gold.

    Examples
    --------
    >>> macro(Counts.of([1, 0, 0], [1, 1, 0], [0, 0, 1]))
    (0.25, 0.5, 0.3333333333333333)
    """
    in_key = counts.gold > 0
    if not in_key.any():
        return (float("nan"), float("nan"), float("nan"))
    even = in_key / np.count_nonzero(in_key)
    precision, recall, f1 = scores(counts.tp, counts.fp, counts.fn)
    return weighted_average(precision, even), weighted_average(recall, even), weighted_average(f1, even)


def semeval_figures(evaluation: Evaluation) -> dict[str, Value]:
    """Compute official F1, coverage and accuracies of SemEval-2010 Task 8.

    Parameters
    ----------
    evaluation : Evaluation

    Returns
    -------
    dict of str to Value
        Undefined when no label carries a direction.

    Examples
    --------
    >>> evaluation = evaluate_confusion(np.array([[1, 1]]), labels=["R(e1,e2)"])
    >>> semeval_figures(evaluation)["semeval2010_coverage"].value
    0.5
    """
    if not evaluation.relations:
        return dict.fromkeys(KEYS, Value(float("nan"), NO_DIRECTION))
    answered, _, as_other = evaluation.accuracies
    return {
        "semeval2010_f1": value_of(macro(evaluation.official)[2], reason=NO_GOLD),
        "semeval2010_coverage": value_of(evaluation.coverage, reason=NO_ITEMS),
        "semeval2010_accuracy_answered": value_of(answered, reason=NO_ANSWERS),
        "semeval2010_accuracy_as_other": value_of(as_other, reason=NO_ITEMS),
    }
