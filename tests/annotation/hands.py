"""Scripted hands on the span editor: by keyboard, by mouse, by touch. They count what they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.annotation.browser_keyboard import press

if TYPE_CHECKING:
    from playwright.sync_api import Page

Doc = dict[str, Any]
Units = list[list[int]]

# The editor's own units, and whether the text runs from right to left.
UNITS = """async (item) => {
  const { words, characters } = (await import("/static/annotation/spans/text.js")).textOf(item);
  return [words, characters, getComputedStyle(document.getElementById("sentence")).direction === "rtl"];
}"""
# Middles of units, once the span they are in is scrolled into view.
PLACES = """async ([item, span, units]) => {
  const { places } = (await import("/static/annotation/spans/text.js")).textOf(item);
  const root = document.getElementById("sentence");
  const range = document.createRange();
  const boxOf = ([start, end]) => {
    range.setStart(root.firstChild, places[start].from);
    range.setEnd(root.firstChild, places[end - 1].to);
    return range.getBoundingClientRect();
  };
  const { top, bottom } = boxOf(span);
  const middle = root.getBoundingClientRect().top + root.clientHeight / 2;
  root.scrollBy(0, (top + bottom) / 2 - middle); // where the text scrolls in a box, then the page
  const now = boxOf(span);
  if (now.top < innerHeight * 0.4 || now.bottom > innerHeight * 0.75)
    scrollBy(0, (now.top + now.bottom - innerHeight) / 2);
  return units.map(boxOf).map(({ x, y, width, height }) => [x + width / 2, y + height / 2]);
}"""


class Hand:
    """A person's hand; `answer` marks a document on the form and submits it."""

    def __init__(self, page: Page) -> None:
        self.page, self.counts = page, Counter[str]()

    def answer(self, doc: Doc, spans: list[Any], links: list[Any]) -> None:
        self.doc = {"text": doc.get("text", ""), "tokens": doc.get("tokens")}
        self.words, self.characters, self.backwards = self.page.evaluate(UNITS, self.doc)
        self.by_character = False
        for span in spans:
            if self.by_character is self._is_of_words(span):
                self.toggle_characters()
                self.by_character = not self.by_character
            self.mark(span)
        for head, name, tail in links:
            self.relate(head, name, tail, len(spans))
        self.submit(bool(spans))

    def _is_of_words(self, span: Any) -> bool:
        return span[0] in {start for start, _ in self.words} and span[1] in {end for _, end in self.words}

    @property
    def units(self) -> Units:
        return self.characters if self.by_character else self.words

    def toggle_characters(self) -> None:
        raise NotImplementedError

    def mark(self, span: Any) -> None:
        raise NotImplementedError

    def relate(self, head: int, name: str, tail: int, n: int) -> None:
        raise NotImplementedError

    def submit(self, some: bool) -> None:
        raise NotImplementedError


class Keyboard(Hand):
    """Arrows, labels by their digits, Tab through spans."""

    def press(self, *keys: str) -> None:
        self.counts["keys"] += len(keys)
        press(self.page, *keys)

    def answer(self, doc: Doc, spans: list[Any], links: list[Any]) -> None:
        self.last: tuple[int, int] | None = None  # offsets of the span that was marked last
        self.chosen = -1
        self.labels = self.page.locator("[data-mark]").evaluate_all("all => all.map(x => x.dataset.mark)")
        names = "all => all.map(x => x.dataset.relate)"
        self.relations = self.page.locator("[data-relate]").evaluate_all(names)
        super().answer(doc, spans, links)

    def toggle_characters(self) -> None:
        self.press("k")

    def mark(self, span: Any) -> None:
        first, last = self._unit(span[0]), self._unit(span[1] - 1)
        on, back = ("ArrowLeft", "ArrowRight") if self.backwards else ("ArrowRight", "ArrowLeft")
        begin, end = map(self._unit, (self.last[0], self.last[1] - 1)) if self.last else (-1, -1)
        if first > end:
            self.press(*[on] * (first - end))
        elif first < begin:
            self.press(*[back] * (begin - first))
        else:  # within the span marked last: leave it first
            self.press(back, *[on] * (first - max(begin - 1, 0)))
        self.press(*[f"Shift+{on}"] * (last - first), str(self.labels.index(span[2]) + 1))
        self.last = (span[0], span[1])

    def _unit(self, offset: int) -> int:
        return max(at for at, (start, _) in enumerate(self.units) if start <= offset)

    def relate(self, head: int, name: str, tail: int, n: int) -> None:
        chosen = self.chosen if self.chosen >= 0 else n - 1
        self.press(*["Tab" if head > chosen else "Shift+Tab"] * abs(head - chosen))
        self.press(f"Shift+{self.relations.index(name) + 1}")
        others = [at for at in range(n) if at != head]
        first = next((at for at in others if at > head), others[0])
        steps = others.index(tail) - others.index(first)
        self.press(*["Tab" if steps > 0 else "Shift+Tab"] * abs(steps), "Enter")
        self.chosen = head

    def submit(self, some: bool) -> None:
        self.press(*([] if some else ["n"]), "Enter")


class Mouse(Hand):
    """Drags, double clicks and the tray of labels."""

    def _ends(self, span: Any) -> list[tuple[float, float]]:
        """Middle of the first and of the last unit of a span."""
        units = [unit for unit in self.units if unit[0] < span[1] and span[0] < unit[1]]
        ends = [units[0], units[-1]]
        return [tuple(place) for place in self.page.evaluate(PLACES, [self.doc, span[:2], ends])]

    def click(self, selector: str) -> None:
        self.counts["clicks"] += 1
        self.page.locator(selector).click()

    def toggle_characters(self) -> None:
        self.click("#characters")

    def mark(self, span: Any) -> None:
        first, last = self._ends(span)
        if first == last:  # a second click goes past a span that lies there
            self._until_selected(lambda: self.page.mouse.click(*first), "clicks")
        else:
            self.page.mouse.move(*first)
            self.page.mouse.down()
            self.page.mouse.move(*last, steps=3)
            self.page.mouse.up()
            self.counts["drags"] += 1
        self.click(f"[data-mark='{span[2]}']")

    def _until_selected(self, act: Callable[[], object], counted: str) -> None:
        for _ in range(4):
            act()
            self.counts[counted] += 1
            if self.page.locator("#span-note").inner_text().endswith("is selected."):
                return
            self.page.wait_for_timeout(600)  # not a double click
        note = self.page.locator("#span-note").inner_text()
        raise AssertionError(f"a span covers the words: {note!r} in {self.doc['text']!r}")

    def relate(self, head: int, name: str, tail: int, n: int) -> None:
        self.click(f"#span-list tr:nth-child({head + 1}) button")
        self.click(f"[data-relate='{name}']")
        self.click(f"#span-list tr:nth-child({tail + 1}) button")

    def submit(self, some: bool) -> None:
        if not some:
            self.click("label:has(#na)")
        self.click("#submit")


class Touch(Mouse):
    """Taps on the first and the last word, and the tray of labels, on a phone."""

    def click(self, selector: str) -> None:
        self.counts["taps"] += 1
        self.page.locator(selector).tap()

    def mark(self, span: Any) -> None:
        first, last = self._ends(span)
        self._until_selected(lambda: self.page.touchscreen.tap(*first), "taps")
        if first != last:
            self.counts["taps"] += 1
            self.page.touchscreen.tap(*last)
        self.click(f"[data-mark='{span[2]}']")

    def submit(self, some: bool) -> None:
        if not some:
            self.click(".work__bar label[for=na]")
        self.click("#submit")
