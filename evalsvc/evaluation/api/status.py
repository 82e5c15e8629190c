"""State of the queues, public, as a page and as JSON."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.jobs import queue_status
from evalsvc.core.jobs.models import Drain
from evalsvc.core.jobs.queue import current_drain

TITLES = {
    "score": "Scoring runs",
    "heavy": "Models, freezes, statistics, agreement, tests between systems",
    "ingest": "Imports, checks of dense files, recomputing projects",
}


class HealthSerializer(serializers.Serializer[queue_status.QueueHealth]):
    queue = serializers.CharField()
    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    workers = serializers.IntegerField(help_text="Workers running a job now.")
    heard_of = serializers.IntegerField(
        source="active_workers",
        help_text="Active workers: those that asked for work in the last minute or are running a job. "
        "0: nothing runs until one starts. Among several idle ones some may not be counted.",
    )
    heard_at = serializers.DateTimeField(
        source="last_seen_at",
        allow_null=True,
        help_text="When a worker last asked for work; null: not in the last day.",
    )
    oldest_seconds = serializers.FloatField(help_text="Waiting time of the oldest job.")
    done = serializers.IntegerField(help_text="In the last hour.")
    failed = serializers.IntegerField(help_text="In the last hour, but for refused imports.")
    refused = serializers.IntegerField(help_text="Imports refused for their file in the last hour.")
    mean_seconds = serializers.FloatField(allow_null=True, help_text="Over the last 50 jobs.")
    p95_seconds = serializers.FloatField(allow_null=True)
    last_ended_at = serializers.DateTimeField(allow_null=True)


class DrainSerializer(serializers.Serializer[Drain]):
    reason = serializers.CharField()
    since = serializers.DateTimeField()


class StatusSerializer(serializers.Serializer[Any]):
    queues = HealthSerializer(many=True)
    drain = DrainSerializer(allow_null=True, help_text="Set while no job is started, as before an upgrade.")


class Status(APIView):
    authentication_classes: list[Any] = []
    permission_classes: list[Any] = []

    @extend_schema(operation_id="status", responses={200: StatusSerializer})
    def get(self, request: Request) -> Response:
        """Waiting and running jobs of each queue, and the last hour."""
        status = {"queues": queue_status.queue_health(), "drain": current_drain()}
        return Response(StatusSerializer(status).data)


@require_safe
def page(request: HttpRequest) -> HttpResponse:
    queues = [(TITLES.get(health.queue, health.queue), health) for health in queue_status.queue_health()]
    idle = [title for title, health in queues if not health.active_workers]
    waiting, running = sum(h.waiting for _, h in queues), sum(h.running for _, h in queues)
    context = {
        "queues": queues,
        "lead": f"{waiting:,} waiting, {running:,} running." if waiting or running else "No jobs waiting.",
        "idle": idle,
        "drain": current_drain(),
    }
    return render(request, "evaluation/status.html", context)
