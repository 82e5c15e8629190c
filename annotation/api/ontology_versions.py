"""API of the versions of an ontology, for curators."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api.projects import project_of
from annotation.ontology import versions
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated


class OntologyVersionSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField()
    at = serializers.DateTimeField()
    by = serializers.CharField()
    made = serializers.ListField(child=serializers.IntegerField(), help_text="Steps made then, by number.")
    undone = serializers.ListField(child=serializers.IntegerField(), help_text="Steps undone then.")
    steps = serializers.ListField(child=serializers.IntegerField(), help_text="Steps in use since.")


class RestoreSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(help_text="Number of the version whose steps are made again.")


class OntologyVersions(APIView):
    @extend_schema(
        operation_id="ontology_versions",
        responses={200: OntologyVersionSerializer(many=True)} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the versions, the oldest first; version 1 has no steps. For curators."""
        return _versions(request, slug)

    @extend_schema(
        operation_id="ontology_restore",
        request=RestoreSerializer,
        responses={200: OntologyVersionSerializer(many=True)} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Restore an earlier version as a new one; `effects` previews it."""
        project, by = project_of(request, slug), person(request)
        roles.require(project, by, roles.CURATOR)
        versions.restore(project, validated(request, RestoreSerializer)["version"], by=by)
        return _versions(request, slug)


def _versions(request: Request, slug: str) -> Response:
    rows = [
        {"number": row.number, "at": row.at, "by": row.by}
        | {name: [step.number for step in getattr(row, name)] for name in ("made", "undone", "steps")}
        for row in versions.versions(project_of(request, slug), by=person(request))
    ]
    return Response(OntologyVersionSerializer(rows, many=True).data)
