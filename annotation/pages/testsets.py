"""Pages of test sets: freezing, the list, one set and its lines."""

from __future__ import annotations

from functools import partial
from typing import Any

from django import forms
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import urlencode

from annotation import conversion, roles
from annotation.adjudication import unanswerable_items
from annotation.freezing import builder
from annotation.models import ItemCount, Publication
from annotation.pages.project_page import job_context, progress_context, project_context, project_for
from annotation.pages.projects import may_organise
from annotation.pages.release_charts import chart_file
from annotation.pages.release_figures import figures
from annotation.releases import card as cards
from annotation.releases.card_text import citation_text
from annotation.releases.composition import Composition
from annotation.releases.earlier import earlier_sets
from annotation.releases.folder import manifest_sha256, require_complete, zip_of
from annotation.releases.listing import listing, parts_of
from annotation.releases.publishing import record_download
from annotation.splits import building
from annotation.testset import (
    Origin,
    TestSet,
    TestSetQuerySet,
    count_hiding,
    export_lines,
    release,
    withdraw_release,
)
from annotation.testset_overlap import overlapping
from evalsvc.core.accounts.users import person
from evalsvc.core.formats.registry import written_formats
from evalsvc.core.formats.tag_schemes import SCHEMES
from evalsvc.core.web.downloads import jsonl_file, parts_file, stored_nowhere_file, zip_file
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.markdown import to_html
from evalsvc.core.web.views import attempt, page

MAX_LISTED = 200
ACTIONS = {"retry": building.retry, "cancel": building.cancel}
EXPORT_OPTIONS: dict[str, tuple[str, list[tuple[str, str]], str]] = {
    "scheme": ("Tag scheme", [(name, name) for name in SCHEMES], "IOB2"),
    "unit": (
        "Unit of offsets",
        [
            ("utf16", "UTF-16 units, as doccano draws them"),
            ("graphemes", "grapheme clusters, if its project counts them"),
            ("code-points", "code points, for other readers"),
        ],
        "utf16",
    ),
}


class ReleaseForm(PageForm):
    username = forms.CharField(
        label="User name", max_length=150, help_text="An organiser who may score systems against this set."
    )


class CardForm(PageForm):
    words = forms.CharField(
        required=False,
        max_length=cards.MAX_WORDS,
        widget=forms.Textarea(attrs={"rows": 12}),
        label="In your words",
        help_text="Markdown: where the texts come from, who labelled them, what the set is not suitable for.",
    )
    authors = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One per line, for citations. For example: Doe, Ann.",
    )
    licence = forms.CharField(required=False, max_length=60, help_text="For example: cc-by-4.0.")
    languages = forms.CharField(
        required=False, max_length=200, help_text="Codes separated by spaces. For example: en de."
    )


class FreezeForm(PageForm):
    name = forms.CharField(max_length=120, help_text="For example: Harbour news.")
    version = forms.CharField(max_length=20, initial="1.0", help_text="For example: 1.1.")
    leave_out = forms.BooleanField(
        required=False, label="Leave out open and disputed sentences, and list them in the manifest"
    )


class ExportForm(PageForm):
    """Format of an export, and the options that the format has."""

    OTHER_NAMES = tuple(EXPORT_OPTIONS)  # of the format chosen before
    format = forms.ChoiceField()

    def __init__(self, *args: Any, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        found = written_formats(kind)
        titles = sorted(
            ((key, format.title) for key, format in found.items()), key=lambda row: row[1].lower()
        )
        self.fields["format"].choices = titles  # type: ignore[attr-defined]
        chosen = found.get(self.data.get("format", ""))
        for name in chosen.writer.options if chosen and chosen.writer else ():
            label, choices, usual = EXPORT_OPTIONS[name]
            self.fields[name] = forms.ChoiceField(label=label, choices=choices, initial=usual, required=False)


@page("GET", "POST")
def freeze(request: HttpRequest, slug: str) -> HttpResponse:
    project, role = project_for(request, slug, roles.CURATOR)
    # 1.0, or the last version with its last number increased
    versions = project.test_sets.filter(origin=Origin.ANNOTATED).order_by("-pk")
    last = versions.values_list("version", flat=True).first()
    head, _, tail = (last or "").rpartition(".")
    version = f"{head}.{int(tail) + 1}" if head and tail.isdigit() else "1.0"
    form = FreezeForm(request.POST or None, initial={"name": project.title, "version": version})
    if form.is_valid():
        made = attempt(form, lambda: builder.freeze(project, by=person(request), **form.cleaned_data))
        if made:
            return redirect("test-set", made.slug)
    context = project_context(
        project,
        role,
        form=form,
        counts=ItemCount.objects.live(project).by_state(),
        unanswerable=unanswerable_items.unanswerable(project).count(),
        sets=project.test_sets.order_by("-pk"),
    )
    return render(request, "annotation/freeze.html", context)


def visible(request: HttpRequest) -> TestSetQuerySet:
    """Return the test sets the viewer may see."""
    return TestSet.objects.visible_to(person(request)).select_related("project", "by", "twin")


@page()
def index(request: HttpRequest) -> HttpResponse:
    user, sets = person(request), list(visible(request).order_by("-pk")[:MAX_LISTED])
    known = TestSet.objects.filter(pk__in=[each.pk for each in sets]).known_to(user)
    context = {
        "sets": sets,
        "known": set(known.values_list("pk", flat=True)),
        "organises": may_organise(user),
    }
    return render(request, "annotation/test_sets.html", context)


@page("GET", "POST", withdraw=(), retry=(), cancel=())
def test_set(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a test set, or for htmx the state of its freeze.

    Release it to other organisers.
    """
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    form = ReleaseForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and _act(request, test_set, form):
        return redirect("test-set", slug)
    htmx, context = getattr(request, "htmx", False), dict[str, Any]()
    if htmx and test_set.state == TestSet.State.BUILDING:
        context = {"set": test_set, "may_read": test_set.readable_by(user), **_job(test_set)}
        return render(request, "annotation/_freeze_state.html", context)
    project, is_known = test_set.project, test_set.known_to(user)
    context = {
        "content": Composition(test_set, with_gold=is_known, curates=test_set.readable_by(user)),
        "is_known": is_known,
        "set": test_set,
        "heading": f"{test_set}, source labels" if test_set.origin == Origin.SOURCE else str(test_set),
        "may_read": test_set.readable_by(user),
        "hiding": count_hiding(*overlapping([test_set])),
        "releases": test_set.releases.select_related("user"),
        "form": form,
        "sees_project": project is not None and roles.role_in(project, user) is not None,
        "source": TestSet.objects.filter(twin=test_set).first(),
    }
    if test_set.state == TestSet.State.FROZEN:
        content = context["content"]
        context |= _release_context(test_set, with_gold=is_known)
        if content.with_outcomes:
            context |= figures(content, route="test-set-chart")
        if context["may_read"]:
            context["earlier"] = next(iter(earlier_sets(test_set, user)), None)
        if context["may_read"] and content.described:
            context |= {"files": listing(test_set), "file_url": "test-set-release-part"}
    if test_set.state == TestSet.State.BUILDING:
        context |= _job(test_set)
    elif context["may_read"]:
        context["same"] = builder.same_as(test_set)
        context["may_retry"] = not context["same"] and building.may_retry(test_set)
    response = render(request, "annotation/test_set.html", context)
    if htmx and request.GET.get("of") != "figures":
        response["HX-Refresh"] = "true"
    return response


def _release_context(test_set: TestSet, *, with_gold: bool) -> dict[str, Any]:
    card = cards.card_of(test_set)
    return {
        "beside": test_set.companions.select_related("data"),
        "publication": Publication.objects.filter(test_set=test_set).first(),
        "card": card,
        "words": to_html(card.words),
        "cite": citation_text(test_set, with_gold=with_gold),
        "manifest_sha256": manifest_sha256(test_set) if with_gold else "",
    }


@page()
def chart(request: HttpRequest, slug: str, name: str, format: str) -> HttpResponse:
    """Download a chart of a frozen set as SVG, or its data as CSV."""
    test_set = get_object_or_404(visible(request).frozen(), slug=slug)
    roles.require_outcomes(test_set, person(request))
    return chart_file(Composition(test_set), name, format)


def _act(request: HttpRequest, test_set: TestSet, form: ReleaseForm) -> bool:
    """Withdraw or make a release, retry or cancel the job; return False if the form is invalid."""
    user, withdrawn = person(request), request.POST.get("withdraw")
    if withdrawn is not None:
        withdraw_release(test_set, username=withdrawn, by=user)
    elif action := ACTIONS.get(request.POST.get("action", "")):
        action(test_set, by=user)
    else:
        test_set.require_reader(user)
        release_ = partial(release, test_set, by=user)
        return form.is_valid() and bool(attempt(form, lambda: release_(**form.cleaned_data)))
    return True


def _job(test_set: TestSet) -> dict[str, Any]:
    return progress_context(building.job_of(test_set))


@page("GET", "POST")
def card(request: HttpRequest, slug: str) -> HttpResponse:
    """Show and change what the curators say about a test set."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    test_set.require_reader(user)
    values = cards.card_of(test_set)
    initial = {
        "words": values.words,
        "authors": "\n".join(values.authors),
        "licence": values.licence,
        "languages": " ".join(values.languages),
    }
    form = CardForm(request.POST or None, initial=initial)
    if form.is_valid():
        texts = form.cleaned_data | {
            "authors": form.cleaned_data["authors"].splitlines(),
            "languages": form.cleaned_data["languages"].split(),
        }
        if attempt(form, lambda: cards.change(test_set, by=user, **texts)):
            return redirect("test-set", slug)
    return render(request, "annotation/test_set_card.html", {"set": test_set, "form": form})


@page()
def release_zip(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Download all files of a release as one zip."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    test_set.require_reader(user)
    with_gold = request.GET.get("gold") != "0"
    require_complete(test_set)
    record_download(test_set, user, "release" if with_gold else "release without gold")
    return zip_file(
        f"{test_set.slug}{'' if with_gold else '-blind'}.zip", zip_of(test_set, with_gold=with_gold)
    )


@page()
def release_part(request: HttpRequest, slug: str, name: str) -> StreamingHttpResponse:
    """Download one file of a release."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    test_set.require_reader(user)
    parts = parts_of(test_set, name)
    record_download(test_set, user, f"{name} of the release"[:40])
    return parts_file(name, parts)


@page()
def lines(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Download the lines of a test set, byte for byte as hashed."""
    test_set = get_object_or_404(visible(request), slug=slug)
    test_set.require_reader(person(request))
    record_download(test_set, person(request), "gold")
    headers = {"X-Content-SHA256": test_set.sha256}
    return jsonl_file(f"{test_set.slug}.jsonl", export_lines(test_set), **headers)


def _exported(request: HttpRequest, slug: str) -> TestSet:
    test_set = get_object_or_404(visible(request), slug=slug)
    test_set.require_reader(person(request))
    return test_set


@page("GET", "POST", names=("format", *EXPORT_OPTIONS))
def export_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Choose a format; before the download, show what it can't hold. Some are made by a job."""
    test_set = _exported(request, slug)
    if request.method == "POST":
        sent = {name: request.POST[name] for name in ("format", *EXPORT_OPTIONS) if name in request.POST}
        conversion.make(test_set, **({"format": ""} | sent), by=person(request))
        return redirect(f"{request.path}?{urlencode(sent)}")
    form = ExportForm(request.GET or None, kind=test_set.kind)
    context: dict[str, Any] = {"set": test_set, "form": form}
    if form.is_valid():
        options = form.cleaned_data
        options |= {
            name: options[name] or EXPORT_OPTIONS[name][2] for name in EXPORT_OPTIONS if name in options
        }
        chosen = written_formats()[options["format"]]
        to_make = conversion.is_made(test_set, chosen)
        made = conversion.made_export(test_set, **options) if to_make else None
        if to_make and (made is None or made.size is None):
            context |= {"chosen": chosen, "to_make": True, "query": urlencode(options), "sent": options}
            context |= job_context(conversion.KIND, made.pk) if made else {}
        elif (lost := attempt(form, lambda: conversion.losses(test_set, **options), "format")) is not None:
            context |= {"chosen": chosen, "lost": lost, "query": urlencode(options)}
    return render(request, "annotation/test_set_export.html", context)


@page()
def export_file(request: HttpRequest, slug: str) -> StreamingHttpResponse:
    """Download a test set in the format of another tool."""
    test_set = _exported(request, slug)
    options: dict[str, Any] = {name: request.GET.get(name, "") for name in EXPORT_OPTIONS}
    made = conversion.export(test_set, request.GET.get("format", ""), **options)
    record_download(test_set, person(request), f"gold as {request.GET.get('format', '')}"[:40])
    return stored_nowhere_file(made.file, made.name)
