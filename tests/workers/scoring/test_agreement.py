"""Figures of agreement under resampling of the items."""

from __future__ import annotations

from typing import Any

import pytest

from workers.scoring import agreement
from workers.scoring.answer_columns import AnswerColumns


def test_coefficients_of_a_rare_label_are_computed_once_for_equal_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labels, answers = [f"l{at}" for at in range(5)], AnswerColumns()
    for item in range(10):
        for person in range(3):
            chosen = [labels[item // 2]] if person < 2 + item % 2 else []
            answers.add(item, person, f"p{person}", {"relations": chosen, "spans": []}, blank=False)
    computed, known = 0, []
    coefficient = agreement.coefficient

    def counted(*given: Any, **options: Any) -> float:
        nonlocal computed
        computed += 1
        return coefficient(*given, **options)

    monkeypatch.setattr(agreement, "REPLICATES", 150)
    monkeypatch.setattr(agreement, "coefficient", counted)
    for most in (agreement.MOST_KNOWN, 0):
        monkeypatch.setattr(agreement, "MOST_KNOWN", most)
        computed = 0
        figures = agreement.agreement_figures(answers, labels, by_label=True, progress=lambda *_: None)
        known.append((figures, computed))
    (kept, few), (anew, many) = known
    assert kept == anew
    assert 2 * few < many
