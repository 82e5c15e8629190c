"""Requests made from the API's description alone: no crash, no answer that is not described, no open door.

`CI_SECONDS` says for how long (30 by default); half an hour is the long form:
`CI_SECONDS=1800 pytest tests/test_schemathesis.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import checks, openapi
from schemathesis.specs.openapi import checks as described

from evalsvc.wsgi import application
from tests.cast import Cast
from tests.permissions.asking import undone

SECONDS = float(os.environ.get("CI_SECONDS", "30"))
METHODS = ("get", "post", "put", "patch", "delete")
ALWAYS = [
    checks.not_a_server_error,
    described.status_code_conformance,
    described.content_type_conformance,
    described.response_headers_conformance,
    described.response_schema_conformance,
    described.ignored_auth,
]


def described_api() -> Any:
    """The description, and requests that go to the application in this process."""
    made = openapi.from_dict(json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True))))
    made.app = application
    return made


SCHEMA = described_api()
OPERATIONS = sorted(
    (method, path)
    for path, item in SCHEMA.raw_schema["paths"].items()
    for method in METHODS
    if method in item
)
EXAMPLES = max(3, round(SECONDS / len(OPERATIONS) * 20))


@pytest.fixture(scope="module")
def cast(django_db_setup: None, django_db_blocker: Any) -> Iterator[Cast]:
    for signal in (request_started, request_finished):  # no request of ours may close the connection
        signal.disconnect(close_old_connections)
    with django_db_blocker.unblock(), transaction.atomic():
        yield Cast.assembled()
        transaction.set_rollback(True)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_an_operation_answers_as_described(cast: Cast, method: str, path: str) -> None:
    operation = SCHEMA[path][method.upper()]
    bearer = {"Authorization": f"Bearer {cast.secrets['full']}"}

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=SECONDS <= 60,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def ask(case: Any) -> None:
        with undone():
            case.call_and_validate(headers=bearer, checks=ALWAYS)

    ask()
