"""API of a project's items with their answers, for curators."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

from django.http import Http404, StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.exceptions import NotFound, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.adjudication.item_filters import REMARKS
from annotation.api.labelling import ItemSerializer, PayloadSerializer
from annotation.api.lookups import curated
from annotation.api.projects import state_parameter
from annotation.models import Item, Project
from annotation.ontology.inventory import inventory, parts_of
from annotation.reports import item_history, item_search, item_table
from annotation.reports.item_order import MAX_SCANNED, ORDERS, ItemFilters
from evalsvc.core.errors.handlers import problems
from evalsvc.core.formats.problems import did_you_mean
from evalsvc.core.web.downloads import long_csv_file
from evalsvc.core.web.request_validation import query_choices, whole_number

MAX_PAGE = 200
PATTERN = re.compile(r"\d+(–\d+)*( against \d+)?( N/A)?…?")
USES = [use for use in Item.Use.values if use]


class GivenAnswerSerializer(serializers.Serializer[Any]):
    annotator = serializers.CharField(source="answer.annotator.name", help_text="Name in downloads.")
    payload = PayloadSerializer(help_text="In current labels.")
    counted = serializers.BooleanField(help_text="False if excluded, or if enough others answered earlier.")
    excluded = serializers.BooleanField(source="answer.set_aside")
    comment = serializers.CharField(source="answer.vote.comment")
    flagged = serializers.BooleanField(source="answer.vote.flagged")
    milliseconds = serializers.IntegerField(source="answer.vote.milliseconds", allow_null=True)
    at = serializers.DateTimeField(source="answer.vote.at")


class ListedItemSerializer(ItemSerializer):
    gold = PayloadSerializer(
        allow_null=True,
        help_text="Outcome; null without one, and while a second reading of it waits for you.",
    )
    use = serializers.CharField(
        help_text="qualify or check for gold questions, corpus for no candidates, otherwise empty."
    )
    state = serializers.CharField()
    pattern = serializers.CharField(help_text="Vote pattern such as 2–2.")
    answers = serializers.SerializerMethodField()

    class Meta(ItemSerializer.Meta):
        fields = [*ItemSerializer.Meta.fields, "external_id", "use", "state", "pattern", "gold", "answers"]
        read_only_fields = fields

    @extend_schema_field(GivenAnswerSerializer(many=True))
    def get_answers(self, item: Item) -> Any:
        """Return the current answers in the server's order."""
        return GivenAnswerSerializer(self.context["answers"][item.pk], many=True).data


class ItemsPageSerializer(serializers.Serializer[Any]):
    next = serializers.UUIDField(allow_null=True, help_text="Item to send as `after` for the next page.")
    previous = serializers.UUIDField(allow_null=True, help_text="Item to send as `before`.")
    complete = serializers.BooleanField(
        help_text=f"False if the search stopped after {MAX_SCANNED:,} items; `next` continues it."
    )
    results = ListedItemSerializer(many=True, source="items")


def _place(project: Project, request: Request, name: str) -> Item | None:
    text = request.query_params.get(name, "")
    if not text:
        return None
    try:
        item = Item.objects.filter(project=project, key=UUID(text)).first()
    except ValueError as error:
        raise ValidationError({name: f"{text[:40]!r} is not the id of an item."}) from error
    if item is None:
        raise Http404
    return item


def _labels(project: Project) -> list[str]:
    return [choice.name for part in parts_of(project) for choice in inventory(project, part)]


def filters_in(project: Project, request: Request) -> ItemFilters:
    """Return the filters in the address."""
    query = request.query_params
    filters = query_choices(request, state=Item.State.values, use=USES, remark=[*REMARKS])
    name = query.get("annotator", "")
    annotator = project.annotators.filter(name=name).first() if name else None
    if name and annotator is None:
        raise NotFound(f"Nobody named {name[:100]!r} answered in this project.")
    if (label := query.get("label", "")) and label not in (known := _labels(project)):
        hint = did_you_mean(label, known) or f"GET /api/v1/projects/{project.slug}/labels lists them."
        raise ValidationError({"label": f"No label {label[:100]!r} in this project. {hint}"})
    if (pattern := query.get("pattern", "")) and not PATTERN.fullmatch(pattern):
        raise ValidationError({"pattern": f"{pattern[:40]!r} is not a vote pattern such as 2–2."})
    texts = {"label": query.get("label", ""), "pattern": query.get("pattern", ""), "text": query.get("q", "")}
    return ItemFilters(annotator=annotator, **filters, **texts)


ORDER_HELP = (
    "As imported; last imported first; those with answers, last answered first; disputes with the most split "
    "votes before all others; or by id."
)
FILTERS = [
    state_parameter(Item.State),
    OpenApiParameter("use", str, enum=USES, description="Gold questions instead of ordinary items."),
    OpenApiParameter("pattern", str, description="Vote pattern of disputed items, such as 2–2."),
    OpenApiParameter("label", str, description="Label in the outcome or in an answer."),
    OpenApiParameter("annotator", str, description="Name of a person who answered or skipped."),
    OpenApiParameter("remark", str, enum=[*REMARKS], description="With a comment, a flag, or either."),
    OpenApiParameter("q", str, description="Text of the item, in any case; or its whole id."),
    OpenApiParameter("order", str, enum=[*ORDERS], description=ORDER_HELP),
]


def order_in(request: Request) -> str:
    """Return the order in the address."""
    return query_choices(request, order=[*ORDERS]).get("order", "")


class Items(APIView):
    @extend_schema(
        operation_id="items",
        parameters=[
            *FILTERS,
            OpenApiParameter("after", UUID, description="`next` of the page before."),
            OpenApiParameter("before", UUID, description="`previous` of the page after."),
            OpenApiParameter(
                "page_size",
                {"type": "integer", "minimum": 1, "maximum": MAX_PAGE},
                description=f"Items per page, up to {MAX_PAGE}; 50 by default.",
            ),
        ],
        responses={200: ItemsPageSerializer} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List items with their answers. For curators.

        Filters by label and text, and by annotator or remark where these are many, look at a limited number
        of items a page.
        """
        project, user = curated(request, slug)
        found = item_search.search(
            project,
            filters_in(project, request),
            for_user=user,
            order=order_in(request),
            after=_place(project, request, "after"),
            before=_place(project, request, "before"),
            size=whole_number(request, "page_size", most=MAX_PAGE) or item_search.PER_PAGE,
        )
        answers = item_history.answers_of(project, found.items)
        return Response(ItemsPageSerializer(found, context={"answers": answers}).data)


class ItemTable(APIView):
    @extend_schema(
        operation_id="items_table",
        parameters=FILTERS,
        responses={(200, "text/csv"): OpenApiTypes.BINARY} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, slug: str) -> StreamingHttpResponse:
        """Download all items that match as CSV, with their answers counted. For curators."""
        project, user = curated(request, slug)
        filters = filters_in(project, request)
        rows = item_table.rows(project, filters, for_user=user, order=order_in(request))
        return long_csv_file(f"{project.slug}-items.csv", item_table.HEADS, rows)
