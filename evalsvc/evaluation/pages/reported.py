"""Page where organisers enter figures of papers."""

from __future__ import annotations

from collections.abc import Sequence

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from evalsvc.core.accounts import users
from evalsvc.core.web.formatting import counted
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page, row_id
from evalsvc.evaluation.measures.menu import as_shown
from evalsvc.evaluation.models import ReportedSystem
from evalsvc.evaluation.pages.organise import organised
from evalsvc.evaluation.pages.reported_view import context_of
from evalsvc.evaluation.reported import entries, shown


class ReportedForm(PageForm):
    """One table of a paper."""

    paper = forms.CharField(max_length=200, help_text="Authors and year, for example: Harbecke et al. 2022")
    table = forms.CharField(max_length=60, help_text="For example: Table 3")
    page = forms.CharField(max_length=20, required=False)
    url = forms.URLField(max_length=300, required=False, label="Address of the paper", assume_scheme="https")
    runs = forms.IntegerField(
        min_value=1, max_value=10_000, required=False,
        help_text="Runs behind each figure. Empty: the paper does not say.",
    )  # fmt: skip
    note = forms.CharField(max_length=300, required=False)
    systems = forms.CharField(
        label="Figures as printed",
        widget=forms.Textarea(attrs={"rows": 6, "class": "field mono"}),
        help_text="A heading with measures, by title or key, then a line per system, with tabs, "
        "semicolons or commas between. Shares in percent; a deviation after ±.",
    )


@page("GET", "POST", remove=())
def reported_page(request: HttpRequest, slug: str, key: str) -> HttpResponse:
    """Systems known from papers; organisers enter and remove them."""
    benchmark, person = organised(request, slug), users.person(request)
    setting = get_object_or_404(benchmark.settings.select_related("test_set", "only", "benchmark"), key=key)
    removed = request.POST.get("remove")
    if removed is not None:
        rows = setting.reported.select_related("setting__benchmark")
        row = get_object_or_404(rows, pk=row_id(removed))
        entries.remove(row, by=person)
        messages.info(request, f"{row.system} removed.")
        return redirect("setting-reported", slug, key)
    form = ReportedForm(request.POST if request.method == "POST" else None)
    main = as_shown(setting, setting.main).title
    form.fields["systems"].widget.attrs["placeholder"] = f"System; {main}\nNet; 71.5 ± 0.4\nTree; 69.8 ± 0.7"
    if form.is_valid():
        values = dict(form.cleaned_data)
        text = values.pop("systems")

        def add() -> Sequence[ReportedSystem]:
            systems = entries.read_table(setting, text)
            return entries.add(setting, by=person, systems=systems, **values)

        if rows_added := attempt(form, add):
            messages.info(request, f"{counted(len(rows_added), 'system')} added.")
            return redirect("setting-reported", slug, key)
    context = {"benchmark": benchmark, "setting": setting, "form": form}
    context |= context_of(setting, shown.reported(setting, person))
    return render(request, "evaluation/reported.html", context, status=400 if form.errors else 200)
