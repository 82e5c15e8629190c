"""The Django app of the web kit: templates and static files."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "evalsvc.core.web"
    label = "web"
