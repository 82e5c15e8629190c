"""The JSON door to a project's labels and the words that people read of them."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api import label_serializers as shapes
from annotation.api.labelling import person, project_of
from annotation.models import OntologyLabel
from annotation.ontology import label_texts
from annotation.roles import CURATOR
from evalsvc.core.errors.serializers import problems


class Labels(APIView):
    @extend_schema(
        operation_id="ontology",
        responses={200: shapes.OntologyLabelSerializer(many=True)} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every label as the data spells it, merged and deleted ones too, in order; for curators."""
        project = project_of(request, slug)
        roles.require(project, person(request), CURATOR)
        return Response(shapes.OntologyLabelSerializer(project.labels.order_by("rank", "pk"), many=True).data)


class OneLabel(APIView):
    @extend_schema(
        operation_id="ontology_label",
        responses={200: shapes.OntologyLabelSerializer} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """One label with its words; for curators."""
        return Response(shapes.OntologyLabelSerializer(_label(request, slug, pk)).data)

    @extend_schema(
        operation_id="ontology_label_describe",
        request=shapes.LabelWordsSerializer,
        responses={200: shapes.OntologyLabelSerializer} | problems(400, 401, 403, 404),
    )
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Give it other words; its name, and so every answer, stays as it is."""
        label = _label(request, slug, pk)
        said = shapes.LabelWordsSerializer(data=request.data, partial=True)
        said.is_valid(raise_exception=True)
        kept = label_texts.describe(label, by=person(request), **said.validated_data)
        return Response(shapes.OntologyLabelSerializer(kept).data)


def _label(request: Request, slug: str, pk: int) -> OntologyLabel:
    project = project_of(request, slug)
    roles.require(project, person(request), CURATOR)
    found = project.labels.filter(pk=pk).first()
    if found is None:
        raise Http404
    return found
