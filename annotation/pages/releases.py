"""Pages of releases: the check of a copy, what changed since an earlier one, and publication."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from django import forms
from django.contrib.auth.views import redirect_to_login
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Publication
from annotation.pages.release_charts import chart_file
from annotation.pages.release_figures import figures
from annotation.pages.testsets import visible
from annotation.releases import publication_effect, publishing
from annotation.releases.card import card_of
from annotation.releases.card_text import bibtex, citation_text
from annotation.releases.check import NOT_COMPARED, CheckResult, check
from annotation.releases.checksums import Opened
from annotation.releases.composition import Composition
from annotation.releases.earlier import compare_with, earlier_sets
from annotation.releases.folder import manifest_sha256, zip_of
from annotation.releases.layout import MANIFEST, ONTOLOGY, STATISTICS
from annotation.releases.listing import listing, parts_of, unlike
from annotation.releases.publishing import Person
from annotation.testset import TestSet, board_moves, count_hiding, logged_changes
from annotation.testset_overlap import overlapping
from evalsvc.core.accounts import login_throttle
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import TooLarge
from evalsvc.core.web.body_limits import takes_files
from evalsvc.core.web.downloads import parts_file, zip_file
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.json_parser import count_starts
from evalsvc.core.web.markdown import to_html
from evalsvc.core.web.views import attempt, page, takes

MAX_BYTES, MAX_SECONDS = 15_000_000, 1.5  # of a request; the command has no limit
MAX_VALUES = 100_000  # of each file that is read at once
COMMAND = "Use manage.py verify_release."

CHANGING = ("README.md", "CITATION.cff", "citation.bib", STATISTICS)  # after a freeze
ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".7z")
MAX_LINES, MAX_LABELS = 200, 20  # of a page, of a line on it


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files; the value is their list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        files = [super(FilesField, self).clean(file, initial) for file in data or [None]]
        size = sum(file.size for file in files)
        if size > MAX_BYTES:
            detail = f"The files have {size:,} bytes; the page checks {MAX_BYTES:,}. {COMMAND}"
            raise forms.ValidationError(detail, code="too_large")
        if archive := next((file.name for file in files if str(file.name).lower().endswith(ARCHIVES)), None):
            detail = f"{archive} is an archive. Unpack it, and choose all files of its folder."
            raise forms.ValidationError(detail, code="archive")
        return files


class CopyForm(PageForm):
    copies = FilesField(
        label="Files",
        allow_empty_file=True,
        help_text="All files of the release, unpacked: select them together. They are not stored.",
        error_messages={"required": "Choose the files of the folder."},
    )


@page()
def changes(request: HttpRequest, slug: str) -> HttpResponse:
    """Compare a test set with an earlier one, by default the latest before it."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    first, found = compare_with(test_set, request.GET.get("since", ""), by=user)
    facts = [("added", each) for each in found.facts_added[:MAX_LINES]]
    facts += [("lost", each) for each in found.facts_lost[:MAX_LINES]]
    context = {
        "set": test_set,
        "first": first,
        "found": found,
        "others": earlier_sets(test_set, user),
        "lines": [
            replace(line, before=_first(line.before), after=_first(line.after))
            for line in found.changes[:MAX_LINES]
        ],
        "facts": facts,
        "n_facts": len(found.facts_added) + len(found.facts_lost),
        "boards": board_moves(first, test_set, user),
    }
    return render(request, "annotation/release_changes.html", context)


def _first(labels: list[str] | None) -> list[str] | None:
    """Return the first labels of a line, and how many more it has."""
    more = len(labels or ()) - MAX_LABELS
    return [*labels[:MAX_LABELS], f"{more:,} more"] if labels and more > 0 else labels


@takes_files(MAX_BYTES, needs_login=False)
@takes()
@require_http_methods(["GET", "HEAD", "POST"])
def check_copy(request: HttpRequest) -> HttpResponse:
    """Compare uploaded files with their checksums, their manifest and each other; needs no login."""
    form = CopyForm(request.POST, request.FILES) if request.method == "POST" else CopyForm()
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        files = {file.name: opened(file) for file in form.cleaned_data["copies"]}
        with login_throttle.check(request):
            if result := attempt(form, lambda: _checked(files), "copies"):
                context |= {"result": result, "not_compared": NOT_COMPARED} | _known(request, result)
    return render(request, "annotation/release_check.html", context)


def _checked(files: dict[str, Opened]) -> CheckResult:
    """Check files for a limited computing time."""
    begun = time.thread_time()

    def tick() -> None:
        if time.thread_time() - begun > MAX_SECONDS:
            raise TooLarge("too_large", "The files take too long to check in a request.", hint=COMMAND)

    for name in files.keys() & {MANIFEST, ONTOLOGY, STATISTICS}:
        _require_few_values(name, files[name](), tick)
    return check(files, tick)


def _require_few_values(name: str, lines: Iterable[bytes], tick: Callable[[], None]) -> None:
    values = 0
    for line in lines:
        tick()
        values += count_starts(line)
        if values > MAX_VALUES:
            raise TooLarge("too_large", f"{name} has more than {MAX_VALUES:,} values.", hint=COMMAND)


def opened(file: UploadedFile) -> Opened:
    def lines() -> Iterator[bytes]:
        stream = file.open().file  # the wrapper copies a long line anew for each of its chunks
        assert stream is not None
        return (line for line in stream)  # `yield from` closes the upload when a reader stops early

    return lines


def _known(request: HttpRequest, result: CheckResult) -> dict[str, Any]:
    """Return the set on this service that has exactly this manifest, and its page that the person sees.

    The manifest with the gold would confirm guessed labels to people who may not learn them. A withdrawal
    is named by the slug alone, so it confirms nothing.
    """
    user = request.user
    publication = publishing.visible(user).filter(test_set__slug=result.slug).first()
    own = None
    if isinstance(user, User):
        own = visible(request).frozen().filter(slug=result.slug).first()
    test_set = own or (publication.test_set if publication else None)
    if test_set is None:
        return {}
    found: dict[str, Any] = {"withdrawn": publication} if publication and publication.withdrawn_at else {}
    for gold in (True, False) if test_set.known_to(user) else (False,):
        if result.manifest_sha256 == manifest_sha256(test_set, with_gold=gold):
            found |= {"known": test_set, "known_page": "test-set" if own else "release"}
            found |= _compared(test_set, publication, user, result, with_gold=gold)
            break
    return found


def _compared(
    test_set: TestSet, publication: Publication | None, user: Person, result: CheckResult, *, with_gold: bool
) -> dict[str, Any]:
    """Return the files that are not as the service has them.

    They are compared for people who may download them: others would confirm guessed files.
    """
    may_read = isinstance(user, User) and test_set.readable_by(user)
    may_load = publication is not None and publishing.may_download(publication, user, with_gold=with_gold)
    compared = (may_read or may_load) and test_set.statistics is not None
    found = unlike(test_set, result.digests, with_gold=with_gold) if compared else []
    may_be_earlier = all(name in CHANGING and name in result.digests for name in found)
    return {"compared": compared, "unlike": found, "may_be_earlier": may_be_earlier}


# ---- publication ----------------------------------------------------------------------------------
class PublishForm(PageForm):
    OTHER_NAMES = ("do",)
    access = forms.ChoiceField(
        label="Who may download",
        choices=[
            ("anybody", "anybody, also without a login"),
            ("terms", "people who accept the terms"),
            ("named", "the people named below"),
        ],
        initial="anybody",
        widget=forms.RadioSelect,
    )
    with_gold = forms.BooleanField(
        required=False,
        label="With the gold, its provenance and statistics; otherwise sentences to predict only",
    )
    terms = forms.CharField(
        required=False,
        max_length=publishing.MAX_TERMS,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Markdown. Changed terms have to be accepted again.",
    )
    usernames = forms.CharField(
        required=False,
        label="User names",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="One per line, for named people only.",
    )


class WithdrawForm(PageForm):
    reason = forms.CharField(
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Shown on the page of the release, which stays.",
    )
    action = forms.CharField(widget=forms.HiddenInput, initial="withdraw")


@page("GET", "POST")
def publish(request: HttpRequest, slug: str) -> HttpResponse:
    """Publish a test set, withdraw it, and show who downloaded it."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    test_set.require_reader(user)
    publication = Publication.objects.filter(test_set=test_set).first()
    form = PublishForm(_if(request, "publish"), initial=_values(publication))
    withdraw = WithdrawForm(_if(request, "withdraw"))
    shown = None
    if form.is_valid():
        values = form.cleaned_data | {"usernames": form.cleaned_data["usernames"].splitlines()}
        if request.POST.get("do") == "show":
            shown = attempt(form, lambda: publication_effect.of_publishing(test_set, by=user, **values))
        elif attempt(form, lambda: publishing.publish(test_set, by=user, **values)):
            return redirect("test-set-publish", slug)
    if withdraw.is_valid():
        reason = withdraw.cleaned_data["reason"]
        if attempt(withdraw, lambda: publishing.withdraw(test_set, reason=reason, by=user), "reason"):
            return redirect("test-set-publish", slug)
    context = {
        "set": test_set,
        "publication": publication,
        "form": form,
        "withdraw": withdraw,
        "effect": shown and shown[1],
        "withdrawal": publication_effect.of_withdrawal(test_set),
        "hiding": count_hiding(*overlapping([test_set])),
        "downloads": publishing.downloads(test_set, by=user),
        "log": logged_changes(test_set)[:MAX_LINES],
    }
    return render(request, "annotation/publish.html", context)


def _if(request: HttpRequest, action: str) -> Any:
    """Return the data sent, if it is for this form of the page."""
    sent = "withdraw" if request.POST.get("action") == "withdraw" else "publish"
    return request.POST if request.method == "POST" and sent == action else None


def _values(publication: Publication | None) -> dict[str, Any]:
    if publication is None:
        return {}
    names = publication.readers.values_list("user__username", flat=True)
    values = {name: getattr(publication, name) for name in ("access", "with_gold", "terms")}
    return values | {"usernames": "\n".join(names)}


@require_safe
def published(request: HttpRequest) -> HttpResponse:
    """List the published test sets that a person sees, withdrawn ones too."""
    rows = publishing.visible(request.user).order_by("-at")[:MAX_LINES]
    return render(request, "annotation/releases.html", {"publications": rows})


def publication_or_404(request: HttpRequest, slug: str) -> Publication:
    return get_object_or_404(publishing.visible(request.user), test_set__slug=slug)


@takes(("terms",))
@require_http_methods(["GET", "HEAD", "POST"])
def release_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a published test set; accept its terms."""
    publication = publication_or_404(request, slug)
    if request.method == "POST":
        if not isinstance(request.user, User):
            return redirect_to_login(request.path)
        publishing.accept(publication, sha256=request.POST.get("terms", ""), by=request.user)
        return redirect("release", slug)
    test_set, with_gold = publication.test_set, publication.shows_gold
    may_download = publishing.may_download(publication, request.user, with_gold=with_gold)
    shows_digests = may_download or test_set.known_to(request.user)
    card = card_of(test_set)
    context: dict[str, Any] = {
        "publication": publication,
        "set": test_set,
        "content": Composition(test_set, with_gold=with_gold, in_release=True, may_download=may_download),
        "card": card,
        "words": to_html(card.words),
        "cite": citation_text(test_set, with_gold=with_gold and shows_digests),
        "bibtex": bibtex(test_set, with_gold=with_gold and shows_digests),
        "terms": to_html(publication.terms),
        "terms_sha256": publishing.terms_sha256(publication),
        "files": listing(test_set, with_gold=with_gold),
        "file_url": "release-part",
        "may_download": may_download,
        "shows_digests": shows_digests,
        "manifest_sha256": manifest_sha256(test_set, with_gold=with_gold),
    }
    if with_gold:
        context |= figures(context["content"], route="release-chart")
    return render(request, "annotation/release.html", context)


@require_safe
def release_chart(request: HttpRequest, slug: str, name: str, format: str) -> HttpResponse:
    """Download a chart of a published gold as SVG, or its data as CSV."""
    publication = publication_or_404(request, slug)
    if not publication.shows_gold:
        raise Http404
    content = Composition(publication.test_set, with_gold=True, in_release=True)
    return chart_file(content, name, format)


@require_safe
def release_file(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Download a published test set as one zip, and log it."""
    publication = publication_or_404(request, slug)
    publishing.require_download(publication, request.user)
    test_set, with_gold = publication.test_set, publication.with_gold
    parts = zip_of(test_set, with_gold=with_gold)
    what = "published release" if with_gold else "published release without gold"
    publishing.record_download(test_set, request.user, what)
    return zip_file(f"{test_set.slug}{'' if with_gold else '-blind'}.zip", parts)


@require_safe
def release_part(request: HttpRequest, slug: str, name: str) -> HttpResponseBase:
    """Download one file of a published test set, and log it."""
    publication = publication_or_404(request, slug)
    publishing.require_download(publication, request.user)
    parts = parts_of(publication.test_set, name, with_gold=publication.with_gold)
    publishing.record_download(publication.test_set, request.user, f"published {name}"[:40])
    return parts_file(name, parts)
