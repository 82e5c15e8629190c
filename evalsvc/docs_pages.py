"""The pages to look things up, made from the tables that the program itself uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import render

from evalsvc.core.errors.codes import ROOMS
from evalsvc.core.errors.handlers import CODES as STATUSES
from evalsvc.core.formats.error_examples import EXAMPLES
from evalsvc.core.formats.problems import CODES as LINE_CODES
from evalsvc.core.formats.problems import WARNINGS
from evalsvc.core.formats.registry import FORMATS, ITEM_FORMATS, PREDICTION_FORMATS, VOTE_FORMATS
from evalsvc.evaluation.measures.menu import MENU, by_family

SUPPORT = {
    key: format
    for key, format in FORMATS.items()
    if key not in {*ITEM_FORMATS, *PREDICTION_FORMATS, *VOTE_FORMATS}
}


@dataclass(frozen=True)
class Form:
    """A form of prediction lines: when to use it, and an example."""

    title: str
    says: str
    example: str


FORMS = (
    Form("One label", "The relation of each sentence, the negative class spelt as the board says.",
         '{"id": "s1", "label": "born_in"}'),
    Form("A set of labels", "Several relations may hold; an empty set is N/A.",
         '{"id": "s1", "labels": ["born_in", "lived_in"]}'),
    Form("Scores", "A score for each relation claimed. Makes curves, and bags by ONE or AVG.",
         '{"id": "s1", "scores": {"born_in": 0.93, "lived_in": 0.41}}'),
    Form("A scored triple", "A claim about a pair of entities: for bag settings only.",
         '{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.93}'),
    Form("Spans", "Half-open [start, end) with a label; in tokens where there are any, else in characters.",
         '{"id": "d1", "spans": [[0, 2, "person"], [5, 6, "place"]]}'),
    Form("Tags", "One tag per token, by the scheme the board says.",
         '{"id": "d1", "tags": ["B-person", "I-person", "O"]}'),
)  # fmt: skip

KEYS = {
    "Everywhere in labelling": (
        ("↵", "submit and next"),
        ("Z", "undo, ⇧Z redo, 50 steps"),
        ("H", "the last 10 answers, each re-opened by its digit"),
        ("S", "skip, with a reason"),
        ("C", "comment"),
        ("F", "flag"),
        ("?", "the keys; Esc leaves a field"),
    ),
    "Relations": (
        ("1 … 0", "the first ten relations; ⇧ the next ten, ⌥ the ten after"),
        ("N", "N/A, clears the rest"),
        ("/", "find by name, ↵ takes the first"),
        ("↑ ↓", "move, space chooses"),
    ),
    "Deciding": (
        ("1 2 …", "one of the voted answers; 3 both, when there are two"),
        ("N", "N/A"),
        ("/", "another relation"),
        ("A", "ask one more person"),
        ("B E", "the sentence is broken, an entity is marked wrongly: it leaves the set"),
        ("W", "why, kept with the decision"),
        ("Z", "undo the last decision"),
        ("S", "later"),
        ("↵", "decide"),
    ),
}


def measures(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/measures.html", {"doc": "measures", "families": by_family(MENU.values())})


def formats(request: HttpRequest) -> HttpResponse:
    groups = (
        ("items", "Sentences and gold", "Imported into projects, or as published test sets.", ITEM_FORMATS),
        ("predictions", "Predictions", "Submitted to boards, plain or gzip.", PREDICTION_FORMATS),
        ("votes", "Votes", "Labels that people gave elsewhere.", VOTE_FORMATS),
        ("beside", "Beside these", "Lists that go with another file.", tuple(SUPPORT)),
    )
    told = [(key, title, says, [FORMATS[name] for name in names]) for key, title, says, names in groups]
    return render(request, "docs/formats.html", {"doc": "formats", "groups": told, "forms": FORMS})


def errors(request: HttpRequest) -> HttpResponse:
    lines = [(code, says, EXAMPLES[code], code in WARNINGS) for code, says in LINE_CODES.items()]
    statuses = [(status, code, title) for status, (code, title) in STATUSES.items()]
    told = {"doc": "errors", "lines": lines, "statuses": statuses, "rooms": list(ROOMS.items())}
    return render(request, "docs/errors.html", told)


def keyboard(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/keyboard.html", {"doc": "keyboard", "groups": list(KEYS.items())})


def client(request: HttpRequest) -> FileResponse:
    """The client as it stands here, so that it always fits the service it was taken from."""
    source = Path(__file__).with_name("client.py").open("rb")
    return FileResponse(
        source, as_attachment=True, filename="evalsvc_client.py", content_type="text/x-python; charset=utf-8"
    )
