"""Page of a plan: steps on the labels, what they would do, and all of them at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from django import forms
from django.contrib import messages
from django.db.models import Max
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render

from annotation import roles
from annotation.models import Item, OntologyStep, PlanDraft, Project, Vote
from annotation.ontology import drafts, plans
from annotation.ontology.labels import label_titles
from annotation.ontology.plans import PlannedStep
from annotation.pages.ontology import MAX_NAME, split_names
from annotation.pages.project_page import project_context, project_for
from annotation.reports.plan_effects import LabelChange, PlanEffects, effects_of, figures
from annotation.reports.step_effects import in_words
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.whole_numbers import whole_number_of
from evalsvc.core.web.formatting import counted, signed
from evalsvc.core.web.forms import PageForm, add_form_error
from evalsvc.core.web.views import page

MOST_LISTED = 20
STOP_POLLING = 286  # to htmx
ZERO, LONGEST = 145, 95  # place of zero, width of the longest bar; its figure needs about 45
VERBS = {"add": "Add", "merge": "Merge", "delete": "Delete", "rename": "Rename", "split": "Split"}
NOUNS = {"merge": "merge", "delete": "deletion", "rename": "renaming", "split": "split"}


class SelectedNames(forms.MultipleChoiceField):
    """Names of labels, which the plan checks: earlier steps of it may have made them."""

    def valid_value(self, value: Any) -> bool:
        return len(str(value)) <= MAX_NAME


class PlanForm(PageForm):
    """The steps so far as JSON, and a step to add or to edit."""

    OTHER_NAMES = ("action",)
    plan = forms.CharField(
        label="Steps as JSON",
        required=False,
        max_length=200_000,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "class": "field mono"}),
        help_text=f"All steps of the plan; they can be kept as a file. For example {plans.EXAMPLE}",
    )
    operation = forms.ChoiceField(label="Step", required=False, choices=[*VERBS.items()])
    sources = SelectedNames(label="Labels", required=False, widget=forms.CheckboxSelectMultiple)
    target = forms.CharField(
        label="New name",
        required=False,
        max_length=20 * MAX_NAME,
        help_text="The name after a merge or renaming, or of a label to add. "
        "For a split two or more, separated by semicolons.",
    )

    draft = forms.IntegerField(required=False, widget=forms.HiddenInput)
    stamp = forms.CharField(required=False, widget=forms.HiddenInput)

    def requested(self, draft: PlanDraft, action: str) -> tuple[list[PlannedStep], int]:
        """Return the steps after the pressed button, and the version of the draft that they replace.

        “mine” and “theirs” answer a clash, with the version that it has shown.
        """
        what, _, number = action.partition(" ")
        if what == "theirs":
            return drafts.steps_of(draft), draft.version
        if what == "discard":
            return [], self.cleaned_data["draft"] or 0
        text = self.cleaned_data["plan"].strip()
        steps = edited(self, plans.read_plan(text) if text not in ("", "[]") else [], action)
        shown = whole_number_of(number) if what == "mine" else None
        return steps, self.cleaned_data["draft"] or 0 if shown is None else shown

    def new_step(self) -> PlannedStep:
        values = self.cleaned_data
        operation, target = values["operation"] or "add", values["target"]
        step = {"operation": operation, "sources": values["sources"] if operation != "add" else []}
        step |= {"targets": split_names(target)} if operation == "split" else {"target": target}
        return plans.planned([step])[0]


def as_json(steps: Sequence[PlannedStep]) -> str:
    """Return a plan as `read_plan` takes it, a step a line."""
    rows = ",\n".join(msgspec.json.encode(row).decode() for row in drafts.builtins_of(steps))
    return f"[\n{rows}\n]" if steps else ""


def pressed(action: str) -> tuple[str, int]:
    """Return what a button does, and to which step, from 0."""
    what, _, number = action.partition(" ")
    return what, (whole_number_of(number) or 0) - 1


def edited(form: PlanForm, steps: list[PlannedStep], action: str) -> list[PlannedStep]:
    """Return the steps after the pressed button: a step added, saved, moved up or removed."""
    what, at = pressed(action)
    if what == "add":
        return [*steps, form.new_step()]
    if what == "save" and 0 <= at < len(steps):
        return [*steps[:at], form.new_step(), *steps[at + 1 :]]
    if what == "remove" and 0 <= at < len(steps):
        return steps[:at] + steps[at + 1 :]
    if what == "up" and 0 < at < len(steps):
        steps[at - 1 : at + 1] = [steps[at], steps[at - 1]]
    return steps


@page("GET", "POST")
def plan_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Put a plan together, show its effect, and make its steps."""
    project, role = project_for(request, slug, roles.CURATOR)
    if "since" in request.GET:
        return _newer_answers(request, project)
    user, action = person(request), request.POST.get("action", "")
    last_vote = Vote.objects.aggregate(last=Max("pk"))["last"] or 0
    form, draft = PlanForm(request.POST or None), drafts.draft_of(project, by=user)
    steps, effects, failed, clash, seen = drafts.steps_of(draft), None, 0, None, draft.version
    if form.is_valid():
        seen = form.cleaned_data["draft"] or 0
        try:
            steps, seen = form.requested(draft, action)
            draft = drafts.save(project, steps, seen=seen, by=user)
            seen = draft.version
            if action == "apply":
                return _applied(request, project, draft, stamp=form.cleaned_data["stamp"], by=user)
        except drafts.DraftChanged as error:
            clash = error.draft
        except DomainError as error:
            failed = error.extra.get("step", 0)
            add_form_error(form, error, "plan" if not steps else "target")
        if steps and not clash and not failed:
            effects, failed = _effects(form, project, steps, by=user)
    titles = label_titles(project)
    labels = effects.after.labels if effects else titles
    titles |= labels
    shown: dict[str, Any] = {"draft": seen, "stamp": project.inventory_stamp}
    editing = _edited_step(form, action, steps)
    if editing is not None:
        shown |= values_of(steps[editing])
        names = plans.stages(project, steps[:editing])[-1][1]
        labels = {name: titles.get(name, name) for name in sorted(names, key=[*titles, *names].index)}
    context = {
        "form": _next_form(form, request.POST, steps, labels, shown),
        "errors": form.errors,
        "editing": 0 if editing is None else editing + 1,
        "steps": _rows(steps, titles, failed, effects),
        "draft": draft,
        "clash": clash,
        "theirs": [described(step, titles) for step in drafts.steps_of(clash)] if clash else [],
        "effects": effects,
        "past": past_plans(project),
        "last_vote": last_vote,
        **(_effect_context(project, effects) if effects else {}),
    }
    return render(request, "annotation/ontology_plan.html", project_context(project, role, **context))


def _rows(
    steps: Sequence[PlannedStep], titles: dict[str, str], failed: int, effects: PlanEffects | None
) -> list[tuple[int, str, bool, str]]:
    """Return number and text of each step, whether it cannot be made, and its effect in words."""
    by_step = effects.steps if effects else None
    return [
        (at + 1, described(step, titles), at + 1 == failed, in_words(by_step.steps[at]) if by_step else "")
        for at, step in enumerate(steps)
    ]


def _newer_answers(request: HttpRequest, project: Project) -> HttpResponse:
    """Tell a page with figures how many answers came since; once there are some, it stops asking."""
    since = whole_number_of(request.GET["since"], digits=18)
    votes = Vote.objects.filter(annotator__project=project, act=Vote.Act.ANSWER, pk__gt=since or 0)
    count = votes.count() if since is not None else 0
    status = STOP_POLLING if count else 200
    return render(request, "annotation/_newer_answers.html", {"count": count}, status=status)


def _edited_step(form: PlanForm, action: str, steps: Sequence[PlannedStep]) -> int | None:
    """Return the step that the form shows: one to edit, or that could not be saved."""
    what, at = pressed(action)
    shown = what == "edit" or (what == "save" and form.errors)
    return at if shown and 0 <= at < len(steps) else None


def values_of(step: PlannedStep) -> dict[str, Any]:
    """Return a step as the form takes it."""
    target = "; ".join(step.targets) or step.target
    return {"operation": step.operation, "sources": [*step.sources], "target": target}


def _effects(
    form: PlanForm, project: Project, steps: Sequence[PlannedStep], *, by: User
) -> tuple[PlanEffects | None, int]:
    """Return the effect of the steps, or the number of the one that cannot be made."""
    try:
        return effects_of(project, steps, by=by), 0
    except DomainError as error:
        add_form_error(form, error, "target")
        return None, error.extra.get("step", 0)


def _next_form(
    form: PlanForm,
    sent: QueryDict,
    steps: Sequence[PlannedStep],
    labels: Mapping[str, str],
    values: dict[str, Any],
) -> PlanForm:
    """Return the form with these values; what was sent stays if it has errors."""
    kept: dict[str, Any] = {}
    if form.errors:
        kept = {name: sent.get(name) for name in ("operation", "target", "plan")}
        kept["sources"] = sent.getlist("sources")
    shown = PlanForm(initial=values | kept | ({"plan": as_json(steps)} if steps else {}))
    shown.fields["sources"].choices = [*labels.items()]  # type: ignore[attr-defined]
    return shown


def _applied(
    request: HttpRequest, project: Project, draft: PlanDraft, *, stamp: str, by: User
) -> HttpResponse:
    first = drafts.make(project, draft, stamp=stamp, by=by)
    undo = f" Undo it as the plan from step {first}." if first else ""
    messages.info(request, f"{counted(len(draft.steps), 'step')} made; the answers are replayed.{undo}")
    return redirect("ontology-plan", project.slug)


def described(step: PlannedStep | OntologyStep, titles: dict[str, str]) -> str:
    """Return a step as a sentence without a full stop."""
    sources = ", ".join(titles.get(name, name) for name in step.sources)
    targets = [titles.get(name, name) for name in step.targets] or [titles.get(step.target, step.target)]
    link = {"merge": " into ", "rename": " to ", "split": " into "}.get(step.operation, "")
    after = " or ".join(targets) if step.operation == "split" else targets[0]
    return f"{VERBS[step.operation]} {sources}{link}{after}"


def past_plans(project: Project) -> list[dict[str, Any]]:
    """Return the plans made so far, the newest first; a step made alone is one."""
    by_plan: dict[int, list[OntologyStep]] = {}
    for step in project.steps.select_related("by"):
        by_plan.setdefault(step.plan or step.number, []).append(step)
    rows = []
    for number, steps in reversed(by_plan.items()):
        kinds = Counter(step.operation for step in steps)
        active = sum(step.undone_at is None for step in steps)
        state = (
            "in use" if active == len(steps) else f"{active} of {len(steps)} in use" if active else "undone"
        )
        one = described(steps[0], {}) if len(steps) == 1 else ""
        what = one or ", ".join(counted(n, NOUNS[kind]) for kind, n in kinds.items())
        rows.append({"number": number, "first": steps[0], "what": what, "state": state, "active": active})
    return rows


# ---- before and after -----------------------------------------------------------------------------
def _effect_context(project: Project, effects: PlanEffects) -> dict[str, Any]:
    settles, opens = effects.moved(waits=False), effects.moved(waits=True)
    widest = max((abs(row.gain) for row in effects.changed_labels()), default=1) or 1
    return {
        "finding": finding(effects, settled=len(settles), opened=len(opens)),
        "figures": figures(effects),
        "changes": [_bar(row, widest) for row in effects.changed_labels()],
        "lists": [
            ("no longer wait for answers or a decision", len(settles), _items(settles)),
            ("wait for answers or a decision", len(opens), _items(opens)),
        ],
    }


def finding(effects: PlanEffects, *, settled: int, opened: int) -> str:
    """Return what a plan would do, in two sentences."""
    before, after = len(effects.before.labels), len(effects.after.labels)
    labels = f"{after} of {before} labels" if after < before else f"{after} labels instead of {before}"
    change = f"leaves {labels}" if after != before else f"leaves the number of labels at {after}"
    sampled = effects.effect.items < effects.effect.of
    sample = f"Of {counted(effects.effect.items, 'sentence')} looked at, it" if sampled else "It"
    lapsed = effects.effect.decisions_lapsed
    lapses = f"{counted(lapsed, 'decision')} {'lapses' if lapsed == 1 else 'lapse'}"
    moved = f"settles {counted(settled, 'sentence')}, opens {opened:,}"
    return f"This plan {change}. {sample} {moved}; {lapses}."


def _bar(row: LabelChange, widest: int) -> dict[str, Any]:
    width = round(LONGEST * abs(row.gain) / widest)
    return {
        "row": row,
        "gain": signed(row.gain, digits=0),
        "x": ZERO if row.gain > 0 else ZERO - width,
        "width": width,
        "text_x": ZERO + width + 6 if row.gain > 0 else ZERO - width - 6,
    }


def _items(keys: Sequence[int]) -> list[Item]:
    return list(Item.objects.filter(pk__in=keys[:MOST_LISTED]).order_by("rank"))
