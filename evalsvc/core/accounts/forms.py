"""What people fill in: to get in, about themselves, for a token, a team, an invitation."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import forms as auth
from django.core.validators import validate_email

from evalsvc.core.accounts import login_throttle
from evalsvc.core.accounts.models import ApiToken, Team, TeamMember, User
from evalsvc.core.web.forms import PageForm

SCOPES = (
    (ApiToken.Scope.SUBMIT, "submit, read scores"),
    (ApiToken.Scope.READ, "read scores"),
    (ApiToken.Scope.FULL, "everything you may do"),
)
DAYS = ((30, "in 30 days"), (90, "in 90 days"), (365, "in a year"), (0, "never"))
ROLES = ((TeamMember.Role.MEMBER, "may submit"), (TeamMember.Role.OWNER, "owner"))
STANDS = ((1, "for a day"), (7, "for a week"), (30, "for a month"))
PASSWORD_HINT = "At least 8 characters, not a common word, not like your name."  # noqa: S105 - a hint


class TokenForm(PageForm):
    name = forms.CharField(max_length=80)
    scope = forms.ChoiceField(choices=SCOPES, initial=ApiToken.Scope.SUBMIT)
    days = forms.TypedChoiceField(choices=DAYS, coerce=int, initial=90)


class OwnTokenForm(TokenForm):
    """A token of one's own: for one of one's teams, or for none."""

    team = forms.ModelChoiceField(Team.objects.none(), required=False, to_field_name="slug")

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        teams = Team.objects.filter(members__user=user).order_by("name")
        self.fields["team"].queryset = teams  # type: ignore[attr-defined]


class TeamForm(PageForm):
    name = forms.CharField(max_length=120)


class MemberForm(PageForm):
    username = forms.CharField(max_length=150)
    role = forms.ChoiceField(choices=ROLES, initial=TeamMember.Role.MEMBER)


class InvitationForm(PageForm):
    place = forms.SlugField()
    subject = forms.IntegerField(min_value=0, max_value=2**63 - 1)
    role = forms.CharField(max_length=20)
    days = forms.TypedChoiceField(choices=STANDS, coerce=int)
    note = forms.CharField(max_length=120, required=False)
    email = forms.CharField(max_length=254, validators=[validate_email], required=False)


class LogInForm(PageForm, auth.AuthenticationForm):
    """A name and a password, tried no oftener than is allowed."""

    def clean(self) -> dict[str, Any]:
        """Beyond the limit a refusal leaves the form, and the password is not looked at."""
        username = self.cleaned_data.get("username", "")
        if self.request is None:
            raise TypeError("A log-in is throttled by where it comes from: give the form its request.")
        if username and self.cleaned_data.get("password"):
            login_throttle.note_try(self.request, username)
        cleaned = super().clean()
        if self.get_user():
            login_throttle.forget(self.request, username)
        return cleaned


class SignUpForm(PageForm, auth.UserCreationForm):
    """Everything an account needs."""

    class Meta:
        model = User
        fields = ("username", "first_name", "last_name", "email")
        labels = {
            "username": "User name",
            "first_name": "First name",
            "last_name": "Last name",
            "email": "E-mail",
        }
        help_texts = {
            "username": "Letters, digits and @ . + - _",
            "email": "To set a new password, nothing else.",
        }

    field_order = ("username", "first_name", "last_name", "email", "password1", "password2")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].required = True
        self.fields["password1"].help_text = PASSWORD_HINT
        self.fields["password2"].label = "Password again"
        self.fields["password2"].help_text = ""
        complete = {"first_name": "given-name", "last_name": "family-name", "email": "email"}
        for name, word in complete.items():
            self.fields[name].widget.attrs["autocomplete"] = word


class PersonForm(PageForm):
    """What an account says of its person; another address for mail needs the password."""

    first_name = forms.CharField(max_length=150, required=False, label="First name")
    last_name = forms.CharField(max_length=150, required=False, label="Last name")
    email = forms.CharField(
        max_length=254, validators=[validate_email], required=False, label="E-mail",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )  # fmt: skip
    password = forms.CharField(
        required=False, strip=False, label="Password", help_text="Only to change the e-mail address.",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )  # fmt: skip

    def __init__(self, *args: Any, user: User, request: Any, **kwargs: Any) -> None:
        told = {"first_name": user.first_name, "last_name": user.last_name, "email": user.email}
        super().__init__(*args, initial=told, **kwargs)
        self.user, self.request = user, request
        if not user.has_usable_password():
            del self.fields["password"]

    def clean(self) -> dict[str, Any]:
        told = super().clean() or self.cleaned_data
        moved = told.get("email", self.user.email) != self.user.email
        if moved and "password" in self.fields:
            _check_password(self, self.user, told.get("password", ""), field="password")
        return told


class PasswordForm(PageForm, auth.PasswordChangeForm):
    """The present password counts as a try: somebody may sit at a screen that was left open."""

    def __init__(self, user: User, *args: Any, request: Any, **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        self.request = request
        name_passwords(self)
        self.fields["old_password"].label = "Present password"
        self.fields["old_password"].widget.attrs.pop("autofocus", None)

    def clean_old_password(self) -> str:
        given = self.cleaned_data["old_password"]
        _check_password(self, self.user, given, field="old_password")
        return given


class NewPasswordForm(PageForm, auth.SetPasswordForm):
    """After the link in a mail."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name_passwords(self)


class ResetForm(PageForm, auth.PasswordResetForm):
    """Which account's password is to be set anew."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "E-mail"


def name_passwords(form: forms.BaseForm) -> None:
    form.fields["new_password1"].label = "New password"
    form.fields["new_password1"].help_text = PASSWORD_HINT
    form.fields["new_password2"].label = "New password again"
    form.fields["new_password2"].help_text = ""


def _check_password(form: Any, user: User, given: str, *, field: str) -> None:
    login_throttle.note_try(form.request, user.username)
    if user.check_password(given):
        login_throttle.forget(form.request, user.username)
    else:
        form.add_error(field, "This is not your present password.")
