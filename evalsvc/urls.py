"""URL routes of the whole service."""

from csp.constants import SELF, UNSAFE_INLINE
from csp.decorators import csp_update
from django.urls import include, path
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularSwaggerSplitView

from annotation.page_urls import page_patterns as annotation_pages
from annotation.urls import api_patterns as annotation_api
from evalsvc import docs_pages as docs
from evalsvc import health, home, openapi
from evalsvc.core.accounts.page_urls import page_patterns as team_pages
from evalsvc.core.web.unknown_names import PAGE_QUERIES
from evalsvc.evaluation.urls import api_patterns as evaluation_api
from evalsvc.evaluation.urls import page_patterns as evaluation_pages
from evalsvc.support import records

# Swagger UI writes inline styles; only its page may.
swagger = csp_update({"style-src": [SELF, UNSAFE_INLINE]})(
    SpectacularSwaggerSplitView.as_view(
        url_name="schema", template_name="docs/api.html", permission_classes=[], authentication_classes=[]
    )
)


PAGE_QUERIES |= {"docs": ("q",)}
docs_pages = [
    path("docs/", require_safe(docs.index), name="docs"),
    path("docs/guides/<slug:name>/", require_safe(docs.guide), name="docs-guide"),
    path("docs/measures/", require_safe(docs.measures), name="docs-measures"),
    path("docs/formats/", require_safe(docs.formats), name="docs-formats"),
    path("docs/errors/", require_safe(docs.errors), name="docs-errors"),
    path("docs/keyboard/", require_safe(docs.keyboard), name="docs-keyboard"),
    path("client/evalsvc_client.py", require_safe(docs.client), name="client"),
]

urlpatterns = [
    path("", require_safe(home.home), name="home"),
    path("healthz", require_safe(home.health), name="health"),
    path("readyz", require_safe(health.ready), name="ready"),
    path("metrics", require_safe(health.metrics), name="metrics"),
    path("", include([*team_pages, *annotation_pages, *evaluation_pages, *docs_pages])),
    path("admin/", records.site.urls),
    path("api/v1/", include([*annotation_api, *evaluation_api])),
    path("api/schema/", openapi.DescriptionView.as_view(), name="schema"),
    path("api/docs/", swagger, name="api-docs"),
]

handler400 = "evalsvc.core.errors.handlers.bad_request"
handler403 = "evalsvc.core.errors.handlers.forbidden"
handler404 = "evalsvc.core.errors.handlers.not_found"
handler500 = "evalsvc.core.errors.handlers.server_error"
