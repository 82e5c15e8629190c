"""Parts of multipart forms: sent as they are, and files only where a page takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from django.core.files.uploadhandler import FileUploadHandler
from django.http import multipartparser

from evalsvc.core.errors.form_errors import FormRefused

AS_IT_IS = ("7bit", "8bit", "binary")


class PlainParts(multipartparser.Parser):
    """Parts of a form; an encoded one is refused.

    Decoding base64 takes several times as long as reading, and no browser sends it.
    """

    def __iter__(self) -> Iterator[Any]:
        for kind, headers, stream in super().__iter__():
            encoding = headers.get("content-transfer-encoding", ("binary",))[0].strip()
            if encoding.lower() not in AS_IT_IS:
                raise FormRefused(f"Content-Transfer-Encoding {encoding[:20]!r} is not read. Leave it out.")
            yield kind, headers, stream


def refuse_encoded_parts() -> None:
    """Make Django's parser of forms refuse encoded parts: it has no setting for that."""
    multipartparser.Parser = PlainParts  # type: ignore[misc]


class NoFiles(FileUploadHandler):
    """Handler that refuses every file."""

    def new_file(self, *arguments: Any, **more: Any) -> NoReturn:
        raise FormRefused("This page takes no files.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        return None
