"""NYT10's tab-separated lines: head id, tail id, head, tail, relation, sentence, ###END###."""

from __future__ import annotations

from collections.abc import Iterator

from evalsvc.core.formats.mention_search import locate
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import ItemLine, content_id
from evalsvc.core.formats.text_lines import LIMITS, Limits, Source, read_lines

END = "###END###"
COLUMNS = ("head id", "tail id", "head", "tail", "relation", "sentence", END)


def read_nyt10(
    source: Source, *, problems: Problems, limits: Limits = LIMITS
) -> Iterator[tuple[int, ItemLine]]:
    """Yield (line, item), one label each, repeats not merged; names get the place of their first occurrence.

    Names and sentence are compared as they stand: this corpus writes names with underscores in both.
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
        problems.add("wrong_columns", line=line, found=text, expected=expected)
        return None
    head_id, tail_id, head_name, tail_name, relation, sentence, _ = fields
    head = locate(sentence, head_name, entity_id=head_id, line=line, field="head", problems=problems)
    # one refusal a line: what is counted is lines
    tail = head and locate(sentence, tail_name, entity_id=tail_id, line=line, field="tail", problems=problems)
    if head is None or tail is None:
        return None
    return ItemLine(content_id(sentence, head, tail), sentence, None, head, tail, None, (relation,))
