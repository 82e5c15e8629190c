"""Dispute pages: the list by vote pattern, and the decision form."""

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
from annotation.consensus.label_mapping import Payload
from annotation.models import Adjudication, Item, Project
from annotation.pages.dispute_view import dispute_view
from annotation.pages.project_page import answer_text, label_titles, project_context, project_for
from annotation.pages.text_highlighting import mark_pair
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web.text_validation import check_storable
from evalsvc.core.web.views import page

BAR_WIDTH = 176
UNDO_ACTIONS = {"undo": decisions.reopen, "unask": decisions.cancel_one_more}
FINDING_KEYS = "BE"
MAX_LISTED = 200
RELOAD = "Reload the page and decide again."


@page()
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """List the disputes, or with `?decided` the decisions."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    if "decided" in request.GET:
        latest = decisions.active_decisions(project)[:MAX_LISTED]
        entries = [(decision, _decision_text(decision)) for decision in latest]
        context = project_context(project, role, entries=entries, **_counts(project, ""))
        return render(request, "annotation/decisions.html", context)
    pattern = request.GET.get("pattern", "")
    items = decisions.disputes(project, pattern)
    context = project_context(
        project,
        role,
        items=items[:MAX_LISTED],
        n=items.count(),
        first=items.first(),
        **_counts(project, pattern),
    )
    return render(request, "annotation/disputes.html", context)


def _decision_text(decision: Adjudication) -> str:
    finding = decisions.FINDINGS.get(decision.finding)
    return finding or answer_text(decision.item.gold, label_titles(decision.item.project))


def _counts(project: Project, pattern: str) -> dict[str, Any]:
    """Return the progress of adjudication and the most frequent vote patterns."""
    patterns = Counter(decisions.disputes(project).values_list("split", flat=True))
    decided = project.items.live().filter(state__in=Item.DECIDED).count()
    total = patterns.total() + decided
    return {
        "pattern": pattern,
        "patterns": patterns.most_common(8),
        "unanswerable": patterns[UNANSWERABLE],
        "disputed": patterns.total() - patterns[UNANSWERABLE],
        "waiting": patterns.total(),
        "decided": decided,
        "total": total,
        "width": f"{BAR_WIDTH * decided / total:.1f}" if total else "0",
    }


@page("GET", "POST")
def dispute(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    """Show, decide or undo a dispute, or ask one more person."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    item = get_object_or_404(Item.objects.live().select_related("project"), key=key, project=project)
    pattern = request.GET.get("pattern", "")
    undo = UNDO_ACTIONS.get(request.POST.get("action", ""))
    if undo is not None:
        undo(item, by=person(request))
        return redirect(_address(project, item.key, pattern))
    problem = None
    if request.method == "POST":
        problem = _decide_or_ask(request, item)
        if problem is None:
            return redirect(_next_address(project, item, pattern))
        item.refresh_from_db()
    following = _next_address(project, item, pattern)
    context = project_context(
        project,
        role,
        item=item,
        sentence=mark_pair(item) if item.head else item.text,
        problem=problem,
        following=following,
        undo=_undo_address(request, project, pattern),
        **_counts(project, pattern),
    )
    if decisions.needs_decision(item):
        return render(request, "annotation/dispute.html", context | _dispute_context(request, item))
    return render(request, "annotation/dispute_over.html", context | _decision_context(request, item))


def _address(project: Project, item: UUID, pattern: str) -> str:
    query = f"?{urlencode({'pattern': pattern})}" if pattern else ""
    return reverse("dispute", args=[project.slug, item]) + query


def _undo_address(request: HttpRequest, project: Project, pattern: str) -> str:
    """Return the address of the viewer's last decision, or nothing."""
    last = decisions.active_decisions(project).filter(by=person(request)).first()
    return _address(project, last.item.key, pattern) if last else ""


def _decision_context(request: HttpRequest, item: Item) -> dict[str, Any]:
    """Return the decision on an item and whether the viewer may reopen it."""
    own = {"own_choice": _own_choice(request, item)}
    decision = item.adjudications.filter(reopened_at=None).select_related("by").first()
    if decision is None:
        return own | {"asked": decisions.may_cancel_one_more(item)}
    curates = roles.role_in(item.project, person(request)) == roles.CURATOR
    mine = decision.by_id == person(request).pk
    text = decisions.FINDINGS.get(decision.finding) or answer_text(item.gold, label_titles(item.project))
    return own | {"decision": decision, "text": text, "mine": mine, "may_undo": mine or curates}


def _own_choice(request: HttpRequest, item: Item) -> str:
    """Return the viewer's choice when another decision came first, or nothing."""
    if request.method != "POST":
        return ""
    try:
        choice = _submitted_choice(request)
        finding = decisions.FINDINGS.get(choice.get("finding", ""))
        return finding or answer_text(choice["payload"], label_titles(item.project))
    except (DomainError, KeyError, TypeError):
        return ""


def _dispute_context(request: HttpRequest, item: Item) -> dict[str, Any]:
    details = decisions.dispute_details(item, for_user=person(request))
    view, filled = dispute_view(details), _filled(request, item)
    fallback = "other" if filled["ticked"] else filled["chosen"]
    return filled | {
        "details": details,
        "view": view,
        "settled_by_other": item_state.other_policy_settles(item.project),
        "other": item_state.Rules(item.project_id).other_policy,
        "findings": [
            (*entry, key) for entry, key in zip(decisions.FINDINGS.items(), FINDING_KEYS, strict=True)
        ],
        "client_id": uuid4(),
        "chosen": view.value_of(filled["chosen"]) or fallback,
    }


def _filled(request: HttpRequest, item: Item) -> dict[str, Any]:
    """Return the form's values: those of a rejected submission, or of the viewer's reopened decision."""
    if request.method == "POST":
        sent = request.POST
        chosen, ticked = sent.get("choice", ""), sent.getlist("relation")
        return {"reason": sent.get("reason", ""), "chosen": chosen, "ticked": ticked}
    decision = item.adjudications.filter(by=person(request)).order_by("-pk").first()
    if decision is None:
        return {"reason": "", "chosen": "", "ticked": []}
    payload = item_state.Rules(item.project_id).mapping.payload(decision.payload).payload
    chosen = decision.finding or json.dumps(payload, ensure_ascii=False)
    return {"reason": decision.reason, "chosen": chosen, "ticked": payload["relations"]}


def _decide_or_ask(request: HttpRequest, item: Item) -> DomainError | None:
    """Decide the item or ask one more person; return the error, if any."""
    sent = request.POST
    try:
        if sent.get("action") == "ask":
            decisions.ask_one_more(item, by=person(request))
        else:
            decisions.decide(
                item,
                by=person(request),
                **_submitted_choice(request),
                reason=sent.get("reason", "").strip(),
                client_id=_uuid(sent.get("client_id", "")),
                votes_key=sent.get("votes_key", ""),
            )
    except (Conflict, DomainError) as error:
        return error
    return None


def _submitted_choice(request: HttpRequest) -> dict[str, Any]:
    """Return the answer chosen, or the finding that leaves the item out."""
    choice = request.POST.get("choice", "")
    return {"finding": choice} if choice in decisions.FINDINGS else {"payload": _submitted_answer(request)}


def _submitted_answer(request: HttpRequest) -> Payload:
    """Return one of the answers on the page, or relations ticked in the list."""
    choice = request.POST.get("choice", "")
    if choice == "other":
        names = request.POST.getlist("relation")
        if not names:
            raise DomainError("nothing_chosen", "No relation is ticked.", hint="Tick one, or choose N/A.")
        return {"spans": [], "relations": names}
    if not choice:
        raise DomainError(
            "nothing_chosen", "No answer is chosen.", hint="Choose an answer, or N/A if none applies."
        )
    try:
        payload = json.loads(choice)
    except (ValueError, RecursionError) as error:
        raise DomainError("bad_payload", "The choice is not valid JSON.", hint=RELOAD) from error
    check_storable(payload, field="choice")
    return payload if isinstance(payload, dict) else {}


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise DomainError("bad_client_id", "The form has no valid `client_id`.", hint=RELOAD) from error


def _next_address(project: Project, item: Item, pattern: str) -> str:
    """Return the address of the next dispute, from the start again after the last, or of the list."""
    order = list(decisions.disputes(project, pattern).values_list("key", "split", "rank"))
    others = [entry for entry in order if entry[0] != item.key]
    later = [entry for entry in others if entry[1:] > (decisions.dispute_kind(item), item.rank)]
    if not others:
        return reverse("disputes", args=[project.slug])
    return _address(project, (later or others)[0][0], pattern)
