"""Spans from tag sequences (IOB1, IOB2, BIOES, BILOU)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from workers.metrics.counts import require_choice
from workers.metrics.encoding import Vocabulary, encode
from workers.metrics.spans import Spans

SCHEMES = ("iob1", "iob2", "bioes", "bilou")
ORPHANS = ("conlleval", "strict-iob2")
_O, _B, _I, _E, _S = range(5)
_PREFIXES = {
    "iob1": {"B": _B, "I": _I},
    "iob2": {"B": _B, "I": _I},
    "bioes": {"B": _B, "I": _I, "E": _E, "S": _S},
    "bilou": {"B": _B, "I": _I, "L": _E, "U": _S},
}
_UNNAMED = "_"


def spans_of_tags(
    sentences: Sequence[Sequence[str]],
    *,
    labels: Vocabulary,
    scheme: str = "iob2",
    orphans: str = "conlleval",
) -> Spans:
    """Read the entities of tagged sentences as half-open token spans.

    Parameters
    ----------
    sentences : sequence of sequences of str
        Tags like ``B-PER``; a bare prefix (``B``) has the label ``_``.
    labels : Vocabulary
        Label names to codes; new ones are added. Share it between gold and prediction.
    scheme : {"iob1", "iob2", "bioes", "bilou"}, default "iob2"
        Allowed prefixes.
    orphans : {"conlleval", "strict-iob2"}, default "conlleval"
        An I- that continues no entity of its own label opens one, or is dropped (iob2 only).

    Returns
    -------
    Spans
        One document per sentence, positions in tokens.

    Raises
    ------
    ValueError
        For an unknown option, or a tag that the scheme lacks.

    Examples
    --------
    >>> names = Vocabulary()
    >>> spans = spans_of_tags([["B-PER", "I-PER", "O", "I-LOC"]], labels=names)
    >>> spans.start.tolist(), spans.end.tolist(), names.names
    ([0, 3], [2, 4], ['PER', 'LOC'])
    >>> len(spans_of_tags([["I-PER"]], labels=names, orphans="strict-iob2"))
    0
    """
    if isinstance(sentences, str) or (len(sentences) and isinstance(sentences[0], str)):
        raise ValueError("expected a list of sentences, each a list of tags; got a flat list of tags")
    lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
    distinct = Vocabulary()
    total = int(lengths.sum())
    codes = np.fromiter(
        map(distinct.__getitem__, chain.from_iterable(sentences)), dtype=np.int32, count=total
    )
    tags = [str(name) for name in distinct.names]
    return spans_of_tag_codes(codes, lengths, tags=tags, labels=labels, scheme=scheme, orphans=orphans)


def spans_of_tag_codes(
    codes: NDArray[np.integer],
    lengths: NDArray[np.int64],
    *,
    tags: Sequence[str],
    labels: Vocabulary,
    scheme: str = "iob2",
    orphans: str = "conlleval",
) -> Spans:
    """Read the entities of concatenated sentences of tag codes.

    Parameters
    ----------
    codes : integer ndarray, shape (tokens,)
        Codes into *tags*.
    lengths : int64 ndarray, shape (sentences,)
        Tokens of each sentence.
    tags : sequence of str
        The distinct tags, each parsed once.
    labels, scheme, orphans
        As in `spans_of_tags`.

    Returns
    -------
    Spans

    Raises
    ------
    ValueError
        As `spans_of_tags`.

    Examples
    --------
    >>> spans_of_tag_codes(np.array([0, 1]), np.array([1, 1]), tags=["O", "B-PER"], labels=Vocabulary()).start
    array([0])
    """
    require_choice("scheme", scheme, SCHEMES)
    require_choice("orphans", orphans, ORPHANS)
    if orphans == "strict-iob2" and scheme != "iob2":
        raise ValueError(f"orphans is 'strict-iob2', which reads iob2 only; scheme is {scheme!r}")
    prefix, label = _parse(tags, labels, scheme)
    return _runs(prefix[codes], label[codes], lengths, strict=orphans == "strict-iob2")


def _parse(
    tags: Sequence[str], labels: Vocabulary, scheme: str
) -> tuple[NDArray[np.int8], NDArray[np.int32]]:
    """Return prefix and label code of every distinct tag."""
    known = _PREFIXES[scheme]
    prefixes = np.zeros(len(tags), dtype=np.int8)
    names: list[str | None] = []
    for code, tag in enumerate(tags):
        if tag == "O":
            names.append(None)
            continue
        head, _, name = tag.partition("-")
        if head not in known:
            allowed = ", ".join(f"{one}-" for one in known)
            raise ValueError(f"{tag!r} is not a tag of {scheme}, expected O or a prefix of: {allowed}")
        prefixes[code] = known[head]
        names.append(name or _UNNAMED)
    codes = np.full(len(tags), -1, dtype=np.int32)
    real = [at for at, name in enumerate(names) if name is not None]
    codes[real] = encode([names[at] for at in real], labels)
    return prefixes, codes


def _runs(
    prefix: NDArray[np.int8], label: NDArray[np.int32], lengths: NDArray[np.int64], *, strict: bool
) -> Spans:
    """Return runs of tokens of one entity as spans."""
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    first = np.zeros(len(prefix) + 1, dtype=bool)
    first[offsets] = True
    first = first[:-1]
    goes_on = _continues(prefix, label, first, strict=strict)
    inside = prefix != _O
    opens = (prefix == _B) if strict else inside & ~goes_on
    edges = np.append(np.flatnonzero(~goes_on), len(prefix))
    start = np.flatnonzero(opens)
    end = edges[np.searchsorted(edges, start, side="right")]
    document = np.repeat(np.arange(len(lengths)), lengths)[start]
    base = offsets[document]
    return Spans(document, start - base, end - base, label[start].astype(np.int64), len(lengths), 0)


def _continues(
    prefix: NDArray[np.int8], label: NDArray[np.int32], first: NDArray[np.bool_], *, strict: bool
) -> NDArray[np.bool_]:
    """Mark tokens that continue the entity of the token before."""
    before = np.empty_like(prefix)
    before[1:] = prefix[:-1]
    before[:1] = _O
    same = np.zeros(len(prefix), dtype=bool)
    same[1:] = label[1:] == label[:-1]
    open_before = (before == _B) | (before == _I)
    joins = (prefix == _I) if strict else (prefix == _I) | (prefix == _E)
    return joins & open_before & same & ~first
