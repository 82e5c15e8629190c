"""Django app of accounts and teams."""

from django.apps import AppConfig


class TeamsConfig(AppConfig):
    name = "evalsvc.core.accounts"
    label = "teams"
    verbose_name = "Accounts"

    def ready(self) -> None:
        from evalsvc.core.accounts import invitations, security_log, sessions, teams, users

        security_log.connect()
        sessions.connect()
        invitations.register(users.INVITATION_TARGET)
        invitations.register(teams.INVITATION_TARGET)
