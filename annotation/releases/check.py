"""Check of a copy of a release, from its files alone. Pure: no database, no service.

Every file is compared with its checksum, the digests with those of the manifest, and the files with each
other: the sentences to predict and the statistics with the gold, and each gold line with what its answers,
the rule, the steps of the ontology and the decision give.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import msgspec

from annotation.consensus.majority import Verdict
from annotation.freezing.answer_counts import StatedOfLines
from annotation.freezing.label_rows import MARKS, label_rows
from annotation.releases.checksums import Opened, compare_sums
from annotation.releases.file_shapes import (
    LONGEST_LINE,
    MOST_SOURCES,
    MOST_STEPS,
    Manifest,
    Ontology,
    Shape,
    decoded_line,
    left_out_counts,
    require_replayable,
)
from annotation.releases.layout import (
    BLIND,
    FORMAT,
    GOLD,
    MANIFEST,
    ONTOLOGY,
    PROVENANCE,
    STATISTICS,
    blind_line,
)
from annotation.releases.outcome import Judge, ProvenanceRow, Rules
from annotation.releases.recount import Recount, Stated
from evalsvc.core.formats.label_mapping import Payload

MOST_LINES_NAMED = 5
ADJUDICATED, UNDECIDED = "adjudicated", ("open", "disputed", "unusable")
NOT_COMPARED = (
    "Not compared, as no line gives them: names and dates, which labels the ontology lists, settings of the "
    "project that decide no line, the number of people, who answered, when and why, how many answers a "
    "deletion of labels emptied, which sentences were excluded or left out and their answers, and the "
    "figures of answers and source labels in the statistics."
)
FAULTS = (msgspec.MsgspecError, ValueError, RecursionError, TypeError, KeyError, AttributeError, IndexError)


@dataclass(slots=True)
class CheckResult:
    """What differs, by file.

    Without differences the files agree with each other and with the manifest. It binds all but those
    `unbound`: whoever changes them can write their checksums anew. `digests` are those of all files.
    """

    title: str = ""
    manifest_sha256: str = ""
    slug: str = ""
    rows: int = 0
    has_gold: bool = True
    checked: list[str] = field(default_factory=list)
    unbound: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    differences: dict[str, list[str]] = field(default_factory=dict)
    redecided: int = 0

    @property
    def is_intact(self) -> bool:
        return not self.differences

    def add(self, name: str, text: str) -> None:
        self.differences.setdefault(_plain_text(name), []).append(_plain_text(text))


def check(files: Mapping[str, Opened], tick: Callable[[], None] = lambda: None) -> CheckResult:
    """Compare the files with their checksums, with the manifest and with each other.

    `tick` is called for each line read; it may raise.
    """
    return _Check(files, tick).run()


class _Check:
    def __init__(self, files: Mapping[str, Opened], tick: Callable[[], None]) -> None:
        self.files = {name: self._ticking(opened, tick) for name, opened in files.items()}
        self.result = CheckResult()
        self.digests: dict[str, str] = {}
        self.suspects: set[str] = set()

    @staticmethod
    def _ticking(opened: Opened, tick: Callable[[], None]) -> Opened:
        def lines() -> Iterator[bytes]:
            for line in opened():
                tick()
                yield line

        return lines

    def run(self) -> CheckResult:
        self._sums()
        manifest = self._decoded(MANIFEST, Manifest)
        if manifest is not None:
            self.result.title = _plain_text(f"{manifest.name} {manifest.version}")
            self.result.manifest_sha256, self.result.slug = self.digests[MANIFEST], manifest.slug
            self._manifest(manifest)
            self._content(manifest)
        return self.result

    def _sums(self) -> None:
        found = compare_sums(self.files)
        self.digests, self.suspects, self.result.checked = found.digests, found.suspects, found.checked
        self.result.digests = found.digests
        for name, text in found.differences:
            self.result.add(name, text)

    def _manifest(self, manifest: Manifest) -> None:
        self.result.rows = manifest.rows
        if manifest.format != FORMAT:
            self.result.add(MANIFEST, f"Its format is {manifest.format!r}, not {FORMAT!r}.")
        for name in manifest.implied:
            if name not in self.digests | self.result.differences:
                states = "states its SHA-256" if name in manifest.digests else "is that of a release with it"
                self.result.add(name, f"It is missing; {MANIFEST} {states}.")
        for name in dict.fromkeys((GOLD, PROVENANCE, *manifest.digests)):
            digest = manifest.digests.get(name, "none")
            known = name in self.result.differences  # such as other line ends
            if name in self.files and self.digests[name] != digest and not known:
                self.suspects.add(name)
                self.result.add(name, f"Its SHA-256 is {self.digests[name]}; {MANIFEST} states {digest}.")
        bound = {MANIFEST, *manifest.digests, *([BLIND] if GOLD in self.files else [])}
        self.result.unbound = [name for name in self.result.checked if name not in bound]

    # ---- content ----------------------------------------------------------------------------------
    def _content(self, manifest: Manifest) -> None:
        lines = self.files.get(GOLD)
        self.result.has_gold = lines is not None
        if not self._are_readable(manifest) or lines is None:
            return
        self._lines_of_gold(lines, manifest)
        if BLIND in self.files:
            self._named(BLIND, self._blind(lines(), self.files[BLIND]()))
        ontology = self._decoded(ONTOLOGY, Ontology)
        if ontology is not None and not ontology.is_replayable:
            limits = f"{MOST_STEPS:,} steps with {MOST_SOURCES:,} labels"
            self.result.add(ONTOLOGY, f"It has too many steps: at most {limits} are replayed.")
        elif PROVENANCE in self.files and ontology is not None:
            rules = Rules(manifest.kind, manifest.policy, manifest.spans_may_overlap, ontology.steps)
            stated = StatedOfLines()
            faults = self._provenance(Judge(rules), stated, lines(), self.files[PROVENANCE]())
            self._named(PROVENANCE, faults)
            self._numbers_of_answers(manifest, stated)

    def _are_readable(self, manifest: Manifest) -> bool:
        """Compare the numbers of lines; return whether all lines are short enough to be compared."""
        are_readable = True
        for name in (GOLD, BLIND, PROVENANCE):
            if name not in self.files:
                continue
            count, longest = 0, (0, 0)
            for count, line in enumerate(self.files[name](), 1):
                longest = max(longest, (len(line), count))
            if count != manifest.rows:
                self.result.add(name, f"It has {count:,} lines; {MANIFEST} states {manifest.rows:,}.")
            if longest[0] > LONGEST_LINE:
                are_readable = False
                limit = f"lines of up to {LONGEST_LINE:,} are read, so no line was compared"
                self.result.add(name, f"Line {longest[1]:,} has {longest[0]:,} bytes; {limit}.")
        return are_readable

    def _numbers_of_answers(self, manifest: Manifest, counted: StatedOfLines) -> None:
        """Compare the stated numbers with the lines, where `answers_of_items` tells that they are theirs."""
        if manifest.answers_of_items is None or self.result.redecided != manifest.rows:
            return
        name = PROVENANCE if PROVENANCE in self.suspects else MANIFEST
        for difference in () if manifest.split else _counts_differences(manifest, counted.origins.total()):
            self.result.add(name, difference)
        for key, figures in counted.figures().items():
            stated = getattr(manifest, key)
            if key == "counts":  # others in it are of the sentences that were left out
                stated = {state: stated.get(state) for state in figures}
            if stated != figures:
                texts = [_short(each) for each in (stated, figures)]
                self.result.add(
                    name, f"{key} is {texts[0]} in {MANIFEST}; the lines of {PROVENANCE} give {texts[1]}."
                )

    def _lines_of_gold(self, lines: Opened, manifest: Manifest) -> None:
        """Check that each line is an object with an id of its own, and count the figures anew."""
        ids: set[Any] = set()
        recount = Recount()

        def faults() -> Iterator[str]:
            for number, line in enumerate(lines(), 1):
                try:
                    item = decoded_line(line, dict[str, Any])
                    id = item["id"]
                    recount.add(item)
                    repeated = id in ids
                    ids.add(id)
                except FAULTS:
                    yield f"Line {number:,} is not a gold line."
                    continue
                if repeated:
                    yield f"Line {number:,} repeats the id {_short(id)}."

        self._add(GOLD, faults())
        stated = self._decoded(STATISTICS, Stated) if STATISTICS in self.files else None
        if stated is not None:
            name = STATISTICS if STATISTICS in self.suspects else GOLD
            self._add(name, recount.differences(stated))
            self._left_out(stated, manifest)

    def _left_out(self, stated: Stated, manifest: Manifest) -> None:
        """Compare the counts of what was left out; copies made by early versions state none."""
        counts = {"left_out": stated.left_out, "left_out_of_whole": stated.left_out_of_whole}
        if not any(counts.values()) and not manifest.files_sha256:
            return
        of = "left_out_of_whole" if manifest.split else "left_out"
        for name, found in counts.items():
            expected = left_out_counts(manifest.left_out) if name == of else {}
            if (found or {}) != expected:
                texts = [_short(each) if each else "none" for each in (expected, found)]
                self.result.add(STATISTICS, f"{name}: {texts[0]} in {MANIFEST}, {texts[1]} in {STATISTICS}.")

    @staticmethod
    def _blind(gold: Iterable[bytes], blind: Iterable[bytes]) -> Iterator[str]:
        for number, (line, other) in enumerate(zip_longest(gold, blind), 1):
            if line is None or other is None:
                missing = GOLD if line is None else BLIND
                yield f"Line {number:,} and those after it are missing in {missing}."
                return
            try:
                expected = blind_line(line)
                if expected != other:
                    where = _first_difference(
                        decoded_line(expected, dict[str, Any]), decoded_line(other, dict[str, Any])
                    )
                    yield f"Line {number:,}: {where}, in {GOLD} and in {BLIND}."
            except FAULTS:
                yield f"Line {number:,} of {GOLD} or {BLIND} is not JSON."

    def _provenance(
        self, judge: Judge, counted: StatedOfLines, gold: Iterable[bytes], provenance: Iterable[bytes]
    ) -> Iterator[str]:
        for number, (line, other) in enumerate(zip_longest(gold, provenance), 1):
            if line is None or other is None:
                missing = GOLD if line is None else PROVENANCE
                yield f"Line {number:,} and those after it are missing in {missing}."
                return
            try:
                item, row = decoded_line(line, dict[str, Any]), decoded_line(other, ProvenanceRow)
                require_replayable(row)
                fault = _fault(judge, item, row)
            except FAULTS:
                yield f"Line {number:,} of {GOLD} or {PROVENANCE} is not as in a release."
                continue
            self.result.redecided += 1
            counted.add_decided(row)
            if fault:
                yield f"Line {number:,} ({row.id}): {fault}"

    def _named(self, other: str, faults: Iterator[str]) -> None:
        """Name a difference from the gold at the file whose checksum is wrong, else at the gold."""
        self._add(other if other in self.suspects and GOLD not in self.suspects else GOLD, faults)

    def _add(self, name: str, faults: Iterator[str]) -> None:
        named = 0
        for fault in faults:
            named += 1
            if named <= MOST_LINES_NAMED:
                self.result.add(name, fault)
        if named > MOST_LINES_NAMED:
            self.result.add(name, f"{named - MOST_LINES_NAMED:,} more differences of this kind.")

    def _decoded(self, name: str, shape: type[Shape]) -> Shape | None:
        if name not in self.files:
            if name not in self.result.differences:
                self.result.add(name, "It is missing.")
            return None
        try:
            return msgspec.json.decode(b"".join(self.files[name]()), type=shape)
        except FAULTS as error:
            self.result.add(name, f"It is not as in a release: {error}.")
            return None


def _plain_text(text: str) -> str:
    """Return a text that can be written: without halves of characters."""
    return text.encode(errors="replace").decode()


def _fault(judge: Judge, item: dict[str, Any], row: ProvenanceRow) -> str:
    """Describe how a gold line, and what its provenance states, differ from what the answers give."""
    if item["id"] != row.id:
        return f"The id in {GOLD} is {_short(item['id'])}."
    verdict = judge.verdict(row.counted(), row.k)
    expected = judge.mapped(row.decision.payload()) if row.decision else verdict.gold
    if expected is None:
        return f"The answers are {verdict.state}, and there is no decision."
    return " ".join((*_gold_faults(item, expected, row), *_stated_faults(judge, verdict, expected, row)))


def _gold_faults(item: dict[str, Any], expected: Payload, row: ProvenanceRow) -> Iterator[str]:
    why = "the decision gives" if row.decision else "the answers give"
    for key in ("relations", "spans"):
        if key in item and item[key] != expected[key]:
            yield f"{key} {_short(item[key])} in {GOLD}; {why} {_short(expected[key])}."


def _stated_faults(judge: Judge, verdict: Verdict, gold: Payload, row: ProvenanceRow) -> Iterator[str]:
    """Compare what the provenance states beside what decides the line."""
    answers = [judge.mapped(payload) for payload in row.counted()]
    marks = [{name for name in MARKS if getattr(answer, name)} for answer in row.counting]
    given = {_plain(each): each for each in label_rows(verdict, answers, marks, gold)}
    stated = {_plain(each): each for each in row.labels}
    if given.keys() != stated.keys() or len(stated) != len(row.labels):
        rows = [_short([one[key] for key in one if key not in other])
                for one, other in ((given, stated), (stated, given))]  # fmt: skip
        yield f"The votes for its labels are {rows[0]}; {PROVENANCE} states {rows[1]}."
    state = ADJUDICATED if row.decision else verdict.state
    for name, figure in {"state": state, "pattern": verdict.pattern}.items():
        if (other := getattr(row, name)) != figure:
            yield f"The {name} is {_short(figure)}; {PROVENANCE} states {_short(other)}."


def _counts_differences(manifest: Manifest, answers: int) -> Iterator[str]:
    """Compare the counts of a whole set with what it left out, and with the answers of its lines."""
    left, stated = left_out_counts(manifest.left_out), manifest.counts
    for state in UNDECIDED:
        n, ids = stated.get(state), left.get(state, 0)
        if n != ids:
            yield f"counts.{state} is {_short(n)} in {MANIFEST}; left_out has {ids:,}."
    n = stated.get("answers")
    if not isinstance(n, int) or n < answers or (n > answers and not left):
        given = f"{'at least ' * bool(left)}{answers:,}"
        yield f"counts.answers is {_short(n)} in {MANIFEST}; the lines of {PROVENANCE} give {given}."


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _short(value: Any) -> str:
    text = _plain(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _first_difference(expected: dict[str, Any], found: dict[str, Any]) -> str:
    for key in sorted(expected.keys() | found.keys()):
        if expected.get(key) != found.get(key):
            return f"{key} is {_short(expected.get(key))} and {_short(found.get(key))}"
    return "the same content is written differently"
