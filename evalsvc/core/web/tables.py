"""Tables for papers: one table as CSV, JSON, LaTeX and Markdown.

A cell has a value, for programs, and a text, for people. Bold marks what a test shows, never a bare maximum.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any, NamedTuple

from django.http import Http404, HttpResponse, JsonResponse

from evalsvc.core.web.downloads import csv_file, text_file

LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "|": r"\textbar{}",
    "--": "-{}-{}",  # else one dash
    "[": "{[}", "*": "{*}",  # after a row or a rule they would be its argument
    "−": "$-$", "±": r"$\pm$", "<": "$<$", ">": "$>$", "≥": r"$\geq$", "≤": r"$\leq$", "–": "--",
    "≠": r"$\neq$", "≈": r"$\approx$",
    # LaTeX has no text of these
    "α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "κ": r"$\kappa$", "ρ": r"$\rho$", "τ": r"$\tau$",
    "Δ": r"$\Delta$", "Σ": r"$\Sigma$", "∝": r"$\propto$", "∩": r"$\cap$", "ᵢ": r"$_i$",
}  # fmt: skip
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~]|&(?=#?\w+;))")  # and what would be read as an entity
LINE_ENDS = re.compile(r"\s+")
_SPECIAL = re.compile("|".join(map(re.escape, LATEX)))
JOINERS = "\u200c\u200d"  # part of the spelling of Persian and Hindi words
UNSEEN = ("Cc", "Cf", "Cs")  # categories of control characters
LETTERS_NAMED = 10
PARTS = (("sd", "standard deviation"), ("n", "n"), ("reason", "reason"))  # of a mean, for programs
LINE, PAGE = 66, 45  # letters in a line of an article, rows on its page
SMALL_LINE, TURNED_LINE = 100, 160  # letters in a line of its smallest type, and across a turned page
# What pdfLaTeX sets besides ASCII, with the encoding T1.
_SET_BY_T1 = re.compile("[\u00a0-\u017e–—‘’‚“”„…†‡•‹›€™]")
_NOT_IN_T1 = frozenset("ĦħĿŀŉĸŦŧ")


class Cell(NamedTuple):
    """Value for programs, text for people; `parts` are what JSON has in place of a value of several."""

    value: object
    text: str
    bold: bool = False
    parts: list[Any] | None = None


class Head(NamedTuple):
    """Column: its key in CSV and JSON, its title elsewhere."""

    key: str
    title: str
    numeric: bool = True


def part_heads(mean: Head) -> list[Head]:
    """Return the columns beside a mean that programs get."""
    return [Head(f"{mean.key}:{part}", f"{mean.title}, {title}") for part, title in PARTS]


@dataclass(frozen=True)
class PaperTable:
    """Rows of cells under heads, with a caption of whole sentences."""

    name: str
    caption: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[Cell]]


def latex_text(text: str) -> str:
    """Escape a text for LaTeX, on one line, without control characters."""
    composed = unicodedata.normalize("NFC", LINE_ENDS.sub(" ", text))
    shown = (each for each in composed if each in JOINERS or unicodedata.category(each) not in UNSEEN)
    return _SPECIAL.sub(lambda found: LATEX[found[0]], "".join(shown))


def _needs(lines: Sequence[str]) -> list[str]:
    """Say what a document needs to set these lines, as comments."""
    letters = {letter for line in lines for letter in line if not letter.isascii()}
    absent = sorted(each for each in letters if each in _NOT_IN_T1 or not _SET_BY_T1.match(each))
    needs = []
    if absent:
        some = " ".join(absent[:LETTERS_NAMED]) + (" …" if len(absent) > LETTERS_NAMED else "")
        needs.append(f"% pdfLaTeX cannot set {some}: use XeLaTeX or LuaLaTeX, and a font with these letters")
    elif letters:
        needs.append("% needs \\usepackage[T1]{fontenc}, for letters beyond ASCII")
    return needs


def as_latex(table: PaperTable) -> str:
    """Format a table for the package booktabs, without its empty columns; a large one fits into its pages."""
    table = _without_empty_columns(table)
    columns = "".join("r" if head.numeric else "l" for head in table.heads)
    heads = ["\\toprule", f"{' & '.join(latex_text(head.title) for head in table.heads)} \\\\", "\\midrule"]
    body = [*(f"{' & '.join(map(_latex_cell, row))} \\\\" for row in table.rows), "\\bottomrule"]
    caption = [f"\\caption{{{latex_text(table.caption)}}}", f"\\label{{tab:{table.name}}}"]
    make = _of_pages if len(table.rows) > PAGE else _of_one_page
    needs, lines = make(_width(table), columns, caption, heads, body)
    return "\n".join(["% needs \\usepackage{booktabs}", *needs, *_needs(lines), *lines]) + "\n"


Lines = list[str]


def _of_one_page(width: int, columns: str, caption: Lines, heads: Lines, body: Lines) -> tuple[Lines, Lines]:
    """Return what a table of a page needs, and its lines: scaled to the text if it is wider."""
    needs, lines = [], [f"\\begin{{tabular}}{{{columns}}}", *heads, *body, "\\end{tabular}"]
    if width > LINE:
        needs.append("% needs \\usepackage{graphicx}, to scale it to the width of the text")
        scaled = "\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi"
        lines = [f"\\resizebox{{{scaled}}}{{!}}{{%", *lines, "}"]
    return needs, ["\\begin{table}", "\\centering", *caption, *lines, "\\end{table}"]


def _of_pages(width: int, columns: str, caption: Lines, heads: Lines, body: Lines) -> tuple[Lines, Lines]:
    """Return what a table of several pages needs, and its lines: smaller, then turned, if it is wider."""
    needs = ["% needs \\usepackage{longtable}, in one column of text"]
    lines = [f"\\begin{{longtable}}{{{columns}}}", caption[0], f"{caption[1]} \\\\", *heads]
    lines += ["\\endfirsthead", *heads, "\\endhead", *body, "\\end{longtable}"]
    if width > LINE:
        lines = ["{\\scriptsize\\setlength{\\tabcolsep}{3pt}%", *lines, "}"]
    if width > SMALL_LINE:
        needs.append("% needs \\usepackage{lscape}, to turn its pages")
        lines = ["\\begin{landscape}", *lines, "\\end{landscape}"]
    if width > TURNED_LINE:
        needs.append("% is wider than a turned page: choose fewer columns")
    return needs, lines


def _without_empty_columns(table: PaperTable) -> PaperTable:
    """Leave out columns in which no row has a text."""
    kept = [n for n in range(len(table.heads)) if not table.rows or any(row[n].text for row in table.rows)]
    rows = [[row[n] for n in kept] for row in table.rows]
    return replace(table, heads=[table.heads[n] for n in kept], rows=rows)


def _width(table: PaperTable) -> int:
    """Return about how many letters wide a table is, two of them between columns."""
    titles = ([head.title for head in table.heads], *([cell.text for cell in row] for row in table.rows))
    return sum(2 + max(map(len, column)) for column in zip(*titles, strict=True))


def _latex_cell(cell: Cell) -> str:
    text = latex_text(cell.text)
    return f"\\textbf{{{text}}}" if cell.bold else text


def as_markdown(table: PaperTable) -> str:
    """Format a table with pipes, and its caption below."""
    rule = ["---:" if head.numeric else "---" for head in table.heads]
    rows = ([f"**{_plain(c.text)}**" if c.bold else _plain(c.text) for c in row] for row in table.rows)
    lines = [[_plain(head.title) for head in table.heads], rule, *rows]
    body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{body}\n\n{_plain(table.caption)}\n"


def _plain(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", LINE_ENDS.sub(" ", text))


def records(table: PaperTable) -> Iterator[dict[str, object]]:
    """Yield the values of each row by the keys of its columns."""
    for row in table.rows:
        cells = zip(table.heads, row, strict=True)
        yield {head.key: cell.value if cell.parts is None else cell.parts for head, cell in cells}


def _csv(table: PaperTable) -> HttpResponse:
    """Return the values, with the caption in a last column of the first row: it tells how they came about."""
    captions = chain([table.caption], repeat(""))
    rows = ([*(cell.value for cell in row), words] for row, words in zip(table.rows, captions, strict=False))
    return csv_file(f"{table.name}.csv", [*(head.key for head in table.heads), "caption"], rows)


FORMATS: dict[str, Callable[[PaperTable], HttpResponse]] = {
    "csv": _csv,
    "json": lambda table: JsonResponse(
        {
            "caption": table.caption,
            "titles": {head.key: head.title for head in table.heads},
            "rows": list(records(table)),
        }
    ),
    "tex": lambda table: text_file(f"{table.name}.tex", as_latex(table), "application/x-tex"),
    "md": lambda table: text_file(f"{table.name}.md", as_markdown(table), "text/markdown"),
}


def download(table: PaperTable, format: str) -> HttpResponse:
    """Return a table as a file in one of the formats, else 404."""
    if format not in FORMATS:
        raise Http404
    return FORMATS[format](table)
