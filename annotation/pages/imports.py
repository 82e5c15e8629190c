"""Imports: a file is received, and its page says how far it is and which lines did not fit."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from msgspec import convert

from annotation import roles
from annotation.imports import batches as importing
from annotation.imports import imported_labels
from annotation.models import Batch, Project
from annotation.ontology import inventory
from annotation.pages.forms import GoldForm, ImportForm
from annotation.pages.view_helpers import around, project_for
from evalsvc.core.accounts.users import person
from evalsvc.core.formats.problems import KINDS, Problem
from evalsvc.core.jobs import queue
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.views import attempt, page

ENDED = (Batch.State.DONE, Batch.State.REFUSED, Batch.State.FAILED, Batch.State.CANCELLED)
OPTIONS: dict[str, tuple[str, ...]] = {
    Batch.What.ITEMS: ("scheme",),
    Batch.What.VOTES: ("empty",),
    Batch.What.GOLD: ("name", "version", "kind", "negative", "scheme"),
}
BRINGS = {
    Batch.What.ITEMS: "Sentences",
    Batch.What.VOTES: "Answers",
    Batch.What.GOLD: "Published gold",
    Batch.What.SUGGESTIONS: "Predictions",
}
COUNTED = {  # in this order; a database may keep another one
    "lines": "lines",
    "items": "sentences",
    "answers": "answers",
    "suggestions": "predictions",
    "repeated_items": "repeated sentences",
    "repeated_lines": "repeated lines",
    "exact_repeats": "of these with nothing new",
}
WORDS = {
    Batch.State.RECEIVED: ("wait", "Received: waits for a worker"),
    Batch.State.RUNNING: ("run", "Being read"),
    Batch.State.DONE: ("done", "Imported"),
    Batch.State.REFUSED: ("bad", "Refused: nothing of it was taken in"),
    Batch.State.FAILED: ("warn", "Failed on our side: nothing of it was taken in"),
    Batch.State.CANCELLED: ("warn", "Cancelled: nothing of it was taken in"),
}


@page("GET", "POST")
def project_import(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    form = ImportForm(request.POST or None, request.FILES or None, kind=project.kind)
    if form.is_valid():
        wanted = form.cleaned_data
        what = wanted["what"]
        batch = attempt(
            form,
            lambda: receive(request, wanted, what=what, options=OPTIONS[what], project=project),
            "upload",
        )
        if batch:
            return redirect("import", batch.pk)
    batches = project.batches.order_by("-pk")[:10]
    return render(request, "annotation/import_new.html", around(project, role, form=form, batches=batches))


def receive(
    request: HttpRequest,
    wanted: dict[str, Any],
    *,
    what: str,
    options: tuple[str, ...],
    project: Project | None = None,
) -> Batch:
    upload = wanted["upload"]
    return importing.receive(
        what=what,
        upload=upload,
        filename=upload.name,
        format=wanted.get("format", ""),
        options={name: wanted[name] for name in options if wanted[name]},
        by=person(request),
        project=project,
    )


@page("GET", "POST")
def test_set_import(request: HttpRequest) -> HttpResponse:
    roles.require_organiser(person(request))
    form = GoldForm(request.POST or None, request.FILES or None)
    if form.is_valid():
        gold = Batch.What.GOLD
        batch = attempt(form, lambda: receive(request, form.cleaned_data, what=gold, options=OPTIONS[gold]))
        if batch:
            return redirect("import", batch.pk)
    return render(request, "annotation/test_set_import.html", {"form": form})


@page("GET", "POST")
def batch(request: HttpRequest, pk: int) -> HttpResponse:
    """The whole page, or for htmx the part that changes while the import runs."""
    found = get_object_or_404(Batch.objects.select_related("project", "by"), pk=pk)
    user = person(request)
    if found.project is not None:
        roles.require(found.project, user, roles.CURATOR)
    elif not (user.is_superuser or found.by_id == user.pk):
        raise Http404
    job = Job.objects.filter(kind="import", subject=found.pk).order_by("-pk").first()
    if request.method == "POST":
        _acted(request, found, job)
        return redirect("import", pk)
    return render(request, _template(request), _shown(found, job))


def _acted(request: HttpRequest, found: Batch, job: Job | None) -> None:
    """Cancel what runs; of what is done, mend the labels it brought."""
    sent, user, project = request.POST, person(request), found.project
    action, name, part = sent.get("action"), sent.get("name", ""), sent.get("part", "")
    if action is None and job:
        queue.request_cancel(job)
    if action is None or project is None:
        return
    if action == "merge":
        like = sent.get("like", "")
        inventory.merge(project, [name, like], target=like, by=user)
        messages.info(request, f"{name} counts as {like} from now on. The ontology’s page can undo it.")
    elif action == "add":
        names = [
            one.name for one in imported_labels.imported_labels(found) if one.lacking and one.part == part
        ]
        made = inventory.add_labels(project, names, by=user, part=part)
        messages.info(request, f"{len(made):,} added to the ontology.")
    elif action == "out":
        names = [one.name for one in imported_labels.imported_labels(found) if one.added and one.part == part]
        gone = imported_labels.remove_labels(project, names, part=part, by=user)
        messages.info(request, f"{gone:,} taken out of the ontology again.")


def _template(request: HttpRequest) -> str:
    return "annotation/_import.html" if getattr(request, "htmx", False) else "annotation/import.html"


def _shown(found: Batch, job: Job | None) -> dict[str, Any]:
    state, words = WORDS[Batch.State(found.state)]
    frame = around(found.project, roles.CURATOR) if found.project else {}
    return (
        frame
        | _labels(found)
        | {
            "batch": found,
            "brings": BRINGS[Batch.What(found.what)],
            "project": found.project,
            "job": job,
            "state": state,
            "words": words,
            "ended": found.state in ENDED,
            "width": _width(job),
            "test_set": getattr(found, "test_set", None),
            "problems": _told(found.problems),
            "found": sum((found.counts.get("by_code") or {}).values()),
            "warnings": _told(found.counts.get("first_warnings", [])),
            "odd": sum((found.counts.get("warnings") or {}).values()),
            "alike": _alike(found.counts.get("by_code") or {}),
            "counts": _figures(found.counts),
        }
    )


def _figures(counts: dict[str, Any]) -> list[tuple[str, int]]:
    """What was read and stored, as people call it; that all repeats say nothing new is what one expects."""
    elsewhere = {"labels_added", "labels_in_file"}
    if counts.get("exact_repeats") == counts.get("repeated_lines"):
        elsewhere.add("exact_repeats")
    names = [*(name for name in COUNTED if name in counts), *(name for name in counts if name not in COUNTED)]
    return [
        (COUNTED.get(name, name.replace("_", " ")), counts[name])
        for name in names
        if isinstance(counts[name], int) and counts[name] and name not in elsewhere
    ]


def _labels(found: Batch) -> dict[str, Any]:
    """What the file said can be chosen: what was added, what the ontology lacks, what looks like a slip."""
    if found.state != Batch.State.DONE:
        return {}
    labels = imported_labels.imported_labels(found)
    return {
        "file_labels": labels,
        "slips": [one for one in labels if one.like and not one.lacking],
        "added": [one for one in labels if one.added],
        "lacking": [one for one in labels if one.lacking],
        "in_file": found.counts.get("labels_in_file", 0),
    }


def _told(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each problem for its row, which says the line itself; a tab is made visible, as columns hang on it."""
    return [
        {
            "line": one.get("line"),
            "code": one["code"],
            "said": _seen(convert({**one, "line": None}, Problem).sentence()),
            "example": _seen(one.get("example") or ""),
        }
        for one in problems
    ]


def _seen(text: str) -> str:
    return text.replace("\t", " ⇥ ")


def _alike(by_code: dict[str, int]) -> str:
    """How many lines have the same thing wrong with them, the most common first."""
    order = sorted(by_code.items(), key=lambda entry: -entry[1])
    said = [(n, KINDS[code].message.rstrip(".") if code in KINDS else code) for code, n in order]
    return "; ".join(f"{n:,} × {words[:1].lower()}{words[1:]}" for n, words in said)


def _width(job: Job | None) -> float:
    return round(600 * min(job.done / job.total, 1), 1) if job and job.total else 0.0
