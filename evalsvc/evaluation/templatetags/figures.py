"""What templates say of figures, times and states."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.web import formatting
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


@register.filter
def bar(value: float | None) -> SafeString:
    return charts.bar(value)


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
