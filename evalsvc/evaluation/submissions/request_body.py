"""Request body as a stream: raw, or the form part `file`."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.core.files.uploadedfile import UploadedFile
from django.http import UnreadablePostError

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.files_parser import said_twice
from evalsvc.core.web.text_validation import check_storable
from evalsvc.core.web.unknown_names import require_known_fields
from evalsvc.evaluation.submissions.file_check import too_large

if TYPE_CHECKING:
    from rest_framework.request import Request

CHUNK_BYTES = 1 << 18
FORM_OVERHEAD = 1 << 20  # of a form around its file
MAX_COLUMNS_BYTES = 500_000


class LengthRequired(DomainError):
    """Body of unknown length."""

    status = 411
    title = "Length required"


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes of a file, and the fields sent beside it."""

    chunks: Iterator[bytes]
    fields: Mapping[str, Any]
    filename: str = ""


def is_form(request: Request) -> bool:
    return (request.content_type or "").startswith("multipart/form-data")


def upload_of(request: Request, *, most: int, known: Collection[str]) -> Upload:
    """Return file and fields.

    Those of a raw body come from the query.
    """
    sent = int(request.META.get("CONTENT_LENGTH") or 0)
    if sent > most + (FORM_OVERHEAD if is_form(request) else 0):
        raise too_large(most)
    _require_each_once(request)
    if not is_form(request):
        source: Any = request._request
        if not request.META.get("CONTENT_LENGTH") and request.META.get("HTTP_TRANSFER_ENCODING"):
            if not request.META.get("wsgi.input_terminated"):
                raise LengthRequired(
                    "length_required", "The request has no length.", hint="Send Content-Length."
                )
            source = request.META["wsgi.input"]
        return Upload(_pieces(source), request.query_params, request.query_params.get("filename", ""))
    file = request.FILES.get("file")
    if file is None:
        raise DomainError(
            "no_file", "The form has no part `file`.", hint='Use -F "file=@NAME".', field="file"
        )
    require_known_fields([*request.POST, *request.FILES], known)
    fields = request.query_params.dict() | request.POST.dict()
    if sidecar := request.FILES.get("columns"):
        fields["columns"] = text_of(sidecar)
    check_storable([fields, file.name])
    return Upload(iter(file.chunks(CHUNK_BYTES)), fields, fields.get("filename") or file.name or "")


def text_of(sidecar: UploadedFile) -> str:
    """Return the names of columns sent as a file."""
    if sidecar.size is None or sidecar.size > MAX_COLUMNS_BYTES:
        detail = f"The file with the names of the columns is larger than {MAX_COLUMNS_BYTES:,} bytes."
        raise DomainError("bad_columns", detail, hint="Send the labels, one per line.", field="columns")
    if not sidecar.size:
        detail = "The file with the names of the columns is empty."
        raise DomainError("bad_columns", detail, hint="Send the labels, one per line.", field="columns")
    try:
        return sidecar.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        detail = "The file with the names of the columns is not UTF-8 text."
        raise DomainError(
            "bad_columns", detail, hint="Send the labels, one per line.", field="columns"
        ) from error


def _require_each_once(request: Request) -> None:
    """Reject a field sent twice with different values, also once in the address; the parser rejects files."""
    form = is_form(request)
    sources = [request.query_params, *([request.POST] if form else [])]
    if form and any("columns" in each for each in sources) and "columns" in request.FILES:
        raise said_twice("columns")
    for name in {name for each in sources for name in each}:
        if len({value for each in sources for value in each.getlist(name)}) > 1:
            raise said_twice(name)


def _pieces(source: Any) -> Iterator[bytes]:
    """Read chunks; a server's own error for a truncated body becomes Django's."""
    try:
        yield from iter(lambda: source.read(CHUNK_BYTES), b"")
    except UnreadablePostError:
        raise
    except OSError as error:
        raise UnreadablePostError(*error.args) from error


def tags_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the declared tags, a JSON object."""
    text = fields.get("tags")
    if not text:
        return {}
    try:
        tags = json.loads(text) if len(text) <= 4_000 else None
    except (ValueError, RecursionError):
        tags = None
    if not isinstance(tags, dict):
        raise DomainError("bad_tags", "tags must be a JSON object of up to 4,000 characters.", field="tags")
    check_storable(tags, field="tags")
    return tags
