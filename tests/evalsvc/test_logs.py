"""Lines of the log: repeated errors are one line, and every line names its request and job."""

from __future__ import annotations

import json
import logging
import random
from base64 import b64encode, urlsafe_b64encode
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import quote, unquote

import pytest
from django.db import OperationalError
from django.test import Client
from gunicorn.config import Config

from evalsvc import logs
from evalsvc.core import log_context
from evalsvc.core.jobs.models import Job
from evalsvc.core.web.markdown import to_html
from evalsvc.serving import gunicorn_settings
from tests.cast.benchmarks import BenchmarkCast
from tests.evalsvc.evaluation.test_leaderboard import answers
from workers.runner import run_next


def test_a_request_for_another_host_is_one_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    assert client.get("/healthz", headers={"host": "harbour.invalid"}).status_code == 400
    (record,) = [record for record in caplog.records if record.name == "django.security.DisallowedHost"]
    assert "harbour.invalid" in record.getMessage()
    assert record.exc_info is None


def test_a_malformed_form_is_one_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """Anybody could fill the log with tracebacks, in which those of faults would drown."""
    assert client.post("/login/", b"x", content_type="multipart/form-data; boundary=").status_code == 400
    assert [record.exc_info for record in caplog.records if record.name == "django.request"] == [None]


def test_a_tick_without_a_broker_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise ConnectionRefusedError("nobody listens")
    except ConnectionRefusedError as error:
        stack = ["File one\n", "File two\n"]
        logging.getLogger("celery.beat").exception("Message Error: %s\n%s", error, stack)
    (record,) = caplog.records
    assert record.getMessage() == "Message Error: nobody listens"
    assert record.exc_info is None


@pytest.mark.parametrize(
    ("error", "is_traced"), [(OperationalError("connection failed"), False), (KeyError("x"), True)]
)
def test_a_tick_without_a_database_is_one_line_and_any_other_fault_is_traced(
    error: Exception, is_traced: bool, caplog: pytest.LogCaptureFixture
) -> None:
    try:
        raise error
    except (OperationalError, KeyError):
        logging.getLogger("celery.app.trace").exception("Task raised: %s", error)
    (record,) = caplog.records
    assert bool(record.exc_info) is is_traced
    assert str(error) in record.getMessage()


def test_the_parser_of_markdown_logs_nothing_at_any_level(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        to_html("- a guideline\n- of two lines")
    assert caplog.records == []


def test_times_of_the_log_are_in_utc() -> None:
    formatter = logs.line_formatter()
    record = logging.LogRecord("evalsvc.security", logging.INFO, "", 1, "x", (), None)
    record.created, record.msecs = 0.0, 0.0
    assert formatter.format(record).startswith("1970-01-01 00:00:00")


@pytest.mark.parametrize(
    ("path", "masked"),
    [
        ("/join/sesame/", "/join/***/"),
        ("/join/sesame/accept/", "/join/***/accept/"),
        ("/password/MQ/c8-sesame/", "/password/***/"),
        ("/password/MQ/set-password/", "/password/***/set-password/"),
        ("/JOIN//sesame/", "/JOIN//***/"),
        ("//Password/MQ//c8-sesame", "//Password/***"),
        ("/api/v1/evs_sesame1234/x", "/api/v1/evs_***/x"),
        ("/password/sent/", "/password/sent/"),
        ("/password/", "/password/"),
        ("/single-sign-on/back/?code=sesame&state=sesame", "/single-sign-on/back/?code=***&state=***"),
        (
            "Invalid HTTP header name: '__Host-sessionid=sesame'",
            "Invalid HTTP header name: '__Host-sessionid=***'",
        ),
        ("/boards/?q=evs_sesame-1234%0ABgm4di_DMhT5DwPjSsTLLPzE", "/boards/?q=evs_***%***"),
        ("header value: 'Bearer acc-SESAME-1\\n'", "header value: 'Bearer ***\\n'"),
        ("/api/v1/evs_w3t-zrLMqsesame/x", "/api/v1/evs_***/x"),
        ("/api/v1/x?q=Bearer+evs_-esame1-234", "/api/v1/x?q=Bearer+evs_***"),
        ("/%2Fevs_sesame-1234", "/%2Fevs_***"),
        ("/boards/?q=evs%5Fsesame-123%20a", "/boards/?q=evs_***%20a"),
        ("/%6aoin/sesame/", "/join/***/"),
        ("/join%2fsesame", "/join/***"),
        ("/join/ sesame-sesame-sesame/", "/join/***/"),
        ("/join/ or /password/ of 1", "/join/ or /password/ of 1"),
        ("Invalid HTTP method: 'sesame' of 6", "Invalid HTTP method: ***"),
        ("Invalid HTTP request line: 'GET /\x01sesame", "Invalid HTTP request line: ***"),
        ("/login/?page=1&next=%2Fjoin%2Fsesame%2F", "/login/?page=1&next=/join/***/"),
        ("/login/?next=%252Fpassword%252FMQ%252Fsesame", "/login/?next=/password/***"),
        ("/single-sign-on/back/?%63ode=sesame", "/single-sign-on/back/?code=***"),
        ("/login/?next=%3Ftoken%3D1%2526sesame", "/login/?next=?token=***"),
        ("/back/?error=x&error_description=sesame", "/back/?error=x&error_description=***"),
        ("/?access_token=sesame", "/?access_token=***"),
        ("/?sessionid=sesame&csrfmiddlewaretoken=sesame", "/?sessionid=***&csrfmiddlewaretoken=***"),
        ("/%6aoin/sesame/%0a%22Fault%22", "/join/***/%0A%22Fault%22"),
        ("/single-sign-on/back?code[]=sesame;state=sesame", "/single-sign-on/back?code[]=***"),
        ("/login/?new_password1=sesame&client_secret=sesame", "/login/?new_password1=***&client_secret=***"),
        ("/boards/x/?run=1&barcode=2", "/boards/x/?run=1&barcode=2"),
        ("/boards/x/?q=%E5%8C%97&r=50%", "/boards/x/?q=%E5%8C%97&r=50%"),
    ],
)
def test_secrets_of_addresses_are_masked(path: str, masked: str) -> None:
    assert logs.without_secrets(path) == masked
    record = logging.LogRecord("django.request", logging.WARNING, "", 1, "Not Found: %s", (path,), None)
    assert logs.SecretsFilter().filter(record)
    assert record.getMessage() == f"Not Found: {masked}"


INVITATION = "Zq3-x_7Lw9TtB0cRk5Yp2mHs8VdNf4GjEaUoQi1Xr6C"
RESET = "MQ/cx3k9a-0f1e2d3c4b5a69788796a5b4c3d2e1f0"
DISTORTED = [
    *(
        "/{word}/./{secret}/",
        "/{word}/{word}/{secret}/",
        "/{word}/?{secret}",
        "/{word}?{secret}",
        "/{word}:{secret}/",
    ),
    *(
        "/x/../{word}/{secret}/",
        "//{word}//{secret}//",
        "/{word}/x/y/{secret}/",
        "/{word}{secret}/",
        "/{secret}/",
    ),
    *(
        "/{word}/ {secret}/",
        "/{word}\\{secret}",
        "/{word}/{secret}.",
        "/{word}/{secret}{secret}/",
        "/en/{word}/{secret}",
    ),
    *("/login/?next=/{word}/./{secret}/", "/?q={word}+{secret}", "/{word}/<{secret}>", "/jion/{secret}/"),
    *(
        "https://a/{word};{secret}",
        "/{secret}/{word}/",
        "/{word}/x={secret}",
        "/{word}/{secret}&a",
        "/{word}#{secret}",
    ),
]


def is_masked(address: str, secret: str) -> bool:
    decoded = address
    for text in (f"GET {address} HTTP/1.1", f"Not Found: {address}", address):
        decoded = logs.without_secrets(text)
        for _ in range(logs.MOST_ENCODED):
            decoded = unquote(decoded)
        if secret.rpartition("/")[2].lower() in decoded.lower():
            return False
    return True


@pytest.mark.parametrize("form", DISTORTED)
@pytest.mark.parametrize(("word", "secret"), [("join", INVITATION), ("password", RESET)])
def test_secrets_of_distorted_addresses_are_masked(form: str, word: str, secret: str) -> None:
    for each in (word, word.upper(), word.title()):
        address = form.format(word=each, secret=secret)
        for encoded in (address, quote(address), quote(address, safe=""), quote(quote(address, safe=""))):
            assert is_masked(encoded, secret), encoded


def test_secrets_are_masked_whatever_stands_around_them() -> None:
    chance = random.Random(30)
    between = [
        "/",
        "//",
        "/./",
        "/../",
        "?",
        ":",
        ";",
        "%2F",
        "%252f",
        "%20",
        "\\",
        "#",
        "&",
        "=",
        ".",
        "/x/",
        "%3a",
        "+",
        ",",
    ]
    for _ in range(2_000):
        timed = f"{chance.randrange(36**5):06x}-{chance.getrandbits(128):032x}"
        word, secret = chance.choice(
            [("join", urlsafe_b64encode(chance.randbytes(32)).decode()[:43]), ("password", timed)]
        )
        word = "".join(chance.choice((letter, letter.upper(), f"%{ord(letter):x}")) for letter in word)
        parts = [*chance.sample(["en", "MQ", word, "next"], chance.randrange(4)), word, secret, "x"]
        address = "".join(chance.choice(between) + part for part in parts)
        assert is_masked(address, secret), address


@pytest.mark.parametrize(
    "text",
    [
        "/boards/joint-entity-and-relation-extraction-2026/",
        "/api/v1/benchmarks/joint-entities/runs/0a1b2c3d/",
        "/static/site.0a1b2c3d4e5f.css",
        "/api/v1/test-sets/" + "0a1b2c3d" * 8 + "/",
        "Job 3 of 6f1c0b8e-90a1-4f4e-8d55-1b7c2f3a9e10 ended",
    ],
)
def test_names_and_digests_in_addresses_are_no_secrets(text: str) -> None:
    assert logs.without_secrets(text) == text


def record(message: str, *values: object, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = (type(error), error, None) if error else None
    return logging.LogRecord("evalsvc.jobs", logging.ERROR, "", 1, message, values, exc_info)


def filtered(record: logging.LogRecord) -> logging.LogRecord:
    logs.IdsFilter().filter(record)
    return record


@pytest.mark.django_db
@pytest.mark.parametrize("format", ["line", "json"])
def test_an_answer_404_is_logged_with_its_id_and_without_the_secret(
    client: Client, caplog: pytest.LogCaptureFixture, format: str
) -> None:
    client.get("/join/sesame/", headers={"X-Request-ID": "their-trace"})
    (line,) = [each for each in caplog.records if each.name == "django.request"]
    logs.SecretsFilter().filter(filtered(line))
    text = getattr(logs, f"{format}_formatter")().format(line)
    assert "sesame" not in text
    assert "their-trace" in text


@pytest.mark.parametrize("format", ["line", "json"])
def test_a_traceback_quotes_no_secret_of_an_address(format: str) -> None:
    line = record("Failed", error=ValueError(f"no page at /join/./{INVITATION}"))
    assert logs.SecretsFilter().filter(filtered(line))
    text = getattr(logs, f"{format}_formatter")().format(line)
    assert "no page at /join/***" in text
    assert INVITATION not in text


def test_lines_of_a_request_and_its_job_end_with_their_ids() -> None:
    with log_context.bound(request="r-1234567"), log_context.bound(job="7", attempt=""):
        line = logs.line_formatter().format(filtered(record("Job %s", 7)))
    assert line.endswith("evalsvc.jobs: Job 7 request=r-1234567 job=7")
    assert log_context.current() == {}


def test_a_json_line_holds_the_traceback_and_the_ids() -> None:
    with log_context.bound(request="r-1234567"):
        line = logs.json_formatter().format(filtered(record("two\nlines", error=ValueError("no"))))
    assert "\n" not in line
    fields = json.loads(line)
    assert fields["request"] == "r-1234567"
    assert fields["level"] == "ERROR"
    assert fields["logger"] == "evalsvc.jobs"
    assert fields["message"] == "two\nlines"
    assert "ValueError" in fields["traceback"]
    assert fields["time"].endswith("Z")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("trace-0123.A_b", True),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf6", True),
        ("short", False),
        ("x y\tz0123456", False),
        pytest.param("seSaMe-1" * 5 + "abc", False, id="as long as the secret of an invitation"),
        pytest.param("d3xg5b-" + "0123abcd" * 4, False, id="as long as that of a reset link"),
    ],
)
@pytest.mark.django_db
def test_a_request_keeps_a_plain_id_and_gets_one_otherwise(client: Client, given: str, kept: bool) -> None:
    ids = {client.get("/healthz", headers={"X-Request-ID": given})["X-Request-ID"] for _ in range(2)}
    assert (ids == {given}) == kept
    assert len(ids) == (1 if kept else 2)


def test_a_job_carries_the_id_of_the_request_that_queued_it(
    cast: BenchmarkCast, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.setFormatter(logs.line_formatter())
    caplog.handler.addFilter(logs.IdsFilter())
    benchmark = cast.relations()
    with log_context.bound(request="upload-42"):
        cast.submit(benchmark, answers(3), run="42")  # a run of its own: others are replayed
    assert set(Job.objects.filter(kind="score").values_list("request_id", flat=True)) == {"upload-42"}
    with caplog.at_level("INFO", logger="workers.runner"):
        run_next("score")
    lines = [line for line in caplog.text.splitlines() if "workers.runner" in line]
    assert lines
    assert all("request=upload-42" in line and "job=" in line for line in lines)


@pytest.mark.django_db
def test_an_error_of_ours_names_its_request(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError

    client.raise_request_exception = False
    monkeypatch.setattr("django.core.handlers.base.BaseHandler.resolve_request", broken)
    for address in ("/api/v1/me", "/"):
        reply = client.get(address, headers={"X-Request-ID": "seen-by-them"})
        assert reply.status_code == 500
        assert "seen-by-them" in reply.content.decode()


def test_the_json_line_of_a_request_has_numbers_to_filter_by(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gunicorn_settings, "AS_JSON", True)
    logger = gunicorn_settings.MaskedLogger(Config())
    monkeypatch.setattr(logger.access_log, "handlers", [caplog.handler])
    response = SimpleNamespace(status="404 Not Found", sent=12, headers=[])
    environ = {"REQUEST_METHOD": "GET", "RAW_URI": "/join/sesame/", "PATH_INFO": "/join/sesame/"}
    environ |= {"SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1"}
    logger.access(response, SimpleNamespace(headers=[]), environ, timedelta(milliseconds=1_500))
    line = json.loads(logs.json_formatter().format(caplog.records[-1]))
    assert (line["status"], line["bytes"], line["seconds"], line["path"]) == (404, 12, 1.5, "/join/***/")


def test_a_line_of_a_request_holds_no_secret_of_its_headers() -> None:
    """People send a token as the user of Basic authentication, which the line would name."""
    token = "evs_w3t-zrLMqsesame"
    environ = {"REQUEST_METHOD": "GET", "RAW_URI": f"/boards/?q={token}", "PATH_INFO": "/boards/"}
    environ |= {"SERVER_PROTOCOL": "HTTP/1.1", "REMOTE_ADDR": "127.0.0.1", "HTTP_USER_AGENT": f"x {token}"}
    environ |= {"HTTP_AUTHORIZATION": f"Basic {b64encode(f'{token}:'.encode()).decode()}"}
    environ |= {"HTTP_REFERER": "http://127.0.0.1/%6aoin/sesame/"}
    config = Config()
    config.set("access_log_format", gunicorn_settings.access_log_format)
    logger = gunicorn_settings.MaskedLogger(config)
    response = SimpleNamespace(status="401 Unauthorized", sent=12, headers=[("X-Request-ID", "r-1234567")])
    atoms = logger.atoms(response, SimpleNamespace(headers=[]), environ, timedelta(seconds=1))
    assert "sesame" not in config.access_log_format % atoms
    assert not [name for name in gunicorn_settings.JSON_FIELDS.values() if "sesame" in str(atoms.get(name))]
    assert atoms["u"] == "-"


@pytest.mark.django_db
def test_a_token_is_no_id_of_a_request(client: Client) -> None:
    response = client.get("/healthz", headers={"X-Request-ID": "evs_w3t-zrLMqsesame"})
    assert "sesame" not in response["X-Request-ID"]
