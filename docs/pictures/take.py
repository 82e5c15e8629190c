"""Take the README's pictures from the running demo: `python docs/pictures/take.py [http://127.0.0.1:8000]`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
DATA = Path(os.environ.get("EVALSVC_DATA", HERE.parents[1] / ".data"))
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
WIDTH = 1280


def log_in(page: Page, name: str) -> None:
    passwords = json.loads((DATA / "demo-logins.json").read_text())
    page.goto("/login/")
    page.fill("#id_username", name)
    page.fill("#id_password", passwords[name])
    page.press("#id_password", "Enter")
    page.wait_for_url("**/")


def board(page: Page) -> None:
    page.goto("/boards/harbour-relations/")
    page.screenshot(path=HERE / "board.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": 940})


def label(page: Page) -> None:
    log_in(page, "mirela")
    page.goto("/label/harbour-news/")
    page.wait_for_selector(".ent--head")
    page.keyboard.press("3")
    page.screenshot(path=HERE / "label.png", clip={"x": 0, "y": 0, "width": WIDTH, "height": 780})


def main() -> None:
    base = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        view = {"width": WIDTH, "height": 940}
        page = browser.new_context(base_url=base, viewport=view, color_scheme="light").new_page()
        board(page)
        label(page)
        browser.close()


if __name__ == "__main__":
    main()
