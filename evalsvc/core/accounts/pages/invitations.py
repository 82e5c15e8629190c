"""Pages for creating and revoking invitations of every kind."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
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

SEPARATOR = "!"  # no character of a secret


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
    """Create a link per person, mail those with an address, and show them once."""
    values = validated_form(InvitationForm(request.POST))
    target = invitations.target_named(values["place"])
    subject = target.find(values["subject"])
    made = invitations.invite_many(
        target, subject, values["people"], role=values["role"], by=person(request), days=values["days"]
    )
    answers = outgoing_mail.sends_mail()
    for record, secret in made:
        if answers and _is_address(record.note):
            answers = _mail(request, OpenInvitation(record, target, subject), record.note, secret)
    first, _ = made[0]
    secrets = SEPARATOR.join(f"{record.pk}:{secret}" for record, secret in made)
    return redirect_with_secret(reverse("invitation", args=[first.pk]), secrets)


def _is_address(text: str) -> bool:
    with suppress(ValidationError):
        validate_email(text)
        return True
    return False


def _mail(request: HttpRequest, invitation: OpenInvitation, to: str, secret: str) -> bool:
    """Send the link, which the page shows as well; return False if the mail server does not answer."""
    try:
        sent = invitations.mail(request, invitation, to=to, path=reverse("join", args=[secret]))
    except DomainError as error:
        messages.warning(request, f"{error.detail} Send the link yourself.")
        return True
    if sent:
        messages.info(request, f"Link sent to {to}.")
    elif sent is None:
        detail = f"The mail server does not respond. {to} and all others after it got no link."
        messages.warning(request, f"{detail} Send the links yourself.")
    else:
        messages.warning(request, f"The e-mail to {to} could not be sent. Send the link yourself.")
    return sent is not None


@login_required
@never_cache
@require_safe
def invitation(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an invitation; the first time with the links that were created together."""
    opened = invitations.resolve(get_object_or_404(Invitation, pk=pk))
    opened.target.require_inviter(opened.subject, person(request))
    secrets = dict(entry.split(":") for entry in filter(None, secret_of(request).split(SEPARATOR)))
    records = Invitation.objects.in_bulk([int(made) for made in secrets])
    links = [
        (records[int(made)].note, request.build_absolute_uri(reverse("join", args=[secret])))
        for made, secret in secrets.items()
        if int(made) in records
    ]
    back = opened.target.members_url(opened.subject)
    context = {"invitation": opened, "links": links, "back": back}
    return forget_secret(request, render(request, "accounts/invited.html", context))


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    revoked = invitations.revoke(get_object_or_404(Invitation, pk=pk), by=person(request))
    messages.info(request, "Invitation revoked. Its link no longer works.")
    return redirect(revoked.target.members_url(revoked.subject))
