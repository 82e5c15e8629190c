"""Page of the people with a role in a benchmark."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.core.accounts import users
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
        user = User.objects.filter(username=name).first()
        if user is None:
            raise forms.ValidationError(f"No user is named {name}. User names are case-sensitive.")
        return user


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest, slug: str) -> HttpResponse:
    benchmark = roles.benchmark_for(request.user, slug)
    roles.require(benchmark, request.user, roles.ORGANISER)
    removing = request.POST.get("remove")
    form = PersonForm(request.POST if request.method == "POST" and removing is None else None)
    if removing is not None:
        return _remove(request, benchmark, removing)
    if form.is_valid() and _save_role(request, benchmark, form):
        return redirect("board-people", slug)
    listed = benchmark.people.select_related("user").order_by("role", "user__username")
    context = {"benchmark": benchmark, "form": form, "listed": listed} | invitation_panel(
        organisers.INVITATION_TARGET, benchmark
    )
    return render(request, "evaluation/organisers.html", context, status=400 if form.errors else 200)


def _save_role(request: HttpRequest, benchmark: Benchmark, form: PersonForm) -> bool:
    user, role = form.cleaned_data["username"], form.cleaned_data["role"]
    try:
        organisers.set_person(benchmark, user=user, role=role, by=users.person(request))
    except DomainError as error:
        add_form_error(form, error)
        return False
    messages.info(request, f"{user.shown_name} is now {role} of {benchmark}.")
    return True


def _remove(request: HttpRequest, benchmark: Benchmark, row: str) -> HttpResponse:
    person = get_object_or_404(Organiser, benchmark=benchmark, pk=int(row) if row.isdecimal() else 0)
    try:
        organisers.remove_person(benchmark, user=person.user, by=users.person(request))
    except Conflict as error:
        messages.warning(request, f"{error.detail} {error.hint}".strip())
        return redirect("board-people", benchmark.slug)
    messages.info(request, f"{person.user.shown_name} no longer has a role. Submitted runs stay.")
    return redirect("board" if person.user == request.user else "board-people", benchmark.slug)
