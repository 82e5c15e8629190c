"""The JSON door of submissions: sending, checking, following, ending."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.parsers import FormParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts.models import ApiToken
from evalsvc.core.errors.serializers import problems
from evalsvc.core.web.pagination import Pages, query_choices
from evalsvc.core.web.text_validation import StorableJSONParser
from evalsvc.evaluation import leaderboard, roles, submission_states
from evalsvc.evaluation.api import submission_serializers as shapes
from evalsvc.evaluation.api.benchmarks import benchmark_of, version_asked
from evalsvc.evaluation.benchmarks import file_contract, phases, scoring_identity, versions
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.submissions import intake, long_poll
from evalsvc.evaluation.submissions.request_body import Upload, tags_of, upload_of

BYTES: dict[str, Any] = {
    "application/x-ndjson": OpenApiTypes.BINARY,
    "application/gzip": OpenApiTypes.BINARY,
    "application/octet-stream": OpenApiTypes.BINARY,
    "text/plain": OpenApiTypes.BINARY,
}
PHASE = OpenApiParameter("phase", str, enum=["dev", "test"], description="Needed where both are open.")
SAID = [
    OpenApiParameter("system", str, description="Name of the system (raw body; a form has it as a field)."),
    OpenApiParameter("run", str, description="Name of the run, such as its seed."),
    OpenApiParameter("team", str, description="Slug of the team; needed by people in several."),
    OpenApiParameter("aggregate", str, enum=["ONE", "AVG"], description="From sentences to bags."),
    PHASE,
    OpenApiParameter("filename", str),
    OpenApiParameter("tags", str, description="A JSON object: what the team declares."),
]
FILTERS = [
    OpenApiParameter("state", str, enum=Submission.State.values),
    OpenApiParameter("phase", str, enum=Setting.Phase.values),
    OpenApiParameter("system", str, description="Name of the system."),
    OpenApiParameter("run", str, description="Name of the run."),
    OpenApiParameter("team", str, description="Slug of the team."),
]


def said_with(request: Request, upload: Upload) -> dict[str, Any]:
    """Who sends what, as every way in says it."""
    said = upload.fields
    return {
        "team": roles.team_of(request, named=said.get("team", "")),
        "by": roles.person(request),
        "token": request.auth if isinstance(request.auth, ApiToken) else None,
        "system": said.get("system", ""),
        "run": said.get("run", ""),
        "chunks": upload.chunks,
        "filename": upload.filename,
        "tags": tags_of(said),
        "idempotency_key": request.headers.get("Idempotency-Key", ""),
        "phase": said.get("phase", ""),
    }


def received_as(received: intake.Received, request: Request) -> Response:
    """202 for what is new, 200 for what is here already."""
    shown = shapes.SubmissionSerializer(received.submission, context={"request": request}).data
    status = 202 if received.created else 200
    return Response(shown, status=status, headers={"Location": shown["status_url"]})


class NewestFirst(Pages):
    ordering = "-id"


class Submissions(generics.ListAPIView[Submission]):
    serializer_class = shapes.SubmissionSerializer
    pagination_class = NewestFirst
    parser_classes = [MultiPartParser, StorableJSONParser, FormParser]
    needs_scope = "submit"
    queryset = Submission.objects.none()

    def get_queryset(self) -> QuerySet[Submission]:
        benchmark = benchmark_of(self.request, self.kwargs["slug"])
        seen = roles.asked_for(self.request).filter(benchmark=benchmark)
        asked = self.request.query_params
        seen = seen.filter(
            **query_choices(self.request, state=Submission.State.values, phase=Setting.Phase.values)
        )
        fields = {"system": "system__name", "team": "system__team__slug", "run": "run"}
        return seen.filter(**{field: asked[name] for name, field in fields.items() if asked.get(name)})

    @extend_schema(
        operation_id="submissions_list",
        parameters=FILTERS,
        responses={200: shapes.SubmissionSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Your teams' submissions; organisers see all."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="submissions_create",
        parameters=[*SAID, OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        request=BYTES | {"multipart/form-data": shapes.UploadSerializer},
        responses={202: shapes.SubmissionSerializer, 200: shapes.SubmissionSerializer}
        | problems(400, 401, 403, 404, 409, 411, 413, 422, 429),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Submit one prediction file as a run of a system; 200 when it is here already."""
        benchmark = benchmark_of(request, slug)
        upload = upload_of(request, most=file_contract.limit(benchmark, "upload_bytes"))
        aggregate = upload.fields.get("aggregate") or "ONE"
        received = intake.receive(benchmark, **said_with(request, upload), aggregate=aggregate)
        return received_as(received, request)


class DryRun(APIView):
    parser_classes = [MultiPartParser, StorableJSONParser, FormParser]
    needs_scope = "submit"

    @extend_schema(
        operation_id="check",
        parameters=[PHASE],
        request=BYTES | {"multipart/form-data": shapes.UploadSerializer},
        responses={200: shapes.CheckedSerializer} | problems(400, 401, 403, 404, 411, 413),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Check a file without submitting it."""
        benchmark = benchmark_of(request, slug)
        upload = upload_of(request, most=file_contract.limit(benchmark, "upload_bytes"))
        checked = intake.check(benchmark, upload.chunks, phase=upload.fields.get("phase", ""))
        found = checked.problems.as_json()
        return Response(
            {
                "fits": not found["total"],
                "format": checked.format,
                "form": checked.form,
                "counts": checked.counts,
                "error_count": found["total"],
                "errors": found["problems"],
                "errors_by_code": found["by_code"],
                "warnings": found["warnings"],
            }
        )


class OneSubmission(APIView):
    @extend_schema(
        operation_id="submission",
        parameters=[
            OpenApiParameter(
                "wait",
                {"type": "integer", "minimum": 0, "maximum": 99_999},
                description="Answer when the state changes, after so many seconds at the latest; up to 20. "
                "Where too many wait already the answer comes at once, with Retry-After.",
            )
        ],
        responses={200: shapes.SubmissionDetailSerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        """A submission's state, progress, place in the queue and timeline."""
        submission = roles.submission_asked_for(request, pk)
        asked, headers = request.query_params.get("wait"), {}
        seconds = None if asked is None else long_poll.seconds_of(asked)
        if seconds is not None and submission.state not in submission_states.ENDED:
            if not long_poll.wait_for_change(submission, seconds):
                headers["Retry-After"] = str(long_poll.ASK_AGAIN_SECONDS)
            submission = roles.submission_asked_for(request, pk)
        data = shapes.SubmissionDetailSerializer(submission, context={"request": request}).data
        return Response(data, headers=headers)


class Scores(APIView):
    @extend_schema(
        operation_id="scores",
        parameters=[
            OpenApiParameter(
                "version", int, description="Version of the settings; the newest scored without."
            )
        ],
        responses={200: shapes.ScoresSerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        """A submission's scores under each setting, with all that they were computed from."""
        submission = roles.submission_asked_for(request, pk)
        version, settings = version_asked(request), scoring_identity.concerned(submission)
        if version:
            versions.require_one(submission.benchmark, version)
        found = leaderboard.shown(submission, person=request.user)
        told: dict[str, Any] = {"submission": submission.pk, "state": submission.state}
        told["evaluations"] = leaderboard.under_version(found, version)
        told["versions"] = leaderboard.versions_scored(found)
        told["sealed"] = [each.key for each in settings if phases.hidden_from(each, request.user)]
        told["not_covered"] = [each.key for each in scoring_identity.not_covered(submission)]
        return Response(shapes.ScoresSerializer(told).data)


ENDED = {200: shapes.SubmissionSerializer} | problems(401, 403, 404, 409)


def _shown(request: Request, pk: int) -> Response:
    submission = roles.submission_asked_for(request, pk)
    return Response(shapes.SubmissionSerializer(submission, context={"request": request}).data)


class Cancel(APIView):
    needs_scope = "submit"

    @extend_schema(operation_id="submission_cancel", request=None, responses=ENDED)
    def post(self, request: Request, pk: int) -> Response:
        """Stop a submission that waits or runs."""
        submission_states.cancel(
            roles.submission_asked_for(request, pk, to_change=True), by=roles.person(request)
        )
        return _shown(request, pk)


class Withdraw(APIView):
    needs_scope = "submit"

    @extend_schema(operation_id="submission_withdraw", request=None, responses=ENDED)
    def post(self, request: Request, pk: int) -> Response:
        """Hide a submission from boards for good."""
        submission_states.withdraw(
            roles.submission_asked_for(request, pk, to_change=True), by=roles.person(request)
        )
        return _shown(request, pk)
