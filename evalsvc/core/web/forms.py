"""Base class of every form on a page."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django import forms
from django.forms.renderers import DjangoTemplates
from django.http import QueryDict

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web.unknown_names import SUBMIT_NAMES, unknown_names


class PageRenderer(DjangoTemplates):
    """Renderer of `{{ form }}` and `{{ form.name.as_field_group }}`."""

    form_template_name = "web/form.html"
    field_template_name = "web/field.html"
    # Django's own renders two templates for each option, and a menu of time zones has six hundred
    replaced = {"django/forms/widgets/select.html": "web/select.html"}

    def get_template(self, template_name: str) -> Any:
        return super().get_template(self.replaced.get(template_name, template_name))


class ModelChoices(forms.ModelMultipleChoiceField):
    """Choice of rows; a number that no column holds is none of them."""

    def clean(self, value: Any) -> Any:
        try:
            return super().clean(value)
        except OverflowError:  # SQLite: `__in` is not checked against the range of the column
            raise forms.ValidationError("Select one of the choices.", code="invalid_choice") from None


class PageField(forms.BoundField):
    """Control with the style sheet's class for single-line and text inputs."""

    def build_widget_attrs(self, attrs: dict[str, Any], widget: forms.Widget | None = None) -> dict[str, Any]:
        widget = widget or self.field.widget
        built = super().build_widget_attrs(attrs, widget)
        if isinstance(widget, forms.RadioSelect | forms.CheckboxInput | forms.HiddenInput):
            return built
        return {"class": widget.attrs.get("class", "field")} | built


class PageForm(forms.Form):
    """Form whose controls have the classes of the style sheet.

    A field that it does not know is an error, as in the API: a misspelt one would be ignored.
    """

    OTHER_NAMES: Collection[str] = ()
    """Names that the page sends beside the fields."""
    required_css_class = "required"
    default_renderer = PageRenderer()
    bound_field_class = PageField

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def full_clean(self) -> None:
        super().full_clean()
        if not self.is_bound:
            return
        if isinstance(self.data, QueryDict):
            self.data.names_checked = True  # type: ignore[attr-defined]
        fields = {self.add_prefix(name) for name in self.fields}
        known = {*fields, *SUBMIT_NAMES, *self.OTHER_NAMES}
        names = [name for name in {**self.data, **self.files} if name not in known]
        for name, error in unknown_names(names, fields, "field").items():
            self.add_error(None, f"{name}: {error}")


def add_form_error(form: forms.BaseForm, error: DomainError, *fields: str, **by_code: str) -> None:
    """Add a domain error at the first field the form has.

    Candidates are the field for its code, its own, and `fields`; otherwise it appears above the form.
    """
    candidates = (by_code.get(error.code, ""), error.field, *fields)
    field = next((name for name in candidates if name in form.fields), None)
    form.add_error(field, forms.ValidationError(f"{error.detail} {error.hint}".strip(), code=error.code))
