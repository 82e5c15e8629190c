"""The page of one label: the words that people read when they choose."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.models import OntologyLabel
from annotation.ontology import inventory, label_texts
from annotation.pages.label_text_forms import WordsForm
from annotation.pages.view_helpers import around, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.web.markdown import section_html, to_html
from evalsvc.core.web.views import attempt, page


@page("GET", "POST")
def words(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    label = get_object_or_404(OntologyLabel, project=project, pk=pk)
    form = WordsForm.of(label, request.POST or None)
    if form.is_valid() and request.POST.get("action") != "show":
        kept = attempt(form, lambda: label_texts.set_texts(label, by=person(request), **form.cleaned_data))
        if kept:
            messages.info(request, f"{kept.title}: kept. Annotators see it with their next page.")
            return redirect("ontology", slug)
    text = request.POST.get("definition", label.definition)
    choices = [choice.row for choice in inventory.inventory(project, label.part)]
    after = choices[choices.index(label.pk) + 1 :][:1] if label.pk in choices else []
    told = {"label": label, "form": form, "preview": to_html(text), "unsaved": text != label.definition}
    told |= {"following": after, "section": section_html(project.guideline, label.name, label.title)}
    return render(request, "annotation/ontology_label.html", around(project, role, **told))
