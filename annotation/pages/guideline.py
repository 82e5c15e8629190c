"""Pages of a project's guideline with its versions, and of the project's log."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render

from annotation import projects, roles
from annotation.models import Project
from annotation.ontology import guideline_versions
from annotation.ontology.guideline_versions import Version
from annotation.pages.project_page import (
    ActionForm,
    choices_by_name,
    project_context,
    project_for,
    submit_or_show,
)
from annotation.reports.vote_figures import figures_of
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.activity import pages as activity
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.markdown import MAX_LENGTH, to_html
from evalsvc.core.web.views import page, submitted


class GuidelineForm(PageForm):
    guideline = forms.CharField(
        required=False,
        max_length=MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "true"}),
        help_text="Markdown: # headings, **bold**, lists, tables, links. HTML is shown as text.",
    )
    na_means = forms.CharField(
        label="Meaning of N/A",
        max_length=200,
        help_text="Shown beside N/A, for example: the sentence states none of these relations.",
    )


class AskAgainForm(ActionForm):
    """Ask the answers under an earlier version again, or count them again."""

    version = forms.TypedChoiceField(coerce=int)
    labels = forms.MultipleChoiceField(
        required=False,
        help_text="Only answers with one of these: what the change is about. None: all answers.",
    )
    again = forms.ChoiceField(
        label="What", choices=[("yes", "ask these answers again"), ("no", "count these answers again")]
    )

    def __init__(self, *args: Any, numbers: list[int], names: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["version"].choices = [(n, f"version {n}") for n in numbers]  # type: ignore[attr-defined]
        self.fields["labels"].choices = [*names.items()]  # type: ignore[attr-defined]

    def apply(self, project: Project, *, by: User) -> str:
        values = self.cleaned_data
        again, number = values["again"] == "yes", values["version"]
        guideline_versions.ask_again(project, number, labels=values["labels"], again=again, by=by)
        what = "asked again" if again else "counted again"
        return f"Answers under version {number} are {what}."


@page("GET", "POST")
def guideline(request: HttpRequest, slug: str) -> HttpResponse:
    """Show, preview or save the guideline; ask answers under an earlier version again."""
    project, role = project_for(request, slug, roles.CURATOR)
    user = person(request)
    figures = figures_of(project)
    versions = guideline_versions.versions(project, answers=figures.ready("guidelines"), by=user)
    earlier = [version.number for version in versions[1:]]
    titles = {name: choice.title for name, choice in choices_by_name(project).items()}
    again_form = AskAgainForm(*submitted(request, "again"), numbers=earlier, names=titles)
    if submit_or_show(request, again_form, project, lambda copy: again_form.apply(copy, by=user)):
        return redirect("project-guideline", slug)
    stored = {"guideline": project.guideline, "na_means": project.na_means}
    about_text = request.method == "POST" and not again_form.is_bound
    compared = _compared(request, versions)
    if compared and compared[0].number != project.guideline_version:
        stored["guideline"] = compared[0].text
    form = GuidelineForm(request.POST if about_text else None, initial=stored)
    if form.is_valid() and request.POST.get("action") != "show":
        projects.set_guideline(project, by=user, **form.cleaned_data)
        messages.info(request, "Guideline saved. Annotators see it when they reload the page.")
        return redirect("project-guideline", slug)
    text = request.POST.get("guideline", stored["guideline"])
    context = project_context(
        project,
        role,
        form=form,
        preview=to_html(text),
        unsaved=text != project.guideline,
        versions=[(version, to_html(version.text)) for version in versions],
        earlier=earlier,
        compared=compared,
        differences=guideline_versions.differences(*(each.text for each in compared)) if compared else [],
        again_form=again_form,
        computed_at=figures.computed_at,
    )
    return render(request, "annotation/guideline.html", context)


def _compared(request: HttpRequest, versions: list[Version]) -> tuple[Version, Version] | None:
    """Return the version in the address and the one to compare it with, by default the current one."""
    by_number = {str(version.number): version for version in versions}
    before = by_number.get(request.GET.get("version", ""))
    return (before, by_number.get(request.GET.get("with", ""), versions[0])) if before else None


@page()
def log(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    context = project_context(project, role, **activity.log_context(request, project))
    return render(request, "annotation/log.html", context)


@page()
def log_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    project, _ = project_for(request, slug, roles.CURATOR)
    return activity.log_csv(project, slug)
