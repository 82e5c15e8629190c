"""The Django app of this room; what people can be invited to here."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "evalsvc.core.accounts"
    label = "teams"

    def ready(self) -> None:
        from evalsvc.core.accounts import invitation_targets, teams, users

        invitation_targets.register(users.PLACE)
        invitation_targets.register(teams.PLACE)
