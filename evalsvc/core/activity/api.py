"""API of the log, shared by projects and benchmarks."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from rest_framework import generics, serializers

from evalsvc.core.activity.models import LogEntry, entries
from evalsvc.core.web.pagination import Pages


class NewestFirst(Pages):
    ordering = "-id"


class LogEntrySerializer(serializers.ModelSerializer[LogEntry]):
    by = serializers.CharField(
        source="by.username", default=None, allow_null=True, help_text="User name; null for a rule."
    )
    before = serializers.JSONField(help_text="Value before; null if there was none.")
    after = serializers.JSONField(help_text="Value after.")

    class Meta:
        model = LogEntry
        fields = ["id", "at", "by", "action", "about", "before", "after"]
        read_only_fields = fields


class LogView(generics.ListAPIView[LogEntry]):
    """List the log of what `subject` returns to those allowed."""

    serializer_class = LogEntrySerializer
    pagination_class = NewestFirst

    def subject(self) -> Model:
        raise NotImplementedError

    def get_queryset(self) -> QuerySet[Any]:
        if getattr(self, "swagger_fake_view", False):
            return LogEntry.objects.none()
        return entries(self.subject())
