"""Every way in which a prediction file can be wrong, and the answer word for word the same each time."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from evalsvc.evaluation.models import Submission
from evalsvc.formats.examples import EXAMPLES, OF_A_LINE
from evalsvc.formats.problems import CODES, WARNINGS
from evalsvc.jobs.models import Job
from evalsvc.teams.tokens import issue
from tests.corpus.broken import BROKEN, ELSEWHERE, ROOM, TOO_LARGE, Broken
from tests.evalsvc.evaluation.cast import RELATION_GOLD, Cast, freeze

SOFTWARE = re.compile(r"\b(str|int|float|bool|dict|None|NoneType|Error|Traceback)\b")
ABOUT_A_LINE = [broken for broken in BROKEN if broken.code in OF_A_LINE - {"wrong_columns"}]


@pytest.fixture
def bearer(db: None, settings: Any) -> dict[str, str]:
    """Kim's token; the boards `rel`, `bags` and `ner`, and little room."""
    settings.UPLOAD_MAX_LINES, settings.UPLOAD_MAX_LINE_BYTES = ROOM["lines"], ROOM["line"]
    settings.UPLOAD_MAX_UNPACKED_BYTES, settings.UPLOAD_MAX_BYTES = ROOM["unpacked"], ROOM["sent"]
    cast = Cast.hired()
    cast.relations()
    cast.entities(options={"scheme": "IOB2"})
    gold = freeze("gold-bags", RELATION_GOLD, by=cast.olga)
    cast.benchmark("bags", settings=[("main", gold, "bag", "micro_f1")])
    return {"Authorization": f"Bearer {issue(cast.kim, name='cluster', team=cast.kelpie)[1]}"}


def send(address: str, content: bytes, bearer: dict[str, str]) -> Any:
    address = f"/api/v1/benchmarks/{address}"
    return Client().post(address, content, "application/octet-stream", headers=bearer)


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: f"{broken.board}: {broken.name}")
def test_a_broken_file_is_answered_as_the_table_says(broken: Broken, bearer: dict[str, str]) -> None:
    checked = send(f"{broken.board}/check", broken.content, bearer)
    told = checked.json()
    assert checked.status_code == 200
    first = told["errors"][0]
    assert (first["code"], first.get("line"), told["errors_by_code"]) == (
        broken.code,
        broken.line,
        broken.counts,
    )
    assert told["error_count"] == sum(broken.counts.values())
    assert first["message"]
    assert [key for key in ("found", "expected", "example") if not first.get(key)] == []
    assert not SOFTWARE.search(first["message"])
    refused = send(f"{broken.board}/submissions?system=Net&run=1", broken.content, bearer)
    assert (refused.status_code, refused.json()["errors"]) == (422, told["errors"])
    assert not Submission.objects.exists()
    assert not Job.objects.exists()


@pytest.mark.parametrize("broken", ABOUT_A_LINE, ids=lambda broken: f"{broken.board}: {broken.name}")
def test_the_example_of_a_line_is_one_that_the_board_takes(broken: Broken, bearer: dict[str, str]) -> None:
    told = send(f"{broken.board}/check", broken.content, bearer).json()["errors"][0]
    checked = send(f"{broken.board}/check", f"{told['example']}\n".encode(), bearer).json()
    columns = "\t" in told["example"]  # one word stands for a sentence there
    assert checked["errors_by_code"].keys() <= {"missing_id"} | ({"token_mismatch"} if columns else set())


def test_every_code_has_an_example() -> None:
    assert EXAMPLES.keys() == CODES.keys()


@pytest.mark.parametrize(
    "content", [content for _, content in TOO_LARGE], ids=[name for name, _ in TOO_LARGE]
)
def test_a_file_without_room_is_told_how_much_there_is(content: bytes, bearer: dict[str, str]) -> None:
    for address in ("rel/check", "rel/submissions?system=Net&run=1"):
        answer = send(address, content, bearer)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert answer.json()["limit"] in (ROOM["sent"], ROOM["unpacked"])


def test_the_table_has_every_code_that_a_prediction_file_can_have() -> None:
    seen = {code for broken in BROKEN for code in broken.counts}
    assert seen == CODES.keys() - WARNINGS - ELSEWHERE
