"""The chapter of docs/measures.md that is made from the menu."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.evaluation.measures.menu import FAMILIES, MENU, Measure
from evalsvc.evaluation.measures.options import OPTIONS

BEGIN, END = "<!-- menu: written by manage.py document_measures -->", "<!-- end of the menu -->"


def chapter() -> str:
    """Every family with its measures, and every option, as Markdown."""
    return "\n".join([BEGIN, *_families(), *_options(), "", END])


def renewed(text: str) -> str:
    """The document with its chapter as the menu is now; what stands around it stays."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + chapter() + after


def _families() -> Iterator[str]:
    for key, family in FAMILIES.items():
        units = ", ".join(family.units)
        yield from ["", f"## {family.title}", "", family.explains, "", f"In settings by {units}.", ""]
        yield "| key | measure | what it says | formula | undefined when | source |"
        yield "|---|---|---|---|---|---|"
        yield from (_row(measure) for measure in MENU.values() if measure.family == key)


def _row(measure: Measure) -> str:
    cells = (measure.title, measure.explains, measure.formula, measure.undefined, measure.source)
    return f"| `{measure.key}` | " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _options() -> Iterator[str]:
    yield from ["", "## Options of a benchmark", ""]
    yield "Each changes a number, and is stored with every score that it touched."
    yield from ["", "| option | default | takes | what it changes |", "|---|---|---|---|"]
    for key, option in OPTIONS.items():
        default = str(option.default).lower() if isinstance(option.default, bool) else option.default
        yield f"| `{key}` | {default} | {option.expected()} | {option.explains} |"
