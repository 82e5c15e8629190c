"""Pages of a test set: split it into parts, and count what training data share with it."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from annotation.pages.testsets import visible
from annotation.splits import making
from annotation.splits.leakage import Shared
from annotation.splits.splitting import Unit
from evalsvc.core.accounts.users import person
from evalsvc.core.formats.problems import FileRejected
from evalsvc.core.formats.readers import read_by_job
from evalsvc.core.formats.registry import formats
from evalsvc.core.web import places
from evalsvc.core.web.body_limits import takes_files
from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.formatting import DASH, percent
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page

UNITS = [
    (Unit.NEITHER, "neither pairs nor sentences are shared"),
    (Unit.PAIR, "no entity pair is shared; sentences may be"),
    (Unit.SENTENCE, "no sentence is shared; pairs may be"),
]


class SplitForm(PageForm):
    OTHER_NAMES = ("action",)
    parts = forms.CharField(max_length=300, initial=making.EXAMPLE, help_text="Names with their shares.")
    seed = forms.CharField(
        max_length=making.LONGEST_SEED,
        initial="split-1",
        help_text="The same text gives the same parts. For balanced parts choose one that nobody can guess.",
    )
    keep_together = forms.ChoiceField(choices=UNITS)
    stratified = forms.BooleanField(required=False, label="Balance the relations as far as possible")


class LeakageForm(PageForm):
    file = forms.FileField(label="Training data", help_text="Up to 50,000 lines in any format of sentences.")
    format = forms.ChoiceField(required=False)

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        known = formats("items").items()
        titles = [(key, each.title) for key, each in known if not read_by_job(key, "items")]
        self.fields["format"].choices = [("", "as recognised"), *titles]  # type: ignore[attr-defined]


def shared_table(rows: list[Shared], first: str, second: str) -> DataTable:
    """Return a row per kind of thing."""
    heads = ["What", f"In {first}", f"In {second}", "Shared", f"Share of {second}, %", f"Items of {second}"]
    return DataTable(
        heads,
        [
            [
                row.title, f"{row.train:,}", f"{row.test:,}", f"{row.shared:,}",
                DASH if row.share_of_test is None else percent(row.share_of_test), f"{row.test_items:,}",
            ]
            for row in rows
        ],
    )  # fmt: skip


@page("GET", "POST")
def split_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Preview the parts, then make them."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    test_set.require_reader(user)
    form = SplitForm(request.POST or None)
    context = {"set": test_set, "form": form}
    plan = attempt(form, lambda: making.Plan.of(**form.cleaned_data)) if form.is_valid() else None
    if plan is not None and request.POST.get("action") == "make":
        made = attempt(form, lambda: making.make(test_set, plan, by=user))
        if made:
            messages.info(request, f"{' and '.join(map(str, made))} are being written.")
            return redirect("test-set", made[0].slug)
    most = making.MOST_LINES_IN_WEB
    preview = attempt(form, lambda: making.preview(test_set, plan, by=user, most=most)) if plan else None
    if preview is not None:
        heads = ["Part", "Items", "Pairs", "Facts", "Sentences"]
        rows = [[name, *(f"{n:,}" for n in counts.values())] for name, counts in preview.parts.items()]
        context |= {
            "counts": DataTable(heads, rows),
            "shared": [(a, b, shared_table(of, a, b)) for a, b, of in preview.shared],
            "worst": percent(preview.worst),
        }
    return render(request, "annotation/test_set_split.html", context)


@takes_files()
@page("GET", "POST")
def leakage_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Count what a training file shares with the set."""
    test_set, user = get_object_or_404(visible(request), slug=slug), person(request)
    test_set.require_reader(user)
    form = LeakageForm(request.POST, request.FILES) if request.method == "POST" else LeakageForm()
    context = {"set": test_set, "form": form}
    if form.is_valid():
        file, most = form.cleaned_data["file"], making.MOST_LINES_IN_WEB
        chosen = {"format": form.cleaned_data["format"], "most": most}
        try:
            with places.files.taken(user.pk):
                shared = attempt(form, lambda: making.leakage_of(test_set, file, by=user, **chosen))
        except FileRejected as rejected:
            form.add_error("file", str(rejected))
            shared = None
        if shared is not None:
            context["shared"] = shared_table(shared, "the file", str(test_set))
    return render(request, "annotation/test_set_leakage.html", context)
