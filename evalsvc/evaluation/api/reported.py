"""API of figures that papers report of systems."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.lookups import organised, setting_of
from evalsvc.evaluation.models import ReportedSystem
from evalsvc.evaluation.reported import entries, shown
from evalsvc.evaluation.reported.shown import Reported


class PrintedFigureSerializer(serializers.Serializer[entries.PrintedFigure]):
    value = serializers.CharField(help_text="As printed; shares in percent.")
    sd = serializers.CharField(allow_blank=True, help_text="As printed; empty: none.")


class CheckSerializer(serializers.Serializer[Any]):
    verdict = serializers.ChoiceField(choices=["possible", "impossible", "undecidable"])
    measures = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField()
    solutions = serializers.IntegerField(
        allow_null=True, help_text="Pairs of counts, or numbers of right answers, that give the figures."
    )


class ReportedSystemSerializer(serializers.ModelSerializer[ReportedSystem]):
    figures = serializers.SerializerMethodField(help_text="By measure.")
    checks = serializers.SerializerMethodField(
        help_text="Whether the figures are possible on this gold; empty while its size is held back."
    )

    class Meta:
        model = ReportedSystem
        fields = ["id", "system", "paper", "url", "table", "page", "runs", "note", "figures", "checks"]
        read_only_fields = fields

    @extend_schema_field(serializers.DictField(child=PrintedFigureSerializer()))
    def get_figures(self, row: ReportedSystem) -> dict[str, dict[str, str]]:
        return {key: figure._asdict() for key, figure in entries.figures_of(row).items()}

    @extend_schema_field(CheckSerializer(many=True))
    def get_checks(self, row: ReportedSystem) -> list[dict[str, Any]]:
        checks = self.context.get("checks", {})
        return [check._asdict() for check in checks.get(row.pk, [])]


class PrintedTestSerializer(serializers.Serializer[Any]):
    b = serializers.IntegerField(help_text="Id of the reported system.")
    measure = serializers.CharField()
    difference = serializers.FloatField(
        allow_null=True, help_text="The first system − B, in the unit as printed."
    )
    p = serializers.FloatField(allow_null=True, help_text="Welch's test of the printed figures.")
    p_least = serializers.FloatField(
        allow_null=True, help_text="Over figures that round to the printed ones."
    )
    p_most = serializers.FloatField(allow_null=True)
    d = serializers.FloatField(allow_null=True, help_text="Cohen's d.")
    d_least = serializers.FloatField(allow_null=True)
    d_most = serializers.FloatField(allow_null=True)
    word = serializers.CharField(allow_blank=True, help_text="Sawilowsky's word for d.")
    called = serializers.BooleanField(help_text="True if even the greatest p is below .05.")
    reason = serializers.CharField(allow_blank=True, help_text="Reason why there is no test.")


class ReportedTestSerializer(PrintedTestSerializer):
    a = serializers.IntegerField(help_text="Id of the first system.")


class MeasuredTestSerializer(PrintedTestSerializer):
    system = serializers.CharField(help_text="The first system, which was scored here.")
    team = serializers.CharField()


class UntestedSerializer(serializers.Serializer[Any]):
    id = serializers.IntegerField(help_text="Id of the reported system.")
    measures = serializers.ListField(child=serializers.CharField())
    reason = serializers.CharField()


class ReportedSerializer(serializers.Serializer[Reported]):
    systems = serializers.SerializerMethodField()
    tests = serializers.SerializerMethodField()
    measured_tests = serializers.SerializerMethodField(
        help_text="Of systems scored here, by their runs; none while the gold is hidden."
    )
    untested = serializers.SerializerMethodField(help_text="Figures that cannot be tested, and why.")

    @extend_schema_field(ReportedSystemSerializer(many=True))
    def get_systems(self, reported: Reported) -> Any:
        context = {"checks": reported.checks}
        return ReportedSystemSerializer(reported.rows, many=True, context=context).data

    @extend_schema_field(ReportedTestSerializer(many=True))
    def get_tests(self, reported: Reported) -> Any:
        rows = [
            {"a": first.pk, "b": second.pk} | {name: getattr(test, name) for name in test.__struct_fields__}
            for first, second, test in reported.tests
        ]
        return ReportedTestSerializer(rows, many=True).data

    @extend_schema_field(MeasuredTestSerializer(many=True))
    def get_measured_tests(self, reported: Reported) -> Any:
        rows = [
            {"system": system.name, "team": system.team_name, "b": row.pk}
            | {name: getattr(test, name) for name in test.__struct_fields__}
            for system, row, test in reported.measured
        ]
        return MeasuredTestSerializer(rows, many=True).data

    @extend_schema_field(UntestedSerializer(many=True))
    def get_untested(self, reported: Reported) -> Any:
        return [
            {"id": row.pk, "measures": measures, "reason": reason}
            for row in reported.rows
            for reason, measures in entries.untested(row).items()
        ]


class NewReportedSerializer(serializers.Serializer[Any]):
    paper = serializers.CharField(max_length=200, help_text="Authors and year, or the title.")
    table = serializers.CharField(max_length=60, help_text="Such as Table 3.")
    page = serializers.CharField(max_length=20, required=False, allow_blank=True)
    url = serializers.CharField(max_length=300, required=False, allow_blank=True)
    runs = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=10_000, help_text="Null: not stated."
    )
    note = serializers.CharField(max_length=300, required=False, allow_blank=True)
    systems = serializers.DictField(
        child=serializers.DictField(child=serializers.CharField(max_length=40, allow_blank=True)),
        help_text="Figures by system and measure, as printed: 71.5 or 71.5 ± 0.4.",
    )


class ReportedFigures(APIView):
    for_teams = True

    @extend_schema(operation_id="reported", responses={200: ReportedSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Systems known from papers, with what their figures allow to say."""
        setting = setting_of(roles.benchmark_for(request.user, slug), key)
        return Response(ReportedSerializer(shown.reported(setting, request.user)).data)

    @extend_schema(
        operation_id="reported_add",
        request=NewReportedSerializer,
        responses={201: ReportedSystemSerializer(many=True)} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Enter systems of one table of a paper."""
        benchmark, person = organised(request, slug)
        values = validated(request, NewReportedSerializer)
        rows = entries.add(setting_of(benchmark, key), by=person, **values)
        checks = shown.checks_of(rows)
        return Response(
            ReportedSystemSerializer(rows, many=True, context={"checks": checks}).data, status=201
        )


class RemoveReported(APIView):
    @extend_schema(
        operation_id="reported_remove", request=None, responses={204: None} | problems(401, 403, 404)
    )
    def post(self, request: Request, slug: str, key: str, pk: int) -> Response:
        """Remove a system entered from a paper."""
        benchmark, person = organised(request, slug)
        rows = setting_of(benchmark, key).reported.select_related("setting__benchmark")
        entries.remove(get_object_or_404(rows, pk=pk), by=person)
        return Response(status=204)
