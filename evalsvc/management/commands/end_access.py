"""End all tokens, open invitations, sessions and reset links, as after a restore or an intrusion."""

from __future__ import annotations

from typing import Any

from evalsvc.management.commands._plain import PlainCommand


class Command(PlainCommand):
    def handle(self, *args: Any, **options: Any) -> None:
        from evalsvc.core.accounts import users

        users.end_all_access()
        self.write(
            "All tokens, open invitations, sessions and reset links have ended. People log in with their "
            "passwords, and make new tokens."
        )
