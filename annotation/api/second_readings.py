"""API of second readings: draw decisions, read them again, and how far deciders agree."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.adjudication import second_readings
from annotation.adjudication.decisions import FINDINGS
from annotation.api.disputes import item_to_decide
from annotation.api.labelling import PayloadSerializer
from annotation.api.lookups import curated, project_of
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated


class SampleSerializer(serializers.Serializer[Any]):
    n = serializers.IntegerField(min_value=1, max_value=second_readings.MOST)
    seed = serializers.CharField(max_length=100)


class ReadingSerializer(serializers.Serializer[Any]):
    payload = PayloadSerializer(required=False)
    finding = serializers.ChoiceField(choices=["", *FINDINGS], default="")
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=4_000)
    reveal = serializers.BooleanField(
        default=False, help_text="Instead of an answer: you may see the decision, and no longer read it."
    )


class SecondReadingsSerializer(serializers.Serializer[Any]):
    waiting = serializers.ListField(child=serializers.UUIDField(), help_text="Items that you may read.")
    asked = serializers.IntegerField(
        required=False, help_text="Decisions drawn; for curators, as what follows."
    )
    read = serializers.IntegerField(required=False)
    agreed = serializers.IntegerField(required=False)
    alpha = serializers.FloatField(required=False, allow_null=True, help_text="Krippendorff's, nominal.")
    differences = serializers.ListField(child=serializers.UUIDField(), required=False)


class SecondReadings(APIView):
    @extend_schema(
        operation_id="second_readings",
        responses={200: SecondReadingsSerializer} | problems(401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the decisions that wait for your second reading; curators see how far deciders agree."""
        return _summary(request, slug)

    @extend_schema(
        operation_id="second_readings_ask",
        request=SampleSerializer,
        responses={200: SecondReadingsSerializer} | problems(400, 401, 403, 404),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Draw decisions for a second reading."""
        project, by = curated(request, slug)
        second_readings.ask(project, **validated(request, SampleSerializer), by=by)
        return _summary(request, slug)


def _summary(request: Request, slug: str) -> Response:
    project, user = project_of(request, slug), person(request)
    role = roles.require(project, user, *roles.MAY_DECIDE)
    waiting = second_readings.waiting(project, user)[: second_readings.MOST]
    body: dict[str, Any] = {"waiting": [each.decision.item.key for each in waiting]}
    if role == roles.CURATOR:
        result = second_readings.agreement(project, by=user)
        body |= {"asked": result.asked, "read": len(result.pairs)}
        body |= {"agreed": result.agreed, "alpha": result.alpha}
        body["differences"] = [pair.reading.decision.item.key for pair in result.differences]
    return Response(SecondReadingsSerializer(body).data)


class SecondReading(APIView):
    @extend_schema(
        operation_id="item_second_reading",
        request=ReadingSerializer,
        responses={204: None} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Decide an item again, without having seen its decision; the gold stays."""
        item, by = item_to_decide(request, id), person(request)
        values = validated(request, ReadingSerializer)
        if values.pop("reveal"):
            second_readings.reveal(item, by=by)
        else:
            second_readings.read(item, by=by, **values)
        return Response(status=204)
