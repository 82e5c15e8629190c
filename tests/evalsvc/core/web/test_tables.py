"""One table leaves as CSV, JSON, LaTeX and Markdown."""

from __future__ import annotations

import json
import re

import pytest
from django.http import Http404
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.core.web.tables import Cell, Head, PaperTable, as_latex, as_markdown, download, latex_text
from evalsvc.evaluation.measures.menu import MENU

TABLE = PaperTable(
    "board",
    "Means over 5 % of the runs.",
    [Head("system", "System", numeric=False), Head("micro_f1", "micro F1")],
    [
        [Cell("R&D_1", "R&D_1"), Cell(0.7, "70.0 ± 0.4", bold=True)],
        [Cell("=a|b\n", "=a|b\n"), Cell(None, "–")],
    ],
)


@pytest.mark.parametrize(
    ("format", "parts"),
    [
        ("csv", ["system,micro_f1,caption\r\nR&D_1,0.7,Means over 5 % of the runs.\r\n", "'=a|b\n"]),
        ("tex", [r"R\&D\_1 & \textbf{70.0 $\pm$ 0.4} \\", r"=a\textbar{}b  & -- \\", r"5 \% of", "{lr}"]),
        ("md", [r"| R&D\_1 | **70.0 ± 0.4** |", r"| =a\|b  | – |", "| --- | ---: |"]),
    ],
)
def test_a_table_is_escaped_for_its_format(format: str, parts: list[str]) -> None:
    response = download(TABLE, format)
    assert response["Content-Disposition"] == f'attachment; filename="board.{format}"'
    for part in parts:
        assert part in response.content.decode()


@pytest.mark.parametrize(("name", "written"), [("[Ours]", "{[}Ours] & "), ("*Ours", "{*}Ours & ")])
def test_a_name_at_the_start_of_a_latex_row_is_no_argument_of_the_line_before(
    name: str, written: str
) -> None:
    row = [Cell(name, name), Cell(0.7, "70.0")]
    rows = as_latex(PaperTable("board", "", TABLE.heads, [row])).splitlines()
    assert rows[rows.index("\\midrule") + 1].startswith(written)


def test_json_has_values_by_key() -> None:
    body = json.loads(download(TABLE, "json").content)
    assert body["rows"] == [{"system": "R&D_1", "micro_f1": 0.7}, {"system": "=a|b\n", "micro_f1": None}]


def test_an_unknown_format_is_not_found() -> None:
    with pytest.raises(Http404):
        download(TABLE, "xls")


def test_letters_that_latex_lacks_as_text_are_written_as_mathematics() -> None:
    """Of what measures are called, pdfLaTeX sets nothing else but ASCII and these signs."""
    assert latex_text("τ* and wᵢ ∝ nᵢ") == r"$\tau${*} and w$_i$ $\propto$ n$_i$"
    words = " ".join(f"{each.title} {each.explains}" for each in MENU.values())
    assert {letter for letter in latex_text(words) if not letter.isascii()} <= set("¼½¾²³·×—‘’“”é")


# Text without special meaning, an escaped sign, a sign in braces, mathematics, or a broken dash.
ESCAPED = re.compile(
    r"(?:[^\\{}$&#%_^~<>|\[*\n]|\\[{}&%$#_]|\\text(?:backslash|asciicircum|asciitilde|bar)\{\}"
    r"|\{[\[*]\}|\$[^$]*\$|-\{\})*"
)


@given(st.text() | st.text("\\{}&%$#_^~[]*<>|-− \n"))
def test_every_text_is_plain_in_latex(text: str) -> None:
    assert ESCAPED.fullmatch(latex_text(text))


@pytest.mark.parametrize(
    ("name", "written"),
    [("&#124;", r"\&\#124;"), ("&lt;b&gt;", r"\&lt;b\&gt;"), ("A & B; C&D", "A & B; C&D")],
)
def test_a_name_in_a_markdown_table_is_read_as_no_entity(name: str, written: str) -> None:
    table = as_markdown(PaperTable("board", name, [Head("a", "a")], [[Cell(name, name)]]))
    assert f"| {written} |" in table


NAMES = ["a_b & c\\", "100 % {x}", "$\\input{y}$", "[*] #1 ^~", "Ł\u0303 | <b>", "模型", "نموذج"]


@pytest.mark.parametrize("name", NAMES)
def test_a_latex_table_has_a_cell_for_each_column_and_closes_its_braces(name: str) -> None:
    heads = [Head("a", name, numeric=False), Head("b", name), Head("c", "F1")]
    row = [Cell(name, name, bold=True), Cell(1, name), Cell(None, "–")]
    lines = as_latex(PaperTable("board", name, heads, [row, row])).splitlines()
    inside = lines[lines.index("\\toprule") : lines.index("\\bottomrule")]
    cells = [re.sub(r"\\.", "", line[:-3]).count("&") + 1 for line in inside if line.endswith(r" \\")]
    assert cells == [3, 3, 3]
    for line in lines:
        bare = re.sub(r"\\[{}]", "", line)
        assert bare.count("{") == bare.count("}")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Net", []),
        ("Zoë", ["% needs \\usepackage[T1]{fontenc}, for letters beyond ASCII"]),
        ("e\u0301", ["% needs \\usepackage[T1]{fontenc}, for letters beyond ASCII"]),
        ("a\u202eb\x00", []),
        (
            "模型 é",
            [
                "% pdfLaTeX cannot set 型 模: use XeLaTeX or LuaLaTeX, and a font with these letters",
            ],
        ),
    ],
)
def test_a_latex_table_says_what_its_letters_need(name: str, said: list[str]) -> None:
    lines = as_latex(PaperTable("board", "", TABLE.heads, [[Cell(name, name), Cell(1, "1")]])).splitlines()
    assert [line for line in lines if line.startswith("%")] == ["% needs \\usepackage{booktabs}", *said]


def test_a_latex_table_is_scaled_to_the_text_or_broken_over_pages_if_it_needs_more() -> None:
    row = [Cell("Net", "Net"), Cell(0.7, "70.0")]
    heads = [TABLE.heads[0], Head("x", "F1 of a relation" * 5)]
    wide = as_latex(PaperTable("board", "", heads, [row]))
    assert "\\linewidth\\else\\width\\fi}{!}{%\n\\begin{tabular}{lr}" in wide
    assert "\\end{tabular}\n}\n\\end{table}" in wide
    long = as_latex(PaperTable("board", "All runs.", TABLE.heads, [row] * 46)).splitlines()
    assert "\\caption{All runs.}" in long
    assert long.count("System & micro F1 \\\\") == 2  # on the first page, and at the head of the others
    assert long[-1] == "\\end{longtable}"
    assert "% needs \\usepackage{longtable}, in one column of text" in long
    both = as_latex(PaperTable("board", "", heads, [row] * 46))
    assert "{\\scriptsize\\setlength{\\tabcolsep}{3pt}%\n\\begin{longtable}{lr}" in both
    assert both.endswith("\\end{longtable}\n}\n")
    turned = as_latex(PaperTable("board", "", [heads[0], Head("x", "F1 of a relation" * 8)], [row] * 46))
    assert "% needs \\usepackage{lscape}, to turn its pages" in turned
    assert turned.endswith("\\end{longtable}\n}\n\\end{landscape}\n")


def test_a_latex_table_leaves_out_columns_without_text() -> None:
    heads = [*TABLE.heads, Head("reason", "Reason", numeric=False)]
    row = [Cell("Net", "Net"), Cell(0.7, "70.0"), Cell("", "")]
    assert "System & micro F1 \\\\\n" in as_latex(PaperTable("board", "", heads, [row]))
    assert "Reason" in as_latex(PaperTable("board", "", heads, [row, [*row[:2], Cell("no run", "no run")]]))
