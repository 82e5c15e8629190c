"""Template tags for bars, training counts and states."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from evalsvc.core.web import formatting
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.pages.board_rails import Rail
from evalsvc.evaluation.pages.board_view import ScoreCell

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


@register.filter
def score_cells(cells: Iterable[ScoreCell], column_class: str) -> SafeString:
    """Table cells of a row; tags in the template would take a fifth of the time of a board."""
    rows = (f'<td class="fig{column_class}{cell.classes}">{cell}</td>' for cell in cells)
    return mark_safe("".join(rows))  # noqa: S308 - cells are escaped


@register.filter
def rail_marks(rails: Iterable[Rail]) -> SafeString:
    """Parts of the rails beside a rank; a board has hundreds."""
    marks = (f'<i class="b{rail.lane}{rail.end}"></i>' for rail in rails)
    return mark_safe("".join(marks))  # noqa: S308 - numbers and fixed letters


@register.filter
def picks(measures: Iterable[tuple[str, str, bool]]) -> SafeString:
    """Checkboxes of columns; a board offers hundreds."""
    box = '<label class="pick"><input type="checkbox" name="columns" value="{}"{}> {}</label> '
    checked = SafeString(" checked")
    return format_html_join("", box, ((value, checked if on else "", title) for value, title, on in measures))


@register.filter
def bar(value: float | None, best: float | None = None) -> SafeString:
    return charts.bar(value, best=best)


@register.simple_tag
def training(benchmark: Benchmark, label: str) -> str:
    """Training count of a label, or a dash."""
    n = benchmark.training_counts.get(label)
    return formatting.DASH if n is None else formatting.count(n)


@register.simple_tag
def badge(submission: Submission) -> SafeString:
    """State as text and shape."""
    shape, text = (
        ("wait", "withdrawn") if submission.withdrawn_at else BADGES[Submission.State(submission.state)]
    )
    return format_html('<span class="state state--{}">{}</span>', shape, text)
