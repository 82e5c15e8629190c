"""Page that decides all disputes of one vote pattern: its effect first, then the decisions."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from annotation import roles
from annotation.adjudication import bulk_decisions
from annotation.adjudication.bulk_decisions import LEADING, NA
from annotation.pages.disputes import filters_of
from annotation.pages.project_page import answer_text, label_titles, project_context, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page

EXAMPLES = 20


class BulkForm(PageForm):
    OTHER_NAMES = ("action", "key", "client_id", "after", "last")
    answer = forms.ChoiceField(
        widget=forms.RadioSelect,
        choices=[
            (NA, "N/A: nothing of what is disputed"),
            (LEADING, "the label with the most votes apart from N/A; ties stay disputed"),
        ],
    )
    reason = forms.CharField(
        required=False,
        max_length=4_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Required. It is stored with each of these decisions, and shown in the release.",
    )


@page("GET", "POST")
def bulk(request: HttpRequest, slug: str) -> HttpResponse:
    """Preview one answer for all disputes of a pattern, then decide them."""
    project, role = project_for(request, slug, *roles.MAY_DECIDE)
    user, filters, sent = person(request), filters_of(request), request.POST
    form = BulkForm(sent or None)
    back = reverse("disputes", args=[project.slug])
    if not (filters.pattern or form.errors):
        messages.info(request, "Choose a pattern of votes first, then decide its disputes together.")
        return redirect(back)
    after = _uuid_or_none(sent.get("last" if sent.get("action") == "next" else "after", ""))
    context: dict[str, Any] = {"form": form, "filters": filters, "client_id": uuid4(), "after": after}
    if form.is_valid():
        values = form.cleaned_data
        if sent.get("action") == "decide":
            made = attempt(
                form,
                lambda: bulk_decisions.decide_all(
                    project,
                    filters,
                    values["answer"],
                    reason=values["reason"],
                    key=sent.get("key", ""),
                    client_id=_uuid(sent.get("client_id", "")),
                    after=after,
                    by=user,
                ),
            )
            if made:
                messages.info(request, f"{counted(made, 'dispute')} decided.")
                return redirect(back)
        answer = values["answer"]
        seen = attempt(form, lambda: bulk_decisions.preview(project, filters, answer, by=user, after=after))
        if seen is not None:
            titles = label_titles(project)
            texts = [(item, answer_text(payload, titles)) for item, payload in seen.items]
            context |= {"seen": seen, "n": len(texts), "examples": texts[:EXAMPLES]}
            context["answers"] = Counter(text for _, text in texts).most_common(EXAMPLES)
    return render(request, "annotation/disputes_bulk.html", project_context(project, role, **context))


@page("POST", names=("bulk",))
def undo(request: HttpRequest, slug: str) -> HttpResponse:
    """Reopen decisions that were made together."""
    project, _ = project_for(request, slug, *roles.MAY_DECIDE)
    n = bulk_decisions.undo(project, _uuid(request.POST.get("bulk", "")), by=person(request))
    messages.info(request, f"{counted(n, 'decision')} undone.")
    return redirect("disputes", project.slug)


def _uuid_or_none(text: str) -> UUID | None:
    return _uuid(text) if text else None


def _uuid(text: str) -> UUID:
    """Read a UUID; another text gives one that nothing has."""
    try:
        return UUID(text)
    except ValueError:
        return UUID(int=0)
