"""Every reader of a format, each with the errors by which it refuses a file."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from rest_framework.exceptions import ParseError

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats import npy, spacy_pipeline
from evalsvc.core.formats.duplicates import find_repeats
from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.prediction_check import PredictionCheck
from evalsvc.core.formats.problems import KINDS, FileRejected, Problems
from evalsvc.core.formats.registry import formats, open_items, open_predictions, open_votes, recognise_source
from evalsvc.core.formats.text_lines import unpacked
from evalsvc.core.web.text_validation import StorableJSONParser

Reader = Callable[[bytes], object]
IDS = ["s1", "s2", "d1", "d2", "1", "8001"]


def _items(key: str, data: bytes) -> None:
    problems = Problems()
    with suppress(FileRejected):
        options = {"format": key, "scheme": "BILOU"}
        repeats = find_repeats(open_items(data, problems=problems, **options), problems=problems)
        list(repeats.merged(open_items(data, problems=Problems(), **options)))
    _require_known(problems)


def _predictions(key: str, data: bytes) -> None:
    problems = Problems()
    lengths = dict.fromkeys(IDS, 3)
    check = PredictionCheck(
        ids=IDS, labels=["born_in", "PER", "LOC"], negative="N/A", pairs=[("Q1", "Q2")], lengths=lengths,
        relations=["at"], scheme="IOB2", problems=problems,
    )  # fmt: skip
    with suppress(FileRejected):
        check.check(open_predictions(data, format=key, problems=problems, scheme="IOB2"))
    _require_known(problems)


def _votes(key: str, data: bytes) -> None:
    problems = Problems()
    with suppress(FileRejected):
        list(open_votes(data, format=key, problems=problems))
    _require_known(problems)


def _labels(data: bytes) -> None:
    with suppress(FileRejected):
        read_labels(data, problems=Problems())


def _array(data: bytes) -> None:
    problems = Problems()
    with suppress(FileRejected):
        npy.check_size(npy.read_header(data, problems), len(data), problems)
    _require_known(problems)


def _unpacked(data: bytes) -> None:
    with suppress(FileRejected):
        for _ in unpacked([data], problems=Problems()):
            pass


def _recognised(data: bytes) -> None:
    with suppress(FileRejected):
        recognise_source(data, problems=Problems(), accepted=formats().keys())


def _tar(data: bytes) -> None:
    with suppress(spacy_pipeline.BadPipeline):
        spacy_pipeline.inspect(
            io.BytesIO(data), limits=spacy_pipeline.PipelineLimits(files=20, bytes=1_000_000)
        )


def _config(data: bytes) -> None:
    with suppress(spacy_pipeline.BadPipeline):
        spacy_pipeline.check_config(spacy_pipeline.parse_config(data.decode(errors="replace")))


def _json(data: bytes) -> None:
    with suppress(ParseError, DomainError):
        StorableJSONParser().parse(io.BytesIO(data), parser_context={"encoding": "utf-8"})


def _require_known(problems: Problems) -> None:
    unknown = (problems.by_code.keys() | problems.warnings.keys()) - KINDS.keys()
    if unknown:
        raise AssertionError(f"unknown problem codes {unknown}")


def readers() -> dict[str, Reader]:
    kinds: dict[str, Any] = {"items": _items, "predictions": _predictions, "votes": _votes}
    table: dict[str, Reader] = {
        f"{kind} {key}": partial(read, key)
        for kind, read in kinds.items()
        for key, format in formats().items()
        if kind in format.readers
    }
    return table | {
        "labels": _labels, "array": _array, "gzip": _unpacked, "recognition": _recognised, "tar": _tar,
        "configuration": _config, "JSON body": _json,
    }  # fmt: skip
