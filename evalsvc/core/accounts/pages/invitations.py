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

from evalsvc.core.accounts import invitation_targets, invitations, mail
from evalsvc.core.accounts.forms import STANDS, InvitationForm
from evalsvc.core.accounts.invitation_targets import Place
from evalsvc.core.accounts.models import Invitation
from evalsvc.core.accounts.pages import one_time_secret
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.request_validation import validated_form


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
            "mails": mail.configured(),
        }
    }


@login_required
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    given = validated_form(InvitationForm(request.POST))
    place = invitation_targets.get(given["place"])
    subject = place.find(given["subject"])
    row, secret = invitations.invite(
        place, subject, role=given["role"], by=person(request), days=given["days"],
        note=given["note"] or given["email"],
    )  # fmt: skip
    if given["email"] and mail.configured():
        _mailed(request, invitations.Open(row, place, subject), given["email"], secret)
    return one_time_secret.lead_to(reverse("invitation", args=[row.pk]), secret)


def _mailed(request: HttpRequest, found: invitations.Open, to: str, secret: str) -> None:
    """The link is shown either way: a mail may get lost."""
    link = request.build_absolute_uri(reverse("join", args=[secret]))
    try:
        sent = mail.mail_invitation(request, found, to=to, link=link)
    except DomainError as refusal:
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
    place = invitation_targets.get(row.place)
    subject = place.find(row.subject)
    place.require(subject, person(request))
    secret = one_time_secret.brought(request)
    link = request.build_absolute_uri(reverse("join", args=[secret])) if secret else ""
    told = {"row": row, "place": place, "subject": subject, "role": place.word(row.role), "link": link}
    told["back"] = back(place, subject)
    return one_time_secret.forget(request, render(request, "accounts/invited.html", told))


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
