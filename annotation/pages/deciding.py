"""Disputes: the list by vote pattern, and the page on which one is decided."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from annotation import adjudication, outcomes, roles
from annotation.models import Item, Project
from annotation.pages import marking, weighing
from annotation.pages.asking import around, page, person, project_for
from evalsvc.refusals import Conflict, Refusal

BAR = 176


@page()
def index(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.DECIDES)
    pattern = request.GET.get("pattern", "")
    waiting = adjudication.disputes(project, pattern)
    shown = around(
        project, role, items=waiting[:200], n=waiting.count(), first=waiting.first(), **_bar(project, pattern)
    )
    return render(request, "annotation/disputes.html", shown)


def _bar(project: Project, pattern: str) -> dict[str, Any]:
    """What stands over both pages: how many are decided, and the vote patterns to choose from."""
    counted = Counter(adjudication.disputes(project).values_list("pattern", flat=True))
    decided = project.items.live().filter(state=Item.State.ADJUDICATED).count()
    total = counted.total() + decided
    return {
        "pattern": pattern,
        "patterns": counted.most_common(8),
        "waiting": counted.total(),
        "decided": decided,
        "total": total,
        "width": f"{BAR * decided / total:.1f}" if total else "0",
    }


@page("GET", "POST")
def dispute(request: HttpRequest, slug: str, item_pk: int) -> HttpResponse:
    project, role = project_for(request, slug, *roles.DECIDES)
    item = get_object_or_404(Item.objects.live().select_related("project"), pk=item_pk, project=project)
    pattern = request.GET.get("pattern", "")
    problem = None
    if request.method == "POST":
        problem = _acted(request, item)
        if problem is None:
            return redirect(_next(project, item, pattern))
        item.refresh_from_db()
    shown = around(project, role, item=item, problem=problem, **_bar(project, pattern))
    if item.state != Item.State.DISPUTED:
        after = _next(project, item, pattern)
        return render(request, "annotation/dispute_over.html", shown | {"next": after})
    return render(
        request, "annotation/dispute.html", shown | _case(request, item, later=_next(project, item, pattern))
    )


def _case(request: HttpRequest, item: Item, *, later: str) -> dict[str, Any]:
    dossier = adjudication.dossier(item, for_user=person(request))
    return {
        "dossier": dossier,
        "case": weighing.case_of(dossier),
        "sentence": marking.pair(item),
        "differ": adjudication.disputes(item.project).filter(policy_matters=True).count(),
        "other": outcomes.Rules(item.project_id).other_policy,
        "ticked": request.POST.getlist("relation"),
        "client_id": uuid4(),
        "later": later,
        "reason": request.POST.get("reason", ""),
        "chosen": request.POST.get("choice", ""),
    }


def _acted(request: HttpRequest, item: Item) -> Refusal | None:
    """Decide or ask one more person; the refusal, if it was refused."""
    sent = request.POST
    try:
        if sent.get("action") == "ask":
            adjudication.ask_one_more(item, by=person(request))
        else:
            adjudication.decide(
                item,
                by=person(request),
                payload=_payload(request),
                reason=sent.get("reason", "").strip(),
                client_id=_uuid(sent.get("client_id", "")),
                votes_key=sent.get("votes_key", ""),
            )
    except (Conflict, Refusal) as refusal:
        return refusal
    return None


def _payload(request: HttpRequest) -> dict[str, Any]:
    """The chosen answer: one of those on the page, or relations picked from the whole list."""
    choice = request.POST.get("choice", "")
    if choice == "other":
        names = request.POST.getlist("relation")
        if not names:
            raise Refusal("nothing_chosen", "No other relation is ticked.", hint="Tick one, or choose N/A.")
        return {"spans": [], "relations": names}
    if not choice:
        raise Refusal("nothing_chosen", "Nothing is chosen.", hint="Choose an answer, or N/A if none holds.")
    try:
        said = json.loads(choice)
    except ValueError as error:
        raise Refusal("bad_payload", "The choice can’t be read.", hint="Load the page again.") from error
    return said if isinstance(said, dict) else {}


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Refusal("bad_client_id", "The form is not whole.", hint="Load the page again.") from error


def _next(project: Project, item: Item, pattern: str) -> str:
    """The address of the dispute after this one, the first again at the end, the list when there is none."""
    order = list(adjudication.disputes(project, pattern).values_list("pk", "pattern", "rank"))
    others = [key for key in order if key[0] != item.pk]
    behind = [key for key in others if key[1:] > (item.pattern, item.rank)]
    query = f"?{urlencode({'pattern': pattern})}" if pattern else ""
    if not others:
        return reverse("disputes", args=[project.slug])
    return reverse("dispute", args=[project.slug, (behind or others)[0][0]]) + query
