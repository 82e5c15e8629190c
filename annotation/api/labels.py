"""API of a project's labels and their texts."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api.lookups import project_of
from annotation.models import OntologyLabel, Project
from annotation.ontology.label_texts import (
    MAX_EXAMPLE_LENGTH,
    MAX_EXAMPLES,
    MAX_LENGTHS,
    set_texts,
)
from annotation.ontology.labels import TEXT_FIELDS
from annotation.roles import CURATOR
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated


def _text_field(name: str, help_text: str = "") -> serializers.CharField:
    return serializers.CharField(
        max_length=MAX_LENGTHS[name], required=False, allow_blank=True, help_text=help_text
    )


def _examples_field(help_text: str) -> serializers.ListField:
    example = serializers.CharField(max_length=MAX_EXAMPLE_LENGTH)
    return serializers.ListField(child=example, max_length=MAX_EXAMPLES, required=False, help_text=help_text)


@extend_schema_serializer(component_name="LabelWords")
class LabelTextsSerializer(serializers.Serializer[Any]):
    """Texts to change; omitted ones stay as they are."""

    title = serializers.CharField(
        max_length=MAX_LENGTHS["title"], required=False, help_text="Name shown to people."
    )
    phrase = _text_field("phrase", "Verb phrase between head and tail, such as “lived in”.")
    group = _text_field("group", "Group heading.")
    definition = _text_field("definition", "Markdown.")
    choose = _examples_field("Examples to which the label applies.")
    avoid = _examples_field("Examples to which the label does not apply.")
    head_type = _text_field("head_type", "Expected entity type of the head, as spelled in the data.")
    tail_type = _text_field("tail_type")


class OntologyLabelSerializer(serializers.ModelSerializer[OntologyLabel]):
    choose = serializers.ListField(child=serializers.CharField(), read_only=True)
    avoid = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = OntologyLabel
        fields = ["id", "part", "name", *TEXT_FIELDS]
        read_only_fields = fields


def _curated(request: Request, slug: str) -> Project:
    project = project_of(request, slug)
    roles.require(project, person(request), CURATOR)
    return project


class Labels(APIView):
    @extend_schema(
        operation_id="ontology",
        responses={200: OntologyLabelSerializer(many=True)} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List all labels in order, including merged and deleted ones. For curators."""
        labels = _curated(request, slug).labels.order_by("rank", "pk")
        return Response(OntologyLabelSerializer(labels, many=True).data)


class OneLabel(APIView):
    @extend_schema(
        operation_id="ontology_label",
        responses={200: OntologyLabelSerializer} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Get a label with its texts. For curators."""
        return Response(OntologyLabelSerializer(_label(request, slug, pk)).data)

    @extend_schema(
        operation_id="ontology_label_describe",
        request=LabelTextsSerializer,
        responses={200: OntologyLabelSerializer} | problems(400, 401, 403, 404),
    )
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Change the texts of a label, not its name."""
        label = _label(request, slug, pk)
        texts = validated(request, LabelTextsSerializer, partial=True)
        label = set_texts(label, by=person(request), **texts)
        return Response(OntologyLabelSerializer(label).data)


def _label(request: Request, slug: str, pk: int) -> OntologyLabel:
    label = _curated(request, slug).labels.filter(pk=pk).first()
    if label is None:
        raise Http404
    return label
