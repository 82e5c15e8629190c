"""How submissions and their scores look in JSON. Gold is in none of them."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from evalsvc.core.jobs import queue_status as outlook
from evalsvc.evaluation import leaderboard
from evalsvc.evaluation.models import Evaluation, Setting, Submission
from evalsvc.evaluation.submissions import timeline


class StepSerializer(serializers.Serializer[timeline.Step]):
    title = serializers.CharField()
    at = serializers.DateTimeField()
    detail = serializers.CharField(allow_blank=True)
    kind = serializers.CharField(allow_blank=True, help_text="Empty, good, slip or bad.")


class ProgressSerializer(serializers.Serializer[Any]):
    attempt = serializers.IntegerField()
    done = serializers.IntegerField()
    total = serializers.IntegerField(help_text="0 while not known.")
    step = serializers.CharField(allow_blank=True)


class SubmissionSerializer(serializers.ModelSerializer[Submission]):
    benchmark = serializers.CharField(source="benchmark.slug")
    team = serializers.CharField(source="system.team.slug")
    system = serializers.CharField(source="system.name")
    file_sha256 = serializers.CharField(source="file_id")
    size = serializers.IntegerField(source="file.size")
    model_sha256 = serializers.CharField(
        source="model_id",
        allow_null=True,
        help_text="Of the pipeline that was sent; the file is its predictions.",
    )
    status_url = serializers.SerializerMethodField()
    progress = ProgressSerializer(source="job", allow_null=True)

    class Meta:
        model = Submission
        fields = [
            "id",
            "status_url",
            "benchmark",
            "team",
            "system",
            "run",
            "state",
            "reason_code",
            "reason",
            "file_sha256",
            "size",
            "model_sha256",
            "filename",
            "format",
            "form",
            "phase",
            "aggregate",
            "counts",
            "saw_gold",
            "created_at",
            "ended_at",
            "withdrawn_at",
            "progress",
        ]
        read_only_fields = fields

    def get_status_url(self, submission: Submission) -> str:
        path = reverse("api-submission", args=[submission.pk])
        request = self.context.get("request")
        return request.build_absolute_uri(path) if request else path


class OutlookSerializer(serializers.Serializer[outlook.Outlook]):
    """How long it may still take, reckoned from the last jobs; a guess, and said to be one."""

    position = serializers.IntegerField(help_text="1: it is next. 0: it runs.")
    seconds = serializers.FloatField(
        allow_null=True,
        help_text="null: nobody can tell, as too few jobs ended so far, no worker is heard of, "
        "or it says nothing and takes longer than others did.",
    )


class SubmissionDetailSerializer(SubmissionSerializer):
    timeline = serializers.SerializerMethodField()
    outlook = serializers.SerializerMethodField()

    class Meta(SubmissionSerializer.Meta):
        fields = [*SubmissionSerializer.Meta.fields, "timeline", "outlook"]
        read_only_fields = fields

    @extend_schema_field(StepSerializer(many=True))
    def get_timeline(self, submission: Submission) -> list[dict[str, Any]]:
        return [dict(StepSerializer(step).data) for step in timeline.timeline(submission)]

    @extend_schema_field(OutlookSerializer(allow_null=True))
    def get_outlook(self, submission: Submission) -> dict[str, Any] | None:
        found = outlook.of_job(submission.job) if submission.job else None
        return dict(OutlookSerializer(found).data) if found else None


class ValueSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True)
    reason = serializers.CharField(required=False, help_text="Why the value is undefined.")


class EvaluationSerializer(serializers.ModelSerializer[Evaluation]):
    setting = serializers.CharField(source="setting.key")
    file_sha256 = serializers.CharField(source="file_id")
    scores = serializers.SerializerMethodField()
    versions = serializers.SerializerMethodField(help_text="Of the setting: those whose score this is.")

    class Meta:
        model = Evaluation
        fields = [
            "setting",
            "versions",
            "gold_sha256",
            "file_sha256",
            "options",
            "scorer",
            "libraries",
            "created_at",
            "scores",
            "classes",
            "detail",
        ]
        read_only_fields = fields

    def get_scores(self, evaluation: Evaluation) -> dict[str, dict[str, Any]]:
        return {
            score.measure: {"value": score.value} | ({"reason": score.reason} if score.reason else {})
            for score in evaluation.scores.all()
        }

    def get_versions(self, evaluation: Evaluation) -> list[int]:
        return leaderboard.versions_of(evaluation)


class ScoresSerializer(serializers.Serializer[Any]):
    submission = serializers.IntegerField()
    state = serializers.CharField()
    evaluations = EvaluationSerializer(many=True)
    versions = serializers.DictField(
        child=serializers.ListField(child=serializers.IntegerField()),
        help_text="By setting, the versions that it has scores of; ask for one with `version`.",
    )
    sealed = serializers.ListField(
        child=serializers.CharField(), help_text="Settings whose scores are not shown yet."
    )
    not_covered = serializers.ListField(
        child=serializers.CharField(),
        help_text="Settings without a score of it: their gold changed after the file was sent.",
    )


class LineProblemSerializer(serializers.Serializer[Any]):
    code = serializers.CharField()
    line = serializers.IntegerField(required=False)
    field = serializers.CharField(required=False)
    found = serializers.CharField(required=False)
    expected = serializers.CharField(required=False)
    hint = serializers.CharField(required=False)
    example = serializers.CharField(required=False, help_text="What is right looks like this.")
    message = serializers.CharField()


class CheckedSerializer(serializers.Serializer[Any]):
    fits = serializers.BooleanField()
    format = serializers.CharField(allow_blank=True)
    form = serializers.CharField(allow_blank=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    error_count = serializers.IntegerField()
    errors = LineProblemSerializer(many=True)  # type: ignore[assignment]
    errors_by_code = serializers.DictField(child=serializers.IntegerField())
    warnings = serializers.DictField(child=serializers.IntegerField())


class UploadSerializer(serializers.Serializer[Any]):
    """The fields of a multipart submission; a raw body takes all but `file` from the query."""

    file = serializers.FileField()
    system = serializers.CharField(max_length=120)
    run = serializers.CharField(max_length=40)
    team = serializers.CharField(required=False, help_text="Slug; needed by people in several teams.")
    aggregate = serializers.ChoiceField(choices=["ONE", "AVG"], required=False)
    phase = serializers.ChoiceField(choices=Setting.Phase.choices, required=False)
    filename = serializers.CharField(required=False)
    tags = serializers.CharField(required=False, help_text="A JSON object: what the team declares.")
