"""The Django app of the web kit: templates and static files."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "evalsvc.core.web"
    label = "web"

    def ready(self) -> None:
        from evalsvc.core.web.form_parts import read_plain_parts

        read_plain_parts()
