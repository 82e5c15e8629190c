"""JSON lines of relations read column by column; whatever is unusual is left to the careful readers."""

from __future__ import annotations

from pathlib import Path

from evalsvc.core.formats import jsonl_gold as gold_lines
from evalsvc.core.formats.json_blocks import Irregular
from evalsvc.core.formats.problems import FileRejected, Problems
from evalsvc.core.formats.registry import recognise_source
from workers.cli.arguments import Options
from workers.scoring import column_reader
from workers.scoring.gold import Gold, with_inventory
from workers.scoring.predictions import FORMS, Answers


def read(gold: Path, predictions: Path, options: Options) -> tuple[Gold, Answers] | None:
    """Both files, when they are regular and fit each other; None when the careful way must look."""
    with column_reader.uncollected():
        try:
            formats = recognise_source(gold), recognise_source(predictions)
            if formats[0] != "jsonl-items" or formats[1] not in ("jsonl-predictions", "opennre-results"):
                return None
            truth = _gold(gold, options)
            return truth, _answers(predictions, truth, options)
        except (Irregular, FileRejected):
            return None


def _gold(path: Path, options: Options) -> Gold:
    gold = Gold()
    for part in gold_lines.read_parts(path, pairs=options.task == "bags", problems=Problems()):
        first = len(gold.index)
        gold.index.update(zip(part.ids, range(first, first + len(part.ids)), strict=True))
        if len(gold.index) < first + len(part.ids):
            raise Irregular
        cells = [(row, name) for row, names in enumerate(part.labels, first) for name in names]
        cells = [cell for cell in cells if cell[1] != options.negative]
        gold.owner += [row for row, _ in cells]
        gold.label += [name for _, name in cells]
        gold.bag += map(gold.bags.__getitem__, part.pairs)
    return with_inventory(gold, options)


def _answers(path: Path, gold: Gold, options: Options) -> Answers:
    code = {name: at for at, name in enumerate(gold.inventory)}
    negative = len(code)
    code |= {options.negative: negative} if options.negative is not None else {}
    form, found = column_reader.read(path, column_reader.Known(gold.index, gold.bags, code))
    if form not in FORMS[options.task]:
        raise Irregular
    if form == "label" and options.missing == "refuse" and len(found.line) < len(gold):
        raise Irregular
    kept = found.label != negative if form != "label" else slice(None)
    row = found.row[kept]
    dropped = len(found.row) - len(row)
    return Answers(form, row, found.label[kept], found.score[kept], dropped_negative=dropped)
