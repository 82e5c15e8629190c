"""Which machines may run models: each worker's own word after its self-test."""

from __future__ import annotations

from django.conf import settings
from django.db.models.functions import Now

from evalsvc.evaluation.models import ModelHost

SWITCHED_OFF = "Models are switched off here (MODEL_UPLOADS=off)."
UNTRIED = "No worker has tried its sandbox yet."


def report(name: str, *, why_not: str) -> None:
    """Keep what the self-test of a machine found; `why_not` is empty when models can run there."""
    ModelHost.objects.update_or_create(
        name=name[:200], defaults={"why_not": why_not[:1_000], "tried_at": Now()}
    )


def why_off() -> str:
    """Why no model can be sent, or nothing when it can."""
    if settings.MODEL_UPLOADS == "off":
        return SWITCHED_OFF
    newest = ModelHost.objects.order_by("why_not", "-tried_at").first()  # the empty word comes first
    return newest.why_not if newest else UNTRIED
