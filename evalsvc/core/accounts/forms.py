"""Forms for login, accounts, tokens, teams and invitations."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

from django import forms
from django.contrib.auth import forms as auth
from django.core.validators import validate_email

from evalsvc.core.accounts import login_throttle, outgoing_mail
from evalsvc.core.accounts.models import ApiToken, Team, TeamMember, User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.text_validation import require_visible

SCOPES = (
    (ApiToken.Scope.SUBMIT, "Submit runs and read scores"),
    (ApiToken.Scope.READ, "Read scores"),
    (ApiToken.Scope.FULL, "Everything"),
)
TOKEN_DAYS = ((30, "in 30 days"), (90, "in 90 days"), (365, "in a year"), (0, "never"))
ROLES = ((TeamMember.Role.MEMBER, "Member"), (TeamMember.Role.OWNER, "Owner"))
MAX_INVITED, MAX_NOTE = 50, 120  # the links of one form fit into a cookie
INVITATION_DAYS = ((1, "1 day"), (7, "7 days"), (30, "30 days"))
PASSWORD_HINT = "At least 8 characters. No common word, nothing like your name."  # noqa: S105 - a hint


def visible(text: str) -> None:
    """Validate a name of one line without invisible characters."""
    try:
        require_visible(text, field="name")
    except DomainError as error:
        raise forms.ValidationError(f"{error.detail} {error.hint}") from error


class ConfirmedForm(PageForm):
    """Form that takes the current password, unless the account has none."""

    password = forms.CharField(
        strip=False, label="Password", widget=forms.PasswordInput(attrs={"autocomplete": "current-password"})
    )

    def __init__(self, *args: Any, user: User, request: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user, self.request = user, request
        if not user.has_usable_password():
            del self.fields["password"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        password = cleaned.pop("password", "")
        if password:
            _check_password(self, self.user, password, field="password")
        return cleaned


class TokenForm(ConfirmedForm):
    name = forms.CharField(max_length=80)
    scope = forms.ChoiceField(choices=SCOPES, initial=ApiToken.Scope.SUBMIT)
    days = forms.TypedChoiceField(choices=TOKEN_DAYS, coerce=int, initial=90, label="Expires")
    field_order = ("name", "scope", "team", "days", "password")


class OwnTokenForm(TokenForm):
    """Token for one of the user's teams, or for none."""

    team = forms.ModelChoiceField(
        Team.objects.none(), required=False, to_field_name="slug", empty_label="none"
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, user=user, **kwargs)
        teams = Team.objects.filter(members__user=user).order_by("name")
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]


class TeamForm(PageForm):
    name = forms.CharField(max_length=120, label="Team name")


class MemberForm(PageForm):
    username = forms.CharField(max_length=150)
    role = forms.ChoiceField(choices=ROLES, initial=TeamMember.Role.MEMBER)


class InvitationForm(PageForm):
    place = forms.SlugField()
    subject = forms.IntegerField(min_value=0, max_value=2**63 - 1)
    role = forms.CharField(max_length=20)
    days = forms.TypedChoiceField(choices=INVITATION_DAYS, coerce=int)
    people = forms.CharField(max_length=10_000, required=False)

    def clean_people(self) -> list[str]:
        """Return a name or e-mail address for each link; one link without any."""
        people = [entry.strip() for entry in re.split(r"[\n,;]", self.cleaned_data["people"])]
        people = list(dict.fromkeys(filter(None, people))) or [""]
        if len(people) > MAX_INVITED:
            message = (
                f"{len(people)} people are too many at once. Invite at most {MAX_INVITED}, then the others."
            )
            raise forms.ValidationError(message, code="too_many")
        if long := next((entry for entry in people if len(entry) > MAX_NOTE), None):
            raise forms.ValidationError(
                f"{long[:40]}… is longer than {MAX_NOTE} characters. Write one name or address per line.",
                code="too_long",
            )
        return people


class LogInForm(PageForm, auth.AuthenticationForm):
    """User name and password, with a limit on attempts."""

    error_messages = auth.AuthenticationForm.error_messages | {
        "invalid_login": "Wrong user name or password. Both are case-sensitive."
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = "User name"

    def clean(self) -> dict[str, Any]:
        username = self.cleaned_data.get("username", "")
        if self.request is None:
            raise TypeError("The login form needs its request, to count attempts per network.")
        tried = username and self.cleaned_data.get("password")
        keys = login_throttle.of_name(self.request, username)
        with login_throttle.attempt(self.request, keys) if tried else nullcontext():
            cleaned = super().clean()
        if self.get_user():
            login_throttle.clear(keys)
        return cleaned


class SignUpForm(PageForm, auth.BaseUserCreationForm):
    class Meta:
        model = User
        fields = ("username", "first_name", "last_name", "email")
        field_classes = {"username": auth.UsernameField}
        labels = {
            "username": "User name",
            "first_name": "First name",
            "last_name": "Last name",
            "email": "E-mail",
        }
        help_texts = {
            "username": "Letters, digits and @ . + - _",
            "email": "Used only to reset your password.",
        }

    field_order = ("username", "first_name", "last_name", "email", "password1", "password2")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].required = True
        for name in ("first_name", "last_name"):
            self.fields[name].validators.append(visible)
        self.fields["password1"].help_text = PASSWORD_HINT
        self.fields["password2"].label = "Password again"
        self.fields["password2"].help_text = ""
        autocomplete = {"first_name": "given-name", "last_name": "family-name", "email": "email"}
        for name, value in autocomplete.items():
            self.fields[name].widget.attrs["autocomplete"] = value


class PersonForm(PageForm):
    """Name and e-mail address; a new address needs the password."""

    first_name = forms.CharField(max_length=150, required=False, label="First name", validators=[visible])
    last_name = forms.CharField(max_length=150, required=False, label="Last name", validators=[visible])
    email = forms.CharField(
        max_length=254, validators=[validate_email], required=False, label="E-mail",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )  # fmt: skip
    password = forms.CharField(
        required=False, strip=False, label="Password", help_text="Needed only to change the e-mail address.",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )  # fmt: skip

    def __init__(self, *args: Any, user: User, request: Any, **kwargs: Any) -> None:
        initial = {"first_name": user.first_name, "last_name": user.last_name, "email": user.email}
        super().__init__(*args, initial=initial, **kwargs)
        self.user, self.request = user, request
        if not user.has_usable_password():
            del self.fields["password"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        email_changed = cleaned.get("email", self.user.email) != self.user.email
        if email_changed and "password" in self.fields:
            _check_password(self, self.user, cleaned.get("password", ""), field="password")
        return cleaned


class SetsPassword(auth.SetPasswordForm):
    """Store the password alone: the account may have been deactivated while it was hashed."""

    def save(self, commit: bool = True) -> User:
        self.user.set_password(self.cleaned_data["new_password1"])
        self.user.save(update_fields=["password"])
        return self.user


class PasswordForm(PageForm, SetsPassword, auth.PasswordChangeForm):
    """New password; a wrong current password counts as an attempt."""

    def __init__(self, user: User, *args: Any, request: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.request = request
        _label_new_passwords(self)
        self.fields["old_password"].label = "Current password"
        self.fields["old_password"].widget.attrs.pop("autofocus", None)

    def clean_old_password(self) -> str:
        password = self.cleaned_data["old_password"]
        _check_password(self, self.user, password, field="old_password")
        return password


class NewPasswordForm(PageForm, SetsPassword):
    """New password after the link in a mail."""

    OTHER_NAMES = ("username",)  # for password managers

    def hash(self) -> None:
        """Hash the password before anything is locked, as that takes most of a second."""
        self.user.set_password(self.cleaned_data["new_password1"])

    def save(self, commit: bool = True) -> User:
        self.user.save(update_fields=["password"])
        return self.user

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _label_new_passwords(self)


class ResetForm(PageForm, auth.PasswordResetForm):
    """E-mail address of the account whose password is to be reset, and its name if others have that, too."""

    username = auth.UsernameField(
        max_length=150, required=False, label="User name",
        help_text="Only needed if several accounts have this address.",
    )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "E-mail"

    def get_users(self, email: str) -> list[User]:
        """Return the account of the name, or the first to give the address: anybody can make more."""
        users = sorted(super().get_users(email), key=lambda user: (user.email_since, user.pk))
        if name := self.cleaned_data["username"]:
            return [user for user in users if user.username == name]
        return users[: login_throttle.FIRST_WITH_ADDRESS]

    def send_mail(self, *templates: Any, **options: Any) -> None:
        """Name the account unless its name could be a message: anybody can sign up with this address."""
        context = templates[2]
        user = context["user"]
        context["name"] = outgoing_mail.plain_name(user)
        if login_throttle.record_reset(user):
            super().send_mail(*templates, **options)


def _label_new_passwords(form: forms.BaseForm) -> None:
    form.fields["new_password1"].label = "New password"
    form.fields["new_password1"].help_text = PASSWORD_HINT
    form.fields["new_password2"].label = "New password again"
    form.fields["new_password2"].help_text = ""


def _check_password(form: Any, user: User, password: str, *, field: str) -> None:
    keys = login_throttle.of_session(form.request)
    with login_throttle.attempt(form.request, keys):
        is_right = user.check_password(password)
    if is_right:
        login_throttle.clear(keys)
    else:
        form.add_error(field, "Wrong password. Enter your current password.")
