"""Every page in Chromium: accessible in both themes, and not wider than a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from pytest_django.live_server_helper import LiveServer

from tests.cast.browser import open_as
from tests.cast.service import ServiceCast
from tests.permissions.requester import PEOPLE, Requester
from tests.permissions.table import PAGES
from tests.places.browser import Window, barriers, in_turn
from tests.places.extent import FULL
from tests.places.tables import empty

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.browser

FILES = {
    *("health", "ready", "metrics", "client", "schema", "board-csv", "board-json", "board-ranks"),
    *("setting-inputs", "board-inputs", "board-feed", "board-view-file"),
    *(
        "submission-curve-svg",
        "submission-curve-csv",
        "test-set-lines",
        "test-set-release",
        "test-set-release-part",
        "release-file",
        "release-part",
        "test-set-export-file",
        "test-set-sets-file",
        "judgments",
        "votes-jsonl",
        "votes-csv",
        "board-compare-file",
    ),
    *("system-file", "version-moves-file", "project-log-csv", "board-log-csv"),
    "board-errors-file",
    *("board-archive", "board-entrants-csv", "board-runs-csv"),
    *("submission-file", "admin-jsi18n"),
    *("agreement-svg", "agreement-pairs", "agreement-relations", "mine-svg", "mine-csv", "sentences-csv"),
    *("progress-days-svg", "progress-days-csv", "progress-people-csv", "progress-labels-csv"),
    *("test-set-chart", "release-chart"),
}
FRAGMENTS = {"submission-state"}  # parts that a page loads
RECORDS = {
    row for row, _ in PAGES if row.startswith("admin-")
}  # lists and pages of Django's admin look alike
SAMPLES = {"admin-index", "admin-jobs_job_changelist", "admin-jobs_job_change", "admin-teams_user_change"}
THIRD_PARTY = {"api-docs"} | RECORDS  # rendered by a library: only serious violations count
RENDERED_BY_SCRIPT = {"label": "#work", "api-docs": ".opblock"}  # selector to wait for
# The first of these who may see a page views it.
VIEWERS = ("cura", "orga", "ownr", "anno", "adju", "stra", "anon", "root")
# Pages that look different to others.
MORE_VIEWERS = [
    *(("home", who) for who in ("anon", "stra", "anno", "ownr", "orga")),
    *(("project", who) for who in ("anno", "view", "adju")),
    *(("label-index", who) for who in ("anno", "stra")),
    *(("agreement", "view"), ("progress", "view"), ("mine", "anno"), ("label", "anno"), ("test-set", "view")),
    *(("board", who) for who in ("anon", "ownr")),
    *(("boards", "anon"), ("submit", "ownr"), ("submissions", "ownr"), ("submission", "orga")),
    *(("people", "stra"), ("dispute", "anno"), ("test-set", "stra")),  # error pages
]


def pages_and_viewers() -> list[tuple[str, str]]:
    """Each page with its first viewer; with `FULL=1` also other objects and viewers."""
    rows = {row: cells for (row, method), cells in PAGES.items() if method == "GET"}
    shown = {row: cells for row, cells in rows.items() if row.partition(":")[0] not in FILES | FRAGMENTS}
    first = [(row, who) for row, cells in shown.items() for who in VIEWERS if cells[who] == "200"]
    seen = dict(reversed(first))
    if FULL:
        return sorted({*seen.items(), *MORE_VIEWERS})
    return sorted((row, who) for row, who in seen.items() if ":" not in row and row not in RECORDS - SAMPLES)


class Site:
    """The service with the whole cast, and a window for one viewer after another."""

    def __init__(self, browser: Browser, server: LiveServer) -> None:
        self.requester = Requester(ServiceCast.create())
        self.server, self.window = server, Window(browser, server.url)

    def open(self, who: str, row: str) -> Page:
        page = self.window.open()
        page.context.clear_cookies()
        if PEOPLE[who]:
            open_as(page, self.requester.cast[PEOPLE[who]].username, self.requester.address_with_query(row))
        else:
            page.goto(self.requester.address_with_query(row))
        return page


@pytest.fixture(scope="module")
def site(browser: Browser, django_db_setup: None, django_db_blocker: object) -> Iterator[Site]:
    """Created once, as the tests only read pages."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        server = LiveServer("localhost")
        try:
            made = Site(browser, server)
            yield made
            made.window.close()
        finally:
            server.stop()
            empty()


@pytest.mark.parametrize(("row", "who", "at"), [(*page, at) for at, page in enumerate(pages_and_viewers())])
def test_a_page_has_no_barriers(site: Site, row: str, who: str, at: int) -> None:
    if row == "api-docs" and not FULL:
        site.window.open().route("**/api/schema/", few_paths, times=1)
    page = site.open(who, row)
    if row in RENDERED_BY_SCRIPT:
        page.locator(RENDERED_BY_SCRIPT[row]).first.wait_for()
    found = barriers(page, in_turn(at))
    if row in THIRD_PARTY:
        found = [each for each in found if "(serious)" in each or "(critical)" in each]
    assert "\n".join(found) == ""
    assert site.window.complaints == []


def few_paths(route: Route) -> None:
    """Some operations of the API; all look alike."""
    schema = route.fetch().json()
    route.fulfill(json=schema | {"paths": dict(list(schema["paths"].items())[:5])})


def test_the_not_found_page_has_no_barriers(site: Site) -> None:
    page = site.open("anon", "home")
    page.goto("/nowhere/")
    assert barriers(page) == []


def test_the_api_documentation_follows_the_chosen_theme(site: Site) -> None:
    page = site.window.open()
    page.emulate_media(color_scheme="dark")
    page.route("**/api/schema/", lambda route: route.abort())
    page.goto(site.requester.address("api-docs"))
    shown = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(shown)
    page.goto(site.requester.address("home"))
    assert page.evaluate(shown) == dark
    page.get_by_role("button", name="Theme").click()  # the light theme
    page.goto(site.requester.address("api-docs"))
    assert page.evaluate(shown) != dark
    site.window.clear()


def test_routes_left_out_of_the_check_return_no_html(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "METRICS", True)
    client = site.requester.client("root")
    rows = {row for row, method in PAGES if method == "GET" and row.partition(":")[0] in FILES}
    assert {row.partition(":")[0] for row in rows} == set(FILES)
    for row in rows:
        response = client.get(site.requester.address(row))
        response.close()
        is_page = response.headers["Content-Type"].startswith("text/html")
        assert not is_page or response.status_code >= 400, row
