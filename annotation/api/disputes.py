"""API of disputes and decisions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import generics, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.adjudication import decisions, dispute_list, item_access
from annotation.adjudication.decisions import FINDINGS
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.adjudication.item_filters import REMARKS
from annotation.adjudication.precedents import READ
from annotation.adjudication.unanswerable_items import FINAL_REASONS, UNANSWERABLE
from annotation.api.labelling import ItemSerializer, PayloadSerializer
from annotation.api.lookups import project_of
from annotation.models import Item
from annotation.reports import remarks
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.pagination import Pages
from evalsvc.core.web.request_validation import validated


class CountSerializer(serializers.Serializer[Any]):
    choice = serializers.JSONField()
    votes = serializers.IntegerField()
    accepted = serializers.BooleanField()


class ColumnSerializer(serializers.Serializer[Any]):
    letter = serializers.CharField()
    payload = PayloadSerializer()
    comment = serializers.CharField()
    flagged = serializers.BooleanField()


class VerdictSerializer(serializers.Serializer[Any]):
    state = serializers.CharField()
    gold = PayloadSerializer(allow_null=True)


class AlternativeSerializer(serializers.Serializer[Any]):
    choices = serializers.JSONField(
        help_text="List of [start, end, type], or of [head span, relation, tail span]; empty for nothing."
    )
    columns = serializers.ListField(
        source="answers", child=serializers.IntegerField(), help_text="Positions of the answers in `columns`."
    )


class OpenPartSerializer(serializers.Serializer[Any]):
    start = serializers.IntegerField()
    end = serializers.IntegerField()
    pair = serializers.JSONField(
        allow_null=True, help_text="[head span, tail span] where relations are asked; null for a region."
    )
    alternatives = AlternativeSerializer(many=True)


class LooseRelationSerializer(serializers.Serializer[Any]):
    choice = serializers.JSONField(help_text="[head span, relation, tail span]")
    votes = serializers.IntegerField()


class OpenPartsSerializer(serializers.Serializer[Any]):
    spans = serializers.JSONField(help_text="Accepted spans, kept by the form.")
    links = serializers.JSONField(
        help_text="Accepted relations between them: [head span, relation, tail span]."
    )
    parts = OpenPartSerializer(many=True)
    loose = LooseRelationSerializer(many=True, help_text="Relations with an end that is not accepted.")


class OutcomeSerializer(serializers.Serializer[Any]):
    labels = serializers.ListField(child=serializers.CharField(), help_text="Empty: N/A, or not marked.")
    words = serializers.CharField(help_text="Marked words where they are others; else empty.")
    times = serializers.IntegerField()


class PrecedentSerializer(serializers.Serializer[Any]):
    words = serializers.CharField()
    outcomes = OutcomeSerializer(many=True)
    items = serializers.ListField(child=serializers.UUIDField())


@extend_schema_serializer(component_name="Pass")
class FinalSkipSerializer(serializers.Serializer[Any]):
    reason = serializers.ChoiceField(choices=FINAL_REASONS)
    comment = serializers.CharField()


class FormerDecisionSerializer(serializers.Serializer[Any]):
    payload = PayloadSerializer(
        allow_null=True, help_text="In current labels; null for a finding, or if a label is gone."
    )
    finding = serializers.CharField()
    reason = serializers.CharField()


class DossierSerializer(serializers.Serializer[Any]):
    item = ItemSerializer()
    columns = ColumnSerializer(many=True, help_text="Answers without names, in shuffled order.")
    tally = CountSerializer(many=True)
    na = serializers.IntegerField()
    n = serializers.IntegerField()
    k = serializers.IntegerField()
    by_policy = serializers.DictField(child=VerdictSerializer())
    votes_key = serializers.CharField()
    open_parts = OpenPartsSerializer(
        allow_null=True, help_text="Null for projects of relations, which are decided as a whole."
    )
    precedents = PrecedentSerializer(
        many=True, help_text=f"Outcomes of the same words or entities in the last {READ:,} decided items."
    )
    may_ask_one_more = serializers.BooleanField(
        help_text="True if the limit allows another person, and somebody is left who can answer."
    )
    passes = FinalSkipSerializer(many=True, help_text="Reasons for skipping an unanswerable item.")
    former = FormerDecisionSerializer(
        allow_null=True,
        help_text="The last decision, which lapsed when the answers changed or was undone by you.",
    )


class DisputeSerializer(serializers.ModelSerializer[Item]):
    id = serializers.UUIDField(source="key")
    pattern = serializers.CharField(
        source="split", read_only=True, help_text=f"Vote pattern such as 2–2, or “{UNANSWERABLE}”."
    )

    class Meta:
        model = Item
        fields = ["id", "text", "pattern", "votes_key"]
        read_only_fields = fields


class DecisionSerializer(serializers.Serializer[Any]):
    client_id = serializers.UUIDField()
    payload = PayloadSerializer(required=False)
    finding = serializers.ChoiceField(
        choices=["", *FINDINGS],
        default="",
        help_text="Reason to leave the item out of the test set, instead of an answer.",
    )
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=4_000)
    votes_key = serializers.CharField(
        allow_blank=True, help_text="From the dispute. Rejected if the answers have changed since."
    )


@extend_schema_serializer(component_name="Decided")
class ItemStateSerializer(serializers.Serializer[Any]):
    item = serializers.UUIDField()
    state = serializers.CharField()


def item_to_decide(request: Request, id: UUID) -> Item:
    """Return an item to a person who may decide it.

    The role comes before the existence of the item: an annotator gets the same answer for hidden checks and
    ordinary sentences.
    """
    user = person(request)
    items = Item.objects.present().select_related("project").filter(key=id)
    item = items.filter(project__in=roles.visible_projects(user).values("pk")).first()
    if item is None:
        raise Http404
    role = roles.require(item.project, user, *roles.MAY_DECIDE)
    item_access.require_dispute(item, role, changes=request.method == "POST")
    return item


def _item_state(item: Item) -> Response:
    item.refresh_from_db()
    return Response(ItemStateSerializer({"item": item.key, "state": item.state}).data)


class ByPattern(Pages):
    ordering = ("split", "rank", "id")


class Disputes(generics.ListAPIView[Item]):
    serializer_class = DisputeSerializer
    pagination_class = ByPattern

    def get_queryset(self) -> QuerySet[Item]:
        if getattr(self, "swagger_fake_view", False):
            return Item.objects.none()
        project = project_of(self.request, self.kwargs["slug"])
        roles.require(project, person(self.request), *roles.MAY_DECIDE)
        query = self.request.query_params
        filters = {name: query.get(name, "") for name in ("pattern", "label", "remark")}
        return dispute_list.disputes(project, DisputeFilters(**filters))

    @extend_schema(
        operation_id="disputes",
        parameters=[
            OpenApiParameter(
                "pattern", str, description=f"Vote pattern to filter by, such as 2–2, or “{UNANSWERABLE}”."
            ),
            OpenApiParameter(
                "label",
                str,
                description="Name of a label in one of the answers, looked for in the first "
                f"{dispute_list.MOST_SEARCHED:,} disputes, or fewer with long answers.",
            ),
            OpenApiParameter("remark", str, enum=[*REMARKS], description="What people added to answers."),
        ],
        responses={200: DisputeSerializer(many=True)} | problems(400, 401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the items that need a decision."""
        return super().get(request, *args, **kwargs)


class RemarkSerializer(serializers.Serializer[Any]):
    item = serializers.UUIDField(source="item.key")
    text = serializers.CharField(source="item.text")
    comment = serializers.CharField()
    flagged = serializers.BooleanField()
    annotator = serializers.CharField(source="name", help_text="Display name; empty for adjudicators.")


class RemarksSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    results = RemarkSerializer(many=True, help_text=f"At most {remarks.MAX_LISTED}.")


class Comments(APIView):
    @extend_schema(operation_id="comments", responses={200: RemarksSerializer} | problems(401, 403, 404))
    def get(self, request: Request, slug: str) -> Response:
        """List comments and flags of answers and skips, by item."""
        project, user = project_of(request, slug), person(request)
        listed = remarks.listed(project, for_user=user)
        body = {"total": remarks.remarks(project).count(), "results": listed}
        return Response(RemarksSerializer(body).data)


class OneDispute(APIView):
    @extend_schema(operation_id="dispute", responses={200: DossierSerializer} | problems(401, 403, 404))
    def get(self, request: Request, id: UUID) -> Response:
        """Get an item's answers without names, and each policy's outcome."""
        dossier = decisions.dispute_details(item_to_decide(request, id), for_user=person(request))
        return Response(DossierSerializer(dossier).data)


class Decision(APIView):
    @extend_schema(
        operation_id="item_decide",
        request=DecisionSerializer,
        responses={200: ItemStateSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Decide a dispute by an answer, or leave the item out."""
        item = item_to_decide(request, id)
        decisions.decide(item, by=person(request), **validated(request, DecisionSerializer))
        return _item_state(item)


class TakeBack(APIView):
    @extend_schema(
        operation_id="item_decision_take_back",
        request=None,
        responses={200: ItemStateSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Reopen your own decision, or anyone's as a curator.

        The decision stays on record.
        """
        item = item_to_decide(request, id)
        decisions.reopen(item, by=person(request))
        return _item_state(item)


class OneMore(APIView):
    @extend_schema(
        operation_id="item_one_more",
        request=None,
        responses={200: ItemStateSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Ask one more person about a disputed item."""
        item = item_to_decide(request, id)
        decisions.ask_one_more(item, by=person(request))
        return _item_state(item)
