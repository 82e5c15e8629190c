"""Serializers of errors, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers


@extend_schema_serializer(component_name="OneOfThem")
class ErrorEntrySerializer(serializers.Serializer[Any]):
    """An error in a line of a file or a field."""

    code = serializers.CharField()
    line = serializers.IntegerField(required=False)
    field = serializers.CharField(required=False, allow_blank=True)
    found = serializers.CharField(required=False)
    expected = serializers.CharField(required=False)
    hint = serializers.CharField(required=False)
    example = serializers.CharField(required=False, help_text="A correct line or value.")
    message = serializers.CharField(required=False)


class ProblemSerializer(serializers.Serializer[Any]):
    """Problem details (RFC 9457)."""

    type = serializers.CharField(help_text="URL of the documentation of the code.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    hint = serializers.CharField(required=False)
    field = serializers.CharField(required=False)
    errors = ErrorEntrySerializer(many=True, required=False, help_text="The first 20 errors.")  # type: ignore[assignment]
    error_count = serializers.IntegerField(required=False)
    limit = serializers.IntegerField(required=False, help_text="With status 413: the maximum.")
    number = serializers.IntegerField(
        required=False, help_text="With answered_elsewhere: number of your latest vote. Send it as base."
    )
    next_allowed_at = serializers.DateTimeField(
        required=False, help_text="With status 429: time from which the next submission is allowed."
    )
    errors_by_code = serializers.DictField(child=serializers.IntegerField(), required=False)


def problems(*statuses: int) -> dict[tuple[int, str], type[ProblemSerializer]]:
    """Return the error responses of an endpoint for its OpenAPI description."""
    return {(status, "application/problem+json"): ProblemSerializer for status in statuses}
