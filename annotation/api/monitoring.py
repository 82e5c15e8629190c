"""API for monitoring a project: statistics, quality settings, annotators and agreement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api.lookups import project_of
from annotation.consensus.pending_recomputation import is_recomputing
from annotation.models import AgreementReport, Annotator, Oversight, Project
from annotation.queue import exclusions, pauses, quality_settings
from annotation.reports import agreement, project_stats, vote_log
from annotation.reports.vote_figures import figures_of
from annotation.roles import CURATOR
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.downloads import jsonl_file, long_csv_file
from evalsvc.core.web.request_validation import validated

STATES = "Items by state; for viewers until the project is closed their number, `all`."
CURATORS_ALONE = "Null for others than curators until the project is closed: it would reveal answers."


class DaySerializer(serializers.Serializer[Any]):
    day = serializers.DateField()
    answers = serializers.IntegerField()
    skips = serializers.IntegerField()
    annotators = serializers.IntegerField()


class AnnotatorSerializer(serializers.Serializer[Any]):
    annotator = serializers.IntegerField()
    name = serializers.CharField(help_text="Name in downloads: the user name of people with an account.")
    shown = serializers.CharField(source="display_name", help_text="Display name.")
    answers = serializers.IntegerField()
    counted = serializers.IntegerField(
        allow_null=True,
        help_text=f"Answers that count: not excluded, asked again or surplus. {CURATORS_ALONE}",
    )
    skips = serializers.IntegerField()
    flags = serializers.IntegerField()
    surplus = serializers.IntegerField(
        allow_null=True,
        help_text=f"Stored but not counted: enough others answered earlier. {CURATORS_ALONE}",
    )
    holding = serializers.IntegerField(source="leases")
    median_seconds = serializers.FloatField(allow_null=True)
    rushed = serializers.FloatField(
        allow_null=True,
        help_text="Share of answers given faster than a third of the project's median time, or faster "
        "than reading a sentence of mean length at 60 characters a second, whichever is longer.",
    )
    known_done = serializers.IntegerField(source="gold_answered", help_text="Gold questions answered.")
    known_right = serializers.IntegerField(
        source="gold_right", help_text="Gold questions answered correctly."
    )
    paused = serializers.BooleanField()
    pause_reason = serializers.CharField()
    last_at = serializers.DateTimeField(allow_null=True)
    idle = serializers.BooleanField()


class LabelInsightSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    items = serializers.IntegerField(help_text="Items with enough answers, at least one with this label.")
    disputed = serializers.IntegerField(help_text="Those of them that are or were disputed.")
    share = serializers.FloatField(allow_null=True)


class InsightSerializer(serializers.Serializer[Any]):
    states = serializers.DictField(child=serializers.IntegerField(), help_text=STATES)
    other_policy_changes = serializers.IntegerField(
        allow_null=True, help_text=f"Items that the other policy would decide differently. {CURATORS_ALONE}"
    )
    flagged = serializers.IntegerField()
    reasons = serializers.DictField(child=serializers.IntegerField(), help_text="Skips by reason.")
    idle = serializers.ListField(child=serializers.CharField())
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="Of the figures over all votes, while newer votes are being counted."
    )
    recomputing = serializers.BooleanField(
        help_text="True while states and what follows from them may be those of earlier rules, labels or k."
    )
    days = DaySerializer(many=True)
    annotators = AnnotatorSerializer(many=True)
    labels = LabelInsightSerializer(many=True, allow_null=True, help_text=CURATORS_ALONE)


class QualitySerializer(serializers.ModelSerializer[Project]):
    class Meta:
        model = Project
        fields = [
            *("qualifies", "check_every", "least_checks", "pass_percent"),
            *("most_extra", "calls_extra", "suggests"),
        ]


class PauseSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)


@extend_schema_serializer(component_name="Concerned")
class AffectedAnswersSerializer(serializers.Serializer[Any]):
    n = serializers.IntegerField(help_text="Number of answers affected.")


class AgreementSerializer(serializers.ModelSerializer[AgreementReport]):
    state = serializers.CharField(read_only=True, help_text="waiting, running, done or failed")
    figures = serializers.JSONField(
        read_only=True,
        help_text="annotators, people, pairs (of the 40 with the most answers), relations, na, overall; "
        "each coefficient with its interval or a reason. For spans: types with F1 over all pairs of answers, "
        "token_alpha (Krippendorff’s nominal α, a token’s value being the set of types that cover it), and "
        "confused, a table of types on equal bounds in the order of types.",
    )

    class Meta:
        model = AgreementReport
        fields = ["id", "state", "figures", "reason", "created_at", "ended_at"]
        read_only_fields = fields


class Insight(APIView):
    @extend_schema(
        operation_id="project_insight", responses={200: InsightSerializer} | problems(401, 403, 404, 503)
    )
    def get(self, request: Request, slug: str) -> Response:
        """Get progress by day, counts by annotator and disputes by relation."""
        project, user = project_of(request, slug), person(request)
        figures = figures_of(project)
        of_project: dict[str, Any] = {"for_user": user, "figures": figures}
        labels = None
        if roles.reads_label_counts(project, roles.require(project, user)):
            rows = project_stats.by_label(project, **of_project)
            labels = [asdict(row) | {"share": row.share} for row in rows]
        body = project_stats.overview(project, **of_project) | {
            "days": [asdict(day) for day in project_stats.by_day(project, **of_project)],
            "annotators": [asdict(row) for row in project_stats.by_annotator(project, **of_project)],
            "labels": labels,
            "computed_at": figures.computed_at,
            "recomputing": is_recomputing(project),
        }
        return Response(InsightSerializer(body).data)


class Quality(APIView):
    @extend_schema(
        operation_id="project_quality",
        responses={200: QualitySerializer} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Get the quality settings of a project."""
        project = project_of(request, slug)
        roles.require(project, person(request), CURATOR)
        return Response(QualitySerializer(project).data)

    @extend_schema(
        operation_id="project_quality_set",
        request=QualitySerializer,
        responses={200: QualitySerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Change the qualification round, hidden checks, extra annotators or predictions."""
        body = validated(request, QualitySerializer, partial=True)
        project = quality_settings.set_quality_options(project_of(request, slug), by=person(request), **body)
        return Response(QualitySerializer(project).data)


def _annotator(request: Request, pk: int) -> Annotator:
    """Return an annotator to a curator; others learn from no number whether it is one of their project."""
    annotator = Annotator.objects.select_related("project").filter(pk=pk).first()
    if annotator is None or roles.role_in(annotator.project, person(request)) != CURATOR:
        raise Http404
    return annotator


class Pause(APIView):
    @extend_schema(
        operation_id="annotator_pause",
        request=PauseSerializer,
        responses={204: None} | problems(400, 401, 403, 404),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Pause an annotator. They get no new items, and their leases end."""
        reason = validated(request, PauseSerializer)["reason"]
        pauses.pause(_annotator(request, pk), by=person(request), reason=reason)
        return Response(status=204)


class Resume(APIView):
    @extend_schema(
        operation_id="annotator_resume", request=None, responses={204: None} | problems(401, 403, 404)
    )
    def post(self, request: Request, pk: int) -> Response:
        """Let a paused annotator continue."""
        pauses.resume(_annotator(request, pk), by=person(request))
        return Response(status=204)


_EXCLUSION: Any = {
    "request": PauseSerializer,
    "responses": {200: AffectedAnswersSerializer} | problems(400, 401, 403, 404, 409),
}


def _oversee(request: Request, pk: int, act: Callable[..., Oversight]) -> Response:
    """Exclude or include an annotator's answers, and return how many."""
    reason = validated(request, PauseSerializer)["reason"]
    record = act(_annotator(request, pk), by=person(request), reason=reason)
    return Response(AffectedAnswersSerializer(record).data)


class SetAside(APIView):
    @extend_schema(operation_id="annotator_set_aside", **_EXCLUSION)
    def post(self, request: Request, pk: int) -> Response:
        """Exclude an annotator's answers from the count.

        The answers stay stored; the items are decided again.
        """
        return _oversee(request, pk, exclusions.exclude_annotator)


class PutBack(APIView):
    @extend_schema(operation_id="annotator_put_back", **_EXCLUSION)
    def post(self, request: Request, pk: int) -> Response:
        """Include an annotator's excluded answers again."""
        return _oversee(request, pk, exclusions.include_annotator)


class Agreement(APIView):
    @extend_schema(
        operation_id="project_agreement",
        responses={200: AgreementSerializer, 204: None} | problems(401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Get the latest agreement report. 204 without one. Until the project is closed, for curators."""
        report = agreement.latest(project_of(request, slug), for_user=person(request))
        if report is None:
            return Response(status=204)
        figures = agreement.figures_for(report, person(request))
        return Response(AgreementSerializer(report).data | {"figures": figures})

    @extend_schema(
        operation_id="project_agreement_ask",
        request=None,
        responses={202: AgreementSerializer} | problems(401, 403, 404, 409, 429),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Request an agreement report. A job computes it. Until the project is closed, for curators."""
        report = agreement.request_report(project_of(request, slug), by=person(request))
        return Response(AgreementSerializer(report).data, status=202)


class Judgments(APIView):
    @extend_schema(
        operation_id="project_judgments",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download the raw answers as an importable JSONL file. For curators."""
        project = project_of(request, slug)
        lines = agreement.judgments(project, by=person(request))
        return jsonl_file(f"{project.slug}-judgments.jsonl", lines)


class Votes(APIView):
    @extend_schema(
        operation_id="project_votes",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download every answer and skip with times, comments and flags, under pseudonyms. For curators."""
        project = project_of(request, slug)
        return jsonl_file(f"{project.slug}-votes.jsonl", vote_log.lines(project, by=person(request)))


class VoteTable(APIView):
    @extend_schema(
        operation_id="project_votes_csv",
        responses={(200, "text/csv"): OpenApiTypes.BINARY} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download the same as a table, with the answer as JSON in a cell."""
        project = project_of(request, slug)
        rows = vote_log.table(project, by=person(request))
        return long_csv_file(f"{project.slug}-votes.csv", vote_log.COLUMNS, rows)
