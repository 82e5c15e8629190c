"""API of a benchmark's log, for organisers."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.core.activity.api import LogEntrySerializer, LogView
from evalsvc.core.errors.handlers import problems
from evalsvc.evaluation.api.benchmarks import organised
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
