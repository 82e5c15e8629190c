"""Django app of the roof: home and docs pages, commands, system checks."""

from importlib import import_module

from django.apps import AppConfig


class ShellConfig(AppConfig):
    name = "evalsvc"
    label = "shell"

    def ready(self) -> None:
        import_module("evalsvc.celery")
        import_module("evalsvc.checks")
