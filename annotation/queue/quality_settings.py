"""Settings of quality: gold questions, hidden checks, extra answers."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Subquery
from django.db.models.functions import Coalesce, Greatest, Least
from django.utils import timezone

from annotation.consensus import item_state, known_answers, pending_recomputation, recomputation
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Annotator, Answer, Item, KnownAnswer, Project
from annotation.queue.answer_validation import validate_answer
from annotation.queue.grading import round_size
from annotation.roles import CURATOR, require_to_change
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again
from evalsvc.core.errors.exceptions import Conflict, DomainError

GOLD_LOGGED = "gold questions"


@transaction.atomic
def make_gold_question(
    item: Item, *, payload: dict[str, Any], use: str, explains: str = "", by: User
) -> KnownAnswer:
    """Make an item without votes a gold question, and log it."""
    before = item.use or "work"
    made = store_gold_question(item, payload=payload, use=use, explains=explains, by=by)
    after = {"use": use, "answer": made.payload}
    record(item.project, GOLD_LOGGED, by=by, about=item.external_id, before={"use": before}, after=after)
    return made


@transaction.atomic
def store_gold_question(
    item: Item, *, payload: dict[str, Any], use: str, explains: str = "", by: User
) -> KnownAnswer:
    """Make an item without votes a gold question; the caller logs it."""
    project = Project.objects.get(pk=item.project_id)
    require_to_change(project, by, CURATOR)
    if use not in (Item.Use.QUALIFY, Item.Use.CHECK):
        raise DomainError("unknown_use", f"Unknown use {use!r}.", hint="Use qualify or check.", field="use")
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    _require_unused(item)
    answer = validate_answer(payload, item=item, project=project)
    item.use, item.free, item.freed_at = use, 0, item.freed_at or timezone.now()
    item.save(update_fields=["use", "free", "freed_at"])
    made = known_answers.known_answer(item, answer, Rules(project).mapping, explains=explains)
    made.save()
    return made


@transaction.atomic
def make_ordinary_item(item: Item, *, by: User) -> Item:
    """Make a gold question without votes an ordinary item."""
    require_to_change(item.project, by, CURATOR)
    item = Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    if item.use not in (Item.Use.QUALIFY, Item.Use.CHECK):
        raise Conflict("no_known_answer", "This sentence is not a gold question.")
    _require_unused(item)
    known = KnownAnswer.objects.filter(pk=item.pk)
    before = {"use": item.use, "answer": known.values_list("payload", flat=True).first()}
    record(item.project, GOLD_LOGGED, by=by, about=item.external_id, before=before, after={"use": "work"})
    known.delete()
    item.use = Item.Use.WORK
    item.save(update_fields=["use"])
    return item_state.update_state(item)


def _require_unused(item: Item) -> None:
    if item.votes.exists() or item.leases.filter(ending="").exists():
        raise Conflict("already_answered", "This sentence was already answered or is reserved for somebody.")


QUALITY_OPTIONS = (
    "qualifies",
    "check_every",
    "least_checks",
    "pass_percent",
    "most_extra",
    "calls_extra",
    "suggests",
)
OPTION_RANGES = {
    "check_every": (0, 1_000),
    "least_checks": (1, 1_000),
    "pass_percent": (0, 100),
    "most_extra": (0, 20),
}


@atomic_again
def set_quality_options(project: Project, *, by: User, **values: Any) -> Project:
    """Change options named in `QUALITY_OPTIONS`."""
    require_to_change(project, by, CURATOR)
    _validate_options(project, values)
    before = {name: getattr(project, name) for name in values}
    record(project, "quality settings", by=by, before=before, after=values)
    Project.objects.filter(pk=project.pk).update(**values)
    project.refresh_from_db()
    _call_for_disputes(project, before)
    if "check_every" in values:  # what a person held once may come again; annotators are locked after items
        Annotator.objects.filter(project=project).update(searched_at=None, round_since=None)
    return project


def _call_for_disputes(project: Project, before: dict[str, Any]) -> None:
    """Call one more person about each dispute that waits, as the option or its limit allows it now.

    Those of which a decision lapsed wait for adjudicators, like decided ones, and so do those with an answer
    first given under other labels or another rule: disputes that are called no more would tell which labels
    changed. So would calls by states that are still to be recomputed, which also decide which calls are
    filled. Without the option, cancel those that are not.
    """
    switched = before.get("calls_extra", project.calls_extra) != project.calls_extra
    raised = before.get("most_extra", project.most_extra) < project.most_extra
    if not (switched or (raised and project.calls_extra)):
        return
    pending_recomputation.require_recomputed(project)
    room = project.most_extra - F("asked")
    lapsed = Adjudication.objects.filter(lapsed=True).exclude(answers_key="").order_by()
    disputed = project.items.filter(use="", state=Item.State.DISPUTED, called__lt=room)
    disputed = disputed.exclude(pk__in=lapsed.filter(item__project=project).values("item"))
    own = Answer.objects.included().filter(item=OuterRef("pk"), vote__batch=None)
    disputed = disputed.exclude(Exists(own.exclude(first_rules=Rules(project).key)))
    items = disputed if project.calls_extra else project.items.filter(called__gt=0)
    locked = items.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True)
    list(locked)  # in this order, as all who lock several
    answers = Answer.objects.included().filter(item=OuterRef("pk")).order_by().values("item")
    n = Coalesce(Subquery(answers.annotate(n=Count("pk")).values("n")), 0)
    filled = Greatest(n - Coalesce("k", project.k) - F("asked"), 0)
    if project.calls_extra:
        items.update(called=Least(filled + 1, room))
    else:
        items.update(called=Least("called", filled))
    recomputation.recompute_after_change(project)


def _validate_options(project: Project, values: dict[str, Any]) -> None:
    for name in sorted(set(values) - set(QUALITY_OPTIONS)):
        hint = f"Use: {', '.join(QUALITY_OPTIONS)}."
        raise DomainError("unknown_option", f"Unknown option {name}.", hint=hint, field=name)
    for name, (least, most) in OPTION_RANGES.items():
        if name in values and not least <= values[name] <= most:
            raise DomainError(
                "bad_option", f"{name} must be {least} to {most:,}, got {values[name]}.", field=name
            )
    if values.get("qualifies") and not round_size(project):
        raise Conflict(
            "no_known_items",
            f"{project} has no sentences for a qualification round.",
            hint="Import some with the option `known: qualify`.",
            field="qualifies",
        )
