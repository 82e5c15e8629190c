"""What templates say of figures, times and states."""

from __future__ import annotations

import re
from datetime import datetime

from django import template
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from evalsvc.core.web import formatting, svg
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.pages import charts

register = template.Library()

BADGES = {
    Submission.State.RECEIVED: ("wait", "received"),
    Submission.State.QUEUED: ("wait", "waiting"),
    Submission.State.RUNNING: ("run", "scoring"),
    Submission.State.SCORED: ("done", "scored"),
    Submission.State.INVALID: ("bad", "refused"),
    Submission.State.FAILED: ("warn", "failed"),
    Submission.State.CANCELLED: ("wait", "cancelled"),
}

for _write in (
    formatting.count,
    formatting.byte_size,
    formatting.day,
    formatting.moment,
    formatting.clock,
    formatting.short_hash,
):
    register.filter(_write.__name__, _write)


@register.filter
def counted(value: int, words: str) -> str:
    """`{{ n|counted:"run" }}`, or `{{ n|counted:"entry,entries" }}`."""
    one, _, many = words.partition(",")
    return formatting.counted(value, one, many)


@register.filter
def powers(formula: str) -> SafeString:
    """`n^¾` with the ¾ raised, as it is read."""
    return mark_safe(re.sub(r"\^([¾½¼\d]+)", r"<sup>\1</sup>", escape(formula)))  # noqa: S308


@register.filter
def share_of(part: float, whole: float) -> str:
    return formatting.share(part, whole)


@register.filter
def ratio(value: float | None) -> str:
    """A figure per class: two digits, a dash where it is undefined."""
    return formatting.DASH if value is None else formatting.number(value, digits=2)


@register.filter
def bar(value: float | None) -> SafeString:
    return charts.bar(value)


@register.simple_tag
def swatch(number: int) -> SafeString:
    return svg.swatch(number)


@register.simple_tag
def training(benchmark: Benchmark, label: str) -> str:
    """How often a label occurs in the training data, as far as the organisers told."""
    known = benchmark.training_counts.get(label)
    return formatting.DASH if known is None else formatting.count(known)


@register.simple_tag
def badge(submission: Submission) -> SafeString:
    """The state in a word and a shape."""
    shape, word = (
        ("wait", "withdrawn") if submission.withdrawn_at else BADGES[Submission.State(submission.state)]
    )
    return format_html('<span class="state state--{}">{}</span>', shape, word)


@register.simple_tag
def stamp(at: datetime | None) -> SafeString | str:
    """A time as people write it, and to the second for who points at it; all times are UTC."""
    if at is None:
        return formatting.DASH
    exact = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact, formatting.moment(at)
    )


@register.filter
def lower_first(text: str) -> str:
    """For a summary that follows a colon; an abbreviation keeps its capitals."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
