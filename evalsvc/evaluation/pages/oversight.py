"""Pages by which organisers oversee a benchmark: its people, its log, and the ledger of its figures."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.activity import pages as activity
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.figures import DataTable
from evalsvc.core.web.formatting import DASH, count, counted, number, percent
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page, row_id
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks.quotas import most_in_total
from evalsvc.evaluation.disclosure.ledger import Ledger, did_hide, ledgers
from evalsvc.evaluation.models import Organiser
from evalsvc.evaluation.pages.organise import organised


@page()
def log(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = organised(request, slug)
    context = {"benchmark": benchmark} | activity.log_context(request, benchmark)
    return render(request, "evaluation/log.html", context)


@page()
def log_csv(request: HttpRequest, slug: str) -> HttpResponseBase:
    return activity.log_csv(organised(request, slug), slug)


@page()
def ledger(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = organised(request, slug)
    context = {"benchmark": benchmark, "ledgers": [_ledger_section(each) for each in ledgers(benchmark)]}
    return render(request, "evaluation/ledger.html", context)


def _ledger_section(ledger: Ledger) -> dict[str, Any]:
    setting = ledger.setting
    most = most_in_total(setting)
    return {
        "setting": setting,
        "warning": ledger.warns(most),
        "lead": _ledger_lead(ledger, most),
        "costs": DataTable(
            ("Shown", "Step, points", "Bits per file"),
            [
                (
                    cost.title if cost.shown else f"{cost.title} (not shown)",
                    DASH if cost.step is None else number(100 * cost.step),
                    number(cost.bits),
                )
                for cost in ledger.costs
            ],
        ),
        "teams": DataTable(
            ("Team", "Files", "Bits at most", "% of the gold"),
            [(str(t.team), count(t.files), number(t.bits, digits=0), percent(t.share)) for t in ledger.teams],
        ),
    }


def _ledger_lead(ledger: Ledger, most: int | None) -> str:
    closed = (
        "It has closed; this is what its figures gave away until then. " if did_hide(ledger.setting) else ""
    )
    gold = f"{closed}The labels hold {count(round(ledger.gold_bits))} bits; each file gives away at most "
    per_file = f"{number(ledger.bits_per_file)}"
    if most is None:
        return f"{gold}{per_file}. The number of files of a team is not limited."
    bits = most * ledger.bits_per_file
    return (
        f"{gold}{per_file}, so {counted(most, 'file')} of a team at most {count(round(bits))}: "
        f"{percent(ledger.share(bits))} %."
    )


class PersonForm(PageForm):
    username = forms.CharField(max_length=150, label="User name")
    role = forms.ChoiceField(choices=roles.INVITATION_TARGET.roles)

    def clean_username(self) -> User:
        name = self.cleaned_data["username"]
        user = User.objects.filter(username=name).first()
        if user is None:
            raise forms.ValidationError(f"No user is named {name}. User names are case-sensitive.")
        return user


@page("GET", "POST", remove=())
def people(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark, person = roles.benchmark_for(request.user, slug), users.person(request)
    roles.require(benchmark, person, roles.ORGANISER)
    removing = request.POST.get("remove")
    if removing is not None:
        organiser = get_object_or_404(Organiser, benchmark=benchmark, pk=row_id(removing))
        try:
            roles.remove_person(benchmark, user=organiser.user, by=users.person(request))
        except Conflict as error:
            messages.warning(request, f"{error.detail} {error.hint}".strip())
            return redirect("board-people", benchmark.slug)
        messages.info(request, f"{organiser.user.shown_name} no longer has a role. Submitted runs stay.")
        return redirect("board" if organiser.user == request.user else "board-people", benchmark.slug)
    form = PersonForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        user, role = form.cleaned_data["username"], form.cleaned_data["role"]
        if attempt(form, lambda: roles.set_person(benchmark, user=user, role=role, by=person)):
            messages.info(request, f"{user.shown_name} is now {role} of {benchmark}.")
            return redirect("board-people", slug)
    listed = benchmark.people.select_related("user").order_by("role", "user__username")
    context = {"benchmark": benchmark, "form": form, "listed": listed}
    context |= invitation_panel(roles.INVITATION_TARGET, benchmark)
    return render(request, "evaluation/organisers.html", context, status=400 if form.errors else 200)
