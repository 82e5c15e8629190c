"""Every reader of strangers' files, each with the errors by which it refuses one.

Those of core first, then the imports of annotation, the workers' readers with scoring behind them, and the
commands, which read local files.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from rest_framework.exceptions import ParseError, ValidationError

from annotation.imports.gold import _summary
from annotation.imports.staging import fitting_lines
from annotation.imports.suggestions import _payload
from annotation.imports.upload_precheck import ROLES, precheck
from annotation.models import Batch, Project
from annotation.releases import layout
from annotation.releases.check import check
from annotation.testset import Kind
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats import jsonl_items, npy, npz, spacy_pipeline
from evalsvc.core.formats.duplicates import find_repeats
from evalsvc.core.formats.label_list import read_labels
from evalsvc.core.formats.prediction_check import PredictionCheck
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_gold, open_items, open_predictions, open_votes
from evalsvc.core.formats.registry import formats, recognise_source
from evalsvc.core.formats.text_lines import unpacked
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.core.web.json_parser import StorableJSONParser
from evalsvc.evaluation.benchmarks.training_counts import read_counts
from tests.fuzz.mutations import DOCUMENTS, GOLD, PROVENANCE
from workers.cli import local_files
from workers.cli.arguments import TASKS, InvalidFile, Options
from workers.scoring.case import ScoringCase, ScoringOptions
from workers.scoring.gold import read_gold
from workers.scoring.prediction_files import read_predictions
from workers.scoring.scorer import report_of

Reader = Callable[[bytes], object]
IDS = ["s1", "s2", "d1", "d2", "1", "8001"]
LABELS = ["born_in", "PER", "LOC"]
REFUSALS = (FileRejected, InputFault, InvalidFile)
ROLES_READ = ("items", "predictions", "gold")
GOLD_OF = {"sentence": GOLD, "bag": GOLD, "document": DOCUMENTS}


def _items(key: str, data: bytes) -> None:
    problems = Problems()
    with suppress(FileRejected):
        options = {"format": key, "scheme": "BILOU"}
        repeats = find_repeats(open_items(data, problems=problems, **options), problems=problems)
        for _ in repeats.merged(open_items(data, problems=Problems(), **options)):
            pass
    _require_known(problems)


def _predictions(key: str, data: bytes) -> None:
    problems = Problems()
    check = _check(IDS, problems)
    with suppress(FileRejected):
        lines = open_predictions(data, format=key, problems=problems, scheme="IOB2")
        for claim in check.claims(lines):
            if check.form != "bag":
                _payload(check.form, claim)
    _require_known(problems)


def _check(ids: list[str], problems: Problems, **more: Any) -> PredictionCheck:
    return PredictionCheck(
        ids=ids, labels=LABELS, negative="N/A", pairs=[("Q1", "Q2")], lengths=dict.fromkeys(ids, 3),
        relations=["at"], scheme="IOB2", problems=problems, **more,
    )  # fmt: skip


def _votes(key: str, data: bytes) -> None:
    problems = Problems()
    with suppress(FileRejected):
        for _ in open_votes(data, format=key, problems=problems):
            pass
    _require_known(problems)


def _labels(data: bytes) -> None:
    with suppress(FileRejected):
        read_labels(data, problems=Problems())


def _imported(key: str, kind: str, data: bytes) -> None:
    """Lines of an import as its job takes them."""
    problems = Problems()
    options = {"format": key, "scheme": "IOB2"}
    batch = Batch(project=Project(kind=kind), format=key, options={"known": "check"})
    with suppress(FileRejected):
        for _ in fitting_lines(open_items(data, problems=problems, **options), batch, problems):
            pass
    _require_known(problems)


def _imported_gold(key: str, kind: str, data: bytes) -> None:
    """Lines of published gold as its job takes them."""
    problems = Problems()
    options = {"format": key, "scheme": "IOB2", "with_text": True}
    with suppress(FileRejected):
        repeats = find_repeats(open_gold(data, problems=problems, **options), problems=problems, by="id")
        _summary(repeats.merged(open_gold(data, problems=Problems(), **options)), kind, problems)
    _require_known(problems)


def _prechecked(content: str, data: bytes) -> None:
    with suppress(DomainError):
        precheck(io.BytesIO(data), content=content, kind=Kind.RELATIONS)


def _training_counts(data: bytes) -> None:
    with suppress(DomainError):
        read_counts(data, ["born_in", "7", ""])


def _scored(unit: str, key: str, data: bytes) -> None:
    """Predictions as a worker reads and scores them."""
    with suppress(*REFUSALS):
        gold = read_gold(lambda: GOLD_OF[unit], unit, format=jsonl_items.FORMAT.key, negatives=("N/A",))
        ids = list(gold.index)
        forms = ("spans", "tags") if unit == "document" else ("label", "labels", "scores", "bag")
        make_check = partial(_check, ids, forms=forms, missing="wrong")
        predictions = read_predictions(io.BytesIO(data), make_check, format=key)
        options = ScoringOptions(unit=unit, labels=LABELS, negative="N/A")
        report_of(ScoringCase.of(gold, predictions, options))


def _gold(unit: str, key: str, data: bytes) -> None:
    """Gold as a worker reads it."""
    with suppress(*REFUSALS):
        read_gold(lambda: data, unit, format=key, negatives=("N/A",), scheme="IOB2")


class Command:
    """The command `score` on a file as predictions, or as gold."""

    folder = tempfile.TemporaryDirectory()

    def __init__(self, task: str, *, as_gold: bool) -> None:
        self.as_gold, path = as_gold, Path(self.folder.name)
        self.file, self.other = path / "file", path / task
        self.other.write_bytes(GOLD_OF[local_files.UNITS[task]])
        self.options = Options(task, negative="N/A", scheme="IOB2", missing="wrong")

    def __call__(self, data: bytes) -> None:
        self.file.write_bytes(data)
        pair = (self.file, self.other) if self.as_gold else (self.other, self.file)
        with suppress(*REFUSALS):
            local_files.score(*pair, self.options)


def _array(data: bytes) -> None:
    problems = Problems()
    with suppress(FileRejected):
        npy.check_size(npy.read_header(data, problems), len(data), problems)
    _require_known(problems)


def _archive(data: bytes) -> None:
    problems = Problems()
    with suppress(FileRejected), npz.opened([data], problems, most=1_000_000) as archive:
        npy.read_header(b"".join(archive.pieces()), problems)
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
    with suppress(ParseError, ValidationError, DomainError):
        StorableJSONParser().parse(io.BytesIO(data), parser_context={"encoding": "utf-8"})


def _copied(name: str, data: bytes) -> None:
    """A file of a release whose copy is checked, beside others as they are."""
    manifest = {"format": layout.FORMAT, "name": "Trial", "version": "1", "kind": "relations", "rows": 2}
    steps = [{"operation": "merge", "sources": ["A"], "target": "B"}]
    contents = {
        layout.MANIFEST: json.dumps(manifest | {"policy": "majority"}).encode(),
        layout.ONTOLOGY: json.dumps({"labels": [], "steps": steps}).encode(),
        layout.GOLD: GOLD,
        layout.BLIND: GOLD,
        layout.PROVENANCE: PROVENANCE,
    }
    files = contents | {name: data}
    str(check({each: partial(io.BytesIO, content) for each, content in files.items()}).differences).encode()


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
    having = {role: [key for key, each in formats().items() if role in each.readers] for role in ROLES_READ}
    for key in having["items"]:
        table |= {f"import of {kind} {key}": partial(_imported, key, kind) for kind in Kind.values}
    for key in dict.fromkeys([*having["items"], *having["gold"]]):
        table |= {f"import of {kind} gold {key}": partial(_imported_gold, key, kind) for kind in Kind.values}
    for unit in GOLD_OF:
        table |= {f"scoring by {unit} {key}": partial(_scored, unit, key) for key in having["predictions"]}
        table |= {f"gold by {unit} {key}": partial(_gold, unit, key) for key in having["gold"]}
    for task in TASKS:
        table |= {f"command {task}, predictions": Command(task, as_gold=False)}
        table |= {f"command {task}, gold": Command(task, as_gold=True)}
    copied = (layout.MANIFEST, layout.ONTOLOGY, layout.GOLD, layout.BLIND, layout.PROVENANCE, layout.SUMS)
    table |= {f"copy with {name}": partial(_copied, name) for name in copied}
    return table | {f"precheck of {content}": partial(_prechecked, content) for content in ROLES} | {
        "training counts": _training_counts,
        "labels": _labels, "array": _array, "archive": _archive, "gzip": _unpacked, "tar": _tar,
        "recognition": _recognised, "configuration": _config, "JSON body": _json,
    }  # fmt: skip
