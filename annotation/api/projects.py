"""API of projects and imports."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import projects, roles
from annotation.api.lookups import curated, project_of
from annotation.api.monitoring import STATES
from annotation.imports import batches
from annotation.models import Batch, Policy, Project
from annotation.ontology import inventory
from annotation.reports import project_stats
from annotation.reports.progress import progress_of
from annotation.testset import Kind
from evalsvc.core.accounts.users import person
from evalsvc.core.activity.api import LogEntrySerializer, LogView
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.files_parser import FilesParser
from evalsvc.core.web.markdown import MAX_LENGTH
from evalsvc.core.web.pagination import Pages
from evalsvc.core.web.request_validation import query_choices, validated

ANNOTATIONS_HELP = "Only for brat: the .ann file of the .txt file."
FORMAT_HELP = "Detected from the content when absent."


class ProjectSerializer(serializers.ModelSerializer[Project]):
    state = serializers.CharField(read_only=True, help_text="setup, open, closed or archived")

    class Meta:
        model = Project
        fields = [
            *("slug", "title", "kind", "state", "k", "policy", "guideline", "na_means"),
            *("spans_may_overlap", "by_sentence", "created_at"),
        ]
        read_only_fields = fields


class NewProjectSerializer(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=120)
    slug = serializers.SlugField(max_length=60, required=False)
    kind = serializers.ChoiceField(choices=Kind.choices)
    k = serializers.IntegerField(default=4, min_value=1, max_value=50)
    policy = serializers.ChoiceField(choices=Policy.choices, required=False)
    guideline = serializers.CharField(max_length=MAX_LENGTH, required=False, allow_blank=True)


class ChoiceSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    title = serializers.CharField()
    phrase = serializers.CharField()
    group = serializers.CharField()
    definition = serializers.CharField()
    choose = serializers.ListField(child=serializers.CharField())
    avoid = serializers.ListField(child=serializers.CharField())
    head_type = serializers.CharField()
    tail_type = serializers.CharField()
    key = serializers.CharField()


class ProjectDetailSerializer(ProjectSerializer):
    role = serializers.CharField()
    labels = ChoiceSerializer(many=True)
    progress = serializers.DictField(help_text="Your own progress.")
    states = serializers.DictField(
        child=serializers.IntegerField(), required=False, help_text=f"{STATES} Not for annotators."
    )

    class Meta(ProjectSerializer.Meta):
        fields = [*ProjectSerializer.Meta.fields, "role", "labels", "progress", "states"]
        read_only_fields = fields


class BatchSerializer(serializers.ModelSerializer[Batch]):
    state = serializers.CharField(
        read_only=True, help_text="received, running, done, refused, failed or cancelled"
    )
    project = serializers.CharField(source="project.slug", read_only=True, default=None, allow_null=True)
    test_set = serializers.SerializerMethodField()

    class Meta:
        model = Batch
        fields = [
            *("id", "project", "what", "format", "options", "filename", "sha256", "size", "state"),
            *("counts", "refused", "problems", "reason", "test_set", "created_at", "ended_at"),
        ]
        read_only_fields = fields

    def get_test_set(self, batch: Batch) -> str | None:
        """Return the slug of the test set of a gold import."""
        test_set = getattr(batch, "test_set", None)
        return test_set.slug if test_set else None


class OptionsField(serializers.JSONField):
    """JSON object, also accepted as text in a multipart form."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        value = super().to_internal_value(data)
        if not isinstance(value, dict):
            raise serializers.ValidationError(
                f'Expected an object, not {type(value).__name__}. Send for example {{"scheme": "IOB2"}}.'
            )
        return value


class FileSerializer(serializers.Serializer[Any]):
    """A file, and for brat the annotations of it; a text that has some may be empty."""

    file = serializers.FileField(allow_empty_file=True)
    annotations = serializers.FileField(required=False, allow_empty_file=True, help_text=ANNOTATIONS_HELP)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs["file"].size and "annotations" not in attrs:
            self.fields["file"].fail("empty")
        return attrs


class NewImportSerializer(FileSerializer):
    what = serializers.ChoiceField(
        choices=[Batch.What.ITEMS, Batch.What.VOTES, Batch.What.SUGGESTIONS], default=Batch.What.ITEMS
    )
    format = serializers.CharField(required=False, allow_blank=True, help_text=FORMAT_HELP)
    options = OptionsField(required=False)


class NewestFirst(Pages):
    ordering = "-id"


def state_parameter(states: Any) -> OpenApiParameter:
    return OpenApiParameter("state", str, enum=states.values)


class Projects(generics.ListAPIView[Project]):
    serializer_class = ProjectSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> QuerySet[Project]:
        filters = query_choices(self.request, state=Project.State.values, kind=Kind.values)
        listed = roles.visible_projects if "state" in filters else roles.listed_projects
        return listed(person(self.request)).filter(**filters)

    @extend_schema(
        operation_id="projects_list",
        parameters=[state_parameter(Project.State), OpenApiParameter("kind", str, enum=Kind.values)],
        responses={200: ProjectSerializer(many=True)} | problems(400, 401, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the projects you have a role in; archived ones only with `state=archived`."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="projects_create",
        request=NewProjectSerializer,
        responses={201: ProjectSerializer} | problems(400, 401, 403, 409),
    )
    def post(self, request: Request) -> Response:
        """Create a project. You become its curator."""
        project = projects.create(by=person(request), **validated(request, NewProjectSerializer))
        return Response(ProjectSerializer(project).data, status=201)


class OneProject(APIView):
    @extend_schema(operation_id="project", responses={200: ProjectDetailSerializer} | problems(401, 404))
    def get(self, request: Request, slug: str) -> Response:
        """Get a project with its labels and your role and progress."""
        project, user = project_of(request, slug), person(request)
        role = roles.require(project, user)
        labels = [c for part in inventory.parts_of(project) for c in inventory.inventory(project, part)]
        body = dict(ProjectSerializer(project).data) | {
            "role": role,
            "labels": ChoiceSerializer(labels, many=True).data,
            "progress": progress_of(project, user),
        }
        if role in roles.MAY_OVERSEE:
            body["states"] = project_stats.states_for(project, role)
        return Response(body)


class Imports(generics.ListAPIView[Batch]):
    serializer_class = BatchSerializer
    pagination_class = NewestFirst
    parser_classes = [FilesParser]

    def get_queryset(self) -> QuerySet[Batch]:
        if getattr(self, "swagger_fake_view", False):
            return Batch.objects.none()
        project, _ = curated(self.request, self.kwargs["slug"])
        filters = query_choices(self.request, state=Batch.State.values, what=Batch.What.values)
        return project.batches.filter(**filters).select_related("project", "test_set")

    @extend_schema(
        operation_id="imports_list",
        parameters=[state_parameter(Batch.State), OpenApiParameter("what", str, enum=Batch.What.values)],
        responses={200: BatchSerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the imports into a project, newest first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(
        operation_id="imports_create",
        request={"multipart/form-data": NewImportSerializer},
        responses={202: BatchSerializer} | problems(400, 401, 403, 404, 409, 413),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Import items, answers or predictions from a file, by a job."""
        body = validated(request, NewImportSerializer)
        batch = receive(request, body, what=body["what"], project=project_of(request, slug))
        return Response(BatchSerializer(batch).data, status=202)


def receive(request: Request, body: dict[str, Any], *, what: str, project: Project | None = None) -> Batch:
    upload = body["file"]
    return batches.receive(
        content=what,
        upload=upload,
        filename=upload.name,
        format=body.get("format", ""),
        options=body.get("options") or {},
        by=person(request),
        project=project,
        annotations=body.get("annotations"),
    )


class ProjectLog(LogView):
    def subject(self) -> Project:
        project, _ = curated(self.request, self.kwargs["slug"])
        return project

    @extend_schema(
        operation_id="project_log",
        responses={200: LogEntrySerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the changes to a project, newest first."""
        return super().get(request, *args, **kwargs)
