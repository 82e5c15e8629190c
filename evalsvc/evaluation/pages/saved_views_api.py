"""API of saved views; a view is taken if the page of the board takes its query."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from evalsvc.core.accounts import users
from evalsvc.core.errors.exceptions import Unknown
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import saved_views
from evalsvc.evaluation.models import SavedView
from evalsvc.evaluation.pages.saved_views import LONGEST_QUERY, checked


class SavedViewSerializer(serializers.ModelSerializer[SavedView]):
    address = serializers.SerializerMethodField(help_text="Leads to the leaderboard as it was saved.")
    shared = serializers.BooleanField(help_text="For everybody who sees the leaderboard; else yours alone.")

    class Meta:
        model = SavedView
        fields = ["id", "title", "query", "shared", "address", "created_at"]
        read_only_fields = fields

    @extend_schema_field(str)
    def get_address(self, view: SavedView) -> str:
        path = reverse("board-saved-view", args=[view.benchmark.slug, view.pk])
        request: HttpRequest = self.context["request"]
        return request.build_absolute_uri(path)


class TitleSerializer(serializers.Serializer[Any]):
    title = serializers.CharField(max_length=saved_views.MOST_CHARACTERS)


class NewSavedViewSerializer(TitleSerializer):
    query = serializers.CharField(
        max_length=LONGEST_QUERY,
        allow_blank=True,
        help_text="From the address of the leaderboard: setting, columns, filters and order. "
        "A version is not kept.",
    )
    shared = serializers.BooleanField(default=False, help_text="For everybody; for organisers.")


class SavedViews(APIView):
    for_teams = True

    @extend_schema(
        operation_id="saved_views", responses={200: SavedViewSerializer(many=True)} | problems(401, 404)
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the saved views of a leaderboard: those for everybody, and yours."""
        benchmark = roles.benchmark_for(request.user, slug)
        rows = saved_views.seen_by(benchmark, request.user).select_related("benchmark")
        return Response(SavedViewSerializer(rows, many=True, context={"request": request}).data)

    @extend_schema(
        operation_id="saved_view_make",
        request=NewSavedViewSerializer,
        responses={201: SavedViewSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Save a view of a leaderboard for yourself, or as an organiser for everybody."""
        benchmark, person = roles.benchmark_for(request.user, slug), users.person(request)
        values = validated(request, NewSavedViewSerializer)
        values["query"] = checked(benchmark, values["query"])
        view = saved_views.save(benchmark, by=person, **values)
        return Response(SavedViewSerializer(view, context={"request": request}).data, status=201)


class OneSavedView(APIView):
    @extend_schema(
        operation_id="saved_view_rename",
        request=TitleSerializer,
        responses={200: SavedViewSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Rename a saved view; its address stays."""
        view = _view(request, slug, pk)
        saved_views.rename(view, by=users.person(request), **validated(request, TitleSerializer))
        return Response(SavedViewSerializer(view, context={"request": request}).data)


class RemoveSavedView(APIView):
    @extend_schema(
        operation_id="saved_view_remove", request=None, responses={204: None} | problems(401, 403, 404)
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Delete a saved view."""
        saved_views.remove(_view(request, slug, pk), by=users.person(request))
        return Response(status=204)


def _view(request: Request, slug: str, pk: int) -> SavedView:
    """Return a view that the reader sees, or 404."""
    benchmark = roles.benchmark_for(request.user, slug)
    view = saved_views.seen_by(benchmark, request.user).filter(pk=pk).first()
    if view is None:
        hint = "The list of its views has those that you see."
        raise Unknown("unknown_view", "saved view", str(pk), where=str(benchmark), hint=hint)
    return view
