"""The site, and what every list and page of records has in common."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin import AdminSite, ModelAdmin, ShowFacets, TabularInline
from django.contrib.auth.views import redirect_to_login
from django.db.models import Model, QuerySet
from django.forms import BaseModelForm
from django.http import Http404, HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, path, reverse
from django.views.decorators.http import require_http_methods

from evalsvc.core.accounts import security_log
from evalsvc.core.accounts.models import User
from evalsvc.core.accounts.users import may_support
from evalsvc.core.errors.exceptions import NotAllowed
from evalsvc.core.web.views import takes

MAX_SEARCH = 100  # characters; each word is one more condition on every searched field
View = Callable[..., HttpResponseBase]
if TYPE_CHECKING:  # generic for the type checker alone
    AnyAdmin = ModelAdmin[Any]
    AnyInline = TabularInline[Any, Any]
else:
    AnyAdmin, AnyInline = ModelAdmin, TabularInline


class SupportSite(AdminSite):
    """The admin, for administrators and for people allowed to read records."""

    site_header, site_title, index_title = "evalsvc records", "evalsvc records", "Records"
    enable_nav_sidebar = False
    final_catch_all_view = False
    ROUTES = ("index", "app_list", "jsi18n")  # log-in, log-out and passwords have pages of their own

    def has_permission(self, request: HttpRequest) -> bool:
        return may_support(request.user)

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        return self.guarded(view, "GET", cacheable=cacheable)

    def guarded(self, view: View, *methods: str, cacheable: bool = False) -> View:
        """Send visitors to the log-in page, and answer others with 403."""
        allowed = super().admin_view(view, cacheable)

        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not self.has_permission(request):
                raise NotAllowed("not_support", "Only people who may read records can do this.")
            return allowed(request, *args, **kwargs)

        return require_http_methods([*methods, "HEAD"])(update_wrapper(checked, view))

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [each for each in super().get_urls() if getattr(each, "name", None) in (None, *self.ROUTES)]


site = SupportSite(name="admin")


class Records(AnyAdmin):
    """List and page of one kind of record; only `editable` fields may be corrected."""

    editable: tuple[str, ...] = ()
    page = ""  # name of the page that the record has besides, by its slug if it has one
    list_per_page = 50
    list_max_show_all = 0
    show_facets = ShowFacets.NEVER
    show_full_result_count = False
    actions = None

    def get_urls(self) -> list[URLPattern]:
        name, guarded = f"{self.opts.app_label}_{self.opts.model_name}", site.guarded
        change = guarded(self.change_view, "GET", *(("POST",) if self.editable else ()))
        return [
            path("", guarded(self.changelist_view, "GET"), name=f"{name}_changelist"),
            path(
                "<str:object_id>/change/",
                takes((*self.editable, "_save") if self.editable else ())(change),
                name=f"{name}_change",
            ),
        ]

    def get_view_on_site_url(self, obj: Any = None) -> str | None:
        return reverse(self.page, args=[getattr(obj, "slug", obj.pk)]) if self.page and obj else None

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[str]:
        return [name for name in self.fields or () if isinstance(name, str) and name not in self.editable]

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Filter by the listed fields alone: conditions on others read passwords and digests bit by bit."""
        name, _, condition = lookup.partition("__")
        return name in self.list_filter and condition in ("", "exact")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Model:
        """Return the record with this key. One that is another record's is not checked against its range."""
        try:
            record = super().get_object(request, object_id)
        except OverflowError:
            record = None
        if record is None:
            raise Http404
        return record

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        if len(search_term) > MAX_SEARCH:
            messages.warning(request, f"Search for at most {MAX_SEARCH} characters.")
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return may_support(request.user)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return may_support(request.user)

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(self.editable) and isinstance(request.user, User) and request.user.is_superuser

    def save_model(self, request: HttpRequest, obj: Model, form: BaseModelForm[Any], change: bool) -> None:
        """Store the corrected fields alone."""
        obj.save(update_fields=form.changed_data)
        security_log.write(
            "account_corrected", account=obj, fields=",".join(form.changed_data), by=request.user
        )


class Lines(AnyInline):
    """Rows of another record on its page, to read."""

    extra = 0
    can_delete = False
    show_change_link = False
    verbose_name_plural = ""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may_support(request.user)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def lines_of(model: type[Model], *fields: str) -> type[Lines]:
    """Return the class of rows of this model, with these fields."""
    return type(f"{model.__name__}Lines", (Lines,), {"model": model, "fields": fields})
