"""Page of the people with a role in a benchmark."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.pages.invitations import invitation_panel
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.views import attempt, page, row_id
from evalsvc.evaluation import roles
from evalsvc.evaluation.models import Benchmark, Organiser


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
        return _remove(request, benchmark, removing)
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


def _remove(request: HttpRequest, benchmark: Benchmark, row: str) -> HttpResponse:
    organiser = get_object_or_404(Organiser, benchmark=benchmark, pk=row_id(row))
    try:
        roles.remove_person(benchmark, user=organiser.user, by=users.person(request))
    except Conflict as error:
        messages.warning(request, f"{error.detail} {error.hint}".strip())
        return redirect("board-people", benchmark.slug)
    messages.info(request, f"{organiser.user.shown_name} no longer has a role. Submitted runs stay.")
    return redirect("board" if organiser.user == request.user else "board-people", benchmark.slug)
