"""Modules of the labelling form by themselves: outbox, reserve and keys, imported into a bare page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.annotation.browser_keyboard import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

pytestmark = pytest.mark.browser
MODULES = "/static/annotation/label"
RELATIONS = {"lived_in": "1", "born_in": "2", "died_in": ""}
CHOICES = "".join(
    f'<input type="checkbox" name="relation" value="{name}" data-title="{name}" data-key="{key}">'
    for name, key in RELATIONS.items()
)
PAGE = f"""
<form id="work" data-root="/api/v1/" data-reserve="/api/v1/reserve" data-history="/api/v1/history"
      data-token-page="/docs/keyboard/" data-login="/login/" data-owner="harbour:7" data-person="7"
      data-round="no">{CHOICES}</form>
<p id="saved"></p><div id="conflicts"></div>
<dialog id="keys-dialog"></dialog><p id="keys-message"></p><button id="keys-reset"></button>
"""


@pytest.fixture
def bare(live: str, page: Page) -> Page:
    """Page of the service with the elements that the modules need, and no running form."""
    load(page)
    return page


def load(page: Page) -> None:
    page.goto("/docs/keyboard/")
    page.evaluate("html => { document.body.innerHTML = html }", PAGE)


def run(page: Page, module: str, code: str, argument: Any = None) -> Any:
    """Run the body of an async function with the module as `m` and the argument as `x`."""
    source = f"async x => {{ const m = await import('{MODULES}/{module}.js'); {code} }}"
    return page.evaluate(source, argument)


def queue(page: Page, *items: str) -> None:
    """Queue an answer to each item without waiting for the sending."""
    code = "for (const item of x) m.queue({ act: 'answer', item, name: item, answer: '', body: {} });"
    run(page, "outbox", code, list(items))


def unsent(page: Page) -> list[str]:
    return list(run(page, "storage", "return m.unsent.read().map(({ item }) => item);"))


def item_of(route: Route) -> str:
    return route.request.url.split("/items/")[1].split("/")[0]


def accept(route: Route) -> None:
    route.fulfill(status=201, json={"number": 1, "repeated": False, "feedback": None})


def test_answers_are_sent_one_after_another_in_order(bare: Page) -> None:
    sent: list[str] = []
    bare.route("**/items/**", lambda route: (sent.append(item_of(route)), accept(route)))
    queue(bare, "a", "b", "c")
    bare.wait_for_function("() => document.querySelector('#saved').dataset.unsent === '0'")
    assert sent == ["a", "b", "c"]
    assert unsent(bare) == []


def test_an_unreachable_server_is_retried_with_the_same_client_id(bare: Page) -> None:
    sent: list[Route] = []

    def fail_once(route: Route) -> None:
        sent.append(route)
        if len(sent) == 1:
            route.fulfill(status=503, body="")

    bare.route("**/items/**", fail_once)
    queue(bare, "a")
    bare.locator("#saved[data-state=offline][data-unsent='1']").wait_for()
    assert unsent(bare) == ["a"]
    wait_until(bare, lambda: len(sent) == 2)
    accept(sent[1])
    bare.locator("#saved[data-state=saved][data-unsent='0']").wait_for()
    first, second = (json.loads(route.request.post_data or "{}") for route in sent)
    assert first == second
    assert first["client_id"]


def test_unsent_answers_survive_a_reload_in_their_order(bare: Page) -> None:
    bare.route("**/items/**", lambda route: route.abort())
    queue(bare, "a", "b", "c")
    bare.locator("#saved[data-unsent='3']").wait_for()
    load(bare)
    assert unsent(bare) == ["a", "b", "c"]


def test_a_rejected_answer_becomes_a_conflict_and_the_next_one_is_sent(bare: Page) -> None:
    def reject_first(route: Route) -> None:
        if item_of(route) == "a":
            route.fulfill(status=400, json={"detail": "Unknown label.", "code": "unknown_label"})
        else:
            accept(route)

    bare.route("**/items/**", reject_first)
    queue(bare, "a", "b")
    bare.locator(".conflict[data-code=unknown_label]").wait_for()
    bare.locator("#saved[data-state=conflict][data-unsent='0']").wait_for()
    assert run(bare, "storage", "return m.conflicts.read().map(({ item }) => item);") == ["a"]


def lease(number: int) -> dict[str, Any]:
    return {"lease": number, "item": {"id": f"i{number}"}, "base": 0, "suggestion": None}


def test_the_reserve_hands_out_leases_once_and_in_order(bare: Page) -> None:
    requests: list[dict[str, Any]] = []

    def answer(route: Route) -> None:
        requests.append(json.loads(route.request.post_data or "{}"))
        # the second response repeats a lease, as after a repeated request
        leases = [[lease(1)], [lease(1), lease(2)], []][len(requests) - 1]
        route.fulfill(json={"leases": leases})

    bare.route("**/reserve", answer)
    taken = run(
        bare,
        "reserve",
        """await m.fetchOne();
        await m.fillReserve();
        return [m.takeNext(), m.takeNext(), m.takeNext()].map((work) => work?.lease ?? null);""",
    )
    assert taken == [1, 2, None]
    assert requests[0] == {"holding": [], "n": 1}
    assert [request["holding"] for request in requests[1:]] == [[1], [1, 2]]


def test_a_sentence_that_is_leased_again_while_it_is_here_comes_once(bare: Page) -> None:
    """After a pause its lease has ended, and the server leases it anew."""
    replies = [[lease(1), lease(2)], [lease(number) | {"lease": number + 2} for number in (1, 2)], []]
    held: list[list[int]] = []

    def answer(route: Route) -> None:
        held.append(json.loads(route.request.post_data or "{}")["holding"])
        route.fulfill(json={"leases": replies[len(held) - 1]})

    bare.route("**/reserve", answer)
    taken = run(
        bare,
        "reserve",
        """await m.fetchOne();
        const shown = [m.takeNext()];
        await m.fillReserve();
        return [...shown, m.takeNext(), m.takeNext()].map((work) => work?.item.id ?? null);""",
    )
    assert taken == ["i1", "i2", None]
    assert held == [[], [1, 2], [3, 4]]


def test_a_sentence_with_an_unsent_answer_is_not_shown_again(bare: Page) -> None:
    bare.route("**/items/**", lambda route: route.abort())
    bare.route("**/reserve", lambda route: route.fulfill(json={"leases": [lease(1), lease(2)]}))
    queue(bare, "i1")
    bare.locator("#saved[data-unsent='1']").wait_for()
    taken = run(
        bare,
        "reserve",
        "await m.fetchOne(); return [m.takeNext(), m.takeNext()].map((w) => w?.lease ?? null);",
    )
    assert taken == [2, None]


def keys(page: Page) -> dict[str, str]:
    code = "m.assignKeys(); return Object.fromEntries(x.map((command) => [command, m.keyOf(command)]));"
    return dict(run(page, "keys", code, ["na", "flag", "rel:lived_in", "rel:born_in", "rel:died_in"]))


def test_relations_have_the_keys_of_the_page(bare: Page) -> None:
    expected = {"na": "N", "flag": "F", "rel:lived_in": "1", "rel:born_in": "2", "rel:died_in": ""}
    assert keys(bare) == expected


def test_a_key_assigned_by_hand_is_taken_from_its_default_command(bare: Page) -> None:
    changes = json.dumps({"flag": "1", "rel:died_in": "X"})
    bare.evaluate("changes => localStorage.setItem('evalsvc-keys:7', changes)", changes)
    expected = {"na": "N", "flag": "1", "rel:lived_in": "", "rel:born_in": "2", "rel:died_in": "X"}
    assert keys(bare) == expected


CHORDS: list[tuple[dict[str, Any], str | None]] = [
    ({"key": "&", "code": "Digit1"}, "1"),  # a French keyboard
    ({"key": "!", "code": "Digit1", "shiftKey": True}, "⇧1"),
    ({"key": "a", "code": "KeyQ"}, "A"),
    ({"key": "ф", "code": "KeyA"}, "A"),  # a Russian keyboard
    ({"key": "?", "code": "Slash", "shiftKey": True}, "?"),
    ({"key": " ", "code": "Space"}, None),
]


def test_a_key_is_named_by_its_place_or_its_character(bare: Page) -> None:
    code = "return x.map((event) => m.chordOf(new KeyboardEvent('keydown', event)));"
    assert run(bare, "keys", code, [event for event, _ in CHORDS]) == [chord for _, chord in CHORDS]
