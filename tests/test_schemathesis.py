"""Requests generated from the OpenAPI description, and their responses checked against it.

Half of the requests use existing objects. `CI_SECONDS` limits the time of all operations together
(default: 15); each runs at least a few examples. `make api` runs for half an hour.
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
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import checks, openapi
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi import checks as described

from evalsvc.core.accounts.tokens import issue
from evalsvc.openapi import Generator
from evalsvc.wsgi import application
from tests.cast.service import ServiceCast
from tests.permissions.requester import endpoints, rolled_back
from tests.permissions.targets import ADDRESSES, UPLOADS

SECONDS = float(os.environ.get("CI_SECONDS", "15"))
FEW_EXAMPLES = settings(
    max_examples=4,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
METHODS = ("get", "post", "put", "patch", "delete")
CHECKS = [
    checks.not_a_server_error,
    described.status_code_conformance,
    described.content_type_conformance,
    described.response_headers_conformance,
    described.response_schema_conformance,
    described.ignored_auth,
]
# No text may contain a NUL. Other tests check that, so nothing is generated with one.
NO_NUL = {"generation": {"allow-x00": False}}
NAMES = {path: name for name, path in endpoints().items()}
# These reject valid shapes for their values: stored objects, or one field against another.
VALIDATED_BY_CONTENT = {
    ("get", "api-board"): "order is a measure of this board, version one of its versions",
    ("get", "api-benchmark-inputs"): "the phase is open",
    ("get", "api-scores"): "version is one of the settings' versions",
    ("get", "api-benchmark-limits"): "team is one of your teams",
    ("post", "api-entry"): "team is one of your teams, terms the version in force",
    ("post", "api-entrant"): "declining has a reason",
    ("post", "api-saved-views"): "query is one of the board",
    ("post", "api-saved-view"): "a title has no invisible characters",
    ("post", "api-announcements"): "title and text have no invisible characters",
    ("get", "api-items"): "the label is one of the project, the pattern one of votes",
    ("get", "api-items-csv"): "the label is one of the project, the pattern one of votes",
    ("post", "api-benchmark-measures"): "base, scheme and labels are those of the benchmark",
    ("post", "api-project-effects"): "the labels of a change are those of the project",
    ("post", "api-disputes-bulk"): "a decision has a reason, a pattern is one of votes",
    ("post", "api-items-bulk"): "ids or all, and what the action needs",
    ("post", "api-members"): "the name is of an account",
    ("post", "api-member-remove"): "the name is of a member",
    ("post", "api-answer"): "the labels of an answer are those of the project",
    ("post", "api-decision"): "the labels of a decision are those of the project",
    ("post", "api-projects"): "a title without a slug contains a letter or a digit",
    ("post", "api-benchmarks"): "options belong to the task, the negative class to the labels",
    ("patch", "api-benchmark"): "limits and training counts name labels of the benchmark",
    ("post", "api-settings"): "the test set exists and fits task and unit",
    ("patch", "api-setting"): "measures are those of the unit; the closing time follows the opening time",
    ("post", "api-versions"): "the test set exists",
    ("post", "api-reported"): "measures are those of the unit, figures written as papers print them",
    ("get", "api-version-moves"): "number is one of the setting's versions after the first",
    ("post", "api-quality"): "one number limits another",
    ("post", "api-freeze"): "the version is a semantic one",
    ("get", "api-test-set-changes"): "since is a test set",
    ("post", "api-ontology-steps"): "sources are labels of the project",
    ("post", "api-candidates"): "criteria have what they need",
    ("post", "api-test-set-split"): "parts have names and shares that sum to 1",
    ("post", "api-test-set-companions"): "a role is needed unless the set is removed",
    ("post", "api-test-set-mapping"): "names are of labels that the set has",
    ("post", "api-test-set-leakage"): "the format is one of sentences",
    ("post", "api-test-set-export"): "the format is one that a job writes",
    ("get", "api-test-set-losses"): "scheme and unit are options of the format",
    ("get", "api-board-view"): "columns are measures of the benchmark, dates are days",
    ("get", "api-errors"): "shares are from 0 to 1",
}


def shorter(part: dict[str, Any]) -> dict[str, Any]:
    """Limit long texts to 400 characters, as patterns up to 100,000 take seconds to compile."""
    return part | {"maxLength": 400} if "pattern" in part and part.get("maxLength", 0) > 400 else part


def described_api() -> Any:
    """The description, with requests sent to the application in this process."""
    description = json.loads(json.dumps(Generator().get_schema()), object_hook=shorter)
    created = openapi.from_dict(description, config=SchemathesisConfig.from_dict(NO_NUL))
    created.app = application
    return created


SCHEMA = described_api()
OPERATIONS = sorted(
    (method, path)
    for path, item in SCHEMA.raw_schema["paths"].items()
    for method in METHODS
    if method in item
)


@pytest.fixture(scope="module")
def cast(django_db_setup: None, django_db_blocker: Any) -> Iterator[ServiceCast]:
    for signal in (request_started, request_finished):  # keeps the connection with the transaction
        signal.disconnect(close_old_connections)
    with django_db_blocker.unblock(), transaction.atomic():
        created = ServiceCast.create()
        created.secrets["root"] = issue(created["root"], name="everything", scope="full")[1]
        yield created
        transaction.set_rollback(True)
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def checks_for(method: str, path: str) -> list[Any]:
    """Checks of an operation; valid shapes are accepted unless values decide."""
    name = NAMES[path]
    takes_files = method == "post" and name in UPLOADS
    by_content = takes_files or (method, name) in VALIDATED_BY_CONTENT
    return CHECKS if by_content else [*CHECKS, described.positive_data_acceptance]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_responses_to_generated_requests_match_the_description(
    cast: ServiceCast, method: str, path: str
) -> None:
    operation = SCHEMA[path][method.upper()]
    existing = ADDRESSES[NAMES[path]](cast) if "{" in path else {}
    existing = {"id" if name == "pk" else name: value for name, value in existing.items()}
    checks_of_operation = checks_for(method, path)

    def request(case: Any, use_existing: bool, who: str) -> None:
        if use_existing and existing:
            case.path_parameters = dict(existing)
        with rolled_back():
            case.call_and_validate(
                headers={"Authorization": f"Bearer {cast.secrets[who]}"}, checks=checks_of_operation
            )

    run_examples = given(
        case=operation.as_strategy(), use_existing=st.booleans(), who=st.sampled_from(("full", "root"))
    )
    until = time.monotonic() + SECONDS / len(OPERATIONS)
    for number in count():  # the seeds are always the same: more time means more examples
        seed(number)(FEW_EXAMPLES(run_examples(request)))()
        if time.monotonic() > until:
            break
