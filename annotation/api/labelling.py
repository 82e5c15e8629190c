"""The JSON door for people at work: the next item, answers, skips, disputes, decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import roles
from annotation.adjudication import decisions
from annotation.adjudication.unanswerable_items import PASSED_ON
from annotation.api import serializers as shapes
from annotation.models import Item, Lease, Project, Suggestion
from annotation.queue import assignment, votes
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.serializers import problems
from evalsvc.core.web.pagination import Pages


def person(request: Request) -> User:
    """Who asks; the door lets nobody in who is not known."""
    return cast(User, request.user)


def project_of(request: Request, slug: str) -> Project:
    """The project, or 404 when it is not there to be seen."""
    project = roles.named(person(request), slug)
    if project is None:
        raise Http404
    return project


def item_of(request: Request, id: UUID) -> Item:
    """An item of a visible project."""
    seen = roles.visible(person(request)).values("pk")
    item = Item.objects.live().select_related("project").filter(key=id, project__in=seen).first()
    if item is None:
        raise Http404
    return item


@cache
def _kept(shape: Callable[..., Any]) -> Any:
    """One for all requests: it keeps nothing of what it reads or shows, and making it is most of the work."""
    return shape()


def sent(request: Request, shape: Callable[..., Any]) -> dict[str, Any]:
    """The body of a request, as its shape says it must be."""
    return dict(_kept(shape).run_validation(request.data))


def shown(shape: Callable[..., Any], what: Any, status: int = 200) -> Response:
    """An answer in its shape."""
    return Response(_kept(shape).to_representation(what), status=status)


class NextLease(APIView):
    @extend_schema(
        operation_id="lease_next",
        request=shapes.HoldingSerializer,
        responses={200: shapes.LeaseSerializer, 204: None} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """The next item for you; 204 when nothing waits."""
        holding = sent(request, shapes.HoldingSerializer)["holding"]
        lease = assignment.lease_next(project_of(request, slug), person(request), holding=holding)
        return Response(status=204) if lease is None else shown(shapes.LeaseSerializer, told(lease))


def told(lease: Lease) -> dict[str, Any]:
    """What an annotator is handed: the item, and of what is said of it only what is meant to be shown."""
    shown = (
        Suggestion.objects.filter(item=lease.item, batch=lease.shown_id).first() if lease.shown_id else None
    )
    return {
        "lease": lease.pk,
        "item": lease.item,
        "base": votes.last_number(lease),
        "expires_at": lease.expires_at,
        "suggestion": shown.payload if shown else None,
    }


class Reserve(APIView):
    @extend_schema(
        operation_id="lease_reserve",
        request=shapes.WantedSerializer,
        responses={200: shapes.ReserveSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, slug: str) -> Response:
        """More items to hold for when there is no network; beyond three the server may take them back."""
        said = sent(request, shapes.WantedSerializer)
        leases = assignment.lease_some(project_of(request, slug), person(request), **said)
        return shown(shapes.ReserveSerializer, {"leases": [told(lease) for lease in leases]})


class Heartbeat(APIView):
    @extend_schema(
        operation_id="lease_heartbeat",
        request=None,
        responses={200: shapes.HeldSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, pk: int) -> Response:
        """Keep an item a while longer."""
        lease = assignment.heartbeat(pk, person(request))
        return Response(shapes.HeldSerializer({"lease": lease.pk, "expires_at": lease.expires_at}).data)


class Return(APIView):
    @extend_schema(operation_id="lease_return", request=None, responses={204: None} | problems(401, 403, 404))
    def post(self, request: Request, pk: int) -> Response:
        """Put an item back without an answer."""
        assignment.give_back(pk, person(request))
        return Response(status=204)


def _cast(made: votes.Cast) -> Response:
    told: dict[str, Any] = {"number": made.vote.number, "surplus": made.surplus, "repeated": made.repeated}
    told |= {"feedback": made.feedback and asdict(made.feedback)}
    return shown(shapes.CastSerializer, told, status=200 if made.repeated else 201)


class Answers(APIView):
    @extend_schema(
        operation_id="item_answer",
        request=shapes.AnswerSerializer,
        responses={201: shapes.CastSerializer, 200: shapes.CastSerializer}
        | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Answer an item. A stale `base` gets 409 and changes nothing: keep the answer, ask the person."""
        said = sent(request, shapes.AnswerSerializer)
        return _cast(votes.answer(id, person(request), **said, handed=True))


class Skips(APIView):
    @extend_schema(
        operation_id="item_skip",
        request=shapes.SkipSerializer,
        responses={201: shapes.CastSerializer, 200: shapes.CastSerializer}
        | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Pass an item on. A skip is no vote."""
        said = sent(request, shapes.SkipSerializer)
        return _cast(votes.skip(id, person(request), **said, handed=True))


HOW_MANY = "How many; 10 when absent, never more than 50."


class History(APIView):
    @extend_schema(
        operation_id="history",
        parameters=[OpenApiParameter("n", {"type": "integer", "minimum": 0}, description=HOW_MANY)],
        responses={200: shapes.HistorySerializer} | problems(400, 401, 404),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Your own last items, latest first."""
        wanted = request.query_params.get("n", "") or "10"
        if not (wanted.isascii() and wanted.isdecimal()):
            raise ValidationError({"n": "Expected a whole number."})
        n = min(int(wanted[:9]), 50)
        past = votes.history(project_of(request, slug), person(request), n=n)
        results = [
            {
                "item": entry.item,
                "act": entry.vote.act,
                "payload": entry.vote.payload,
                "reason": entry.vote.reason,
                "comment": entry.vote.comment,
                "flagged": entry.vote.flagged,
                "number": entry.base,
                "at": entry.vote.at,
            }
            for entry in past
        ]
        return Response(shapes.HistorySerializer({"results": results}).data)


ONE_KIND = f"One vote pattern, such as 2–2, or: {PASSED_ON}."


class ByPattern(Pages):
    ordering = ("split", "rank", "id")


class Disputes(generics.ListAPIView[Item]):
    serializer_class = shapes.DisputeSerializer
    pagination_class = ByPattern

    def get_queryset(self) -> QuerySet[Item]:
        if getattr(self, "swagger_fake_view", False):
            return Item.objects.none()
        project = project_of(self.request, self.kwargs["slug"])
        roles.require(project, person(self.request), *roles.DECIDES)
        return decisions.disputes(project, self.request.query_params.get("pattern", ""))

    @extend_schema(
        operation_id="disputes",
        parameters=[OpenApiParameter("pattern", str, description=ONE_KIND)],
        responses={200: shapes.DisputeSerializer(many=True)} | problems(401, 403, 404),
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Items that wait for a decision."""
        return super().get(request, *args, **kwargs)


class OneDispute(APIView):
    @extend_schema(
        operation_id="dispute", responses={200: shapes.DossierSerializer} | problems(401, 403, 404)
    )
    def get(self, request: Request, id: UUID) -> Response:
        """The answers to an item without names, and what each policy makes of them."""
        dossier = decisions.dossier(item_of(request, id), for_user=person(request))
        return Response(shapes.DossierSerializer(dossier).data)


class Decision(APIView):
    @extend_schema(
        operation_id="item_decide",
        request=shapes.DecisionSerializer,
        responses={200: shapes.DecidedSerializer} | problems(400, 401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Settle a dispute, by an answer or by the finding that the sentence can have none."""
        item = item_of(request, id)
        decisions.decide(item, by=person(request), **sent(request, shapes.DecisionSerializer))
        return _state(item)


class TakeBack(APIView):
    @extend_schema(
        operation_id="item_decision_take_back",
        request=None,
        responses={200: shapes.DecidedSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Take a decision back: your own, or as a curator anybody's. It stays on record."""
        item = item_of(request, id)
        decisions.take_back(item, by=person(request))
        return _state(item)


class OneMore(APIView):
    @extend_schema(
        operation_id="item_one_more",
        request=None,
        responses={200: shapes.DecidedSerializer} | problems(401, 403, 404, 409),
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Ask one more person about a disputed item."""
        item = item_of(request, id)
        decisions.ask_one_more(item, by=person(request))
        return _state(item)


def _state(item: Item) -> Response:
    item.refresh_from_db()
    return Response(shapes.DecidedSerializer({"item": item.key, "state": item.state}).data)
