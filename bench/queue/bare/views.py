"""Endpoints for the next item and the answer to it, authenticated by token."""

import hashlib
import json
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path
from django.utils import timezone

from bench.queue.bare.models import Item, Lease, Token, Vote


def person_of(request: HttpRequest) -> int:
    secret = request.headers["Authorization"].removeprefix("Bearer ")
    return Token.objects.get(digest=hashlib.sha256(secret.encode()).hexdigest()).person


@transaction.atomic
def lease(request: HttpRequest) -> HttpResponse:
    person = person_of(request)
    own_leases = Lease.objects.filter(item=OuterRef("pk"), person=person)
    available = Item.objects.filter(free__gt=0).exclude(Exists(own_leases)).order_by("rank")
    item = available.select_for_update(skip_locked=True).first()
    if item is None:
        return HttpResponse(status=204)
    Item.objects.filter(pk=item.pk).update(free=F("free") - 1)
    expires = timezone.now() + timedelta(minutes=30)
    created = Lease.objects.create(item=item, person=person, expires_at=expires)
    body = {"id": item.pk, "text": item.text, "tokens": None, "head": item.head, "tail": item.tail}
    return JsonResponse({"lease": created.pk, "item": body, "base": 0, "expires_at": expires})


@transaction.atomic
def answer(request: HttpRequest, pk: int) -> HttpResponse:
    person = person_of(request)
    body = json.loads(request.body)
    Vote.objects.create(item_id=pk, person=person, client_id=body["client_id"], payload=body["payload"])
    Lease.objects.filter(item=pk, person=person, ended=False).update(ended=True)
    Item.objects.filter(pk=pk).update(answers=F("answers") + 1)
    return JsonResponse({"number": 1, "surplus": False, "repeated": False, "feedback": None}, status=201)


urlpatterns = [
    path("api/v1/projects/<slug:slug>/lease", lambda request, slug: lease(request)),
    path("api/v1/items/<int:pk>/answer", answer),
]
