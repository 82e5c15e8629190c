"""Log-in by an OpenID Connect provider; imported only where one is set up."""

from __future__ import annotations

import logging
import re
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_POST
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import Identity, User
from evalsvc.core.errors.exceptions import Conflict

log = logging.getLogger(__name__)
Claims = dict[str, Any]
CONNECTING, INVITATION = "connecting", "invitation"


class Provider(OIDCAuthenticationBackend):
    """Knows people by issuer and subject alone: whoever controls an address elsewhere is nobody here."""

    def authenticate(self, request: HttpRequest | None, **kwargs: Any) -> User | None:
        if "nonce" not in kwargs:
            return None  # a log-in by password asks every backend
        try:
            return super().authenticate(request, **kwargs)
        except (requests.RequestException, jwt.PyJWTError, SuspiciousOperation, ValueError) as error:
            log.warning("The provider's answer was not taken: %s", error)
            return None

    def get_or_create_user(self, access_token: str, id_token: str, payload: Claims) -> User | None:
        """The library leaves issuer and audience unchecked; whom the token is for matters most."""
        audience = payload.get("aud", [])
        meant = [audience] if isinstance(audience, str) else audience
        if payload.get("iss") != settings.OIDC_ISSUER or settings.OIDC_RP_CLIENT_ID not in meant:
            raise SuspiciousOperation("The token is of another issuer, or for another client.")
        claims = self.get_userinfo(access_token, id_token, payload)
        if not payload.get("sub") or claims.get("sub") != payload["sub"]:
            raise SuspiciousOperation("Token and user information speak of different people.")
        return self._person(claims)

    @transaction.atomic
    def _person(self, claims: Claims) -> User | None:
        session = self.request.session
        known = Identity.objects.filter(issuer=settings.OIDC_ISSUER, subject=claims["sub"])
        identity = known.select_related("user").first()
        if session.pop(CONNECTING, None) == self.request.user.pk and self.request.user.is_authenticated:
            return self._connected(self.request.user, claims, identity)
        return identity.user if identity else self._new(claims, session.pop(INVITATION, ""))

    def _connected(self, user: User, claims: Claims, identity: Identity | None) -> User:
        if identity and identity.user != user:
            raise Conflict(
                "identity_taken",
                "Another account here is connected to this identity.",
                hint="Log in with it, and disconnect it on that account's page.",
            )
        if identity is None:
            Identity.objects.create(user=user, issuer=settings.OIDC_ISSUER, subject=claims["sub"])
        return user

    def _new(self, claims: Claims, secret: str) -> User:
        told = {
            "username": free_name(claims),
            "email": claims.get("email", ""),
            "first_name": claims.get("given_name", "")[:150],
            "last_name": claims.get("family_name", "")[:150],
        }
        user, place = users.sign_up_elsewhere(secret=secret, **told)
        Identity.objects.create(user=user, issuer=settings.OIDC_ISSUER, subject=claims["sub"])
        if place:
            self.request.session["oidc_login_next"] = place
        return user


def free_name(claims: Claims) -> str:
    """A user name like the one at the provider, with a number when it is taken."""
    told = claims.get("preferred_username") or claims.get("email", "").partition("@")[0]
    name = re.sub(r"[^\w.@+-]", "", str(told))[:140] or "person"
    taken = {found.casefold() for found in User.objects.values_list("username", flat=True)}
    names = (name if n == 1 else f"{name}{n}" for n in range(1, len(taken) + 2))
    return next(free for free in names if free.casefold() not in taken)


class Back(OIDCAuthenticationCallbackView):
    """Where the provider sends people back to."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        if request.GET.get("error"):
            return self.login_failure()
        try:
            return super().get(request)
        except SuspiciousOperation as error:
            log.warning("A way back from the provider was not taken: %s", error)
            return self.login_failure()


@login_required
@require_POST
def connect(request: HttpRequest) -> HttpResponse:
    """The provider's page is reached by a link: the policy lets no form lead elsewhere."""
    request.session[CONNECTING] = request.user.pk
    return render(request, "accounts/connect.html", {"provider": settings.OIDC_TITLE})


patterns = [
    path("single-sign-on/", OIDCAuthenticationRequestView.as_view(), name="single-sign-on"),
    path("single-sign-on/back/", Back.as_view(), name="single-sign-on-back"),
    path("account/connect/", connect, name="account-connect"),
]
