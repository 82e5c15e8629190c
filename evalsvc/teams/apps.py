"""The Django app of this room; what people can be invited to here."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "evalsvc.teams"
    label = "teams"

    def ready(self) -> None:
        from evalsvc.teams import accounts, membership, places

        places.register(accounts.PLACE)
        places.register(membership.PLACE)
