"""API of limits: of the service, and of a team in a benchmark."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts.models import Team
from evalsvc.core.errors.handlers import problems
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import file_contract, quotas
from evalsvc.evaluation.dates import zone_key
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.submissions import model_intake
from evalsvc.evaluation.submissions.file_check import accepted_formats


class ModelLimitsSerializer(serializers.Serializer[Any]):
    on = serializers.BooleanField(help_text="True when models are accepted.")
    why_off = serializers.CharField(allow_blank=True)
    bytes = serializers.IntegerField(help_text="Maximum of the tar file, and of its contents.")
    files = serializers.IntegerField(help_text="Maximum entries in the tar file.")
    seconds = serializers.IntegerField(help_text="Maximum from start to last prediction.")
    memory_bytes = serializers.IntegerField()
    result_bytes = serializers.IntegerField(help_text="Maximum of the predictions.")
    factories = serializers.ListField(child=serializers.CharField(), help_text="Allowed components.")


class LimitsSerializer(serializers.Serializer[Any]):
    upload_bytes = serializers.IntegerField(help_text="Maximum of the upload, compressed or not.")
    unpacked_bytes = serializers.IntegerField()
    day_bytes = serializers.IntegerField(help_text="Maximum of a person's files of a day (UTC), unpacked.")
    lines = serializers.IntegerField()
    line_bytes = serializers.IntegerField(
        help_text="Maximum of a line, and of a sentence or text as a line of JSON."
    )
    import_lines = serializers.IntegerField(
        help_text="Maximum in a file of sentences, answers, predictions or gold."
    )
    wait_seconds = serializers.IntegerField(help_text="Maximum of ?wait=.")
    models = ModelLimitsSerializer()


class AllowanceSerializer(serializers.Serializer[quotas.Allowance]):
    name = serializers.ChoiceField(choices=["per_day", "in_total", "at_once"])
    most = serializers.IntegerField(allow_null=True, help_text="null: no quota.")
    used = serializers.IntegerField()
    left = serializers.IntegerField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True, help_text="Time the quota renews.")
    phase = serializers.CharField(allow_blank=True, help_text="The phase whose runs count; empty: all.")


class BenchmarkLimitsSerializer(LimitsSerializer):
    time_zone = serializers.CharField()
    team = serializers.CharField()
    quotas = AllowanceSerializer(many=True)
    formats = serializers.ListField(child=serializers.CharField())
    open_settings = serializers.ListField(child=serializers.CharField())
    open_phases = serializers.ListField(child=serializers.CharField())


def service_limits() -> dict[str, Any]:
    return {
        "upload_bytes": settings.UPLOAD_MAX_BYTES,
        "unpacked_bytes": settings.UPLOAD_MAX_UNPACKED_BYTES,
        "day_bytes": settings.UPLOAD_DAY_BYTES,
        "lines": settings.UPLOAD_MAX_LINES,
        "line_bytes": settings.UPLOAD_MAX_LINE_BYTES,
        "import_lines": settings.IMPORT_MAX_LINES,
        "wait_seconds": settings.WAIT_MAX_SECONDS,
        "models": model_intake.limits(),
    }


def benchmark_limits(benchmark: Benchmark, team: Team) -> dict[str, Any]:
    now = timezone.now()
    open_now = file_contract.open_settings(benchmark, now)
    return {
        **service_limits(),
        **{name: file_contract.limit(benchmark, name) for name in file_contract.LIMITS},
        "time_zone": zone_key(benchmark),
        "team": team.slug,
        "quotas": quotas.allowances(benchmark, team, now=now),
        "formats": list(accepted_formats(benchmark)),
        "open_settings": [setting.key for setting in open_now],
        "open_phases": file_contract.open_phases(open_now),
    }


class Limits(APIView):
    for_teams = True

    @extend_schema(operation_id="limits", responses={200: LimitsSerializer} | problems(401))
    def get(self, request: Request) -> Response:
        """Limits of the service."""
        return Response(service_limits())


class BenchmarkLimits(APIView):
    for_teams = True

    @extend_schema(
        operation_id="benchmark_limits",
        parameters=[OpenApiParameter("team", str, description="Slug; required for users in several teams.")],
        responses={200: BenchmarkLimitsSerializer} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Limits of a benchmark, and the quotas of your team."""
        benchmark = roles.benchmark_for(request.user, slug)
        team = roles.team_of(request, named=request.query_params.get("team", ""))
        return Response(BenchmarkLimitsSerializer(benchmark_limits(benchmark, team)).data)
