"""Handler of job kind `predict`: run an uploaded pipeline in the sandbox."""

from __future__ import annotations

import builtins
import re
import signal
import tempfile
from pathlib import Path
from typing import BinaryIO

from django.conf import settings

from evalsvc.core.formats import spacy_pipeline
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.formats.tar_reader import Member
from evalsvc.core.jobs.exceptions import InputFault, RetryLater
from evalsvc.core.jobs.lease import Progress
from evalsvc.core.jobs.transitions import Store
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, inputs
from evalsvc.evaluation.benchmarks.file_contract import FileContract
from evalsvc.evaluation.measures.old_labels import is_mapped
from evalsvc.evaluation.models import PredictionFile, Submission
from evalsvc.evaluation.submissions import stored_bytes
from evalsvc.evaluation.submissions.file_check import Checked, check_stream
from evalsvc.evaluation.submissions.file_store import open_file, store
from evalsvc.evaluation.submissions.model_intake import bounds as file_bounds
from workers.sandbox.confinement import Bounds
from workers.sandbox.launcher import ProcessEnd, launch, share, work_folder
from workers.sandbox.readiness import readiness

SPACY_CODE = re.compile(r"\[(E\d{3,4})\]")
PIECE_BYTES = 1 << 18
HINT = "Load the folder with spacy.load and run it over the downloaded inputs."


def predict(subject: int, progress: Progress) -> Store:
    """Run the pipeline, store its predictions and queue their scoring."""
    submission = Submission.objects.select_related("benchmark", "file", "system").get(pk=subject)
    if settings.MODEL_UPLOADS == "off":
        raise InputFault("models_off", "Models are switched off here. Submit a prediction file.")
    if not readiness().ready:
        raise RetryLater(f"This worker cannot run models: {readiness().reason}")
    contract = file_contract.present(submission)
    with work_folder() as folder:
        pipeline = unpack(submission.file, folder)
        total = write_inputs(contract, folder / "in" / "inputs.jsonl")
        result = folder / "out" / "result.jsonl"
        modules = [f"spacy.lang.{pipeline.language}"]
        watch = ResultWatch(progress, result, total)
        bounds = Bounds(
            seconds=settings.MODEL_SECONDS,
            memory_bytes=settings.MODEL_MEMORY_BYTES,
            result_bytes=settings.MODEL_RESULT_BYTES,
        )
        require_success(launch("predict", folder, bounds=bounds, modules=modules, watch=watch))
        checked, file = store_result(contract, result)
    return lambda: _stored(submission, contract, checked, file)


class ResultWatch:
    """Reports progress by the lines of the result."""

    def __init__(self, progress: Progress, result: Path, total: int) -> None:
        self.progress, self.result, self.total = progress, result, total
        self.done = self.read = 0

    def __call__(self) -> None:
        with self.result.open("rb") as file:
            file.seek(self.read)
            while piece := file.read(PIECE_BYTES):
                self.read += len(piece)
                self.done += piece.count(b"\n")
        self.progress(min(self.done, self.total), self.total, "Running the model")


def unpack(file: PredictionFile, folder: Path) -> spacy_pipeline.Pipeline:
    """Unpack the pipeline into files the confined user can only read."""
    try:
        with open_file(file) as packed:
            pipeline = spacy_pipeline.inspect(packed, limits=file_bounds())
            for member in spacy_pipeline.members(packed, file_bounds()):
                _extract(packed, member, folder / "unpacked" / member.name)
    except spacy_pipeline.BadPipeline as error:
        raise InputFault("bad_model", str(error)) from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        detail = f"The tar file cannot be unpacked ({error.strerror}). Use each name for one file or folder."
        raise InputFault("bad_model", detail) from error
    (folder / "model").rmdir()
    (folder / "unpacked" / pipeline.root).rename(folder / "model")
    for path in (folder / "model", *(folder / "model").rglob("*")):
        share(path)
    return pipeline


def _extract(packed: BinaryIO, member: Member, path: Path) -> None:
    """Write a member, whose name `members` has checked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    packed.seek(member.offset)
    with path.open("xb") as file:
        left = member.size
        while left and (piece := packed.read(min(left, PIECE_BYTES))):
            file.write(piece)
            left -= len(piece)


def write_inputs(contract: FileContract, path: Path) -> int:
    """Write every document of the settings once, without its gold."""
    seen: set[bytes] = set()
    with path.open("wb") as out:
        for setting in contract.settings:
            for line in inputs.input_lines(setting):
                if line not in seen:
                    seen.add(line)
                    out.write(line)
    share(path)
    return len(seen)


def require_success(end: ProcessEnd) -> None:
    """Raise unless the run succeeded; messages of uploaded code are not repeated."""
    if end.overdue or end.code == -signal.SIGXCPU:
        limit = f"{settings.MODEL_SECONDS:,} s"
        raise InputFault("model_too_slow", f"The model took longer than {limit}. Send a smaller one.")
    if not end.step:
        raise RetryLater(f"The process could not be confined: {end.kind} {end.message}".rstrip())
    if end.step == "confined" and end.kind == "BadPipeline":
        raise InputFault("bad_model", end.message)
    if end.killed:
        raise RetryLater(
            "The process was killed, perhaps because this machine has too little memory.", most=2
        )
    if end.kind == "MemoryError":
        limit = f"{settings.MODEL_MEMORY_BYTES:,} bytes"
        raise InputFault("model_too_big", f"The model needed more than {limit} of memory.")
    if end.code:
        raise InputFault("model_failed", f"The model stopped with {error_name(end)}. {HINT}")


def error_name(end: ProcessEnd) -> str:
    """Return a built-in exception's name, a signal or a spaCy code."""
    if end.code < 0:
        return f"signal {-end.code}"
    name = end.kind if hasattr(builtins, end.kind or " ") else "a custom exception"
    code = SPACY_CODE.match(end.message)
    return f"{name} {code[1]}" if code else name


def store_result(contract: FileContract, result: Path) -> tuple[Checked, PredictionFile]:
    """Check the result as any file and store it."""
    with tempfile.TemporaryFile() as spool, result.open("rb") as file:
        try:
            checked = check_stream(contract, iter(lambda: file.read(PIECE_BYTES), b""), copy=spool)
            checked.problems.raise_if_any()
        except FileRejected as error:
            code = next(iter(error.problems.by_code))
            raise InputFault(
                code, f"The predictions of the model are invalid. {error.problems.summary()}"
            ) from error
        return checked, store(spool, sha256=checked.sha256, size=checked.size)


def _stored(submission: Submission, contract: FileContract, checked: Checked, file: PredictionFile) -> None:
    stored_bytes.add(submission.by, checked.size)
    Submission.objects.filter(pk=submission.pk).update(
        file=file,
        format=checked.format,
        form=checked.form,
        counts=checked.counts,
        old_labels=checked.old_labels,
        maps_old_labels=is_mapped(contract.benchmark),
        held_to=contract.version_ids,
    )
    submission.refresh_from_db()
    submission_states.queue(submission)
