"""The Django app of the log."""

from django.apps import AppConfig


class ActivityConfig(AppConfig):
    name = "evalsvc.core.activity"
    label = "activity"
    verbose_name = "Log"
