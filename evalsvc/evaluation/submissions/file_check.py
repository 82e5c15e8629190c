"""Check of a prediction file: unpacked, hashed, recognised, checked against the contract."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, BinaryIO, cast

from django.conf import settings

from evalsvc.core.errors.exceptions import DomainError, TooLarge
from evalsvc.core.formats import jsonl_predictions, label_list, npy, npz
from evalsvc.core.formats.old_labels import OldLabels, Stated
from evalsvc.core.formats.prediction_check import Claim, PredictionCheck
from evalsvc.core.formats.prediction_forms import Form
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.readers import open_predictions
from evalsvc.core.formats.registry import Format, formats, recognise, recognise_source
from evalsvc.core.formats.text_lines import unpacked
from evalsvc.evaluation.benchmarks.file_contract import FileContract, limit
from evalsvc.evaluation.benchmarks.inputs import expected_ids
from evalsvc.evaluation.disclosure.gold_counts import of_version
from evalsvc.evaluation.disclosure.rules import least_claims
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.submissions import dense_scores
from evalsvc.evaluation.submissions.other_inputs import Answers, Submitter, add_hint
from evalsvc.evaluation.submissions.stored_bytes import Meter

HEAD_BYTES = 1 << 16
UNSTATED = npy.ColumnNames()


@dataclass(slots=True)
class Checked:
    """Format, form, counts and problems of a file."""

    format: str
    form: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)
    sha256: str = ""
    size: int = 0
    layout: str = ""
    columns: list[str] = field(default_factory=list)
    old_labels: Stated = field(default_factory=dict)


class Tee:
    """Byte stream that is hashed, counted and optionally copied and metered on its way."""

    def __init__(
        self, pieces: Iterable[bytes], copy: BinaryIO | None = None, meter: Meter | None = None
    ) -> None:
        self.pieces, self.copy, self.meter = pieces, copy, meter
        self.digest, self.size = hashlib.sha256(), 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if self.meter is not None:
                self.meter.add(len(piece))
            self.digest.update(piece)
            self.size += len(piece)
            if self.copy is not None:
                self.copy.write(piece)
            yield piece


def bounded(chunks: Iterable[bytes], *, most: int) -> Iterator[bytes]:
    """Reject at the limit on sent bytes, packed or not."""
    sent = 0
    for chunk in chunks:
        sent += len(chunk)
        if sent > most:
            raise too_large(most)
        yield chunk


def timed(pieces: Iterable[bytes], problems: Problems) -> Iterator[bytes]:
    """Reject a file that costs this thread more than its share of CPU time, however small it is packed."""
    seconds, begun = settings.CHECK_SECONDS, time.thread_time()
    for piece in pieces:
        if time.thread_time() - begun > seconds:
            expected = f"at most {seconds:,} s of computing time"
            problems.stop("too_slow", line=problems.lines_read or None, expected=expected)
        yield piece


def too_large(most: int) -> TooLarge:
    detail = f"The file is larger than {most:,} bytes."
    return TooLarge("too_large", detail, hint="Send it packed with gzip.", limit=most)


def check_stream(
    contract: FileContract,
    chunks: Iterable[bytes],
    *,
    copy: BinaryIO | None = None,
    meter: Meter | None = None,
    names: npy.ColumnNames = UNSTATED,
    by: Submitter | None = None,
) -> Checked:
    """Read the stream once and return its format, counts, digest and problems.

    An archive of scores is stored as its matrix.
    """
    problems = Problems()
    # for files that are none of lines; `_lines` sets that of its own check
    problems.set_example(lambda code: contract.check(Problems()).example(code))
    most = limit(contract.benchmark, "upload_bytes")
    sent = timed(bounded(chunks, most=most), problems)
    pieces = timed(unpacked(sent, problems, accepted=npz.MAGIC), problems)
    head = _head(pieces)
    complete = chain([head], pieces)
    if head.startswith(npz.MAGIC):
        with npz.opened(complete, problems, most=most) as archive:
            tee = Tee(archive.pieces(), copy, meter)
            return _dense(contract, archive.names(names), tee, problems, by)
    tee = Tee(complete, copy, meter)
    if head.startswith(npy.MAGIC):
        return _dense(contract, names, tee, problems, by)
    if field := names.stated:
        detail = "The file has lines. Only the columns of a .npy or .npz file can be named."
        raise DomainError("bad_columns", detail, hint=f"Leave out {field}.", field=field)
    return _lines(contract, head, tee, problems, by)


def _lines(
    contract: FileContract, head: bytes, tee: Tee, problems: Problems, by: Submitter | None
) -> Checked:
    """Check a file of lines against the contract."""
    check = contract.check(problems)
    accepted = accepted_formats(contract.benchmark)
    format = _format(head, problems, accepted=accepted, labels=check.names)
    check.example.write_line = accepted[format].example_line
    check.example.head = head
    checked = Checked(format, problems=problems)
    pieces = iter(tee)
    options: dict[str, Any] = {"limits": contract.limits, "scheme": check.scheme, "ids": check.ids}
    predictions = open_predictions(pieces, format=format, problems=problems, **options)
    claims = lines = 0
    ranked = RankedClaims(contract)
    try:
        for claim in check.claims(predictions):
            lines += check.form != "bag"
            claims += (size := 0 if check.repeats else weight(claim, cast(Form, check.form)))
            ranked.add(claim, check.form, size)
    finally:  # also if reading stopped
        if by is not None:
            add_hint(problems, contract, _answers(check, has_ids=formats()[format].has_ids), by=by)
    ranked.check(problems, check.form)
    label_list.require_every_line(format, check)
    for _ in pieces:  # the digest covers what the reader left unread
        pass
    checked.form, checked.sha256, checked.size = check.form or "", tee.digest.hexdigest(), tee.size
    missing = 0 if check.form in (None, "bag") else len(check.missing_ids)
    counts = {"lines": lines or claims, "claims": claims, "missing": missing}
    checked.old_labels = check.old.stated
    counts |= {"mapped": check.old.counts.total(), "negative": check.dropped_negative}
    counts |= {"warnings": problems.warnings.total()}
    counts |= problems.warnings
    checked.counts = {key: count for key, count in counts.items() if count or key == "claims"}
    return checked


def _answers(check: PredictionCheck, *, has_ids: bool) -> Answers:
    """Return the answered items: columns by tokens, pairs by themselves."""
    if has_ids:
        ids = {} if check.unknown_ids else check.first_lines
        return Answers(check.strangers, ids, len(ids))
    return Answers(
        check.strangers, size=len(check.first_lines) + check.unknown_ids if check.form == "label" else 0
    )


def _dense(
    contract: FileContract, names: npy.ColumnNames, tee: Tee, problems: Problems, by: Submitter | None
) -> Checked:
    """Check header, columns and numbers of a dense file."""
    pieces = iter(tee)
    head = _head(pieces)
    header = npy.read_header(head, problems)
    try:
        form = dense_scores.form_of(header, contract, problems)
    except FileRejected:
        if by is not None:
            add_hint(problems, contract, Answers(size=header.rows), by=by)
        raise
    negative = contract.benchmark.negative or None
    old = OldLabels(contract.old_labels, negative, problems)
    columns = names.resolve(header, contract.labels, negative, problems, old)
    npy.check_finite(_after(header.begin, chain([head], pieces)), header, columns, problems)
    npy.check_size(header, tee.size, problems)
    counts = {"rows": header.rows, "claims": header.rows * len(contract.labels)}
    counts |= {"mapped": old.counts.total()} if old.counts else {}
    digest = dense_scores.layout(contract, form, rows=header.rows)
    stated = columns if columns != contract.labels else []
    file: dict[str, Any] = {
        "sha256": tee.digest.hexdigest(),
        "size": tee.size,
        "layout": digest,
        "columns": stated,
    }
    return Checked(npy.FORMAT.key, form, counts, problems, **file, old_labels=old.stated)


def _after(begin: int, pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the pieces without their first bytes."""
    for piece in pieces:
        yield piece[begin:]
        begin = max(0, begin - len(piece))


class RankedClaims:
    """Claims of a ranked file under each hidden setting.

    It takes no fewer than its gold has, roughly: anybody may have a file checked.
    """

    def __init__(self, contract: FileContract) -> None:
        self.hidden = contract.hidden
        self.sizes: Counter[Any] = Counter()

    def add(self, claim: Claim, form: Form | None, size: int) -> None:
        if self.hidden and form in ("scores", "bag"):
            self.sizes[claim[:2] if form == "bag" else claim[0]] += size

    def check(self, problems: Problems, form: Form | None) -> None:
        """Report too few claims: none, if all are of deleted labels or of the negative class."""
        if form not in ("scores", "bag") or (problems.total and not self.sizes):
            return
        for setting in self.hidden:
            expected = expected_ids(setting)
            units = expected.pairs if form == "bag" else expected.ids
            made, gold = sum(self.sizes[unit] for unit in units), of_version(setting)
            least = min(least_claims(gold.positives), len(units) * len(gold.classes))
            if made < least:
                value = f"{made:,} claims on “{setting.title}”"
                problems.add("too_few_claims", value=value, expected=f"at least {least:,}")


def weight(claim: Claim, form: Form) -> int:
    """Count the labels, spans or answers of a claim."""
    return len(claim[1] or ()) if form not in ("label", "bag") else 1


def _head(pieces: Iterator[bytes]) -> bytes:
    """Read enough of the beginning to recognise the format."""
    head = b""
    while len(head) < HEAD_BYTES and (piece := next(pieces, None)) is not None:
        head += piece
    return head


def accepted_formats(benchmark: Benchmark) -> dict[str, Format]:
    """Return the formats of prediction files a benchmark accepts, by key."""
    return {
        key: format
        for key, format in formats("predictions").items()
        if not format.magic or format.task == benchmark.task
    }


def _format(
    head: bytes, problems: Problems, *, accepted: Mapping[str, Format], labels: Collection[str]
) -> str:
    """Recognise the format.

    JSON Lines by the first line, so that errors name a line; a list of labels by the labels in it.
    """
    lines = head[: head.rfind(b"\n") + 1] or head
    first = lines.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    begun = recognise([first.decode(errors="replace")])
    texts = lines.decode(errors="replace").splitlines()
    named = any(text.strip() in labels for text in texts)
    if begun is not None and begun in accepted and (named or not accepted[begun].catch_all):
        return begun
    if first.startswith(b"{"):
        return jsonl_predictions.FORMAT.key
    return recognise_source(lines, problems=problems, accepted=accepted, catch_all=False)
