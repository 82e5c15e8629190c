"""Columns, filters and order that a reader chose, all of it in the address."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.evaluation.boards.ranking import BoardRow
from evalsvc.evaluation.measures.menu import menu_of
from evalsvc.evaluation.models import Setting

MOST_COLUMNS = 40
FILTERS = ("team", "tag", "since", "until")
ColumnKey = tuple[str, str]  # of the setting and of the measure


@dataclass(frozen=True)
class Choice:
    """What the query of an address chooses; empty columns are those of the board."""

    setting: Setting
    order: str = ""
    version: int | None = None
    columns: tuple[ColumnKey, ...] = ()
    team: str = ""
    tag: str = ""
    since: date | None = None
    until: date | None = None

    @property
    def filters(self) -> list[tuple[str, object]]:
        """Names and values of the filters in use."""
        pairs = [(name, getattr(self, name)) for name in FILTERS]
        return [(name, value) for name, value in pairs if value]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Names and values of the query, without empty ones."""
        pairs: list[tuple[str, object]] = [("setting", self.setting.key), ("version", self.version)]
        pairs += [("columns", ":".join(column)) for column in self.columns]
        pairs += [*self.filters, ("order", self.order)]
        return [(name, str(value)) for name, value in pairs if value]

    def without(self, *names: str) -> list[tuple[str, str]]:
        """Return the fields that a form with these names has to carry along."""
        return [(name, value) for name, value in self.fields if name not in names]

    def query(self, **changed: Any) -> str:
        """Return the query of the same view, or of one with changes."""
        return "?" + urlencode(replace(self, **changed).fields, safe=":")

    def takes(self, row: BoardRow) -> bool:
        """True if a row passes the filters."""
        system, last = row.system, row.runs.last.date()
        tags = [*row.declared.texts, *row.declared.links] if self.tag else []
        return (
            any(self.team.casefold() in name.casefold() for name in (system.team_name, system.team_slug))
            and (not self.tag or any(self.tag.casefold() in tag.casefold() for tag in tags))
            and (self.since is None or self.since <= last)
            and (self.until is None or last <= self.until)
        )


def requested(texts: QueryDict, settings: Collection[Setting], setting: Setting) -> Choice:
    """Return the choice in a query, or reject it."""
    menus = {each.key: menu_of(each) for each in settings}
    columns = []
    for text in dict.fromkeys(texts.getlist("columns")):
        key, _, measure = text.rpartition(":")
        if measure not in menus.get(key or setting.key, ()):
            hint = "Name a column as the key of a setting and the key of a measure: main:macro_f1."
            raise DomainError(
                "unknown_measure", f"The benchmark has no column {text[:100]!r}.", hint=hint, field="columns"
            )
        columns.append((key or setting.key, measure))
    if len(columns) > MOST_COLUMNS:
        detail = f"{len(columns)} columns are chosen; a view has at most {MOST_COLUMNS}."
        raise DomainError("too_many_columns", detail, field="columns")
    since, until = _date(texts.get("since", ""), "since"), _date(texts.get("until", ""), "until")
    if since and until and since > until:
        detail = f"No day is from {since} to {until}."
        raise DomainError("bad_date", detail, hint="Swap the two dates.", field="since")
    return Choice(
        setting,
        order=texts.get("order", ""),
        columns=tuple(columns),
        team=texts.get("team", "").strip()[:100],
        tag=texts.get("tag", "").strip()[:100],
        since=since,
        until=until,
    )


def _date(text: str, name: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError as error:
        detail = f"{text[:20]!r} is not a date. Use year-month-day, such as 2026-03-31."
        raise DomainError("bad_date", detail, field=name) from error
