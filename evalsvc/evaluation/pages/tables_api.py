"""API of the tables that pages show and download: a board's view, a system, errors."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.views import APIView

from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import query_choices, whole_number
from evalsvc.evaluation.disclosure.error_selection import ORDERS, WHO
from evalsvc.evaluation.pages import boards, errors, system
from evalsvc.evaluation.pages.error_request import KIND_TITLES
from evalsvc.evaluation.pages.error_search import LINES

SETTING = OpenApiParameter("setting", str, description="Key; default: the first.")
VERSION = OpenApiParameter("version", int, description="Version of the setting; default: the newest.")


class TableSerializer(serializers.Serializer[Any]):
    caption = serializers.CharField(help_text="What the table shows, and how it was computed.")
    rows = serializers.ListField(child=serializers.DictField(), help_text="Values by column.")


ANSWER = {200: TableSerializer} | problems(400, 401, 404, 409)


class BoardView(APIView):
    for_teams = True

    @extend_schema(
        operation_id="board_view",
        parameters=[
            SETTING,
            VERSION,
            OpenApiParameter("order", str, description="Measure that orders the systems."),
            OpenApiParameter(
                "columns", str, many=True, description="Measures shown, with another setting: KEY:MEASURE."
            ),
            OpenApiParameter("team", str, description="Part of the name of a team."),
            OpenApiParameter("tag", str, description="Part of what a team declares."),
            OpenApiParameter("since", str, description="Day of the last run, from."),
            OpenApiParameter("until", str, description="Day of the last run, to."),
            OpenApiParameter(
                "table",
                str,
                enum=["systems", "runs", "reversals", "orders"],
                description="Rows: systems, all runs, reversed pairs, or other orders with τ-b.",
            ),
        ],
        responses=ANSWER,
    )
    def get(self, request: Request, slug: str) -> HttpResponse:
        """The leaderboard as its page shows it: columns, filters, rank bands."""
        return boards.view_file(request._request, slug, "json")


class SystemTables(APIView):
    for_teams = True

    @extend_schema(
        operation_id="system",
        parameters=[
            SETTING,
            OpenApiParameter("order", str, description="Order of the classes."),
            OpenApiParameter(
                "table",
                str,
                description="scores (default), runs, curve, confusion, words or classes-FAMILY.",
            ),
        ],
        responses=ANSWER,
    )
    def get(self, request: Request, slug: str, pk: int) -> HttpResponse:
        """Scores, runs, classes, confusions or curve of a system."""
        return system.system_file(request._request, slug, pk, "json")


class Errors(APIView):
    for_teams = True

    @extend_schema(
        operation_id="errors",
        parameters=[
            SETTING,
            OpenApiParameter("a", str, description="TEAM/SYSTEM or TEAM/SYSTEM/RUN; default: the first."),
            OpenApiParameter("b", str, description="A second one, beside it."),
            OpenApiParameter("kind", str, many=True, enum=list(KIND_TITLES), description="Kinds of errors."),
            OpenApiParameter("text", str, description="Part of the text of an item, in any case."),
            OpenApiParameter("line", int, description=f"First of the {LINES:,} lines searched for a text."),
            OpenApiParameter("label", str, description="Class of the gold or of a claim."),
            OpenApiParameter("low", float, description="Least F1 of A on an item."),
            OpenApiParameter("high", float, description="Greatest F1 of A on an item."),
            OpenApiParameter("who", str, enum=WHO, description="With two systems: who alone is right."),
            OpenApiParameter("order", str, enum=list(ORDERS), description="Order of the items."),
        ],
        responses=ANSWER,
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Items with gold and predictions of one or two systems, where the gold is open."""
        query_choices(request, who=WHO, order=list(ORDERS))
        whole_number(request, "line", most=10**9 - 1)
        for kind in request.query_params.getlist("kind"):
            if kind not in KIND_TITLES:
                raise ValidationError({"kind": f"{kind!r} is not one of: {', '.join(KIND_TITLES)}."})
        for name in ("low", "high"):
            if (text := request.query_params.get(name)) and not _is_share(text):
                raise ValidationError({name: f"{text[:20]!r} is not a number from 0 to 1."})
        return errors.errors_file(request._request, slug, "json")


def _is_share(text: str) -> bool:
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False
