"""Page of a project that chooses which sentences people label."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import candidate_choices, candidates, roles
from annotation.models import CandidateChoice, Project
from annotation.pages.project_page import job_context, project_context, project_for
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.web.body_limits import takes_files
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page

MOST_IDS = 2_000_000  # characters
State = CandidateChoice.State
TITLES: dict[str, str] = {
    State.COUNTING: "Counting what changes",
    State.APPLYING: "Changing the candidates",
    State.RETURNING: "Cancelled, putting the former candidates back",
}


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

    def wanted(self, by: User) -> candidates.Wanted:
        """Return the criteria that have values, in the stated order; those not named follow."""
        values = self.cleaned_data
        named = values["order"].replace(",", " ").split()
        rest = [name for name in candidates.CRITERIA if name not in named]
        order = [name for name in (*named, *rest) if values.get(name) or name not in candidates.CRITERIA]
        file = values["predictions"]
        scores = candidates.read_scores_in_web(file, by) if file else {}
        return candidates.Wanted(
            order=order,
            top=values["top"] or 0,
            scores=scores,
            random=values["random"] or 0,
            seed=values["seed"],
            ids=values["ids"].split(),
        )


@takes_files()
@page("GET", "POST", apply=(), cancel=(), retry=())
def candidates_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Preview a choice, then make it; in large projects jobs do both."""
    project, role = project_for(request, slug, roles.CURATOR)
    latest, by = candidate_choices.latest(project), person(request)
    if (action := request.POST.get("action", "")) in candidate_choices.ACTIONS:
        return _act(request, project, latest, action)
    if request.method == "GET" and getattr(request, "htmx", False):
        shown = {"project": project} | _shown(latest)
        response = render(request, "annotation/_candidate_choice.html", shown)
        if not shown.get("working"):
            response["HX-Refresh"] = "true"
        return response
    sent = request.method == "POST" and action in ("", "preview", "choose")
    form = CandidatesForm(request.POST, request.FILES) if sent else CandidatesForm()
    context: dict[str, Any] = {"form": form, "present": candidates.of_project(project)}
    if form.is_valid():
        preview = action != "choose"
        try:
            found = attempt(form, lambda: _choose(project, form.wanted(by), by, preview=preview))
        except FileRejected as rejected:
            form.add_error("predictions", str(rejected))
            found = None
        if found is not None and not (preview and isinstance(found, candidates.Chosen)):
            if isinstance(found, candidates.Chosen):
                messages.info(request, f"{counted(found.rest, 'sentence')} are not candidates.")
            return redirect("candidates", project.slug)
        if isinstance(found, candidates.Chosen):
            context |= _effect(found)
    if "found" not in context:
        context |= _shown(latest)
    return render(request, "annotation/candidates.html", project_context(project, role, **context))


def _choose(
    project: Project, wanted: candidates.Wanted, by: User, *, preview: bool
) -> candidates.Chosen | CandidateChoice:
    if candidates.is_chosen_at_once(project):
        return candidates.choose(project, wanted, by=by, preview=preview)
    return candidate_choices.request(project, wanted, by=by, at_once=not preview)


def _act(request: HttpRequest, project: Project, latest: CandidateChoice | None, action: str) -> HttpResponse:
    if latest is None:
        raise Http404
    try:
        candidate_choices.ACTIONS[action](latest, by=person(request))
    except DomainError as error:
        messages.error(request, f"{error.detail} {error.hint}".strip())
    return redirect("candidates", project.slug)


def _effect(found: candidates.Chosen) -> dict[str, Any]:
    rows = [(candidates.CRITERIA[name], n) for name, n in found.by_criterion.items()]
    return {"found": found, "rows": rows}


def _shown(choice: CandidateChoice | None) -> dict[str, Any]:
    """Return what the page shows of the latest choice that jobs make."""
    if choice is None or choice.state in (State.DONE, State.CANCELLED):
        return {"taken_back": candidate_choices.failure(choice)} if choice else {}
    context = {"choice": choice} | job_context(candidate_choices.KIND, choice.pk)
    context["failed"] = candidate_choices.has_failed(choice, context["job"])
    context["working"] = choice.state in candidate_choices.WORKING and not context["failed"]
    context["title"] = TITLES.get(choice.state, "")
    if choice.effect:
        context |= _effect(candidates.Chosen(**choice.effect))
    return context
