"""API of the versions of an ontology, for curators."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api.lookups import curated, project_of
from annotation.ontology import versions
from annotation.ontology.versions import Version
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.pagination import PagesOfList
from evalsvc.core.web.request_validation import validated


class OntologyVersionSerializer(serializers.Serializer[Version]):
    number = serializers.IntegerField()
    at = serializers.DateTimeField()
    by = serializers.CharField()
    made = serializers.SerializerMethodField(help_text="Steps made then, by number.")
    undone = serializers.SerializerMethodField(help_text="Steps undone then.")
    n_steps = serializers.IntegerField(help_text="Number of steps in use since.")

    def get_made(self, version: Version) -> list[int]:
        return [step.number for step in version.made]

    def get_undone(self, version: Version) -> list[int]:
        return [step.number for step in version.undone]


class VersionStepsSerializer(OntologyVersionSerializer):
    steps = serializers.SerializerMethodField(help_text="Steps in use since, by number.")

    def get_steps(self, version: Version) -> list[int]:
        return [step.number for step in version.steps]


class RestoreSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="Number of the version whose steps are made again.")


class OntologyVersions(generics.ListAPIView[Any]):
    serializer_class = OntologyVersionSerializer
    pagination_class = PagesOfList

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return []
        return versions.versions(project_of(self.request, self.kwargs["slug"]), by=person(self.request))

    @extend_schema(
        operation_id="ontology_versions",
        responses={200: OntologyVersionSerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the versions, the oldest first; version 1 has no steps. For curators."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="ontology_restore",
        request=RestoreSerializer,
        responses={200: VersionStepsSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Restore an earlier version as a new one, which is returned; `effects` previews it."""
        project, by = curated(request, slug)
        versions.restore(project, validated(request, RestoreSerializer)["version"], by=by)
        return Response(VersionStepsSerializer(versions.versions(project, by=by)[-1]).data)


class OneOntologyVersion(APIView):
    @extend_schema(
        operation_id="ontology_version",
        responses={200: VersionStepsSerializer} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Get a version with the steps in use since. For curators."""
        rows = versions.versions(project_of(request, slug), by=person(request))
        if not 1 <= number <= len(rows):
            raise Http404
        return Response(VersionStepsSerializer(rows[number - 1]).data)
