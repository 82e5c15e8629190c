"""From frozen gold and stored predictions to arrays."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from annotation.testset import TestSet, TestSetRow, export_lines
from evalsvc.core.formats.json_blocks import Irregular
from evalsvc.core.formats.prediction_check import Claim
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.evaluation.benchmarks.file_contract import SILENT_FORMS, EntityMention, FileContract, Pair
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.submissions.file_check import read_claims
from workers.scoring import column_reader
from workers.scoring.column_reader import Ints, Tick

STEP = 2_000
BY_COLUMN = frozenset({"jsonl-predictions", "opennre-results"})


class GoldLine(msgspec.Struct):
    """A gold line, relations as names or as links between spans."""

    id: str
    relations: list[Any] = []
    text: str | None = None
    tokens: list[str] | None = None
    h: EntityMention | None = None
    t: EntityMention | None = None
    spans: list[tuple[int, int, str]] = []


@dataclass(slots=True)
class Gold:
    """What a setting scores against, row by row in the order of the set."""

    index: dict[str, int] = field(default_factory=dict)
    labels: list[tuple[str, ...]] = field(default_factory=list)
    pairs: list[Pair | None] = field(default_factory=list)
    spans: list[list[tuple[int, int, str]]] = field(default_factory=list)
    tokens: list[list[str] | None] = field(default_factory=list)
    texts: list[str | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.index)

    def bags(self) -> tuple[dict[Pair, int], Ints]:
        """Bags in the order of first sight, and the bag of each row."""
        rows: dict[Pair, int] = {}
        for row, pair in enumerate(self.pairs):
            if pair is None:
                raise InputFault("no_pairs", f"Row {row + 1:,} of the gold has no head and tail: no bag.")
            rows.setdefault(pair, len(rows))
        return rows, np.fromiter((rows[cast(Pair, pair)] for pair in self.pairs), np.int64, len(self.pairs))


def load_gold(setting: Setting, *, tick: Tick = lambda done: None) -> Gold:
    """Read the setting's rows, held against the digest they were frozen under."""
    kept = None if setting.only is None else _ids_of(setting.only)
    negatives = {setting.test_set.negative, setting.benchmark.negative}
    gold = Gold()
    for number, line in enumerate(_verified(setting.test_set), 1):
        if kept is None or line.id in kept:
            _add(gold, line, negatives)
        if number % STEP == 0:
            tick(number)
    return gold


def _add(gold: Gold, line: GoldLine, negatives: set[str]) -> None:
    gold.index[line.id] = len(gold.index)
    names = [name for name in line.relations if isinstance(name, str) and name not in negatives]
    gold.labels.append(tuple(dict.fromkeys(names)))
    gold.pairs.append(None if line.h is None or line.t is None else (line.h.key, line.t.key))
    gold.spans.append(line.spans)
    gold.tokens.append(line.tokens)
    gold.texts.append(line.text)


def _verified(test_set: TestSet) -> Iterator[GoldLine]:
    """The rows of a frozen set; raises at the end when they are not those that were frozen."""
    digest, decoder = hashlib.sha256(), msgspec.json.Decoder(GoldLine)
    for raw in export_lines(test_set):
        digest.update(raw)
        yield decoder.decode(raw)
    if test_set.state != TestSet.State.FROZEN or digest.hexdigest() != test_set.sha256:
        raise InputFault(
            "gold_changed",
            f"{test_set} is not what was frozen: its lines no longer give the digest {test_set.sha256[:12]}. "
            "The organisers must restore it; nothing is wrong with the predictions.",
        )


def _ids_of(test_set: TestSet) -> frozenset[str]:
    return frozenset(TestSetRow.objects.filter(test_set=test_set).values_list("external_id", flat=True))


@dataclass(frozen=True, slots=True)
class Predictions:
    """Claims as columns. `owner` counts into `keys`: ids, or pairs where bags are claimed.

    `names` are the labels of `label`; `score` stands for scored claims, `start` and `end` for spans.
    """

    form: str
    keys: list[Any]
    names: list[str]
    owner: Ints
    label: Ints
    score: NDArray[np.float64]
    start: Ints
    end: Ints

    def placed(self, index: Mapping[Any, int]) -> tuple[Placed, int]:
        """The claims within a setting, their owners as its rows, and how many lie outside."""
        place = np.fromiter((index.get(key, -1) for key in self.keys), np.int64, len(self.keys))
        at = place[self.owner]
        kept = at >= 0
        score = self.score[kept] if len(self.score) else self.score
        start, end = (column[kept] if len(column) else column for column in (self.start, self.end))
        return Placed(at[kept], self.label[kept], score, start, end), int(np.count_nonzero(~kept))


@dataclass(frozen=True, slots=True)
class Placed:
    """Claims of one setting: the row each is about, and what it says."""

    row: Ints
    label: Ints
    score: NDArray[np.float64]
    start: Ints
    end: Ints


class Rows:
    """Grows column by column: machine numbers, so that millions of claims fit."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.code = {name: at for at, name in enumerate(names)}
        self.keys: dict[Any, int] = {}
        self.owner, self.label, self.score = array("q"), array("q"), array("d")
        self.start, self.end = array("q"), array("q")

    def add(self, form: str, claim: Claim) -> None:
        if form == "bag":
            head, tail, relation, score = claim
            self._claim(self._owner((head, tail)), relation, score)
            return
        owner = self._owner(claim[0])
        if form == "label":
            self._claim(owner, claim[1])
        elif form == "labels":
            for name in claim[1]:
                self._claim(owner, name)
        elif form == "scores":
            for name, score in claim[1].items():
                self._claim(owner, name, score)
        else:
            self._spans(owner, claim[1])

    def _owner(self, key: Any) -> int:
        return self.keys.setdefault(key, len(self.keys))

    def _claim(self, owner: int, name: str, score: float | None = None) -> None:
        self.owner.append(owner)
        self.label.append(self.code[name])
        if score is not None:
            self.score.append(score)

    def _spans(self, owner: int, spans: Sequence[tuple[int, int, str]]) -> None:
        for start, end, name in spans:
            self._claim(owner, name)
            self.start.append(start)
            self.end.append(end)

    def done(self, form: str) -> Predictions:
        whole = [
            np.array(column, dtype=np.int64) for column in (self.owner, self.label, self.start, self.end)
        ]
        score = np.array(self.score, dtype=np.float64)
        return Predictions(form, list(self.keys), self.names, whole[0], whole[1], score, whole[2], whole[3])


def load_predictions(
    contract: FileContract, file: BinaryIO, *, format: str, tick: Tick = lambda done: None
) -> Predictions:
    """Read a stored file against what it was checked against; labels are coded, the negative class last.

    Column by column as long as all is as the check found it, else line by line, to say what is not.
    """
    found = _quickly(contract, file, tick) if format in BY_COLUMN else None
    if found is None:
        file.seek(0)
        found = _carefully(contract, file, format, tick)
    return found


def _quickly(contract: FileContract, file: BinaryIO, tick: Tick) -> Predictions | None:
    """None where the careful way must look."""
    benchmark, expected = contract.benchmark, contract.expected
    names, pairs = label_names(benchmark), expected.pairs
    keys = {name: at for at, name in enumerate(expected.ids)}
    bags = {pair: at for at, pair in enumerate(pairs)}
    lengths = np.fromiter((expected.lengths.get(name, -1) for name in keys), np.int64, len(keys))
    known = column_reader.Known(keys, bags, {name: at for at, name in enumerate(names)}, lengths)
    try:
        form, said = column_reader.read(file, known, limits=contract.limits, tick=tick)
    except (Irregular, FileRejected):
        return None
    silent = form in SILENT_FORMS or benchmark.missing == Benchmark.Missing.WRONG
    if form not in contract.forms or not (silent or len(said.line) == len(keys)):
        return None
    return _of_columns(form, said, pairs if form == "bag" else list(keys), names, benchmark)


def _of_columns(
    form: str, said: column_reader.Columns, keys: list[Any], names: list[str], benchmark: Benchmark
) -> Predictions:
    """The scores of the negative class are left out, as everywhere; its name is an answer like any other."""
    if form in ("scores", "bag") and benchmark.negative:
        kept = said.label != len(names) - 1
        said = said._replace(row=said.row[kept], label=said.label[kept], score=said.score[kept])
    if form != "bag":  # only who has a line answers
        place = np.full(len(keys), -1, dtype=np.int64)
        place[said.line] = np.arange(len(said.line))
        keys = [keys[at] for at in said.line.tolist()]
        said = said._replace(row=place[said.row])
    return Predictions(form, keys, names, said.row, said.label, said.score, said.start, said.end)


def _carefully(contract: FileContract, file: BinaryIO, format: str, tick: Tick) -> Predictions:
    problems = Problems()
    check = contract.check(problems)
    rows = Rows(label_names(contract.benchmark))
    try:
        for number, claim in enumerate(read_claims(contract, file, format=format, check=check), 1):
            rows.add(check.form or "", claim)
            if number % STEP == 0:
                tick(number)
        problems.raise_if_any()
    except FileRejected as error:
        raise InputFault(next(iter(error.problems.by_code)), error.problems.summary()) from error
    return rows.done(check.form or "")


def label_names(benchmark: Benchmark) -> list[str]:
    """The inventory, then the negative class where there is one."""
    names = [label["name"] for label in benchmark.labels]
    return [*names, benchmark.negative] if benchmark.negative else names
