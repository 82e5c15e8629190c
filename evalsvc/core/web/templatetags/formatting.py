"""Template filters and tags for numbers, times and formulas."""

from __future__ import annotations

import re
from datetime import datetime

from django import template
from django.forms.utils import flatatt
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from evalsvc.core.web import formatting, svg

register = template.Library()
STATE_SHAPES = {
    **dict.fromkeys(("open", "running", "building"), "run"),
    **dict.fromkeys(("closed", "done", "frozen", "past"), "done"),
    **dict.fromkeys(("failed", "cancelled"), "warn"),
    "refused": "bad",
}

for _filter in (
    formatting.count,
    formatting.byte_size,
    formatting.day,
    formatting.moment,
    formatting.clock,
    formatting.quoted,
    formatting.run_named,
    formatting.short_hash,
):
    register.filter(_filter.__name__, _filter)
register.filter("share_of", formatting.share)
register.filter("attributes", flatatt)
register.simple_tag(svg.swatch, name="swatch")


@register.filter
def path_breaks(name: str) -> SafeString:
    """Let a line end behind each slash of a name."""
    return mark_safe(escape(name).replace("/", "/<wbr>"))  # noqa: S308 - escaped


@register.filter
def state_shape(state: str) -> str:
    """Suffix of the `state--` class for a state."""
    return STATE_SHAPES.get(state, "wait")


@register.filter
def counted(value: int, nouns: str) -> str:
    """`{{ n|counted:"run" }}`, or `{{ n|counted:"entry,entries" }}`."""
    singular, _, plural = nouns.partition(",")
    return formatting.counted(value, singular, plural)


@register.filter
def powers(formula: str) -> SafeString:
    """Superscript the exponents of a formula, as in `n^¾`."""
    return mark_safe(re.sub(r"\^([¾½¼\d]+)", r"<sup>\1</sup>", escape(formula)))  # noqa: S308


@register.filter
def ratio(value: float | None) -> str:
    """Two digits, or a dash where the value is undefined."""
    return formatting.DASH if value is None else formatting.number(value, digits=2)


@register.filter
def because(text: str, reason: str) -> str:
    """A dash with its reason to read and to hear; text without one stays."""
    if not reason:
        return text
    dash = '<span class="dash" title="{}">{}<span class="sr"> {}</span></span>'
    return format_html(dash, reason, text, reason)


@register.filter
def lower_first(text: str) -> str:
    """Lower the first letter, unless it begins an abbreviation."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


@register.simple_tag
def stamp(at: datetime | None) -> SafeString | str:
    """Time element with the second as its tooltip; all times are UTC."""
    if at is None:
        return formatting.DASH
    exact = f"{at:%Y-%m-%d %H:%M:%S} UTC"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', at.isoformat(), exact, formatting.moment(at)
    )
