"""Claims of a scored file, as numbers and as a digest."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from evalsvc.core.formats.answer_texts import Normalisation
from evalsvc.core.formats.prediction_forms import TEXT_FORMS
from evalsvc.evaluation.disclosure.rules import near_below
from workers.metrics.classification import MISSING
from workers.scoring.case import SCORED_FORMS, ScoringCase

Codes = NDArray[np.uint64]
# Bits of start, length and label; what remains numbers the item or pair.
START_BITS, LENGTH_BITS, LABEL_BITS = 20, 12, 11
HEAD, TAIL = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


class ClaimCodes(NamedTuple):
    """Codes of distinct claims: of a ranking by falling score, else sorted.

    `texts` are those of a document setting as answers without offsets, None without words.
    """

    codes: Codes
    ranked: bool
    texts: Codes | None = None


def claim_codes(case: ScoringCase, positives: int) -> ClaimCodes:
    """Return the codes of the claims, of a ranking its first."""
    claims = _claims(case, positives)
    if case.form in TEXT_FORMS:
        return claims._replace(texts=claims.codes)
    if case.suite != "entities" or any(
        text is None and tokens is None
        for text, tokens in zip(case.gold.texts, case.gold.tokens, strict=True)
    ):
        return claims
    return claims._replace(texts=_hashed(_span_rows(case)))


def _claims(case: ScoringCase, positives: int) -> ClaimCodes:
    if case.suite == "entities":
        spans = case.predicted_spans
        codes = _codes(spans.document, spans.label, spans.start, spans.end - spans.start)
        links = case.predicted_links
        ends = codes[links.head] * HEAD + codes[links.tail] * TAIL  # modulo 2^64: as good as distinct
        return ClaimCodes(
            np.unique(np.concatenate((codes, ends + links.relation.astype(np.uint64)))), ranked=False
        )
    if case.form in TEXT_FORMS:
        return ClaimCodes(_hashed(_text_rows(case, only_claims=True)), ranked=False)
    if case.suite == "ranking":
        claims = case.claims
        first = np.lexsort((claims.relation, claims.pair, -claims.score))[: _depth(case, positives)]
        return ClaimCodes(_codes(claims.pair[first], claims.relation[first]), ranked=True)
    if case.suite == "single labels":
        _, answer = case.answers
        made = np.flatnonzero((answer >= 0) & (answer < len(case.options.labels)))
        return _sorted(made, answer[made])
    return _sorted(*case.predicted_sets)


def _depth(case: ScoringCase, positives: int) -> int:
    """Return the number of first claims that rankings are compared by.

    Among more than a quarter of all possible claims any two rankings resemble each other.
    """
    units = case.facts.n_pairs
    return max(positives, min(units + positives, units * case.facts.n_relations // 4))


def _sorted(*columns: NDArray[np.integer]) -> ClaimCodes:
    return ClaimCodes(np.unique(_codes(*columns)), ranked=False)


def renumbered(claims: ClaimCodes, before: Sequence[str], labels: Sequence[str]) -> ClaimCodes:
    """Return claims with labels numbered as in another list; labels that it lacks come behind."""
    place = {name: at for at, name in enumerate(labels)}
    places = np.array([place.get(name, len(labels) + at) for at, name in enumerate(before)], dtype=np.uint64)
    shift, mask = np.uint64(START_BITS + LENGTH_BITS), np.uint64((1 << LABEL_BITS) - 1)
    label = (claims.codes >> shift) & mask
    codes = claims.codes ^ ((label ^ (places[label.astype(int)] & mask)) << shift)
    return claims._replace(codes=codes if claims.ranked else np.sort(codes))


def changed_claims(first: ClaimCodes, second: ClaimCodes, positives: int) -> int | None:
    """Return the number of changed claims of near-duplicates, else None.

    The verdict does not depend on the gold, and a ranking may count as made down to any depth. So rankings
    are compared down to the number of gold labels, or of the labels beside them, with the usual limit; and
    since honest ones agree on much somewhere, with half of it down to other depths.
    """
    files, least = (first, second), near_below(positives)
    if not (first.ranked or second.ranked):
        changed = len(np.setxor1d(first.codes, second.codes, assume_unique=True))
        return changed if changed < least else None
    lengths = [len(each.codes) for each in files]
    made = [length for each, length in zip(files, lengths, strict=True) if not each.ranked]
    depths = np.array(made or np.arange(1, min(lengths) + 1))
    places = np.intersect1d(first.codes, second.codes, assume_unique=True, return_indices=True)[1:]
    place = np.maximum(*(at * each.ranked for at, each in zip(places, files, strict=True)))
    changes = sum(np.minimum(depths, length) for length in lengths)
    changes = changes - 2 * np.searchsorted(np.sort(place), depths)
    limits = least * np.minimum(1, depths / positives) * np.where(made or depths == positives, 1, 0.5)
    near = np.flatnonzero((depths >= positives // 5) & (changes < limits))
    return int(changes[near[0]]) if len(near) else None


def _codes(
    unit: NDArray[np.integer],
    label: NDArray[np.integer],
    start: NDArray[np.integer] | int = 0,
    length: NDArray[np.integer] | int = 0,
) -> Codes:
    code = np.asarray(unit, dtype=np.uint64)
    for column, bits in ((label, LABEL_BITS), (start, START_BITS), (length, LENGTH_BITS)):
        part = np.asarray(column).astype(np.uint64) & np.uint64((1 << bits) - 1)
        code = (code << np.uint64(bits)) | part
    return code


def _hashed(rows: Iterable[bytes]) -> Codes:
    hashes = [hashlib.blake2b(row, digest_size=8).digest() for row in rows]
    return np.unique(np.frombuffer(b"".join(hashes), dtype="<u8"))


def _span_rows(case: ScoringCase) -> Iterator[bytes]:
    """Yield the spans, or the relations of a joint setting, as `_text_rows` writes answers."""
    spans, options = case.predicted_in_characters, case.options
    columns = (column.tolist() for column in (spans.document, spans.start, spans.end))
    texts = [case.normalised(case.texts[row][start:end]) for row, start, end in zip(*columns, strict=True)]
    rows = spans.document.tolist()
    if not options.relations:
        for row, label, text in zip(rows, spans.label.tolist(), texts, strict=True):
            yield _text_row(row, options.labels[label], [text], options.symmetric)
        return
    links = case.predicted_links
    for head, relation, tail in zip(
        *(each.tolist() for each in (links.head, links.relation, links.tail)), strict=True
    ):
        yield _text_row(
            rows[head], options.relations[relation], [texts[head], texts[tail]], options.symmetric
        )


def _text_row(row: int, label: str, texts: list[str], symmetric: Collection[str]) -> bytes:
    return msgspec.json.encode((row, label, sorted(texts) if label in symmetric else texts))


def _text_rows(case: ScoringCase, *, only_claims: bool = False) -> list[bytes]:
    """Return a line for each answer without offsets, repeats included; one for an abstention.

    No abstention and no label outside the inventory is a claim: the gold has neither.
    """
    known = {*case.options.labels, *case.options.relations}
    treated = case.normalised if only_claims else Normalisation()
    rows = []
    for row, answers in case.placed.answers.items():
        for text, label, *tail in [("", "")] if answers is None else answers:
            if only_claims and label not in known:
                continue
            texts = [treated(part) for part in (text, *tail)]
            rows.append(_text_row(row, label, texts, case.options.symmetric))
    return rows


class RunDigests(NamedTuple):
    """Digests by which runs are equal; the second is empty where claims have no scores."""

    claims_sha256: str
    order_sha256: str


def run_digests(case: ScoringCase) -> RunDigests:
    """Return the SHA-256 of the claims that count, in whatever form, and of the order of ranked ones."""
    digest = hashlib.sha256()
    if case.form in TEXT_FORMS:
        for answers in case.predicted_texts.documents:
            foreign = case.predicted_texts.n_labels
            counted = [(min(each.label, foreign), each.texts) for each in answers or ()]
            digest.update(msgspec.json.encode((answers is None, sorted(counted))))
        return RunDigests(digest.hexdigest(), "")
    if case.suite == "ranking":
        claims = case.claims
        codes, (_, rank) = _codes(claims.pair, claims.relation), np.unique(-claims.score, return_inverse=True)
        by_rank = np.lexsort((codes, rank))
        order = hashlib.sha256(codes[by_rank].tobytes() + rank[by_rank].astype("<i8").tobytes()).hexdigest()
        return RunDigests(hashlib.sha256(_sorted(*case.predicted_sets).codes.tobytes()).hexdigest(), order)
    digest.update(_claims(case, 0).codes.tobytes())
    if case.suite == "single labels":  # an item without an answer is wrong, even if it has no relation
        digest.update(np.flatnonzero(case.answers[1] == MISSING).astype("<i8").tobytes())
    return RunDigests(digest.hexdigest(), "")


def answers_digest(case: ScoringCase) -> str:
    """Return the SHA-256 of the claims about the gold's items, sorted.

    Rows, labels and bounds are whole numbers, scores are doubles; claims about other items don't count.
    """
    if case.form in TEXT_FORMS:
        lines = [f"{case.suite}\n".encode(), *sorted(_text_rows(case))]
        return hashlib.sha256(b"\n".join(lines)).hexdigest()
    if case.form in SCORED_FORMS:
        claims = case.claims
        columns, scores = [claims.pair, claims.relation], claims.score + 0.0  # -0.0 is 0.0
    else:
        placed = case.placed
        columns, scores = [placed.row, placed.label, placed.start, placed.end], np.zeros(0)
    whole = [column.astype("<i8") for column in columns if len(column)]
    order = np.lexsort([*([scores] if len(scores) else []), *reversed(whole)]) if whole else slice(0)
    digest = hashlib.sha256(f"{case.suite} {len(whole)}\n".encode())
    for column in whole:
        digest.update(column[order].tobytes())
    digest.update(scores[order].astype("<f8").tobytes() if len(scores) else b"")
    if case.placed.links:
        links = case.predicted_links
        columns = [*links.columns(labels=True)]
        order = np.lexsort(columns[::-1])
        for column in columns:
            digest.update(column[order].astype("<i8").tobytes())
    return digest.hexdigest()
