"""API of one decision on all disputes of a vote pattern: its effect first, the decision, and undoing it."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.adjudication import bulk_decisions
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.adjudication.item_filters import REMARKS
from annotation.api.labelling import PayloadSerializer
from annotation.api.lookups import project_of
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.errors.handlers import problems
from evalsvc.core.formats.label_list import LONGEST_LABEL
from evalsvc.core.web.request_validation import validated


class BulkDecisionSerializer(serializers.Serializer[Any]):
    pattern = serializers.CharField(max_length=60, help_text="Votes of the disputes, as listed.")
    label = serializers.CharField(  # type: ignore[assignment]
        required=False, default="", max_length=LONGEST_LABEL
    )
    remark = serializers.ChoiceField(choices=["", *REMARKS], default="")
    answer = serializers.ChoiceField(
        choices=bulk_decisions.ANSWERS, help_text="N/A, or the label with the most votes apart from N/A."
    )
    after = serializers.UUIDField(
        required=False, default=None, help_text="`last` of a preview: look at the disputes behind it."
    )
    preview = serializers.BooleanField(default=False, help_text="Decide nothing.")
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=4_000)
    key = serializers.CharField(required=False, default="", max_length=64, help_text="Of the preview.")
    client_id = serializers.UUIDField(required=False, help_text="Of these decisions, to undo them.")


class BulkExampleSerializer(serializers.Serializer[Any]):
    item = serializers.UUIDField()
    payload = PayloadSerializer()


class BulkResultSerializer(serializers.Serializer[Any]):
    decided = serializers.IntegerField(help_text="Disputes that are decided, or would be.")
    tied = serializers.IntegerField(help_text="Disputes without a leading label, which stay.")
    more = serializers.BooleanField(help_text="True if there are more disputes: decide them after these.")
    last = serializers.UUIDField(
        allow_null=True, help_text="Last dispute that a preview looked at; ties stay, so go on `after` it."
    )
    key = serializers.CharField(help_text="To send with the decision; empty after it.")
    items = BulkExampleSerializer(many=True, help_text="Answers of a preview.")


class BulkDecision(APIView):
    @extend_schema(
        operation_id="disputes_decide_together",
        request=BulkDecisionSerializer,
        responses={200: BulkResultSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Decide all disputes of one vote pattern alike, or preview that."""
        project, user = project_of(request, slug), person(request)
        roles.require(project, user, *roles.MAY_DECIDE)
        body = dict(validated(request, BulkDecisionSerializer))
        filters = DisputeFilters(**{name: body[name] for name in ("pattern", "label", "remark")})
        if body["preview"]:
            seen = bulk_decisions.preview(project, filters, body["answer"], by=user, after=body["after"])
            items = [{"item": item.key, "payload": payload} for item, payload in seen.items]
            shown = {"decided": len(items), "tied": seen.tied, "more": seen.more, "last": seen.last}
            return Response(BulkResultSerializer(shown | {"key": seen.key, "items": items}).data)
        if "client_id" not in body:
            raise DomainError("bad_client_id", "The decision has no `client_id`.", field="client_id")
        chosen = {name: body[name] for name in ("reason", "key", "client_id", "after")}
        decided = bulk_decisions.decide_all(project, filters, body["answer"], **chosen, by=user)
        made: dict[str, Any] = {
            "decided": decided,
            "tied": 0,
            "more": False,
            "last": None,
            "key": "",
            "items": [],
        }
        return Response(BulkResultSerializer(made).data)


class BulkUndoSerializer(serializers.Serializer[Any]):
    client_id = serializers.UUIDField(help_text="Of the decisions made together.")
    preview = serializers.BooleanField(default=False, help_text="Reopen none, only count them.")


class BulkUndoneSerializer(serializers.Serializer[Any]):
    reopened = serializers.IntegerField()


class BulkUndo(APIView):
    @extend_schema(
        operation_id="disputes_undo_together",
        request=BulkUndoSerializer,
        responses={200: BulkUndoneSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Reopen all decisions made together, or count them."""
        project, user = project_of(request, slug), person(request)
        roles.require(project, user, *roles.MAY_DECIDE)
        body = validated(request, BulkUndoSerializer)
        n = bulk_decisions.undo(project, body["client_id"], by=user, preview=body["preview"])
        return Response(BulkUndoneSerializer({"reopened": n}).data)
