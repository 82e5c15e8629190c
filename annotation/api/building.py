"""API of jobs that make test sets and load imports: retry and cancel."""

from __future__ import annotations

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.api.projects import BatchSerializer
from annotation.api.testsets import TestSetSerializer, visible_test_set
from annotation.imports import batches
from annotation.models import Batch
from annotation.splits import building
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems

OF_SET = {200: TestSetSerializer} | problems(401, 403, 404, 409)
OF_IMPORT = {200: BatchSerializer} | problems(401, 403, 404, 409)


class RetryTestSet(APIView):
    @extend_schema(operation_id="test_set_retry", request=None, responses=OF_SET)
    def post(self, request: Request, slug: str) -> Response:
        """Restart the failed job of a test set. For its curators or importer."""
        building.retry(visible_test_set(request, slug), by=person(request))
        return Response(TestSetSerializer(visible_test_set(request, slug)).data)


class CancelTestSet(APIView):
    @extend_schema(operation_id="test_set_cancel", request=None, responses=OF_SET)
    def post(self, request: Request, slug: str) -> Response:
        """Cancel the making of a test set. For its curators or importer."""
        building.cancel(visible_test_set(request, slug), by=person(request))
        return Response(TestSetSerializer(visible_test_set(request, slug)).data)


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
