"""Users, teams, API tokens, invitations, single sign-on identities, password attempts."""

from __future__ import annotations

import unicodedata
from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Now

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.text_validation import require_clear

NAME_TAKEN = "This user name is taken. Capital and small letters make no difference. Choose another."


def folded_name(username: str) -> str:
    """Return what two user names share that differ in case or width alone."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", username).casefold())


def clear(username: str) -> None:
    """Validate that a new user name looks like no other: people are given roles by it."""
    try:
        require_clear(User.normalize_username(username), field="user name")
    except DomainError as error:
        raise ValidationError(f"{error.detail} {error.hint}") from error


class _NameField(models.CharField):
    """Text with rules of names; its column is that of any text."""

    def deconstruct(self) -> tuple[str, str, list[Any], dict[str, Any]]:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", list(args), kwargs


class UserName(_NameField):
    """User name that is checked in the form in which it is stored, against all others."""

    def clean(self, value: Any, model_instance: models.Model | None) -> Any:
        name = super().clean(AbstractUser.normalize_username(value), model_instance)
        others = named_like(name)
        if model_instance is not None:
            others = others.exclude(pk=model_instance.pk)
        if others.exists():
            raise ValidationError(NAME_TAKEN, code="unique")
        return name


class FoldedName(_NameField):
    """Folded user name, stored with it; none while another account has it from before it was unique."""

    def pre_save(self, model_instance: Any, add: bool) -> Any:
        others = named_like(model_instance.username).exclude(pk=model_instance.pk)
        if add or model_instance.folded_username is not None or not others.exists():
            model_instance.folded_username = folded_name(model_instance.username)
        return super().pre_save(model_instance, add)


class User(AbstractUser):
    """User account, without the roles in projects, benchmarks and teams."""

    username = UserName(
        max_length=150,
        unique=True,
        validators=[AbstractUser.username_validator, clear],
        error_messages={"unique": NAME_TAKEN},
    )
    folded_username = FoldedName(
        max_length=450,  # a letter folds into three at most
        null=True,
        editable=False,
        help_text="User name without case and width, which no two accounts share.",
    )

    may_organise = models.BooleanField(
        default=False, help_text="May open projects, benchmarks and import published test sets."
    )
    active_changed_at = models.DateTimeField(
        null=True, help_text="Last deactivated or reactivated; earlier sessions and reset links have ended."
    )
    email_set_at = models.DateTimeField(
        null=True,
        help_text="Last change of the e-mail address; accounts that gave an address first are mailed first.",
    )
    team_of_token: int | None = None  # of a request by a token of a team: the person acts without roles

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(
                fields=["folded_username"],
                condition=models.Q(folded_username__isnull=False),
                name="user_names_differ_in_more_than_case",
            )
        ]

    @property
    def shown_name(self) -> str:
        return self.get_full_name() or self.username

    @property
    def email_since(self) -> datetime:
        return self.email_set_at or self.date_joined

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Return what ends the sessions of an account when it changes."""
        digest: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]
        return f"{digest} {self.active_changed_at.isoformat()}" if self.active_changed_at else digest


def named_like(name: str) -> models.QuerySet[User]:
    """Return the accounts whose name differs in case or width at most."""
    from_before = models.Q(folded_username=None, username__iexact=name)
    return User.objects.filter(from_before | models.Q(folded_username=folded_name(name)))


class Team(models.Model):
    """Group that submits runs; a user may be a member of several."""

    name = models.CharField(max_length=120, unique=True)
    slug = models.SlugField(max_length=60, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class TeamMember(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner"
        MEMBER = "member"

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_person")]

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class Departure(models.Model):
    """Removal of a team member, who may know the gold."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="departures")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"{self.user} left {self.team}"


class ApiToken(models.Model):
    """API token of a user, optionally for a team; stored as SHA-256."""

    class Scope(models.TextChoices):
        READ = "read"
        SUBMIT = "submit"
        FULL = "full"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, blank=True, related_name="tokens")
    name = models.CharField(max_length=80)
    scope = models.CharField(max_length=10, choices=Scope, default=Scope.SUBMIT)
    prefix = models.CharField(max_length=12)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"


class Invitation(models.Model):
    """Link that admits one person, once."""

    place = models.CharField(max_length=20, help_text="Key of the kind of place, as its room registered it.")
    subject = models.BigIntegerField(help_text="Which of them.")
    role = models.CharField(max_length=20)
    note = models.CharField(max_length=120, blank=True, help_text="For whom, as the inviter wrote it down.")
    digest = models.CharField(max_length=64, unique=True)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        indexes = [models.Index(fields=["place", "subject"], name="invitations_of_a_place")]

    def __str__(self) -> str:
        return f"{self.role} of {self.place} {self.subject}"


class Identity(models.Model):
    """Identity of a user at the single sign-on provider."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=200)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "identities"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="an_identity_is_one_person")
        ]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"


class PasswordTry(models.Model):
    """Attempt that is limited, such as a password; person and network are keyed digests."""

    name = models.CharField(max_length=64)
    network = models.CharField(max_length=64)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["name", "at"], name="tries_of_a_name"),
            models.Index(fields=["network", "at"], name="tries_of_a_network"),
            models.Index(fields=["at"], name="tries_in_time"),
        ]

    def __str__(self) -> str:
        return f"{self.name[:8]} at {self.at}"
