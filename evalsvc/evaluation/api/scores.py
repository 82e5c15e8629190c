"""API of the scores of a submission."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.errors.handlers import problems
from evalsvc.evaluation import roles, shown_scores
from evalsvc.evaluation.api.lookups import requested_version
from evalsvc.evaluation.api.shown_settings import ComputationSerializer, WithGold
from evalsvc.evaluation.benchmarks import scoring_identity, versions
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.measures.computation import in_one_line
from evalsvc.evaluation.measures.menu import as_shown, scored_of


class EvaluationSerializer(WithGold):
    setting = serializers.CharField(source="setting.key")
    versions = serializers.SerializerMethodField(
        help_text="Versions of the setting with this gold and scorer."
    )
    file_sha256 = serializers.CharField(source="file_id")
    options = serializers.SerializerMethodField()
    computation = serializers.SerializerMethodField(help_text="How the scores were computed.")
    computed = serializers.SerializerMethodField(help_text="The same in words.")
    titles = serializers.SerializerMethodField(help_text="Titles of the measures: F2 where β = 2.")
    scorer = serializers.CharField(help_text="Version of the scorer.")
    libraries = serializers.JSONField()
    created_at = serializers.DateTimeField()
    scores = serializers.SerializerMethodField()
    classes = serializers.JSONField(
        help_text="Figures per class; families `bags` and `opennre` at τ*, others as `computed` says."
    )
    detail = serializers.JSONField(help_text="Counts, curve, notes.")
    held_back = serializers.CharField(
        source="policy.sentence",
        help_text="What is rounded or held back, why and until when; empty: nothing.",
    )

    figures_of = serializers.IntegerField(
        allow_null=True,
        help_text="Earlier submission whose figures a near-duplicate shows in a hidden phase.",
    )

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_options(self, evaluation: Disclosed) -> dict[str, Any]:
        options = evaluation.options
        if only := options.get("only"):
            version = gold_digest.version_of(evaluation.setting, evaluation.gold_sha256)
            return options | {"only": gold_digest.commitment(version.gold_salt, only)}
        return options

    @extend_schema_field(ComputationSerializer)
    def get_computation(self, evaluation: Disclosed) -> dict[str, Any]:
        return shown_scores.computation_of(evaluation, gold=self.shown_gold(evaluation))

    def get_computed(self, evaluation: Disclosed) -> str:
        return in_one_line(self.get_computation(evaluation))

    @extend_schema_field(serializers.DictField(child=serializers.CharField()))
    def get_titles(self, evaluation: Disclosed) -> dict[str, str]:
        present = [
            score.measure for score in evaluation.scores if score.measure in scored_of(evaluation.setting)
        ]
        return {key: as_shown(evaluation.setting, key).title for key in present}

    def get_scores(self, evaluation: Disclosed) -> dict[str, dict[str, Any]]:
        return {
            score.measure: {"value": score.value} | ({"reason": score.reason} if score.reason else {})
            for score in evaluation.scores
        }

    def get_versions(self, evaluation: Disclosed) -> list[int]:
        return shown_scores.versions_of(evaluation)


class ScoresSerializer(serializers.Serializer[Any]):
    submission = serializers.IntegerField()
    state = serializers.CharField()
    evaluations = EvaluationSerializer(many=True)
    versions = serializers.DictField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="Scored versions by setting; select one with `version`.",
    )
    sealed = serializers.ListField(
        child=serializers.CharField(), help_text="Settings whose scores are sealed."
    )
    not_covered = serializers.ListField(
        child=serializers.CharField(),
        help_text="Settings without a score because their gold changed after the upload.",
    )


class Scores(APIView):
    for_teams = True

    @extend_schema(
        operation_id="scores",
        parameters=[
            OpenApiParameter(
                "version", int, description="Version of the settings; default: the newest scored."
            )
        ],
        responses={200: ScoresSerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, pk: int) -> Response:
        """Scores of a submission under each setting, with their provenance."""
        submission = roles.requested_submission(request, pk)
        version, settings = requested_version(request), scoring_identity.concerned(submission)
        if version:
            versions.require_version(submission.benchmark, version)
        evaluations = shown_scores.shown(submission, person=request.user)
        scores = {
            "submission": submission.pk,
            "state": submission.state,
            "evaluations": shown_scores.under_version(evaluations, version),
            "versions": shown_scores.versions_scored(evaluations),
            "sealed": [each.key for each in settings if roles.hidden_from(each, request.user)],
            "not_covered": [each.key for each in scoring_identity.not_covered(submission)],
        }
        return Response(ScoresSerializer(scores).data)
