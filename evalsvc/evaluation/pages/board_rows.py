"""Rows of a board's table as HTML.

A page has fifty systems and as many of papers: a template takes half of the time of a board for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from html import escape
from typing import NamedTuple

from django.template.context import Context
from django.urls import reverse
from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import counted, day
from evalsvc.core.web.text_highlighting import shortened
from evalsvc.evaluation.boards.systems import BoardSystem
from evalsvc.evaluation.pages.board_rails import Rail
from evalsvc.evaluation.pages.page_table import ReportedRow, ScoreCell, TableRow

SAME_ANSWERS = "Runs with the same answers count once."
WITHHELD = "Runs without figures while the gold is hidden."
WITHDRAWN = "Runs withdrawn after scoring."
SAW_GOLD = "A team member labelled or adjudicated this gold."
NOT_RANKED = (
    '<td class="fig"><span class="dash" title="Reported figures are not ranked.">'
    '–<span class="sr"> not ranked</span></span></td>'
)
_LAST = "987654321"  # stands for the last part of an address


class Surroundings(NamedTuple):
    """What the rows of a page share."""

    system_at: Callable[[object], str]
    run_at: Callable[[object], str]
    team_at: Callable[[object], str] | None
    """Only people have links to teams."""
    query: str
    marked: Collection[str]
    comparable: bool
    has_axis: bool
    column_class: str


def surroundings(context: Context) -> Surroundings:
    """Take from the context of the page what its rows share."""
    return Surroundings(
        _addresses("system", context["benchmark"].slug),
        _addresses("submission"),
        _addresses("team") if context["user"].is_authenticated else None,
        f"?setting={escape(context['setting'].key)}",
        context["marked"],
        context["comparable"],
        bool(context["table"].axis),
        "" if context["choice"].columns else " opt",
    )


def _addresses(view: str, *args: object) -> Callable[[object], str]:
    """Return the address of a view by its last argument: looking it up for each row takes long."""
    head, tail = reverse(view, args=[*args, _LAST]).rsplit(_LAST, 1)
    return lambda last: f"{head}{last}{tail}"


def ranked_rows(lines: Iterable[TableRow], around: Surroundings) -> SafeString:
    """Rows of the systems scored here."""
    return SafeString("".join(_ranked_row(line, around) for line in lines))


def reported_rows(lines: Iterable[ReportedRow], around: Surroundings) -> SafeString:
    """Rows of the systems of papers, below the others."""
    return SafeString("".join(_reported_row(line, around) for line in lines))


def _ranked_row(line: TableRow, around: Surroundings) -> str:
    row, why, class_ = line.row, escape(line.no_rank), ' class="base"' if line.baseline else ""
    reason = f'<span class="sr"> {why}</span>' if why else ""
    return (
        f'<tr{class_}><td class="fig band"{_title(why)}>{_rails(line.rails)} {escape(line.rank)}{reason}</td>'
        f'<th scope="row"{_title(escape(line.description))}>'
        f"{_system(line, row.system, around)}{_marks(line)}{_narrow(line.strip)}</th>"
        f'<td class="fig quiet opt">{row.n_text}</td>{_figures(line, around)}</tr>\n'
    )


def _title(escaped: str) -> str:
    return f' title="{escaped}"' if escaped else ""


def _rails(rails: Iterable[Rail]) -> str:
    return "".join([f'<i class="b{rail.lane}{rail.end}"></i>' for rail in rails])


def _system(line: TableRow, system: BoardSystem, around: Surroundings) -> str:
    """Name of a system with its mark for a comparison, and below it team, run and date."""
    name, runs, box = escape(system.name), line.row.runs, ""
    if around.comparable:
        checked = " checked" if system.named in around.marked else ""
        box = (
            f'<input type="checkbox" form="compare" name="systems" aria-label="Compare {name}"'
            f' value="{escape(system.named)}"{checked}> '
        )
    team, date = f"<bdi>{escape(system.team_name)}</bdi>", escape(day(line.last))
    if around.team_at:
        team = f'<a class="under" href="{around.team_at(system.team_slug)}">{team}</a>'
    if line.run:
        date = f'<a class="under" href="{around.run_at(line.run)}{around.query}">{date}</a>'
    chosen = f" · run {escape(runs.chosen)}" if runs.chosen else ""
    aggregates = "".join([f" · {escape(aggregate)}" for aggregate in runs.aggregates])
    return (
        f'{box}<a href="{around.system_at(system.pk)}{around.query}">{name}</a> <br>'
        f' <span class="quiet">{team}{chosen} · {date}{aggregates}</span>'
    )


def _marks(line: TableRow) -> str:
    """Marks below the name of a system."""
    marks = ['<span class="chip chip--base">baseline</span>'] if line.baseline else []
    marks += [
        f'<a class="chip" href="{escape(address)}" rel="nofollow noopener">{escape(name)}</a>'
        for name, address in line.links.items()
    ]
    if line.tags:
        quoted = ", ".join(f"“{shortened(tag)}”" for tag in line.tags)
        marks.append(f'<span class="quiet">declared by the team: {escape(quoted)}</span>')
    if line.same_files:
        marks.append(_warning(line.same_files, SAME_ANSWERS))
    if withheld := line.row.runs.withheld:
        marks.append(_warning(f"{counted(withheld, 'further run')} withheld", WITHHELD))
    if withdrawn := line.row.withdrawn_text:
        marks.append(_warning(withdrawn, WITHDRAWN))
    if line.row.saw_gold:
        marks.append(_warning("saw the gold", SAW_GOLD))
    return "".join([f" {mark}" for mark in marks])


def _warning(text: str, title: str) -> str:
    return f'<span class="chip chip--warn" title="{escape(title)}">{escape(text)}</span>'


def _narrow(strip: str) -> str:
    """Runs of a system below its name, where the table has no room for them."""
    return f'<span class="narrow-only">{strip}</span>' if strip else ""


def _figures(line: TableRow | ReportedRow, around: Surroundings) -> str:
    """Ordering figure, its runs, and the other figures."""
    axis = f'<td class="opt">{line.strip}</td>' if around.has_axis else ""
    first = f'<td class="fig sorted{line.first.classes}">{line.first}</td>'
    return f"{first}{axis}{_score_cells(line.others, around.column_class)}"


def _score_cells(cells: Iterable[ScoreCell], column_class: str) -> str:
    return "".join([f'<td class="fig{column_class}{cell.classes}">{cell}</td>' for cell in cells])


def _reported_row(line: ReportedRow, around: Surroundings) -> str:
    row, fault = line.row, ""
    if line.fault:
        fault = _warning("impossible on this gold", f"{line.fault[:1].upper()}{line.fault[1:]}.")
    return (
        f'<tr>{NOT_RANKED}<th scope="row">{escape(row.system)} <span class="chip chip--base">reported</span>'
        f' {fault}<br><span class="quiet">{escape(row.paper)}, {escape(row.table)}</span>'
        f'{_narrow(line.strip)}</th><td class="fig quiet opt">{row.runs or "?"}</td>'
        f"{_figures(line, around)}</tr>\n"
    )
