"""Pages of releases: the check of a copy, and what changed since an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from annotation.pages.testsets import visible
from annotation.releases.check import CheckResult, Opened, check
from annotation.releases.earlier import compare_with, earlier_sets
from annotation.releases.folder import manifest_sha256
from annotation.testset import TestSet, board_moves
from evalsvc.core.accounts.users import person
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import page

MAX_BYTES = 50_000_000  # a few seconds of a request; the command has no limit

MAX_LINES = 200


class FilesInput(forms.ClearableFileInput):
    allow_multiple_selected = True


class FilesField(forms.FileField):
    """Several files; the value is their list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> list[UploadedFile]:
        files = [super(FilesField, self).clean(file, initial) for file in data or [None]]
        size = sum(file.size for file in files)
        if size > MAX_BYTES:
            detail = (
                f"The files have {size:,} bytes; the page checks {MAX_BYTES:,}. Use manage.py verify_release."
            )
            raise forms.ValidationError(detail, code="too_large")
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
    context = {
        "set": test_set,
        "first": first,
        "found": found,
        "others": earlier_sets(test_set, user),
        "lines": found.changes[:MAX_LINES],
        "boards": board_moves(first, test_set, user),
    }
    return render(request, "annotation/release_changes.html", context)


@page("GET", "POST")
def check_copy(request: HttpRequest) -> HttpResponse:
    """Compare uploaded files with their checksums, their manifest and each other."""
    form = CopyForm(request.POST, request.FILES) if request.method == "POST" else CopyForm()
    context: dict[str, Any] = {"form": form}
    if form.is_valid():
        result = check({file.name: opened(file) for file in form.cleaned_data["copies"]})
        context |= {"result": result, "known": _known(request, result)}
    return render(request, "annotation/release_check.html", context)


def opened(file: UploadedFile) -> Opened:
    def lines() -> Iterator[bytes]:
        yield from file.open()

    return lines


def _known(request: HttpRequest, result: CheckResult) -> TestSet | None:
    """Return the set on this service that has exactly this manifest, if the person sees it."""
    sets = visible(request).frozen().filter(sha256=result.gold_sha256) if result.gold_sha256 else ()
    return next((test_set for test_set in sets if manifest_sha256(test_set) == result.manifest_sha256), None)
