"""Pages for creating and revoking invitations of every kind."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from evalsvc.core.accounts import invitations, outgoing_mail
from evalsvc.core.accounts.forms import INVITATION_DAYS, InvitationForm
from evalsvc.core.accounts.invitations import InvitationTarget, OpenInvitation
from evalsvc.core.accounts.models import Invitation
from evalsvc.core.accounts.users import person
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.request_validation import validated_form
from evalsvc.core.web.views import forget_secret, redirect_with_secret, secret_of, takes


def invitation_panel(target: InvitationTarget, subject: Any) -> dict[str, Any]:
    """Context of `accounts/invitations.html` on the members page of an object."""
    usable = list(invitations.usable_for(target, subject))
    for record in usable:
        record.role_title = target.role_title(record.role)  # type: ignore[attr-defined]
    return {
        "invites": {
            "target": target,
            "subject": subject,
            "usable": usable,
            "days": INVITATION_DAYS,
            "mails": outgoing_mail.sends_mail(),
        }
    }


@takes()
@login_required
@require_POST
def invite(request: HttpRequest) -> HttpResponse:
    values = validated_form(InvitationForm(request.POST))
    target, email = invitations.target_named(values["place"]), values["email"]
    subject = target.find(values["subject"])
    record, secret = invitations.invite(
        target, subject, role=values["role"], by=person(request), days=values["days"],
        note=values["note"] or email,
    )  # fmt: skip
    if email and outgoing_mail.sends_mail():
        _mail(request, OpenInvitation(record, target, subject), email, secret)
    return redirect_with_secret(reverse("invitation", args=[record.pk]), secret)


def _mail(request: HttpRequest, invitation: OpenInvitation, to: str, secret: str) -> None:
    """Send the link, which the page shows as well."""
    link = request.build_absolute_uri(reverse("join", args=[secret]))
    try:
        sent = invitations.mail(request, invitation, to=to, link=link)
    except DomainError as error:
        messages.warning(request, f"{error.detail} Send the link yourself.")
        return
    if sent:
        messages.info(request, f"Link sent to {to}.")
    else:
        messages.warning(request, f"The e-mail to {to} could not be sent. Send the link yourself.")


@login_required
@never_cache
@require_safe
def invitation(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an invitation, with its link the first time."""
    opened = invitations.resolve(get_object_or_404(Invitation, pk=pk))
    opened.target.require_inviter(opened.subject, person(request))
    secret = secret_of(request)
    link = request.build_absolute_uri(reverse("join", args=[secret])) if secret else ""
    back = opened.target.members_url(opened.subject)
    context = {"invitation": opened, "link": link, "back": back}
    return forget_secret(request, render(request, "accounts/invited.html", context))


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    revoked = invitations.revoke(get_object_or_404(Invitation, pk=pk), by=person(request))
    messages.info(request, "Invitation revoked. Its link no longer works.")
    return redirect(revoked.target.members_url(revoked.subject))
