"""API of contributed measures: compose, list, admit, decline, retire."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated
from evalsvc.evaluation import roles
from evalsvc.evaluation.api.lookups import organised
from evalsvc.evaluation.benchmarks import contributed
from evalsvc.evaluation.models import Benchmark, ContributedMeasure


class BatchProgressSerializer(serializers.Serializer[contributed.Progress]):
    scored = serializers.IntegerField(help_text="Stored scorings with a figure under the measure.")
    total = serializers.IntegerField()


class ContributedMeasureSerializer(serializers.ModelSerializer[ContributedMeasure]):
    key = serializers.CharField(help_text="Key of its scores, and of its column on boards.")
    formula = serializers.CharField(help_text="Drawn up from its parts.")
    composition = serializers.JSONField(help_text="Its parts, with their defaults.")
    by = serializers.SerializerMethodField(
        help_text="Null unless you organise the benchmark, or proposed it."
    )
    complete = serializers.BooleanField(help_text="True when boards show it.")
    progress = serializers.SerializerMethodField(help_text="Of the batch after an admission, else null.")

    class Meta:
        model = ContributedMeasure
        fields = [
            *("key", "name", "version", "title", "state", "complete", "composition", "formula"),
            *("by", "created_at", "decided_at", "progress"),
        ]
        read_only_fields = fields

    @extend_schema_field(serializers.CharField(allow_null=True))
    def get_by(self, measure: ContributedMeasure) -> str | None:
        named = self.context["organiser"] or measure.by_id == self.context["person"].pk
        return measure.by.shown_name if named else None

    @extend_schema_field(BatchProgressSerializer(allow_null=True))
    def get_progress(self, measure: ContributedMeasure) -> Any:
        found = self.context["progress"].get(measure.pk)
        return None if found is None else BatchProgressSerializer(found).data


class NewMeasureSerializer(serializers.Serializer[Any]):
    name = serializers.SlugField(max_length=40, help_text="A name again makes its next version.")
    title = serializers.CharField(max_length=60, help_text="Heading of its column.")
    composition = serializers.DictField(
        help_text="base, figure, beta, scheme, weights, labels; of words gamma, gammas, scheme, over."
    )


class AdmissionSerializer(serializers.Serializer[Any]):
    admit = serializers.BooleanField(help_text="True scores every stored run under it; false declines it.")


def _shown(
    benchmark: Benchmark, measures: list[ContributedMeasure], person: User, *, many: bool = True
) -> Any:
    context = {
        "progress": contributed.progress(benchmark, measures),
        "person": person,
        "organiser": roles.role_in(benchmark, person) == roles.ORGANISER,
    }
    return ContributedMeasureSerializer(measures if many else measures[0], many=many, context=context).data


class ContributedMeasures(APIView):
    for_teams = True

    @extend_schema(
        operation_id="contributed_measures",
        responses={200: ContributedMeasureSerializer(many=True)} | problems(401, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the measures that members contributed to a benchmark."""
        benchmark = roles.benchmark_for(request.user, slug)
        return Response(
            _shown(benchmark, list(benchmark.measures.select_related("by")), users.person(request))
        )

    @extend_schema(
        operation_id="contributed_measure_propose",
        request=NewMeasureSerializer,
        responses={201: ContributedMeasureSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Propose a measure composed from the menu, or the next version of one."""
        benchmark = roles.benchmark_for(request.user, slug)
        values = validated(request, NewMeasureSerializer)
        person = users.person(request)
        measure = contributed.propose(benchmark, by=person, **values)
        return Response(_shown(benchmark, [measure], person, many=False), status=201)


class OneContributedMeasure(APIView):
    @extend_schema(
        operation_id="contributed_measure_decide",
        request=AdmissionSerializer,
        responses={200: ContributedMeasureSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, name: str, version: int) -> Response:
        """Admit a measure, which queues every stored run as one batch, or decline it."""
        benchmark, person = organised(request, slug)
        measure = contributed.measure_for(benchmark, name, version)
        contributed.decide(measure, by=person, **validated(request, AdmissionSerializer))
        return Response(_shown(benchmark, [measure], person, many=False))


class RetireMeasure(APIView):
    @extend_schema(
        operation_id="contributed_measure_retire",
        request=None,
        responses={200: ContributedMeasureSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, name: str, version: int) -> Response:
        """Take an admitted measure off the boards; its scores stay."""
        benchmark, person = organised(request, slug)
        measure = contributed.measure_for(benchmark, name, version)
        contributed.retire(measure, by=person)
        return Response(_shown(benchmark, [measure], person, many=False))
