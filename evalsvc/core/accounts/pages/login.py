"""Pages for login, sign-up, invitation links and password reset."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, views
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from evalsvc.core.accounts import invitations, login_throttle, outgoing_mail, sessions, users
from evalsvc.core.accounts.forms import LogInForm, NewPasswordForm, ResetForm, SignUpForm
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.passwords import ResetLinks
from evalsvc.core.errors.exceptions import Conflict
from evalsvc.core.web.views import attempt, takes

BACKEND = "django.contrib.auth.backends.ModelBackend"
hides_passwords = sensitive_post_parameters("password1", "password2")


def _sign_in_options() -> dict[str, Any]:
    mails = outgoing_mail.sends_mail()
    return {"sign_up": settings.SIGN_UP, "provider": settings.OIDC_TITLE, "mails": mails}


class LogIn(views.LoginView):
    template_name = "accounts/login.html"
    authentication_form = LogInForm
    http_method_names = ["get", "head", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        options = _sign_in_options() | {"provider_failed": self.request.GET.get("refused")}
        return super().get_context_data(**kwargs) | options

    def form_invalid(self, form: Any) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=400)


@takes()
@hides_passwords
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    users.require_open_sign_up()
    form = SignUpForm(request.POST if request.method == "POST" else None)
    user = _create_user(request, form)
    if user is None:
        return _render(request, "accounts/sign_up.html", form)
    login(request, user, backend=BACKEND)
    return redirect("home")


def _create_user(request: HttpRequest, form: SignUpForm, secret: str = "") -> User | None:
    """Create the account; on an error add it to the form."""
    if not form.is_valid():
        return None
    fields = {name: form.cleaned_data[name] for name in ("username", "first_name", "last_name", "email")}
    password = form.cleaned_data["password1"]
    with login_throttle.place(request):
        login_throttle.record_sign_up(request)
        return attempt(form, lambda: users.sign_up(password=password, secret=secret, **fields))


@takes()
@hides_passwords
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Show an invitation, with a sign-up form for people without an account."""
    invitation = invitations.find_open(secret)
    request.session.pop(sessions.INVITATION, None)  # whoever comes back has cancelled
    if isinstance(request.user, User):
        if request.method == "POST":  # logged in since the form was shown
            return redirect("join", secret)
        return render(request, "accounts/join.html", {"invitation": invitation, "secret": secret})
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        users.require_invited_sign_up()
        user = _create_user(request, form, secret)
        if user:
            login(request, user, backend=BACKEND)
            return redirect(invitation.url)
    return _render(request, "accounts/join.html", form, invitation=invitation, secret=secret)


@login_required
@require_POST
def accept(request: HttpRequest, secret: str) -> HttpResponse:
    invitation = invitations.accept(secret, user=users.person(request))
    messages.info(request, f"You joined {invitation.subject} as {invitation.role}.")
    return redirect(invitation.url)


def _render(request: HttpRequest, template: str, form: SignUpForm, **more: Any) -> HttpResponse:
    context = {"form": form} | _sign_in_options() | more
    return render(request, template, context, status=400 if form.errors else 200)


# ---- password reset by mail ---------------------------------------------------------------------
class Reset(views.PasswordResetView):
    """Form for e-mail address and user name; its response doesn't reveal which an account has."""

    template_name = "accounts/reset.html"
    form_class = ResetForm
    http_method_names = ["get", "head", "post"]
    email_template_name = "accounts/reset_mail.txt"
    subject_template_name = "accounts/reset_subject.txt"
    success_url = reverse_lazy("password-reset-sent")

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not outgoing_mail.sends_mail():
            hint = "Ask an administrator for a new password: manage.py changepassword NAME."
            raise Conflict("no_mail", "This service sends no e-mail.", hint=hint)
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        email, username = (form.cleaned_data[name] for name in ("email", "username"))
        network = login_throttle.network_of(self.request)
        has_room = outgoing_mail.paced().has_room(network)
        login_throttle.record_mail(self.request, email, username=username, is_sent=has_room)
        if not has_room:
            raise outgoing_mail.no_room()
        scheme, host = outgoing_mail.origin_of_links(self.request)
        options = {
            "use_https": scheme == "https",
            "email_template_name": self.email_template_name,
            "subject_template_name": self.subject_template_name,
            "domain_override": host,
            "token_generator": ResetLinks(),
        }
        outgoing_mail.paced().put(network, lambda: form.save(**options))
        return redirect(self.get_success_url())


class ResetSent(views.PasswordResetDoneView):
    template_name = "accounts/reset_sent.html"
    http_method_names = ["get", "head"]


class ResetConfirm(views.PasswordResetConfirmView):
    """Form for the new password, reached by the link in the mail."""

    template_name = "accounts/reset_confirm.html"
    form_class = NewPasswordForm
    token_generator = ResetLinks()
    success_url = reverse_lazy("login")

    def form_valid(self, form: Any) -> HttpResponse:
        token = self.request.session[views.INTERNAL_RESET_SESSION_TOKEN]
        with login_throttle.place(self.request):
            form.hash()
        with transaction.atomic():  # of those who come at once with a link, the first uses it up
            user = User.objects.select_for_update(no_key=True).get(pk=form.user.pk)
            if not self.token_generator.check_token(user, token):
                self.validlink = False
                return self.render_to_response(self.get_context_data())
            response = super().form_valid(form)
        login_throttle.clear_name(user.username)
        messages.info(self.request, users.password_changed("Other sessions are logged out.", user))
        outgoing_mail.tell_owner(self.request, user, "password")
        return response


log_in = takes()(LogIn.as_view())
reset = takes()(Reset.as_view())
reset_sent = ResetSent.as_view()
# an expired link shows no form
reset_confirm = takes(("new_password1", "new_password2", "username"))(
    require_http_methods(["GET", "HEAD", "POST"])(ResetConfirm.as_view())
)
