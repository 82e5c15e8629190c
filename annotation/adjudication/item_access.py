"""Items that a person may decide: of the rest, hidden checks and sentences look alike."""

from __future__ import annotations

from django.http import Http404

from annotation.adjudication.decisions import needs_decision
from annotation.models import Item
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
    """True if an item is in dispute, or somebody decided it or asked one more person."""
    return needs_decision(item) or item.asked > 0 or item.adjudications.exists()
