"""NYT10, tab-separated: head id, tail id, head, tail, relation, sentence, ###END###."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, content_id
from evalsvc.core.formats.registry import Format, Reader, register
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines
from evalsvc.core.formats.text_spans import locate

END = "###END###"
COLUMNS = ("head id", "tail id", "head", "tail", "relation", "sentence", END)


def read_nyt10(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item) with one label; repeats are not merged.

    A mention is at the first occurrence of its name. Names are not normalised: this corpus writes underscores
    in both names and sentences.
    """
    for line, text in read_lines(source, problems=problems, limits=limits):
        if text and not text.isspace():
            item = _item(text, line, problems)
            if item is not None:
                yield line, item


def _item(text: str, line: int, problems: Problems) -> ItemLine | None:
    fields = text.split("\t")
    if len(fields) != len(COLUMNS) or fields[-1].strip() != END or not all(fields):
        expected = f"{len(COLUMNS)} columns separated by tabs: {', '.join(COLUMNS)}"
        problems.add("wrong_columns", line=line, value=text, expected=expected)
        return None
    head_id, tail_id, head_name, tail_name, relation, sentence, _ = fields
    head = locate(sentence, head_name, entity_id=head_id, line=line, field="head", problems=problems)
    # One problem per line, because lines are counted.
    tail = head and locate(sentence, tail_name, entity_id=tail_id, line=line, field="tail", problems=problems)
    if head is None or tail is None:
        return None
    return ItemLine(content_id(sentence, head, tail), sentence, None, head, tail, None, (relation,))


FORMAT = register(
    Format(
        "nyt10",
        "NYT10",
        "Tab-separated: head id, tail id, head, tail, relation, sentence, end mark.",
        f"m.01\tm.02\tada\tturin\tborn_in\tada was born in turin .\t{END}",
        roles=("items", "gold"),
        rank=60,
        recognise=lambda sample: not sample.keys and sample.lines[0].rstrip().endswith(END),
        readers={"items": Reader(read_nyt10)},
        repeats_items=True,
        marks="pairs",
    )
)
