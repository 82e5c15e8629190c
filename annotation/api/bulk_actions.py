"""API of one action on several items: its effect first, or the change."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.adjudication import bulk_actions, decisions
from annotation.adjudication.bulk_actions import ACTIONS, EXCLUDE, GOLD, MAX_ITEMS, MAX_NAMED, ItemEffect
from annotation.api.items import FILTERS, filters_in, order_in
from annotation.api.labelling import PayloadSerializer
from annotation.api.lookups import curated
from annotation.models import Item, Project
from annotation.reports import item_search
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web.request_validation import validated

LISTED = 100  # items of the effect
# Values of the request that an action takes; the others have none
VALUES: dict[str, tuple[str, ...]] = {EXCLUDE: ("finding", "reason"), GOLD: ("use", "payload", "explains")}


class BulkActionSerializer(serializers.Serializer[Any]):
    action = serializers.ChoiceField(choices=ACTIONS)
    items = serializers.ListField(
        child=serializers.UUIDField(),
        default=list,
        help_text=f"Ids of items, up to {MAX_ITEMS:,}; up to {MAX_NAMED} gold questions.",
    )
    all = serializers.BooleanField(
        default=False, help_text="Instead of `items`: all that match the filters, up to the same limits."
    )
    preview = serializers.BooleanField(default=False, help_text="Change nothing, only return the effect.")
    key = serializers.CharField(
        required=False,
        default="",
        max_length=64,
        help_text="Of the preview: nothing is changed if the items or their answers are others by now.",
    )
    finding = serializers.ChoiceField(
        choices=[*decisions.FINDINGS], required=False, help_text="Why the items are excluded."
    )
    reason = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)
    use = serializers.ChoiceField(
        choices=[Item.Use.QUALIFY, Item.Use.CHECK], required=False, help_text="Of the gold questions."
    )
    payload = PayloadSerializer(required=False, help_text="Answer to the gold questions.")
    explains = serializers.CharField(required=False, allow_blank=True, default="", max_length=2_000)

    def validate(self, attrs: Any) -> Any:
        """Require what the action needs, and items or all."""
        if attrs["all"] and attrs["items"]:
            raise serializers.ValidationError({"items": "Send ids of items or all, not both."})
        needed = {EXCLUDE: ["finding"], GOLD: ["use", "payload"]}.get(attrs["action"], [])
        missing = [] if attrs["preview"] else [name for name in needed if name not in attrs]
        if missing:
            raise serializers.ValidationError(dict.fromkeys(missing, "This field is required."))
        return attrs


class BulkEffectSerializer(serializers.Serializer[Any]):
    item = serializers.UUIDField(source="item.key")
    before = serializers.CharField(help_text="State, or use of a gold question.")
    after = serializers.CharField()
    problem = serializers.CharField(help_text="Why the item stays as it is; empty if it changes.")


class BulkActionResultSerializer(serializers.Serializer[Any]):
    changed = serializers.IntegerField(help_text="Items that are changed, or would be.")
    kept = serializers.IntegerField(help_text="Items that stay as they are.")
    more = serializers.BooleanField(help_text="With `all`: true if more items may match. Send it again.")
    key = serializers.CharField(help_text="Of a preview, to send with the change; otherwise empty.")
    effects = BulkEffectSerializer(many=True, help_text=f"At most {LISTED}, in the order of the project.")


class BulkAction(APIView):
    @extend_schema(
        operation_id="items_change_together",
        parameters=FILTERS,
        request=BulkActionSerializer,
        responses={200: BulkActionResultSerializer} | problems(400, 401, 403, 404, 409, 413),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Reopen, exclude or include items, or make them gold questions; or preview that. For curators."""
        project, user = curated(request, slug)
        body = validated(request, BulkActionSerializer)
        action, more = body["action"], False
        keys: list[UUID] = body["items"]
        if body["all"]:
            filters, order = filters_in(project, request), order_in(request)
            keys, more = item_search.matching(project, filters, action=action, for_user=user, order=order)
        effects = _effects(project, keys, action, body, user, found_by=request.query_params.dict())
        changed = sum(not effect.problem for effect in effects)
        return Response(
            BulkActionResultSerializer(
                {
                    "changed": changed,
                    "kept": len(effects) - changed,
                    "more": more,
                    "key": bulk_actions.digest(effects) if body["preview"] else "",
                    "effects": effects[:LISTED],
                }
            ).data
        )


def _effects(
    project: Project, keys: list[UUID], action: str, body: Any, by: User, *, found_by: dict[str, str]
) -> list[ItemEffect]:
    if body["all"] and not keys:
        bulk_actions.require_same([], "" if body["preview"] else body["key"])
        return []
    if body["preview"]:
        return bulk_actions.preview(project, keys, action, by=by)
    values = {name: body[name] for name in VALUES.get(action, ())}
    return bulk_actions.apply(
        project,
        keys,
        action,
        by=by,
        previewed=body["key"],
        found_by=found_by if body["all"] else {},
        **values,
    )
