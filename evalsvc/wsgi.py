"""Entry point for web servers."""

import os

from django.core.wsgi import get_wsgi_application

from evalsvc.serving.unused_modules import without_unused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsvc.settings")

with without_unused():
    from evalsvc.core.web.utf8_request import Utf8Request

    application = get_wsgi_application()
    application.request_class = Utf8Request
