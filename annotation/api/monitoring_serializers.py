"""The shapes of what those who watch a project are told."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from annotation.models import AgreementReport, Project


class DaySerializer(serializers.Serializer[Any]):
    day = serializers.DateField()
    answers = serializers.IntegerField()
    skips = serializers.IntegerField()
    annotators = serializers.IntegerField()


class AnnotatorSerializer(serializers.Serializer[Any]):
    annotator = serializers.IntegerField()
    name = serializers.CharField(help_text="As in downloads: for people with an account, the log-in.")
    shown = serializers.CharField(help_text="As pages call them.")
    answers = serializers.IntegerField()
    counted = serializers.IntegerField(help_text="Answers that decide something.")
    skips = serializers.IntegerField()
    flags = serializers.IntegerField()
    surplus = serializers.IntegerField(help_text="Kept, not counted: enough others were first.")
    holding = serializers.IntegerField()
    median_seconds = serializers.FloatField(allow_null=True)
    rushed = serializers.FloatField(
        allow_null=True,
        help_text="Share of answers given in under a third of the project's median time, or in less "
        "than it takes to read a sentence of mean length at 60 letters a second, whichever is more.",
    )
    known_done = serializers.IntegerField()
    known_right = serializers.IntegerField()
    paused = serializers.BooleanField()
    pause_reason = serializers.CharField()
    last_at = serializers.DateTimeField(allow_null=True)
    idle = serializers.BooleanField()


class LabelInsightSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    items = serializers.IntegerField(help_text="Items with enough answers on which somebody chose it.")
    disputed = serializers.IntegerField(help_text="Of them, disputed ones, decided by a person or not yet.")
    share = serializers.FloatField(allow_null=True)


class InsightSerializer(serializers.Serializer[Any]):
    states = serializers.DictField(child=serializers.IntegerField())
    other_policy_changes = serializers.IntegerField()
    flagged = serializers.IntegerField()
    reasons = serializers.DictField(child=serializers.IntegerField(), help_text="Skips by reason.")
    idle = serializers.ListField(child=serializers.CharField())
    days = DaySerializer(many=True)
    annotators = AnnotatorSerializer(many=True)
    labels = LabelInsightSerializer(many=True)


class QualitySerializer(serializers.ModelSerializer[Project]):
    class Meta:
        model = Project
        fields = [
            "qualifies",
            "check_every",
            "least_checks",
            "pass_percent",
            "most_extra",
            "calls_extra",
            "suggests",
        ]


class PauseSerializer(serializers.Serializer[Any]):
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=200)


class ConcernedSerializer(serializers.Serializer[Any]):
    n = serializers.IntegerField(help_text="How many answers it concerned.")


class AgreementSerializer(serializers.ModelSerializer[AgreementReport]):
    state = serializers.CharField(read_only=True, help_text="waiting, running, done or failed")
    figures = serializers.JSONField(
        read_only=True,
        help_text="annotators, people, pairs (of the 40 who answered most), relations, na, overall; "
        "each coefficient with its interval or a reason.",
    )

    class Meta:
        model = AgreementReport
        fields = ["id", "state", "figures", "reason", "created_at", "ended_at"]
        read_only_fields = fields
