"""Damaged files, made from good and broken ones, the same for the same seed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable

from evalsvc.core.formats.registry import formats
from tests.corpus.broken import BROKEN, CONLL, TAGS, WHOLE, npy

TOKENS = (
    *(b'"', b"{", b"}", b"[", b"]", b":", b",", b"\t", b"\n", b"\r\n", b"\r", b" ", b"0", b"-1", b"1e999"),
    *(b"null", b"true", b"\\ud800", b"\xff", b"\0", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"<e1>", b"</e1>"),
    *(b"<e2>", b"</e2>", b"|", b"NONE", b"B-P", b"I-", b"O", b'"id"', b'"scores"', b'"spans"', b'"tags"'),
    *(b'"pos"', b'"h"', b'"t"', b"9" * 5_000, b"[" * 200, b"-DOCSTART-", b"Comment:", b"(6, 3)", b"'<f8'"),
    *(b"10 size=1\n", b"30 mtime=1\n", b"ustar\0", b"0000644\0", b"\x80", b"@misc", b"factory", b"[nlp]"),
)
CONFIG = b'[nlp]\nlang = "xx"\npipeline = ["ner"]\n\n[components]\n\n[components.ner]\nfactory = "ner"\n'
ITEM = (
    b'{"text":"Ada met Bo.","h":{"name":"Ada","pos":[0,3]},"t":{"name":"Bo","pos":[8,10]},'
    b'"relation":"born_in"}\n'
)
GOLD = (
    b'{"id":"s1","relations":["born_in"],"h":{"name":"A","id":"Q1"},"t":{"name":"B","id":"Q2"}}\n'
    b'{"id":"s2","relations":[],"h":{"name":"A","id":"Q1"},"t":{"name":"C","id":"Q3"}}\n'
)
DOCUMENTS = (
    b'{"id":"d1","tokens":["Ada","met","Bo"],"spans":[[0,1,"PER"]],"relations":[]}\n'
    b'{"id":"d2","tokens":["It","rained","."],"spans":[],"relations":[]}\n'
)
PROVENANCE = (
    b'{"answers":[{"by":"a1","relations":["A"],"spans":[]},{"by":"a2","relations":[],"spans":[[0,1,"P"]]}],"id":"s1",'
    b'"k":2,"labels":[{"against":1,"for":1,"label":"A"}],"pattern":"1-1","state":"disputed","decision":{"relations":["A"]}}\n'
)
LONGEST = 20_000
EACH = 101  # inputs to one of a repeated token
REPEATED = (
    *(
        b'"""',
        b'\\"',
        b"\\",
        b"a",
        b"a=",
        b"a,",
        b"a\t",
        b"{}",
        b"[]",
        b"[],",
        b"{},",
        b'{"a":',
        b"<a>",
        b"<a",
        b"&a;",
    ),
    *(
        b"1.",
        b"\xc3\xa9",
        b"'",
        b"#",
        b"- ",
        b"a\n",
        b"\n\n",
        b"{}\n",
        b"1\ta\tO\n",
        b"T1\tA 0 1\ta\n",
        b'"\n',
        b'"a\n',
    ),
    *(
        b'{"id":"a"}\n',
        b'{"id":"a","label":"b"},',
        gzip.compress(b"", mtime=0),
        b"a O\n",
        b"(",
        b"\x0b",
        b"\xc2\xa0",
    ),
)


def tar() -> bytes:
    """A small pipeline with a long name, so that it has attributes too."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as packed:
        for name, content in (("config.cfg", CONFIG), ("ner/model", b"abc"), ("n" * 120, b"")):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), 1.5
            packed.addfile(entry, io.BytesIO(content))
    return out.getvalue().rstrip(b"\0") + bytes(1_024)


def examples() -> dict[str, bytes]:
    """A file of each format by its key, of other files by the name of their reader."""
    shown = {key: f"{format.example}\n".encode() for key, format in formats().items()}
    others = {"array": npy(), "archive": archives()[0], "tar": tar(), "configuration": CONFIG}
    others |= {"provenance.jsonl": PROVENANCE, "gold.jsonl": GOLD}
    return shown | others | {"predictions": npy("(2, 1)", numbers=2)}  # fits the command's gold


def archives() -> list[bytes]:
    """Containers: an archive of scores with names, and some that no reader takes."""
    out = io.BytesIO()
    fields = b"{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }\n"
    names = b"\x93NUMPY\x01\x00" + len(fields).to_bytes(2, "little") + fields + "ab".encode("utf-32-le")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("scores.npy", npy())
        packed.writestr("columns.npy", names)
    return [out.getvalue(), bz2.compress(WHOLE), lzma.compress(WHOLE)]


def seeds() -> list[bytes]:
    known = [broken.content for broken in BROKEN if len(broken.content) <= LONGEST]
    counts = b'{"born_in": 0, "N/A": 1}'
    others = [WHOLE, CONLL, TAGS, ITEM, counts, GOLD, DOCUMENTS, *archives()]
    return [*examples().values(), *known, *others]


def _insert(data: bytes, other: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + chance.choice(TOKENS) + data[at:]


def _cut(data: bytes, other: bytes, chance: random.Random) -> bytes:
    at = chance.randint(0, len(data))
    return data[:at] + data[at + chance.choice((1, 2, 8, 64, 512)) :]


def _flip(data: bytes, other: bytes, chance: random.Random) -> bytes:
    if not data:
        return b"\0"
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _repeat(data: bytes, other: bytes, chance: random.Random) -> bytes:
    at, length = chance.randint(0, len(data)), chance.choice((1, 8, 64, 512))
    return data[:at] + data[at : at + length] * chance.choice((2, 3, 40)) + data[at + length :]


def _splice(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def _truncate(data: bytes, other: bytes, chance: random.Random) -> bytes:
    return data[: chance.randint(0, len(data))]


def _pack(data: bytes, other: bytes, chance: random.Random) -> bytes:
    packed = gzip.compress(data, 1, mtime=0)
    return packed if chance.random() < 0.5 else packed[: chance.randint(0, len(packed))] + other[:20]


KINDS: tuple[Callable[[bytes, bytes, random.Random], bytes], ...] = (
    *(_insert, _insert, _insert, _cut, _cut, _flip, _flip, _repeat, _splice, _truncate, _pack),
)


def repeated(chance: random.Random, fitting: bytes) -> bytes:
    """One token over and over, alone, inside a string, or in place of the rest of a file."""
    token, size = chance.choice((*TOKENS, *REPEATED)), chance.choice((100_000, 1_000_000))
    start = chance.choice((b"", b"", b"x", b'["', b'{"id":"', fitting[: chance.randint(0, len(fitting))]))
    data = start + token * (size // len(token)) + chance.choice((b"", b"", b"\n", b"!", b'"}\n'))
    return gzip.compress(data, 1, mtime=0) if chance.random() < 0.1 else data


def damaged(known: list[bytes], number: int, *, fitting: bytes = b"") -> bytes:
    """The input of this number; half of them come of the file that fits its reader, if there is one."""
    chance = random.Random(number)
    if number % EACH == EACH - 1:
        return repeated(chance, fitting)
    data = fitting if fitting and chance.random() < 0.5 else chance.choice(known)
    for _ in range(chance.choice((0, 1, 1, 2, 3, 6))):
        data = chance.choice(KINDS)(data, chance.choice(known), chance)[:LONGEST]
    return data
