"""The JSON door for those who run a project: projects, imports, freezes, test sets."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import projects, roles
from annotation.api import serializers as shapes
from annotation.api.labelling import person, project_of, sent
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Batch, Project
from annotation.ontology import inventory
from annotation.reports.progress import progress_of
from annotation.testset import Kind, Origin, TestSet, export
from evalsvc.core.errors.serializers import problems
from evalsvc.core.web.pagination import Pages, choices


class NewestFirst(Pages):
    ordering = "-id"


def _state(states: Any) -> OpenApiParameter:
    return OpenApiParameter("state", str, enum=states.values)


class Projects(generics.ListAPIView[Project]):
    serializer_class = shapes.ProjectSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[Project]:
        asked = choices(self.request, state=Project.State.values, kind=Kind.values)
        return roles.visible(person(self.request)).filter(**asked)

    @extend_schema(
        operation_id="projects_list",
        parameters=[_state(Project.State), OpenApiParameter("kind", str, enum=Kind.values)],
        responses={200: shapes.ProjectSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Projects you have a role in."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="projects_create",
        request=shapes.NewProjectSerializer,
        responses={201: shapes.ProjectSerializer} | problems(400, 401, 403, 409),
    )
    def post(self, request: Request) -> Response:
        """Open a project; you become its curator."""
        made = projects.create(by=person(request), **sent(request, shapes.NewProjectSerializer))
        return Response(shapes.ProjectSerializer(made).data, status=201)


class OneProject(APIView):
    @extend_schema(
        operation_id="project", responses={200: shapes.ProjectDetailSerializer} | problems(401, 404)
    )
    def get(self, request: Request, slug: str) -> Response:
        """A project: what can be chosen, your role, your progress; for those who oversee it, its state."""
        project, user = project_of(request, slug), person(request)
        role = roles.require(project, user)
        told: dict[str, Any] = dict(shapes.ProjectSerializer(project).data)
        choices = [c for part in inventory.parts_of(project) for c in inventory.inventory(project, part)]
        told |= {"role": role, "labels": shapes.ChoiceSerializer(choices, many=True).data}
        told |= {"progress": progress_of(project, user)}
        if role in roles.OVERSEES:
            told["states"] = builder.blockers(project)
        return Response(told)


class Imports(generics.ListAPIView[Batch]):
    serializer_class = shapes.BatchSerializer
    pagination_class = NewestFirst
    parser_classes = [MultiPartParser]

    def get_queryset(self) -> QuerySet[Batch]:
        if getattr(self, "swagger_fake_view", False):
            return Batch.objects.none()
        project = project_of(self.request, self.kwargs["slug"])
        roles.require(project, person(self.request), roles.CURATOR)
        asked = choices(self.request, state=Batch.State.values, what=Batch.What.values)
        return project.batches.filter(**asked).select_related("project")

    @extend_schema(
        operation_id="imports_list",
        parameters=[_state(Batch.State), OpenApiParameter("what", str, enum=Batch.What.values)],
        responses={200: shapes.BatchSerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Imports into the project, newest first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="imports_create",
        request={"multipart/form-data": shapes.NewImportSerializer},
        responses={202: shapes.BatchSerializer} | problems(400, 401, 403, 404, 409, 413),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Import items or answers from a file; the work is done by a job."""
        said = sent(request, shapes.NewImportSerializer)
        batch = _received(request, said, what=said["what"], project=project_of(request, slug))
        return Response(shapes.BatchSerializer(batch).data, status=202)


def _received(request: Request, said: dict[str, Any], *, what: str, project: Project | None = None) -> Batch:
    upload = said["file"]
    return batches.receive(
        what=what,
        upload=upload,
        filename=upload.name,
        format=said.get("format", ""),
        options=said.get("options") or {},
        by=person(request),
        project=project,
    )


class OneImport(APIView):
    @extend_schema(operation_id="import", responses={200: shapes.BatchSerializer} | problems(401, 403, 404))
    def get(self, request: Request, pk: int) -> Response:
        """An import: its state, what was read and stored, and the lines that did not fit."""
        user = person(request)
        batch = Batch.objects.select_related("project", "test_set").filter(pk=pk).first()
        if batch is None or not (batch.project or user.is_superuser or batch.by_id == user.pk):
            raise Http404
        if batch.project is not None:
            roles.require(batch.project, user, roles.CURATOR)
        return Response(shapes.BatchSerializer(batch).data)


class Freeze(APIView):
    @extend_schema(
        operation_id="project_freeze",
        request=shapes.NewFreezeSerializer,
        responses={202: shapes.TestSetSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze what is settled and decided into an immutable test set; the work is done by a job."""
        project = project_of(request, slug)
        made = builder.freeze(project, by=person(request), **sent(request, shapes.NewFreezeSerializer))
        return Response(shapes.TestSetSerializer(made).data, status=202)


class TestSets(generics.ListAPIView[TestSet]):
    __test__ = False
    serializer_class = shapes.TestSetSerializer
    pagination_class = NewestFirst
    parser_classes = [MultiPartParser]

    def get_queryset(self) -> QuerySet[TestSet]:
        asked = choices(
            self.request, state=TestSet.State.values, kind=Kind.values, origin=Origin.values
        ) | _of_project(self.request)
        seen = TestSet.objects.seen_by(person(self.request)).filter(**asked)
        return seen.select_related("project", "source_twin")

    @extend_schema(
        operation_id="test_sets_list",
        parameters=[
            _state(TestSet.State),
            OpenApiParameter("kind", str, enum=Kind.values),
            OpenApiParameter("origin", str, enum=Origin.values),
            OpenApiParameter("project", str, description="Slug of the project it was frozen from."),
        ],
        responses={200: shapes.TestSetSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Test sets of your projects, and those you imported."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="test_sets_import",
        request={"multipart/form-data": shapes.NewGoldSerializer},
        responses={202: shapes.BatchSerializer} | problems(400, 401, 403, 409, 413),
    )
    def post(self, request: Request) -> Response:
        """Import published gold; one bad line refuses the file."""
        said = sent(request, shapes.NewGoldSerializer)
        own = {name: said[name] for name in ("name", "version", "kind")}
        said["options"] = (said.get("options") or {}) | own
        batch = _received(request, said, what=Batch.What.GOLD)
        return Response(shapes.BatchSerializer(batch).data, status=202)


def _of_project(request: Request) -> dict[str, str]:
    named = request.query_params.get("project", "")
    return {"project__slug": named} if named else {}


def _test_set(request: Request, slug: str) -> TestSet:
    found = TestSet.objects.seen_by(person(request)).select_related("project").filter(slug=slug).first()
    if found is None:
        raise Http404
    return found


class OneTestSet(APIView):
    @extend_schema(operation_id="test_set", responses={200: shapes.TestSetSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Which exact set it is, what it is made of, and its digest."""
        return Response(shapes.TestSetSerializer(_test_set(request, slug)).data)


class Lines(APIView):
    @extend_schema(
        operation_id="test_set_lines",
        responses={(200, "application/x-ndjson"): OpenApiTypes.BINARY} | problems(401, 403, 404, 409),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """The gold, byte for byte what the digest is of; for curators and importers."""
        test_set = _test_set(request, slug)
        test_set.require_reader(person(request))
        response = StreamingHttpResponse(export(test_set), content_type="application/x-ndjson")
        response["Content-Disposition"] = f'attachment; filename="{test_set.slug}.jsonl"'
        response["X-Content-SHA256"] = test_set.sha256
        return response
