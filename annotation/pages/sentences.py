"""List of a project's sentences, as a page and as CSV."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django import forms
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render

from annotation import roles
from annotation.consensus.choices import choices_of
from annotation.models import Item, Project
from annotation.pages.project_page import (
    answer_text,
    choices_by_name,
    label_titles,
    project_context,
    project_for,
)
from annotation.reports import item_history, item_order, item_search, item_table
from annotation.reports.item_order import ItemFilters
from annotation.reports.item_search import ItemPage
from annotation.roles import display_names
from evalsvc.core.accounts.users import person
from evalsvc.core.formats.label_mapping import Payload
from evalsvc.core.web.downloads import long_csv_file
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.text_highlighting import shortened
from evalsvc.core.web.views import page

STATE_TITLES: dict[str, str] = {
    Item.State.OPEN: "open",
    Item.State.SETTLED: "settled",
    Item.State.DISPUTED: "disputed",
    Item.State.ADJUDICATED: "decided",
    Item.State.UNUSABLE: "excluded",
}
USE_TITLES: dict[str, str] = {
    Item.Use.QUALIFY: "qualification round",
    Item.Use.CHECK: "hidden check",
    Item.Use.CORPUS: "no candidate",
}
NAMED_PATTERNS = 8
PLACES = ("after", "before", "start")
NARROWING = ("state", "use", "pattern", "label", "annotator", "remark")
MAX_MARKS = 100  # spans, and relations, of an answer on these pages; the API has all


class FilterForm(PageForm):
    """Filters of the list; their names are those of the API."""

    OTHER_NAMES = ("state", "use", "pattern", "after", "before", "start")
    q = forms.CharField(
        required=False,
        label="Text or id",
        max_length=200,
        help_text="Words as in the sentence, or its whole id.",
    )
    label = forms.ChoiceField(required=False, help_text="In the outcome or in an answer.")
    annotator = forms.ChoiceField(required=False, label="Person", help_text="Answered or skipped by.")
    remark = forms.ChoiceField(
        required=False,
        label="Remarks",
        choices=[("", "any"), ("any", "comment or flag"), ("comment", "comment"), ("flag", "flag")],
    )
    order = forms.ChoiceField(
        required=False, choices=[("", "as imported"), *list(item_order.ORDERS.items())[1:]]
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.names = display_names(project)
        choices = {
            "label": [(choice.name, choice.title) for choice in choices_by_name(project).values()],
            "annotator": sorted(self.names.items(), key=lambda entry: entry[1].casefold()),
        }
        for name, entries in choices.items():
            self.fields[name].choices = [("", "any"), *entries]  # type: ignore[attr-defined]


def _place(project: Project, key: str) -> Item | None:
    """Return the item of a cursor, or answer with 404."""
    if not key:
        return None
    try:
        return get_object_or_404(Item, project=project, key=UUID(key))
    except ValueError as error:
        raise Http404(f"There is no sentence {key[:40]!r}.") from error


def filters_of(project: Project, request: HttpRequest, values: Mapping[str, str]) -> ItemFilters:
    """Return the filters of a list from its address and the valid values of its form."""
    query = request.GET
    state, use = query.get("state", ""), query.get("use", "")
    if state not in ("", *Item.State.values) or use not in Item.Use.values:
        raise Http404("There is no such filter.")
    name = values.get("annotator", "")
    return ItemFilters(
        state=state,
        use=use,
        pattern=query.get("pattern", ""),
        label=values.get("label", ""),
        annotator=project.annotators.get(name=name) if name else None,
        remark=values.get("remark", ""),
        text=values.get("q", "").strip(),
    )


@page()
def table(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Download the list as CSV."""
    project, _ = project_for(request, slug, roles.CURATOR)
    form = FilterForm(request.GET, project=project)
    if not form.is_valid():
        raise Http404("There is no such filter.")
    filters = filters_of(project, request, form.cleaned_data)
    rows = item_table.rows(
        project, filters, for_user=person(request), order=form.cleaned_data.get("order", "")
    )
    return long_csv_file(f"{project.slug}-sentences.csv", item_table.HEADS, rows)


@page()
def index(request: HttpRequest, slug: str) -> HttpResponse:
    """List a project's sentences."""
    project, role = project_for(request, slug, roles.CURATOR)
    form = FilterForm(request.GET, project=project)
    values = form.cleaned_data if form.is_valid() else {}
    filters = filters_of(project, request, values)
    found = item_search.search(
        project,
        filters,
        for_user=person(request),
        order=values.get("order", ""),
        after=_place(project, request.GET.get("after", "")),
        before=_place(project, request.GET.get("before", "")),
        size=item_search.PER_PAGE,
    )
    shows_times = values.get("order") == item_order.ANSWERED
    answers, remarks = item_history.answers_of(project, found.items), item_history.remark_counts(found.items)
    titles = label_titles(project)
    states, patterns, uses = item_order.counts(project)
    context = project_context(
        project,
        role,
        form=form,
        found=found,
        filters=filters,
        filtered=any(text for name, text in request.GET.items() if name not in PLACES),
        n_set=sum(bool(request.GET.get(name)) for name in NARROWING),
        rows=[
            (
                item,
                summary(item, answers[item.pk], titles),
                outcome(item, titles),
                *remarks.get(item.pk, (0, 0)),
                max((row.answer.vote.at for row in answers[item.pk]), default=None),
            )
            for item in found.items
        ],
        states=[(state, title, states[state]) for state, title in STATE_TITLES.items()],
        patterns=patterns.most_common(NAMED_PATTERNS),
        uses=[(use, title, uses[use]) for use, title in USE_TITLES.items() if uses.get(use)],
        n=sum(states.values()),
        n_matching=None if shows_times else _number(filters, states, patterns, uses),
        shows_times=shows_times,
        **_range(request, found),
    )
    return render(request, "annotation/sentences.html", context)


def _range(request: HttpRequest, found: ItemPage) -> dict[str, int]:
    """Return the numbers of the listed items, counted page by page from the first."""
    is_first = not (request.GET.get("after") or request.GET.get("before"))
    start = "1" if is_first else request.GET.get("start", "")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", start):
        return {}
    first, last = int(start), int(start) + len(found.items) - 1
    before = max(1, first - item_search.PER_PAGE)
    return {"first": first, "last": last, "before_first": before, "after_last": last + 1}


def _number(
    filters: ItemFilters, states: Mapping[str, int], patterns: Mapping[str, int], uses: Mapping[str, int]
) -> int | None:
    """Return how many items match; None if that is not counted."""
    if filters.scans or (filters.pattern and filters.state):
        return None
    if filters.use or filters.pattern:
        return uses.get(filters.use, 0) if filters.use else patterns.get(filters.pattern, 0)
    return states[filters.state] if filters.state else sum(states.values())


def text_of(item: Item, payload: Payload | None, titles: Mapping[str, str]) -> str:
    """Write an answer as labels, or as its spans with their words."""
    if payload is None or not payload["spans"]:
        return answer_text(payload, titles)
    spans, relations = payload["spans"], payload["relations"][:MAX_MARKS]
    words = [shortened(item.surface(span)) for span in spans]
    marks = [f"{words[at]} ({titles.get(span[2], span[2])})" for at, span in enumerate(spans[:MAX_MARKS])]
    links = [f"{words[x[0]]} – {titles.get(x[1], x[1])} – {words[x[2]]}" for x in relations]
    left = len(spans) + len(payload["relations"]) - len(marks) - len(links)
    return ", ".join([*marks, *links, *([f"and {left:,} more"] if left else [])])


def summary(item: Item, answers: list[item_history.ItemAnswer], titles: Mapping[str, str]) -> str:
    """Count the answers that are not excluded by what they say."""
    counted = [(choices_of(row.payload), row.payload) for row in answers if not row.answer.set_aside]
    payloads = dict(reversed(counted))
    by_choices = Counter(choices for choices, _ in counted).most_common()
    return " · ".join(f"{n} {text_of(item, payloads[choices], titles)}" for choices, n in by_choices)


def outcome(item: Item, titles: Mapping[str, str]) -> str:
    return "" if item.gold is None else text_of(item, item.gold, titles)
