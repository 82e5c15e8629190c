"""API of a project's guideline and its versions, for curators."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import projects
from annotation.api.lookups import curated, project_of
from annotation.ontology import guideline_versions
from annotation.reports.vote_figures import figures_of
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.markdown import MAX_LENGTH
from evalsvc.core.web.request_validation import validated


class GuidelineVersionSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    text = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()
    answers = serializers.IntegerField(
        allow_null=True, help_text="Current answers of people who had this version; null while being counted."
    )
    asked_again_at = serializers.DateTimeField(allow_null=True, help_text="Since then they don't count.")
    labels = serializers.ListField(
        child=serializers.CharField(), help_text="Only answers with one of these are asked again; none: all."
    )


class GuidelineTextSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=MAX_LENGTH, allow_blank=True, help_text="Markdown.")


class AskAgainSerializer(serializers.Serializer[Any]):
    again = serializers.BooleanField(default=True, help_text="false: count them again.")
    labels = serializers.ListField(child=serializers.CharField(max_length=200), default=list)


class Guidelines(APIView):
    @extend_schema(
        operation_id="guideline_versions",
        responses={200: GuidelineVersionSerializer(many=True)} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the versions of the guideline, the newest first. For curators."""
        return _versions(request, slug)

    @extend_schema(
        operation_id="guideline_set",
        request=GuidelineTextSerializer,
        responses={200: GuidelineVersionSerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Change the guideline; once the project was opened, each text is a new version."""
        project, by = curated(request, slug)
        projects.set_guideline(project, guideline=validated(request, GuidelineTextSerializer)["text"], by=by)
        return _versions(request, slug)


class AskedAgain(APIView):
    @extend_schema(
        operation_id="guideline_ask_again",
        request=AskAgainSerializer,
        responses={200: GuidelineVersionSerializer(many=True)} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Ask the answers under an earlier version again, or count them again; `effects` previews it."""
        project, by = curated(request, slug)
        guideline_versions.ask_again(project, number, **validated(request, AskAgainSerializer), by=by)
        return _versions(request, slug)


def _versions(request: Request, slug: str) -> Response:
    project = project_of(request, slug)
    answers = figures_of(project).ready("guidelines")
    rows = guideline_versions.versions(project, answers=answers, by=person(request))
    return Response(GuidelineVersionSerializer(rows, many=True).data)
