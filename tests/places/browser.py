"""Chromium from the system, driven by Playwright, and checks of a page in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from axe_playwright_python.base import AXE_SCRIPT

from tests.places.extent import FULL
from tests.places.skipping import skip_or_fail

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

View = tuple[Literal["light", "dark"], int, int]

# The first is quickest, as it draws no window.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREEN: View = ("light", 1280, 900)
PHONE: View = ("dark", 360, 800)
VIEWS = (SCREEN, PHONE)
# Rules that depend on the view.
STYLE_RULES = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]
# Axe skips text on background images, such as scroll shadows, and would see colours on their way.
PLAIN = """() => [".scroll, .file { background-image: none !important }", "* { transition: none !important }"]
  .map((rule) => document.styleSheets[0].insertRule(rule))"""
RUN_AXE = """async (rules) => {
  const options = { resultTypes: ["violations"], preload: false, ...(rules && { runOnly: rules }) };
  return (await axe.run(options)).violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html }) => `${id} (${impact}): ${html.slice(0, 200)}`));
}"""
UNMARKED = """() => {
  const isMarked = (label) => getComputedStyle(label, "::after").content.includes("required");
  return [...document.querySelectorAll("input:required:not([type=radio]), textarea:required")]
    .filter(({ labels }) => ![...labels].some(isMarked))
    .map(({ outerHTML }) => `required and not marked: ${outerHTML.slice(0, 200)}`);
}"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
TIMEOUT = 120_000  # milliseconds, on a busy machine
# What a test holds back stays on its way, however slow the machine is.
UNHURRIED = "AbortSignal.timeout = () => new AbortController().signal"


@contextmanager
def chromium() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if path is None:
        skip_or_fail("browser", "no chromium on PATH (apt-get install chromium-headless-shell)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


class Window:
    """A page for one test after another, as opening one costs more than most tests."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.address = browser, address
        self.page: Page | None = None
        self.complaints: list[str] = []

    def open(self) -> Page:
        if self.page is None:
            context = self.browser.new_context(base_url=self.address, reduced_motion="reduce")
            context.add_init_script(UNHURRIED)
            context.set_default_timeout(TIMEOUT)  # of further tabs too
            context.on("weberror", lambda error: self.complaints.append(str(error.error)))
            context.on("console", self._collect)
            self.page = context.new_page()
        look_at(self.page, SCREEN)
        return self.page

    def clear(self) -> list[str]:
        """Leave nothing to the next test; return what was complained of."""
        if self.page:
            context = self.page.context
            context.set_offline(False)
            for other in {*context.pages} - {self.page}:
                other.close()
            self.page.unroute_all(behavior="ignoreErrors")
            self.page.goto("/healthz")
            self.page.evaluate("localStorage.clear()")
            context.clear_cookies()
        complaints, self.complaints = self.complaints, []
        return complaints

    def close(self) -> None:
        """Close the page with its context, so that the next test begins with another."""
        if self.page:
            self.page.context.close()
        self.page = None

    def _collect(self, line: ConsoleMessage) -> None:
        if is_complaint(line):
            self.complaints.append(line.text)


def is_complaint(line: ConsoleMessage) -> bool:
    """True for script errors and CSP violations; failed requests are left to the test."""
    return line.type == "error" and not line.text.startswith("Failed to load resource")


def look_at(page: Page, view: View) -> None:
    """Set theme and size of the window."""
    theme, width, height = view
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": height})


def in_turn(at: int) -> tuple[View, ...]:
    """One of the two views; with `FULL=1` both."""
    return VIEWS if FULL else (VIEWS[at % 2],)


def barriers(page: Page, views: tuple[View, ...] = VIEWS) -> list[str]:
    """Violations of axe in these views, required fields without a mark, and excess width on a phone."""
    page.evaluate(AXE_SCRIPT)
    page.evaluate(PLAIN)
    found = list(page.evaluate(UNMARKED))
    for at, view in enumerate(views):
        look_at(page, view)
        found += [f"{view[0]}: {each}" for each in page.evaluate(RUN_AXE, STYLE_RULES if at else None)]
    look_at(page, PHONE)
    if wider := page.evaluate(WIDER):
        found.append(f"{wider} px wider than a phone (serious)")
    look_at(page, SCREEN)
    return found
