"""Pages of second readings: what was drawn, how far deciders agree, and the form of one reading."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from annotation import roles
from annotation.adjudication import decisions, item_access, second_readings
from annotation.models import Item
from annotation.pages import span_dispute_view
from annotation.pages.disputes import FINDING_KEYS, decision_text, form_context, submitted_choice
from annotation.pages.project_page import label_titles, project_context, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web.formatting import DASH, counted, percent
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.text_highlighting import mark_pair
from evalsvc.core.web.views import attempt, page


class SampleForm(PageForm):
    n = forms.IntegerField(label="Decisions", min_value=1, max_value=second_readings.MOST, initial=20)
    seed = forms.CharField(
        max_length=100, initial="second-1", help_text="Any text. The same text gives the same draw."
    )


@page("GET", "POST")
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what waits for a second reader; curators draw a sample and see how far deciders agree."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    user = person(request)
    if request.method == "POST":
        roles.require(project, user, roles.CURATOR)
    form = SampleForm(request.POST or None)
    if form.is_valid():
        drawn = attempt(form, lambda: second_readings.ask(project, **form.cleaned_data, by=user))
        if drawn is not None:
            messages.info(request, f"{counted(drawn, 'decision')} drawn for a second reading.")
            return redirect("second-readings", slug)
    waiting = second_readings.waiting(project, user)
    context: dict[str, Any] = {"form": form, "n_waiting": waiting.count(), "first": waiting.first()}
    if role == roles.CURATOR:
        result, titles = second_readings.agreement(project, by=user), label_titles(project)
        mapped = decisions.Rules(project).mapping
        context |= {
            "result": result,
            "share": DASH if result.share is None else f"{percent(result.share)} %",
            "alpha": DASH if result.alpha is None else f"{result.alpha:.2f}",
            "differences": [
                (pair.reading, *(
                    decision_text(each.finding, mapped.payload(each.payload or {}).payload, titles)
                    for each in (pair.reading.decision, pair.reading)
                ))
                for pair in result.differences
            ],
        }  # fmt: skip
    return render(request, "annotation/second_readings.html", project_context(project, role, **context))


FIELDS = ("choice", "relation", "reason", "client_id", "votes_key", *span_dispute_view.FIELDS)


@page("GET", "POST", names=FIELDS)
def reading(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    """Decide an item again, without its decision."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    item = get_object_or_404(Item.objects.present().select_related("project"), key=key, project=project)
    item_access.require_dispute(item, role, changes=request.method == "POST")
    user, problem = person(request), None
    if request.method == "POST":
        try:
            choice = submitted_choice(item, request.POST, by=user)
            second_readings.read(item, by=user, **choice, reason=request.POST.get("reason", "").strip())
        except (Conflict, DomainError) as error:
            problem = error
        else:
            return redirect(_next(slug, second_readings.waiting(project, user).first()))
    if second_readings.waiting_for(item, user) is None:
        raise Http404("You have no second reading of this sentence.")
    others = second_readings.waiting(project, user).exclude(decision__item=item)
    details = decisions.dispute_details(item, for_user=user)
    context = form_context(details, request.POST) | {
        "item": item,
        "sentence": mark_pair(item) if item.head else item.text,
        "problem": problem,
        "following": _next(slug, others.first()),
        "findings": [
            (*entry, key) for entry, key in zip(decisions.FINDINGS.items(), FINDING_KEYS, strict=True)
        ],
        "client_id": uuid4(),
        "second": True,
        "waiting": others.count() + 1,
    }
    return render(request, "annotation/dispute.html", project_context(project, role, **context))


def _next(slug: str, following: Any) -> str:
    if following is None:
        return reverse("second-readings", args=[slug])
    return reverse("second-reading", args=[slug, following.decision.item.key])
