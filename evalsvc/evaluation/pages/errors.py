"""Error browser: sentences with gold and predictions, where the gold is open."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from evalsvc.core.accounts import users
from evalsvc.core.web import views
from evalsvc.core.web.formatting import counted, quoted
from evalsvc.core.web.tables import download
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import versions
from evalsvc.evaluation.boards.system_names import names_on_board
from evalsvc.evaluation.pages import error_filters, error_tables
from evalsvc.evaluation.pages.board_tables import board_computation
from evalsvc.evaluation.pages.error_items import shown_items
from evalsvc.evaluation.pages.error_request import NOT_STORED, Browser, requested, system_value

SHOWN, LISTED = 20, 50  # items on a page; systems to choose from
FIELDS = ("setting", "a", "b", "text", "line", "order")  # of the form for systems
ORDER_TITLES = {"f1": "lowest F1 of A first", "errors": "most errors first", "file": "order of the file"}


@views.page("GET", "POST", names=())
def errors_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Errors of the chosen systems; organisers have those of older scores stored."""
    if request.method == "POST":  # the role comes before the state of the setting
        roles.require(roles.benchmark_for(request.user, slug), users.person(request), roles.ORGANISER)
    browser = requested(request, slug)
    if request.method == "POST":
        queued = versions.fill_outcomes(browser.setting, by=users.person(request))
        messages.info(request, f"{counted(queued, 'run')} will be scored again.")
        return redirect(request.get_full_path())
    context = _choices(browser) | {"browser": browser, "reason": browser.reason}
    if browser.reason == NOT_STORED:
        context["fill"] = roles.role_in(browser.setting.benchmark, request.user) == roles.ORGANISER
    return render(
        request, "evaluation/errors.html", context | (_shown(request, browser) if browser.sides else {})
    )


@views.page()
def errors_file(request: HttpRequest, slug: str, format: str) -> HttpResponse:
    """Download every chosen item with its labels, or the documents where WRF and F1 differ most."""
    browser = requested(request, slug)
    if not browser.sides:
        raise Http404(browser.reason)
    return download(error_tables.table(browser), format)


def _choices(browser: Browser) -> dict[str, Any]:
    board, setting = browser.board, browser.setting
    names = names_on_board(board) if not browser.board.sealed else {}
    listed = [(system_value(row), names[row.system.pk]) for row in board.rows[:LISTED]]
    listed += [(side.value, side.name) for side in browser.sides if (side.value, side.name) not in listed]
    return {
        "title": _title(browser),
        "benchmark": setting.benchmark,
        "setting": setting,
        "systems": listed,
        "orders": ORDER_TITLES.items(),
        "wanted": browser.wanted,
        "computation": board_computation(board),
    }


def _shown(request: HttpRequest, browser: Browser) -> dict[str, Any]:
    selection, sides = browser.selection, browser.sides
    item, ids = request.GET.get("item", ""), sides[0].outcomes.ids
    if item and item not in ids:
        raise Http404(f"The setting has no item {item[:200]!r}.")
    items = [ids.index(item)] if item else selection.items
    pages = views.page_of(request, items, size=SHOWN)
    classes, more_classes = error_filters.class_links(request, browser)
    n = counted(len(ids), browser.noun)
    return {
        "a": sides[0],
        "b": sides[1] if len(sides) > 1 else None,
        "compared": urlencode({"setting": browser.setting.key, "systems": [s.system for s in sides]}, True),
        "item": item,
        "lead": _lead(browser),
        "kinds": error_filters.kind_links(request, browser),
        "classes": classes,
        "more_classes": more_classes,
        "who": list(zip(error_filters.who_links(request, browser), ("", "a", "b", "x"), strict=False)),
        "runs": error_filters.run_links(request, browser),
        "swapped": error_filters.swapped(request, browser),
        "used": error_filters.used(request, browser, count=not items),
        "histogram": error_filters.histogram(browser),
        "kept": error_filters.kept(request, *FIELDS, *([] if len(sides) > 1 else ["who"])),
        "kept_by_f1": error_filters.kept(request, "low", "high"),
        "n": n if len(items) == len(ids) else f"{len(items):,} of {n}",
        "pages": pages,
        "shown": shown_items(browser, pages),
        "by_spans": sides[0].outcomes.gold.places is not None,
        "against": error_tables.against(request, browser),
    }


def _title(browser: Browser) -> str:
    names = [quoted(side.name) for side in browser.sides]
    return f"Where {' and '.join(names)} {'go' if len(names) > 1 else 'goes'} wrong" if names else "Errors"


def _lead(browser: Browser) -> str:
    selection, noun = browser.selection, browser.noun
    n = len(browser.sides[0].outcomes.ids)
    if len(browser.sides) > 1:
        by_who, (a, b) = selection.by_who, browser.sides
        right = "right about a gold claim" if a.outcomes.gold.places is not None else "right"
        return (
            f"Of {counted(n, noun)}, {quoted(a.name)} alone is {right} in {by_who['a']:,} and "
            f"{quoted(b.name)} alone in {by_who['b']:,}; neither is in {by_who['neither']:,}."
        )
    wrong = len(selection.wrong)
    have = "has" if wrong == 1 else "have"
    return f"{wrong:,} of {counted(n, noun)} {have} an error of {quoted(browser.sides[0].name)}."
