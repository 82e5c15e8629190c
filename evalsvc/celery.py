"""The Celery app; workers start with `-A workers`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")
# Celery ignores the outcome of Django's checks, which load every page of the web.
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")

app = Celery("evalsvc")
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
