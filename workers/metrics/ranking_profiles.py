"""Two evaluations of ranked claims: corrected (order-free) and OpenNRE's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workers.metrics.bags import CUTS, Claims, Facts, hits, macro_all_f1, threshold_counts
from workers.metrics.counts import Counts, Ints
from workers.metrics.fact_ranks import FactRanks, rank_facts
from workers.metrics.ranking import (
    Points,
    anchored_auc,
    area_under_ties,
    average_precision,
    best_point,
    precision_at,
)
from workers.metrics.ratios import f_score
from workers.metrics.report import Value, value_of

_NAN = float("nan")
NO_FACTS = "there are no facts"
NO_CLAIMS = "the system makes no claims"
NO_AREA = "the curve has no area"
FEW_POINTS = "the area needs at least two claims"
FEW_CLAIMS = "there are fewer claims than needed"
AT_TAU = ("max_f1", "tau", "precision_at_tau", "recall_at_tau", "macro_f1_at_tau")


@dataclass(frozen=True, eq=False)
class Profile:
    """Figures of a profile, nan where undefined.

    *counts* are per relation at score ≥ *tau*.
    """

    auc: float
    max_f1: float
    tau: float
    precision_at_tau: float
    recall_at_tau: float
    macro_f1_at_tau: float
    p_at: dict[int, float]
    counts: Counts
    ap: float = _NAN
    auc_under_ties: float = _NAN
    micro_f1_at_half: float = _NAN
    macro_f1_at_half: float = _NAN
    curve: Points | None = None

    @property
    def p_at_mean(self) -> float:
        """Mean of P@100, P@200 and P@300; nan unless all are defined."""
        return sum(self.p_at.values()) / len(self.p_at)


def corrected(claims: Claims, facts: Facts, *, ranks: FactRanks | None = None) -> Profile:
    """Evaluate order-free: one point per distinct score, all facts in the gold.

    Average precision Σ(R_k − R_{k−1})·P_k, trapezoid area from (recall 0, precision 1), greatest micro F1 and
    the score τ* of the first point that has it, figures at τ*, precision at N with ties in proportion.

    Parameters
    ----------
    claims : Claims
    facts : Facts
    ranks : FactRanks, optional
        Ranks of the facts, to sort once for both profiles.

    Returns
    -------
    Profile
        Without facts only precision at N is defined.

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> facts = facts_of_columns([0, 1], [0, 0], n_pairs=2, n_relations=1)
    >>> corrected(claims_of_columns([0, 1], [0, 0], [0.9, 0.8], n_pairs=2, n_relations=1), facts).ap
    1.0
    """
    hit = hits(claims, facts)
    if ranks is None:
        ranks = rank_facts(claims.score, hit, n_facts=len(facts))
    curve = ranks.points()
    f1, at = best_point(curve)
    tau = float(curve.score[at]) if at >= 0 else _NAN
    counts = threshold_counts(claims, hit, facts.per_relation, threshold=tau)
    return Profile(
        ap=average_precision(curve),
        auc=anchored_auc(curve),
        auc_under_ties=area_under_ties(curve),
        max_f1=f1,
        tau=tau,
        precision_at_tau=float(curve.precision[at]) if at >= 0 else _NAN,
        recall_at_tau=float(curve.recall[at]) if at >= 0 else _NAN,
        macro_f1_at_tau=macro_all_f1(counts) if at >= 0 else _NAN,
        p_at={n: precision_at(curve, n) for n in CUTS},
        counts=counts,
        curve=curve,
    )


def opennre(claims: Claims, facts: Facts, *, ranks: FactRanks | None = None) -> Profile:
    """Reproduce the bag evaluation of OpenNRE (Han et al. 2019) exactly.

    One point per claim, ties in input order; trapezoid area over the points alone (a perfect ranking gives
    1 − 1/N); τ* is the score at the first maximum of F1; gold per relation holds only facts that were scored,
    and where τ* ≤ 0 every unscored relation of a scored pair counts as claimed.

    Parameters
    ----------
    claims : Claims
    facts : Facts
    ranks : FactRanks, optional
        Ranks of the facts, to sort once for both profiles.

    Returns
    -------
    Profile
        ``auc`` is nan below two claims; without facts only precision at N is defined.

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> facts = facts_of_columns([0, 1], [0, 0], n_pairs=2, n_relations=1)
    >>> opennre(claims_of_columns([0, 1], [0, 0], [0.9, 0.8], n_pairs=2, n_relations=1), facts).auc
    0.5
    """
    hit = hits(claims, facts)
    if ranks is None:
        ranks = rank_facts(claims.score, hit, n_facts=len(facts))
    p_at = {n: float(ranks.facts_within(n) / n) if len(claims) >= n else _NAN for n in CUTS}
    scored = np.bincount(claims.relation[hit], minlength=claims.n_relations)
    if not len(claims) or not len(facts):
        empty = threshold_counts(claims, hit, scored, threshold=np.inf)
        return Profile(_NAN, _NAN, _NAN, _NAN, _NAN, _NAN, p_at, empty)
    at, f1, precision, recall = _toolkit_best(ranks)
    tau = float(ranks.score_at(at))
    counts = _toolkit_counts(claims, hit, scored, tau)
    half = threshold_counts(claims, hit, scored, threshold=0.5)
    micro = half.total()
    return Profile(
        auc=_toolkit_auc(ranks) if len(claims) > 1 else _NAN,
        max_f1=f1,
        tau=tau,
        precision_at_tau=precision,
        recall_at_tau=recall,
        macro_f1_at_tau=macro_all_f1(counts),
        p_at=p_at,
        counts=counts,
        micro_f1_at_half=float(np.nan_to_num(f_score(micro.tp, micro.fp, micro.fn)[0])),
        macro_f1_at_half=macro_all_f1(half),
    )


def _toolkit_auc(ranks: FactRanks) -> float:
    """Sum trapezoids over one point per claim; recall grows only at facts.

    A fact at the first rank adds nothing, since there is no point before it.
    """
    hits_so_far = np.arange(len(ranks.rank) + 1)
    gained = np.diff(hits_so_far / ranks.n_facts)
    after = ranks.rank > 1
    height = hits_so_far[1:] / ranks.rank + hits_so_far[:-1] / np.maximum(ranks.rank - 1, 1)
    return float(np.dot(gained[after], height[after]) / 2)


def _toolkit_best(ranks: FactRanks) -> tuple[int, float, float, float]:
    """Rank of the first maximum of F1, with F1, precision and recall.

    The maximum is at a fact.
    """
    if not len(ranks.rank):
        return 1, 0.0, 0.0, 0.0
    hits_so_far = np.arange(1, len(ranks.rank) + 1)
    precision, recall = hits_so_far / ranks.rank, hits_so_far / ranks.n_facts
    f1 = 2 * precision * recall / (precision + recall + 1e-20)
    at = int(np.argmax(f1))
    return int(ranks.rank[at]), float(f1[at]), float(precision[at]), float(recall[at])


def _toolkit_counts(claims: Claims, hit: NDArray[np.bool_], gold: Ints, tau: float) -> Counts:
    counts = threshold_counts(claims, hit, gold, threshold=tau)
    if tau > 0:
        return counts
    pairs = len(np.unique(claims.pair))
    unscored = pairs - np.bincount(claims.relation, minlength=claims.n_relations)
    return Counts(counts.tp, counts.fp + unscored, counts.fn)


def ranked_figures(profile: Profile, *, n_facts: int, prefix: str = "") -> dict[str, Value]:
    """Return the figures common to both profiles of ranked claims.

    Parameters
    ----------
    profile : Profile
    n_facts : int
        Tells why a figure is undefined.
    prefix : str, default ""

    Returns
    -------
    dict of str to Value

    Examples
    --------
    >>> from workers.metrics.bags import claims_of_columns, facts_of_columns
    >>> size = {"n_pairs": 1, "n_relations": 1}
    >>> profile = corrected(claims_of_columns([0], [0], [0.9], **size), facts_of_columns([], [], **size))
    >>> ranked_figures(profile, n_facts=0)["max_f1"].reason
    'there are no facts'
    """
    reason = NO_CLAIMS if n_facts else NO_FACTS
    area = reason if np.isnan(profile.max_f1) else FEW_POINTS
    figures = {f"p_at_{n}": value_of(number, reason=FEW_CLAIMS) for n, number in profile.p_at.items()}
    figures |= {key: value_of(getattr(profile, key), reason=reason) for key in AT_TAU}
    figures["auc"] = value_of(profile.auc, reason=area)
    figures["p_at_mean"] = value_of(profile.p_at_mean, reason=FEW_CLAIMS)
    return {prefix + key: value for key, value in figures.items()}
