"""Account pages in Chromium: keyboard and accessibility."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.urls import reverse

from evalsvc.core.accounts import invitations, teams, tokens
from evalsvc.core.accounts.models import ApiToken, Team, User
from tests.cast.browser import open_as
from tests.places.browser import WIDER, barriers

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
PASSWORD, NEW = "harbour-lamp-7", "seven-lamps-at-sea"


WITHOUT_TLS = """() => {
  Object.defineProperty(navigator, "clipboard", { value: undefined });
  document.addEventListener("copy", ({ target }) => (window.copied = target.value));
}"""


@pytest.fixture
def kim(live: str) -> User:
    return User.objects.create_superuser("kim", password=PASSWORD, first_name="Kim", last_name="Lo")


@pytest.fixture
def team(kim: User) -> Team:
    team = teams.create_team(name="Kelpie", by=kim)
    tokens.issue(kim, name="cluster", team=team, days=30)
    invitations.invite(teams.INVITATION_TARGET, team, role="member", by=kim, note="Mia")
    return team


def log_in(page: Page) -> None:
    """Log in with the keyboard; the first field has the focus."""
    page.goto(reverse("login"))
    page.locator("#id_username:focus").wait_for()  # a page is drawn once before the focus is set
    page.keyboard.type("kim")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.mark.parametrize("name", ["account", "people", "team"])
def test_a_page_has_no_accessibility_violations(page: Page, team: Team, name: str) -> None:
    open_as(page, "kim", reverse(name, args=["kelpie"] if name == "team" else []))
    assert barriers(page) == []


def test_an_invitation_created_by_one_admits_another(page: Page, team: Team) -> None:
    open_as(page, "kim", reverse("team", args=["kelpie"]))
    page.get_by_label("People").fill("Nora")
    with page.expect_navigation():  # with the script of the button below
        page.get_by_role("button", name="Create links").click()
    link = page.locator(".secret code").inner_text()
    page.evaluate(WITHOUT_TLS)
    page.get_by_role("button", name="Copy the link for Nora").click()
    page.get_by_text("Copied", exact=True).wait_for()
    assert page.evaluate("copied") == link
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("banner").get_by_role("link", name="Log in").wait_for()
    page.goto(link)
    assert barriers(page) == []
    page.reload()
    page.locator("input:focus").wait_for()
    for value in ("nora", "Nora", "", "nora@example.org", NEW, NEW):
        page.keyboard.type(value)
        page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.get_by_role("heading", level=1).inner_text() == "Kelpie"
    assert teams.role_in(team, User.objects.get(username="nora")) == "member"


@pytest.mark.parametrize("name", ["team", "account"])
def test_a_token_is_made_with_the_password_and_a_wrong_one_is_corrected(
    page: Page, team: Team, name: str
) -> None:
    open_as(page, "kim", reverse(name, args=["kelpie"] if name == "team" else []))
    form = page.locator(".token-new")
    form.get_by_label("Name").fill("laptop")
    form.get_by_label("Scope").select_option("read")
    form.get_by_label("Password").fill("wrong")
    with page.expect_navigation():
        form.get_by_role("button", name="Create token").click()
    page.get_by_text("Wrong password.").wait_for()
    assert barriers(page) == []
    assert (page.get_by_label("Name").input_value(), page.get_by_label("Scope").input_value()) == (
        "laptop", "read",
    )  # fmt: skip
    page.get_by_label("Password").fill(PASSWORD)
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.locator(".secret code").inner_text().startswith("evs_")
    made = ApiToken.objects.latest("pk")
    assert (made.name, made.scope, made.team) == ("laptop", "read", team if name == "team" else None)


def test_the_account_page_is_reachable_on_narrow_screens(page: Page, team: Team) -> None:
    log_in(page)
    for width in (960, 660, 360):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(WIDER) == 0, width
    link = page.get_by_role("link", name="Kim Lo")
    box = link.bounding_box()
    assert box
    assert box["height"] >= 24  # pixels: what a finger needs
    link.click()
    page.get_by_role("heading", level=1, name="Kim Lo").wait_for()
