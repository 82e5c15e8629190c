"""Problems of a rejected file as the submission page shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.utils.html import format_html
from django.utils.safestring import SafeString

from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.formats.problems import FileRejected, Problem, Problems
from evalsvc.core.formats.text_lines import Limits, read_lines
from evalsvc.core.web.formatting import count

SHOWN = 8
MAX_SCANNED_LINES = 500_000
MAX_WIDTH = 100
MAX_NAMED = 3  # ids without a line
NO_LINE = "no line for "


@dataclass(frozen=True)
class ExcerptLine:
    """Line of the file; `marked` is its invalid part."""

    number: int
    before: str
    marked: str = ""
    after: str = ""
    bad: bool = False

    @property
    def mark(self) -> SafeString | str:
        return format_html("<mark>{}</mark>", self.marked) if self.marked else ""


@dataclass(frozen=True)
class ShownProblem:
    """Problem with an example; `total` counts all with its code."""

    line: int | None
    code: str
    message: str
    total: int
    example: str


def shown_problems(problems: Problems, file: UploadedFile) -> dict[str, Any]:
    """Return each problem's first occurrence, and an excerpt of these lines."""
    # missing ids have no line; they come last and once, so as not to crowd out invalid lines
    unique = {(p.code, _message(p) if p.line else ""): p for p in reversed(problems.first)}
    first = sorted(unique.values(), key=lambda problem: (not problem.line, problem.line))[:SHOWN]
    codes = problems.by_code.keys() - {problem.code for problem in first}
    return {
        "total": problems.total,
        "shown": [_shown(problem, problems) for problem in first]
        + [
            ShownProblem(None, code, KINDS[code].message, problems.by_code[code], "")
            for code in sorted(codes)
        ],
        "excerpt": _excerpt(first, file),
        "all": problems.total == len(first),
    }


def _shown(problem: Problem, problems: Problems) -> ShownProblem:
    alike = [] if problem.line else [p for p in problems.first if p.code == problem.code and not p.line]
    total = problems.by_code[problem.code]
    others = [p.value.removeprefix(NO_LINE) for p in alike[1:MAX_NAMED] if p.value]
    message = _message(problem, others, total)
    return ShownProblem(problem.line, problem.code, message, total, problem.example or "")


def _message(problem: Problem, others: Sequence[str] = (), total: int = 1) -> str:
    """Describe a problem without its line.

    `others` are further values with this code.
    """
    parts = [KINDS[problem.code].message]
    if problem.value is not None:
        values = ", ".join([problem.shown_value, *others])
        left = total - 1 - len(others)
        parts += [f"Found {values} and {count(left)} more." if others and left else f"Found {values}."]
    parts += [f"Expected {problem.expected}."] if problem.expected is not None else []
    return " ".join([*parts, problem.hint] if problem.hint else parts)


def _excerpt(problems: Iterable[Problem], file: UploadedFile) -> list[ExcerptLine]:
    """Return readable invalid lines and the line before the first."""
    bad = {problem.line: problem for problem in reversed(list(problems)) if problem.line}
    if not bad:
        return []
    wanted = {min(bad) - 1, *bad}
    file.seek(0)
    lines, limits = [], Limits(max_line_bytes=settings.UPLOAD_MAX_LINE_BYTES)
    try:
        read = read_lines(file, problems=Problems(), limits=limits)
        for number, text in islice(read, min(max(bad), MAX_SCANNED_LINES)):
            if number in wanted:
                lines.append(_line(number, text, bad.get(number)))
    except FileRejected:
        return lines
    return lines


def _line(number: int, text: str, problem: Problem | None) -> ExcerptLine:
    """Cut a line around its invalid value."""
    if problem is None:
        return ExcerptLine(number, _cut(text))
    value = problem.value.removesuffix("…") if problem.value else ""
    at = _place(text, problem.value or "", problem.field or "")
    if at < 0:
        return ExcerptLine(number, "", _cut(text), bad=True)
    before, after = text[:at], text[at + len(value) :]
    if len(before) > MAX_WIDTH // 2:
        before = "… " + before[-MAX_WIDTH // 2 :]
    return ExcerptLine(number, before, _cut(value), _cut(after), bad=True)


def _place(text: str, value: str, field: str) -> int:
    """Return the index of a value as a whole word, or -1."""
    sought = value.removesuffix("…")
    if not sought:
        return -1
    before = r"(?<!\w)" if sought[0].isalnum() else ""
    after = r"(?!\w)" if value[-1].isalnum() else ""  # not where the value was shortened
    word = re.compile(before + re.escape(sought) + after)
    key = text.find(f'"{field.partition("[")[0]}"') if field else -1
    match = (word.search(text, key) if key >= 0 else None) or word.search(text)
    return match.start() if match else -1


def _cut(text: str) -> str:
    return text if len(text) <= MAX_WIDTH else text[: MAX_WIDTH - 2] + " …"
