"""Handler of job kind `check`: dense score files have finite cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats import npy
from evalsvc.core.formats.problems import Problem, Problems
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.models import Submission
from evalsvc.evaluation.submissions import dense_scores
from evalsvc.evaluation.submissions.file_store import open_file
from workers.scoring.predictions import Predictions, dense_predictions

Matrix = NDArray[np.float64]


def check(subject: int, progress: Progress) -> Store:
    """Check every number of a dense file, then queue the scoring."""
    submission = Submission.objects.select_related("benchmark", "file", "system").get(pk=subject)
    progress(0, int(submission.counts["rows"]), "Checking the numbers")
    try:
        with open_file(submission.file) as file:
            load_dense(file_contract.of_submission(submission), submission, file.read())
    except FileNotFoundError as error:
        raise InputFault("file_lost", "The stored file is missing. Submit it again.") from error
    return lambda: submission_states.queue(submission)


def load_dense(contract: FileContract, submission: Submission, content: bytes) -> Predictions:
    """Read a dense file as predictions."""
    header = npy.read_header(content[: npy.LONGEST_HEADER + 12], Problems())
    if dense_scores.layout(contract, submission.form, rows=header.rows) != submission.layout:
        raise InputFault(
            "wrong_shape", "The items changed after the upload. Submit scores for the current inputs."
        )
    numbers: Matrix = np.frombuffer(content, dtype=header.type, offset=header.begin)
    matrix = numbers.reshape(header.rows, header.columns)
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = (int(at) for at in bad[0])
        name, value = [*contract.labels, contract.benchmark.negative][column], str(matrix[row, column])
        problem = Problem("bad_score", row + 1, name, value, "a finite number in every cell")
        raise InputFault("bad_score", f"{problem.sentence()} {len(bad):,} cells have such a value.")
    keys = dense_scores.rows_of(contract, submission.form)
    return dense_predictions(matrix, keys, submission.form, len(contract.labels))
