"""Mails that people are sent by others here: the link of an invitation."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.http import HttpRequest
from django.template.loader import render_to_string

from evalsvc.core.accounts import login_throttle
from evalsvc.core.accounts.invitations import Open

log = logging.getLogger(__name__)
TO_THE_LOG = "django.core.mail.backends.console.EmailBackend"


def configured() -> bool:
    """Whether mail goes anywhere: by default it is only written to the log."""
    return bool(settings.EMAIL_BACKEND != TO_THE_LOG)


def mail_invitation(request: HttpRequest, found: Open, *, to: str, link: str) -> bool:
    """Send the link; False when the mail server did not take it, and it has to be sent by hand."""
    login_throttle.note_mail(request, to)
    told = {"found": found, "link": link, "host": request.get_host()}
    subject = render_to_string("accounts/invitation_subject.txt", told).strip()
    try:
        send_mail(subject, render_to_string("accounts/invitation_mail.txt", told), None, [to])
    except (OSError, SMTPException) as error:
        log.warning("An invitation could not be mailed: %s", error)
        return False
    return True
