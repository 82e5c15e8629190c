"""URLs of a service with single sign-on."""

from django.conf import settings
from django.urls import include, path

from evalsvc.urls import handler400, handler403, handler404, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

if settings.SINGLE_SIGN_ON:
    from evalsvc.core.accounts.single_sign_on import patterns

    urlpatterns = [*urlpatterns, path("", include(patterns))]
