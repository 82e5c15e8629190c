"""Every page of the site in Chromium: no barrier that axe knows in either theme, none wider than a phone."""

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
from tests.places import postgres as pg

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

pytestmark = pytest.mark.browser

FILES = {
    *("health", "client", "schema", "board-csv", "board-json", "board-ranks", "setting-inputs"),
    *("submission-curve-svg", "submission-curve-csv", "test-set-lines", "judgments"),
    *("agreement-svg", "agreement-pairs", "agreement-relations", "mine-svg", "mine-csv"),
    *("progress-days-svg", "progress-days-csv", "progress-people-csv", "progress-labels-csv"),
}
PARTS = {"submission-state"}  # of a page, fetched by it
FOREIGN = {"api-docs"}  # drawn by a library: nothing that bars anybody, its order of headings is its own
DRAWN_LATER = {"label": "#work", "api-docs": ".opblock"}  # by a script, after the page came
# What the colours or the width can change; everything else is checked at first.
AGAIN = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
# Axe passes over text on a drawn ground: the strips that say where there is more are away meanwhile.
PLAIN = "document.styleSheets[0].insertRule('.scroll, .file { background-image: none !important }')"
# Whose page it is first of all; the administrator sees what nobody else does.
FIRST = ("cura", "orga", "ownr", "anno", "adju", "stra", "anon", "root")
# Pages that others see otherwise.
ALSO = [
    *(("home", who) for who in ("anon", "stra", "anno", "ownr", "orga")),
    *(("project", who) for who in ("anno", "view", "adju")),
    *(("label-index", who) for who in ("anno", "stra")),
    *(("agreement", "view"), ("progress", "view"), ("mine", "anno"), ("label", "anno"), ("test-set", "view")),
    *(("board", who) for who in ("anon", "ownr")),
    *(("boards", "anon"), ("submit", "ownr"), ("submissions", "ownr"), ("submission", "orga")),
    *(("people", "stra"), ("dispute", "anno"), ("test-set", "stra")),  # refused: a page of its own
]


def of_pages() -> list[tuple[str, str]]:
    """Each page, and who looks at it."""
    rows = {row: cells for (row, method), cells in PAGES.items() if method == "GET"}
    shown = {row: cells for row, cells in rows.items() if row.partition(":")[0] not in FILES | PARTS}
    first = [(row, who) for row, cells in shown.items() for who in FIRST if cells[who] == "200"]
    seen = dict(reversed(first))
    return sorted({*seen.items(), *ALSO})


class House:
    """The service with the whole cast in it, and a window for each person who looks."""

    def __init__(self, browser: Browser, server: LiveServer) -> None:
        self.requester = Requester(ServiceCast.create())
        self.browser, self.server = browser, server
        self.windows: dict[str, Page] = {}
        self.complaints: list[str] = []

    def window(self, who: str) -> Page:
        if who not in self.windows:
            self.windows[who] = self._context(who).new_page()
            self.windows[who].on("pageerror", lambda error: self.complaints.append(str(error)))
            self.windows[who].on("console", self.hear)
        return self.windows[who]

    def hear(self, line: ConsoleMessage) -> None:
        if is_complaint(line):
            self.complaints.append(line.text)

    def _context(self, who: str) -> BrowserContext:
        """Nothing moves: a colour on its way from one theme to the other would be neither."""
        context = self.browser.new_context(base_url=self.server.url, reduced_motion="reduce")
        context.set_default_timeout(60_000)
        if PEOPLE[who]:
            client = Client()
            client.force_login(self.requester.cast[PEOPLE[who]])
            cookie = {"name": settings.SESSION_COOKIE_NAME, "url": self.server.url}
            context.add_cookies([{**cookie, "value": client.cookies[cookie["name"]].value}])
        return context


@pytest.fixture(scope="module")
def house(browser: Browser, django_db_setup: None, django_db_blocker: object) -> Iterator[House]:
    """Made once: every page is only looked at."""
    with django_db_blocker.unblock():  # type: ignore[attr-defined]
        server = LiveServer("localhost")
        try:
            made = House(browser, server)
            yield made
            for window in made.windows.values():
                window.context.close()
        finally:
            server.stop()
            pg.empty()


def barriers(page: Page, rules: list[str] | None = None) -> list[str]:
    options = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    found = page.evaluate("options => axe.run(options)", options)["violations"]
    return [
        f"{entry['id']} ({entry['impact']}): {node['html'][:200]}"
        for entry in found
        for node in entry["nodes"][:9]
    ]


@pytest.mark.parametrize(("row", "who"), of_pages())
def test_a_page_has_no_barrier_and_fits_a_phone(house: House, row: str, who: str) -> None:
    page = house.window(who)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto(house.requester.address(row))
    if row in DRAWN_LATER:
        page.locator(DRAWN_LATER[row]).first.wait_for()
    page.evaluate(Axe().axe_script)
    page.evaluate(PLAIN)
    found = [f"light: {each}" for each in barriers(page)]
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 800})
    found += [f"dark: {each}" for each in barriers(page, AGAIN)]
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if row in FOREIGN:
        found = [each for each in found if "(serious)" in each or "(critical)" in each]
    assert "\n".join(found) == ""
    assert wider == 0
    assert house.complaints == []


def test_an_address_that_leads_nowhere_has_no_barrier(house: House) -> None:
    page = house.window("anon")
    page.goto("/nowhere/")
    page.evaluate(Axe().axe_script)
    assert barriers(page) == []


def test_the_description_of_the_api_wears_the_theme_of_the_other_pages(house: House) -> None:
    context = house.browser.new_context(base_url=house.server.url, color_scheme="dark")
    page = context.new_page()
    page.goto(house.requester.address("api-docs"))
    shown = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(shown)
    page.goto(house.requester.address("home"))
    assert page.evaluate(shown) == dark
    page.get_by_role("button", name="Theme").click()  # light, whatever the system says
    page.goto(house.requester.address("api-docs"))
    assert page.evaluate(shown) != dark
    context.close()


def test_what_is_not_looked_at_is_no_page(house: House) -> None:
    client = house.requester.client("root")
    for row in {row for row, method in PAGES if method == "GET" and row.partition(":")[0] in FILES}:
        response = client.get(house.requester.address(row))
        response.close()
        assert not response.headers["Content-Type"].startswith("text/html"), row
