"""The command line's sources: gold and prediction files of any format."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import msgspec
import numpy as np

from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats import conll, label_list
from evalsvc.core.formats.label_mapping import LabelMapping
from evalsvc.core.formats.negative_class import similar_to_negative
from evalsvc.core.formats.old_labels import NOTHING, mapped_in_words
from evalsvc.core.formats.prediction_check import PredictionCheck
from evalsvc.core.formats.prediction_forms import SILENT_FORMS, Form
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.registry import Records, formats, recognise_source
from evalsvc.core.formats.text_lines import LIMITS
from evalsvc.core.jobs.exceptions import InputFault
from evalsvc.evaluation.measures.composition import BASES, Composition, checked, formula
from workers.cli import conll_columns
from workers.cli.arguments import Options, naming
from workers.cli.report_output import Composed, Computed, computed
from workers.metrics.report import Report
from workers.scoring.case import ScoringCase, ScoringOptions
from workers.scoring.composed import composed
from workers.scoring.gold import Gold, read_gold
from workers.scoring.prediction_files import read_predictions, uncollected
from workers.scoring.predictions import Predictions, dense_predictions
from workers.scoring.scorer import report_of

if TYPE_CHECKING:
    from evalsvc.core.formats.npy import ColumnNames

UNITS = {"classification": "sentence", "sentences": "sentence", "bags": "bag"}
UNITS |= dict.fromkeys(("entities", "joint"), "document")
KINDS = {"classification": "sentence", "sentences": "sentence", "bags": "bag"}
KINDS |= {"entities": "document", "joint": "joint"}
FORMS: dict[str, tuple[Form, ...]] = {
    "classification": ("label", "labels"),
    "sentences": ("label", "labels", "scores"),
    "bags": ("bag", "scores", "labels", "label"),
    "entities": ("spans", "tags", "entity_texts"),
    "joint": ("spans", "triple_texts"),
}
PIECE_BYTES = 1 << 18
LEFT_OUT = "Left out: {:,} predictions about items that the gold does not have."
COUNTED = {
    "repaired_tag": "Entities of the {} without their beginning or end in the scheme, counted",
    "dropped_tag": "Entities of the {} without their beginning or end in the scheme, dropped",
    "duplicate_span": "Spans of the {} that repeat others, counted once",
    "duplicate_relation": "Relations of the {} that repeat others, counted once",
    "empty_answer": "Answers of the {} without text, left out",
}
NEGATIVE = "{0} looks like the negative class, but is averaged like a relation. Use --negative {0}."


@dataclass(frozen=True)
class LocalGold:
    """A gold file with the options it is scored under."""

    gold: Gold
    options: Options
    scoring: ScoringOptions

    @cached_property
    def old(self) -> LabelMapping:
        """Old names of labels, as --old-labels maps them to the inventory."""
        if self.options.old_labels is None:
            return NOTHING
        labels = [*self.scoring.labels, *self.scoring.relations]
        mapping = _mapping(self.options.old_labels)
        return mapping.limited(labels, current=labels, negative=self.scoring.negative)

    def mapped(self, case: ScoringCase) -> str:
        """Describe which labels of a file were mapped; empty if none were."""
        return mapped_in_words(case.old_labels, negative=self.scoring.negative or "")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn of an averaged class that looks like the negative one."""
        if self.scoring.unit == "document":
            return ()
        similar = similar_to_negative(self.scoring.labels, negative=self.scoring.negative)
        return () if similar is None else (NEGATIVE.format(shlex.quote(similar)),)

    def case(self, path: Path) -> ScoringCase:
        """Read a prediction file against this gold, or reject it by name."""
        with naming(path), uncollected():
            case = ScoringCase.of(self.gold, _read_predictions(path, self), self.scoring)
        if self.scoring.single and case.form == "label":
            _require_single_labels(case)
        return case


class LocalScore(NamedTuple):
    """A report, how it was computed, and warnings."""

    report: Report
    computed: Computed
    warnings: tuple[str, ...] = ()
    composed: tuple[Composed, ...] = ()


def score(gold: Path, predictions: Path, options: Options) -> LocalScore:
    """Score one prediction file, regular CoNLL files by columns."""
    column, report = gold_column(gold, predictions, options), None
    if options.task == "entities" and not options.measure and options.old_labels is None:
        report = conll_columns.score(gold, predictions, options, gold_column=column)
    if report is not None:
        options.require_effect(["tags"])
        return LocalScore(report, computed(options, gold), _count_warnings(report.counts))
    local = read_local_gold(gold, options, column=column)
    compositions = [(path.stem, _composition(path, local)) for path in options.measure]
    case = local.case(predictions)
    options.require_effect(forms_of({predictions: case}))
    report, left_out = report_of(case), case.placed.left_out
    own = [Composed(name, formula(parts), composed(parts, report, case)) for name, parts in compositions]
    notes = [LEFT_OUT.format(left_out)] if left_out else []
    report = replace(report, notes=(*report.notes, *notes), counts=report.counts | case.read_counts)
    mapped = local.mapped(case)
    warnings = (*local.warnings, *([f"{mapped}."] if mapped else []), *_count_warnings(report.counts))
    return LocalScore(report, computed(options, gold, case, old=local.old), warnings, tuple(own))


def forms_of(cases: Mapping[Path, ScoringCase]) -> set[str]:
    """Return the forms of predictions; `matrix` stands for those with columns."""
    from evalsvc.core.formats import npy, npz

    forms = {case.form for case in cases.values()}
    for path in cases:
        with path.open("rb") as file:
            forms |= {"matrix"} if file.read(len(npy.MAGIC)).startswith((npy.MAGIC, npz.MAGIC)) else set()
    return forms


def _mapping(path: Path) -> LabelMapping:
    """Read old names of labels: steps or mappings as a release has them, or an object of names."""
    try:
        content = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        if content.keys() & {"ontology", "mapped"} or content.keys() >= {"labels", "texts", "steps"}:
            return LabelMapping.from_manifest(content)
        names = msgspec.convert(content, dict[str, str | list[str] | None])
    except (msgspec.MsgspecError, TypeError, KeyError) as error:
        files = "ontology.json of a release, manifest.json of mapped gold or JSON object of names"
        reason = f"{path} is no {files}: {error}"
        raise InputFault("bad_mapping", reason) from error
    return LabelMapping.from_parts(
        {name: new if isinstance(new, list) else [new] for name, new in names.items() if new != []}
    )


def _composition(path: Path, local: LocalGold) -> Composition:
    """Read and check a composed measure."""
    scoring = local.scoring
    try:
        return checked(
            msgspec.json.decode(path.read_bytes()),
            bases=BASES[KINDS[local.options.task]],
            labels=scoring.labels,
            relations=scoring.relations,
            negative=scoring.negative or "",
        )
    except msgspec.DecodeError as error:
        raise InputFault("bad_composition", f"{path}: not JSON: {error}") from error
    except DomainError as error:
        raise InputFault(error.code, f"{path}: {error.detail} {error.hint}") from error


def _count_warnings(counts: Mapping[str, float]) -> tuple[str, ...]:
    """Describe repaired, dropped and merged tags and spans."""
    return tuple(
        f"{text.format(side)}: {counts[name]:,.0f}."
        for side in ("gold", "predictions")
        for code, text in COUNTED.items()
        if counts.get(name := f"{side}_{code}")
    )


def gold_column(gold: Path, predictions: Path, options: Options) -> int:
    """Return the gold column: the last, or last but one when shared."""
    if options.gold_column is not None:
        return options.gold_column
    return -2 if gold.samefile(predictions) and conll_columns.width(gold) > 2 else -1


# ---- gold ----------------------------------------------------------------------------------------
def read_local_gold(path: Path, options: Options, *, column: int) -> LocalGold:
    """Read a gold file of any format, with its scoring options."""
    with naming(path), uncollected():
        gold = read_gold(
            lambda: path,
            UNITS[options.task],
            format=_format_of(path, options, "items", "gold"),
            negatives=(options.negative,),
            scheme=options.scheme,
            repair=options.repair,
            column=column,
        )
    return LocalGold(gold, options, _scoring_options(gold, options))


def _require_single_labels(case: ScoringCase) -> None:
    """Reject gold for classification with several labels, or none, per item."""
    labels, ids = case.labels_per_item, list(case.gold.index)
    if (labels > 1).any():
        name = ids[int(np.argmax(labels > 1))]
        reason = f"Item {name} has {labels.max()} labels. Use --task sentences, which takes label sets."
        raise InputFault("several_labels", reason)
    if case.options.negative is None and not labels.all():
        reason = f"Item {ids[int(np.argmin(labels))]} has no label. Name the class of such items: --negative."
        raise InputFault("no_label", reason)


def _format_of(source: Path | BinaryIO, options: Options, *kinds: Records) -> str:
    """Recognise the format; entities have columns, never a list of labels."""
    accepted = [key for key, each in formats().items() if not each.readers.keys().isdisjoint(kinds)]
    format = recognise_source(source, accepted=accepted)
    is_guess = formats()[format].catch_all and UNITS[options.task] == "document"
    return conll.FORMAT.key if is_guess else format


def _scoring_options(gold: Gold, options: Options) -> ScoringOptions:
    """Complete the options with the labels of --labels, else the gold's."""
    by_document = UNITS[options.task] == "document"
    used = dict.fromkeys(gold.label)
    if by_document and options.negative in used:
        reason = f"The gold has entities of the class {options.negative}. Name another class with --negative."
        raise InputFault("negative_class", reason)
    stated = sorted(used) if options.labels is None else _listed(options.labels)
    labels = [name for name in stated if name != options.negative]
    unlisted = sorted(used.keys() - set(labels))
    if unlisted:
        reason = f"The gold has the label {unlisted[0]}, which {options.labels} lacks."
        raise InputFault("gold_label", reason)
    return ScoringOptions(
        unit=UNITS[options.task],
        labels=labels,
        negative=None if by_document else options.negative,
        relations=_relations(gold, options) if options.task == "joint" else (),
        symmetric=options.symmetric,
        single=options.task == "classification",
        beta=options.beta,
        entropy=options.entropy,
        include_negative=options.include_negative,
        aggregate=options.aggregate,
        threshold=options.threshold,
        profile=options.profile,
        casefold=options.casefold,
        strip_articles=options.strip_articles,
        grounding=options.grounding,
        families=options.family,
        without_words="skip",
    )


def _listed(path: Path) -> list[str]:
    """Read an inventory of labels."""
    with naming(path):
        problems = Problems()
        labels = label_list.read_labels(path, problems=problems)
        problems.raise_if_any()
    return labels


def _used_relations(gold: Gold) -> list[str]:
    return sorted({name for links in gold.links.values() for _, name, _ in links})


def _relations(gold: Gold, options: Options) -> list[str]:
    """Return the relations of --relations, else the gold's."""
    used = _used_relations(gold)
    relations = used if options.relations is None else _listed(options.relations)
    if not relations:
        raise InputFault("no_labels", "The gold has no relations between spans. Use --task entities.")
    if unlisted := sorted({*used, *options.symmetric} - set(relations)):
        known = ", ".join(relations[:8])
        raise InputFault("gold_label", f"{unlisted[0]} is not among the relations {known}.")
    return relations


# ---- predictions ---------------------------------------------------------------------------------
def _read_predictions(path: Path, local: LocalGold) -> Predictions:
    from evalsvc.core.formats import npy, npz  # archives are slow to import, and most files are none

    make_check = partial(_check, local)
    with path.open("rb") as file:
        first = file.read(len(npy.MAGIC))
        file.seek(0)
        columns = local.options.columns.read_text(errors="replace") if local.options.columns else ""
        stated = npy.ColumnNames(columns, local.options.na)
        if first.startswith(npz.MAGIC):
            problems = Problems()
            pieces = iter(partial(file.read, PIECE_BYTES), b"")
            with npz.opened(pieces, problems, most=LIMITS.max_bytes) as archive:
                content = b"".join(archive.pieces())
                return _dense(content, make_check(problems), local, archive.names(stated))
        if first == npy.MAGIC:
            return _dense(file.read(), make_check(Problems()), local, stated)
        format, column = _format_of(file, local.options, "predictions"), local.options.column
        return read_predictions(file, make_check, format=format, column=column, leave_out=True)


def _check(local: LocalGold, problems: Problems) -> PredictionCheck:
    gold, options = local.gold, local.options
    tokens = {name: given for name, given in zip(gold.index, gold.tokens, strict=False) if given is not None}
    return PredictionCheck(
        ids=gold.index,
        labels=local.scoring.labels,
        negative=local.scoring.negative,
        pairs=gold.pairs,
        tokens=tokens if len(tokens) == len(gold) else None,
        lengths=gold.lengths() if gold.tokens else {},
        relations=local.scoring.relations or _used_relations(gold),
        scheme=options.scheme,
        repair=options.repair,
        forms=FORMS[options.task],
        missing=options.missing,
        silent=SILENT_FORMS,
        old=local.old,
        problems=problems,
    )


def _dense(content: bytes, check: PredictionCheck, local: LocalGold, stated: ColumnNames) -> Predictions:
    """Read a score matrix: rows as items or pairs, columns as labels."""
    from evalsvc.core.formats import npy

    problems, labels = check.problems, local.scoring.labels
    header = npy.read_header(content[: npy.LONGEST_HEADER + 12], problems)
    npy.check_size(header, len(content), problems)
    keys: dict[str, list[Any]] = {"scores": list(check.ids), "bag": list(check.pairs or ())}
    sizes = {form: len(keys[form]) for form in check.forms if form in keys}
    form = next((form for form, size in sizes.items() if size == header.rows), None)
    if form is None:
        rows = " or ".join(f"{size:,}" for size in sizes.values()) or "no"
        shape = f"({rows} rows, {len(labels):,} columns)"
        problems.stop("wrong_shape", value=f"({header.rows:,}, {header.columns:,})", expected=shape)
    matrix = np.frombuffer(content, header.type, offset=header.begin).reshape(header.rows, header.columns)
    if not stated.columns and local.options.labels is None:  # labels found in a gold have no order
        problems.stop(
            "wrong_shape",
            field="columns",
            value="no names",
            expected=f"a name for each column: {npy.shown(labels)}",
            hint="Name them with --columns FILE, or give the labels in their order with --labels FILE.",
            example="--columns rel2id.json",
        )
    names = stated.resolve(header, labels, check.negative, problems, check.old)
    if not np.isfinite(matrix).all():
        pieces = (content[at : at + PIECE_BYTES] for at in range(header.begin, len(content), PIECE_BYTES))
        npy.check_finite(pieces, header, names, problems)
        problems.raise_if_any()
    return dense_predictions(matrix, keys[form], form, names=names, labels=labels, old=check.old)
