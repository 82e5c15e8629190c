"""Tags for page heads, breadcrumbs, scrolling regions and heads of tables.

A page head takes its lead as content, and its buttons in a nested `actions` tag:

    {% page_head "Disputes" %}
      {{ waiting }} items wait for a decision.
      {% actions %}<a class="btn" href="…">Show decisions</a>{% endactions %}
    {% endpage_head %}

    {% crumbs %}{% crumb "Projects" "label-index" %}{% crumb project "project" project.slug %}{% endcrumbs %}

A column may have classes behind its title:

    {% columns "Relation" "Facts|fig opt" "Precision|fig" %}
"""

from __future__ import annotations

from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

register = template.Library()
ACTIONS = "page_head_actions"


@register.simple_block_tag
def scroll(content: str, name: str, extra: str = "") -> SafeString:
    """Wrap wide content in a region that the keyboard reaches."""
    return render_to_string("web/scroll.html", {"content": content, "name": name, "extra": extra})


@register.simple_block_tag(takes_context=True)
def page_head(context: Context, content: str, title: Any) -> SafeString:
    """Page title with the content as its lead."""
    lead = mark_safe(content.strip())  # noqa: S308 - rendered template
    return render_to_string(
        "web/page_head.html", {"title": title, "lead": lead, "actions": context.get(ACTIONS, "")}
    )


@register.simple_block_tag(takes_context=True)
def actions(context: Context, content: str) -> str:
    """Buttons and links of the surrounding page head."""
    context[ACTIONS] = content
    return ""


@register.simple_block_tag
def crumbs(content: str) -> SafeString:
    """Breadcrumb with a list item per `crumb`."""
    return format_html('<nav aria-label="Breadcrumb"><ol class="crumb">{}</ol></nav>', content)


@register.simple_tag
def crumb(title: Any, view: str = "", *args: Any) -> SafeString:
    """Link to a parent page, or without a view the current page."""
    if not view:
        return format_html('<li aria-current="page">{}</li>', title)
    return format_html('<li><a href="{}">{}</a></li>', reverse(view, args=args), title)


@register.simple_tag
def columns(*heads: str) -> SafeString:
    """Head of a table: a title per column, each perhaps with classes."""
    parts = [head.partition("|") for head in heads]
    values = ((format_html(' class="{}"', names) if names else "", title) for title, _, names in parts)
    cells = format_html_join("", '<th scope="col"{}>{}</th>', values)
    return format_html("<thead><tr>{}</tr></thead>", cells)
