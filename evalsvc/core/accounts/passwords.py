"""Passwords: how they are hashed and reset, and words of this service that are none."""

from __future__ import annotations

import re

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.core.exceptions import ValidationError

from evalsvc.core.accounts import security_log
from evalsvc.core.accounts.models import User
from evalsvc.core.web import places

# listed in docs/people.md
SERVICE_WORDS = (
    "evalsvc", "administrator", "admin", "annotator", "annotation", "adjudicator", "benchmark", "curator",
    "evaluation", "leaderboard", "organiser", "password",
)  # fmt: skip
LETTERS_BESIDE = 4


class Hasher(PBKDF2PasswordHasher):
    """The framework's hash, computed by few threads at once: whoever logs in keeps nobody waiting."""

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        with places.passwords.taken():
            return super().encode(password, salt, iterations)


class ResetLinks(PasswordResetTokenGenerator):
    """Links to set a new password, which end for good when the account is deactivated."""

    def check_token(self, user: User | None, token: str | None) -> bool:
        return user is not None and user.is_active and super().check_token(user, token)

    def _make_hash_value(self, user: AbstractBaseUser, timestamp: int) -> str:
        assert isinstance(user, User)
        value: str = super()._make_hash_value(user, timestamp)
        return f"{value}{user.active_changed_at.isoformat()}" if user.active_changed_at else value


class ServiceWordValidator:
    """Reject words of the service with digits or a few letters; log new passwords."""

    def validate(self, password: str, user: User | None = None) -> None:
        rest, found = re.subn("|".join(SERVICE_WORDS), "", password.casefold())
        if found and sum(map(str.isalpha, rest)) < LETTERS_BESIDE:
            raise ValidationError(
                f"The password is a word of this service with less than {LETTERS_BESIDE} other letters. "
                "Add words.",
                code="password_service_word",
            )

    def get_help_text(self) -> str:
        return "Not only words of this service, such as evalsvc."

    def password_changed(self, password: str, user: User | None = None) -> None:
        """Log that a password was set: here, by mail, or by a command."""
        security_log.write("password_set", account=user)
