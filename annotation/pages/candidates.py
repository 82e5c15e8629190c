"""Page of a project that chooses which sentences people label."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import candidates, roles
from annotation.pages.project_page import project_context, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page

MOST_IDS = 2_000_000  # characters


class CandidatesForm(PageForm):
    OTHER_NAMES = ("action",)
    positive = forms.BooleanField(
        required=False,
        label="Every sentence with a source label other than N/A, after the steps of the ontology",
    )
    top = forms.IntegerField(
        required=False, min_value=1, label="The best scores of a prediction file", help_text="How many."
    )
    predictions = forms.FileField(
        required=False,
        label="Prediction file",
        help_text="Scores by sentence. Choose it again to store.",
    )
    random = forms.IntegerField(required=False, min_value=1, label="At random", help_text="How many.")
    seed = forms.CharField(required=False, max_length=100, help_text="Any text, for the draw.")
    ids = forms.CharField(
        required=False,
        max_length=MOST_IDS,
        widget=forms.Textarea(attrs={"rows": 4}),
        label="These ids",
    )

    order = forms.CharField(
        required=False,
        max_length=100,
        initial=", ".join(candidates.CRITERIA),
        label="Order of priority",
        help_text="The first criterion that takes a sentence counts; criteria without a value take none.",
    )

    def wanted(self) -> candidates.Wanted:
        """Return the criteria that have values, in the stated order; those not named follow."""
        values = self.cleaned_data
        named = values["order"].replace(",", " ").split()
        rest = [name for name in candidates.CRITERIA if name not in named]
        order = [name for name in (*named, *rest) if values.get(name) or name not in candidates.CRITERIA]
        file = values["predictions"]
        scores = candidates.read_scores_in_web(file) if file else {}
        return candidates.Wanted(
            order=order,
            top=values["top"] or 0,
            scores=scores,
            random=values["random"] or 0,
            seed=values["seed"],
            ids=values["ids"].split(),
        )


@page("GET", "POST")
def candidates_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Preview a choice, then make it."""
    project, role = project_for(request, slug, roles.CURATOR)
    form = CandidatesForm(request.POST, request.FILES) if request.method == "POST" else CandidatesForm()
    context: dict[str, Any] = {"form": form, "present": candidates.of_project(project)}
    if form.is_valid():
        preview = request.POST.get("action") != "choose"
        try:
            found = attempt(
                form,
                lambda: candidates.choose(project, form.wanted(), by=person(request), preview=preview),
            )
        except FileRejected as rejected:
            form.add_error("predictions", str(rejected))
            found = None
        if found is not None and not preview:
            messages.info(request, f"{counted(found.rest, 'sentence')} stay beside the candidates.")
            return redirect("candidates", project.slug)
        if found is not None:
            titles = candidates.CRITERIA
            context["rows"] = [(titles[name], n) for name, n in found.by_criterion.items()]
            context["found"] = found
    return render(request, "annotation/candidates.html", project_context(project, role, **context))
