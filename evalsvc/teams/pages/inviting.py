"""Making invitations and taking them back, for every kind of place."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from evalsvc.refusals import Refusal
from evalsvc.teams import invitations, mailing, places
from evalsvc.teams.forms import STANDS, InvitationForm
from evalsvc.teams.models import Invitation
from evalsvc.teams.pages import once
from evalsvc.teams.pages.teams import person, refused_form
from evalsvc.teams.places import Place


def panel(place: Place, subject: Any) -> dict[str, Any]:
    """What `teams/invitations.html` shows on the page of a place."""
    standing = list(invitations.of_place(place, subject))
    for row in standing:
        row.word = place.word(row.role)  # type: ignore[attr-defined]
    return {
        "invites": {
            "place": place,
            "subject": subject,
            "standing": standing,
            "stands": STANDS,
            "mails": mailing.configured(),
        }
    }


@login_required
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    form = InvitationForm(request.POST)
    if not form.is_valid():
        raise refused_form(form)
    given = form.cleaned_data
    place = places.get(given["place"])
    subject = place.find(given["subject"])
    row, secret = invitations.invite(
        place, subject, role=given["role"], by=person(request), days=given["days"],
        note=given["note"] or given["email"],
    )  # fmt: skip
    if given["email"] and mailing.configured():
        _mailed(request, invitations.Open(row, place, subject), given["email"], secret)
    return once.lead_to(reverse("invitation", args=[row.pk]), secret)


def _mailed(request: HttpRequest, found: invitations.Open, to: str, secret: str) -> None:
    """The link is shown either way: a mail may get lost."""
    link = request.build_absolute_uri(reverse("join", args=[secret]))
    try:
        sent = mailing.mail_invitation(request, found, to=to, link=link)
    except Refusal as refusal:
        messages.warning(request, f"{refusal.detail} Send the link yourself.")
        return
    if sent:
        messages.info(request, f"The link is on its way to {to}.")
    else:
        messages.warning(request, f"The mail to {to} could not be sent. Send the link yourself.")


@login_required
@never_cache
@require_safe
def invitation(request: HttpRequest, pk: int) -> HttpResponse:
    """A new invitation with its link, the first time it is looked at."""
    row = get_object_or_404(Invitation, pk=pk)
    place = places.get(row.place)
    subject = place.find(row.subject)
    place.require(subject, person(request))
    secret = once.brought(request)
    link = request.build_absolute_uri(reverse("join", args=[secret])) if secret else ""
    told = {"row": row, "place": place, "subject": subject, "role": place.word(row.role), "link": link}
    told["back"] = back(place, subject)
    return once.forget(request, render(request, "teams/invited.html", told))


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    row = get_object_or_404(Invitation, pk=pk)
    found = invitations.revoke(row, by=person(request))
    messages.info(request, "The invitation is taken back: its link leads nowhere now.")
    return redirect(back(found.place, found.subject))


def back(place: Place, subject: Any) -> str:
    """The page that invitations to this place are made on."""
    return place.staffed_at(subject)
