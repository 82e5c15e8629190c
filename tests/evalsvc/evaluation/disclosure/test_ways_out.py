"""No page, endpoint or command reads stored figures past the disclosure policy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4] / "evalsvc"
READERS = [
    path
    for folder in ("evaluation/pages", "evaluation/api", "evaluation/templatetags", "management/commands")
    for path in sorted((ROOT / folder).glob("*.py"))
]
# The list of runs prefetches evaluations, and reads their figures through `leaderboard.main_values`.
PREFETCHES = {"run_list.py"}


def imported_models(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "evalsvc.evaluation.models":
            yield from (name.name for name in node.names)


@pytest.mark.parametrize("path", READERS, ids=lambda path: path.stem)
def test_what_shows_figures_never_reads_the_stored_ones(path: Path) -> None:
    stored = {"Score", "EvaluationClaims", "EvaluationOutcomes"} | (
        {"Evaluation"} if path.name not in PREFETCHES else set()
    )
    assert not stored & set(imported_models(path))
    for attribute in (".scores.all()", "evaluation__scores", "Score.objects"):
        assert attribute not in path.read_text()


def test_the_modules_that_show_figures_are_found() -> None:
    assert {"boards.py", "score_view.py", "submissions.py", "submit.py"} <= {path.name for path in READERS}
