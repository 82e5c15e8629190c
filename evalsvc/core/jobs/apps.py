"""The Django app of this room."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "evalsvc.core.jobs"
    label = "jobs"
    verbose_name = "Jobs"
