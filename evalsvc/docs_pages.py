"""Reference pages generated from the registries of measures, formats and errors."""

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
class PredictionForm:
    """A form of prediction lines, with an example."""

    title: str
    description: str
    example: str


FORMS = (
    PredictionForm("One label", "The relation of each sentence; negative class as the benchmark spells it.",
         '{"id": "s1", "label": "born_in"}'),
    PredictionForm("A set of labels", "Several relations per sentence; an empty list is N/A.",
         '{"id": "s1", "labels": ["born_in", "lived_in"]}'),
    PredictionForm("Scores", "A score per predicted relation. Gives curves, and bags by ONE or AVG.",
         '{"id": "s1", "scores": {"born_in": 0.93, "lived_in": 0.41}}'),
    PredictionForm("A scored triple", "A relation of an entity pair; for bag settings only.",
         '{"h": "Q1", "t": "Q2", "relation": "born_in", "score": 0.93}'),
    PredictionForm("Spans", "Half-open [start, end) with a label; in tokens, else in characters.",
         '{"id": "d1", "spans": [[0, 2, "person"], [5, 6, "place"]]}'),
    PredictionForm("Tags", "One tag per token in the scheme of the benchmark.",
         '{"id": "d1", "tags": ["B-person", "I-person", "O"]}'),
)  # fmt: skip

KEYS = {
    "Everywhere in labelling": (
        ("↵", "submit and next"),
        ("Z", "undo; ⇧Z redo; 50 steps"),
        ("H", "last 10 answers; a digit opens one"),
        ("S", "skip, with a reason"),
        ("C", "comment"),
        ("F", "flag"),
        ("?", "list of keys; Esc leaves a field"),
    ),
    "Relations": (
        ("1 … 0", "first ten relations; ⇧ the next ten, ⌥ the ten after"),
        ("N", "N/A; clears all relations"),
        ("/", "find by name; ↵ chooses the first"),
        ("↑ ↓", "move; space chooses"),
    ),
    "Disputes": (
        ("1 2 …", "one of the answers; 3 for both of two"),
        ("N", "N/A"),
        ("/", "another relation"),
        ("A", "ask another annotator"),
        ("B E", "sentence broken, entity marked wrongly: leave it out of the test set"),
        ("W", "reason, stored with the decision"),
        ("Z", "undo the last decision"),
        ("S", "later"),
        ("↵", "decide"),
    ),
}


def measures(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/measures.html", {"doc": "measures", "families": by_family(MENU.values())})


def formats(request: HttpRequest) -> HttpResponse:
    groups = (
        ("items", "Sentences and gold", "For import into projects, or as published test sets.", ITEM_FORMATS),
        ("predictions", "Predictions", "For submission to benchmarks, plain or gzip.", PREDICTION_FORMATS),
        ("votes", "Votes", "Answers given elsewhere, for import into projects.", VOTE_FORMATS),
        ("beside", "Supporting files", "Lists that accompany another file.", tuple(SUPPORT)),
    )
    filled = [(key, title, text, [FORMATS[name] for name in names]) for key, title, text, names in groups]
    return render(request, "docs/formats.html", {"doc": "formats", "groups": filled, "forms": FORMS})


def errors(request: HttpRequest) -> HttpResponse:
    lines = [(code, text, EXAMPLES[code], code in WARNINGS) for code, text in LINE_CODES.items()]
    statuses = [(status, code, title) for status, (code, title) in STATUSES.items()]
    context = {"doc": "errors", "lines": lines, "statuses": statuses, "rooms": list(ROOMS.items())}
    return render(request, "docs/errors.html", context)


def keyboard(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/keyboard.html", {"doc": "keyboard", "groups": list(KEYS.items())})


def client(request: HttpRequest) -> FileResponse:
    """Serve the client of this version."""
    source = Path(__file__).with_name("client.py").open("rb")
    return FileResponse(
        source, as_attachment=True, filename="evalsvc_client.py", content_type="text/x-python; charset=utf-8"
    )
