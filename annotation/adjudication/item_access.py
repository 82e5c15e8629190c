"""Items that a person may decide: of the rest, hidden checks and sentences look alike."""

from __future__ import annotations

from django.http import Http404

from annotation.adjudication.decisions import decisions_on_answers
from annotation.adjudication.unanswerable_items import unanswerable
from annotation.consensus.item_state import answers_needed, counted_answers, mark_asked_again
from annotation.consensus.majority import DISPUTED
from annotation.consensus.rules import Rules
from annotation.models import Answer, Item
from annotation.roles import CURATOR
from evalsvc.core.errors.exceptions import Conflict


def require_dispute(item: Item, role: str, *, changes: bool) -> None:
    """Reject a hidden check, and for adjudicators also what never was in dispute.

    They get the same reply for both: annotators could ask them which of their sentences are checks.
    """
    shown = was_in_dispute(item) or role == CURATOR
    if shown and not item.use:
        return
    if changes and role != CURATOR:
        raise Conflict("not_disputed", "This sentence is not in dispute.")
    raise Http404


def was_in_dispute(item: Item) -> bool:
    """True if an item is in dispute, or was when somebody decided it, asked one more person or excluded it.

    Curators also exclude settled items, and ask about them: nobody disagreed on these. All is looked up for
    each item that is not in dispute: the time of a reply would tell adjudicators which are hidden checks.
    """
    if item.state == Item.State.DISPUTED:
        return True
    is_unanswerable = unanswerable(item.project, item).exists()
    was_decided = decisions_on_answers(item.adjudications.all()).exists()
    was_disputed = _answers_disputed(item) and (item.asked > 0 or item.state == Item.State.UNUSABLE)
    return is_unanswerable or was_decided or was_disputed


def _answers_disputed(item: Item) -> bool:
    """True if the answers that count are in dispute, or were before further ones that were asked for."""
    rules = Rules(item.project_id)
    most = answers_needed(item, rules.project)
    answers = mark_asked_again(item, [*Answer.objects.filter(item=item).active()], rules)
    counted = counted_answers(answers, k=most)
    payloads = [rules.mapping.payload(answer.payload).payload for answer in counted]
    sizes = range(most - item.extra, len(payloads) + 1)
    return any(rules.verdict(payloads[:n], n, rules.policy).state == DISPUTED for n in sizes)
