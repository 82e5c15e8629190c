"""Bodies of requests: bounded by their address before they are read, files in a place for files."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import multipartparser
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

import annotation.pages
import evalsvc.core.accounts.pages
import evalsvc.evaluation.pages
from annotation.pages import releases
from evalsvc.core.web import body_limits, places
from evalsvc.core.web.body_limits import ENCODED, ENCODED_BYTES, PAGE_BODY_BYTES, limit_of_head, limit_of_view
from evalsvc.serving.request_buffer import SMALL_BODY_BYTES
from tests.cast.basics import person
from tests.cast.projects import create_project, curator

MULTIPART = "multipart/form-data; boundary=x"
SAMPLES = {"int": "1", "slug": "a", "str": "a", "path": "a", "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}


def routes(resolver: Any = None, before: str = "") -> Iterator[tuple[str, Any]]:
    """Each address of the service, with a sample for its parts, and its view."""
    for pattern in (resolver or get_resolver()).url_patterns:
        address = before + sample(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern, address)
        else:
            assert isinstance(pattern, URLPattern)
            yield address, pattern.callback


def sample(pattern: Any) -> str:
    address = re.sub(r"^\^\(\?P<app_label>(\w+).*\)/\$", r"\1/", str(pattern))  # of the records
    for name, converter in pattern.converters.items():
        kind = type(converter).__name__.removesuffix("Converter").lower()
        for kind_of, text in ((f"{kind}:{name}", SAMPLES.get(kind, "a")), (name, SAMPLES.get(kind, "a"))):
            address = address.replace(f"<{kind_of}>", text)
    return address


PAGES = {f"/{address}": view for address, view in routes() if not address.startswith("api/")}
MARKED = {address for address, view in PAGES.items() if hasattr(view, "files")}


class Unread:
    """A body that nobody may read."""

    def read(self, *size: int) -> bytes:
        raise AssertionError("The body was read.")

    readline = read


def send(client: Client, address: str, length: int, *, body: Any = None, kind: str = MULTIPART) -> Any:
    more: dict[str, Any] = {"CONTENT_TYPE": kind, "CONTENT_LENGTH": str(length)}
    return client.generic("POST", address, **more, **{"wsgi.input": body or Unread()})


def multipart(*, encoding: str = "", size: int = 1, name: str = "file") -> bytes:
    more = f"\r\nContent-Transfer-Encoding: {encoding}" if encoding else ""
    head = f'--x\r\nContent-Disposition: form-data; name="{name}"; filename="a"{more}\r\n\r\n'
    return head.encode() + b"A" * size + b"\r\n--x--\r\n"


@pytest.mark.django_db
@pytest.mark.parametrize("session", ["", "0" * 32])
def test_no_page_reads_a_long_body_of_a_stranger(client: Client, session: str) -> None:
    assert len(PAGES) > 150
    if session:  # of nobody
        client.cookies["sessionid"] = session
    for address in PAGES:
        size = PAGE_BODY_BYTES + (releases.MAX_BYTES if address == "/check-a-copy/" else 0)
        assert send(client, address, size + 1).status_code == 413, address


@pytest.mark.django_db
@pytest.mark.parametrize("charset", ["", "; charset=utf-8"])
def test_no_page_decodes_a_long_form_of_a_stranger(client: Client, charset: str) -> None:
    """Percent escapes take 75 times their length to decode: 20 MB of them took 700 MB."""
    for address in PAGES:
        response = send(client, address, ENCODED_BYTES + 1, kind=ENCODED.title() + charset)
        assert response.status_code == 413, address
        assert "Log in" in response.content.decode()


@pytest.mark.django_db
def test_a_page_decodes_a_long_form_of_a_person_in_a_place_for_files(client: Client) -> None:
    project = create_project()
    client.force_login(curator())
    address = f"/projects/{project.slug}/ontology/plan/"
    with places.files.taken(curator().pk):
        places.files.of_thread.has_place = False  # another thread has it
        assert send(client, address, ENCODED_BYTES + 1, kind=ENCODED).status_code == 429
    form = b"action=add&plan=" + b"%61" * (ENCODED_BYTES // 3)
    assert client.generic("POST", address, form, content_type=ENCODED).status_code != 429
    for marked in MARKED:
        assert send(client, marked, PAGE_BODY_BYTES + 1, kind=ENCODED).status_code == 413, marked


@pytest.mark.django_db
def test_only_a_page_that_is_marked_reads_a_long_body_of_a_person(client: Client) -> None:
    client.force_login(person("ada"))
    for address in PAGES.keys() - MARKED:
        assert send(client, address, PAGE_BODY_BYTES + 1).status_code == 413, address
    for address in MARKED:
        assert send(client, address, 250_000_000).status_code == 413, address


def test_pages_take_files_that_are_marked() -> None:
    taking = {
        "/boards/a/change/", "/boards/a/submit/", "/boards/new/", "/check-a-copy/",
        "/projects/a/candidates/", "/projects/a/import/", "/projects/a/quality/",
        "/test-sets/a/leakage/", "/test-sets/import/",
    }  # fmt: skip
    assert taking == MARKED


@pytest.mark.django_db
def test_an_endpoint_without_files_reads_no_long_body(client: Client) -> None:
    client.force_login(person("ada"))
    assert send(client, "/api/v1/projects", 5_000_001).status_code == 413


@pytest.mark.django_db
def test_a_page_that_takes_no_files_refuses_one_by_name(client: Client) -> None:
    response = client.post("/login/", {"username": SimpleUploadedFile("a", b"b")})
    assert response.status_code == 400
    assert "This page takes no files." in response.content.decode()


def head(path: str, *headers: str) -> bytes:
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: a", *headers, "", "")).encode()


def test_the_length_of_a_body_is_bounded_by_the_head_of_its_request() -> None:
    session = "Cookie: a=b; sessionid=c"
    largest = body_limits.largest_body()
    for path, headers, most in (
        ("/login/", [session], PAGE_BODY_BYTES),
        ("/boards/a/submit/", [], PAGE_BODY_BYTES),
        ("/boards/a/submit/?b=c", [session], largest),
        ("http://a/boards/%61/submit/", [session], largest),
        ("/check-a-copy/", [], releases.MAX_BYTES + body_limits.FORM_BYTES),
        ("/api/v1/benchmarks/a/submissions", [], largest),
        ("/api/v1/projects", [], 5_000_000),
        ("/nowhere", [session], PAGE_BODY_BYTES),
        ("//[", [session], PAGE_BODY_BYTES),
        ("/%ff%00", [session], PAGE_BODY_BYTES),
        ("", [session], PAGE_BODY_BYTES),
    ):
        assert limit_of_head(head(path, *headers)) == most, path
    assert limit_of_head(b"\r\n\r\n") == PAGE_BODY_BYTES
    assert SMALL_BODY_BYTES <= PAGE_BODY_BYTES
    assert limit_of_view(None, logged_in=True) == PAGE_BODY_BYTES


def test_every_form_without_files_fits_in_any_script() -> None:
    """A character has four bytes at most, each percent-encoded by browsers as three."""
    for package in (annotation.pages, evalsvc.evaluation.pages, evalsvc.core.accounts.pages):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    fields = [
        form.base_fields.values() for form in subclasses(forms.BaseForm) if hasattr(form, "base_fields")
    ]
    without_files = [each for each in fields if not any(isinstance(f, forms.FileField) for f in each)]
    assert len(without_files) > 50
    sizes = [sum(getattr(field, "max_length", 0) or 0 for field in each) for each in without_files]
    assert 12 * max(sizes) <= PAGE_BODY_BYTES


def subclasses(base: Any) -> Iterator[Any]:
    for each in base.__subclasses__():
        yield each
        yield from subclasses(each)


# ---- places, and parts of a form -------------------------------------------------------------------
@pytest.mark.django_db
def test_a_long_form_with_files_is_parsed_in_a_place_for_files(client: Client) -> None:
    project = create_project()
    client.force_login(curator())
    address, body = f"/projects/{project.slug}/import/", multipart(size=PAGE_BODY_BYTES, name="upload")
    with places.files.taken(curator().pk):
        places.files.of_thread.has_place = False  # another thread has it
        assert send(client, address, PAGE_BODY_BYTES + 1).status_code == 429
    response = client.generic("POST", address, body, content_type=MULTIPART)
    assert "upload" not in response.context["form"].errors


@pytest.mark.django_db
def test_a_long_form_of_an_endpoint_is_parsed_in_a_place_for_files(client: Client) -> None:
    project = create_project()
    client.force_login(curator())
    address, body = f"/api/v1/projects/{project.slug}/imports", multipart(size=PAGE_BODY_BYTES)
    with places.files.taken(curator().pk):
        places.files.of_thread.has_place = False
        assert send(client, address, PAGE_BODY_BYTES + 1).status_code == 429
    assert client.generic("POST", address, body, content_type=MULTIPART).status_code == 202


@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["base64", "Quoted-Printable", "BASE64", "x"])
def test_a_part_in_another_encoding_is_refused(client: Client, encoding: str) -> None:
    project = create_project()
    client.force_login(curator())
    for address in (
        f"/projects/{project.slug}/import/",
        "/login/",
        f"/api/v1/projects/{project.slug}/imports",
    ):
        body = multipart(encoding=encoding, name="file")
        response = client.generic("POST", address, body, content_type=MULTIPART)
        assert response.status_code == 400, address
        assert "Content-Transfer-Encoding" in response.content.decode(), address


@pytest.mark.django_db
@pytest.mark.parametrize("encoding", ["7bit", "8BIT", "binary"])
def test_a_part_that_is_sent_as_it_is_is_read(client: Client, encoding: str) -> None:
    project = create_project()
    client.force_login(curator())
    body = multipart(encoding=encoding, name="upload")
    response = client.generic("POST", f"/projects/{project.slug}/import/", body, content_type=MULTIPART)
    assert "upload" not in response.context["form"].errors


@pytest.mark.django_db
@pytest.mark.parametrize(
    "odd", [";;\r\n" * 252, "x;" * 500 + "\r\n", "a: b\r\n" * 5, 'a; b="' + ";" * 900 + '"\r\n']
)
def test_a_form_with_odd_heads_of_parts_is_refused_before_they_are_parsed(
    client: Client, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    parsed: list[str] = []
    parse = multipartparser.parse_header_parameters
    monkeypatch.setattr(
        multipartparser, "parse_header_parameters", lambda line: [parsed.append(line), parse(line)][1]
    )
    project = create_project()
    client.force_login(curator())
    body = (f"--x\r\n{odd}\r\n\r\n" * 1_900 + "--x--\r\n").encode()
    for address in (
        f"/projects/{project.slug}/import/",
        "/login/",
        "/check-a-copy/",
        f"/api/v1/projects/{project.slug}/imports",
    ):
        parsed.clear()
        response = client.generic("POST", address, body, content_type=MULTIPART)
        assert response.status_code == 400, address
        assert "4 lines and 20 semicolons" in response.content.decode(), address
        assert len(parsed) <= 1, address  # the type of the form


@pytest.mark.django_db
def test_a_head_as_browsers_and_programs_send_it_is_read(client: Client) -> None:
    project = create_project()
    client.force_login(curator())
    head = 'Content-Disposition: form-data; name="upload"; filename="a;b;c.jsonl"; filename*=utf-8\'\'a%3Bb'
    more = "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: binary\r\nContent-Length: 2"
    body = f"--x\r\n{head}\r\n{more}\r\n\r\n{{}}\r\n--x--\r\n"
    response = client.generic("POST", f"/projects/{project.slug}/import/", body, content_type=MULTIPART)
    assert "upload" not in response.context["form"].errors


@pytest.mark.django_db
def test_a_long_form_that_ends_early_is_refused_as_such(client: Client) -> None:
    client.force_login(person("ada"))
    response = send(client, "/test-sets/import/", PAGE_BODY_BYTES + 1, body=BytesIO(b"--x\r\n"))
    assert response.status_code == 400
    assert "shorter than its Content-Length" in response.content.decode()
