"""Page of the training and validation data beside a test set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.pages.splits import shared_table
from annotation.pages.testsets import visible
from annotation.splits import companions
from annotation.testset import TestSet
from evalsvc.core.accounts.users import person
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.tables import download
from evalsvc.core.web.views import attempt, page

TABLE_FORMATS = [("csv", "CSV"), ("tex", "LaTeX"), ("md", "Markdown"), ("json", "JSON")]


class CompanionForm(PageForm):
    other = forms.ChoiceField(label="Test set", help_text="Import training data like a test set.")
    role = forms.ChoiceField(choices=companions.Role.choices)

    def __init__(self, *args: Any, others: Sequence[TestSet], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.others = {each.slug: each for each in others}
        self.fields["other"].choices = [(slug, str(each)) for slug, each in self.others.items()]  # type: ignore[attr-defined]


@page("GET", "POST", remove=(), retry=())
def companions_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the table of all sets and what they share; put a set beside, count again, or remove one."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    may_read = test_set.readable_by(user)
    if request.method == "POST":
        test_set.require_reader(user)
    roles.require_outcomes(test_set, user)
    for button, act in (("remove", companions.remove), ("retry", companions.retry)):
        if button in request.POST:
            act(test_set, get_object_or_404(visible(request), slug=request.POST[button]), by=user)
            return redirect("test-set-companions", slug)
    others = companions.to_put_beside(test_set, by=user) if may_read else []
    form = CompanionForm(request.POST or None, others=others)
    if form.is_valid():
        data, role = form.others[form.cleaned_data["other"]], form.cleaned_data["role"]
        if attempt(form, lambda: companions.put_beside(test_set, data, role, by=user), "other"):
            messages.info(request, f"{data} was added to {test_set}. What they share is being counted.")
            return redirect("test-set-companions", slug)
    beside = list(test_set.companions.select_related("data"))
    states = {each.pk: companions.count_state(each) for each in beside}
    held_back = companions.held_back(test_set, user)
    context = {
        "set": test_set,
        "form": form,
        "others": others,
        "may_read": may_read,
        "table": companions.sets_table(test_set, without=held_back),
        "held_back": held_back,
        "formats": TABLE_FORMATS,
        "beside": [
            (each, states[each.pk], shared_table(companions.shared_rows(each), str(each.data), str(test_set)))
            for each in beside
        ],
        "counting": Job.State.QUEUED in states.values(),
    }
    return render(request, "annotation/test_set_companions.html", context)


@page()
def sets_file(request: HttpRequest, slug: str, format: str) -> HttpResponse:
    """Download the table of all sets."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    roles.require_outcomes(test_set, user)
    held_back = companions.held_back(test_set, user)
    return download(companions.sets_table(test_set, without=held_back), format)
