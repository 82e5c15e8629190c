"""What people can be invited to; each room registers its own kind of place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import Http404

from evalsvc.core.accounts.models import User


@dataclass(frozen=True)
class Place:
    """How the invitations' part of the house asks a room about one of its places."""

    name: str
    noun: str
    roles: tuple[tuple[str, str], ...]
    find: Callable[[int], Any]
    require: Callable[[Any, User], None]
    """Raises unless the person may invite there: 404 for strangers, a refusal for members."""
    role_of: Callable[[Any, User], str | None]
    admit: Callable[[Any, User, str, User], None]
    """(subject, user, role, by): the room's own verb, with the inviter's rights as they are now."""
    address: Callable[[Any], str]
    staffed_at: Callable[[Any], str]
    """The page that shows who is in and invites."""

    def word(self, role: str) -> str:
        return dict(self.roles).get(role, role)


_PLACES: dict[str, Place] = {}


def register(place: Place) -> None:
    _PLACES[place.name] = place


def get(name: str) -> Place:
    """The kind of place of this name; there is nothing at an address that names no kind."""
    if name not in _PLACES:
        raise Http404
    return _PLACES[name]
