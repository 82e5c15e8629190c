"""API of jobs that make test sets and load imports: retry, cancel and undo."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api.lookups import visible_test_set
from annotation.api.projects import BatchSerializer
from annotation.api.testsets import TestSetSerializer, body_of
from annotation.imports import batches, undoing
from annotation.models import Batch
from annotation.splits import building
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated

OF_SET = {200: TestSetSerializer} | problems(401, 403, 404, 409)
OF_IMPORT = {200: BatchSerializer} | problems(401, 403, 404, 409)


class RetryTestSet(APIView):
    @extend_schema(operation_id="test_set_retry", request=None, responses=OF_SET)
    def post(self, request: Request, slug: str) -> Response:
        """Restart the failed job of a test set. For its curators or importer."""
        building.retry(visible_test_set(request, slug), by=person(request))
        return Response(body_of(request, visible_test_set(request, slug)))


class CancelTestSet(APIView):
    @extend_schema(operation_id="test_set_cancel", request=None, responses=OF_SET)
    def post(self, request: Request, slug: str) -> Response:
        """Cancel the making of a test set. For its curators or importer."""
        building.cancel(visible_test_set(request, slug), by=person(request))
        return Response(body_of(request, visible_test_set(request, slug)))


def visible_import(request: Request, pk: int) -> Batch:
    """Return an import that the person may see, or 404."""
    user = person(request)
    batch = Batch.objects.select_related("project", "test_set").filter(pk=pk).first()
    if batch is None or not (batch.project or user.is_superuser or batch.by_id == user.pk):
        raise Http404
    if batch.project is not None:
        roles.require_or_hide(batch.project, user, roles.CURATOR)
    return batch


class OneImport(APIView):
    @extend_schema(operation_id="import", responses={200: BatchSerializer} | problems(401, 404))
    def get(self, request: Request, pk: int) -> Response:
        """Get an import: its state, its counts and the rejected lines."""
        return Response(BatchSerializer(visible_import(request, pk)).data)


class RetryImport(APIView):
    @extend_schema(operation_id="import_retry", request=None, responses=OF_IMPORT)
    def post(self, request: Request, pk: int) -> Response:
        """Load the file of a failed import again. For its curators or importer."""
        batches.retry(visible_import(request, pk), by=person(request))
        return Response(BatchSerializer(visible_import(request, pk)).data)


class CancelImport(APIView):
    @extend_schema(operation_id="import_cancel", request=None, responses=OF_IMPORT)
    def post(self, request: Request, pk: int) -> Response:
        """Cancel an import. For its curators or importer."""
        batches.cancel(visible_import(request, pk), by=person(request))
        return Response(BatchSerializer(visible_import(request, pk)).data)


class UndoImportSerializer(serializers.Serializer[Any]):
    preview = serializers.BooleanField(default=False, help_text="Change nothing, only return the effect.")


class UndoneImportSerializer(serializers.Serializer[Any]):
    sentences = serializers.IntegerField(help_text="Removed from the project.")
    decisions = serializers.IntegerField(help_text="On these sentences, exclusions included.")
    gold_questions = serializers.IntegerField(help_text="Among these sentences.")
    shared = serializers.IntegerField(help_text="Sentences of the file that other imports have; they stay.")
    effect = serializers.CharField(help_text="The same in words.")


class UndoImport(APIView):
    @extend_schema(
        operation_id="import_undo",
        request=UndoImportSerializer,
        responses={200: UndoneImportSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Take sentences that nobody answered out of a project again, or preview that. For its curators."""
        preview = validated(request, UndoImportSerializer)["preview"]
        effect = undoing.undo(visible_import(request, pk), by=person(request), preview=preview)
        return Response(UndoneImportSerializer(asdict(effect) | {"effect": str(effect)}).data)
