"""API of a benchmark's log and ledger of hidden gold, for organisers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.activity.api import LogEntrySerializer, LogView
from evalsvc.core.errors.handlers import problems
from evalsvc.evaluation.api.lookups import organised
from evalsvc.evaluation.benchmarks.quotas import most_in_total
from evalsvc.evaluation.disclosure.ledger import Cost, Ledger, TeamBits, ledgers
from evalsvc.evaluation.models import Benchmark


class BenchmarkLog(LogView):
    def subject(self) -> Benchmark:
        benchmark, _ = organised(self.request, self.kwargs["slug"])
        return benchmark

    @extend_schema(
        operation_id="benchmark_log",
        responses={200: LogEntrySerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the changes to a benchmark, newest first."""
        return super().get(request, *args, **kwargs)


class CostSerializer(serializers.Serializer[Cost]):
    title = serializers.CharField()
    step = serializers.FloatField(allow_null=True, help_text="Step it is rounded to; null: withheld.")
    bits = serializers.FloatField(help_text="Bits per file at most: log2(1 + 1/step).")
    shown = serializers.BooleanField(help_text="True when teams see it.")


class TeamBitsSerializer(serializers.Serializer[TeamBits]):
    team = serializers.CharField(source="team.slug")
    files = serializers.IntegerField(help_text="Files with figures of their own.")
    bits = serializers.FloatField(help_text="Of these files at most, under each gold of the setting.")
    share = serializers.FloatField(help_text="Share of the bits of the gold, at most 1.")


class LedgerSerializer(serializers.Serializer[Any]):
    """Upper bound on the bits of hidden gold that scores disclose."""

    setting = serializers.CharField(source="setting.key")
    gold_bits = serializers.FloatField(help_text="Bits that the labels hold: N·H.")
    bits_per_file = serializers.FloatField()
    most_files = serializers.SerializerMethodField(help_text="Quota of a team in total; null: none.")
    warning = serializers.SerializerMethodField(
        help_text="True when the quotas let a team know more than 10 % of the labels."
    )
    costs = CostSerializer(many=True)
    teams = TeamBitsSerializer(many=True)

    @extend_schema_field(serializers.IntegerField(allow_null=True))
    def get_most_files(self, ledger: Ledger) -> int | None:
        return most_in_total(ledger.setting)

    def get_warning(self, ledger: Ledger) -> bool:
        return ledger.warns(most_in_total(ledger.setting))


class Ledgers(APIView):
    @extend_schema(
        operation_id="ledger", responses={200: LedgerSerializer(many=True)} | problems(401, 403, 404)
    )
    def get(self, request: Request, slug: str) -> Response:
        """Bits that scores give away, per hidden setting and team."""
        benchmark, _ = organised(request, slug)
        return Response(LedgerSerializer(ledgers(benchmark), many=True).data)
