"""Every page in Chromium: accessible in both themes, and not wider than a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from tests.cast.service import ServiceCast
from tests.conftest import is_complaint
from tests.permissions.requester import PEOPLE, Requester
from tests.permissions.table import PAGES
from tests.places.extent import FULL
from tests.places.tables import empty

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

pytestmark = pytest.mark.browser

FILES = {
    *("health", "ready", "metrics", "client", "schema", "board-csv", "board-json", "board-ranks"),
    *("setting-inputs", "board-inputs"),
    *("submission-curve-svg", "submission-curve-csv", "test-set-lines", "judgments"),
    *("agreement-svg", "agreement-pairs", "agreement-relations", "mine-svg", "mine-csv"),
    *("progress-days-svg", "progress-days-csv", "progress-people-csv", "progress-labels-csv"),
}
FRAGMENTS = {"submission-state"}  # parts that a page loads
THIRD_PARTY = {"api-docs"}  # rendered by a library: only serious violations count
RENDERED_BY_SCRIPT = {"label": "#work", "api-docs": ".opblock"}  # selector to wait for
# Rules that depend on colours or width, checked again in the dark theme on a phone.
STYLE_RULES = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
# Axe skips text on background images, so scroll shadows are removed.
WITHOUT_BACKGROUNDS = (
    "document.styleSheets[0].insertRule('.scroll, .file { background-image: none !important }')"
)
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
    return sorted((row, who) for row, who in seen.items() if ":" not in row)


class Site:
    """The service with the whole cast, and a browser window per viewer."""

    def __init__(self, browser: Browser, server: LiveServer) -> None:
        self.requester = Requester(ServiceCast.create())
        self.browser, self.server = browser, server
        self.windows: dict[str, Page] = {}
        self.complaints: list[str] = []

    def window(self, who: str) -> Page:
        if who not in self.windows:
            self.windows[who] = self._context(who).new_page()
            self.windows[who].on("pageerror", lambda error: self.complaints.append(str(error)))
            self.windows[who].on("console", self.collect)
        return self.windows[who]

    def collect(self, line: ConsoleMessage) -> None:
        if is_complaint(line):
            self.complaints.append(line.text)

    def _context(self, who: str) -> BrowserContext:
        """A logged-in browser without animations, which would blend the colours of two themes."""
        context = self.browser.new_context(base_url=self.server.url, reduced_motion="reduce")
        context.set_default_timeout(60_000)
        if PEOPLE[who]:
            client = Client()
            client.force_login(self.requester.cast[PEOPLE[who]])
            cookie = {"name": settings.SESSION_COOKIE_NAME, "url": self.server.url}
            context.add_cookies([{**cookie, "value": client.cookies[cookie["name"]].value}])
        return context


@pytest.fixture(scope="module")
def site(browser: Browser, django_db_setup: None, django_db_blocker: object) -> Iterator[Site]:
    """Created once, as the tests only read pages."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        server = LiveServer("localhost")
        try:
            made = Site(browser, server)
            yield made
            for window in made.windows.values():
                window.context.close()
        finally:
            server.stop()
            empty()


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [
        f"{entry['id']} ({entry['impact']}): {node['html'][:200]}"
        for entry in found
        for node in entry["nodes"][:9]
    ]


@pytest.mark.parametrize(("row", "who"), pages_and_viewers())
def test_a_page_passes_axe_and_fits_a_phone(site: Site, row: str, who: str) -> None:
    page = site.window(who)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(site.requester.address(row))
    if row in RENDERED_BY_SCRIPT:
        page.locator(RENDERED_BY_SCRIPT[row]).first.wait_for()
    page.evaluate(Axe().axe_script)
    page.evaluate(WITHOUT_BACKGROUNDS)
    found = [f"light: {each}" for each in violations(page)]
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 800})
    found += [f"dark: {each}" for each in violations(page, STYLE_RULES)]
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if row in THIRD_PARTY:
        found = [each for each in found if "(serious)" in each or "(critical)" in each]
    assert "\n".join(found) == ""
    assert wider == 0
    assert site.complaints == []


def test_the_not_found_page_passes_axe(site: Site) -> None:
    page = site.window("anon")
    page.goto("/nowhere/")
    page.evaluate(Axe().axe_script)
    assert violations(page) == []


def test_the_api_documentation_follows_the_chosen_theme(site: Site) -> None:
    context = site.browser.new_context(base_url=site.server.url, color_scheme="dark")
    page = context.new_page()
    page.goto(site.requester.address("api-docs"))
    shown = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(shown)
    page.goto(site.requester.address("home"))
    assert page.evaluate(shown) == dark
    page.get_by_role("button", name="Theme").click()  # the light theme
    page.goto(site.requester.address("api-docs"))
    assert page.evaluate(shown) != dark
    context.close()


def test_routes_left_out_of_the_check_return_no_html(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "METRICS", True)
    client = site.requester.client("root")
    rows = {row for row, method in PAGES if method == "GET" and row.partition(":")[0] in FILES}
    assert {row.partition(":")[0] for row in rows} == set(FILES)
    for row in rows:
        response = client.get(site.requester.address(row))
        response.close()
        assert not response.headers["Content-Type"].startswith("text/html"), row
