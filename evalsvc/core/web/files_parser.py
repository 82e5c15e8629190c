"""The parser of forms with files that endpoints take.

Apart from `form_parts`, so that commands and workers start without the REST framework.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import MultiPartParser

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.errors.form_errors import FormRefused
from evalsvc.core.web import places
from evalsvc.core.web.body_limits import PAGE_BODY_BYTES, length_of
from evalsvc.core.web.unknown_names import repeated_names


class FilesParser(MultiPartParser):
    """Parser of multipart forms; long ones are parsed in a place for files."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        request = (parser_context or {})["request"]
        if length_of(request) <= PAGE_BODY_BYTES:
            return self._parse(stream, media_type, parser_context)
        # while a session is checked, the request has no user yet
        user = request.__dict__.get("_user") or request._request.user
        with places.files.taken(user.pk):
            return self._parse(stream, media_type, parser_context)

    def _parse(self, *arguments: Any) -> Any:
        try:
            form = super().parse(*arguments)
        except ParseError as error:
            if isinstance(error.__context__, FormRefused):
                raise DomainError("bad_request", str(error.__context__)) from error
            raise
        view = (arguments[2] or {}).get("view")
        repeated = (
            *repeated_names(form.data, getattr(view, "several", ())),
            *(name for name, files in form.files.lists() if len(files) > 1),
        )
        if repeated:
            raise said_twice(repeated[0])
        return form


def said_twice(name: str) -> DomainError:
    """Return the error of a field or file of which only one would be read."""
    return DomainError(
        "said_twice",
        f"{name} was sent more than once.",
        hint="Send one, with one request per file.",
        field=name,
    )
