"""The JSON door of models: sending a trained pipeline instead of its predictions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.evaluation import modelruns, roles
from evalsvc.evaluation import serializers as shapes
from evalsvc.evaluation.api import benchmark_of
from evalsvc.evaluation.api_submissions import SAID
from evalsvc.evaluation.uploads import tags_of, upload_of
from evalsvc.problem_details import problems
from evalsvc.storable import StorableJson
from evalsvc.teams.models import ApiToken

TAR: dict[str, Any] = {
    "application/x-tar": OpenApiTypes.BINARY,
    "application/octet-stream": OpenApiTypes.BINARY,
}
PARAMETERS = [said for said in SAID if said.name != "aggregate"]


class Models(APIView):
    parser_classes = [MultiPartParser, StorableJson, FormParser]
    needs_scope = "submit"

    @extend_schema(
        operation_id="models_create",
        parameters=[*PARAMETERS, OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        request=TAR | {"multipart/form-data": shapes.UploadSerializer},
        responses={202: shapes.SubmissionSerializer, 200: shapes.SubmissionSerializer}
        | problems(400, 401, 403, 404, 409, 411, 413, 429),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Submit a spaCy pipeline as one tar; it is run here, and what it predicts is scored."""
        benchmark = benchmark_of(request, slug)
        upload = upload_of(request, most=settings.MODEL_MAX_BYTES)
        said = upload.fields
        received = modelruns.receive(
            benchmark,
            team=roles.team_of(request, named=said.get("team", "")),
            by=roles.person(request),
            token=request.auth if isinstance(request.auth, ApiToken) else None,
            system=said.get("system", ""),
            run=said.get("run", ""),
            chunks=upload.chunks,
            filename=upload.filename,
            tags=tags_of(said),
            idempotency_key=request.headers.get("Idempotency-Key", ""),
            phase=said.get("phase", ""),
        )
        shown = shapes.SubmissionSerializer(received.submission, context={"request": request}).data
        status = 202 if received.created else 200
        return Response(shown, status=status, headers={"Location": shown["status_url"]})
