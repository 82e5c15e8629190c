"""Quality pages: gold questions, predictions, pauses and exclusions of annotators."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import BooleanField, Count, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation import roles
from annotation.models import (
    Annotator,
    Answer,
    Batch,
    Item,
    ItemCount,
    Mark,
    Oversight,
    Project,
    Suggestion,
    Vote,
)
from annotation.pages.gold_forms import GoldQuestionForm
from annotation.pages.import_forms import FileForm, format_choices, upload_field
from annotation.pages.interval_chart import coefficient, share
from annotation.pages.project_page import (
    ActionForm,
    answer_text,
    label_titles,
    project_context,
    project_for,
    submit_or_show,
)
from annotation.queue import exclusions, pauses, quality_settings, shown_predictions
from annotation.reports import annotator_profile
from annotation.reports.vote_figures import VoteFigures, figures_of
from annotation.roles import display_names
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.body_limits import takes_files
from evalsvc.core.web.formatting import seconds
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import page, row_id, submit, submitted

MAX_LISTED = 200
MAX_ANSWERED = 20
# What a curator can do to an annotator, and the message afterwards
OVERSIGHT: dict[str, tuple[Callable[..., Any], str]] = {
    "pause": (pauses.pause, "{} is paused. Their reserved sentences are available again."),
    "resume": (pauses.resume, "{} can continue."),
    "set-aside": (exclusions.exclude_annotator, "Answers of {} excluded. The outcomes are recomputed."),
    "put-back": (exclusions.include_annotator, "Answers of {} included again. The outcomes are recomputed."),
}


class GoldQuestionFileForm(FileForm):
    content = Batch.What.ITEMS
    options = {Batch.What.ITEMS: ("known",)}
    known = forms.ChoiceField(
        label="Use",
        choices=[
            (Item.Use.QUALIFY, "qualification round, with feedback on each answer"),
            (Item.Use.CHECK, "hidden checks among the other sentences"),
        ],
        initial=Item.Use.QUALIFY,
        widget=forms.RadioSelect,
    )
    upload = upload_field("Sentences with relations or spans on every line; [] means N/A.")


class PredictionsForm(FileForm):
    content = Batch.What.SUGGESTIONS
    upload = upload_field("Predictions by id for sentences of this project. They replace earlier ones.")
    format = forms.ChoiceField(required=False, choices=format_choices("suggestions"))


class QualityForm(ActionForm, forms.ModelForm):
    """Quality settings; `gold_questions` validates their combination."""

    class Meta:
        model = Project
        fields = [
            *("qualifies", "pass_percent", "check_every", "least_checks"),
            *("suggests", "calls_extra", "most_extra"),
        ]
        labels = {
            "qualifies": "Start with a qualification round",
            "pass_percent": "Pass mark in %",
            "check_every": "Sentences per hidden check",
            "least_checks": "Hidden checks before a pause",
            "suggests": "Show predictions as initial answers",
            "calls_extra": "Ask one more person about disputes automatically",
            "most_extra": "Extra people per sentence",
        }
        help_texts = {
            "qualifies": "Annotators get other sentences only after passing. Only this round gives feedback.",
            "pass_percent": "Annotators below it are paused after the round, or after enough hidden checks.",
            "check_every": "0 for none. Shuffle the sentences before the import, or checks stand out.",
            "least_checks": "Nobody is paused for hidden checks before answering this many.",
            "suggests": "People tend to accept predictions. Answers given with one are marked.",
            "calls_extra": "Otherwise adjudicators ask. The person asked may notice that others disagreed.",
            "most_extra": "At most this many beyond the usual number of answers. 0 for none.",
        }

    def apply(self, project: Project, *, by: User) -> str:
        quality_settings.set_quality_options(project, by=by, **self.cleaned_data)
        return "Settings saved. They apply from the next sentence handed out."


class ReasonForm(PageForm):
    reason = forms.CharField(max_length=200)


@takes_files()
@page("GET", "POST", work=("item",))
def quality(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    user = person(request)
    copy = Project.objects.get(pk=project.pk)  # the page must not show a project with invalid values
    files = {
        "known_file": GoldQuestionFileForm(*submitted(request, "known_file"), kind=project.kind, prefix="k"),
        "predictions": PredictionsForm(*submitted(request, "predictions"), prefix="p"),
    }
    forms = {
        "settings": QualityForm(*submitted(request, "settings"), instance=copy),
        "known_one": GoldQuestionForm(*submitted(request, "known_one"), project=project, prefix="one"),
    }
    for file_form in files.values():
        if batch := file_form.receive(project, by=user):
            return redirect("import", batch.pk)
    if any(
        submit(request, form, partial(form.apply, project, by=user), "sentence") for form in forms.values()
    ):
        return redirect("project-quality", slug)
    if request.POST.get("action") == "work":
        item = get_object_or_404(Item, project=project, pk=row_id(request.POST.get("item", "")))
        quality_settings.make_ordinary_item(item, by=user)
        messages.info(request, f"{item.external_id} is no longer a gold question.")
        return redirect("project-quality", slug)
    context = project_context(project, role, **files, **forms, **_quality_context(project))
    return render(request, "annotation/quality.html", context)


def _quality_context(project: Project) -> dict[str, Any]:
    items = project.items.present().exclude(use="").select_related("known").order_by("use", "rank")
    questions = items.annotate(
        tried=_count(Mark.objects.all(), "item"),
        passed=_count(Mark.objects.filter(right=True), "item"),
        touched=Exists(Vote.objects.filter(item=OuterRef("pk"))),
    )
    titles, names, figures = label_titles(project), display_names(project), figures_of(project)
    people = _by_answers(project, figures)
    uses = dict(items.order_by().values_list("use").annotate(n=Count("pk")))
    # counted by import: the items of 1,000,000 predictions take seconds to read
    suggestions = Suggestion.objects.filter(batch__project=project)
    n_suggestions = suggestions.count() - suggestions.filter(item__in=items.order_by()).count()
    return {
        "uses": {use: uses.get(use, 0) for use in (Item.Use.QUALIFY, Item.Use.CHECK)},
        "questions": [(item, answer_text(item.known.payload, titles)) for item in questions[:MAX_LISTED]],
        "n_questions": sum(uses.values()),
        "has_relations": project.kind == Kind.RELATIONS,
        "n_suggestions": n_suggestions,
        "unpredicted_checks": shown_predictions.checks_without_prediction(project),
        "n_sentences": ItemCount.objects.live(project).total(),
        "suggested_votes": figures["suggested"],
        "computed_at": figures.computed_at,
        "people": [(row, names[row.name]) for row in people[:MAX_LISTED]],
        "n_people": len(people),
        "paused": sum(row.paused_at is not None for row in people),
    }


def _count(rows: QuerySet[Any], owner: str = "annotator") -> Any:
    """Count the rows of an annotator or item in a subquery, as joins multiply."""
    own = rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner)
    return Coalesce(Subquery(own.annotate(n=Count("pk")).values("n")), 0)


def annotators(project: Project) -> QuerySet[Annotator]:
    """Return annotators with their gold questions."""
    return (
        Annotator.objects.filter(project=project)
        .select_related("user")
        .annotate(
            imported=ExpressionWrapper(Q(user=None), output_field=BooleanField()),
            tried=_count(Mark.objects.all()),
            passed=_count(Mark.objects.filter(right=True)),
        )
    )


def _by_answers(project: Project, figures: VoteFigures) -> list[Any]:
    """Return annotators with an account first, then by number of answers."""
    rows: list[Any] = list(annotators(project))
    for row in rows:
        row.n = figures["all_answers"].get(row.pk, 0)
    return sorted(rows, key=lambda row: (row.imported, -row.n, row.name))


@page("GET", "POST")
def annotator(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Show, pause, resume, exclude or include an annotator."""
    project, role = project_for(request, slug, roles.CURATOR)
    rows = annotators(project).annotate(n=_count(Answer.objects.all()))
    annotator = get_object_or_404(rows, pk=pk)
    name = display_names(project)[annotator.name]
    action = request.POST.get("action", "")
    form = ReasonForm(request.POST or None)
    if action in OVERSIGHT:
        act, message = OVERSIGHT[action]

        def oversee(project: Project) -> str:
            act(annotator, by=person(request), reason=form.cleaned_data["reason"])
            return message.format(name)

        if submit_or_show(request, form, project, oversee, "reason"):
            return redirect("annotator", slug, pk)
    marks = Mark.objects.filter(annotator=annotator).select_related("item")
    figures, remarks = figures_of(project), annotator_profile.remarks_of(annotator)
    profile = annotator_profile.profile(annotator, for_user=person(request), figures=figures)
    titles = label_titles(project)
    context = project_context(
        project,
        role,
        annotator=annotator,
        display_name=name,
        form=form,
        action=action,
        profile=profile,
        median=seconds(profile.stats.median_seconds),
        rushed=share(profile.stats.rushed),
        labels=[
            (titles.get(use.name, use.name), use, "more" if use.surplus > 0 else "less")
            for use in (*profile.overused, *profile.underused)
        ],
        pairs=[(pair, share(pair.observed), coefficient(pair.value)) for pair in profile.pairs],
        measure={"kappa": "Cohen’s κ", "f1": "F1 of spans"}.get(profile.measure, ""),
        computed_at=figures.computed_at,
        has_relations=project.kind == Kind.RELATIONS,
        marks_name="spans and relations" if project.kind == Kind.JOINT else "spans",
        remarks=remarks[:MAX_ANSWERED],
        n_remarks=remarks.count(),
        skips=Vote.objects.filter(annotator=annotator, act=Vote.Act.SKIP).count(),
        excluded=annotator.answers.filter(set_aside=True).count(),
        marks=marks.order_by("-pk")[:MAX_ANSWERED],
        log=Oversight.objects.filter(annotator=annotator).select_related("by").order_by("-pk"),
    )
    return render(request, "annotation/annotator.html", context)
