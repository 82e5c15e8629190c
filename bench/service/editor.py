"""Scripting time of each action in the span editor, in Chromium."""

from __future__ import annotations

import statistics
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.test import Client

from annotation import projects
from annotation.imports import batches
from annotation.models import Batch
from annotation.ontology import inventory
from annotation.queue import quality_settings
from bench.harness import Goal
from bench.service.running import Service, wait_until
from evalsvc.core.accounts.models import User
from tests.cast.projects import jsonl_file
from tests.places.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

CHARACTERS, SPANS, LINKS, ROUNDS = 5_000, 300, 50, 7
LABELS, RELATION = ("person", "place", "organisation"), "met"
# CPU seconds of the page's thread in scripts, and in the styles and layouts that scripts ask for
METRICS = {"ScriptDuration", "LayoutDuration", "RecalcStyleDuration"}
DRAWN = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
)
# Keys in order, each with the action that it is measured as; the others take it back.
PREDICTIONS = [("y", "accept a prediction"), ("Shift+X", "refuse all predictions"), ("z", ""), ("z", "")]
ACTIONS = [
    ("Tab", "choose the span with 50 relations"),
    ("]", "resize it"), ("z", "undo"), ("Shift+Z", "redo"), ("z", ""),
    ("2", "relabel it"), ("z", ""), ("t", "turn a relation"), ("z", ""),
    ("Shift+1", "begin a relation"), ("Tab", "another tail"), ("Enter", "make it"), ("z", ""),
    ("Delete", "remove it with its relations"), ("z", "undo the removal"),
    ("Escape", ""), ("ArrowRight", "caret"), ("Shift+ArrowRight", "select"),
    ("ArrowLeft", ""), ("ArrowRight", ""), ("1", "mark"), ("e", "find 59 places of this word"),
    ("e", "mark them"), ("z", "undo these marks"), ("z", ""), ("Escape", ""),
    ("ArrowDown", "next sentence"), ("ArrowUp", ""), ("Escape", ""),
]  # fmt: skip
PROJECTS = {"whole": ACTIONS, "paged": [("ArrowDown", "turn the page"), ("ArrowUp", "")]}


def editor(service: Service) -> dict[str, Any]:
    """Press each key in a text of 5,000 characters with 300 spans, and undo it."""
    seconds: dict[str, list[float]] = defaultdict(list)
    cookie = _seed()
    with chromium() as browser:
        for slug in PROJECTS:
            page = browser.new_context(base_url=service.url).new_page()
            page.context.add_cookies(
                [{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": service.url}]
            )
            page.goto(f"/label/{slug}/")
            page.locator(".marks__guess, .marks--guess").first.wait_for(state="attached")
            page.locator("#sentence").focus()
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            for _ in range(ROUNDS):
                _press(page, session, PREDICTIONS, seconds)
            page.keyboard.press("Shift+Y")
            page.keyboard.press("Escape")
            for _ in range(ROUNDS):
                _press(page, session, PROJECTS[slug], seconds)
    milliseconds = {name: round(statistics.median(each) * 1_000, 1) for name, each in seconds.items()}
    return {
        "case": f"{len(milliseconds)} actions on {SPANS} spans in {CHARACTERS:,} characters",
        "goals": [Goal("max", most=50, unit=" ms")],
        "max": max(milliseconds.values()),
        **milliseconds,
    }


def _seed() -> str:
    """Make the projects, each with a predicted text; return the session of their annotator."""
    olga, ann = (User.objects.get_or_create(username=name)[0] for name in ("olga", "ann"))
    words = [f"Name{at % 7:02} {'saw' if at % 5 else 'so.'} " for at in range(SPANS)]
    spans = [[at * 11, at * 11 + 6, LABELS[at % len(LABELS)]] for at in range(SPANS)]
    links = [[0, RELATION, at] for at in range(1, LINKS + 1)]
    lines: dict[str, dict[str, Any]] = {
        "items": {
            "id": "s1",
            "text": "".join([*words, *(f"w{at:03} " for at in range(CHARACTERS))])[:CHARACTERS],
        },
        "suggestions": {"id": "s1", "spans": spans, "relations": links},
    }
    for slug in PROJECTS:
        project = projects.create(title=slug, slug=slug, kind="joint", k=1, by=olga)
        inventory.add_labels(project, LABELS, by=olga)
        inventory.add_labels(project, [RELATION], by=olga, part="relation")
        projects.set_by_sentence(project, by_sentence=slug == "paged", by=olga)
        projects.set_member(project, user=ann, role="annotator", by=olga)
        for content, line in lines.items():
            batch = batches.receive(
                content=content,
                upload=jsonl_file([line]),
                filename=f"{content}.jsonl",
                format="",
                options={},
                by=olga,
                project=project,
            )
            wait_until(Batch.objects.filter(pk=batch.pk, state="done").exists)
        quality_settings.set_quality_options(project, by=olga, suggests=True)
        projects.open_for_work(project, by=olga)
    client = Client()
    client.force_login(ann)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


def _press(
    page: Page, session: CDPSession, keys: list[tuple[str, str]], seconds: dict[str, list[float]]
) -> None:
    for key, name in keys:
        before = _busy(page, session)
        page.keyboard.press(key)
        if name:
            seconds[name].append(_busy(page, session) - before)


def _busy(page: Page, session: CDPSession) -> float:
    page.evaluate(DRAWN)
    metrics = session.send("Performance.getMetrics")["metrics"]
    return sum(metric["value"] for metric in metrics if metric["name"] in METRICS)
