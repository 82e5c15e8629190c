"""Import pages: the upload forms, and an import's progress, problems and labels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from msgspec import convert

from annotation import roles
from annotation.consensus.effects import preview
from annotation.imports import batches, imported_labels, undoing
from annotation.imports.upload_precheck import precheck
from annotation.models import Batch, Project
from annotation.ontology import inventory
from annotation.pages.project_page import job_context, project_context, project_for
from annotation.testset import Kind, Origin, TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats import brat
from evalsvc.core.formats.problems import KINDS as PROBLEM_KINDS
from evalsvc.core.formats.problems import Problem
from evalsvc.core.formats.registry import Role, formats
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.forms import PageForm, add_form_error
from evalsvc.core.web.views import attempt, page, show_effect

NAMES_END = re.compile(r"[,\n]")
ENDED = (Batch.State.DONE, Batch.State.REFUSED, Batch.State.FAILED, Batch.State.CANCELLED)
OPTIONS: dict[str, tuple[str, ...]] = {
    Batch.What.ITEMS: ("scheme", "unit", "names"),
    Batch.What.VOTES: ("empty", "k", "item", "unit"),
    Batch.What.GOLD: ("name", "version", "kind", "negative", "scheme", "unit", "names", "source_of"),
}
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
    Batch.State.FAILED: ("warn", "Failed on the server, nothing was imported"),
    Batch.State.CANCELLED: ("warn", "Cancelled, nothing was imported"),
}
KINDS = [
    (Kind.RELATIONS, "relations: head and tail are given, the answer is a set of relations"),
    (Kind.ENTITIES, "entities: the answer is a set of labelled spans"),
    (Kind.JOINT, "joint: labelled spans, and relations between them"),
]
TAG_SCHEMES = [("", "none"), *((name, name) for name in ("IOB2", "IOB1", "BIOES", "BILOU"))]


def format_choices(*roles: Role) -> Callable[[], list[tuple[str, str]]]:
    """Return the choices of a format field, made anew for each form."""
    return lambda: [("", "detect from the content"), *((key, f.title) for key, f in formats(*roles).items())]


def upload_field(help_text: str) -> forms.FileField:
    errors = {"required": "Choose a file."}
    return forms.FileField(label="File", allow_empty_file=True, help_text=help_text, error_messages=errors)


def annotations_field() -> forms.FileField:
    help_text = "Only for brat: the .ann file of the .txt file above."
    return forms.FileField(
        label="File of annotations", required=False, allow_empty_file=True, help_text=help_text
    )


def tag_scheme_field() -> forms.ChoiceField:
    help_text = "Only for tags, in columns or JSON, for example IOB2. It can’t be detected from the file."
    return forms.ChoiceField(label="Tag scheme", required=False, choices=TAG_SCHEMES, help_text=help_text)


def unit_field() -> forms.ChoiceField:
    help_text = "Only for doccano, whose files don’t say what they count."
    choices = [
        ("", "not stated"),
        ("utf16", "UTF-16 units, doccano’s usual"),
        ("graphemes", "grapheme clusters, if its project counts them"),
        ("code-points", "code points, as imported by a script"),
    ]
    return forms.ChoiceField(label="Unit of offsets", required=False, choices=choices, help_text=help_text)


class NamesField(forms.CharField):
    """Names separated by commas or line ends."""

    widget = forms.Textarea(attrs={"rows": 2})

    def __init__(self) -> None:
        help_text = "Only for rows of Hugging Face: the names in the card, in the order of their numbers."
        super().__init__(label="Names of labels", required=False, help_text=help_text)

    def clean(self, value: Any) -> Any:
        return [name.strip() for name in NAMES_END.split(super().clean(value)) if name.strip()]


class FileForm(PageForm):
    """Form with a file whose first lines are checked.

    `FOLDED` fields are for some formats only.
    """

    FOLDED = ("annotations", "scheme", "unit", "names", "empty", "item")
    content: str = ""
    options = OPTIONS

    def __init__(self, *args: Any, kind: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project_kind = kind

    @property
    def plain(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.FOLDED]

    @property
    def folded(self) -> list[forms.BoundField]:
        return [self[name] for name in self.FOLDED if name in self.fields]

    @property
    def is_unfolded(self) -> bool:
        """True if one of these fields has an error or a value."""
        return any(field.errors or (self.is_bound and field.data) for field in self.folded)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors or "upload" not in cleaned:
            return cleaned
        options = {name: cleaned.get(name, "") for name in ("format", "scheme", "unit", "names")}
        kind = self.project_kind or cleaned.get("kind", "")
        upload, beside = cleaned["upload"], cleaned.get("annotations")
        try:
            if beside:
                upload = batches.joined(upload, beside, format=options["format"])
                options["format"] = cleaned["format"] = brat.FORMAT.key
            precheck(upload, content=self.content or cleaned["what"], kind=kind, **options)
        except DomainError as error:
            add_form_error(self, error, "upload")
        return cleaned

    def receive(self, project: Project | None = None, *, by: User) -> Batch | None:
        """Store a valid form's file and queue its import; otherwise show errors."""
        if not self.is_valid():
            return None
        values, what = self.cleaned_data, self.content or self.cleaned_data["what"]
        arguments = {
            "content": what,
            "upload": values["upload"],
            "filename": values["upload"].name,
            "format": values.get("format", ""),
            "annotations": values.get("annotations"),
            "options": {name: values[name] for name in self.options.get(what, ()) if values[name]},
        }
        return attempt(self, lambda: batches.receive(**arguments, by=by, project=project), "upload")


class ImportForm(FileForm):
    what = forms.ChoiceField(
        label="Content",
        choices=[
            (Batch.What.ITEMS, "sentences to label"),
            (Batch.What.VOTES, "answers given elsewhere"),
        ],
        initial=Batch.What.ITEMS,
        widget=forms.RadioSelect,
    )
    upload = upload_field(f"UTF-8 text, optionally gzipped, up to {settings.IMPORT_MAX_LINES:,} lines.")
    annotations = annotations_field()
    format = forms.ChoiceField(required=False, choices=format_choices("items", "votes"))
    scheme = tag_scheme_field()
    unit = unit_field()
    names = NamesField()
    empty = forms.ChoiceField(
        label="Empty cells of a table, and documents of doccano without a label",
        required=False,
        choices=[("no-vote", "no answer"), ("no-label", "an answer without a label (N/A)")],
    )
    item = forms.CharField(
        label="Id of the document",
        required=False,
        max_length=200,
        help_text="Only for a person’s file of INCEpTION: its document. The person is the name of the file.",
    )
    k = forms.IntegerField(
        label="Answers per sentence in this file",
        required=False,
        min_value=1,
        max_value=1_000,
        help_text="Only for answers. Empty: as many as the file has for a sentence; one answer settles it.",
    )


class GoldForm(FileForm):
    content = Batch.What.GOLD
    upload = upload_field("UTF-8 text, optionally gzipped. One invalid line rejects the file.")
    name = forms.CharField(max_length=120, help_text="For example: NYT10 test.")
    version = forms.CharField(max_length=20, initial="1.0", help_text="For example: 1.0.")
    kind = forms.ChoiceField(choices=KINDS, initial=Kind.RELATIONS, widget=forms.RadioSelect)
    annotations = annotations_field()
    format = forms.ChoiceField(required=False, choices=format_choices("gold"))
    scheme = tag_scheme_field()
    unit = unit_field()
    names = NamesField()
    negative = forms.CharField(
        label="Negative class",
        required=False,
        max_length=60,
        help_text="Its name in the file, for example NA, no_relation or Other. Leave empty if there is none.",
    )
    source_of = forms.ChoiceField(
        label="Source labels of",
        required=False,
        help_text="For labels of a source beside imported gold of the same ids. Its page shows quality.",
    )

    def __init__(self, *args: Any, golds: Iterable[TestSet] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["source_of"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "none: this is the gold"), *((gold.slug, str(gold)) for gold in golds)]


def _golds(user: User) -> QuerySet[TestSet]:
    """Return the imported gold of relations that a person reads and that has no source labels."""
    golds = TestSet.objects.frozen().filter(kind=Kind.RELATIONS, origin=Origin.IMPORTED)
    golds = golds.exclude(source_twin__state__in=(TestSet.State.FROZEN, TestSet.State.BUILDING))
    return (golds if user.is_superuser else golds.filter(by=user)).order_by("-pk")[:200]


@page("GET", "POST")
def project_import(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    form = ImportForm(request.POST or None, request.FILES or None, kind=project.kind)
    if batch := form.receive(project, by=person(request)):
        return redirect("import", batch.pk)
    context = project_context(project, role, form=form, batches=project.batches.order_by("-pk")[:10])
    return render(request, "annotation/import_new.html", context)


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
