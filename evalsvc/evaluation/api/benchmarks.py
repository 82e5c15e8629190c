"""The JSON door of benchmarks: their rules, settings and versions, boards, inputs, measures, limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.serializers import problems
from evalsvc.core.web.pagination import Pages, query_choices
from evalsvc.core.web.request_validation import validated
from evalsvc.evaluation import leaderboard, roles
from evalsvc.evaluation.api import benchmark_serializers
from evalsvc.evaluation.benchmarks import creation, file_contract, phases, rules, versions
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.submissions import limits


class BySlug(Pages):
    ordering = "slug"


def benchmark_of(request: Request, slug: str) -> Benchmark:
    """The benchmark, or 404 when it is not there to be seen."""
    benchmark = roles.visible(request.user).filter(slug=slug).first()
    if benchmark is None:
        raise Http404
    return benchmark


def setting_of(benchmark: Benchmark, key: str) -> Setting:
    """The setting by its key, the benchmark's first one without."""
    found = benchmark.settings.select_related("test_set", "only", "benchmark")
    setting = (found.filter(key=key) if key else found).first()
    if setting is None:
        raise Http404
    return setting


def version_asked(request: Request) -> int | None:
    """The number of a version in the address, None without."""
    given = request.query_params.get("version", "")
    if not given:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) < 5 and int(given)):
        raise ValidationError({"version": "Expected a whole number from 1 on."})
    return int(given)


def organised(request: Request, slug: str) -> tuple[Benchmark, User]:
    """The benchmark and who asks, an organiser of it."""
    benchmark, person = benchmark_of(request, slug), roles.person(request)
    roles.require(benchmark, person, roles.ORGANISER)
    return benchmark, person


def frozen(slug: str, *, field: str, by: User) -> TestSet:
    test_set = TestSet.objects.visible_to(by).frozen().filter(slug=slug).first()
    if test_set is None:
        raise ValidationError({field: f"There is no frozen test set {slug}."})
    return test_set


def with_sets(given: dict[str, Any], *, by: User) -> dict[str, Any]:
    """Slugs of test sets turned into the sets."""
    said = dict(given, test_set=frozen(given["test_set"], field="test_set", by=by))
    said["only"] = frozen(said["only"], field="only", by=by) if said.get("only") else None
    return said


class Benchmarks(generics.ListAPIView[Benchmark]):
    serializer_class = benchmark_serializers.BenchmarkSerializer
    pagination_class = BySlug

    def get_queryset(self) -> QuerySet[Benchmark]:
        seen = roles.visible(self.request.user).filter(
            **query_choices(self.request, task=Benchmark.Task.values)
        )
        return seen.prefetch_related("settings__test_set", "settings__only")

    @extend_schema(
        operation_id="benchmarks_list",
        parameters=[OpenApiParameter("task", str, enum=Benchmark.Task.values)],
        responses={200: benchmark_serializers.BenchmarkSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Benchmarks that you see."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="benchmarks_create",
        request=benchmark_serializers.NewBenchmarkSerializer,
        responses={201: benchmark_serializers.BenchmarkSerializer} | problems(400, 401, 403, 409),
    )
    def post(self, request: Request) -> Response:
        """Make a benchmark; you organise it."""
        given = validated(request, benchmark_serializers.NewBenchmarkSerializer)
        benchmark = creation.create(by=roles.person(request), **given)
        return Response(benchmark_serializers.BenchmarkSerializer(benchmark).data, status=201)


class OneBenchmark(APIView):
    @extend_schema(
        operation_id="benchmark",
        responses={200: benchmark_serializers.BenchmarkSerializer} | problems(401, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """A benchmark with its settings."""
        return Response(benchmark_serializers.BenchmarkSerializer(benchmark_of(request, slug)).data)

    @extend_schema(
        operation_id="benchmark_change",
        request=benchmark_serializers.ChangeBenchmarkSerializer,
        responses={200: benchmark_serializers.BenchmarkSerializer} | problems(400, 401, 403, 404),
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change its words, quotas and limits; no score depends on them."""
        benchmark, person = organised(request, slug)
        changed = rules.change(
            benchmark, by=person, **validated(request, benchmark_serializers.ChangeBenchmarkSerializer)
        )
        return Response(benchmark_serializers.BenchmarkSerializer(changed).data)


class Settings(APIView):
    @extend_schema(
        operation_id="settings_create",
        request=benchmark_serializers.NewSettingSerializer,
        responses={201: benchmark_serializers.SettingSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a setting: a frozen test set under a unit."""
        benchmark, person = organised(request, slug)
        said = with_sets(validated(request, benchmark_serializers.NewSettingSerializer), by=person)
        setting = creation.add_setting(benchmark, by=person, **said)
        return Response(benchmark_serializers.SettingSerializer(setting).data, status=201)


class OneSetting(APIView):
    @extend_schema(
        operation_id="setting_change",
        request=benchmark_serializers.ChangeSettingSerializer,
        responses={200: benchmark_serializers.SettingSerializer} | problems(400, 401, 403, 404),
    )
    def patch(self, request: Request, slug: str, key: str) -> Response:
        """Change its title, dates, and what it shows; no score depends on these."""
        benchmark, person = organised(request, slug)
        given = validated(request, benchmark_serializers.ChangeSettingSerializer)
        setting = creation.change_setting(setting_of(benchmark, key), by=person, **given)
        return Response(benchmark_serializers.SettingSerializer(setting).data)


class Versions(APIView):
    @extend_schema(
        operation_id="setting_versions",
        responses={200: benchmark_serializers.VersionSerializer(many=True)} | problems(401, 404),
    )
    def get(self, request: Request, slug: str, key: str) -> Response:
        """What the setting scored by, from when on; oldest first."""
        setting = setting_of(benchmark_of(request, slug), key)
        found = setting.versions.select_related("test_set", "only")
        return Response(benchmark_serializers.VersionSerializer(found, many=True).data)

    @extend_schema(
        operation_id="setting_revise",
        request=benchmark_serializers.NewVersionSerializer,
        responses={201: benchmark_serializers.VersionSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Score by another gold from now on: a new version. Old scores stay under theirs."""
        benchmark, person = organised(request, slug)
        said = with_sets(validated(request, benchmark_serializers.NewVersionSerializer), by=person)
        made = creation.revise_setting(setting_of(benchmark, key), by=person, **said)
        return Response(benchmark_serializers.VersionSerializer(made).data, status=201)


class Inputs(APIView):
    @extend_schema(
        operation_id="setting_inputs",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 404, 409),
    )
    def get(self, request: Request, slug: str, key: str) -> StreamingHttpResponse:
        """What is to be predicted: the lines of the setting in order, without their gold."""
        setting = setting_of(benchmark_of(request, slug), key)
        phases.require_begun(setting, request.user)
        named = f'attachment; filename="{slug}-{key}.jsonl"'
        return StreamingHttpResponse(
            file_contract.input_lines(setting),
            content_type="application/x-ndjson",
            headers={"Content-Disposition": named},
        )


class OneBoard(APIView):
    @extend_schema(
        operation_id="board",
        parameters=[
            OpenApiParameter("setting", str, description="Key of the setting; the first one without."),
            OpenApiParameter("order", str, description="Key of the measure to order by."),
            OpenApiParameter("version", int, description="Version of the setting; the newest without."),
        ],
        responses={200: benchmark_serializers.BoardSerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """The board of a setting: mean, deviation and range over runs."""
        asked = request.query_params
        setting = setting_of(benchmark_of(request, slug), asked.get("setting", ""))
        version = version_asked(request)
        board = leaderboard.board(setting, asked.get("order", ""), person=request.user, version=version)
        held = file_contract.as_of(versions.of_setting(setting, board.version))
        return Response(benchmark_serializers.BoardSerializer(replace(board, setting=held)).data)


class Measures(APIView):
    @extend_schema(
        operation_id="measures",
        responses={200: benchmark_serializers.MeasureSerializer(many=True)} | problems(401),
    )
    def get(self, request: Request) -> Response:
        """Every measure: what it says, its formula, its source."""
        return Response(benchmark_serializers.MeasureSerializer(list(MENU.values()), many=True).data)


class Limits(APIView):
    @extend_schema(
        operation_id="limits", responses={200: benchmark_serializers.LimitsSerializer} | problems(401)
    )
    def get(self, request: Request) -> Response:
        """Every limit of the service on what may be sent."""
        return Response(limits.of_service())


class BenchmarkLimits(APIView):
    @extend_schema(
        operation_id="benchmark_limits",
        parameters=[OpenApiParameter("team", str, description="Slug; needed by people in several teams.")],
        responses={200: benchmark_serializers.BenchmarkLimitsSerializer} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every limit of a benchmark, and what your team has used of its quotas."""
        benchmark = benchmark_of(request, slug)
        team = roles.team_of(request, named=request.query_params.get("team", ""))
        told = limits.of_benchmark(benchmark, team)
        return Response(benchmark_serializers.BenchmarkLimitsSerializer(told).data)
