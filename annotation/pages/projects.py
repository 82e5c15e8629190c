"""Project pages: the list, a new project and the overview."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import OuterRef, Q, Subquery, Sum, Value
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import candidate_choices, projects, roles
from annotation.adjudication import unanswerable_items
from annotation.consensus import effects
from annotation.consensus.rules import Rules
from annotation.freezing import builder
from annotation.models import Batch, Item, ItemCount, Lease, Member, Policy, Project
from annotation.models.project import RULE_TITLES
from annotation.pages.import_forms import KINDS
from annotation.pages.my_work import my_work_page
from annotation.pages.project_page import (
    ActionForm,
    checklist,
    next_step,
    project_context,
    project_for,
    submit_or_show,
)
from annotation.reports import project_stats, remarks
from annotation.reports.vote_figures import figures_of
from annotation.testset import Kind
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.markdown import MAX_LENGTH, to_html
from evalsvc.core.web.views import attempt, page, page_of, submit, submitted

PER_PAGE = 50
NOT_A_NUMBER = {"invalid": "Enter a whole number."}
POLICIES = [
    (
        Policy.MAJORITY,
        "majority: a label needs more than half of the answers, N/A all of them; else an adjudicator decides",
    ),
    (
        Policy.MAJORITY_NA,
        f"{RULE_TITLES[Policy.MAJORITY_NA]}: the same, but N/A can also win with more than half",
    ),
]
STATE_COLOURS = {
    Item.State.SETTLED: "f1",
    Item.State.ADJUDICATED: "f3",
    Item.State.DISPUTED: "f2",
    Item.State.UNUSABLE: "f5",
    Item.State.OPEN: "f0",
}


class ProjectForm(PageForm):
    title = forms.CharField(
        max_length=120, help_text="Shown to annotators above the sentence, for example: Harbour news."
    )
    kind = forms.ChoiceField(choices=KINDS, initial=Kind.RELATIONS, widget=forms.RadioSelect)
    k = forms.IntegerField(
        label="Answers per sentence",
        min_value=1,
        max_value=projects.MAX_K,
        error_messages=NOT_A_NUMBER,
        initial=4,
        help_text="Number of people who answer each sentence. Without a majority, an adjudicator decides.",
    )
    policy = forms.ChoiceField(
        label="Rule",
        required=False,
        choices=[("", "as usual for the kind: majority for relations, else also for N/A"), *POLICIES],
        widget=forms.RadioSelect,
    )
    guideline = forms.CharField(
        required=False,
        max_length=MAX_LENGTH,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Optional, in Markdown. Shown beside the sentence until a label is focused.",
    )


class RuleForm(ActionForm):
    k = forms.IntegerField(
        label="Answers per sentence", min_value=1, max_value=projects.MAX_K, error_messages=NOT_A_NUMBER
    )
    reopens = forms.BooleanField(
        label="Ask about decided sentences, too",
        required=False,
        help_text="Undoes all decisions, so that with more answers per sentence all come: those that do not"
        " would tell annotators what was disputed. Excluded sentences stay excluded.",
    )
    policy = forms.ChoiceField(label="Rule", choices=POLICIES, widget=forms.RadioSelect)

    spans_may_overlap = forms.BooleanField(
        label="Spans may overlap",
        required=False,
        help_text="For nested entities. Otherwise the form rejects a span that overlaps another one.",
    )
    by_sentence = forms.BooleanField(
        label="One sentence at a time",
        required=False,
        help_text="Annotators see each text sentence by sentence, and submit it after the last one.",
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        names = ("k", "policy", "spans_may_overlap", "by_sentence")
        super().__init__(*args, initial={name: getattr(project, name) for name in names}, **kwargs)
        if project.kind == Kind.RELATIONS:
            del self.fields["spans_may_overlap"], self.fields["by_sentence"]
        n = projects.annotator_count(project)
        people = "member" if n == 1 else "members"
        self.fields["k"].help_text = (
            f"{n} can label."
            if n >= project.k
            else f"Each sentence needs {project.k} answers, but only {n} {people} can label. "
            f"Add annotators, or reduce the number to {max(n, 1)}."
        )

    def apply(self, project: Project, *, by: User) -> str:
        values = self.cleaned_data
        k, policy = values["k"], values["policy"]
        if k != project.k or values["reopens"]:
            projects.set_k(project, k=k, reopens=values["reopens"], by=by)
        if policy != project.policy:
            projects.set_policy(project, policy=policy, by=by)
        if (may_overlap := values.get("spans_may_overlap", False)) != project.spans_may_overlap:
            projects.set_overlap(project, may_overlap=may_overlap, by=by)
        if (by_sentence := values.get("by_sentence", False)) != project.by_sentence:
            projects.set_by_sentence(project, by_sentence=by_sentence, by=by)
        return ""


class TitleForm(PageForm):
    title = forms.CharField(max_length=120, help_text="The address of the project stays.")


def may_organise(user: User) -> bool:
    return user.is_superuser or user.may_organise


def _items(which: Q = Q()) -> Coalesce:  # noqa: B008
    """Count a project's items of a kind in a subquery."""
    live = ItemCount.objects.filter(which, batch__project=OuterRef("pk"), use="")
    of_project = live.filter(batch__state=Batch.State.DONE).order_by().values("batch__project")
    return Coalesce(Subquery(of_project.annotate(total=Sum("n")).values("total")), 0)


@page()
def index(request: HttpRequest) -> HttpResponse:
    user = person(request)
    # annotators could read others’ answers from counts that follow from them, and from that of sentences,
    # beside their own total, how many checks there are
    member = Member.objects.filter(project=OuterRef("pk"), user=user)
    archived = roles.visible_projects(user).filter(state=Project.State.ARCHIVED)
    shows_archived = request.GET.get("state") == Project.State.ARCHIVED
    listed = (archived if shows_archived else roles.listed_projects(user)).annotate(
        n=_items(),
        n_ended=_items(~Q(state=Item.State.OPEN)),
        n_disputed=_items(Q(state=Item.State.DISPUTED)),
        role=Value(roles.CURATOR.value) if user.is_superuser else Subquery(member.values("role")),
    )
    pages = page_of(request, listed.order_by("-created_at", "pk"), size=PER_PAGE)
    shown = [
        (project, project.role in roles.MAY_OVERSEE, roles.reads_outcomes(project, project.role))
        for project in pages
    ]
    context = {"projects": shown, "pages": pages, "organises": may_organise(user)}
    context |= {"shows_archived": shows_archived, "n_archived": archived.count()}
    context["anchor"] = "&state=archived" if shows_archived else ""
    return render(request, "annotation/projects.html", context)


@page("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    roles.require_organiser(person(request))
    form = ProjectForm(request.POST or None)
    if form.is_valid():
        values = form.cleaned_data
        project = attempt(form, lambda: projects.create(by=person(request), **values), "title")
        if project:
            return redirect("project-import", project.slug)
    return render(request, "annotation/project_new.html", {"form": form})


@page("GET", "POST", open=(), close=(), archive=())
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the project, or to annotators their own work in it."""
    # whatever a form holds: the effect of a rule counts sentences that annotators may not count
    project, role = project_for(request, slug, *([roles.CURATOR] if request.method == "POST" else []))
    form = RuleForm(request.POST if "k" in request.POST else None, project=project)
    title_form = TitleForm(*submitted(request, "rename")[:1], initial={"title": project.title})
    if submit(request, title_form, partial(_rename, project, title_form, by=person(request)), "title"):
        return redirect("project", slug)
    problem = None
    if request.method == "POST" and not title_form.is_bound:
        try:
            if _act(request, project, form):
                return redirect("project", slug)
        except Conflict as conflict:
            problem = conflict
    if role not in roles.MAY_OVERSEE:
        return my_work_page(request, project, role)
    context = _overview_context(project, role) | {"form": form, "title_form": title_form, "problem": problem}
    context["stuck"] = candidate_choices.stuck_in(project)
    return render(request, "annotation/project.html", context, status=problem.status if problem else 200)


def _rename(project: Project, form: TitleForm, *, by: User) -> str:
    projects.rename(project, title=form.cleaned_data["title"], by=by)
    return "Project renamed."


def _act(request: HttpRequest, project: Project, form: RuleForm) -> bool:
    """Open, close, or change the rule; return False if that failed."""
    user, action = person(request), request.POST.get("action")
    if action == "open":
        projects.open_for_work(project, by=user)
        messages.info(request, "Project opened. Annotators can label.")
    elif action == "archive":
        projects.archive(project, by=user)
        messages.info(request, "Project archived. Its page, answers and test sets stay.")
    elif action == "close":
        projects.close(project, by=user)
        messages.info(
            request, "Project closed. No new sentences are handed out; disputes can still be decided."
        )
    else:
        return submit_or_show(request, form, project, partial(form.apply, by=user))
    return True


def state_counts(project: Project, role: str) -> dict[str, int]:
    """Count the sentences by state, all, and the unanswerable ones."""
    by_state = project_stats.states_for(project, role)
    decides = role in roles.MAY_DECIDE
    unanswerable = unanswerable_items.unanswerable(project).count() if decides else 0
    return {"all": sum(by_state.values()), "unanswerable": unanswerable} | by_state


def _overview_context(project: Project, role: str) -> dict[str, Any]:
    counts = state_counts(project, role)
    limits = builder.answers_per_item(project)
    reads_label_counts = roles.reads_label_counts(project, role)
    settled = builder.settled_by_label_count(project) if reads_label_counts else {}
    steps = checklist(project, counts) if role == roles.CURATOR else []
    figures = figures_of(project)
    return project_context(
        project,
        role,
        remarks=remarks.remarks(project).count() if role in roles.MAY_DECIDE else 0,
        counts=counts,
        ended=counts["all"] - counts.get("open", 0),
        bars=_state_bars(counts),
        bars_title=", ".join(f"{counts[state]:,} {state}" for state in STATE_COLOURS if state in counts),
        answers=figures.ready("stored_answers"),
        answers_each=builder.range_text(limits),
        varying=limits[0] != limits[1],
        needs_answers=counts.get("open") or not counts["all"],
        split=", ".join(f"{title}: {n:,}" for title, n in settled.items()),
        changes=effects.other_policy_changes(project) if reads_label_counts else None,
        other=RULE_TITLES[Rules(project).other_policy],
        steps=steps,
        next_step=next_step(steps),
        can_label=projects.annotator_count(project),
        reserved=Lease.objects.filter(ending="", annotator__project=project).count(),
        batches=project.batches.order_by("-pk")[:5],
        sets=project.test_sets.order_by("-pk")[:6],
        guideline=to_html(project.guideline),
    )


def _state_bars(counts: dict[str, int]) -> list[dict[str, Any]]:
    """Return the parts of a bar 600 wide, one per state."""
    bars, x = [], 0.0
    for state, colour in STATE_COLOURS.items():
        n = counts.get(state, 0)
        width = round(600 * n / counts["all"], 2) if counts["all"] else 0
        bars.append({"state": state, "class": colour, "x": round(x, 2), "width": width, "n": n})
        x += width
    return bars
