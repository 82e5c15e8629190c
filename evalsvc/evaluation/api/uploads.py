"""Fields of a request that sends a file, by form or query."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from evalsvc.core.accounts.models import ApiToken
from evalsvc.core.formats import npy
from evalsvc.core.formats.negative_class import NA_PLACES
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.models import Setting
from evalsvc.evaluation.submissions.entry import AGGREGATES
from evalsvc.evaluation.submissions.request_body import Upload, tags_of

PHASES = [*Setting.Phase.values, file_contract.BOTH]


class UploadSerializer(serializers.Serializer[Any]):
    """Fields of a multipart submission; for a raw body, of the query."""

    file = serializers.FileField()
    system = serializers.CharField(max_length=120)
    run = serializers.CharField(max_length=40)
    team = serializers.CharField(required=False, help_text="Slug; required for users in several teams.")
    aggregate = serializers.ChoiceField(choices=AGGREGATES, required=False)
    columns = serializers.CharField(
        required=False,
        help_text="Labels of the columns of a .npy file: a JSON array, a label list, or a file with them.",
    )
    na = serializers.ChoiceField(
        choices=list(NA_PLACES),
        required=False,
        help_text="Place of the negative class among the columns of a .npy file.",
    )
    phase = serializers.ChoiceField(choices=PHASES, required=False)
    filename = serializers.CharField(required=False)
    tags = serializers.CharField(required=False, help_text="JSON object with what the team declares.")


FORM_FIELDS = frozenset(UploadSerializer().fields)
MODEL_FIELDS = FORM_FIELDS - {"aggregate", "columns", "na"}
BYTES: dict[str, Any] = dict.fromkeys(
    ("application/x-ndjson", "application/gzip", "application/octet-stream", "text/plain"),
    OpenApiTypes.BINARY,
)
TAR: dict[str, Any] = dict.fromkeys(("application/x-tar", "application/octet-stream"), OpenApiTypes.BINARY)
PHASE = OpenApiParameter(
    "phase", str, enum=PHASES, description="Required if both are open; both: one file for all their inputs."
)
COLUMNS = [
    OpenApiParameter("columns", str, description="Labels of the columns of a .npy file, as a JSON array."),
    OpenApiParameter("na", str, enum=list(NA_PLACES), description="Place of the negative class in it."),
]
FIELDS = [
    OpenApiParameter("system", str, description="Name of the system (raw body; a form has it as a field)."),
    OpenApiParameter("run", str, description="Name of the run, such as its seed."),
    OpenApiParameter("team", str, description="Slug of the team; required for users in several."),
    OpenApiParameter("aggregate", str, enum=list(AGGREGATES), description="From sentences to bags."),
    *COLUMNS,
    PHASE,
    OpenApiParameter("filename", str),
    OpenApiParameter("tags", str, description="JSON object with what the team declares."),
]


def fields_of(request: Request, upload: Upload) -> dict[str, Any]:
    """Return the fields of a submission from a request."""
    fields = upload.fields
    return {
        "team": roles.team_of(request, named=fields.get("team", "")),
        "by": request.user,
        "token": request.auth if isinstance(request.auth, ApiToken) else None,
        "system": fields.get("system", ""),
        "run": fields.get("run", ""),
        "chunks": upload.chunks,
        "filename": upload.filename,
        "tags": tags_of(fields),
        "idempotency_key": request.headers.get("Idempotency-Key", ""),
        "phase": fields.get("phase", ""),
    }


def names_of(upload: Upload) -> npy.ColumnNames:
    """Return what a request states about the columns of a dense file."""
    return npy.ColumnNames(upload.fields.get("columns", ""), upload.fields.get("na", ""))
