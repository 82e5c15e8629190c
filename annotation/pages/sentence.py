"""Page of a sentence, with its answers and history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import SafeString
from rest_framework.exceptions import ValidationError

from annotation import roles
from annotation.adjudication import decisions, second_readings
from annotation.consensus.rules import Rules
from annotation.models import Answer, Item, KnownAnswer
from annotation.ontology.inventory import inventory
from annotation.pages.gold_forms import gold_form
from annotation.pages.project_page import ActionForm, label_titles, project_context, project_for
from annotation.pages.sentences import MAX_MARKS, STATE_TITLES, USE_TITLES, outcome, summary, text_of
from annotation.queue import exclusions, quality_settings
from annotation.reports import item_history
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.web.formatting import seconds
from evalsvc.core.web.span_lanes import Lane, text_with_lanes
from evalsvc.core.web.text_highlighting import colours_of, mark_pair
from evalsvc.core.web.views import page, row_id, submit, submitted

# What a button does to the item, and the message afterwards
ACTIONS: dict[str, tuple[Any, str]] = {
    "reopen": (decisions.reopen, "The decision no longer counts."),
    "ask": (decisions.ask_one_more, "One more person is asked for an answer."),
    "reveal": (second_readings.reveal, "You see the decision, and no longer read this sentence again."),
    "unask": (decisions.cancel_one_more, "Nobody else is asked."),
    "work": (quality_settings.make_ordinary_item, "This is an ordinary sentence again."),
}


class ExclusionForm(ActionForm):
    finding = forms.ChoiceField(label="Reason", choices=[*decisions.FINDINGS.items()])
    reason = forms.CharField(label="Note", required=False, max_length=2_000)

    def apply_to(self, item: Item, *, by: User) -> str:
        decisions.exclude_item(item, by=by, **self.cleaned_data)
        return "The sentence is excluded from the queue and from test sets."


@page("GET", "POST", answer=("answer",), **dict.fromkeys(ACTIONS, ()))
def sentence(request: HttpRequest, slug: str, key: UUID) -> HttpResponse:
    """Show a sentence with its answers and history, or change what counts."""
    project, role = project_for(request, slug, roles.CURATOR)
    item = get_object_or_404(
        Item.objects.present().select_related("project", "batch__by"), key=key, project=project
    )
    user, action = person(request), request.POST.get("action", "")
    exclusion = ExclusionForm(*submitted(request, "exclude")[:1])
    gold = gold_form(item, *submitted(request, "gold")[:1])
    done = submit(request, exclusion, partial(exclusion.apply_to, item, by=user), "finding") or submit(
        request, gold, partial(gold.apply_to, item, by=user), "answer"
    )
    if request.method == "POST" and not (done or action in ("exclude", "gold")):
        messages.info(request, _act(item, action, request.POST.get("answer", ""), by=user))
        done = True
    if done:
        return redirect("sentence", slug, key)
    return render(
        request,
        "annotation/sentence.html",
        _sentence_context(item, role, user, exclusion=exclusion, gold=gold),
    )


def _act(item: Item, action: str, answer: str, *, by: User) -> str:
    """Do what a button says, and return the message to show."""
    if action == "answer":
        row = get_object_or_404(Answer.objects.active(), item=item, pk=row_id(answer))
        exclusions.exclude_answer(row, by=by, excluded=not row.set_aside)
        return "The answer counts again." if row.set_aside else "The answer is excluded."
    if action not in ACTIONS:
        raise ValidationError({"action": f"There is no action {action[:40]!r}. Reload the page."})
    act, message = ACTIONS[action]
    act(item, by=by)
    return str(message)


def _sentence_context(item: Item, role: str, user: User, **forms: Any) -> dict[str, Any]:
    project, hidden = item.project, bool(second_readings.without_outcomes([item], user))
    titles, answers = label_titles(project), item_history.answers_of(project, [item])[item.pk]
    decision = None if hidden else item.adjudications.active().select_related("by").first()
    used = item.votes.exists() or item.leases.filter(ending="").exists()
    return project_context(
        project,
        role,
        item=item,
        sentence=mark_pair(item) if item.head else _with_lanes(item, answers, titles),
        state=USE_TITLES.get(item.use) or STATE_TITLES[item.state],
        outcome=outcome(item, titles),
        decision=decision,
        finding=decisions.FINDINGS.get(decision.finding, "") if decision else "",
        answers=[
            (row, text_of(item, row.payload, titles), seconds(_seconds(row.answer.vote.milliseconds)))
            for row in answers
        ],
        summary=summary(item, answers, titles),
        events=[
            (event, "" if event.payload is None else text_of(item, event.payload, titles))
            for event in item_history.history(item, decisions=not decisions.unread_decisions(item, user))
        ],
        hidden=hidden,
        may_decide=not item.use and decisions.needs_decision(item),
        may_ask=(
            item.state in (Item.State.SETTLED, Item.State.DISPUTED)
            and not item.use
            and decisions.may_ask_one_more(item, project)
        ),
        may_unask=decisions.may_cancel_one_more(item),
        may_exclude=not item.use and item.state != Item.State.UNUSABLE,
        may_be_gold=not used and not item.use,
        may_be_ordinary=bool(item.use) and not used,
        known=_known_answer(item, titles),
        **forms,
    )


def _known_answer(item: Item, titles: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the answer of a gold question in current labels, and its explanation."""
    known = KnownAnswer.objects.filter(item=item).first() if item.use else None
    if known is None:
        return None
    payload = Rules(item.project).mapping.payload(known.payload).payload
    return text_of(item, payload, titles), known.explains


def _with_lanes(
    item: Item, answers: list[item_history.ItemAnswer], titles: Mapping[str, str]
) -> SafeString | str:
    """Return the text with the spans of all answers that count on lanes, with their votes."""
    counting = [row.payload for row in answers if row.counted]
    votes = Counter(tuple(span) for payload in counting for span in payload["spans"])
    gold = {tuple(span) for span in (item.gold or {}).get("spans", ())}
    lanes = [
        Lane(span, titles.get(span[2], span[2]), f"{votes[span]} of {len(counting)}", span in gold)
        for span in [*gold, *(span for span, _ in votes.most_common() if span not in gold)][:MAX_MARKS]
    ]
    types = [choice.name for choice in inventory(item.project, "entity")]  # in the colours of the label form
    return text_with_lanes(item, lanes, colours=colours_of(types)) if lanes else item.text


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1_000
