"""Dispute pages: the list by vote pattern, and the decision form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from annotation import roles
from annotation.adjudication import bulk_decisions, decisions, dispute_list, item_access, second_readings
from annotation.adjudication.decisions import DisputeDetails, FormerDecision
from annotation.adjudication.dispute_list import DisputeFilters
from annotation.adjudication.unanswerable_items import UNANSWERABLE
from annotation.consensus import effects
from annotation.consensus.rules import Rules
from annotation.models import Item, ItemCount, Project
from annotation.models.project import RULE_TITLES
from annotation.pages import span_dispute_view
from annotation.pages.dispute_view import DisputeView
from annotation.pages.project_page import answer_text, label_titles, project_context, project_for
from annotation.pages.span_dispute_view import SpanDisputeView
from annotation.reports import remarks
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.web.formatting import listed
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.text_highlighting import mark_pair
from evalsvc.core.web.text_validation import check_storable
from evalsvc.core.web.views import page

BAR_WIDTH = 176
UNDO_ACTIONS = {"undo": decisions.reopen, "unask": decisions.cancel_one_more}
FINDING_KEYS = "BE"
MAX_LISTED = 200
REMARK_TITLES = [
    ("", "with or without"), ("flag", "a flag"), ("comment", "a comment"), ("any", "a flag or a comment")
]  # fmt: skip
RELOAD = "Reload the page and decide again."


class FilterForm(PageForm):
    OTHER_NAMES = ("pattern",)
    label = forms.ChoiceField(required=False, label="With the label")
    remark = forms.ChoiceField(required=False, label="Remarks", choices=REMARK_TITLES)

    def __init__(self, *args: Any, titles: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["label"].choices = [("", "any"), *titles.items()]  # type: ignore[attr-defined]


@page()
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """List the disputes, or with `?decided` the decisions."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    if "decided" in request.GET:
        titles, hidden = label_titles(project), second_readings.hidden_decisions(project, person(request))
        active = decisions.active_decisions(project)
        shown = active if role == roles.CURATOR else decisions.decisions_on_answers(active)
        made = list(shown[:MAX_LISTED])
        sizes = bulk_decisions.sizes(made)
        entries = [
            (
                decision,
                decision_text(decision.finding, decision.item.gold, titles),
                decision.pk in hidden,
                sizes.get(decision.bulk, 0),
            )
            for decision in made
        ]
        context = project_context(project, role, entries=entries, **_counts(project, DisputeFilters()))
        return render(request, "annotation/decisions.html", context)
    filters = filters_of(request)
    counts, found = _counts(project, filters), list(dispute_list.disputes(project, filters)[: MAX_LISTED + 1])
    listed = found[:MAX_LISTED]
    context = project_context(
        project,
        role,
        items=listed,
        more=len(found) > MAX_LISTED,
        searched=dispute_list.searched(project, filters)[1],
        first=listed[0] if listed else None,
        form=FilterForm(request.GET if filters else None, titles=label_titles(project)),
        **counts,
    )
    return render(request, "annotation/disputes.html", context)


@page()
def comments(request: HttpRequest, slug: str) -> HttpResponse:
    """List comments and flags, with names for curators only."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    entries = remarks.listed(project, for_user=person(request))
    context = project_context(project, role, entries=entries, n=remarks.remarks(project).count())
    return render(request, "annotation/comments.html", context)


def decision_text(finding: str, payload: Payload | None, titles: Mapping[str, str]) -> str:
    return decisions.FINDINGS.get(finding) or answer_text(payload, titles)


def filters_of(request: HttpRequest) -> DisputeFilters:
    """Return the filters in the address."""
    return DisputeFilters(**{name: request.GET.get(name, "") for name in ("pattern", "label", "remark")})


def _counts(project: Project, filters: DisputeFilters) -> dict[str, Any]:
    """Return the progress of adjudication and the most frequent vote patterns."""
    patterns = dispute_list.count_by_pattern(project)
    narrowed = filters.label or filters.remark
    shown = dispute_list.count_by_pattern(project, filters) if narrowed else patterns
    named = dict(shown.most_common(8))
    if filters.pattern:
        named.setdefault(filters.pattern, shown[filters.pattern])
    decided = ItemCount.objects.live(project).filter(state__in=Item.DECIDED).total()
    total = patterns.total() + decided
    return {
        "filters": filters,
        "patterns": [
            (name, "nobody left to answer" if name == UNANSWERABLE else name or "other", n)
            for name, n in named.items()
        ],
        "matching": shown.total(),
        "legend": pattern_legend(project, patterns),
        "unanswerable": patterns[UNANSWERABLE],
        "disputed": patterns.total() - patterns[UNANSWERABLE],
        "waiting": patterns.total(),
        "decided": decided,
        "total": total,
        "width": f"{BAR_WIDTH * decided / total:.1f}" if total else "0",
    }


def pattern_legend(project: Project, patterns: Counter[str]) -> str:
    """Explain the notation of vote patterns by the most frequent one."""
    named = [name for name, _ in patterns.most_common() if name not in ("", UNANSWERABLE)]
    if not named:
        return ""
    split, _, na = named[0].removesuffix(" N/A").partition(" against ")
    first, *others = split.split("–")
    noun = "relation" if project.kind == Kind.RELATIONS else "answer"
    text = f"{first} {'vote' if first == '1' else 'votes'} for one {noun}"
    if others:
        text += f", {listed(others)} for {'another' if len(others) == 1 else 'others'}"
    if na:
        text += f", {na} for {'N/A' if project.kind == Kind.RELATIONS else 'nothing marked'}"
    return f"{named[0]} means: {text}."


@page(
    "GET",
    "POST",
    names=("choice", "relation", "reason", "client_id", "votes_key", *span_dispute_view.FIELDS),
    **dict.fromkeys(("ask", *UNDO_ACTIONS), ()),
)
def dispute(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    """Show, decide or undo a dispute, or ask one more person."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    item = get_object_or_404(Item.objects.present().select_related("project"), key=key, project=project)
    item_access.require_dispute(item, role, changes=request.method == "POST")
    user, filters, problem = person(request), filters_of(request), None
    if undo := UNDO_ACTIONS.get(request.POST.get("action", "")):
        undo(item, by=user)
        return redirect(_address(project, item.key, filters))
    if second_readings.waiting_for(item, user):  # its decision stays hidden, also from a form sent too late
        return redirect("second-reading", slug, key)
    if request.method == "POST":
        try:
            _decide_or_ask(item, request.POST, by=user)
        except (Conflict, DomainError) as error:
            problem = error
            item.refresh_from_db()
        else:
            return redirect(_next_address(project, item, filters))
    last = decisions.active_decisions(project).filter(by=user).first()
    context = project_context(
        project,
        role,
        item=item,
        sentence=mark_pair(item) if item.head else item.text,
        problem=problem,
        following=_next_address(project, item, filters),
        undo=_address(project, last.item.key, filters) if last else "",
        **_counts(project, filters),
    )
    if decisions.needs_decision(item):
        context |= form_context(decisions.dispute_details(item, for_user=user), request.POST) | {
            "settled_by_other": effects.other_policy_settles(item.project),
            "other": RULE_TITLES[Rules(item.project_id).other_policy],
            "findings": [
                (*entry, key) for entry, key in zip(decisions.FINDINGS.items(), FINDING_KEYS, strict=True)
            ],
            "client_id": uuid4(),
        }
        return render(request, "annotation/dispute.html", context)
    context |= _decision_context(item, request.POST, user)
    return render(request, "annotation/dispute_over.html", context)


def _address(project: Project, item: UUID, filters: DisputeFilters) -> str:
    return reverse("dispute", args=[project.slug, item]) + filters.query


def _decision_context(item: Item, sent: QueryDict, user: User) -> dict[str, Any]:
    """Return an item's decision, and a choice that came too late."""
    titles = label_titles(item.project)
    own_choice = ""
    if sent:
        with suppress(DomainError, KeyError, TypeError):
            choice = submitted_choice(item, sent, by=user)
            own_choice = decision_text(choice.get("finding", ""), choice.get("payload"), titles)
    decision = item.adjudications.active().select_related("by").first()
    if decision is None:
        return {"own_choice": own_choice, "asked": decisions.may_cancel_one_more(item)}
    mine = decision.by_id == user.pk
    is_curator = roles.role_in(item.project, user) == roles.CURATOR
    return {
        "own_choice": own_choice,
        "decision": decision,
        "text": decision_text(decision.finding, item.gold, titles),
        "mine": mine,
        "may_read": is_curator or not decision.is_exclusion,
        "may_undo": is_curator or (mine and not decision.is_exclusion),
    }


def form_context(details: DisputeDetails, sent: QueryDict) -> dict[str, Any]:
    """Return the dispute as its form shows it, with what was sent or decided before."""
    values = _form_values(sent, details.former)
    if details.open_parts is not None:
        spans = SpanDisputeView(details, sent=sent, former=details.former)
        return values | {"details": details, "view": spans, "chosen": values["finding"] or spans.chosen}
    view, fallback = DisputeView(details), "other" if values["ticked"] else values["chosen"]
    return values | {"details": details, "view": view, "chosen": view.value_of(values["chosen"]) or fallback}


def _form_values(sent: QueryDict, former: FormerDecision | None) -> dict[str, Any]:
    """Return a rejected submission, or the decision made before."""
    if sent:
        chosen, ticked = sent.get("choice", ""), sent.getlist("relation")
        return {"reason": sent.get("reason", ""), "chosen": chosen, "ticked": ticked, "finding": ""}
    if former is None:
        return {"reason": "", "chosen": "", "ticked": [], "finding": ""}
    chosen = former.finding or (json.dumps(former.payload, ensure_ascii=False) if former.payload else "")
    ticked = former.payload["relations"] if former.payload else []
    own = {"reason": former.reason, "finding": former.finding, "former": former}
    return own | {"chosen": chosen, "ticked": ticked}


def _decide_or_ask(item: Item, sent: QueryDict, *, by: User) -> None:
    if sent.get("action") == "ask":
        decisions.ask_one_more(item, by=by)
        return
    choice, reason = submitted_choice(item, sent, by=by), sent.get("reason", "").strip()
    try:
        client_id = UUID(sent.get("client_id", ""))
    except ValueError as error:
        raise DomainError("bad_client_id", "The form has no valid `client_id`.", hint=RELOAD) from error
    votes_key = sent.get("votes_key", "")
    decisions.decide(item, by=by, **choice, reason=reason, client_id=client_id, votes_key=votes_key)


def submitted_choice(item: Item, sent: QueryDict, *, by: User) -> dict[str, Any]:
    """Return the finding, the answer chosen, or what was ticked or edited."""
    choice, ticked = sent.get("choice", ""), sent.getlist("relation")
    if choice in decisions.FINDINGS:
        return {"finding": choice}
    parts = None
    if choice in (span_dispute_view.PARTS, span_dispute_view.EDIT):
        parts = decisions.dispute_details(item, for_user=by).open_parts
    if parts:
        return {"payload": span_dispute_view.submitted_answer(sent, parts)}
    if choice == "other" and ticked:
        return {"payload": {"spans": [], "relations": ticked}}
    if choice == "other":
        raise DomainError("nothing_chosen", "No relation is ticked.", hint="Tick one, or choose N/A.")
    if not choice:
        hint = "Choose an answer, or N/A if none applies."
        raise DomainError("nothing_chosen", "No answer is chosen.", hint=hint)
    try:
        payload = json.loads(choice)
    except (ValueError, RecursionError) as error:
        raise DomainError("bad_payload", "The choice is not valid JSON.", hint=RELOAD) from error
    check_storable(payload, field="choice")
    return {"payload": payload}


def _next_address(project: Project, item: Item, filters: DisputeFilters) -> str:
    """Return the next dispute's address, going round, or the list's."""
    following = dispute_list.next_dispute(item, filters)
    return _address(project, following, filters) if following else reverse("disputes", args=[project.slug])
