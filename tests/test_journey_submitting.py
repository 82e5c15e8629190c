"""A team submits by browser and API and sees its runs on the leaderboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import Request, urlopen

import pytest

from evalsvc.core.accounts.tokens import issue
from evalsvc.evaluation.models import Submission
from tests.cast.basics import jsonl
from tests.cast.benchmarks import BenchmarkCast
from tests.cast.browser import log_in
from tests.conftest import StartWorker
from tests.workers.handlers.test_score import LABEL_LINES

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.worker]
BOUNDARY = "a-line-no-file-has"


def post(address: str, token: str, content: bytes, **fields: str) -> tuple[int, dict[str, object]]:
    """Send a multipart request."""
    parts = [
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="net.jsonl"\r\n\r\n'
    body = b"".join([*parts, head.encode(), content, f"\r\n--{BOUNDARY}--\r\n".encode()])
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
    }
    with urlopen(Request(address, data=body, headers=headers)) as response:
        return response.status, json.load(response)


def test_a_run_submitted_in_the_browser_appears_on_the_leaderboard(
    page: Page, worker: StartWorker, tmp_path: Path
) -> None:
    BenchmarkCast.create().relations(title="Port news")
    file = tmp_path / "net-1.jsonl"
    file.write_bytes(jsonl(LABEL_LINES))
    log_in(page, "kim", "/boards/rel/submit/")
    page.set_input_files("#id_file", file)
    page.fill("#id_system", "Tide net")
    page.click("button[value=submit]")
    page.wait_for_selector("text=Waiting for a worker.")
    worker()
    page.wait_for_selector("text=Scored: micro F1 50.0")
    assert page.locator("[hx-trigger]").count() == 0
    assert_result_comes_first(page)
    page.click("text=Show the board")
    page.wait_for_selector(".board tbody tr")
    row = page.locator(".board tbody tr")
    assert row.count() == 1
    assert "Tide net" in row.inner_text()
    assert "50.0" in row.inner_text()


def assert_result_comes_first(page: Page) -> None:
    """On a phone too: scores, then timeline, then inputs."""
    page.set_viewport_size({"width": 360, "height": 800})
    parts = ("scores", "classes", "state", "from")
    tops = [
        page.evaluate("name => document.getElementById(name).getBoundingClientRect().top", name)
        for name in parts
    ]
    assert tops == sorted(set(tops))
    page.set_viewport_size({"width": 1280, "height": 800})


def test_a_run_submitted_by_api_appears_on_the_leaderboard(
    page: Page, live: str, worker: StartWorker
) -> None:
    cast = BenchmarkCast.create()
    cast.relations(title="Port news")
    _, token = issue(cast.kim, name="cluster", team=cast.kelpie)
    worker()
    log_in(page, "kim")
    status, reply = post(
        f"{live}/api/v1/benchmarks/rel/submissions", token, jsonl(LABEL_LINES), system="Tide net", run="7"
    )
    assert status == 202
    submission = Submission.objects.get()
    assert reply["status_url"] == f"{live}/api/v1/submissions/{submission.pk}"
    page.goto(f"/submissions/{submission.pk}/")
    page.wait_for_selector("text=Scored: micro F1 50.0")
    page.goto("/boards/rel/")
    assert "Tide net" in page.locator(".board tbody tr").inner_text()


def test_invalid_lines_are_marked_and_a_corrected_file_is_accepted(
    page: Page, live: str, broker: object, tmp_path: Path
) -> None:
    BenchmarkCast.create().relations()
    file = tmp_path / "net.jsonl"
    file.write_bytes(jsonl([*LABEL_LINES[:5], {"id": "s6", "label": "part_off"}]))
    log_in(page, "kim", "/boards/rel/submit/")
    page.set_input_files("#id_file", file)
    page.fill("#id_system", "Tide net")
    page.click("button[value=submit]")
    assert page.locator(".file mark").first.inner_text() == "part_off"
    assert page.input_value("#id_system") == "Tide net"
    file.write_bytes(jsonl([*LABEL_LINES[:5], {"id": "s6", "label": "part_of"}]))
    page.set_input_files("#id_file", file)
    page.click("button[value=submit]")
    page.wait_for_selector("text=Waiting for a worker.")
