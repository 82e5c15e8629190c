"""API of what a new version of a setting moved."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.errors.handlers import problems
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.boards import RescoringSerializer
from evalsvc.evaluation.api.lookups import setting_of
from evalsvc.evaluation.api.shown_settings import VersionSerializer
from evalsvc.evaluation.boards.systems import BoardSystem
from evalsvc.evaluation.comparison import moves
from evalsvc.evaluation.comparison.label_moves import LabelMove
from evalsvc.evaluation.comparison.moves import Moves


class ChangeSerializer(serializers.Serializer[Any]):
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    difference = serializers.FloatField(
        allow_null=True,
        help_text="After − before; null where rounding may turn its sign, or the means are of other runs.",
    )


class SystemMoveSerializer(serializers.Serializer[moves.SystemMove]):
    system = serializers.CharField(source="row.system.name")
    team = serializers.CharField(source="row.system.team_name")
    rank_before = serializers.IntegerField(
        allow_null=True,
        help_text="Among the systems with exact figures of the same runs under both; else null.",
    )
    rank_after = serializers.IntegerField(allow_null=True)
    measures = serializers.DictField(child=ChangeSerializer(), source="changes")
    runs_before_alone = serializers.IntegerField(help_text="Runs scored under the earlier version alone.")
    runs_after_alone = serializers.IntegerField()


class LabelMoveSerializer(serializers.Serializer[LabelMove]):
    name = serializers.CharField(source="label")
    gold_before = serializers.IntegerField()
    gold_after = serializers.IntegerField()
    f1 = ChangeSerializer(help_text="Mean over runs, then over systems.")
    effect = serializers.FloatField(help_text="Its part of the mean change of micro F1.")


class TurnedPairSerializer(serializers.Serializer[Any]):
    ahead_before = serializers.CharField()
    ahead_after = serializers.CharField()
    team_before = serializers.CharField(help_text="Team of the system that was ahead before.")
    team_after = serializers.CharField()


class LeftSystemSerializer(serializers.Serializer[BoardSystem]):
    system = serializers.CharField(source="name")
    team = serializers.CharField(source="team_name")


class MovesSerializer(serializers.Serializer[Moves]):
    before = VersionSerializer(source="before.version")
    after = VersionSerializer(source="after.version")
    rescoring = RescoringSerializer(
        source="after.rescoring", allow_null=True, help_text="Progress, while runs wait for their new score."
    )
    held_back = serializers.CharField()
    order_by = serializers.CharField(source="after.order_by")
    systems = SystemMoveSerializer(many=True)
    left = serializers.SerializerMethodField(help_text="Names of the systems on the earlier board alone.")
    left_systems = LeftSystemSerializer(many=True, source="left", help_text="These systems with their teams.")
    apart = LeftSystemSerializer(
        many=True, help_text="Systems on both boards, without a run that both versions scored."
    )
    withdrawn = serializers.IntegerField(
        help_text="Runs withdrawn after scoring: ranks and figures of both versions are counted without them."
    )
    before_alone = serializers.IntegerField(
        help_text="Runs scored under the earlier version alone: its board counts them, this report does not."
    )
    after_alone = serializers.IntegerField(help_text="Runs scored under the newer version alone.")
    turned = serializers.SerializerMethodField(help_text="Pairs whose order by the main measure turned.")
    labels = LabelMoveSerializer(
        many=True, help_text="The greatest effect first; empty while the gold is hidden."
    )

    @extend_schema_field(TurnedPairSerializer(many=True))
    def get_turned(self, found: Moves) -> list[dict[str, str]]:
        return [
            {
                "ahead_before": before.name,
                "ahead_after": after.name,
                "team_before": before.team_name,
                "team_after": after.team_name,
            }
            for before, after in found.turned
        ]

    def get_left(self, found: Moves) -> list[str]:
        return [each.name for each in found.left]


class VersionMoves(APIView):
    for_teams = True

    @extend_schema(operation_id="version_moves", responses={200: MovesSerializer} | problems(400, 401, 404))
    def get(self, request: Request, slug: str, key: str, number: int) -> Response:
        """What this version moved against the one shown before it."""
        setting = setting_of(roles.benchmark_for(request.user, slug), key)
        return Response(MovesSerializer(moves.moves(setting, number, person=request.user)).data)
