"""Everybody with an account, for whoever runs the place."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.pages.invitations import panel
from evalsvc.core.accounts.users import person


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def people(request: HttpRequest) -> HttpResponse:
    users.require_administrator(person(request))
    if request.method == "POST":
        _changed(request)
        return redirect(request.get_full_path())
    search = request.GET.get("name", "").strip()
    listed = Paginator(users.everyone(search), 50).get_page(request.GET.get("page"))
    told = {"people": listed, "search": search} | panel(users.PLACE, users.Here())
    return render(request, "accounts/people.html", told)


def _changed(request: HttpRequest) -> None:
    asked, by = request.POST.get("change", ""), person(request)
    told = request.POST.get("person", "")
    user = get_object_or_404(User, pk=int(told) if told.isdecimal() else 0)
    if asked in ("organiser", "no-organiser"):
        users.set_organiser(user, may=asked == "organiser", by=by)
        now = "may open projects and boards" if asked == "organiser" else "opens no projects and boards now"
    elif asked in ("in", "out"):
        users.set_active(user, active=asked == "in", by=by)
        now = "can log in again" if asked == "in" else "is shut out, sessions and tokens too"
    else:
        return
    messages.info(request, f"{user.shown_name} {now}.")
