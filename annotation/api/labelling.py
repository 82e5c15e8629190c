"""API of the labelling form: leases, answers, skips and one's own history."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.api.lease_numbers import LeaseNumberField, row_of
from annotation.api.lookups import project_of
from annotation.consensus.rules import Rules
from annotation.models import Item, Lease, Project
from annotation.queue import lease_endings, leases, own_votes, shown_predictions, votes
from annotation.queue.search import StillSearching
from annotation.queue.votes import SKIP_REASONS
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.handlers import problems
from evalsvc.core.web import places
from evalsvc.core.web.request_validation import represented, validated, whole_number

MAX_HISTORY = 50


class MentionSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    start = serializers.IntegerField(help_text="Offset in code points; the interval is half-open.")
    end = serializers.IntegerField()
    type = serializers.CharField(required=False, help_text="Entity type, if the file gives one.")


class ItemSerializer(serializers.ModelSerializer[Item]):
    """An item as annotators see it: without labels, votes, names and gold."""

    id = serializers.UUIDField(
        source="key", help_text="Random, so that it does not reveal the position in the file."
    )
    head = MentionSerializer(allow_null=True)
    tail = MentionSerializer(allow_null=True)
    tokens = serializers.ListField(child=serializers.CharField(), allow_null=True)

    class Meta:
        model = Item
        fields = ["id", "text", "tokens", "head", "tail"]
        read_only_fields = fields


class PayloadSerializer(serializers.Serializer[Any]):
    spans = serializers.ListField(
        child=serializers.JSONField(), default=list, help_text="[start, end, label]"
    )
    relations = serializers.ListField(
        child=serializers.JSONField(), default=list, help_text="Names; in joint projects [span, name, span]."
    )


@extend_schema_serializer(component_name="Holding")
class HeldLeasesSerializer(serializers.Serializer[Any]):
    holding = serializers.ListField(
        child=LeaseNumberField(),
        default=list,
        max_length=200,
        help_text="Leases you have open or in reserve.",
    )


class LeaseSerializer(serializers.Serializer[Any]):
    lease = LeaseNumberField()
    item = ItemSerializer()
    base = serializers.IntegerField(help_text="Number of your last vote on the item; 0 if there is none.")
    expires_at = serializers.DateTimeField()
    suggestion = PayloadSerializer(
        allow_null=True, help_text="Prediction to start from, in projects that show predictions."
    )


@extend_schema_serializer(component_name="Wanted")
class ReserveRequestSerializer(HeldLeasesSerializer):
    n = serializers.IntegerField(min_value=1, max_value=60, help_text="Number of further items to lease.")


class ReserveSerializer(serializers.Serializer[Any]):
    leases = LeaseSerializer(many=True)


class SearchingSerializer(serializers.Serializer[Any]):
    searching = serializers.BooleanField(help_text="True: ask again, the search goes on.")
    wait = serializers.IntegerField(help_text="Seconds until then; 0 without a reason.")
    reason = serializers.CharField(
        help_text="Why nothing comes until a change of the project is done; else empty."
    )


@extend_schema_serializer(component_name="Held")
class LeaseExtensionSerializer(serializers.Serializer[Any]):
    lease = LeaseNumberField()
    expires_at = serializers.DateTimeField()


class VoteSerializer(serializers.Serializer[Any]):
    client_id = serializers.UUIDField(
        help_text="UUID made by the client. Sending the same one again writes nothing new."
    )
    base = serializers.IntegerField(default=0, min_value=0)
    comment = serializers.CharField(required=False, allow_blank=True, default="", max_length=4_000)
    flagged = serializers.BooleanField(default=False)
    milliseconds = serializers.IntegerField(
        required=False, allow_null=True, default=None, min_value=0, max_value=86_400_000
    )
    guideline = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Version of the guideline that the person had; the current one unless stated.",
    )


class AnswerSerializer(VoteSerializer):
    payload = PayloadSerializer()


class SkipSerializer(VoteSerializer):
    reason = serializers.ChoiceField(choices=list(SKIP_REASONS.items()))


@extend_schema_serializer(component_name="Told")
class FeedbackChoiceSerializer(serializers.Serializer[Any]):
    choice = serializers.JSONField()
    chosen = serializers.BooleanField()
    right = serializers.BooleanField()


class FeedbackSerializer(serializers.Serializer[Any]):
    right = serializers.BooleanField()
    choices = FeedbackChoiceSerializer(
        many=True, help_text="Each label that you chose or that the gold answer has."
    )
    explains = serializers.CharField()
    done = serializers.IntegerField()
    of = serializers.IntegerField()
    passed = serializers.BooleanField(allow_null=True, help_text="null during the qualification round.")


@extend_schema_serializer(component_name="Cast")
class WrittenVoteSerializer(serializers.Serializer[Any]):
    number = serializers.IntegerField(help_text="Number of this vote. Send it as base to change the answer.")
    repeated = serializers.BooleanField(help_text="This client_id was already written; nothing changed.")
    feedback = FeedbackSerializer(allow_null=True, help_text="Only in the qualification round; else null.")


@extend_schema_serializer(component_name="Past")
class PastVoteSerializer(serializers.Serializer[Any]):
    item = ItemSerializer()
    act = serializers.ChoiceField(choices=["answer", "skip"])
    payload = PayloadSerializer(allow_null=True)
    reason = serializers.CharField()
    comment = serializers.CharField()
    flagged = serializers.BooleanField()
    number = serializers.IntegerField()
    at = serializers.DateTimeField()


class HistorySerializer(serializers.Serializer[Any]):
    results = PastVoteSerializer(many=True)


def _still_searching(searching: StillSearching) -> Response:
    body = {"searching": True, "wait": searching.wait, "reason": searching.reason}
    return Response(body, status=202)


class NextLease(APIView):
    @extend_schema(
        operation_id="lease_next",
        request=HeldLeasesSerializer,
        responses={200: LeaseSerializer, 202: SearchingSerializer, 204: None}
        | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Lease the next item for you. 204 when no item is available.

        202: none among the next 10,000 that want answers, since you have answered them, or the project
        changes (`reason`); ask again to go on.
        """
        holding = validated(request, HeldLeasesSerializer)["holding"]
        project = project_of(request, slug)
        try:
            lease = leases.lease_next(project, person(request), current_leases=holding)
        except StillSearching as searching:
            return _still_searching(searching)
        return (
            Response(status=204)
            if lease is None
            else represented(LeaseSerializer, _lease_body(lease, project))
        )


def _lease_body(lease: Lease, project: Project) -> dict[str, Any]:
    """Return a lease with its item and any prediction to show, in present labels."""
    suggestion = shown_predictions.of_lease(lease, project)
    present = suggestion and Rules(project).mapping.payload(suggestion.payload)
    return {
        "lease": lease.pk,
        "item": lease.item,
        "base": lease.base,
        "expires_at": lease.expires_at,
        "suggestion": present.payload if present and not present.emptied else None,
    }


class Reserve(APIView):
    @extend_schema(
        operation_id="lease_reserve",
        request=ReserveRequestSerializer,
        responses={200: ReserveSerializer, 202: SearchingSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """Lease more items for offline work. 202 as for the next item.

        The server may reassign all but three of them.
        """
        body = validated(request, ReserveRequestSerializer)
        project, user, current = project_of(request, slug), person(request), body["holding"]
        try:
            reserve = leases.lease_several(project, user, n=body["n"], current_leases=current)
        except StillSearching as searching:
            return _still_searching(searching)
        return represented(ReserveSerializer, {"leases": [_lease_body(lease, project) for lease in reserve]})


class Heartbeat(APIView):
    @extend_schema(
        operation_id="lease_heartbeat",
        request=None,
        responses={200: LeaseExtensionSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Extend a lease."""
        lease = lease_endings.heartbeat(row_of(pk), person(request))
        return represented(LeaseExtensionSerializer, {"lease": lease.pk, "expires_at": lease.expires_at})


class Return(APIView):
    @extend_schema(
        operation_id="lease_return", request=None, responses={204: None} | problems(401, 403, 404, 409)
    )
    def post(self, request: Request, pk: int) -> Response:
        """End a lease without an answer."""
        lease_endings.return_lease(row_of(pk), person(request))
        return Response(status=204)


def _written(result: votes.VoteResult) -> Response:
    body = {"number": result.vote.number, "repeated": result.repeated}
    feedback = result.feedback and asdict(result.feedback)
    status = 200 if result.repeated else 201
    return represented(WrittenVoteSerializer, body | {"feedback": feedback}, status=status)


_WRITTEN: Any = {201: WrittenVoteSerializer, 200: WrittenVoteSerializer}
_WRITTEN |= problems(400, 401, 403, 404, 409, 429)


class Answers(APIView):
    @extend_schema(operation_id="item_answer", request=AnswerSerializer, responses=_WRITTEN)
    def post(self, request: Request, id: UUID) -> Response:
        """Answer an item. A stale `base` gets 409 and changes nothing."""
        user = person(request)
        with places.answers.taken(user.pk):
            body = validated(request, AnswerSerializer)
            return _written(votes.answer(id, user, **body, require_lease=True))


class Skips(APIView):
    @extend_schema(operation_id="item_skip", request=SkipSerializer, responses=_WRITTEN)
    def post(self, request: Request, id: UUID) -> Response:
        """Skip an item. A skip does not count as an answer."""
        user = person(request)
        with places.answers.taken(user.pk):
            body = validated(request, SkipSerializer)
            return _written(votes.skip(id, user, **body, require_lease=True))


class History(APIView):
    @extend_schema(
        operation_id="history",
        parameters=[
            OpenApiParameter(
                "n",
                {"type": "integer", "minimum": 0, "maximum": MAX_HISTORY},
                description="Number of items: 10 by default.",
            )
        ],
        responses={200: HistorySerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List your last items, latest first."""
        n = whole_number(request, "n", least=0, most=MAX_HISTORY)
        n = 10 if n is None else n
        latest = own_votes.history(project_of(request, slug), person(request), n=n)
        names = ("item", "number", "act", "payload", "reason", "comment", "flagged", "at")
        results = [{name: getattr(vote, name) for name in names} for vote in latest]
        return Response(HistorySerializer({"results": results}).data)
