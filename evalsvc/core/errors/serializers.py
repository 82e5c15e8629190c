"""The shape of every error under /api/, as the API's description tells it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class OneOfThemSerializer(serializers.Serializer[Any]):
    """One thing wrong: in a line of a file, or in a field of the request."""

    code = serializers.CharField()
    line = serializers.IntegerField(required=False)
    field = serializers.CharField(required=False, allow_blank=True)
    found = serializers.CharField(required=False)
    expected = serializers.CharField(required=False)
    hint = serializers.CharField(required=False)
    example = serializers.CharField(required=False, help_text="What is right looks like this.")
    message = serializers.CharField(required=False)


class ProblemSerializer(serializers.Serializer[Any]):
    """Problem details (RFC 9457)."""

    type = serializers.CharField(help_text="Address of the explanation.")
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    hint = serializers.CharField(required=False)
    field = serializers.CharField(required=False)
    errors = OneOfThemSerializer(many=True, required=False, help_text="The first 20.")  # type: ignore[assignment]
    error_count = serializers.IntegerField(required=False)
    limit = serializers.IntegerField(required=False, help_text="Of 413: what is taken at most.")
    number = serializers.IntegerField(
        required=False, help_text="Of answered_elsewhere: your last act there; send it as base."
    )
    next_allowed_at = serializers.DateTimeField(
        required=False, help_text="Of 429: when the next one is allowed."
    )
    errors_by_code = serializers.DictField(child=serializers.IntegerField(), required=False)


def problems(*statuses: int) -> dict[tuple[int, str], type[ProblemSerializer]]:
    """Responses of an endpoint: which errors it may answer, besides what it answers when all is well."""
    return {(status, "application/problem+json"): ProblemSerializer for status in statuses}
