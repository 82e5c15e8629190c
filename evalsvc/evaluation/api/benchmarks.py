"""API of benchmarks: rules, labels, measures, inputs of all settings."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

from django.db.models import Prefetch, QuerySet, prefetch_related_objects
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.testset import TestSet
from evalsvc.core.accounts import users
from evalsvc.core.errors.handlers import problems
from evalsvc.core.formats.label_list import LONGEST_LABEL
from evalsvc.core.web.downloads import jsonl_file
from evalsvc.core.web.markdown import MAX_LENGTH
from evalsvc.core.web.pagination import Pages
from evalsvc.core.web.request_validation import query_choices, validated
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.effects import BoardEffectSerializer
from evalsvc.evaluation.api.lookups import organised
from evalsvc.evaluation.api.shown_settings import SettingSerializer
from evalsvc.evaluation.benchmarks import creation, file_contract, inputs, old_names, rules
from evalsvc.evaluation.benchmarks.old_names import SwitchEffect
from evalsvc.evaluation.benchmarks.training_counts import shown_counts
from evalsvc.evaluation.dates import zone_key
from evalsvc.evaluation.disclosure.gold_digest import SecretGold
from evalsvc.evaluation.measures.menu import FAMILIES, MENU
from evalsvc.evaluation.models import Benchmark


# ---- serializers ------------------------------------------------------------------------------------
class LabelSerializer(serializers.Serializer[dict[str, Any]]):
    name = serializers.CharField(max_length=LONGEST_LABEL)
    title = serializers.CharField(max_length=LONGEST_LABEL, required=False)
    part = serializers.ChoiceField(
        choices=["entity", "relation"],
        required=False,
        help_text="In joint benchmarks only, and there needed.",
    )
    symmetric = serializers.BooleanField(
        required=False, help_text="Of relations in joint benchmarks: either direction is correct."
    )


class BenchmarkSerializer(serializers.ModelSerializer[Benchmark]):
    labels = LabelSerializer(many=True)
    settings = SettingSerializer(many=True, read_only=True)
    time_zone = serializers.SerializerMethodField()

    training_counts = serializers.SerializerMethodField(
        help_text="Examples per label in the training data; empty while a phase hides lines of them."
    )

    def get_time_zone(self, benchmark: Benchmark) -> str:
        return zone_key(benchmark)

    def get_training_counts(self, benchmark: Benchmark) -> dict[str, int]:
        return shown_counts(benchmark, self._secret)

    @cached_property
    def _secret(self) -> SecretGold:
        """Secret gold, read once for a whole list."""
        return SecretGold()

    class Meta:
        model = Benchmark
        fields = [
            *("slug", "title", "summary", "description", "task", "labels", "negative", "missing", "options"),
            *(
                "public",
                "default_quotas",
                "per_day",
                "in_total",
                "at_once",
                "phase_quotas",
                "time_zone",
                "limits",
                "training_counts",
                "settings",
            ),
        ]
        read_only_fields = fields


MOST = 2**31 - 1
QuotaField = partial(serializers.IntegerField, required=False, allow_null=True, min_value=1, max_value=MOST)


class RulesSerializer(serializers.Serializer[Any]):
    """Rules of a benchmark that no score depends on."""

    per_day = QuotaField(help_text="Submissions per team and day.")
    in_total = QuotaField()
    at_once = QuotaField()
    default_quotas = serializers.BooleanField(
        required=False,
        help_text="Hidden phases without a quota have 5 a day, and in total one per 50 items, from 3 to 100.",
    )
    phase_quotas = serializers.DictField(
        child=serializers.DictField(child=serializers.IntegerField(min_value=1, max_value=MOST)),
        required=False,
        help_text='Of a phase, besides those of all: {"dev": {"per_day": 50}, "test": {"in_total": 3}}.',
    )
    time_zone = serializers.CharField(
        required=False, max_length=60, help_text="Time zone of the daily quota, such as Europe/Vienna."
    )
    limits = serializers.DictField(
        child=serializers.IntegerField(min_value=1, max_value=MOST),
        required=False,
        help_text="`upload_bytes` and `lines`, up to the limits of the service.",
    )
    training_counts = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=MOST),
        required=False,
        help_text="Examples per label in the training data.",
    )


class BaselineSerializer(serializers.Serializer[Any]):
    team = serializers.SlugField(help_text="Slug of the team.")
    system = serializers.CharField(max_length=120, help_text="Name of the system.")


class ChangeBenchmarkSerializer(RulesSerializer):
    title = serializers.CharField(max_length=120, required=False)
    summary = serializers.CharField(max_length=200, required=False, allow_blank=True)
    description = serializers.CharField(max_length=MAX_LENGTH, required=False, allow_blank=True)
    public = serializers.BooleanField(required=False)
    training_set = serializers.CharField(
        required=False,
        max_length=100,
        help_text="Slug of the training set of a test set: its counts become `training_counts`.",
    )
    baselines = BaselineSerializer(
        many=True, required=False, help_text="All systems that the board marks as baselines."
    )
    preview = serializers.BooleanField(
        default=False, help_text="Change nothing; `effect` states who would see the benchmark."
    )


class ChangedBenchmarkSerializer(BenchmarkSerializer):
    effect = serializers.SerializerMethodField(help_text="Of a preview; else null.")

    class Meta(BenchmarkSerializer.Meta):
        fields = [*BenchmarkSerializer.Meta.fields, "effect"]
        read_only_fields = fields

    @extend_schema_field(BoardEffectSerializer(allow_null=True))
    def get_effect(self, benchmark: Benchmark) -> dict[str, Any] | None:
        effect = self.context["effect"]
        return BoardEffectSerializer(effect).data if effect else None


class NewBenchmarkSerializer(RulesSerializer):
    slug = serializers.SlugField(max_length=60)
    title = serializers.CharField(max_length=120)
    task = serializers.ChoiceField(choices=Benchmark.Task.choices)
    labels = LabelSerializer(many=True)
    negative = serializers.CharField(max_length=60, required=False, allow_blank=True, default="")
    missing = serializers.ChoiceField(choices=Benchmark.Missing.choices, default=Benchmark.Missing.REFUSE)
    options = serializers.DictField(required=False, default=dict)
    summary = serializers.CharField(max_length=200, required=False, allow_blank=True, default="")
    description = serializers.CharField(max_length=MAX_LENGTH, required=False, allow_blank=True, default="")
    public = serializers.BooleanField(default=True)


class MeasureSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    title = serializers.CharField()
    family = serializers.ChoiceField(choices=sorted({measure.family for measure in MENU.values()}))
    units = serializers.SerializerMethodField()
    higher_is_better = serializers.BooleanField()
    digits = serializers.IntegerField()
    unit = serializers.CharField(allow_blank=True)
    explains = serializers.CharField()
    formula = serializers.CharField()
    source = serializers.CharField()  # type: ignore[assignment]
    undefined = serializers.CharField()

    def get_units(self, measure: Any) -> list[str]:
        return list(FAMILIES[measure.family].kinds)


# ---- views ------------------------------------------------------------------------------------------
class BySlug(Pages):
    ordering = "slug"


TRAINING_SET = Prefetch("training_set", TestSet.objects.only("sha256"))
SHOWN = ("settings__test_set", "settings__only", "settings__versions", TRAINING_SET)


class Benchmarks(generics.ListAPIView[Benchmark]):
    for_teams = True

    serializer_class = BenchmarkSerializer
    pagination_class = BySlug

    def get_queryset(self) -> QuerySet[Benchmark]:
        chosen = query_choices(self.request, task=Benchmark.Task.values)
        visible = roles.visible(self.request.user).filter(**chosen)
        return visible.prefetch_related(*SHOWN)

    @extend_schema(
        operation_id="benchmarks_list",
        parameters=[OpenApiParameter("task", str, enum=Benchmark.Task.values)],
        responses={200: BenchmarkSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the benchmarks visible to you."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="benchmarks_create",
        request=NewBenchmarkSerializer,
        responses={201: BenchmarkSerializer} | problems(400, 401, 403, 409),
    )
    def post(self, request: Request) -> Response:
        """Create a benchmark that you organise."""
        values = validated(request, NewBenchmarkSerializer)
        benchmark = creation.create(by=users.person(request), **values)
        return Response(BenchmarkSerializer(benchmark).data, status=201)


class OneBenchmark(APIView):
    for_teams = True

    @extend_schema(operation_id="benchmark", responses={200: BenchmarkSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """A benchmark with its settings."""
        benchmark = roles.benchmark_for(request.user, slug)
        prefetch_related_objects([benchmark], *SHOWN)
        return Response(BenchmarkSerializer(benchmark).data)

    @extend_schema(
        operation_id="benchmark_change",
        request=ChangeBenchmarkSerializer,
        responses={200: ChangedBenchmarkSerializer} | problems(400, 401, 403, 404),
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change texts, quotas, limits and baselines of a benchmark, or preview who would see it."""
        benchmark, person = organised(request, slug)
        values, effect = validated(request, ChangeBenchmarkSerializer), None
        if values.pop("preview"):
            effect = rules.effect(benchmark, by=person, **values)
        else:
            benchmark = rules.change(benchmark, by=person, **values)
        return Response(ChangedBenchmarkSerializer(benchmark, context={"effect": effect}).data)


class SwitchSerializer(serializers.Serializer[Any]):
    mapped = serializers.BooleanField(help_text="Whether new files may have old names of labels.")


class SwitchEffectSerializer(serializers.Serializer[SwitchEffect]):
    mapped = serializers.BooleanField(help_text="Whether new files may have old names of labels now.")
    names = serializers.DictField(
        child=serializers.CharField(allow_null=True), help_text="Old names, and what they become if mapped."
    )
    runs = serializers.IntegerField(help_text="Scored runs; they are read as they were checked.")
    with_old_names = serializers.IntegerField(help_text="Those whose files have old names.")
    changed = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        help_text="Labels of stored files that a switch would read differently: then it is rejected.",
    )


class OldNames(APIView):
    @extend_schema(
        operation_id="old_names", responses={200: SwitchEffectSerializer} | problems(401, 403, 404)
    )
    def get(self, request: Request, slug: str) -> Response:
        """What mapping old names of labels, or no longer mapping them, would change."""
        benchmark, by = organised(request, slug)
        return Response(SwitchEffectSerializer(old_names.effect(benchmark, by=by)).data)

    @extend_schema(
        operation_id="old_names_switch",
        request=SwitchSerializer,
        responses={200: SwitchEffectSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Map old names in new files, or no longer; no score changes."""
        benchmark, by = organised(request, slug)
        stated = old_names.switch(benchmark, **validated(request, SwitchSerializer), by=by)
        return Response(SwitchEffectSerializer(stated).data)


class AllInputs(APIView):
    for_teams = True

    @extend_schema(
        operation_id="benchmark_inputs",
        parameters=[
            OpenApiParameter(
                "phase",
                str,
                enum=["dev", "test", file_contract.BOTH],
                description="Required if both are open; both: the inputs of all open phases, each once.",
            )
        ],
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(400, 401, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download every item a file sent now must answer, without gold."""
        benchmark = roles.benchmark_for(request.user, slug)
        contract = file_contract.for_new_file(benchmark, phase=request.query_params.get("phase", ""))
        return jsonl_file(f"{slug}-inputs.jsonl", inputs.input_lines(*contract.settings))


class Measures(APIView):
    for_teams = True

    @extend_schema(operation_id="measures", responses={200: MeasureSerializer(many=True)} | problems(401))
    def get(self, request: Request) -> Response:
        """List the measures with formula and source."""
        return Response(MeasureSerializer(list(MENU.values()), many=True).data)
