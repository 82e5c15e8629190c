"""Which machines may run models: each worker's own word after its self-test, as long as it is heard of."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat, Now

from evalsvc.core.jobs.models import Job
from evalsvc.evaluation.models import ModelHost

SWITCHED_OFF = "Models are switched off here (MODEL_UPLOADS=off)."
UNTRIED = "No worker has tried its sandbox yet."
GONE = "No worker that runs models was heard of in the last five minutes."
# Of many workers each looks for work now and then only; a busy one is known by its job.
HEARD_WITHIN, TOLD_EVERY, KEPT = timedelta(minutes=5), timedelta(minutes=1), timedelta(days=1)


def report(name: str, *, why_not: str) -> None:
    """Keep what the self-test of a machine found; `why_not` is empty when models can run there."""
    ModelHost.objects.filter(seen_at__lt=Now() - KEPT).delete()
    told = {"why_not": why_not[:1_000], "tried_at": Now(), "seen_at": Now()}
    ModelHost.objects.update_or_create(name=name[:200], defaults=told)


def heard_of(name: str) -> None:
    """A worker there looks for work; written down once a minute."""
    unheard = ModelHost.objects.filter(name=name[:200], seen_at__lt=Now() - TOLD_EVERY)
    if unheard.exists():  # a look takes no write lock
        unheard.update(seen_at=Now())


def there() -> QuerySet[ModelHost]:
    """The machines that were heard of lately, or are in the middle of a job."""
    prefix = Concat(OuterRef("name"), Value(":"))
    working = Job.objects.filter(state=Job.State.RUNNING, lease_until__gt=Now(), worker__startswith=prefix)
    return ModelHost.objects.filter(Q(seen_at__gte=Now() - HEARD_WITHIN) | Exists(working))


def why_off() -> str:
    """Why no model can be sent, or nothing when it can."""
    if settings.MODEL_UPLOADS == "off":
        return SWITCHED_OFF
    best = there().order_by("why_not", "-tried_at").first()  # the empty word comes first
    if best:
        return best.why_not
    return GONE if ModelHost.objects.exists() else UNTRIED
