"""Single sign-on with an OpenID Connect provider; imported only if configured."""

from __future__ import annotations

import json
import logging
import re
import time
import unicodedata
from contextlib import suppress
from typing import Any

import jwt
import requests
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.sessions.backends.base import SessionBase, UpdateError
from django.core.exceptions import SuspiciousOperation, ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from mozilla_django_oidc.auth import OIDCAuthenticationBackend
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from evalsvc.core.accounts import invitations, outgoing_mail, security_log, sessions, users
from evalsvc.core.accounts.forms import ConfirmedForm
from evalsvc.core.accounts.login_throttle import network_of, record_sign_on
from evalsvc.core.accounts.models import Identity, User, folded_name
from evalsvc.core.accounts.sessions import CONNECTING, INVITATION
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web import places
from evalsvc.core.web.text_validation import require_visible, without_look_alikes
from evalsvc.core.web.views import takes

log = logging.getLogger(__name__)
Claims = dict[str, Any]
BEGUN_SECONDS = 600  # that a person has to continue at the provider
TRIES = 5
PIECE, MAX_BYTES, PLAIN = 65_536, 1_000_000, "identity"  # of a response of the provider
REJECTED = (requests.RequestException, jwt.PyJWTError, SuspiciousOperation, ValueError, RecursionError)


class Provider(OIDCAuthenticationBackend):
    """Backend that identifies users by issuer and subject, never by e-mail address."""

    def authenticate(self, request: HttpRequest | None, **kwargs: Any) -> User | None:
        if "nonce" not in kwargs:
            return None  # a password login, which Django tries with every backend
        try:
            return super().authenticate(request, **kwargs)
        except REJECTED as error:
            log.warning("Single sign-on rejected the provider's response: %s", error)
            return None

    def get_token(self, payload: Claims) -> Claims:
        return _object(json.loads(_received("POST", self.OIDC_OP_TOKEN_ENDPOINT, data=payload)[1]))

    def retrieve_matching_jwk(self, token: str) -> jwt.PyJWK:
        """Return the key that the token names, of the token's algorithm."""
        header, found = jwt.get_unverified_header(token), None
        for key in json.loads(_received("GET", self.OIDC_OP_JWKS_ENDPOINT)[1])["keys"]:
            if key["kid"] == header["kid"] and key.get("alg", header["alg"]) == header["alg"]:
                found = key
        if found is None:
            raise SuspiciousOperation("The provider has no such key.")
        return jwt.PyJWK(found)

    def verify_token(self, token: str, **kwargs: Any) -> Claims:
        """Reject a header, or keys, in which something is missing or of another type."""
        try:
            return _object(super().verify_token(token, **kwargs))
        except (AttributeError, LookupError, TypeError, OverflowError) as error:
            raise SuspiciousOperation(f"The token or the keys are malformed: {error!r}.") from error

    def get_userinfo(self, access_token: str, id_token: str, payload: Claims) -> Claims:
        headers = {"Authorization": f"Bearer {access_token}"}
        kind, content = _received("GET", self.OIDC_OP_USER_ENDPOINT, headers=headers)
        if kind.lower().startswith("application/jwt"):
            return self.verify_token(content.decode())
        return _object(json.loads(content))

    def get_or_create_user(self, access_token: str, id_token: str, payload: Claims) -> User | None:
        """Check issuer and audience, and that there is an expiry, which the library leaves unchecked."""
        if payload.get("iss") != settings.OIDC_ISSUER or not _is_for_us(payload):
            raise SuspiciousOperation("The token is from another issuer, or for another client.")
        if "exp" not in payload:
            raise SuspiciousOperation("The token does not expire.")
        claims = self.get_userinfo(access_token, id_token, payload)
        subject = payload.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= 255 or not subject.isprintable():
            raise SuspiciousOperation("The subject is not a text of 1 to 255 characters.")
        if claims.get("sub") != subject:
            raise SuspiciousOperation("Token and user information name different subjects.")
        return self._user(claims)

    def _user(self, claims: Claims) -> User | None:
        session = self.request.session
        connecting, secret = _taken(session, CONNECTING), _taken(session, INVITATION)
        for _ in range(TRIES - 1):
            # the identity or its name was stored at the same moment
            with suppress(IntegrityError, users.NameTaken):
                return self._known_or_new(claims, connecting, secret)
        return self._known_or_new(claims, connecting, secret)

    @transaction.atomic
    def _known_or_new(self, claims: Claims, connecting: int | None, secret: str | None) -> User | None:
        identities = Identity.objects.filter(issuer=settings.OIDC_ISSUER, subject=claims["sub"])
        identity = identities.select_related("user").first()
        if connecting == self.request.user.pk and self.request.user.is_authenticated:
            if identity and identity.user != self.request.user:
                raise Conflict(
                    "identity_taken",
                    "This identity is connected to another account.",
                    hint="Log in with it and disconnect it on that account's page.",
                )
            if identity is None:
                sessions.lock_active(self.request.user)
                Identity.objects.create(
                    user=self.request.user, issuer=settings.OIDC_ISSUER, subject=claims["sub"]
                )
                security_log.write("identity_connected", request=self.request, account=self.request.user)
                outgoing_mail.tell_owner(self.request, self.request.user, "identity")
            return self.request.user
        return identity.user if identity else self._new(claims, secret or "")

    def _new(self, claims: Claims, secret: str) -> User:
        fields = {
            "username": free_name(claims),
            "email": _address(claims),
            "first_name": _name(claims, "given_name"),
            "last_name": _name(claims, "family_name"),
        }
        user, url = users.sign_up_by_provider(secret=secret, **fields)
        Identity.objects.create(user=user, issuer=settings.OIDC_ISSUER, subject=claims["sub"])
        if url:
            self.request.session["oidc_login_next"] = url
        return user


def _received(
    method: str, url: str, *, headers: dict[str, str] | None = None, **sent: Any
) -> tuple[str, bytes]:
    """Return type and body of a response of the provider; reject one that could grow beyond a bound."""
    headers = {"Accept-Encoding": PLAIN, **(headers or {})}
    bounds: Any = {"stream": True, "allow_redirects": False}
    with requests.request(
        method, url, headers=headers, timeout=settings.OIDC_TIMEOUT, **bounds, **sent
    ) as response:
        if (
            response.status_code != requests.codes.ok
            or response.headers.get("Content-Encoding", PLAIN) != PLAIN
        ):
            raise SuspiciousOperation(f"{url} answered with {response.status_code}, or compressed.")
        content = b""
        for piece in response.iter_content(PIECE):
            content += piece
            if len(content) > MAX_BYTES:
                raise SuspiciousOperation(f"{url} answered with more than {MAX_BYTES:,} bytes.")
        return response.headers.get("Content-Type", ""), content


def _object(value: Any) -> Claims:
    if not isinstance(value, dict):
        raise SuspiciousOperation("The provider's response is no JSON object.")
    return value


def _is_for_us(payload: Claims) -> bool:
    """True if this client is the audience, and the one that asked: of several it must be named (`azp`)."""
    audience = payload.get("aud")
    clients = audience if isinstance(audience, list) else [audience]
    asked = payload.get("azp", settings.OIDC_RP_CLIENT_ID if len(clients) == 1 else None)
    return settings.OIDC_RP_CLIENT_ID in clients and asked == settings.OIDC_RP_CLIENT_ID


def _begin(session: SessionBase, what: str, value: object) -> None:
    """Note what the next sign-on is for, as the person asked by a form."""
    session[what] = [value, time.time()]


def _taken(session: SessionBase, what: str) -> Any:
    """Take the note of this sign-on; None without one, or if it was left."""
    value, at = session.pop(what, None) or (None, 0.0)
    return value if time.time() - at < BEGUN_SECONDS else None


def _text(claims: Claims, name: str) -> str:
    value = claims.get(name)
    return unicodedata.normalize("NFKC", value[:1_000]).strip() if isinstance(value, str) else ""


def _name(claims: Claims, name: str) -> str:
    """Return a name as the sign-up form would take it, else none."""
    text = _text(claims, name)[:150]
    with suppress(DomainError):
        require_visible(text, field="name")
        return text
    return ""


def _address(claims: Claims) -> str:
    address = _text(claims, "email")
    with suppress(ValidationError):
        validate_email(address)
        return address if len(address) <= 254 else ""
    return ""


def free_name(claims: Claims) -> str:
    """Return the provider's user name, numbered if it is taken."""
    preferred = _text(claims, "preferred_username") or _address(claims).partition("@")[0]
    name = without_look_alikes(re.sub(r"[^\w.@+-]", "", preferred))[:140] or "person"
    taken = {folded_name(username) for username in User.objects.values_list("username", flat=True)}
    names = (name if n == 1 else f"{name}{n}" for n in range(1, len(taken) + 2))
    return next(candidate for candidate in names if folded_name(candidate) not in taken)


class Start(OIDCAuthenticationRequestView):
    """Redirect to the provider; the session of a visitor lasts no longer than that may take."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        record_sign_on(request)
        if not request.user.is_authenticated:
            request.session.set_expiry(BEGUN_SECONDS)
        return super().get(request)


class Callback(OIDCAuthenticationCallbackView):
    """Page that the provider redirects to."""

    def get(self, request: HttpRequest) -> HttpResponseBase:
        if request.GET.get("error"):
            return self.login_failure()
        try:
            with places.provider.taken(network_of(request)):
                return super().get(request)
        except SuspiciousOperation as error:
            log.warning("Single sign-on rejected a callback: %s", error)
            return self.login_failure()
        except UpdateError:  # another tab has logged in, which gave the session a new key
            request.session.modified = False
            return HttpResponseRedirect(self.success_url)


@takes()
@sensitive_post_parameters("password")
@never_cache
@login_required
@require_POST
def connect(request: HttpRequest) -> HttpResponse:
    """Take the password, and link to the provider; the CSP allows no form to it."""
    form = ConfirmedForm(request.POST, user=users.person(request), request=request)
    context: dict[str, Any] = {"provider": settings.OIDC_TITLE, "next": reverse("account")}
    if not form.is_valid():
        return render(request, "accounts/connect.html", context | {"form": form}, status=400)
    _begin(request.session, CONNECTING, request.user.pk)
    return render(request, "accounts/connect.html", context)


@never_cache
@require_POST
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Link to the provider for a person who accepts an invitation with a new account."""
    invitation = invitations.find_open(secret)
    _begin(request.session, INVITATION, secret)
    context = {
        "provider": settings.OIDC_TITLE,
        "invitation": invitation,
        "next": reverse("join", args=[secret]),
    }
    return render(request, "accounts/connect.html", context)


patterns = [
    path("single-sign-on/", Start.as_view(), name="single-sign-on"),
    path("single-sign-on/back/", Callback.as_view(), name="single-sign-on-back"),
    path("account/connect/", connect, name="account-connect"),
    path("join/<str:secret>/sign-on/", join, name="join-by-provider"),
]
