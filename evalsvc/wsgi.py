"""Entry point for web servers."""

import os

from django.core.wsgi import get_wsgi_application

from evalsvc.serving.unused_modules import without_unused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")

with without_unused():
    application = get_wsgi_application()
