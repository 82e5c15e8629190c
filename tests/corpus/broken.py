"""Broken files for each benchmark, with the problem codes expected."""

from __future__ import annotations

import gzip
from typing import NamedTuple

from tests.cast.basics import jsonl

ROOM = {"lines": 50, "line": 1_000, "unpacked": 50_000, "sent": 20_000}
WHOLE = jsonl({"id": f"s{n}", "label": "N/A"} for n in range(1, 7))
PAIR = b'{"h":"Q1","t":"Q2","relation":"born_in","score":0.5}\n'
CONLL = b"Ada\tB-PER\nleft\tO\nNew\tB-LOC\nTurin\tI-LOC\n\nIt\tO\nrained\tO\n\nBo\tB-PER\nmet\tO\nCy\tB-PER\n"
SPANS = b'{"id":"d2","spans":[]}\n{"id":"d3","spans":[]}\n'
TAGS = b'{"id":"d2","tags":["O","O"]}\n{"id":"d3","tags":["O","O","O"]}\n'


def instead(line: bytes) -> bytes:
    """The whole file with another second line."""
    first, _, *rest = WHOLE.splitlines(keepends=True)
    return b"".join([first, line, b"\n", *rest])


def npy(shape: str = "(6, 3)", *, descr: str = "<f4", order: str = "False", numbers: int = 18) -> bytes:
    words = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(words).to_bytes(2, "little") + words + bytes(4 * numbers)


class Broken(NamedTuple):
    """A file, the board it is for, and the answer: the first problem's code and line, counts of all."""

    name: str
    board: str
    content: bytes
    code: str
    line: int | None
    counts: dict[str, int]


def to(
    board: str, name: str, content: bytes, code: str, line: int | None = None, n: int = 1, **more: int
) -> Broken:
    """A file whose first problem has this code, n times; `more` are the others that come of it."""
    return Broken(name, board, content, code, line, {code: n} | more)


def rel(name: str, content: bytes, code: str, line: int | None = None, **more: int) -> Broken:
    return to("rel", name, content, code, line, **more)


def second(name: str, line: bytes, code: str) -> Broken:
    """A second line that can't be read at all: its id is missing, too."""
    return rel(name, instead(line), code, 2)


def third(name: str, line: bytes, code: str, *, before: bytes = SPANS, **more: int) -> Broken:
    """The last of three documents."""
    return to("ner", name, before + line + b"\n", code, 3, **more)


BROKEN = (
    # the file as a whole
    rel("another encoding", instead('{"id":"s2","label":"né"}'.encode("latin-1")), "not_utf8", 2),
    rel("a NUL", instead(b'{"id":"s2","label":"N/A\x00"}'), "nul_character", 2),
    second("a NUL in writing", b'{"id":"s2\\u0000","label":"N/A"}', "nul_character"),
    rel("nothing", b"", "empty_file"),
    rel("blank lines", b"\n\n", "empty_file"),
    rel("nothing, packed", gzip.compress(b"", mtime=0), "empty_file"),
    rel("too many lines", WHOLE * 9, "duplicate_id", 7, n=44, too_many_lines=1),
    rel("a line too long", instead(b'{"id":"s2","label":"' + b"x" * 1_000 + b'"}'), "line_too_long", 2),
    rel("gzip cut short", gzip.compress(WHOLE, mtime=0)[:-12], "bad_gzip"),
    rel("gzip damaged", b"\x1f\x8b" + bytes(40), "bad_gzip"),
    rel("a tar", bytes(257) + b"ustar\x0000" + bytes(760), "unknown_format"),
    rel("no known format", b"a\tb\tc\td\n" * 3, "unknown_format", 1),
    # a line of JSON
    second("half an object", b'{"id":"s2","label"', "not_json"),
    second("an array", b'["s2","N/A"]', "not_json"),
    second("half a character", b'{"id":"s2","label":"\\ud800"}', "lone_surrogate"),
    second("a misspelt key", b'{"id":"s2","lable":"N/A"}', "unknown_key"),
    second("no answer", b'{"id":"s2"}', "missing_key"),
    second("a key twice", b'{"id":"s2","label":"N/A","label":"born_in"}', "duplicate_key"),
    second("a number for a label", b'{"id":"s2","label":3}', "wrong_type"),
    second("no id", b'{"id":null,"label":"N/A"}', "wrong_type"),
    second("two answers", b'{"id":"s2","label":"N/A","labels":[]}', "mixed_forms"),
    second("another form", b'{"id":"s2","labels":[]}', "mixed_forms"),
    rel("spans for relations", SPANS, "mixed_forms", 1, n=2),
    # identities and labels
    rel("a line left out", WHOLE.partition(b"\n")[2], "missing_id"),
    rel("an id too many", WHOLE + b'{"id":"s7","label":"N/A"}\n', "unknown_id", 7),
    rel("an id twice", WHOLE + b'{"id":"s1","label":"N/A"}\n', "duplicate_id", 7),
    rel("an unknown label", instead(b'{"id":"s2","label":"sailed"}'), "unknown_label", 2),
    rel("a misspelt label", instead(b'{"id":"s2","label":"born-in"}'), "near_label", 2),
    rel("a label twice", b'{"id":"s1","labels":["born_in","born_in"]}\n', "duplicate_label", 1),
    rel("N/A and more", b'{"id":"s1","labels":["born_in","N/A"]}\n', "negative_with_label", 1),
    rel("an endless score", b'{"id":"s1","scores":{"born_in":1e999}}\n', "bad_score", 1),
    rel("no score", b'{"id":"s1","scores":{"born_in":NaN}}\n', "bad_score", 1),
    # bags
    to("bags", "a claim twice", PAIR * 2, "duplicate_claim", 2),
    to("bags", "an unknown pair", PAIR.replace(b"Q2", b"Q9"), "unknown_id", 1),
    to("bags", "a label that was split", PAIR.replace(b"born_in", b"job"), "old_label", 1),
    to("bags", "an endless score", PAIR.replace(b"0.5", b"1e999"), "bad_score", 1),
    to("bags", "half a pair", b'{"entpair":["Q1"],"relation":"born_in","score":0.5}\n', "wrong_type", 1),
    # columns
    rel("a word too many", b"s1\tborn_in\n2\tborn_in\n", "unknown_format", 1),
    rel("a column too many", b"1\tN/A\n2\tN/A\textra\n", "unknown_id", 1, wrong_columns=1, missing_id=6),
    to("ner", "a tag left out", CONLL.replace(b"met\tO", b"met"), "token_mismatch", 9, wrong_columns=1),
    to("ner", "a strange tag", CONLL.replace(b"I-LOC", b"X-LOC"), "bad_tag", 4),
    to("ner", "another token", CONLL.replace(b"rained", b"snowed"), "token_mismatch", 7),
    to("ner", "a token left out", CONLL.replace(b"met\tO\n", b""), "token_mismatch", 9),
    to("ner", "a sentence too many", CONLL + b"\nAy\tO\n", "unknown_id", 13),
    # spans and tags
    third("two tags too few", b'{"id":"d1","tags":["O","O"]}', "token_mismatch", before=TAGS),
    third("no such tag", b'{"id":"d1","tags":["O","O","Z-LOC","O"]}', "bad_tag", before=TAGS),
    third("a tag of no label", b'{"id":"d1","tags":["O","O","B-ORG","O"]}', "unknown_label", before=TAGS),
    third("an empty span", b'{"id":"d1","spans":[[1,1,"PER"]]}', "bad_span"),
    third("a span too wide", b'{"id":"d1","spans":[[1,9,"PER"]]}', "bad_span"),
    third("a misspelt class", b'{"id":"d1","spans":[[0,1,"PERS"]]}', "near_label"),
    third("a relation to nothing", b'{"id":"d1","spans":[[0,1,"PER"]],"relations":[[0,"born_in",3]]}',
          "bad_reference"),
    # arrays
    rel("half a header", npy()[:20], "bad_npy"),
    rel("whole numbers", npy(descr="<i4"), "bad_npy"),
    rel("objects", npy(descr="|O"), "bad_npy"),
    rel("columns first", npy(order="True"), "bad_npy"),
    rel("numbers left out", npy(numbers=17), "bad_npy"),
    rel("a column too few", npy("(6, 2)", numbers=12), "wrong_shape"),
    rel("one row of numbers", npy("(18,)"), "wrong_shape"),
)  # fmt: skip
TOO_LARGE = (
    ("more than may be sent", b" " * (ROOM["sent"] + 1)),
    ("more than may be unpacked", gzip.compress(WHOLE + b"\n" * ROOM["unpacked"], mtime=0)),
)
# Only a file of sentences, gold or votes can have these; too_large is answered with 413.
ELSEWHERE = {
    *("bad_block", "no_scheme", "entity_not_in_text", "duplicate_vote", "too_large"),
    *(
        "no_unit",
        "no_names",
        "no_item",
        "no_extra",
        "wrong_words",
        "cut_word",
        "discontinuous_span",
        "left_out_annotation",
        "several_layers",
        "several_answers",
    ),
    *("bad_xml", "bad_binary"),
    *("too_few_claims", "too_many_labels", "other_scheme"),
    *("overlapping_spans", "too_many_in_line", "long_answer", "textless_item", "too_slow"),
}
