"""Fields of a submission beside its file, and their check."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from evalsvc.core.accounts.models import ApiToken, Team, User
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats.npy import ColumnNames
from evalsvc.core.web.text_validation import (
    is_web_address,
    require_clear,
    require_single_script,
    require_unmarked,
    require_visible,
    texts_in,
    without_emoji_marks,
)
from evalsvc.evaluation.benchmarks import entrants
from evalsvc.evaluation.models import LINKS, Benchmark, Setting
from evalsvc.evaluation.roles import require_member
from evalsvc.evaluation.submissions.file_check import UNSTATED

AGGREGATES = ("ONE", "AVG")


@dataclass(slots=True)
class Entry:
    """Fields of a submission, as the team sent them beside the file."""

    benchmark: Benchmark
    team: Team
    by: User
    system: str
    run: str
    token: ApiToken | None = None
    filename: str = ""
    aggregate: str = "ONE"
    names: ColumnNames = UNSTATED
    tags: dict[str, Any] | None = None
    idempotency_key: str = ""

    def __post_init__(self) -> None:
        self.system, self.run = _in_one_form(self.system), _in_one_form(self.run)
        self.filename = self.filename[-200:]


def _in_one_form(name: str) -> str:
    """Return a name with composed letters and single blanks, without what does not tell it from others.

    Far longer ones are rejected as they are.
    """
    composed = unicodedata.normalize("NFC", without_emoji_marks(name)) if len(name) < 500 else name
    return re.sub(" +", " ", composed).strip()


def check_entry(entry: Entry) -> None:
    """Reject users outside the benchmark or team, and invalid names."""
    require_member(entry.benchmark, entry.by, entry.team)
    entrants.require_entered(entry.benchmark, entry.team)
    check_declared(
        entry.benchmark, system=entry.system, run=entry.run, aggregate=entry.aggregate, tags=entry.tags
    )
    if len(entry.idempotency_key) > 120:
        raise DomainError(
            "bad_key",
            "The Idempotency-Key is longer than 120 characters. Use a shorter one.",
            field="Idempotency-Key",
        )


def check_declared(
    benchmark: Benchmark,
    *,
    system: str = "-",
    run: str = "-",
    aggregate: str = "ONE",
    tags: dict[str, Any] | None = None,
) -> None:
    """Reject invalid names, tags that may mislead, and an aggregate that nothing uses."""
    for name, value, limit in (("system", system, 120), ("run", run, 40)):
        if not 0 < len(value) <= limit:
            raise DomainError(
                "bad_name", f"The name of the {name} must have 1 to {limit} characters.", field=name
            )
        require_clear(value, field=name)
    require_unmarked(system, field="system")
    if tags:
        require_visible(json.dumps(tags, ensure_ascii=False), field="tags")
        for text in texts_in(tags):
            require_single_script(text, field="tags")
        for name in LINKS:
            _require_address(name, tags.get(name))
    if aggregate not in AGGREGATES:
        raise DomainError(
            "bad_aggregate", f"{aggregate[:40]} is not an aggregate. Use ONE or AVG.", field="aggregate"
        )
    if aggregate != "ONE" and not benchmark.settings.filter(unit=Setting.Unit.BAG).exists():
        detail = "No setting of this benchmark makes bags of sentences."
        raise DomainError("bad_aggregate", detail, hint="Leave out aggregate.", field="aggregate")


def _require_address(name: str, value: object) -> None:
    """Reject what a board could not link; a paper or code may also just be declared to exist, or not."""
    if value not in (None, "", True, False) and not is_web_address(value):
        detail = f"The tag {name} is {str(value)[:80]!r}, not a web address."
        raise DomainError("bad_tags", detail, hint="Use http:// or https://…", field="tags")
