"""Reads that say when nothing changed: an ETag of the content, and 304 to who has it."""

from __future__ import annotations

import hashlib
from typing import Any

from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response


def unless_known(request: Request, data: Any, **headers: str) -> Response:
    """The data under their ETag; nothing but the ETag when the client has them already."""
    tag = f'"{hashlib.sha256(JSONRenderer().render(data)).hexdigest()[:32]}"'
    told = {"ETag": tag, "Cache-Control": "private, no-cache", **headers}
    known = {each.strip().removeprefix("W/") for each in request.headers.get("If-None-Match", "").split(",")}
    if tag in known or "*" in known:
        return Response(status=304, headers=told)
    return Response(data, headers=told)
