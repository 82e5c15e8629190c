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

from annotation import roles
from annotation.adjudication import decisions
from annotation.adjudication.unanswerable_items import UNANSWERABLE
from annotation.consensus import item_state
from annotation.models import Item, Project
from annotation.pages import dispute_view, text_highlighting
from annotation.pages.view_helpers import around, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web.text_validation import check_storable
from evalsvc.core.web.views import page

BAR = 176
UNDOING = {"undo": decisions.reopen, "unask": decisions.cancel_one_more}
MOST_LISTED = 200


@page()
def index(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    if "decided" in request.GET:
        return render(request, "annotation/decision_done.html", around(project, role, **_decided(project)))
    pattern = request.GET.get("pattern", "")
    waiting = decisions.disputes(project, pattern)
    shown = around(
        project,
        role,
        items=waiting[:MOST_LISTED],
        n=waiting.count(),
        first=waiting.first(),
        **_bar(project, pattern),
    )
    return render(request, "annotation/disputes.html", shown)


def _decided(project: Project) -> dict[str, Any]:
    """The latest decisions that stand, each as its words."""
    choices = dispute_view.choices_of(project)
    entries = [
        (made, decisions.FINDINGS.get(made.finding) or dispute_view.shown(made.item.gold, choices))
        for made in decisions.active_decisions(project)[:MOST_LISTED]
    ]
    return {"entries": entries} | _bar(project, "")


def _bar(project: Project, pattern: str) -> dict[str, Any]:
    """What stands over both pages: how many are decided, and the vote patterns to choose from."""
    counted = Counter(decisions.disputes(project).values_list("split", flat=True))
    decided = project.items.live().filter(state__in=Item.DECIDED).count()
    total = counted.total() + decided
    return {
        "pattern": pattern,
        "patterns": counted.most_common(8),
        "passed_on": counted[UNANSWERABLE],
        "disputed": counted.total() - counted[UNANSWERABLE],
        "waiting": counted.total(),
        "decided": decided,
        "total": total,
        "width": f"{BAR * decided / total:.1f}" if total else "0",
    }


@page("GET", "POST")
def dispute(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    item = get_object_or_404(Item.objects.live().select_related("project"), key=key, project=project)
    pattern = request.GET.get("pattern", "")
    undone = UNDOING.get(request.POST.get("action", ""))
    if undone is not None:
        undone(item, by=person(request))
        return redirect(_address(project, item.key, pattern))
    problem = None
    if request.method == "POST":
        problem = _acted(request, item)
        if problem is None:
            return redirect(_next(project, item, pattern))
        item.refresh_from_db()
    shown = around(
        project,
        role,
        item=item,
        problem=problem,
        undo=_undo(request, project, pattern),
        **_bar(project, pattern),
    )
    after = _next(project, item, pattern)
    if not decisions.needs_decision(item):
        return render(
            request,
            "annotation/dispute_over.html",
            shown | {"next": after, "yours": _yours(request, item)} | _over(request, item),
        )
    return render(request, "annotation/dispute.html", shown | _case(request, item, later=after))


def _address(project: Project, item: UUID, pattern: str) -> str:
    query = f"?{urlencode({'pattern': pattern})}" if pattern else ""
    return reverse("dispute", args=[project.slug, item]) + query


def _undo(request: HttpRequest, project: Project, pattern: str) -> str:
    """Where the person's own last decision is taken back; empty when they made none."""
    last = decisions.active_decisions(project).filter(by=person(request)).first()
    return _address(project, last.item.key, pattern) if last else ""


def _over(request: HttpRequest, item: Item) -> dict[str, Any]:
    """What was decided of a sentence, and whether this person may take it back."""
    made = item.adjudications.filter(reopened_at=None).select_related("by").first()
    if made is None:
        return {"asked": decisions.may_cancel_one_more(item)}
    finding = decisions.FINDINGS.get(made.finding)
    said = finding or dispute_view.shown(item.gold, dispute_view.choices_of(item.project))
    curates = roles.role_in(item.project, person(request)) == roles.CURATOR
    mine = made.by_id == person(request).pk
    told = {
        "made": made,
        "said": said,
        "mine": mine,
        "may_undo": mine or curates,
    }
    return told | _sentence(item)


def _yours(request: HttpRequest, item: Item) -> str:
    """What the person just chose and somebody was quicker with; empty when nothing was sent."""
    if request.method != "POST":
        return ""
    try:
        told = _decision(request)
        finding = decisions.FINDINGS.get(told.get("finding", ""))
        return finding or dispute_view.shown(told["payload"], dispute_view.choices_of(item.project))
    except (DomainError, KeyError, TypeError):
        return ""


def _sentence(item: Item) -> dict[str, Any]:
    return {"sentence": text_highlighting.pair(item) if item.head else item.text}


def _case(request: HttpRequest, item: Item, *, later: str) -> dict[str, Any]:
    dossier = decisions.dispute_details(item, for_user=person(request))
    case, filled = dispute_view.case_of(dossier), _filled(request, item)
    return filled | {
        "dossier": dossier,
        "case": case,
        "differ": item_state.other_policy_settles(item.project),
        "other": item_state.Rules(item.project_id).other_policy,
        "findings": [(*entry, key) for entry, key in zip(decisions.FINDINGS.items(), "BE", strict=True)],
        "client_id": uuid4(),
        "later": later,
        "chosen": case.value_of(filled["chosen"]) or ("other" if filled["ticked"] else filled["chosen"]),
        **_sentence(item),
    }


def _filled(request: HttpRequest, item: Item) -> dict[str, Any]:
    """What the form already says: what was sent and refused, else the own decision that was taken back."""
    sent = request.POST
    if request.method == "POST":
        told = {"reason": sent.get("reason", ""), "chosen": sent.get("choice", "")}
        return told | {"ticked": sent.getlist("relation")}
    mine = item.adjudications.filter(by=person(request)).order_by("-pk").first()
    if mine is None:
        return {"reason": "", "chosen": "", "ticked": []}
    said = item_state.Rules(item.project_id).mapping.payload(mine.payload).payload
    chosen = mine.finding or json.dumps(said, ensure_ascii=False)
    return {"reason": mine.reason, "chosen": chosen, "ticked": said["relations"]}


def _acted(request: HttpRequest, item: Item) -> DomainError | None:
    """Decide or ask one more person; the refusal, if it was refused."""
    sent = request.POST
    try:
        if sent.get("action") == "ask":
            decisions.ask_one_more(item, by=person(request))
        else:
            decisions.decide(
                item,
                by=person(request),
                **_decision(request),
                reason=sent.get("reason", "").strip(),
                client_id=_uuid(sent.get("client_id", "")),
                votes_key=sent.get("votes_key", ""),
            )
    except (Conflict, DomainError) as refusal:
        return refusal
    return None


def _decision(request: HttpRequest) -> dict[str, Any]:
    """An answer, or the finding that there can be none."""
    choice = request.POST.get("choice", "")
    return {"finding": choice} if choice in decisions.FINDINGS else {"payload": _payload(request)}


def _payload(request: HttpRequest) -> dict[str, Any]:
    """The chosen answer: one of those on the page, or relations picked from the whole list."""
    choice = request.POST.get("choice", "")
    if choice == "other":
        names = request.POST.getlist("relation")
        if not names:
            raise DomainError(
                "nothing_chosen", "No other relation is ticked.", hint="Tick one, or choose N/A."
            )
        return {"spans": [], "relations": names}
    if not choice:
        raise DomainError(
            "nothing_chosen", "Nothing is chosen.", hint="Choose an answer, or N/A if none holds."
        )
    try:
        said = json.loads(choice)
    except (ValueError, RecursionError) as error:
        raise DomainError("bad_payload", "The choice can’t be read.", hint="Load the page again.") from error
    check_storable(said, field="choice")
    return said if isinstance(said, dict) else {}


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise DomainError("bad_client_id", "The form is not whole.", hint="Load the page again.") from error


def _next(project: Project, item: Item, pattern: str) -> str:
    """The address of the dispute after this one, the first again at the end, the list when there is none."""
    order = list(decisions.disputes(project, pattern).values_list("key", "split", "rank"))
    others = [key for key in order if key[0] != item.key]
    behind = [key for key in others if key[1:] > (decisions.dispute_kind(item), item.rank)]
    if not others:
        return reverse("disputes", args=[project.slug])
    return _address(project, (behind or others)[0][0], pattern)
