"""Page of one action on the selected sentences: its effect first, then the change."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from rest_framework.exceptions import ValidationError

from annotation import roles
from annotation.adjudication import bulk_actions
from annotation.adjudication.bulk_actions import EXCLUDE, GOLD, INCLUDE, REOPEN, ItemEffect
from annotation.models import Project
from annotation.pages.gold_forms import GoldAnswerForm
from annotation.pages.project_page import project_context, project_for
from annotation.pages.sentence import ExclusionForm
from annotation.pages.sentences import PLACES, STATE_TITLES, USE_TITLES, FilterForm, filters_of
from annotation.reports import item_search
from annotation.testset import Kind
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page

# Button, what is done to one or several, and the words on what follows
ACTIONS: dict[str, tuple[str, str, str]] = {
    REOPEN: (
        "Reopen",
        "reopened",
        "Decided sentences are disputed again, settled ones get one more person. Frozen sets stay the same.",
    ),
    EXCLUDE: (
        "Exclude",
        "excluded",
        "They leave the queue and are not frozen. Their answers stay stored, and you can include them again.",
    ),
    INCLUDE: ("Include again", "included again", "They return to the queue or to their former outcome."),
    GOLD: (
        "Make gold question",
        "added to the gold questions",
        "They leave the queue: answers to them are checked against yours and never count as votes.",
    ),
}

LISTED = 100  # rows of the effect


class SelectionForm(PageForm):
    """The selected sentences; the action needs no more."""

    OTHER_NAMES = ("item", "all", "previewed")

    def values(self) -> dict[str, Any]:
        return {}


class ExcludeAllForm(SelectionForm, ExclusionForm):
    def values(self) -> dict[str, Any]:
        return self.cleaned_data


class GoldAllForm(GoldAnswerForm, SelectionForm):
    """Use and answer of the selected sentences."""


@page(
    "POST",
    names=("action", "do", "item", "all", "previewed", "finding", "reason", "use", "answer", "explains"),
)
def selected(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what an action would do to the selected sentences, or do it."""
    project, role = project_for(request, slug, roles.CURATOR)
    sent, user = request.POST, person(request)
    action = sent.get("action", "")
    if action not in ACTIONS or (action == GOLD and project.kind != Kind.RELATIONS):
        raise ValidationError({"action": f"There is no action {action[:40]!r}. Reload the page."})
    form = _form(action, project, sent if sent.get("do") == "apply" else None)
    back = f"{reverse('sentences', args=[slug])}?{request.GET.urlencode()}"
    keys, more = _all_matching(project, request, action) if sent.get("all") else (_keys(request), False)
    act = partial(bulk_actions.apply, project, keys, action, by=user, found_by=_found_by(request))
    if form.is_valid():
        done = attempt(form, lambda: act(previewed=sent.get("previewed", ""), **form.values()))
        if done is not None:
            messages.info(request, _message(done, ACTIONS[action][1], more=more))
            return redirect(back)
    if sent.get("all") and not keys:
        messages.info(request, f"None of the sentences that match can be {ACTIONS[action][1]}.")
        return redirect(back)
    try:
        effects = bulk_actions.preview(project, keys, action, by=user)
    except DomainError as error:
        messages.info(request, f"{error.detail} {error.hint}".strip())
        return redirect(back)
    context = project_context(
        project,
        role,
        form=form,
        action=action,
        back=back,
        more=more,
        all=bool(sent.get("all")),
        **_effect_context(effects, action),
    )
    return render(request, "annotation/sentences_selected.html", context)


def _all_matching(project: Project, request: HttpRequest, action: str) -> tuple[list[UUID], bool]:
    """Return what the filters in the address find, of what the action can change."""
    form = FilterForm(request.GET, project=project)
    values = form.cleaned_data if form.is_valid() else {}
    filters, order = filters_of(project, request, values), values.get("order", "")
    return item_search.matching(project, filters, action=action, for_user=person(request), order=order)


def _found_by(request: HttpRequest) -> dict[str, str]:
    return {name: str(text) for name, text in request.GET.items() if text and name not in (*PLACES, "order")}


def _keys(request: HttpRequest) -> list[UUID]:
    keys = []
    for text in request.POST.getlist("item"):
        with suppress(ValueError):
            keys.append(UUID(text))
    return keys


def _form(action: str, project: Project, data: Any) -> SelectionForm:
    if action == GOLD:
        return GoldAllForm(data, project=project)
    return ExcludeAllForm(data) if action == EXCLUDE else SelectionForm(data)


def _message(effects: list[ItemEffect], done: str, *, more: bool) -> str:
    """Say how many sentences changed, and why others did not."""
    problems = Counter(effect.problem for effect in effects if effect.problem)
    kept = [f"Not changed: {n:,}. {problem}" for problem, n in problems.most_common()]
    if more:
        kept.append("More may match: select all again to continue.")
    return " ".join([f"{counted(len(effects) - problems.total(), 'sentence')} {done}.", *kept])


def _effect_context(effects: list[ItemEffect], action: str) -> dict[str, Any]:
    title, done, words = ACTIONS[action]
    titles = {**STATE_TITLES, **USE_TITLES}
    rows = []
    for effect in effects:
        now = "gold question" if action == GOLD else titles.get(effect.after, effect.after)
        rows.append((effect.item, titles.get(effect.before, effect.before), now, effect.problem))
    n = sum(not effect.problem for effect in effects)
    return {
        "title": title,
        "done": done,
        "words": words,
        "n": n,
        "n_kept": len(effects) - n,
        "previewed": bulk_actions.digest(effects),
        "groups": Counter(row[1:] for row in rows).most_common(),
        "rows": rows[:LISTED],
        "n_rows": len(rows),
    }
