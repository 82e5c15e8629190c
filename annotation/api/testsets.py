"""API of freezes and test sets."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import conversion, roles
from annotation.api.lookups import curated, readable_test_set, visible_test_set
from annotation.api.projects import (
    FORMAT_HELP,
    BatchSerializer,
    FileSerializer,
    NewestFirst,
    OptionsField,
    receive,
    state_parameter,
)
from annotation.freezing import builder
from annotation.models import Batch, MadeExport, Project
from annotation.releases.publishing import record_download
from annotation.releases.shown_statistics import shown_statistics
from annotation.testset import (
    Kind,
    Origin,
    TestSet,
    export_lines,
    release,
    withdraw_release,
)
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.formats.documents import UNITS
from evalsvc.core.formats.tag_schemes import SCHEMES
from evalsvc.core.web.downloads import jsonl_file, stored_nowhere_file
from evalsvc.core.web.files_parser import FilesParser
from evalsvc.core.web.request_validation import query_choices, validated


class NewGoldSerializer(FileSerializer):
    name = serializers.CharField(max_length=120)
    version = serializers.CharField(max_length=20)
    kind = serializers.ChoiceField(choices=Kind.choices, default=Kind.RELATIONS)
    format = serializers.CharField(required=False, allow_blank=True, help_text=FORMAT_HELP)
    options = OptionsField(required=False, help_text="labels, negative, source_of, scheme, repair, column")


class NewFreezeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=120)
    version = serializers.CharField(max_length=20)
    leave_out = serializers.BooleanField(default=False, help_text="Leave out open and disputed items.")


class TestSetSerializer(serializers.ModelSerializer[TestSet]):
    __test__ = False

    state = serializers.CharField(read_only=True, help_text="building, frozen or failed")
    project = serializers.CharField(source="project.slug", read_only=True, default=None, allow_null=True)
    source_twin = serializers.SerializerMethodField()
    statistics = serializers.SerializerMethodField()
    sha256 = serializers.SerializerMethodField()
    reason = serializers.SerializerMethodField()

    class Meta:
        model = TestSet
        fields = [
            *("slug", "name", "version", "kind", "origin", "state", "project", "source_twin", "labels"),
            *("negative", "statistics", "rows", "sha256", "reason", "created_at", "frozen_at"),
        ]
        read_only_fields = fields

    def get_source_twin(self, test_set: TestSet) -> str | None:
        """Return the slug of the source set frozen with an annotated one."""
        source_set = getattr(test_set, "source_twin", None)
        return source_set.slug if source_set else None

    @extend_schema_field({"type": "object", "additionalProperties": {}, "nullable": True})
    def get_statistics(self, test_set: TestSet) -> dict[str, Any] | None:
        """Return the figures; null until they are computed, and you may read them."""
        if not self._shows_outcomes(test_set):
            return None
        undecided = roles.shows_undecided(test_set, curates=test_set.project_id in self._curated)
        return shown_statistics(test_set, of_left_out=True, of_undecided=undecided)

    def get_sha256(self, test_set: TestSet) -> str | None:
        """Return the digest of the gold lines; null unless you may learn this gold."""
        return test_set.sha256 if test_set.pk in self._known else None

    def get_reason(self, test_set: TestSet) -> str:
        """Return why it failed, to those who may read its figures."""
        return test_set.reason if self._shows_outcomes(test_set) else ""

    def _shows_outcomes(self, test_set: TestSet) -> bool:
        return roles.shows_outcomes(test_set, with_gold=test_set.pk in self._known)

    @cached_property
    def _curated(self) -> set[int]:
        """Keys of the projects that the person curates."""
        user = person(self.context["request"])
        own = (
            Project.objects.all()
            if user.is_superuser
            else Project.objects.filter(members__user=user, members__role=roles.CURATOR)
        )
        return set(own.values_list("pk", flat=True))

    @cached_property
    def _known(self) -> set[int]:
        """Keys of the sets of this reply whose gold the person may learn."""
        listed = getattr(self.parent, "instance", None) or [self.instance]
        known = TestSet.objects.filter(pk__in=[each.pk for each in listed])
        return set(known.known_to(person(self.context["request"])).values_list("pk", flat=True))


def body_of(request: Request, test_set: TestSet) -> Any:
    """Return what a person may read of a test set."""
    return TestSetSerializer(test_set, context={"request": request}).data


class Freeze(APIView):
    @extend_schema(
        operation_id="project_freeze",
        request=NewFreezeSerializer,
        responses={202: TestSetSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze decided items into an immutable test set, by a job."""
        project, by = curated(request, slug)
        test_set = builder.freeze(project, by=by, **validated(request, NewFreezeSerializer))
        return Response(body_of(request, test_set), status=202)


class TestSets(generics.ListAPIView[TestSet]):
    __test__ = False
    serializer_class = TestSetSerializer
    pagination_class = NewestFirst
    parser_classes = [FilesParser]

    def get_queryset(self) -> QuerySet[TestSet]:
        filters = query_choices(
            self.request, state=TestSet.State.values, kind=Kind.values, origin=Origin.values
        )
        if slug := self.request.query_params.get("project", ""):
            filters["project__slug"] = slug
        test_sets = TestSet.objects.visible_to(person(self.request)).filter(**filters)
        return test_sets.select_related("project", "source_twin")

    @extend_schema(
        operation_id="test_sets_list",
        parameters=[
            state_parameter(TestSet.State),
            OpenApiParameter("kind", str, enum=Kind.values),
            OpenApiParameter("origin", str, enum=Origin.values),
            OpenApiParameter("project", str, description="Slug of the project it was frozen from."),
        ],
        responses={200: TestSetSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the test sets of your projects and those you imported."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="test_sets_import",
        request={"multipart/form-data": NewGoldSerializer},
        responses={202: BatchSerializer} | problems(400, 401, 403, 409, 413),
    )
    def post(self, request: Request) -> Response:
        """Import a published test set. One invalid line rejects the whole file."""
        body = validated(request, NewGoldSerializer)
        identity = {name: body[name] for name in ("name", "version", "kind")}
        body["options"] = (body.get("options") or {}) | identity
        batch = receive(request, body, what=Batch.What.GOLD)
        return Response(BatchSerializer(batch).data, status=202)


class OneTestSet(APIView):
    @extend_schema(operation_id="test_set", responses={200: TestSetSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Get a test set: its origin, labels, statistics and digest."""
        return Response(body_of(request, visible_test_set(request, slug)))


class ReleaseSerializer(serializers.Serializer[Any]):
    username = serializers.CharField(max_length=150)
    released = serializers.BooleanField(default=True, help_text="false ends the release.")


class ReleasesSerializer(serializers.Serializer[Any]):
    usernames = serializers.ListField(child=serializers.CharField())


class Releases(APIView):
    @extend_schema(
        operation_id="test_set_releases", responses={200: ReleasesSerializer} | problems(401, 403, 404, 409)
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the organisers who may use the set in benchmarks.

        They cannot download its gold.
        """
        test_set, _ = readable_test_set(request, slug)
        return Response({"usernames": list(test_set.releases.values_list("user__username", flat=True))})

    @extend_schema(
        operation_id="test_set_release",
        request=ReleaseSerializer,
        responses={200: ReleasesSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Release the set to an organiser, or end a release.

        For those who may read the gold.
        """
        test_set, user = readable_test_set(request, slug)
        body = validated(request, ReleaseSerializer)
        act = release if body["released"] else withdraw_release
        act(test_set, username=body["username"], by=user)
        return self.get(request, slug)


class Lines(APIView):
    @extend_schema(
        operation_id="test_set_lines",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download the gold, byte for byte as hashed. For curators and importers."""
        test_set, _ = readable_test_set(request, slug)
        record_download(test_set, person(request), "gold")
        headers = {"X-Content-SHA256": test_set.sha256}
        return jsonl_file(f"{test_set.slug}.jsonl", export_lines(test_set), **headers)


EXPORT_PARAMETERS = [
    OpenApiParameter("key", str, OpenApiParameter.PATH, description="Of the format, such as spert or brat."),
    OpenApiParameter(
        "scheme", str, enum=SCHEMES, description="Tag scheme of CoNLL columns; IOB2 if not stated."
    ),
    OpenApiParameter("unit", str, enum=UNITS, description="Unit of offsets; doccano needs it."),
]


def _export_options(request: Request) -> dict[str, Any]:
    return {name: request.query_params.get(name, "") for name in ("scheme", "unit")}


class MadeSerializer(serializers.ModelSerializer[MadeExport]):
    class Meta:
        model = MadeExport
        fields = ["format", "size", "lost"]
        read_only_fields = fields


class Export(APIView):
    @extend_schema(
        operation_id="test_set_export",
        parameters=EXPORT_PARAMETERS,
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY}
        | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str, key: str) -> StreamingHttpResponse:
        """Download the gold in the format of another tool; several files come as a zip."""
        test_set, _ = readable_test_set(request, slug)
        made = conversion.export(test_set, key, **_export_options(request))
        record_download(test_set, person(request), f"gold as {key}"[:40])
        return stored_nowhere_file(made.file, made.name)

    @extend_schema(
        operation_id="test_set_export_make",
        parameters=EXPORT_PARAMETERS,
        request=None,
        responses={202: MadeSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Have a job write a large set, or a format that needs one. `size` is null until it has."""
        test_set = visible_test_set(request, slug)
        made = conversion.make(test_set, key, **_export_options(request), by=person(request))
        return Response(MadeSerializer(made).data, status=202)


class LossesSerializer(serializers.Serializer[Any]):
    format = serializers.CharField()
    unit = serializers.CharField(help_text="What offsets count.")
    loses = serializers.CharField(help_text="What is lost of any set.")
    lost = serializers.DictField(
        child=serializers.IntegerField(), help_text="What is lost of this set, counted."
    )


class Losses(APIView):
    @extend_schema(
        operation_id="test_set_losses",
        parameters=EXPORT_PARAMETERS,
        responses={200: LossesSerializer} | problems(400, 401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str, key: str) -> Response:
        """Count what a format can't hold of the set."""
        test_set, _ = readable_test_set(request, slug)
        options = _export_options(request)
        lost = conversion.losses(test_set, key, **options)
        writer = conversion.choose(test_set, key, **options).writer
        assert writer is not None
        row = {"format": key, "unit": writer.unit, "loses": writer.loses, "lost": lost}
        return Response(LossesSerializer(row).data)
