"""Requests made from the API's description alone: no crash, no answer that is not described, no open door,
and nothing refused that fits the description.

Half of the requests are for things that are there. `CI_SECONDS` says for how long at the most (40 by default;
each operation has its share of them, and a handful of requests in any case). `make api` is the long form.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import checks, openapi
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks as described

from evalsvc.core.accounts.tokens import issue
from evalsvc.wsgi import application
from tests.cast.service import ServiceCast
from tests.permissions.requester import endpoints, rolled_back
from tests.permissions.targets import ADDRESSES, UPLOADS

SECONDS = float(os.environ.get("CI_SECONDS", "40"))
HANDFUL = settings(
    max_examples=4,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
METHODS = ("get", "post", "put", "patch", "delete")
ALWAYS = [
    checks.not_a_server_error,
    described.status_code_conformance,
    described.content_type_conformance,
    described.response_headers_conformance,
    described.response_schema_conformance,
    described.ignored_auth,
]
# No text may contain a NUL; checked once instead of for every key of every object.
NO_NUL = {"generation": {"allow-x00": False}}
NAMES = {path: name for name, path in endpoints().items()}
# What these refuse lies in what is stored, or between two fields, where a description of shapes ends.
JUDGED_BY_CONTENT = {
    ("get", "api-board"): "order names a measure of this board, version one of its versions",
    ("get", "api-scores"): "version is one of the settings' versions",
    ("get", "api-benchmark-limits"): "team names one of your teams",
    ("post", "api-answer"): "the labels of an answer are those of the project",
    ("post", "api-decision"): "the labels of a decision are those of the project",
    ("post", "api-projects"): "a title without an address of its own has to hold a letter or a digit",
    ("post", "api-benchmarks"): "options belong to the task, and the negative class to the labels",
    ("patch", "api-benchmark"): "limits and training counts go by names that the board has",
    ("post", "api-settings"): "a test set has to be there, of the task and the unit",
    ("patch", "api-setting"): "measures are those of the unit, and a window closes after it opens",
    ("post", "api-versions"): "a test set has to be there",
    ("post", "api-quality"): "one number bounds another",
}


def described_api() -> Any:
    """The description, and requests that go to the application in this process."""
    description = json.loads(json.dumps(SchemaGenerator().get_schema(request=None, public=True)))
    made = openapi.from_dict(description, config=SchemathesisConfig.from_dict(NO_NUL))
    made.app = application
    return made


SCHEMA = described_api()
OPERATIONS = sorted(
    (method, path)
    for path, item in SCHEMA.raw_schema["paths"].items()
    for method in METHODS
    if method in item
)


@pytest.fixture(scope="module")
def cast(django_db_setup: None, django_db_blocker: Any) -> Iterator[ServiceCast]:
    for signal in (request_started, request_finished):  # no request of ours may close the connection
        signal.disconnect(close_old_connections)
    with django_db_blocker.unblock(), transaction.atomic():
        made = ServiceCast.create()
        made.secrets["root"] = issue(made["root"], name="everything", scope="full")[1]
        yield made
        transaction.set_rollback(True)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def checked(method: str, path: str) -> list[Any]:
    """What is held against every answer: that valid data are taken, too, where that is in the data alone."""
    name = NAMES[path]
    takes_files = method == "post" and name in UPLOADS
    judged = takes_files or (method, name) in JUDGED_BY_CONTENT
    return ALWAYS if judged else [*ALWAYS, described.positive_data_acceptance]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_an_operation_answers_as_described(cast: ServiceCast, method: str, path: str) -> None:
    operation = SCHEMA[path][method.upper()]
    there = ADDRESSES[NAMES[path]](cast) if "{" in path else {}
    there = {"id" if name == "pk" else name: value for name, value in there.items()}
    held = checked(method, path)

    def ask(case: Any, is_there: bool, who: str) -> None:
        if is_there and there:
            case.path_parameters = dict(there)
        with rolled_back():
            case.call_and_validate(headers={"Authorization": f"Bearer {cast.secrets[who]}"}, checks=held)

    drawn = given(case=operation.as_strategy(), is_there=st.booleans(), who=st.sampled_from(("full", "root")))
    until = time.monotonic() + SECONDS / len(OPERATIONS)
    for (
        handful
    ) in count():  # each from a seed of its own: a run that has more time goes further on the same way
        seed(handful)(HANDFUL(drawn(ask)))()
        if time.monotonic() > until:
            break
