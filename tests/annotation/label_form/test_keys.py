"""Keys of the relation form: shown where they act, never in the way of typing, to be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.annotation.browser_keyboard import (
    MANY,
    Start,
    chosen,
    press,
    read_back,
    see,
    wait_for_reserve,
    wait_until_sent,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
CAPS = {
    "Last 10": "H",
    "Undo": "Z",
    "Redo": "⇧Z",
    "Comment": "C",
    "Flag": "F",
    "Skip": "S",
    "Submit and next": "↵",
}
BY_KEYS = ("1", "z", "Shift+Z", "f", "s", "c")
BY_BUTTONS = (".rel:has-text('place lived')", "#undo", "#redo", "#flag", "#skip", "#comment-button")


def test_thirty_relations_have_keys_and_the_others_are_found_by_name(page: Page, start: Start) -> None:
    start(labels=MANY)
    press(page, "0", "Shift+Digit1", "Alt+Digit0")
    assert chosen(page) == ["r9", "r10", "r29"]
    press(page, "/")
    page.keyboard.type("relation 35")
    press(page, "Enter")
    assert chosen(page) == ["r9", "r10", "r29", "r35"]


def test_each_relation_shows_a_key_of_its_own(page: Page, start: Start) -> None:
    start(labels=MANY)
    caps = page.locator("#work .rel kbd:visible, #work .find kbd:visible").all_inner_texts()
    tens = [f"{before}{digit}" for before in ("", "⇧", "⌥") for digit in "1234567890"]
    assert caps == ["/", "N", *tens]
    buttons = page.locator(".work__bar button, #history")
    shown = dict(text.rsplit(maxsplit=1) for text in buttons.all_inner_texts())
    assert shown == CAPS
    assert len({*caps, *shown.values()}) == len(caps) + len(shown)


def test_each_key_does_what_its_button_does(page: Page, start: Start) -> None:
    start()
    for choose, undo, redo, flag, skip, comment in (BY_KEYS, BY_BUTTONS):
        use(page, choose)
        assert read_back(page) == "Your answer: Ada lived in Turin."
        use(page, undo)
        assert chosen(page) == []
        use(page, redo)
        assert chosen(page) == ["lived_in"]
        use(page, flag)
        assert page.locator("#flag").get_attribute("aria-pressed") == "true"
        use(page, undo, undo, skip)
        page.locator("#skip-dialog[open]").wait_for()
        use(page, "Escape", comment)
        assert page.locator("#comment").is_visible()
        use(page, "Escape")
        assert (chosen(page), page.locator("#flag").get_attribute("aria-pressed")) == ([], "false")


def use(page: Page, *hands: str) -> None:
    """Press a key, or click on what is named by more than a key."""
    for hand in hands:
        if hand in ("Escape", *BY_KEYS):
            page.keyboard.press(hand)
        else:
            page.locator(hand).click()


def test_the_usual_shortcuts_undo_and_redo(page: Page, start: Start) -> None:
    start()
    press(page, "1", "2", "Control+z", "Control+z")
    assert chosen(page) == []
    press(page, "Control+Shift+Z", "Control+y")
    assert chosen(page) == ["lived_in", "born_in"]
    press(page, "c")
    page.keyboard.type("ab")
    press(page, "Control+z")
    assert chosen(page) == ["lived_in", "born_in"]


def test_arrows_move_the_focus_and_space_chooses(page: Page, start: Start) -> None:
    start()
    press(page, "ArrowDown", "Space")
    assert chosen(page) == ["lived_in"]
    assert page.locator("aside section:not([hidden]) h2").inner_text() == "place lived"
    press(page, "ArrowDown")
    assert page.locator("aside section:not([hidden]) h2").first.inner_text() == "place of birth"


@pytest.mark.parametrize("opener", ["c", "/"])
def test_keys_typed_in_a_field_are_text(page: Page, start: Start, opener: str) -> None:
    start()
    press(page, opener)
    page.keyboard.type("n1zsfh?/")
    field = page.locator("#comment" if opener == "c" else "#find")
    assert field.input_value() == "n1zsfh?/"
    assert (chosen(page), page.locator("dialog[open]").count()) == ([], 0)
    press(page, "Escape", "1")
    assert chosen(page) == ["lived_in"]


def test_arrows_choose_among_the_matches_of_a_search(page: Page, start: Start) -> None:
    start()
    press(page, "/")
    page.keyboard.type("place of")
    assert page.locator("#hits li").all_inner_texts() == ["↵\nplace of birth", "3\nplace of death"]
    press(page, "ArrowDown", "Enter")
    assert chosen(page) == ["died_in"]
    press(page, "/")
    page.keyboard.type("no such thing")
    page.wait_for_timeout(150)  # longer than the list waits before it hides behind whoever left
    page.get_by_text("No relation matches").wait_for()
    press(page, "Enter", "Escape", "Enter")
    see(page, 2)
    wait_until_sent(page, 1)


def test_a_key_is_changed_stored_and_reset(page: Page, start: Start) -> None:
    start()
    press(page, "?")
    page.get_by_role("button", name="Change the key for place lived").click()
    press(page, "q")
    page.get_by_text("The key for place lived is now Q.").wait_for()
    press(page, "Escape", "q")
    assert chosen(page) == ["lived_in"]
    press(page, "?")
    page.get_by_text("Changed keys are saved on this device.").wait_for()
    page.reload()
    see(page, 1)
    assert page.locator(".rel", has_text="place lived").locator("kbd").inner_text() == "Q"
    press(page, "1")
    assert chosen(page) == ["lived_in"]
    press(page, "?")
    page.get_by_role("button", name="Reset all keys").click()
    press(page, "Escape", "1")
    assert chosen(page) == []


def test_a_relation_beyond_the_thirtieth_can_be_given_a_key(page: Page, start: Start) -> None:
    start(labels=MANY)
    wait_for_reserve(page, 7)
    press(page, "?")
    page.get_by_role("button", name="Change the key for relation 36").click()
    press(page, "Alt+x", "Escape", "Alt+x", "Enter")
    see(page, 2)
    assert page.locator(".rel", has_text="relation 36").locator("kbd").inner_text() == "⌥X"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("2", "2 is already the key for place of birth."),
        ("z", "Z is already the key for Undo."),
        ("Enter", "can’t be changed"),
        ("Control+k", "The browser uses"),
    ],
)
def test_a_key_in_use_is_rejected(page: Page, start: Start, key: str, message: str) -> None:
    start()
    press(page, "?")
    page.get_by_role("button", name="Change the key for place lived").click()
    press(page, key)
    assert message in page.locator("#keys-message").inner_text()
    press(page, "Escape", "Escape", "1")
    assert chosen(page) == ["lived_in"]
