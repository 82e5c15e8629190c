"""Repeated errors are one line in the log; others keep their traceback."""

from __future__ import annotations

import logging

import pytest
from django.db import OperationalError
from django.test import Client

from evalsvc import logs


def test_a_request_for_another_host_is_one_line(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    assert client.get("/healthz", headers={"host": "harbour.invalid"}).status_code == 400
    (record,) = [record for record in caplog.records if record.name == "django.security.DisallowedHost"]
    assert "harbour.invalid" in record.getMessage()
    assert record.exc_info is None


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


def test_times_of_the_log_are_in_utc() -> None:
    line = logs.logging_config("INFO")["formatters"]["line"]
    formatter = logging.Formatter(line["format"], style=line["style"])
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
        ("/password/sent/", "/password/sent/"),
        ("/password/", "/password/"),
        ("/single-sign-on/back/?code=sesame&state=sesame", "/single-sign-on/back/?code=***&state=***"),
        ("/boards/x/?run=1&barcode=2", "/boards/x/?run=1&barcode=2"),
    ],
)
def test_secrets_of_addresses_are_masked(path: str, masked: str) -> None:
    assert logs.without_secrets(path) == masked
    record = logging.LogRecord("django.request", logging.WARNING, "", 1, "Not Found: %s", (path,), None)
    assert logs.SecretsFilter().filter(record)
    assert record.getMessage() == f"Not Found: {masked}"
