"""Texts marked in a browser by three hands, disputed, decided, frozen and exported, to the character."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from annotation import projects
from annotation.freezing import builder
from annotation.models import Vote
from annotation.ontology import inventory
from annotation.testset import export_lines
from tests.annotation.browser_keyboard import wait_until
from tests.annotation.hands import Doc, Hand, Keyboard, Mouse, Touch
from tests.cast.basics import person, run_job
from tests.cast.browser import open_as
from tests.cast.projects import ProjectCast
from tests.places.browser import TIMEOUT
from tests.places.extent import FULL, one_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
# Scripts without blanks or from right to left, marks within words, line breaks, joined emoji, combining marks
DOCS: list[Doc] = [
    {
        "id": "lines",
        "text": "To Kim Roe:\r\n\tKim left  Ulm.\n\nUlm & Kim <b>",
        "spans": [[3, 10, "PER"], [14, 17, "PER"], [24, 27, "LOC"], [30, 33, "LOC"]],
        "relations": [[1, "based_in", 3]],
    },
    {
        "id": "plain",
        "text": "Ada Byrne works for Quay Optics in Vardø.",
        "spans": [[0, 9, "PER"], [20, 31, "ORG"], [35, 40, "LOC"]],
        "relations": [[0, "works_for", 1], [0, "based_in", 2], [1, "based_in", 2]],
    },
    {
        "id": "emoji",
        "text": "🚢🚢 Lumen Yard 👩\u200d🚀 hired Noe\u0301 Brun 🎉 in 𝔅ergen.",
        "spans": [[3, 13, "ORG"], [24, 33, "PER"], [39, 45, "LOC"]],
        "relations": [[1, "works_for", 0]],
    },
    {
        "id": "within",
        "text": "רות כהן גרה בעכו.",
        "spans": [[0, 7, "PER"], [13, 16, "LOC"]],
        "relations": [[0, "based_in", 1]],
    },
    {
        "id": "nested",
        "text": "Port of Varde Office shut",
        "spans": [[0, 20, "ORG"], [8, 13, "LOC"]],
        "relations": [[0, "based_in", 1]],
    },
    {
        "id": "blanks",
        "text": "李娜在北京工作。",
        "spans": [[0, 2, "PER"], [3, 5, "LOC"]],
        "relations": [[0, "based_in", 1]],
    },
    {"id": "nothing", "text": "Nothing to see here.", "spans": [], "relations": []},
]


def documents() -> list[Doc]:
    """Return the documents above, or those of a file in SPAN_DOCS, with answers."""
    path = os.environ.get("SPAN_DOCS")
    if not path:
        return one_in(4, DOCS)
    docs = [json.loads(line) for line in Path(path).read_text().split("\n") if line]
    return [doc for doc in docs if doc.get("tokens") or doc["text"].strip()]


def labels_of(docs: Iterable[Doc]) -> tuple[list[str], list[str]]:
    docs = list(docs)
    spans = dict.fromkeys(label for doc in docs for _, _, label in doc["spans"])
    links = dict.fromkeys(name for doc in docs for _, name, _ in doc["relations"])
    return list(spans), list(links)


def create(docs: list[Doc], kind: str) -> ProjectCast:
    labels, relations = labels_of(docs)
    cast = ProjectCast.create(kind=kind, k=3, labels=labels)
    if kind == "joint":
        inventory.add_labels(cast.project, relations, by=cast.curator, part="relation")
    projects.set_overlap(cast.project, may_overlap=True, by=cast.curator)
    projects.set_member(cast.project, user=person("cy"), role="annotator", by=cast.curator)
    texts = [{key: doc[key] for key in ("id", "text", "tokens") if key in doc} for doc in docs]
    cast.import_lines(*texts)
    return cast.open()


def answer_of(doc: Doc, kind: str, who: str, labels: list[str]) -> tuple[list[Any], list[Any]]:
    """Return what a person marks: all, all but the last span, or the last with another label."""
    spans = [list(span) for span in doc["spans"]]
    links = doc["relations"] if kind == "joint" else []
    if who == "bob" and spans:
        links = [link for link in links if len(spans) - 1 not in (link[0], link[2])]
        return spans[:-1], links
    if who == "cy" and spans:
        spans[-1][2] = labels[(labels.index(spans[-1][2]) + 1) % len(labels)]
    return spans, links


def is_settled(doc: Doc) -> bool:
    """True if nothing is marked, or the last span, with one vote, overlaps one with a majority."""
    *others, last = doc["spans"] or [None]
    return last is None or any(start < last[1] and last[0] < end for start, end, _ in others)


def label_all(page: Page, hand: Hand, docs: list[Doc], kind: str, who: str) -> None:
    labels, _ = labels_of(docs)
    by_text = {" ".join(doc["tokens"]) if doc.get("tokens") else doc["text"]: doc for doc in docs}
    open_as(page, who, "/label/harbour/")
    root = page.locator("#sentence")
    before = Vote.objects.count()
    page.locator("#work").wait_for()
    assert ("arrow keys" in page.locator("#span-note").inner_text()) is not isinstance(hand, Touch)
    for _ in docs:
        page.wait_for_function("() => !document.getElementById('work').hidden")
        text = root.evaluate("root => root.firstChild.data")
        hand.answer(by_text[text], *answer_of(by_text[text], kind, who, labels))
        error = page.locator("#answer-error")
        page.wait_for_function(
            "text => document.getElementById('sentence').firstChild.data !== text"
            " || document.getElementById('work').hidden || !document.getElementById('answer-error').hidden",
            arg=text,
        )
        assert error.is_hidden(), error.inner_text()
    wait_until(page, lambda: Vote.objects.count() == before + len(docs))


Claims = tuple[set[Any], set[Any]]


def claims(spans: list[Any], links: list[Any]) -> Claims:
    keys = [tuple(span) for span in spans]
    return set(keys), {(keys[head], name, keys[tail]) for head, name, tail in links}


def claims_in(payload: dict[str, Any]) -> Claims:
    return claims(payload["spans"], payload["relations"])


def decide_all(page: Page, cast: ProjectCast, right: dict[str, Claims]) -> None:
    """Adopt the complete answer that is right, by its key and Enter."""
    for item in cast.project.items.filter(state="disputed"):
        open_as(page, "judy", f"/projects/harbour/disputes/{item.key}/")
        options = page.locator("[name=choice][data-key^='⇧']")
        values = options.evaluate_all("all => all.map(x => [x.dataset.key, x.value])")
        key = next(key for key, value in values if claims_in(json.loads(value)) == right[item.external_id])
        page.keyboard.press(f"Shift+{key[1:]}")
        with page.expect_navigation():
            page.keyboard.press("Enter")


@pytest.mark.parametrize("kind", ["joint", *(["entities"] if FULL else [])])
def test_frozen_spans_are_those_marked_by_keyboard_mouse_and_touch(
    browser: Browser, page: Page, live: str, kind: str
) -> None:
    docs = documents()
    labels, _ = labels_of(docs)
    cast = create(docs, kind)
    context = browser.new_context(base_url=live, has_touch=True, viewport={"width": 360, "height": 740})
    context.set_default_timeout(TIMEOUT)
    phone = context.new_page()
    hands = {"ann": Keyboard(page), "bob": Mouse(page), "cy": Touch(phone)}
    for who, hand in hands.items():
        label_all(hand.page, hand, docs, kind, who)
        marked = [answer_of(doc, kind, who, labels) for doc in docs]
        n_spans, n_links = (sum(len(parts[at]) for parts in marked) for at in (0, 1))
        print(f"{type(hand).__name__}: {n_spans} spans, {n_links} relations, {dict(hand.counts)}")  # noqa: T201
    context.close()
    for doc in docs:
        for who in hands:
            vote = Vote.objects.get(item__external_id=doc["id"], annotator__user__username=who)
            assert claims_in(vote.payload) == claims(*answer_of(doc, kind, who, labels)), (who, doc)
    right = {
        doc["id"]: claims(*answer_of(doc, kind, "bob" if is_settled(doc) else "ann", labels)) for doc in docs
    }
    disputed = set(cast.project.items.filter(state="disputed").values_list("external_id", flat=True))
    assert disputed == {doc["id"] for doc in docs if not is_settled(doc)}
    decide_all(page, cast, right)
    made = builder.freeze(cast.project, name="Harbour", version="1.0", by=cast.curator)
    run_job("freeze", made.pk)
    made.refresh_from_db()
    frozen = [json.loads(line) for line in export_lines(made)]
    assert {line["id"]: claims_in(line) for line in frozen} == right
    for line, doc in zip(
        sorted(frozen, key=lambda x: x["id"]), sorted(docs, key=lambda x: x["id"]), strict=True
    ):
        assert line.get("text", line.get("tokens")) == doc.get("tokens", doc.get("text"))
