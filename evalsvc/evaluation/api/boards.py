"""API of leaderboards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.errors.handlers import problems
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.lookups import requested_version, setting_of
from evalsvc.evaluation.api.shown_settings import ComputationSerializer, SettingSerializer
from evalsvc.evaluation.benchmarks import file_contract
from evalsvc.evaluation.benchmarks.stated_computation import stated_computation
from evalsvc.evaluation.benchmarks.versions import Rescoring
from evalsvc.evaluation.boards import leaderboard
from evalsvc.evaluation.boards.figures import EqualRuns, RunStatistics
from evalsvc.evaluation.boards.ranking import Board, BoardRow
from evalsvc.evaluation.boards.systems import BoardSystem
from evalsvc.evaluation.comparison import board_comparison


class FigureSerializer(serializers.Serializer[RunStatistics]):
    mean = serializers.FloatField(allow_null=True)
    sd = serializers.FloatField(
        allow_null=True,
        help_text="Sample deviation (n − 1); null for one run, and for runs that rounding makes equal.",
    )
    n = serializers.IntegerField(help_text="Runs that the figures are over; others lack the measure.")
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(allow_blank=True, help_text="Reason of runs without a value.")


class EqualRunsSerializer(serializers.Serializer[EqualRuns]):
    run = serializers.CharField()
    equals = serializers.CharField(help_text="The earlier run with the same answers.")


class SameAnswersSerializer(serializers.Serializer[BoardSystem]):
    system = serializers.CharField(source="name")
    team = serializers.CharField(source="team_name")


class RescoringSerializer(serializers.Serializer[Rescoring]):
    version = serializers.IntegerField(help_text="The new version.")
    scored = serializers.IntegerField()
    total = serializers.IntegerField()


class BandSerializer(serializers.Serializer[board_comparison.Band]):
    first = serializers.IntegerField(help_text="1 + the number of systems that are better by a test.")
    last = serializers.IntegerField(help_text="n − the number of systems that are worse by a test.")
    of = serializers.IntegerField(help_text="n: the number of tested systems.")


class RowSerializer(serializers.Serializer[BoardRow]):
    rank = serializers.IntegerField(
        allow_null=True,
        help_text="Place by the figures alone; `band` of a board has what tests leave open.",
    )
    system = serializers.CharField(source="system.name")
    team = serializers.CharField(source="system.team_name")
    tags = serializers.DictField(source="declared.tags", help_text="Declared with runs of the row.")
    baseline = serializers.BooleanField(
        source="system.baseline", help_text="The organisers marked it as a baseline."
    )
    n = serializers.IntegerField(help_text="Runs with different answers and figures.")
    withheld = serializers.IntegerField(
        source="runs.withheld", help_text="Further runs, whose figures are withheld while the gold is hidden."
    )
    withdrawn = serializers.IntegerField(
        source="runs.withdrawn", help_text="Further runs, withdrawn after scoring."
    )
    withdrawn_elsewhere = serializers.IntegerField(
        source="runs.withdrawn_elsewhere",
        help_text="Runs with a file withdrawn under the setting that chooses, their figures known.",
    )
    equal_runs = EqualRunsSerializer(
        source="runs.equal", many=True, help_text="Runs that count as one with another run."
    )
    aggregates = serializers.ListField(
        child=serializers.CharField(), source="runs.aggregates", help_text="From sentences to bags: ONE, AVG."
    )
    files = serializers.IntegerField(source="runs.files", help_text="Distinct files among the runs.")
    run = serializers.CharField(
        source="runs.chosen", help_text="The run that it shows; empty: the mean of all."
    )
    entered = serializers.BooleanField(
        source="runs.entered",
        help_text="False: its team is ranked once, by another system, so it has no rank.",
    )
    saw_gold = serializers.BooleanField(help_text="A team member labelled or adjudicated this gold.")
    figures = serializers.DictField(child=FigureSerializer())


class RankedRowSerializer(RowSerializer):
    band = serializers.SerializerMethodField(
        help_text="Ranks by `tests` of the measure of the order; null: not tested."
    )

    same_answers = serializers.SerializerMethodField(
        help_text="Other systems with the answers of a run; while figures are held back, of the team alone."
    )

    @extend_schema_field(BandSerializer(allow_null=True))
    def get_band(self, row: BoardRow) -> dict[str, Any] | None:
        band = cast(BoardSerializer, self.root).bands.get(row.system.pk)
        return BandSerializer(band).data if band else None

    @extend_schema_field(SameAnswersSerializer(many=True))
    def get_same_answers(self, row: BoardRow) -> list[dict[str, Any]]:
        others = cast(Board, self.root.instance).same_answers(row)
        return [dict(SameAnswersSerializer(other).data) for other in others]


class BoardSerializer(serializers.Serializer[Board]):
    setting = SettingSerializer()
    version = serializers.IntegerField(source="version.number", help_text="Version of the setting.")
    rescoring = RescoringSerializer(
        allow_null=True, help_text="Progress of a newer version; the board shows the one before until then."
    )
    computed_at = serializers.DateTimeField(
        allow_null=True, help_text="Time of the figures, if newer results are still being added."
    )
    sealed = serializers.BooleanField(help_text="True while the scores are sealed.")
    held_back = serializers.CharField(
        help_text="What is rounded or held back, why and until when; empty: nothing."
    )
    order_by = serializers.CharField()
    measures = serializers.ListField(child=serializers.CharField())
    titles = serializers.SerializerMethodField(help_text="Titles of the measures: F2 where β = 2.")
    computation = serializers.SerializerMethodField(help_text="How the scores were computed.")
    tests = serializers.SerializerMethodField(
        help_text="Tests behind `band`: over runs of systems that have several, of other pairs over items."
    )
    rows = RankedRowSerializer(many=True)

    @cached_property
    def _tests(self) -> board_comparison.BoardComparison | None:
        board = cast(Board, self.instance)
        return board_comparison.read([board], [board.order_by]).get(board.setting.pk)

    @cached_property
    def bands(self) -> Mapping[int, board_comparison.Band]:
        return self._tests.bands(self._tests.board.order_by) if self._tests else {}

    def get_tests(self, board: Board) -> list[str]:
        return self._tests.methods(board.order_by) if self._tests else []

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_titles(self, board: Board) -> dict[str, str]:
        return {key: column.title for key, column in board.columns.items()}

    @extend_schema_field(ComputationSerializer)
    def get_computation(self, board: Board) -> dict[str, Any]:
        return stated_computation(board.setting, board.version)


class OneBoard(APIView):
    for_teams = True

    @extend_schema(
        operation_id="board",
        parameters=[
            OpenApiParameter("setting", str, description="Key of the setting; default: the first."),
            OpenApiParameter("order", str, description="Key of the measure to sort by."),
            OpenApiParameter(
                "version", int, description="Version of the setting; default: the last completely scored."
            ),
        ],
        responses={200: BoardSerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Leaderboard of a setting: means over runs, and the ranks that tests leave open."""
        query, version = request.query_params, requested_version(request)
        setting = setting_of(roles.benchmark_for(request.user, slug), query.get("setting", ""))
        board = leaderboard.board(setting, query.get("order", ""), person=request.user, version=version)
        policy = replace(board.policy, setting=file_contract.as_of(board.version))
        return Response(BoardSerializer(replace(board, policy=policy)).data)
