"""Cases by name; each makes its data from a fixed seed on demand."""

from __future__ import annotations

from collections.abc import Callable

from bench.cases import bags, entities, files, labels, processes, words
from bench.harness import Case

CASES: dict[str, Callable[[], Case]] = {
    "seqeval": entities.seqeval_default,
    "seqeval-strict": entities.seqeval_strict,
    "nervaluate": entities.nervaluate,
    "scikit-learn": labels.scikit_learn,
    "bags": bags.ranked,
    "bootstrap": bags.bootstrap,
    "rouge-score": words.rouge,
    "files": files.sentences,
    "files-24": files.many_scores,
    "process-2m": processes.large,
    "process-46k": processes.small,
}
