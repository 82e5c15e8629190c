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

from evalsvc.core.errors.serializers import problems
from evalsvc.core.web.text_validation import StorableJSONParser
from evalsvc.evaluation.api import submission_serializers as shapes
from evalsvc.evaluation.api.benchmarks import benchmark_of
from evalsvc.evaluation.api.submissions import SAID, received_as, said_with
from evalsvc.evaluation.submissions import model_intake
from evalsvc.evaluation.submissions.request_body import upload_of

TAR: dict[str, Any] = {
    "application/x-tar": OpenApiTypes.BINARY,
    "application/octet-stream": OpenApiTypes.BINARY,
}
PARAMETERS = [said for said in SAID if said.name != "aggregate"]


class Models(APIView):
    parser_classes = [MultiPartParser, StorableJSONParser, FormParser]
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
        return received_as(model_intake.receive(benchmark, **said_with(request, upload)), request)
