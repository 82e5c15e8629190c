"""Pages of imports: uploads, and an import's progress, problems and labels."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from msgspec import convert

from annotation import roles
from annotation.consensus.effects import preview
from annotation.imports import batches, imported_labels, undoing
from annotation.models import Batch
from annotation.ontology import inventory
from annotation.pages.import_forms import GoldForm, ImportForm
from annotation.pages.project_page import job_context, project_context, project_for
from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.formats.problem_kinds import KINDS as PROBLEM_KINDS
from evalsvc.core.formats.problems import Problem
from evalsvc.core.web.body_limits import takes_files
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.views import page, show_effect

ENDED = (Batch.State.DONE, Batch.State.REFUSED, Batch.State.FAILED, Batch.State.CANCELLED)
CONTENT_TITLES = {
    Batch.What.ITEMS: "Sentences",
    Batch.What.VOTES: "Answers",
    Batch.What.GOLD: "Published gold",
    Batch.What.SUGGESTIONS: "Predictions",
}
COUNT_TITLES = {  # in the order of the page; a database may store another one
    "lines": "lines",
    "items": "sentences",
    "answers": "answers",
    "suggestions": "predictions",
    "replaced": "replaced predictions",
    "repeated_items": "repeated sentences",
    "repeated_lines": "repeated lines",
    "exact_repeats": "exact repeats among them",
    "items_below_k": "sentences that need fewer answers now",
}
STATE_TITLES = {
    Batch.State.RECEIVED: ("wait", "Received"),
    Batch.State.RUNNING: ("run", "Importing"),
    Batch.State.DONE: ("done", "Imported"),
    Batch.State.REFUSED: ("bad", "Rejected, nothing was imported"),
    Batch.State.FAILED: ("warn", "Failed, nothing was imported"),
    Batch.State.CANCELLED: ("warn", "Cancelled, nothing was imported"),
}


def _golds(user: User) -> QuerySet[TestSet]:
    """Return the imported gold of relations that a person reads and that has no source labels."""
    golds = TestSet.objects.frozen().filter(kind=Kind.RELATIONS, origin=Origin.IMPORTED)
    golds = golds.exclude(source_twin__state__in=(TestSet.State.FROZEN, TestSet.State.BUILDING))
    return (golds if user.is_superuser else golds.filter(by=user)).order_by("-pk")[:200]


@takes_files()
@page("GET", "POST")
def project_import(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    form = ImportForm(request.POST or None, request.FILES or None, kind=project.kind)
    if batch := form.receive(project, by=person(request)):
        return redirect("import", batch.pk)
    context = project_context(project, role, form=form, batches=project.batches.order_by("-pk")[:10])
    return render(request, "annotation/import_new.html", context)


@takes_files()
@page("GET", "POST")
def test_set_import(request: HttpRequest) -> HttpResponse:
    roles.require_organiser(person(request))
    form = GoldForm(request.POST or None, request.FILES or None, golds=_golds(person(request)))
    if batch := form.receive(by=person(request)):
        return redirect("import", batch.pk)
    return render(request, "annotation/test_set_import.html", {"form": form})


MERGE = dict.fromkeys(("merge", "show-merge"), ("name", "like"))


@page("GET", "POST", names=(), retry=(), undo=(), add=("part",), out=("part",), **MERGE)
def batch(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an import, or for htmx the part that changes."""
    batch = get_object_or_404(Batch.objects.select_related("project", "by"), pk=pk)
    user = person(request)
    if batch.project is not None:
        roles.require_or_hide(batch.project, user, roles.CURATOR)
    elif not (user.is_superuser or batch.by_id == user.pk):
        raise Http404
    jobs = job_context("import", batch.pk)
    if request.method == "POST":
        _act(request, batch)
        return redirect("import", pk)
    state, title = STATE_TITLES[Batch.State(batch.state)]
    by_code, warnings = batch.counts.get("by_code") or {}, batch.counts.get("warnings") or {}
    hidden = {"labels_added", "labels_in_file"}  # and exact repeats, if all are exact
    if batch.counts.get("exact_repeats") == batch.counts.get("repeated_lines"):
        hidden.add("exact_repeats")
    names = dict.fromkeys([*(name for name in COUNT_TITLES if name in batch.counts), *batch.counts])
    context = {
        **(project_context(batch.project, roles.CURATOR) if batch.project else {}),
        **_label_context(batch),
        **jobs,
        "batch": batch,
        "content": CONTENT_TITLES[Batch.What(batch.what)],
        "project": batch.project,
        "state": state,
        "state_title": title,
        "ended": batch.state in ENDED,
        "undo_effect": undoing.UndoEffect.of(batch) if undoing.may_undo(batch) else None,
        "undoable_once_closed": undoing.may_undo(batch, once_closed=True),
        "test_set": getattr(batch, "test_set", None),
        "problems": _problem_rows(batch.problems),
        "n_problems": sum(by_code.values()),
        "problem_counts": _problem_counts(by_code),
        "warnings": _problem_rows(batch.counts.get("first_warnings", [])),
        "n_warnings": sum(warnings.values()),
        "warning_counts": _problem_counts(warnings),
        "counts": [
            (COUNT_TITLES.get(name, name.replace("_", " ")), batch.counts[name])
            for name in names
            if isinstance(batch.counts[name], int) and batch.counts[name] and name not in hidden
        ],
        "below_k": batch.counts.get("items_below_k", 0),
    }
    template = "annotation/_import.html" if getattr(request, "htmx", False) else "annotation/import.html"
    return render(request, template, context)


def _act(request: HttpRequest, batch: Batch) -> None:
    """Cancel the import, or merge, add or remove its labels."""
    sent, user, project = request.POST, person(request), batch.project
    action, name, part = sent.get("action"), sent.get("name", ""), sent.get("part", "")
    if action is None:
        with suppress(Conflict):  # it has just ended
            batches.cancel(batch, by=user)
    if action == "retry":
        batches.retry(batch, by=user)
        return
    if action == "undo":
        undone = undoing.undo(batch, by=user)
        messages.info(request, f"Import undone: {counted(undone.sentences, 'sentence')} taken out.")
        return
    if action is None or project is None:
        return
    if action in ("merge", "show-merge"):
        like = sent.get("like", "")
        merge = partial(inventory.merge, sources=[name, like], target=like, by=user)
        text = f"{name} now counts as {like}. You can undo this step on the ontology page."
        if action == "show-merge":
            show_effect(request, f"{name} as {like}: {preview(project, merge)}")
        else:
            merge(project)
            messages.info(request, text)
        return
    labels = [label for label in imported_labels.imported_labels(batch) if label.part == part]
    if action == "add":
        names = [label.name for label in labels if label.lacking]
        added = inventory.add_labels(project, names, by=user, part=part)
        messages.info(request, f"{counted(len(added), 'label')} added to the ontology.")
    elif action == "out":
        names = [label.name for label in labels if label.added]
        removed = imported_labels.remove_labels(project, names, part=part, by=user)
        messages.info(request, f"{counted(removed, 'label')} removed from the ontology.")


def _label_context(batch: Batch) -> dict[str, Any]:
    """Return the file's labels: added, missing, and probable misspellings."""
    if batch.state != Batch.State.DONE:
        return {}
    labels = imported_labels.imported_labels(batch)
    return {
        "file_labels": labels,
        "misspellings": [label for label in labels if label.like and not label.lacking],
        "added": [label for label in labels if label.added],
        "missing": [label for label in labels if label.lacking],
        "in_file": batch.counts.get("labels_in_file", 0),
    }


def _problem_rows(problems: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each problem without its line number, which has its own column."""
    return [
        {
            "line": problem.get("line"),
            "code": problem["code"],
            "text": _visible_tabs(convert({**problem, "line": None}, Problem).sentence()),
            "example": _visible_tabs(problem.get("example") or ""),
        }
        for problem in problems
    ]


def _visible_tabs(text: str) -> str:
    return text.replace("\t", " ⇥ ")


def _problem_counts(by_code: dict[str, int]) -> str:
    """List the numbers of lines with the same problem, most frequent first."""
    texts = []
    for code, n in sorted(by_code.items(), key=lambda entry: -entry[1]):
        title = PROBLEM_KINDS[code].message.rstrip(".") if code in PROBLEM_KINDS else code
        texts.append(f"{n:,} × {title[:1].lower()}{title[1:]}")
    return "; ".join(texts)
