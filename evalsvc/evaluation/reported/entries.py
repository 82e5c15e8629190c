"""Systems known only from papers: organisers enter them, boards show them unranked."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec
from django.db import transaction

from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.jobs import queue as queueing
from evalsvc.core.web.text_validation import is_web_address, require_visible
from evalsvc.evaluation.measures.menu import MENU, offered
from evalsvc.evaluation.models import BoardTests, ReportedSystem, Setting
from evalsvc.evaluation.roles import ORGANISER, require

KIND = "reported"
MOST = 50  # of a setting
LENGTHS = {"paper": 200, "table": 60, "url": 300, "page": 20, "note": 300}
_NUMBER = r"\d{1,3}(?:\.\d{1,6})?|\.\d{1,6}"
_PRINTED = re.compile(rf"({_NUMBER})\s*(?:(?:±|\+/-|\+-)\s*({_NUMBER}))?", re.ASCII)
_NOT_PRINTED = ("", "-", "–", "—")
_HINT = "Write figures as printed, such as 71.5 or 71.5 ± 0.4; shares in percent."
_TABLE = "Use a heading with measures, then a line per system, with tabs, semicolons or commas between."
Figures = Mapping[str, str]


class PrintedFigure(NamedTuple):
    """Texts of a figure and its deviation; `sd` is empty if none is printed."""

    value: str
    sd: str

    def __str__(self) -> str:
        return f"{self.value} ± {self.sd}" if self.sd else self.value


RUNS_NOT_STATED = "the paper does not state the number of runs"
SINGLE_RUN = "the paper reports a single run"
NO_DEVIATION = "the paper prints no deviation"


class ReportedTest(msgspec.Struct, frozen=True):
    """Welch's test of printed means against `other`; d is Cohen's.

    `other` is an earlier row, or a system scored here. The ranges are over all figures that round to the
    printed ones. `called`: even the greatest p is < .05.
    """

    other: int
    measure: str
    difference: float | None
    p: float | None = None
    p_least: float | None = None
    p_most: float | None = None
    d: float | None = None
    d_least: float | None = None
    d_most: float | None = None
    word: str = ""
    called: bool = False
    reason: str = ""


def figures_of(row: ReportedSystem) -> dict[str, PrintedFigure]:
    """Return the printed figures by measure."""
    return {key: PrintedFigure(*texts) for key, texts in row.figures.items()}


def tests_of(rows: Sequence[ReportedSystem]) -> list[tuple[ReportedSystem, ReportedSystem, ReportedTest]]:
    """Return the tests between rows as (first, second, first − second)."""
    by_key = {row.pk: row for row in rows}
    return [
        (row, by_key[test.other], test)
        for row in rows
        for test in msgspec.convert(row.tests or [], list[ReportedTest])
        if test.other in by_key
    ]


def why_untested(row: ReportedSystem, figure: PrintedFigure) -> str:
    """Return why a printed figure cannot be tested, or nothing."""
    if row.runs is None:
        return RUNS_NOT_STATED
    if row.runs == 1:
        return SINGLE_RUN
    return "" if figure.sd else NO_DEVIATION


def untested(row: ReportedSystem) -> dict[str, list[str]]:
    """Return the measures of a row that cannot be tested, by reason."""
    reasons: dict[str, list[str]] = {}
    for key, figure in figures_of(row).items():
        if reason := why_untested(row, figure):
            reasons.setdefault(reason, []).append(key)
    return reasons


def has_moments(row: ReportedSystem) -> bool:
    """True if a figure of several runs is printed with its deviation."""
    return any(not why_untested(row, figure) for figure in figures_of(row).values())


# ---- changes by organisers -------------------------------------------------------------------------
def add(
    setting: Setting,
    *,
    by: User,
    paper: str,
    table: str,
    systems: Mapping[str, Figures],
    url: str = "",
    page: str = "",
    runs: int | None = None,
    note: str = "",
) -> list[ReportedSystem]:
    """Enter systems of one table of a paper, with figures as printed."""
    require(setting.benchmark, by, ORGANISER)
    reference = {"paper": paper.strip(), "table": table.strip(), "url": url, "page": page, "note": note}
    _check_reference(reference)
    if not systems:
        raise DomainError("bad_figure", "No system is named.", hint=_TABLE, field="systems")
    if runs is not None and not 1 <= runs <= 10_000:
        raise DomainError("bad_figure", f"{runs} runs. Use a whole number from 1.", field="runs")
    figures = {_name(name): _figures(setting, name, printed) for name, printed in systems.items()}
    if len(figures) < len(systems):
        raise DomainError("bad_figure", "Two systems have the same name.", field="systems")
    rows = [
        ReportedSystem(setting=setting, system=name, figures=printed, runs=runs, by=by, **reference)
        for name, printed in figures.items()
    ]
    with transaction.atomic():
        Setting.objects.select_for_update().get(pk=setting.pk)
        _check_room(setting, rows)
        for row in rows:
            row.tests = None if has_moments(row) else []
            row.save()
            after = {key: str(figure) for key, figure in figures_of(row).items()}
            record(setting.benchmark, "reported figures", by=by, about=f"{setting.key}: {row}", after=after)
        if any(row.tests is None for row in rows):
            queueing.enqueue(KIND, setting.pk, lane=f"user {by.pk}")
            BoardTests.objects.filter(setting=setting).update(outdated=True)
    return rows


def remove(row: ReportedSystem, *, by: User) -> None:
    """Remove a system; the log keeps its figures."""
    benchmark = row.setting.benchmark
    require(benchmark, by, ORGANISER)
    before = {key: str(figure) for key, figure in figures_of(row).items()}
    with transaction.atomic():
        record(benchmark, "reported figures", by=by, about=f"{row.setting.key}: {row}", before=before)
        row.delete()


def _check_reference(reference: Mapping[str, str]) -> None:
    for field, text in reference.items():
        most = LENGTHS[field]
        if field in ("paper", "table") and not text:
            raise DomainError("bad_paper", f"The {field} is missing.", field=field)
        require_visible(text, field=field)
        if len(text) > most:
            raise DomainError("bad_paper", f"{field} has more than {most} characters.", field=field)
    if reference["url"] and not is_web_address(reference["url"]):
        detail = f"{reference['url'][:80]!r} is not a web address."
        raise DomainError("bad_paper", detail, hint="Use https://…", field="url")


def _name(text: str) -> str:
    name = text.strip()
    require_visible(name, field="systems")
    if not 0 < len(name) <= 120:
        detail = f"{name[:40]!r} is not the name of a system. Use 1 to 120 characters."
        raise DomainError("bad_figure", detail, field="systems")
    return name


def _figures(setting: Setting, system: str, printed: Figures) -> dict[str, PrintedFigure]:
    known = {measure.key for measure in offered(setting.kind)}
    figures = {}
    for key, text in printed.items():
        if key not in known:
            detail = f"{key[:60]} is not a measure for the unit {setting.unit}."
            hint = "GET /api/v1/measures lists them."
            raise DomainError("unknown_measure", detail, hint=hint, field="systems")
        if text.strip() not in _NOT_PRINTED:
            figures[key] = _figure(system, key, text.strip())
    if not figures:
        raise DomainError("bad_figure", f"{system[:60]} has no figure.", hint=_HINT, field="systems")
    return figures


def _figure(system: str, key: str, text: str) -> PrintedFigure:
    match = _PRINTED.fullmatch(text)
    if match is None:
        detail = f"{key} of {system[:60]} is {text[:40]!r}."
        raise DomainError("bad_figure", detail, hint=_HINT, field="systems")
    if MENU[key].unit == "%" and Decimal(match[1]) > 100:
        detail = f"{key} of {system[:60]} is {match[1]} %, above 100."
        raise DomainError("bad_figure", detail, hint=_HINT, field="systems")
    return PrintedFigure(match[1], match[2] or "")


def _check_room(setting: Setting, rows: Sequence[ReportedSystem]) -> None:
    present = list(setting.reported.values_list("system", "paper", "table"))
    if len(present) + len(rows) > MOST:
        detail = f"“{setting.title}” has {len(present)} reported systems, and {MOST} are the most."
        raise Conflict("too_many_reported", detail, field="systems")
    for row in rows:
        if (row.system, row.paper, row.table) in present:
            raise Conflict("reported_already", f"{row} is on the board already.", field="systems")


# ---- a table as pasted into the page ---------------------------------------------------------------
def read_table(setting: Setting, text: str) -> dict[str, dict[str, str]]:
    """Read figures by system: a heading with measures, by key or title, then a line per system."""
    lines = [line for line in text.splitlines() if line.strip()]
    separator = next((mark for mark in "\t;," if mark in lines[0]), "") if lines else ""
    if len(lines) < 2 or not separator:
        raise DomainError("bad_figure", "This is not a table.", hint=_TABLE, field="systems")
    heads, *rows = csv.reader(lines, delimiter=separator)
    titles = {name: m.key for m in offered(setting.kind) for name in (m.title.casefold(), m.key)}
    keys = [titles.get(head.strip().casefold(), head.strip()) for head in heads[1:]]
    if repeated := next((key for key in keys if keys.count(key) > 1), ""):
        detail = f"Line 1 repeats {repeated[:60]}."
        raise DomainError("bad_figure", detail, hint=_TABLE, field="systems")
    systems: dict[str, dict[str, str]] = {}
    for number, cells in enumerate(rows, start=2):
        name = cells[0].strip() if cells else ""
        if len(cells) != len(heads) or name in systems:
            fault = "repeats a system" if name in systems else f"has {len(cells)} cells, not {len(heads)}"
            raise DomainError("bad_figure", f"Line {number} {fault}.", hint=_TABLE, field="systems")
        systems[name] = dict(zip(keys, cells[1:], strict=True))
    return systems


def table_fields(content: Any) -> dict[str, Any]:
    """Return the arguments of `add` from a decoded JSON table, or reject its shape."""
    names = {"paper", "table", "systems", "url", "page", "runs", "note"}
    known = (
        isinstance(content, dict)
        and content.keys() <= names
        and {"paper", "table", "systems"} <= content.keys()
    )
    if not known or not isinstance(content["systems"], dict):
        detail = "Expected an object with paper, table and systems, and maybe url, page, runs and note."
        raise DomainError("bad_figure", detail, field="systems")
    return dict(content)
