"""Documentation: guides, and reference pages made from the registries of measures, formats and errors."""

from __future__ import annotations

from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from evalsvc import guides
from evalsvc.core.errors.codes import SECTIONS, STATUSES
from evalsvc.core.formats import registry
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.evaluation.measures import examples
from evalsvc.evaluation.measures.examples import in_example
from evalsvc.evaluation.measures.menu import MENU, by_family

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
        ("1 2 …", "one of the answers; with two answers, 3 for both"),
        ("⇧1 ⇧2 …", "spans: the whole of an answer"),
        ("J K", "spans: next and previous open part"),
        ("N", "N/A; in a part of a text, nothing"),
        ("/", "another relation, or for spans an answer of your own"),
        ("A", "ask another annotator"),
        ("B E", "sentence broken, entity marked wrongly: leave it out of the test set"),
        ("W", "reason, stored with the decision"),
        ("Z", "undo the last decision"),
        ("S", "later"),
        ("↵", "decide"),
    ),
    "Sentences of a project": (
        ("J K", "next, previous sentence; also ↓ ↑"),
        ("↵", "open"),
        ("X", "select; also space"),
        ("D", "decide"),
        ("O E", "reopen, exclude the selected sentences"),
        ("/", "search"),
    ),
    "Errors of systems": (
        ("J K", "next, previous sentence or document; at the end, the next page"),
        ("1 … 9", "kind of error, on and off"),
        ("A B X", "with two systems: only A right, only B right, neither"),
        ("⇧X", "swap A and B"),
        ("/", "search the text"),
    ),
}


def index(request: HttpRequest) -> HttpResponse:
    """List the documentation, or the sections with the words of the query."""
    query = request.GET.get("q", "").strip()[:200]
    context = {"doc": "index", "query": query, "guides": guides.guides(), "found": guides.search(query)}
    return render(request, "docs/index.html", context)


def guide(request: HttpRequest, name: str) -> HttpResponse:
    if name not in guides.NAMES:
        raise Http404
    return render(request, "docs/guide.html", {"doc": "guides", "guide": guides.guide(name)})


def measures(request: HttpRequest) -> HttpResponse:
    families = [
        (key, family, examples.EXAMPLES[key], *examples.lines(key), [(each, in_example(each)) for each in of])
        for key, family, of in by_family(MENU.values())
    ]
    return render(request, "docs/measures.html", {"doc": "measures", "families": families})


def formats(request: HttpRequest) -> HttpResponse:
    sections = [
        (key, title, introduction, list(registry.formats(*roles).values()))
        for key, (title, introduction, roles) in registry.SECTIONS.items()
    ]
    written = list(registry.written_formats().values())
    return render(request, "docs/formats.html", {"doc": "formats", "sections": sections, "written": written})


def errors(request: HttpRequest) -> HttpResponse:
    context = {
        "doc": "errors",
        "lines": list(KINDS.items()),
        "statuses": [(status, code, title) for status, (code, title) in STATUSES.items()],
        "sections": list(SECTIONS.items()),
    }
    return render(request, "docs/errors.html", context)


def keyboard(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/keyboard.html", {"doc": "keyboard", "groups": list(KEYS.items())})


def client(request: HttpRequest) -> FileResponse:
    """Serve the client of this version."""
    source = Path(__file__).with_name("client.py").open("rb")
    return FileResponse(
        source, as_attachment=True, filename="evalsvc_client.py", content_type="text/x-python; charset=utf-8"
    )
