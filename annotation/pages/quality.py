"""How a curator watches quality: known sentences, predictions on show, pauses, answers set aside."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import BooleanField, Count, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.models import Annotator, Answer, Batch, Item, Mark, Oversight, Project, Suggestion, Vote
from annotation.ontology.inventory import inventory
from annotation.pages import dispute_view, imports
from annotation.pages.quality_forms import (
    KnownForm,
    KnownSentenceForm,
    PredictionsForm,
    QualityForm,
    ReasonForm,
)
from annotation.pages.view_helpers import around, project_for
from annotation.queue import exclusions, gold_questions
from annotation.reports.display_names import called
from annotation.testset import Kind
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.views import attempt, page, row_id

MOST = 200
Forms = dict[str, Any]


@page("GET", "POST")
def quality(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    forms = _forms(request, project)
    if request.method == "POST":
        answer = _acted(request, project, forms)
        if answer is not None:
            return answer
        project.refresh_from_db()
    shown = around(project, role, **forms, **_shown(project))
    return render(request, "annotation/quality.html", shown)


def _forms(request: HttpRequest, project: Project) -> Forms:
    """Each form bound only when it is the one that was sent."""
    sent = request.POST.get("action", "")

    def bound(name: str) -> Any:
        return request.POST if sent == name else None

    files = request.FILES or None
    choices = [(choice.name, choice.title) for choice in inventory(project)]
    return {
        # a copy: what does not fit must not show as if it stood
        "settings": QualityForm(bound("settings"), instance=Project.objects.get(pk=project.pk)),
        "known_file": KnownForm(bound("known_file"), files, kind=project.kind, prefix="k"),
        "known_one": KnownSentenceForm(bound("known_one"), choices=choices, prefix="one"),
        "predictions": PredictionsForm(bound("predictions"), files, kind="", prefix="p"),
    }


def _acted(request: HttpRequest, project: Project, forms: Forms) -> HttpResponse | None:
    """What to go on with, or None when a form has to be shown again."""
    action = request.POST.get("action", "")
    if action == "work":
        _back_to_work(request, project)
        return redirect("project-quality", project.slug)
    form = forms.get(action)
    if form is None or not form.is_valid():
        return None
    if action in ("known_file", "predictions"):
        batch = _received(request, project, form, action)
        return redirect("import", batch.pk) if batch else None
    verb = {"settings": _settings, "known_one": _known_one}[action]
    said = attempt(form, lambda: verb(request, project, form), "sentence")
    if said:
        messages.info(request, said)
    return redirect("project-quality", project.slug) if said else None


def _received(request: HttpRequest, project: Project, form: BaseForm, action: str) -> Batch | None:
    what = Batch.What.ITEMS if action == "known_file" else Batch.What.SUGGESTIONS
    options = ("known",) if action == "known_file" else ()
    told: dict[str, Any] = {"what": what, "options": options, "project": project}
    return attempt(form, lambda: imports.receive(request, form.cleaned_data, **told), "upload")


def _settings(request: HttpRequest, project: Project, form: BaseForm) -> str:
    gold_questions.set_quality_options(project, by=person(request), **form.cleaned_data)
    return "Changed. It holds from the next sentence that is handed out."


def _known_one(request: HttpRequest, project: Project, form: BaseForm) -> str:
    wanted = form.cleaned_data
    item = project.items.present().filter(external_id=wanted["sentence"].strip()).first()
    if item is None:
        raise DomainError(
            "unknown_id", "No sentence of this project has that id.", hint="Ids are those of the file.",
            field="sentence",
        )  # fmt: skip
    payload = {"spans": [], "relations": wanted["answer"]}
    told = {"use": wanted["use"], "explains": wanted["explains"], "by": person(request)}
    gold_questions.make_gold_question(item, payload=payload, **told)
    return f"{item.external_id} has a known answer now, and is no part of the work."


def _back_to_work(request: HttpRequest, project: Project) -> None:
    pk = request.POST.get("item", "")
    item = get_object_or_404(Item, project=project, pk=row_id(pk))
    gold_questions.make_ordinary_item(item, by=person(request))
    messages.info(request, f"{item.external_id} is work like any other again.")


def _shown(project: Project) -> dict[str, Any]:
    items = project.items.present().exclude(use="").select_related("known").order_by("use", "rank")
    marks = items.annotate(
        tried=Count("marks"), passed=Count("marks", filter=Q(marks__right=True)), touched=Count("votes")
    )
    choices, words = dispute_view.choices_of(project), called(project)
    uses = dict(items.order_by().values_list("use").annotate(n=Count("pk")))
    suggestions = Suggestion.objects.filter(item__in=project.items.live())
    return {
        "uses": {use: uses.get(use, 0) for use in (Item.Use.QUALIFY, Item.Use.CHECK)},
        "known_items": [(item, dispute_view.shown(item.known.payload, choices)) for item in marks[:MOST]],
        "n_known": sum(uses.values()),
        "picks_sentences": project.kind == Kind.RELATIONS,
        "n_suggestions": suggestions.count(),
        "n_sentences": project.items.live().count(),
        "shown_votes": Vote.objects.filter(item__project=project, shown__isnull=False).count(),
        "people": [(who, words[who.name]) for who in annotators(project)[:MOST]],
        "n_people": Annotator.objects.filter(project=project).count(),
        "paused": Annotator.objects.filter(project=project, paused_at__isnull=False).count(),
    }


def _counted(rows: QuerySet[Any]) -> Any:
    """How many of these rows are an annotator's: each table on its own, so that none multiplies another."""
    own = rows.filter(annotator=OuterRef("pk")).order_by().values("annotator")
    return Coalesce(Subquery(own.annotate(n=Count("pk")).values("n")), 0)


def annotators(project: Project) -> QuerySet[Annotator]:
    """Those with an account first, then by number of answers."""
    return (
        Annotator.objects.filter(project=project)
        .select_related("user")
        .annotate(
            imported=ExpressionWrapper(Q(user=None), output_field=BooleanField()),
            n=_counted(Answer.objects.all()),
            tried=_counted(Mark.objects.all()),
            passed=_counted(Mark.objects.filter(right=True)),
        )
        .order_by("imported", "-n", "name")
    )


@page("GET", "POST")
def annotator(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One annotator: what they did, and whether it counts."""
    project, role = project_for(request, slug, roles.CURATOR)
    who = get_object_or_404(annotators(project), pk=pk)
    sent = request.POST.get("action", "")
    form = ReasonForm(request.POST or None)
    if form.is_valid() and _decided(request, who, sent, form):
        return redirect("annotator", slug, pk)
    skips = Vote.objects.filter(annotator=who, act=Vote.Act.SKIP).count()
    shown = around(
        project,
        role,
        who=who,
        called=called(project)[who.name],
        form=form,
        sent=sent,
        skips=skips,
        aside=who.answers.filter(set_aside=True).count(),
        marks=Mark.objects.filter(annotator=who).select_related("item").order_by("-pk")[:20],
        log=Oversight.objects.filter(annotator=who).select_related("by").order_by("-pk"),
    )
    return render(request, "annotation/annotator.html", shown)


def _decided(request: HttpRequest, who: Annotator, action: str, form: ReasonForm) -> bool:
    by, reason, name = person(request), form.cleaned_data["reason"], called(who.project)[who.name]
    verbs: dict[str, Any] = {
        "pause": gold_questions.pause,
        "resume": gold_questions.resume,
        "set-aside": exclusions.exclude_annotator,
        "put-back": exclusions.include_annotator,
    }
    said = {
        "pause": f"{name} is paused and gets nothing new; what they held went back.",
        "resume": f"{name} can go on.",
        "set-aside": f"No answer of {name} counts any more. What they decided is decided anew.",
        "put-back": f"The answers of {name} count again.",
    }
    if action not in verbs:
        return False
    done = attempt(form, lambda: (verbs[action](who, by=by, reason=reason), True)[1], "reason")
    if done:
        messages.info(request, said[action])
    return bool(done)
