"""Parts of multipart forms: sent as they are, and files only where a page takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from django.core.files.uploadhandler import FileUploadHandler
from django.http import multipartparser
from django.http.multipartparser import parse_boundary_stream  # type: ignore[attr-defined]

from evalsvc.core.errors.form_errors import FormRefused

AS_IT_IS = ("7bit", "8bit", "binary")
HEAD_BYTES = 1024  # as Django
HEAD_LINES, HEAD_SEMICOLONS = 4, 20  # browsers send two lines; a semicolon in the name of a file counts, too


class PlainParts(multipartparser.Parser):
    """Parts of a form; one that is encoded, or with a head that no browser sends, is refused.

    Decoding base64 takes several times as long as reading. Each line of a head is parsed as of a mail, which
    takes a millisecond for a thousand `;`: 2,000 parts would take seconds.
    """

    _stream: Any
    _separator: bytes

    def __iter__(self) -> Iterator[Any]:
        for part in multipartparser.InterBoundaryIter(self._stream, self._separator):
            _refuse_odd_head(part)
            kind, headers, stream = parse_boundary_stream(part, HEAD_BYTES)
            encoding = headers.get("content-transfer-encoding", ("binary",))[0].strip()
            if encoding.lower() not in AS_IT_IS:
                raise FormRefused(f"Content-Transfer-Encoding {encoding[:20]!r} is not read. Leave it out.")
            yield kind, headers, stream


def _refuse_odd_head(part: Any) -> None:
    """Refuse a head of many lines or parameters before it is parsed."""
    start = part.read(HEAD_BYTES)
    part.unget(start)
    head, end, _ = start.partition(b"\r\n\r\n")
    if end and (head.count(b"\r\n") > HEAD_LINES or head.count(b";") > HEAD_SEMICOLONS):
        most = f"{HEAD_LINES} lines and {HEAD_SEMICOLONS} semicolons"
        raise FormRefused(f"A part of the form has a longer head than {most}. Send its name and type alone.")


def read_plain_parts() -> None:
    """Make Django's parser of forms read plain parts only: it has no setting for that."""
    multipartparser.Parser = PlainParts  # type: ignore[misc]


class NoFiles(FileUploadHandler):
    """Handler that refuses every file."""

    def new_file(self, *arguments: Any, **more: Any) -> NoReturn:
        raise FormRefused("This page takes no files.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
