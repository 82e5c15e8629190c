"""The JSON door for those who watch a project: how it goes, who is paused, how far people agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api import monitoring_serializers as shapes
from annotation.api.labelling import person, project_of, sent
from annotation.models import Annotator, Oversight
from annotation.queue import exclusions, gold_questions
from annotation.reports import agreement, project_stats
from annotation.roles import CURATOR
from evalsvc.core.errors.serializers import problems


class Insight(APIView):
    @extend_schema(
        operation_id="project_insight", responses={200: shapes.InsightSerializer} | problems(401, 403, 404)
    )
    def get(self, request: Request, slug: str) -> Response:
        """Progress by day, counts by annotator, disputes by relation; for those who oversee the project."""
        project, user = project_of(request, slug), person(request)
        told: dict[str, Any] = project_stats.overview(project, for_user=user)
        told["days"] = [asdict(day) for day in project_stats.by_day(project, for_user=user)]
        told["annotators"] = [asdict(one) for one in project_stats.by_annotator(project, for_user=user)]
        labels = project_stats.by_label(project, for_user=user)
        told["labels"] = [asdict(label) | {"share": label.share} for label in labels]
        return Response(shapes.InsightSerializer(told).data)


class Quality(APIView):
    @extend_schema(
        operation_id="project_quality",
        responses={200: shapes.QualitySerializer} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """How the project watches its annotators."""
        project = project_of(request, slug)
        roles.require(project, person(request), CURATOR)
        return Response(shapes.QualitySerializer(project).data)

    @extend_schema(
        operation_id="project_quality_set",
        request=shapes.QualitySerializer,
        responses={200: shapes.QualitySerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Change it: the qualification round, hidden checks, extra people, suggestions."""
        asked = shapes.QualitySerializer(data=request.data, partial=True)
        asked.is_valid(raise_exception=True)
        changed = gold_questions.set_quality(
            project_of(request, slug), by=person(request), **asked.validated_data
        )
        return Response(shapes.QualitySerializer(changed).data)


def _annotator(request: Request, pk: int) -> Annotator:
    seen = roles.visible(person(request)).values("pk")
    found = Annotator.objects.select_related("project").filter(pk=pk, project__in=seen).first()
    if found is None:
        raise Http404
    return found


class Pause(APIView):
    @extend_schema(
        operation_id="annotator_pause",
        request=shapes.PauseSerializer,
        responses={204: None} | problems(400, 401, 403, 404),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Give an annotator nothing new; what they hold goes back into the pool."""
        said = sent(request, shapes.PauseSerializer)
        gold_questions.pause(_annotator(request, pk), by=person(request), reason=said["reason"])
        return Response(status=204)


class Resume(APIView):
    @extend_schema(
        operation_id="annotator_resume", request=None, responses={204: None} | problems(401, 403, 404)
    )
    def post(self, request: Request, pk: int) -> Response:
        """Let a paused annotator go on."""
        gold_questions.resume(_annotator(request, pk), by=person(request))
        return Response(status=204)


_OVERSEEN: Any = {
    "request": shapes.PauseSerializer,
    "responses": {200: shapes.ConcernedSerializer} | problems(400, 401, 403, 404, 409),
}


def _concerned(request: Request, pk: int, act: Callable[..., Oversight]) -> Response:
    """Do it to the annotator; how many answers it concerned."""
    said = sent(request, shapes.PauseSerializer)
    made = act(_annotator(request, pk), by=person(request), reason=said["reason"])
    return Response(shapes.ConcernedSerializer(made).data)


class SetAside(APIView):
    @extend_schema(operation_id="annotator_set_aside", **_OVERSEEN)
    def post(self, request: Request, pk: int) -> Response:
        """Count none of an annotator's answers; they are kept, and what they decided is decided anew."""
        return _concerned(request, pk, exclusions.set_aside)


class PutBack(APIView):
    @extend_schema(operation_id="annotator_put_back", **_OVERSEEN)
    def post(self, request: Request, pk: int) -> Response:
        """Count an annotator's answers again."""
        return _concerned(request, pk, exclusions.put_back)


class Agreement(APIView):
    @extend_schema(
        operation_id="project_agreement",
        responses={200: shapes.AgreementSerializer, 204: None} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """The newest agreement report; 204 when nobody asked for one."""
        report = agreement.latest(project_of(request, slug), for_user=person(request))
        if report is None:
            return Response(status=204)
        figures = agreement.figures_for(report, person(request))
        return Response(shapes.AgreementSerializer(report).data | {"figures": figures})

    @extend_schema(
        operation_id="project_agreement_ask",
        request=None,
        responses={202: shapes.AgreementSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Have the agreement of the annotators computed; the work is done by a job."""
        report = agreement.ask(project_of(request, slug), by=person(request))
        return Response(shapes.AgreementSerializer(report).data, status=202)


class Judgments(APIView):
    @extend_schema(
        operation_id="project_judgments",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """The raw judgments as lines that an import of answers takes; for curators."""
        project = project_of(request, slug)
        lines = agreement.judgments(project, by=person(request))
        response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
        response["Content-Disposition"] = f'attachment; filename="{project.slug}-judgments.jsonl"'
        return response
