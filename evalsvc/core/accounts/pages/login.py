"""Getting in: log-in, sign-up, an invitation's link, a new password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, views
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.core.accounts import invitations, login_throttle, users
from evalsvc.core.accounts.forms import LogInForm, NewPasswordForm, ResetForm, SignUpForm
from evalsvc.core.accounts.models import User
from evalsvc.core.web.views import attempt

BACKEND = "django.contrib.auth.backends.ModelBackend"
INVITATION = "invitation"
secret_words = sensitive_post_parameters("password1", "password2")


def doors() -> dict[str, Any]:
    """Which ways in there are."""
    return {"sign_up": settings.SIGN_UP, "provider": settings.OIDC_TITLE if settings.SINGLE_SIGN_ON else ""}


class LogIn(views.LoginView):
    """By user name and password; how often is the form's to say."""

    template_name = "accounts/login.html"
    authentication_form = LogInForm
    http_method_names = ["get", "head", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | doors() | {"refused": self.request.GET.get("refused")}

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=400)


@secret_words
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    users.require_open()
    form = SignUpForm(request.POST if request.method == "POST" else None)
    user = _made(form) if request.method == "POST" else None
    if user is None:
        return _page(request, "accounts/sign_up.html", form)
    login(request, user, backend=BACKEND)
    return redirect("home")


def _made(form: SignUpForm, secret: str = "") -> User | None:
    """The new account, or None when the form has to be shown again with what is wrong."""
    if not form.is_valid():
        return None
    told = {name: form.cleaned_data[name] for name in ("username", "first_name", "last_name", "email")}
    password = form.cleaned_data["password1"]
    return attempt(form, lambda: users.sign_up(password=password, secret=secret, **told))


@secret_words
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """What the link leads to, and a way there for those with and without an account."""
    found = invitations.opened(secret)
    if isinstance(request.user, User):
        return render(request, "accounts/join.html", {"found": found, "secret": secret})
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        users.require_by_link()
        user = _made(form, secret)
        if user:
            login(request, user, backend=BACKEND)
            return redirect(found.address)
    else:
        request.session[INVITATION] = secret  # for those who come back by single sign-on
    return _page(request, "accounts/join.html", form, found=found, secret=secret)


@login_required
@require_POST
def accept(request: HttpRequest, secret: str) -> HttpResponse:
    found = invitations.accept(secret, user=request.user)  # type: ignore[arg-type]
    messages.info(request, f"You are in {found.subject} now: {found.role}.")
    return redirect(found.address)


def _page(request: HttpRequest, template: str, form: SignUpForm, **more: Any) -> HttpResponse:
    told = {"form": form} | doors() | more
    return render(request, template, told, status=400 if form.errors else 200)


# ---- a new password by mail ----------------------------------------------------------------------
class Reset(views.PasswordResetView):
    """Asks for the address; the answer is the same whether somebody has it or not."""

    template_name = "accounts/reset.html"
    form_class = ResetForm
    http_method_names = ["get", "head", "post"]
    email_template_name = "accounts/reset_mail.txt"
    subject_template_name = "accounts/reset_subject.txt"
    success_url = reverse_lazy("password-reset-sent")

    def form_valid(self, form: Any) -> HttpResponse:
        login_throttle.note_mail(self.request, form.cleaned_data["email"])
        return super().form_valid(form)


class ResetSent(views.PasswordResetDoneView):
    template_name = "accounts/reset_sent.html"
    http_method_names = ["get", "head"]


class ResetConfirm(views.PasswordResetConfirmView):
    """The link in the mail, once; whoever sets a password here may try it at once."""

    template_name = "accounts/reset_confirm.html"
    form_class = NewPasswordForm
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.info(self.request, "The new password is set. Other sessions are logged out.")
        return super().form_valid(form)


log_in = LogIn.as_view()
reset = Reset.as_view()
reset_sent = ResetSent.as_view()
reset_confirm = require_http_methods(["GET", "HEAD", "POST"])(ResetConfirm.as_view())
