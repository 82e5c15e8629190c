"""Projects: the list, a new one, its overview with what to do next, its members."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from annotation import projects, roles
from annotation.adjudication import unanswerable_items
from annotation.consensus import item_state
from annotation.freezing import builder
from annotation.models import Answer, Batch, Item, Member, Project
from annotation.pages import my_work as mine
from annotation.pages.forms import GuidelineForm, MemberForm, ProjectForm, RuleForm
from annotation.pages.setup_checklist import checklist, following
from annotation.pages.view_helpers import around, project_for
from annotation.project_invitations import INVITATION_TARGET
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.markdown import to_html
from evalsvc.core.web.views import attempt, page, row_id

LIVE = Q(items__batch__state=Batch.State.DONE)


@page()
def index(request: HttpRequest) -> HttpResponse:
    mine = (
        roles.visible_projects(person(request))
        .annotate(
            n=Count("items", filter=LIVE, distinct=True),
            n_ended=Count("items", filter=LIVE & ~Q(items__state=Item.State.OPEN), distinct=True),
            n_disputed=Count("items", filter=LIVE & Q(items__state=Item.State.DISPUTED), distinct=True),
        )
        .order_by("-created_at")
    )
    return render(request, "annotation/projects.html", {"projects": mine, "organises": organises(request)})


def organises(request: HttpRequest) -> bool:
    user = person(request)
    return user.is_superuser or user.may_organise


@page("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    roles.require_organiser(person(request))
    form = ProjectForm(request.POST or None)
    if form.is_valid():
        wanted = form.cleaned_data
        made = attempt(form, lambda: projects.create(by=person(request), **wanted), "title")
        if made:
            return redirect("project-import", made.slug)
    return render(request, "annotation/project_new.html", {"form": form})


@page("GET", "POST")
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug)
    form = RuleForm(
        request.POST if "k" in request.POST else None, initial={"k": project.k, "policy": project.policy}
    )
    if role in roles.MAY_OVERSEE:
        form.fields["k"].help_text = _too_few(project)
    problem = None
    if request.method == "POST":
        try:
            if _acted(request, project, form):
                return redirect("project", slug)
        except Conflict as conflict:
            roles.require(project, person(request), roles.CURATOR)
            problem = conflict
    if role not in roles.MAY_OVERSEE:
        return mine.shown(request, project, role)
    shown = _overview(project, role) | {"form": form, "problem": problem}
    return render(request, "annotation/project.html", shown, status=problem.status if problem else 200)


def _acted(request: HttpRequest, project: Project, form: RuleForm) -> bool:
    """Open, close, or change the rule; False when the form has to be shown again."""
    user, action = person(request), request.POST.get("action")
    if action == "open":
        projects.open_for_work(project, by=user)
        messages.info(request, "Open: annotators find it on their page.")
    elif action == "close":
        projects.close(project, by=user)
        messages.info(request, "Closed: nobody gets new sentences. Disputes can still be decided.")
    elif form.is_valid():
        wanted = form.cleaned_data
        return attempt(form, lambda: _rule(project, wanted, user)) is not None
    else:
        return False
    return True


def _too_few(project: Project) -> str:
    """Said where the number of answers is: more are asked for than people could give."""
    able = projects.can_label(project)
    if able >= project.k:
        return f"{able} can label."
    people = "person" if able == 1 else "people"
    told = f"{project.k} answers are asked for, and {able} {people} can label. No sentence would get enough."
    return f"{told} Bring more in, or ask for {max(able, 1)}."


def _rule(project: Project, wanted: dict[str, Any], user: User) -> Project:
    if wanted["k"] != project.k:
        projects.set_k(project, k=wanted["k"], by=user)
    if wanted["policy"] != project.policy:
        projects.set_policy(project, policy=wanted["policy"], by=user)
    return project


def counts(project: Project) -> dict[str, int]:
    """How many sentences are in each state, and in all; of the open ones those that nobody could decide."""
    found = dict(project.items.live().order_by().values_list("state").annotate(n=Count("pk")))
    return {str(state): found.get(state, 0) for state in Item.State.values} | {
        "all": sum(found.values()),
        "passed_on": unanswerable_items.unanswerable(project).count(),
    }


def _overview(project: Project, role: str) -> dict[str, Any]:
    n = counts(project)
    ended, each = n["all"] - n["open"], builder.answers_per_item(project)
    steps = checklist(project, n) if role == roles.CURATOR else []
    return around(
        project,
        role,
        counts=n,
        ended=ended,
        bars=_bars(n),
        answers=Answer.objects.filter(item__project=project, item__batch__state=Batch.State.DONE).count(),
        each=builder.range_text(each),
        wanting=n["open"] or not n["all"],
        several=each[0] != each[1],
        split=", ".join(
            f"{what}: {found:,}" for what, found in builder.settled_by_label_count(project).items()
        ),
        changes=item_state.other_policy_changes(project),
        other="majority-na" if project.policy == "majority" else "majority",
        pending=item_state.is_recomputing(project),
        steps=steps,
        next_step=following(steps),
        can_label=projects.can_label(project),
        batches=project.batches.order_by("-pk")[:5],
        sets=project.test_sets.order_by("-pk")[:6],
        members=project.members.count(),
        guideline=to_html(project.guideline),
    )


def _bars(n: dict[str, int]) -> list[dict[str, Any]]:
    """One bar cut into the four states, 600 wide."""
    bars, x = [], 0.0
    for state, colour in (
        ("settled", "f1"),
        ("adjudicated", "f3"),
        ("disputed", "f2"),
        ("unusable", "f5"),
        ("open", "f0"),
    ):
        width = round(600 * n[state] / n["all"], 2) if n["all"] else 0
        bars.append({"state": state, "class": colour, "x": round(x, 2), "width": width, "n": n[state]})
        x += width
    return bars


@page("GET", "POST")
def guideline(request: HttpRequest, slug: str) -> HttpResponse:
    """The text beside the sentence, as it is written and as annotators will read it."""
    project, role = project_for(request, slug, roles.CURATOR)
    stored = {"guideline": project.guideline, "na_means": project.na_means}
    form = GuidelineForm(request.POST or None, initial=stored)
    if form.is_valid() and request.POST.get("action") != "show":
        projects.set_guideline(project, by=person(request), **form.cleaned_data)
        messages.info(request, "Kept. Annotators see it with their next page.")
        return redirect("project-guideline", slug)
    text = request.POST.get("guideline", project.guideline)
    shown = around(project, role, form=form, preview=to_html(text), unsaved=text != project.guideline)
    return render(request, "annotation/guideline.html", shown)


@page("GET", "POST")
def members(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    removing = request.POST.get("remove")
    form = MemberForm(request.POST if request.method == "POST" and not removing else None)
    if removing:
        _remove(request, project, removing)
        return redirect("project-members", slug)
    if form.is_valid():
        wanted = form.cleaned_data
        users, given = wanted["user"], {"role": wanted["role"], "by": person(request)}
        made = attempt(form, lambda: projects.set_members(project, users=users, **given), "user")
        if made:
            messages.info(request, _greeted(made))
            return redirect("project-members", slug)
    listed = project.members.select_related("user").order_by("role", "user__username")
    able = projects.can_label(project)
    told = {"form": form, "listed": listed, "can_label": able, "missing": project.k - able}
    told |= invitation_panel(INVITATION_TARGET, project)
    return render(request, "annotation/members.html", around(project, role, **told))


def _greeted(made: list[Member]) -> str:
    names = ", ".join(member.user.shown_name for member in made)
    return f"{names} {'is' if len(made) == 1 else 'are'} {made[0].role} here."


def _remove(request: HttpRequest, project: Project, member: str) -> None:
    found = Member.objects.filter(project=project, pk=row_id(member)).first()
    if found:
        projects.remove_member(project, user=found.user, by=person(request))
        messages.info(request, f"{found.user.shown_name} is no member any more. Answers stay.")
