"""Who organises a board and who may look at a hidden one."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web.forms import PageForm, add_form_error
from evalsvc.evaluation import roles
from evalsvc.evaluation.benchmarks import organisers
from evalsvc.evaluation.models import Benchmark, Organiser


class PersonForm(PageForm):
    username = forms.CharField(max_length=150, label="User name")
    role = forms.ChoiceField(choices=organisers.INVITATION_TARGET.roles)

    def clean_username(self) -> User:
        name = self.cleaned_data["username"]
        found = User.objects.filter(username=name).first()
        if found is None:
            raise forms.ValidationError(f"Nobody here has the user name {name}. Names are case-sensitive.")
        return found


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = roles.benchmark_for(request.user, slug)
    roles.require(benchmark, request.user, roles.ORGANISER)
    removing = request.POST.get("remove")
    form = PersonForm(request.POST if request.method == "POST" and removing is None else None)
    if removing is not None:
        return _removed(request, benchmark, removing)
    if form.is_valid() and _given(request, benchmark, form):
        return redirect("board-people", slug)
    listed = benchmark.people.select_related("user").order_by("role", "user__username")
    told = {"benchmark": benchmark, "form": form, "listed": listed} | invitation_panel(
        organisers.INVITATION_TARGET, benchmark
    )
    return render(request, "evaluation/organisers.html", told, status=400 if form.errors else 200)


def _given(request: HttpRequest, benchmark: Benchmark, form: PersonForm) -> bool:
    told = {"user": form.cleaned_data["username"], "role": form.cleaned_data["role"]}
    try:
        row = organisers.set_person(benchmark, by=roles.person(request), **told)
    except DomainError as refusal:
        add_form_error(form, refusal)
        return False
    messages.info(request, f"{row.user.shown_name} is {row.role} here.")
    return True


def _removed(request: HttpRequest, benchmark: Benchmark, row: str) -> HttpResponse:
    found = get_object_or_404(Organiser, benchmark=benchmark, pk=int(row) if row.isdecimal() else 0)
    try:
        organisers.remove_person(benchmark, user=found.user, by=roles.person(request))
    except Conflict as refusal:
        messages.warning(request, f"{refusal.detail} {refusal.hint}".strip())
        return redirect("board-people", benchmark.slug)
    messages.info(request, f"{found.user.shown_name} has no role here any more. Runs stay.")
    return redirect("board" if found.user == request.user else "board-people", benchmark.slug)
