"""API of comparisons: figures, tests and sentences of 2 to 10 systems of a board."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts import users
from evalsvc.core.errors.handlers import problems
from evalsvc.core.jobs.models import Job
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.boards import RowSerializer
from evalsvc.evaluation.api.lookups import setting_of
from evalsvc.evaluation.api.shown_settings import ComputationSerializer
from evalsvc.evaluation.benchmarks.stated_computation import stated_computation
from evalsvc.evaluation.comparison import board_comparison, compared, tables, words
from evalsvc.evaluation.comparison.across_settings import AcrossSettings, TwoSettings, across
from evalsvc.evaluation.comparison.compared import ABSENT, LEAST, MOST, Comparison

QUERY = [
    OpenApiParameter("setting", str, description="Key of the setting; default: the first."),
    OpenApiParameter(
        "systems", str, many=True, description=f"{LEAST} to {MOST} systems, each as team/system."
    ),
]


class SystemTestSerializer(serializers.Serializer[Any]):
    measure = serializers.CharField(
        help_text="Key of a measure, or `class`, family and label: the F1 of a class."
    )
    title = serializers.CharField()
    a = serializers.CharField(help_text="As team/system.")
    b = serializers.CharField()
    difference = serializers.FloatField(
        allow_null=True, help_text="A − B; of median runs in tests over items."
    )
    low = serializers.FloatField(allow_null=True, help_text="95 % interval of the difference.")
    high = serializers.FloatField(allow_null=True)
    p = serializers.FloatField(allow_null=True, help_text="Null while only its range is shown.")
    p_holm = serializers.FloatField(allow_null=True, help_text="Adjusted over the pairs of the measure.")
    p_text = serializers.CharField(allow_blank=True, help_text="p or its range, such as < .05.")
    p_holm_text = serializers.CharField(allow_blank=True)
    d = serializers.FloatField(allow_null=True, help_text="Cohen's d; null for tests over items.")
    word = serializers.CharField(allow_blank=True, help_text="Sawilowsky's word for d.")
    detectable = serializers.FloatField(
        allow_null=True,
        help_text="Smaller differences would mostly go unseen: one test, α .05 before Holm and, while "
        "the gold is hidden, before the factor for the systems of the two teams, power 80 %.",
    )
    test = serializers.CharField(allow_blank=True)
    run_a = serializers.CharField(
        allow_blank=True, help_text="Run that a test over items is of; empty while the gold is hidden."
    )
    run_b = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True, help_text="Reason why there is no test.")
    ahead = serializers.CharField(allow_blank=True, help_text="The system ahead by the test, if one is.")


class SystemInSettingsSerializer(serializers.Serializer[Any]):
    system = serializers.CharField()
    first = serializers.FloatField()
    second = serializers.FloatField()


class TwoSettingsSerializer(serializers.Serializer[Any]):
    first = serializers.CharField(source="first.key", help_text="The setting whose order is counted from.")
    second = serializers.CharField(source="second.key")
    measure = serializers.CharField(source="column.measure.key")
    systems = serializers.SerializerMethodField()
    kept = serializers.IntegerField(help_text="Pairs of systems in the same order in both.")
    turned = serializers.IntegerField()
    tied = serializers.IntegerField()
    tau_b = serializers.FloatField(allow_null=True, help_text="Kendall's; null without an order.")

    @extend_schema_field(SystemInSettingsSerializer(many=True))
    def get_systems(self, found: TwoSettings) -> list[dict[str, Any]]:
        return [{"system": name, "first": first, "second": second} for name, first, second in found.rows]


class JointTestSerializer(serializers.Serializer[Any]):
    a = serializers.CharField(help_text="As team/system.")
    b = serializers.CharField()
    settings = serializers.IntegerField(help_text="Settings in which both have figures.")
    a_ahead = serializers.IntegerField(help_text="Settings in which A is ahead, by Holm over the settings.")
    b_ahead = serializers.IntegerField()
    ahead = serializers.CharField(allow_blank=True, help_text="The system ahead in every setting, if one is.")
    p = serializers.FloatField(allow_null=True, help_text="The greatest p of the settings, if one is ahead.")
    sentence = serializers.CharField()


class ComparisonSerializer(serializers.Serializer[Comparison]):
    setting = serializers.CharField(source="setting.key")
    version = serializers.IntegerField(source="board.version.number")
    state = serializers.ChoiceField(
        choices=[ABSENT, *Job.State.values], help_text="Of the tests; absent: POST computes them."
    )
    reason = serializers.SerializerMethodField(help_text="Reason of failed tests.")
    held_back = serializers.CharField(source="board.held_back")
    order_by = serializers.CharField(source="board.order_by")
    systems = RowSerializer(source="rows", many=True)
    tests = serializers.SerializerMethodField(
        help_text="A row per measure and pair; those of the board until `state` is done."
    )
    sentences = serializers.SerializerMethodField(help_text="For a paper; nothing else is claimed.")
    two_settings = serializers.SerializerMethodField(help_text="The main measure beside other settings.")
    joint = serializers.SerializerMethodField(help_text="Pairs over all settings, two of which are tested.")
    method = serializers.SerializerMethodField()
    computation = serializers.SerializerMethodField(help_text="How the scores were computed.")

    def get_reason(self, comparison: Comparison) -> str:
        job = comparison.stored.job if comparison.stored else None
        return job.error if job and comparison.state == Job.State.FAILED else ""

    @extend_schema_field(SystemTestSerializer(many=True))
    def get_tests(self, comparison: Comparison) -> list[dict[str, Any]]:
        names = [f"{row.system.team_slug}/{row.system.name}" for row in comparison.rows]
        rows = []
        for tested in (*tables.tested_measures(comparison), *tables.tested_classes(comparison)):
            for test in tested.tests:
                row = vars(test) | {"a": names[test.a], "b": names[test.b]}
                ahead = "" if test.winner is None else names[test.winner]
                row |= zip(("run_a", "run_b"), comparison.runs_of(test), strict=True)
                rows.append(row | {"measure": tested.key, "title": tested.title, "ahead": ahead})
        return [dict(SystemTestSerializer(row).data) for row in rows]

    def get_sentences(self, comparison: Comparison) -> list[str]:
        return words.paragraph(comparison)

    @extend_schema_field(TwoSettingsSerializer(many=True))
    def get_two_settings(self, comparison: Comparison) -> list[dict[str, Any]]:
        return list(TwoSettingsSerializer(self._together().drawn, many=True).data)

    @extend_schema_field(JointTestSerializer(many=True))
    def get_joint(self, comparison: Comparison) -> list[dict[str, Any]]:
        together = self._together()
        names = [f"{row.system.team_slug}/{row.system.name}" for row in comparison.rows]
        return [
            {
                "a": names[each.places[0]],
                "b": names[each.places[1]],
                "settings": each.settings,
                "a_ahead": each.ahead[0],
                "b_ahead": each.ahead[1],
                "ahead": "" if each.winner is None else names[each.winner],
                "p": each.p,
                "sentence": together.sentence(each),
            }
            for each in together.joint
        ]

    def _together(self) -> AcrossSettings:
        together: AcrossSettings = self.context["together"]
        return together

    def get_method(self, comparison: Comparison) -> str:
        return words.method(comparison)

    @extend_schema_field(ComputationSerializer)
    def get_computation(self, comparison: Comparison) -> dict[str, Any]:
        return stated_computation(comparison.setting, comparison.board.version)


def requested(request: Request, slug: str) -> Comparison:
    """Return the comparison in the query, or refuse it."""
    query = request.query_params
    setting = setting_of(roles.benchmark_for(request.user, slug), query.get("setting", ""))
    return board_comparison.compared_on_board(setting, query.getlist("systems"), person=request.user)


class Comparisons(APIView):
    for_teams = True
    needs_scope = "submit"

    @extend_schema(
        operation_id="comparison",
        parameters=QUERY,
        responses={200: ComparisonSerializer} | problems(400, 401, 404, 409),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Compare systems: figures, and tests once they are computed."""
        return _answer(request, requested(request, slug), status=200)

    @extend_schema(
        operation_id="comparison_compute",
        parameters=QUERY,
        request=None,
        responses={200: ComparisonSerializer, 202: ComparisonSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Compute the tests, unless they are stored."""
        comparison = requested(request, slug)
        compared.start(comparison, by=users.person(request))
        return _answer(request, comparison)


class CancelComparison(APIView):
    for_teams = True
    needs_scope = "submit"

    @extend_schema(
        operation_id="comparison_cancel",
        parameters=QUERY,
        request=None,
        responses={200: ComparisonSerializer, 202: ComparisonSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Cancel tests that wait or run."""
        comparison = requested(request, slug)
        compared.cancel(comparison, by=users.person(request))
        return _answer(request, comparison)


def _answer(request: Request, comparison: Comparison, *, status: int | None = None) -> Response:
    waits = comparison.state in (Job.State.QUEUED, Job.State.RUNNING)
    shown = ComparisonSerializer(comparison, context={"together": across(comparison, person=request.user)})
    return Response(shown.data, status=status or (202 if waits else 200))
