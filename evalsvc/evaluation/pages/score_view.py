"""Figures of a scored submission: scores, curve, classes, errors, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.safestring import SafeString

from annotation.testset import label_titles
from evalsvc.core.formats import npy
from evalsvc.core.formats.problems import KINDS
from evalsvc.core.web.figures import DataTable, Figure
from evalsvc.core.web.formatting import DASH, count, counted, listed, measured, number
from evalsvc.core.web.templatetags.formatting import lower_first
from evalsvc.evaluation import shown_scores
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.policy import Disclosed, ShownValue
from evalsvc.evaluation.measures.composition import WORDS
from evalsvc.evaluation.measures.computation import computation, f_title, in_words, operating_point
from evalsvc.evaluation.measures.families import (
    CLASS_FAMILIES,
    MICRO_ABOVE_MACRO,
    RELATION_CLASSES,
    micro_above_macro,
)
from evalsvc.evaluation.measures.inventory import ENTITY, RELATION
from evalsvc.evaluation.measures.menu import as_shown, scored_of, submission_measures
from evalsvc.evaluation.models import Benchmark, Setting, Submission
from evalsvc.evaluation.pages import charts

TABLE_POINTS = 11
CURVE = "Precision against recall"
ORDERS = (("gold", "Frequent first"), ("f1", "Lowest F first"), ("lost", "Most errors first"))
BESIDE_WORDS = ("conll_micro_f1", "conll_macro_f1")
COMBINED_WORDS = "*"  # the label of all types together
CLASS_FIGURES = ("f1", "gold", "correct", "predicted", "precision", "recall")
ERRORS = {
    "missed": "missed: in the gold, nothing predicted in its place",
    "spurious": "spurious: predicted, nothing in the gold in its place",
    "confused": "wrong label: another label in the gold",
    "wrong type": "correct bounds, wrong type",
    "wrong bounds": "correct type, wrong bounds",
    "wrong type and bounds": "overlap with wrong type and bounds",
}
RELATION_ERRORS = {
    "direction": "direction turned",
    "relation": "another relation between the same entities",
    "label": "the type of an entity is wrong",
    "bounds": "the bounds of an entity are wrong",
    "argument": "an entity is not in the gold",
    "spurious": "no relation between these entities in the gold",
}


@dataclass(frozen=True)
class ShownScore:
    """Score as shown; `reason` explains an undefined one."""

    title: str
    text: str
    explains: str
    reason: str = ""


@dataclass(frozen=True)
class Sheet:
    """Scores of a setting: the usual ones, and the rest."""

    evaluation: Disclosed
    shown: list[ShownScore]
    more: list[ShownScore]
    main: str
    note: str = ""
    remarks: list[str] = field(default_factory=list)

    @property
    def held_back(self) -> str:
        return self.evaluation.policy.sentence

    @property
    def setting(self) -> Any:
        return self.evaluation.setting


@dataclass(frozen=True)
class ShownClass:
    """Figures of a class; `mean` and `sd` are of its F over the runs of a system, as far as it is defined.

    `best` is the greatest mean of a system of the board, and `by` its name.
    """

    title: str
    f1: float | None
    gold: int = 0
    correct: int = 0
    predicted: int = 0
    precision: float | None = None
    recall: float | None = None
    training: int | None = None
    mean: float | None = None
    sd: float | None = None
    best: float | None = None
    by: str = ""

    @property
    def drawn(self) -> float | None:
        """F of the bar: the mean over the runs, if there are several."""
        return self.f1 if self.mean is None else self.mean

    @property
    def false_positives(self) -> int:
        return self.predicted - self.correct

    @property
    def false_negatives(self) -> int:
        return self.gold - self.correct


@dataclass(frozen=True)
class ClassTable:
    """Table of the classes of a setting."""

    title: str
    kind: str
    caption: str
    key: str
    order: str
    rows: list[ShownClass]
    anchor: str = "classes"
    training: bool = False
    counts: bool = True
    f: str = "F1"
    runs: int = 0
    best: str = ""
    orders: Sequence[tuple[str, str]] = ORDERS
    settings: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class WordRow:
    """Words of a type, or of all types together, and the γ given and used, strict and lenient.

    `means` are R1-P, R1-R and R1-F1 over the `documents` in which the type is defined.
    """

    title: str
    target: int
    predicted: int
    matched: int
    precision: float | None
    recall: float | None
    f1: float | None
    exact: float | None
    gammas: list[tuple[float, float]]
    documents: int | None = None
    means: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class WordTable:
    """Words by type, as WRF weights them."""

    key: str
    caption: str
    rows: list[WordRow]
    foot: str
    rescaled: bool
    own: list[str]
    mean_foot: str


@dataclass(frozen=True)
class ErrorChart:
    """Errors of an evaluation by kind: title, count, total."""

    title: str
    caption: str
    parts: list[tuple[str, int, int]]
    svg: SafeString


# ---- scores --------------------------------------------------------------------------------------
def sheet(evaluation: Disclosed) -> Sheet:
    """Return the scores of an evaluation, with notes on omissions."""
    menu = scored_of(evaluation.setting)
    scores = {score.measure: score for score in evaluation.scores if score.measure in menu}
    usual = submission_measures(evaluation.setting, scores)
    rest = [key for key in menu if key in scores and key not in usual]
    counts = evaluation.detail.get("counts", {})
    outside, missing = int(counts.get("left_out") or 0), int(counts.get("missing") or 0)
    notes = [f"{counted(outside, 'prediction')} outside the setting left out"] if outside else []
    notes += [f"{counted(missing, 'item')} without a prediction"] if missing else []
    notes = [point, *notes] if (point := _operating_point(evaluation)) else notes
    note = "; ".join([*notes, *evaluation.detail.get("notes", ())])
    shown, more = ([_shown(evaluation.setting, scores[key]) for key in keys] for keys in (usual, rest))
    values = {key: score.value for key, score in scores.items()}
    remarks = micro_above_macro_in_words(values, evaluation.setting)
    return Sheet(evaluation, shown, more, main_score(evaluation), note, remarks)


def micro_above_macro_in_words(values: Mapping[str, float | None], setting: Setting) -> list[str]:
    """Explain each micro F1 above macro precision and recall."""
    found = []
    for prefix in micro_above_macro(values):
        micro, *both = (
            f"{measure.title} {measured(values[key] or 0, measure)}"
            for key in (f"{prefix}micro_f1", f"{prefix}macro_precision", f"{prefix}macro_recall")
            if (measure := as_shown(setting, key))
        )
        found.append(f"{micro[:1].upper()}{micro[1:]} is above {' and '.join(both)}. {MICRO_ABOVE_MACRO}")
    return found


def _operating_point(evaluation: Disclosed) -> str:
    """Name the score from which averages, classes and errors count claims."""
    return operating_point(computation(evaluation.options))


def _shown(setting: Setting, score: ShownValue) -> ShownScore:
    measure = as_shown(setting, score.measure)
    if score.value is None:
        reason = score.reason if score.withheld else f"undefined: {score.reason}"
        return ShownScore(measure.title, "", measure.explains, reason)
    return ShownScore(measure.title, measured(score.value, measure), measure.explains)


def main_score(evaluation: Disclosed) -> str:
    """Main score, such as `micro F1 69.4`, or why it is undefined."""
    key = evaluation.setting.main
    measure = as_shown(evaluation.setting, key)
    score = next((s for s in evaluation.scores if s.measure == key), None)
    if score is None:
        return f"{measure.title} not computed for this form of predictions"
    if score.value is None:
        return f"{measure.title} {'' if score.withheld else 'undefined '}({score.reason})"
    return f"{measure.title} {measured(score.value, measure)}"


# ---- precision against recall --------------------------------------------------------------------
def points_of(evaluation: Disclosed) -> list[tuple[float, float]]:
    """Return (recall, precision) by falling score; empty without ranked claims."""
    curve = evaluation.detail.get("curve") or {}
    return list(zip(curve.get("recall", ()), curve.get("precision", ()), strict=True))


def draw(evaluation: Disclosed, *, beside: Disclosed | None = None, **how: Any) -> SafeString:
    values = evaluation.values
    tau = values.get("tau")
    label = "–" if tau is None else number(tau, digits=3)
    name, points = f"{CURVE}: {_where(evaluation)}", points_of(evaluation)
    held_out = points_of(beside) if beside else ()
    return charts.curve(points, name=name, best=_best_point(evaluation), tau=label, held_out=held_out, **how)


def _where(evaluation: Disclosed) -> str:
    """Name the setting of an evaluation, and its phase."""
    setting = evaluation.setting
    return f"{setting.title}, {setting.phase} phase" if setting.phase else str(setting.title)


def _best_point(evaluation: Disclosed) -> tuple[float, float] | None:
    """Recall and precision of the best F1."""
    values = evaluation.values
    recall, precision = values.get("recall_at_tau"), values.get("precision_at_tau")
    return None if recall is None or precision is None else (recall, precision)


def curve_figure(
    evaluation: Disclosed, *, svg_url: str, csv_url: str, beside: Disclosed | None = None
) -> Figure | None:
    """Curve of precision against recall, None without ranked claims; that on labels of a source beside."""
    points, best = points_of(evaluation), _best_point(evaluation)
    if not points:
        return None
    finding = "best F1 at recall {:.2f}, precision {:.2f}".format(*best) if best else lower_first(CURVE)
    last = len(points) - 1  # the table has points at even steps, ends included
    places = sorted({round(i * last / (TABLE_POINTS - 1)) for i in range(TABLE_POINTS)})
    caption = [f"Solid: {_where(evaluation)}; dotted: {_where(beside)}."] if beside else []
    if best:
        caption.append(f"The mark is at τ*. Averages, classes and errors are {_operating_point(evaluation)}.")
    wide = draw(evaluation, beside=beside, class_="wide-only")
    return Figure(
        title=f"{_where(evaluation)}: {finding}",
        drawing=wide + draw(evaluation, beside=beside, class_="narrow-only", narrow=True),
        name=CURVE,
        caption=" ".join(caption),
        table=DataTable(
            ("Recall", "Precision"),
            [(number(points[i][0], digits=3), number(points[i][1], digits=3)) for i in places],
        ),
        svg_url=svg_url,
        csv_url=csv_url,
    )


# ---- classes -------------------------------------------------------------------------------------
def class_family(
    evaluation: Disclosed, benchmark: Benchmark, *, relations: bool = False
) -> tuple[str, dict[str, str]]:
    """Return the family of the figures per class, and the titles of the averaged classes."""
    families = RELATION_CLASSES if relations else CLASS_FAMILIES[evaluation.setting.kind]
    part = RELATION if relations else ENTITY
    titles = label_titles(label for label in benchmark.labels if label.get("part", part) == part)
    if evaluation.options.get("include_negative") and benchmark.negative:
        titles[benchmark.negative] = benchmark.negative
    present = {row["family"] for row in evaluation.classes}
    return next((name for name in families if name in present), ""), titles


def class_rows(evaluation: Disclosed, benchmark: Benchmark, *, relations: bool = False) -> list[ShownClass]:
    """Return the figures of each averaged class; of joint benchmarks types or relations."""
    family, titles = class_family(evaluation, benchmark, relations=relations)
    return [
        ShownClass(
            titles[row["label"]],
            **{key: row[key] for key in CLASS_FIGURES if key in row},
            training=benchmark.training_counts.get(row["label"]),
        )
        for row in evaluation.classes
        if row["label"] in titles and row["family"] == family
    ]


def class_tables(
    evaluations: Sequence[Disclosed], benchmark: Benchmark, *, key: str = "", order: str = ""
) -> list[ClassTable]:
    """Build the class tables of the requested setting, or the first: types apart from relations."""
    with_rows = {e.setting.key: e for e in evaluations if e.classes}
    if not with_rows:
        return []
    evaluation = with_rows.get(key) or next(iter(with_rows.values()))
    settings = [(key, e.setting.title) for key, e in with_rows.items()]
    kinds = {
        Benchmark.Task.RELATIONS: [("Relation", "classes", False)],
        Benchmark.Task.ENTITIES: [("Type", "classes", False)],
        Benchmark.Task.JOINT: [("Relation", "relations", True), ("Type", "classes", False)],
    }[Benchmark.Task(benchmark.task)]
    tables = [
        _class_table(evaluation, class_rows(evaluation, benchmark, relations=relations), kind, anchor, order)
        for kind, anchor, relations in kinds
    ]
    training = bool(benchmark.training_counts)
    return [replace(table, training=training, settings=settings) for table in tables if table.rows]


def _class_table(
    evaluation: Disclosed, rows: list[ShownClass], kind: str, anchor: str, order: str
) -> ClassTable:
    by_order = dict(ORDERS)
    order = order if order in by_order else "gold"
    strict = "strict" if anchor == "relations" and evaluation.options["form"] == "spans" else ""
    parts = (evaluation.setting.title, strict, _operating_point(evaluation), by_order[order].lower())
    caption, counts = ", ".join(filter(None, parts)), not evaluation.policy.hidden
    shown = [row for row in _ordered(rows, order) if row.gold or row.predicted or not counts]
    if len(shown) < len(rows):
        caption += f"; {count(len(rows) - len(shown))} without gold and predictions not shown"
    return ClassTable(
        f"{kind} by {kind.lower()}",
        kind,
        caption,
        evaluation.setting.key,
        order,
        shown,
        anchor,
        counts=counts,
        f=f_title(evaluation.options.get("beta", 1)),
    )


def word_tables(evaluations: Sequence[Disclosed], benchmark: Benchmark) -> list[WordTable]:
    """Build a table of words by type for each setting that shows them."""
    return [
        _word_table(evaluation, benchmark, rows)
        for evaluation in evaluations
        if not evaluation.policy.hidden
        and (rows := [row for row in evaluation.classes if row["family"] == "wrf"])
    ]


def _word_table(evaluation: Disclosed, benchmark: Benchmark, rows: list[dict[str, Any]]) -> WordTable:
    """Build the table of R1 figures by type, the combined class last, and of their means."""
    titles = label_titles(benchmark.labels) | {COMBINED_WORDS: "All types together"}
    exact = {row["label"]: row["f1"] for row in evaluation.classes if row["family"] == "conll"}
    given = [_gammas(len(rows), together) for together in (1, 2)]
    totals = [sum(g for g, row in zip(of, rows, strict=True) if row["f1"] is not None) for of in given]
    means = {row["label"]: row for row in evaluation.classes if row["family"] == "wrf_mean"}
    shown = [
        WordRow(
            titles.get(row["label"], row["label"]),
            row["gold"],
            row["predicted"],
            row["correct"],
            row["precision"],
            row["recall"],
            row["f1"],
            exact.get(row["label"]),
            [
                (of[at], of[at] / total if row["f1"] is not None else 0.0)
                for of, total in zip(given, totals, strict=True)
            ],
            *_means(means.get(row["label"])),
        )
        for at, row in enumerate(rows)
    ]
    scores = {score.measure: _shown(evaluation.setting, score) for score in evaluation.scores}

    def named(*keys: str, before: str = "") -> str:
        parts = (scores[key] for key in keys if key in scores)
        return ", ".join(f"{before}{part.title} {part.text or DASH}" for part in parts)

    foot = ", ".join(
        filter(None, (named("wrf_strict", "wrf_lenient"), named(*BESIDE_WORDS, before="CoNLL ")))
    )
    own = [
        f"{measure['title']} {scores[measure['key']].text or DASH}: {measure['formula']}"
        for measure in benchmark.contributed
        if measure["base"] == WORDS and measure["key"] in scores
    ]
    return WordTable(
        evaluation.setting.key,
        evaluation.setting.title,
        shown,
        foot,
        any(row.f1 is None for row in shown),
        own,
        named("wrf_strict_mean", "wrf_lenient_mean"),
    )


def _means(row: dict[str, Any] | None) -> tuple[int | None, tuple[float | None, ...]]:
    """Return the documents in which a type is defined, and its means over them."""
    if row is None:
        return None, ()
    documents = row["gold"] + row["predicted"] - row["correct"]
    return documents, (row["precision"], row["recall"], row["f1"])


def _gammas(rows: int, together: int) -> list[float]:
    """Return γ of each type, and of all together `together` times as much."""
    shares = [1] * (rows - 1) + [together] if rows > 1 else [1]
    return [share / sum(shares) for share in shares]


def _ordered(rows: Sequence[ShownClass], order: str) -> list[ShownClass]:
    if order == "f1":
        return sorted(rows, key=lambda row: (row.f1 is None, row.f1 or 0.0, -row.gold, row.title))
    if order == "lost":
        return sorted(rows, key=lambda row: (-row.false_negatives - row.false_positives, row.title))
    return sorted(rows, key=lambda row: (-row.gold, row.title))


def error_charts(evaluation: Disclosed, benchmark: Benchmark) -> list[ErrorChart]:
    """Errors by kind, with the classes that have most; those of relations apart."""
    relations = _error_chart(
        evaluation, "Wrong relations by kind", "wrong relation", "wrong_relations", RELATION_ERRORS
    )
    rows = _ordered(class_rows(evaluation, benchmark), "lost")[:3]
    most = listed([row.title for row in rows if row.false_negatives + row.false_positives])
    parts = (_operating_point(evaluation), most and f"most in {most}")
    title = "Wrong entities by kind" if relations else "Errors by kind"
    entities = _error_chart(evaluation, title, "error", "lost", ERRORS, parts)
    return [chart for chart in (relations, entities) if chart]


def _error_chart(
    evaluation: Disclosed,
    title: str,
    noun: str,
    key: str,
    titles: Mapping[str, str],
    remarks: Sequence[str] = (),
) -> ErrorChart | None:
    counts = {kind: n for kind, n in evaluation.detail.get(key, {}).items() if n}
    total = sum(counts.values())
    if not total:
        return None
    parts = [(titles.get(kind, kind), n) for kind, n in counts.items()]
    caption = ", ".join(filter(None, (f"{counted(total, noun)} on “{evaluation.setting.title}”", *remarks)))
    rows = [(name, n, total) for name, n in parts]
    return ErrorChart(title, caption, rows, charts.parts_bar(parts))


# ---- provenance ----------------------------------------------------------------------------------
def provenance(submission: Submission, evaluations: Sequence[Disclosed]) -> list[tuple[str, str, bool]]:
    """Return names and values of all inputs.

    True marks digests and names to copy.
    """
    filename = [("File name", submission.filename, True)] if submission.filename else []
    facts = [("Predictions" if submission.model_id else "File", f"sha256 {submission.file_id}", True)]
    if submission.model_id:
        facts = [("Model", f"sha256 {submission.model_id}", True), *filename, *facts]
    else:
        facts += filename
    if submission.format == npy.FORMAT.key:
        facts.append(
            ("Columns", ", ".join(submission.columns) or "labels in the order of the benchmark", False)
        )
    facts += [(counted(n, "warning"), message, False) for n, message in warnings_of(submission.counts)]
    by_gold: dict[str, list[str]] = {}
    for evaluation in evaluations:
        version = gold_digest.version_of(evaluation.setting, evaluation.gold_sha256)
        part = f", items of {version.only}" if version.only else ""
        gold = f"{version.test_set}{part}, {version.test_set.origin}, version {version.number}"
        digest = gold_digest.in_words(gold_digest.of_version(version))
        by_gold.setdefault(f"{gold}: {digest}", []).append(evaluation.setting.title)
    facts += [("Gold", f"{gold} ({'; '.join(titles)})", True) for gold, titles in by_gold.items()]
    if evaluations:
        facts += _scoring(evaluations, submission)
    tags = [
        f"{key}: {value}"
        for key, value in submission.system.declared.items()
        if value not in (False, None, "")
    ]
    return facts + ([("Tags", ", ".join(tags), False)] if tags else [])


def warnings_of(counts: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return number and text of each kind of warning about a file."""
    return [(n, KINDS[code].message) for code, n in counts.items() if code in KINDS and n]


def _scoring(evaluations: Sequence[Disclosed], submission: Submission) -> list[tuple[str, str, bool]]:
    """Return how the scores were computed; settings are named where they differ."""
    settings: dict[tuple[str, str], list[str]] = {}
    for evaluation in evaluations:
        libraries = [f"{name} {version}" for name, version in evaluation.libraries.items()]
        words = in_words(shown_scores.computation_of(evaluation))
        for row in (*words, ("Libraries", ", ".join(libraries))):
            settings.setdefault(row, []).append(evaluation.setting.title)
    facts = [
        (title, value if len(titles) == len(evaluations) else f"{value} ({'; '.join(titles)})", False)
        for (title, value), titles in settings.items()
        if title != "Gold"
    ]
    if submission.job:
        facts.append(("Attempt", str(submission.job.attempt), False))
    return facts
