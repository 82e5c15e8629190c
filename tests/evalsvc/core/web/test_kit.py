"""Shared parts of pages: forms, layout tags, Markdown, conditional GET, validation."""

from __future__ import annotations

import csv
import io
from decimal import Decimal
from html import escape
from xml.etree.ElementTree import fromstring

import pytest
from django import forms
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import SuspiciousOperation, TooManyFieldsSent, TooManyFilesSent
from django.http import Http404, HttpResponse, JsonResponse
from django.template import Context, Template
from django.test import RequestFactory
from django.test.html import parse_html
from django.utils.functional import lazystr

from evalsvc.core.errors import handlers
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.web import markdown
from evalsvc.core.web.downloads import csv_file, svg_file
from evalsvc.core.web.forms import PageForm
from evalsvc.core.web.markdown import MAX_CELLS, MAX_LENGTH, section_html, to_html
from evalsvc.core.web.middleware import ApiConditionalGetMiddleware
from evalsvc.core.web.svg import CONTROLS, drawing, element
from evalsvc.core.web.views import attempt, page_of, row_id


class RunForm(PageForm):
    name = forms.CharField(help_text="Lugworm")
    kind = forms.ChoiceField(choices=[("a", "A"), ("b", "B")], widget=forms.RadioSelect)
    sealed = forms.BooleanField(required=False)
    place = forms.CharField(widget=forms.HiddenInput)


def reject(field: str = "") -> None:
    raise DomainError("taken", "Taken.", hint="Choose another.", field=field)


def test_text_controls_have_the_class_of_the_style_sheet_and_boxes_do_not() -> None:
    form = RunForm()
    with_class = [name for name in form.fields if 'class="field"' in str(form[name])]
    assert with_class == ["name"]


def test_a_menu_is_the_one_that_django_renders() -> None:
    groups = [("", "none"), ("Old <one>", [(1, "a & b"), (2, "c")]), ("x", "X")]

    class Menu(forms.Form):
        kind = forms.ChoiceField(choices=groups, initial=2, widget=forms.Select(attrs={"class": "field"}))

    class PageMenu(PageForm):
        kind = forms.ChoiceField(choices=groups, initial=2)

    menus = [parse_html(str(form["kind"])) for form in (Menu(), PageMenu())]
    assert menus[0] == menus[1]
    assert str(menus[1]).count("selected") == 1


def test_a_form_renders_hidden_fields_without_a_label() -> None:
    html = str(RunForm())
    assert html.count("<legend>") == 1
    assert 'for="id_name"' in html
    assert 'for="id_place"' not in html
    assert 'name="place"' in html


@pytest.mark.parametrize(
    ("field", "fallback", "at"), [("kind", (), "kind"), ("other", ("name",), "name"), ("", (), "__all__")]
)
def test_a_domain_error_appears_at_its_field_or_above_the_form(
    field: str, fallback: tuple[str, ...], at: str
) -> None:
    form = RunForm({"name": "x", "kind": "a", "place": "p"})
    assert form.is_valid()
    assert attempt(form, lambda: reject(field), *fallback) is None
    assert list(form.errors) == [at]


def test_an_unknown_field_is_an_error_above_the_form_that_names_the_nearest_one() -> None:
    values = {"name": "x", "kind": "a", "place": "p", "action": "save", "csrfmiddlewaretoken": "t"}
    assert RunForm(values).is_valid()
    form = RunForm(values | {"sealled": "on"}, {"upload": "file"})
    assert form.errors == {
        "__all__": [
            "sealled: Unknown field. Did you mean sealed?",
            "upload: Unknown field. Known here: kind, name, place, sealed.",
        ]
    }


@pytest.mark.parametrize("text", ["0", "-1", "3", "x", "1.0", "٢", "9" * 5_000])
def test_a_page_that_does_not_exist_is_not_another_page(text: str) -> None:
    with pytest.raises(Http404, match="The last one is 2"):
        page_of(RequestFactory().get("/", {"page": text}), range(30), size=20)


@pytest.mark.parametrize(("text", "first"), [("", 0), ("1", 0), ("2", 20)])
def test_a_page_is_chosen_by_its_number(text: str, first: int) -> None:
    assert next(iter(page_of(RequestFactory().get("/", {"page": text}), range(30), size=20))) == first


def test_no_cell_begins_like_a_formula_where_cells_end_at_semicolons() -> None:
    """A quote within a line protects nothing there."""
    rows = [["x;=1+1;y", "x; \t@a;-"], ["plain", "a; b=1"]]
    content = csv_file("t.csv", ["name", "more"], rows).content.decode()
    assert content == 'name,more\r\n"x;\'=1+1;y","x; \t\'@a;\'-"\r\nplain,"a; b=1"\r\n'
    cells = [cell for line in csv.reader(io.StringIO(content), delimiter=";") for cell in line]
    assert not [cell for cell in cells if cell.strip().startswith(tuple("=+-@"))]


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\r=1", "\n=1", "＝1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_of_a_table_begins_like_a_formula(text: str) -> None:
    content = csv_file("t.csv", ["name", text], [[text, -1], ["a" + text, -0.5]]).content.decode()
    heads, first, second = csv.reader(io.StringIO(content, newline=""))
    assert heads == ["name", f"'{text}"]
    assert first == [f"'{text}", "-1"]
    assert second == ["a" + text, "-0.5"]


@pytest.mark.parametrize("cell", [DomainError("", "=1+1"), lazystr("=1+1"), ValueError("@x")])
def test_a_cell_that_becomes_text_when_it_is_written_begins_like_no_formula(cell: object) -> None:
    content = csv_file("t.csv", ["name", "n"], [[cell, None], [Decimal("-1.5"), 0]]).content.decode()
    assert content == f"name,n\r\n'{cell},\r\n-1.5,0\r\n"


@pytest.mark.parametrize(
    "text", ["a\x0bb", "\x1b[31m", "a\ufffeb", "a\ud800b", "]]><g onload='x'>", 'class="f0"']
)
def test_a_chart_with_any_name_is_an_xml_file(text: str) -> None:
    name = element("text", element("title", text), text, aria_label=text)
    (shown,) = fromstring(svg_file(drawing(1, 1, text, name), "c.svg").content)
    assert shown.get("aria-label") == shown[0].text == shown[0].tail == CONTROLS.sub("", text)


def test_a_page_head_takes_its_lead_and_its_actions() -> None:
    head = "{% page_head title %}<b>3</b>{% actions %}<a>Go</a>{% endactions %}{% endpage_head %}"
    html = Template("{% load layout %}" + head).render(Context({"title": "A & B"}))
    assert "<h1>A &amp; B</h1>" in html
    assert '<p class="lead"><b>3</b></p>' in html
    assert '<div class="row"><a>Go</a></div>' in html


def test_markdown_holds_no_html_script_or_image() -> None:
    html = to_html("# One\n## Two\n<script>x</script> ![alt](x.png) [a](javascript:x)")
    assert "<h3>One</h3>" in html
    assert "<h4>Two</h4>" in html
    assert not any(word in html for word in ("<script", "<img", "href"))


@pytest.mark.parametrize("mark", ["[a](/b) ", "![", "*a ", "_a*", "`a``", "[a](<", "<a "])
def test_markdown_with_too_many_marks_stays_as_written(mark: str) -> None:
    """Else its parser takes minutes."""
    text = (mark * MAX_LENGTH)[:MAX_LENGTH].strip()
    assert to_html(text) == f"<p>{escape(text, quote=False)}</p>\n"
    assert "<em>one</em>" in to_html(f"*one*\n\n{text}")


@pytest.mark.parametrize(
    "text",
    [
        ">" * 18 + "a\n" + "b\n" * 49_900,
        ("- " * 8 + "a\n\n") * 5_000,
        "- *a*\n" * 16_000,
        "#\n" * 50_000,
        "\\\n" * 50_000,
    ],
)
def test_markdown_with_too_many_lines_quotes_or_lists_stays_as_written(text: str) -> None:
    """Else its parser takes seconds, as it looks at a line again for each quote around it."""
    assert to_html(text) == f'<pre tabindex="0">{escape(text)}</pre>'
    assert section_html(f"# One\n{text}", "one") == ""


@pytest.mark.parametrize(
    "text",
    [
        "- ja\n" * 335,
        "1. Ada\n" * 2_000,
        ("## Codes\n\n" + "- ab\n" * 400 + "\n") * 5,
        "- a\n  - b\n    - c\n      - d\n" * 250,
        "|a|b|c|\n|-|-|-|\n" + "|1|2|3|\n" * 500,
        "- Example:\n  > Ada was born\n  in Turin.\n\n" * 500,
        "A line\nof a poem\n\n" * 1_000,
    ],
)
def test_markdown_of_many_short_lines_is_rendered_with_a_wide_margin(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markdown, "MAX_LINE_CHECKS", markdown.MAX_LINE_CHECKS // 5)
    assert "<em>one</em>" in to_html(f"*one*\n\n{text}")
    assert "<em>one</em>" in section_html(f"# Rules\n*one*\n# More\n{text}", "rules")


def test_the_texts_of_a_feed_are_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"News {number} of *this* board." for number in range(50)]
    first = [to_html(text) for text in texts]
    monkeypatch.setattr(markdown, "_block_parser", None)
    assert [to_html(text) for text in texts] == first


def test_markdown_as_long_as_a_text_may_be_is_rendered() -> None:
    lines = "- A rule of usual length.\n  - And *one* under it, with the [reason](https://a.example).\n"
    text = "# Rules\n\n" + lines * (MAX_LENGTH // len(lines) - 1)
    assert "<em>one</em>" in to_html(text)
    assert "<em>one</em>" in section_html(text, "rules")


def test_a_markdown_table_with_too_many_cells_stays_as_written() -> None:
    head, rule = "a|b\n", "-|-\n"
    assert "<td>" in to_html(head + rule + "1|2\n" * 3)
    assert "<td>" not in to_html(head + rule + "1|2\n" * MAX_CELLS)
    wide = MAX_CELLS // 2
    assert "<th>" not in to_html("a|" * wide + "\n" + "-|" * wide + "\n" + "1|" * wide)


@pytest.mark.parametrize(("path", "has_etag"), [("/api/v1/limits", True), ("/boards/", False)])
def test_only_reads_of_the_api_have_an_etag(path: str, has_etag: bool) -> None:
    middleware = ApiConditionalGetMiddleware(lambda request: JsonResponse({"a": 1}))
    response = middleware(RequestFactory().get(path))
    assert response.has_header("ETag") is has_etag
    assert (response.headers.get("Cache-Control") == "private, no-cache") is has_etag


@pytest.mark.parametrize(
    ("set_by_view", "sent"), [("", "private, no-cache"), ("private, no-store", "private, no-store")]
)
def test_a_page_that_differs_by_session_is_kept_from_shared_caches(set_by_view: str, sent: str) -> None:
    def view(request: object) -> HttpResponse:
        return HttpResponse(
            "mine", headers={"Vary": "Cookie"} | ({"Cache-Control": set_by_view} if set_by_view else {})
        )

    response = ApiConditionalGetMiddleware(view)(RequestFactory().get("/projects/"))
    assert sorted(response.headers["Cache-Control"].split(", ")) == sorted(sent.split(", "))


@pytest.mark.parametrize("path", ["/projects/", "/api/v1/projects"])
def test_what_somebody_reads_who_is_logged_in_is_kept_by_no_browser(path: str) -> None:
    request = RequestFactory().get(path)
    request.session = {SESSION_KEY: "1"}
    view = ApiConditionalGetMiddleware(lambda request: JsonResponse({"a": 1}, headers={"Vary": "Cookie"}))
    assert sorted(view(request).headers["Cache-Control"].split(", ")) == ["no-store", "private"]


def test_an_unchanged_read_is_answered_304_and_keeps_retry_after() -> None:
    def view(request: object) -> HttpResponse:
        return JsonResponse({"a": 1}, headers={"Retry-After": "5"})

    middleware, requests = ApiConditionalGetMiddleware(view), RequestFactory()
    etag = middleware(requests.get("/api/v1/limits"))["ETag"]
    response = middleware(requests.get("/api/v1/limits", headers={"If-None-Match": etag}))
    assert (response.status_code, response["ETag"], response["Retry-After"]) == (304, etag, "5")


@pytest.mark.parametrize(("value", "key"), [("12", 12), ("", 0), ("-1", 0), ("٣", 0), ("9" * 19, 0)])
def test_a_row_id_is_read_from_digits_only(value: str, key: int) -> None:
    assert row_id(value) == key


@pytest.mark.parametrize(
    ("error", "status", "named"),
    [
        (TooManyFieldsSent(), 413, "at most 2,000 fields"),
        (TooManyFilesSent(), 413, "at most 100 files"),
        (SuspiciousOperation("x"), 400, "Bad request"),
    ],
)
def test_a_form_with_too_many_parts_is_told_the_limit(error: Exception, status: int, named: str) -> None:
    request = RequestFactory().post("/projects/")
    request.user = AnonymousUser()
    page = handlers.bad_request(request, error)
    assert (page.status_code, named in page.content.decode()) == (status, True)
