"""Template tags for bars, training counts and states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from django import template
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.web import formatting
from evalsvc.evaluation.models import Submission
from evalsvc.evaluation.pages import board_rows as rows
from evalsvc.evaluation.pages import charts

register = template.Library()

BADGES = {
    Submission.State.RECEIVED: ("wait", "received"),
    Submission.State.QUEUED: ("wait", "waiting"),
    Submission.State.RUNNING: ("run", "scoring"),
    Submission.State.SCORED: ("done", "scored"),
    Submission.State.INVALID: ("bad", "rejected"),
    Submission.State.FAILED: ("warn", "failed"),
    Submission.State.CANCELLED: ("wait", "cancelled"),
}


@register.simple_tag(takes_context=True)
def board_rows(context: Context) -> SafeString:
    """Rows of the systems on a board."""
    return rows.ranked_rows(context["table"].rows, rows.surroundings(context))


@register.simple_tag(takes_context=True)
def reported_rows(context: Context) -> SafeString:
    """Rows of the systems that only papers report, below those."""
    return rows.reported_rows(context["table"].reported, rows.surroundings(context))


@register.filter
def picks(measures: Iterable[tuple[str, str, bool]]) -> SafeString:
    """Checkboxes of columns; a board offers hundreds."""
    boxes = [
        f'<label class="pick"><input type="checkbox" name="columns" value="{escape(value)}"'
        f"{' checked' if on else ''}> {escape(title)}</label> "
        for value, title, on in measures
    ]
    return SafeString("".join(boxes))


@register.filter
def bar(value: float | None, best: float | None = None) -> SafeString:
    return charts.bar(value, best=best)


@register.simple_tag
def training(counts: Mapping[str, int], label: str) -> str:
    """Training count of a label, or a dash."""
    n = counts.get(label)
    return formatting.DASH if n is None else formatting.count(n)


@register.simple_tag
def badge(submission: Submission) -> SafeString:
    """State as text and shape."""
    shape, text = (
        ("wait", "withdrawn") if submission.withdrawn_at else BADGES[Submission.State(submission.state)]
    )
    return format_html('<span class="state state--{}">{}</span>', shape, text)
