"""API of submissions: submit, follow, cancel, withdraw."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, cast

from django.conf import settings
from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.parsers import FormParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts import users
from evalsvc.core.accounts.token_authentication import authenticated_again
from evalsvc.core.errors.handlers import problems
from evalsvc.core.jobs import queue_status
from evalsvc.core.web.files_parser import FilesParser
from evalsvc.core.web.json_parser import StorableJSONParser
from evalsvc.core.web.pagination import Pages
from evalsvc.core.web.request_validation import query_choices, query_day, validated
from evalsvc.evaluation import roles, submission_states
from evalsvc.evaluation.api.uploads import (
    BYTES,
    FIELDS,
    FORM_FIELDS,
    MODEL_FIELDS,
    TAR,
    UploadSerializer,
    fields_of,
    names_of,
)
from evalsvc.evaluation.benchmarks import file_contract, final_entries
from evalsvc.evaluation.dates import submitted_on
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.submissions import intake, long_poll, model_intake, timeline
from evalsvc.evaluation.submissions.request_body import upload_of


# ---- serializers ------------------------------------------------------------------------------------
class StepSerializer(serializers.Serializer[timeline.Step]):
    title = serializers.CharField()
    at = serializers.DateTimeField()
    detail = serializers.CharField(allow_blank=True)
    kind = serializers.CharField(allow_blank=True, help_text="Empty, good, slip or bad.")


class ProgressSerializer(serializers.Serializer[Any]):
    attempt = serializers.IntegerField()
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="0 while unknown.")
    step = serializers.CharField(allow_blank=True)


class MappedLabelSerializer(serializers.Serializer[Any]):
    to = serializers.CharField(
        allow_null=True, help_text="Present label; null: deleted, so the negative class."
    )
    labels = serializers.IntegerField(help_text="Labels of the file that had the old name.")


OLD_LABELS = "What old names of labels in the file became, by name."


FINAL = "final phases"  # in the context of a serializer


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    benchmark = serializers.CharField(source="benchmark.slug")
    team = serializers.CharField(source="system.team.slug")
    system = serializers.CharField(source="system.name")
    file_sha256 = serializers.CharField(source="file_id")
    size = serializers.IntegerField(source="file.size")
    model_sha256 = serializers.CharField(
        source="model_id",
        allow_null=True,
        help_text="Digest of the submitted pipeline; `file_sha256` is that of its predictions.",
    )
    status_url = serializers.SerializerMethodField()
    old_labels = serializers.DictField(child=MappedLabelSerializer(), help_text=OLD_LABELS)
    final_at = serializers.SerializerMethodField(help_text="When it was chosen as final; null if it is not.")
    final_in = serializers.SerializerMethodField(
        help_text="Phases in which it is the final run at present; an empty name: without phases."
    )
    progress = ProgressSerializer(source="job", allow_null=True)

    class Meta:
        model = Submission
        fields = [
            *("id", "status_url", "benchmark", "team", "system", "run", "state", "reason_code", "reason"),
            *("file_sha256", "size", "model_sha256", "filename", "format", "form", "phase", "aggregate"),
            *("counts", "old_labels", "saw_gold", "created_at", "ended_at", "final_at", "final_in"),
            *("withdrawn_at", "progress"),
        ]
        read_only_fields = fields

    def get_status_url(self, submission: Submission) -> str:
        path = reverse("api-submission", args=[submission.pk])
        request = self.context.get("request")
        return request.build_absolute_uri(path) if request else path

    @extend_schema_field(serializers.DateTimeField(allow_null=True))
    def get_final_at(self, submission: Submission) -> datetime | None:
        return submission.final_at if self.get_final_in(submission) else None

    @extend_schema_field(serializers.ListField(child=serializers.CharField(allow_blank=True)))
    def get_final_in(self, submission: Submission) -> list[str]:
        if submission.final_at is None:
            return []
        known = cast("dict[str, Any]", self.context)
        if FINAL not in known:  # as many queries for a list as for one
            listed: Any = self.parent.instance if self.parent else [submission]
            known[FINAL] = final_entries.final_phases({each.benchmark_id for each in listed})
        phases: list[str] = known[FINAL].get(submission.pk, [])
        return phases


class OutlookSerializer(serializers.Serializer[queue_status.JobForecast]):
    """Position in the queue and estimated time from recent jobs."""

    position = serializers.IntegerField(help_text="1: next. 0: running.")
    seconds = serializers.FloatField(
        allow_null=True,
        help_text="null: no estimate, as too few jobs have ended, no worker is active, "
        "or the job takes longer than earlier ones without reporting progress.",
    )


class SubmissionDetailSerializer(SubmissionSerializer):
    timeline = serializers.SerializerMethodField()
    outlook = serializers.SerializerMethodField()

    class Meta(SubmissionSerializer.Meta):
        fields = [*SubmissionSerializer.Meta.fields, "timeline", "outlook"]
        read_only_fields = fields

    @extend_schema_field(StepSerializer(many=True))
    def get_timeline(self, submission: Submission) -> list[dict[str, Any]]:
        return [dict(StepSerializer(step).data) for step in timeline.timeline(submission)]

    @extend_schema_field(OutlookSerializer(allow_null=True))
    def get_outlook(self, submission: Submission) -> dict[str, Any] | None:
        forecast = queue_status.forecast(submission.job) if submission.job else None
        return dict(OutlookSerializer(forecast).data) if forecast else None


# ---- views ------------------------------------------------------------------------------------------
FILTERS = [
    OpenApiParameter("state", str, enum=Submission.State.values),
    OpenApiParameter("phase", str, enum=Setting.Phase.values),
    OpenApiParameter("system", str, description="Name of the system."),
    OpenApiParameter("run", str, description="Name of the run."),
    OpenApiParameter("team", str, description="Slug of the team."),
    OpenApiParameter(
        "since",
        OpenApiTypes.DATE,
        description="First day of submission, in the time zone of the benchmark.",
    ),
    OpenApiParameter("until", OpenApiTypes.DATE, description="Last day of submission, likewise."),
]


def received_as(received: intake.Received, request: Request) -> Response:
    """Answer 202 for a new submission, 200 for a repeat."""
    shown = SubmissionSerializer(received.submission, context={"request": request}).data
    status = 202 if received.created else 200
    return Response(shown, status=status, headers={"Location": shown["status_url"]})


class NewestFirst(Pages):
    ordering = "-id"


class Submissions(generics.ListAPIView[Submission]):
    for_teams = True

    serializer_class = SubmissionSerializer
    pagination_class = NewestFirst
    parser_classes = [FilesParser, StorableJSONParser, FormParser]
    needs_scope = "submit"
    queryset = Submission.objects.none()

    def get_queryset(self) -> QuerySet[Submission]:
        benchmark = roles.benchmark_for(self.request.user, self.kwargs["slug"])
        visible = roles.requested_submissions(self.request).filter(benchmark=benchmark)
        chosen: dict[str, Any] = query_choices(
            self.request, state=Submission.State.values, phase=Setting.Phase.values
        )
        if "phase" in chosen:
            chosen["phase__in"] = file_contract.sent_to(chosen.pop("phase"))
        query, fields = (
            self.request.query_params,
            {"system": "system__name", "team": "system__team__slug", "run": "run"},
        )
        named = {field: query[name] for name, field in fields.items() if query.get(name)}
        since, until = (query_day(self.request, name) for name in ("since", "until"))
        days = submitted_on(benchmark, since=since, until=until)
        return visible.filter(**chosen, **named, **days)

    @extend_schema(
        operation_id="submissions_list",
        parameters=FILTERS,
        responses={200: SubmissionSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the submissions of your teams; organisers see all."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="submissions_create",
        parameters=[*FIELDS, OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER)],
        request=BYTES | {"multipart/form-data": UploadSerializer},
        responses={202: SubmissionSerializer, 200: SubmissionSerializer}
        | problems(400, 401, 403, 404, 409, 411, 413, 422, 429),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Submit a prediction file as a run; 200 for a repeat."""
        benchmark = roles.benchmark_for(request.user, slug)
        upload = upload_of(request, most=file_contract.limit(benchmark, "upload_bytes"), known=FORM_FIELDS)
        aggregate = upload.fields.get("aggregate") or "ONE"
        fields = fields_of(request, upload)
        received = intake.receive(benchmark, **fields, aggregate=aggregate, names=names_of(upload))
        return received_as(received, request)


class OneSubmission(APIView):
    for_teams = True

    @extend_schema(
        operation_id="submission",
        parameters=[
            OpenApiParameter(
                "wait",
                {"type": "integer", "minimum": 0, "maximum": 99_999},
                description="Respond when the state changes, but after this many seconds at the latest. "
                "Up to 20. With too many waiting requests the response comes at once, with Retry-After.",
            )
        ],
        responses={200: SubmissionDetailSerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        """State, progress, position in the queue and timeline of a submission."""
        submission = roles.requested_submission(request, pk)
        wait, headers = request.query_params.get("wait"), {}
        seconds = None if wait is None else long_poll.seconds_of(wait)
        if seconds is not None and submission.state not in submission_states.ENDED:
            if not long_poll.wait_for_change(submission, seconds):
                headers["Retry-After"] = str(long_poll.RETRY_SECONDS)
            request = authenticated_again(self, request)
            submission = roles.requested_submission(request, pk)
        data = SubmissionDetailSerializer(submission, context={"request": request}).data
        return Response(data, headers=headers)


ENDED = {200: SubmissionSerializer} | problems(401, 403, 404, 409)


def changed(request: Request, pk: int, change: Callable[..., None]) -> Response:
    """Apply a change to a submission and answer with its new state."""
    change(roles.requested_submission(request, pk, to_change=True), by=users.person(request))
    submission = roles.requested_submission(request, pk)
    return Response(SubmissionSerializer(submission, context={"request": request}).data)


class Cancel(APIView):
    for_teams = True
    needs_scope = "submit"

    @extend_schema(operation_id="submission_cancel", request=None, responses=ENDED)
    def post(self, request: Request, pk: int) -> Response:
        """Cancel a waiting or running submission."""
        return changed(request, pk, submission_states.cancel)


class Retry(APIView):
    for_teams = True
    needs_scope = "submit"

    @extend_schema(operation_id="submission_retry", request=None, responses=ENDED)
    def post(self, request: Request, pk: int) -> Response:
        """Restart the failed job of a submission."""
        return changed(request, pk, submission_states.retry)


class FinalSerializer(serializers.Serializer[Any]):
    phase = serializers.ChoiceField(
        choices=Setting.Phase.values,
        required=False,
        help_text="By default all its phases that have not ended.",
    )


class ChooseFinal(APIView):
    for_teams = True
    needs_scope = "submit"

    @extend_schema(
        operation_id="submission_final",
        request=FinalSerializer,
        responses={200: SubmissionSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Choose a scored run as the final one of its system, or of its team."""
        choose = partial(final_entries.choose, **validated(request, FinalSerializer))
        return changed(request, pk, choose)


class Withdraw(APIView):
    for_teams = True
    needs_scope = "submit"

    @extend_schema(operation_id="submission_withdraw", request=None, responses=ENDED)
    def post(self, request: Request, pk: int) -> Response:
        """Withdraw a submission from all boards permanently."""
        return changed(request, pk, submission_states.withdraw)


class Models(APIView):
    for_teams = True
    parser_classes = [FilesParser, StorableJSONParser, FormParser]
    needs_scope = "submit"

    @extend_schema(
        operation_id="models_create",
        parameters=[
            *(field for field in FIELDS if field.name not in ("aggregate", "columns", "na")),
            OpenApiParameter("Idempotency-Key", str, OpenApiParameter.HEADER),
        ],
        request=TAR | {"multipart/form-data": UploadSerializer},
        responses={202: SubmissionSerializer, 200: SubmissionSerializer}
        | problems(400, 401, 403, 404, 409, 411, 413, 429),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Submit a spaCy pipeline as one tar; its predictions are scored."""
        benchmark = roles.benchmark_for(request.user, slug)
        upload = upload_of(request, most=settings.MODEL_MAX_BYTES, known=MODEL_FIELDS)
        return received_as(model_intake.receive(benchmark, **fields_of(request, upload)), request)
