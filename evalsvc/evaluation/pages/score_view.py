"""The figures of one scored submission as its page shows them: scores, curve, classes, losses, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.core.web.formatting import count, counted, listed, measured, number
from evalsvc.evaluation.measures.menu import MENU, as_shown, submission_measures
from evalsvc.evaluation.models import Benchmark, Evaluation, Score, Setting, Submission
from evalsvc.evaluation.pages import charts, curve_charts

TABLE_POINTS = 11
ORDERS = (("gold", "Frequent first"), ("f1", "Lowest F1 first"), ("lost", "Most lost first"))
CLASS_FAMILIES: dict[str, tuple[str, ...]] = {
    Setting.Unit.SENTENCE: ("classification",),
    Setting.Unit.BAG: ("bags", "classification"),
    Setting.Unit.DOCUMENT: ("conll",),
}
ERRORS = {
    "missed": "missed: in the gold, not said",
    "spurious": "spurious: said, not in the gold",
    "confused": "wrong label: both say one, not the same",
    "wrong type": "right bounds, wrong type",
    "wrong bounds": "right type, wrong bounds",
    "wrong type and bounds": "overlap with wrong type and bounds",
}


@dataclass(frozen=True)
class ShownScore:
    title: str
    text: str
    explains: str
    reason: str = ""


@dataclass(frozen=True)
class Sheet:
    """One setting's scores: the usual ones, and the rest."""

    evaluation: Evaluation
    shown: list[ShownScore]
    more: list[ShownScore]
    main: str
    note: str = ""

    @property
    def setting(self) -> Any:
        return self.evaluation.setting


@dataclass(frozen=True)
class ClassRow:
    title: str
    gold: int
    right: int
    predicted: int
    precision: float | None
    recall: float | None
    f1: float | None
    training: int | None = None

    @property
    def spurious(self) -> int:
        return self.predicted - self.right

    @property
    def missed(self) -> int:
        return self.gold - self.right


@dataclass(frozen=True)
class ClassTable:
    title: str
    kind: str
    told: str
    key: str
    order: str
    rows: list[ClassRow]
    training: bool = False
    orders: Sequence[tuple[str, str]] = ORDERS
    settings: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class CurveChart:
    key: str
    setting: str
    finding: str
    svg: SafeString
    table: list[tuple[str, str]]


@dataclass(frozen=True)
class Lost:
    told: str
    parts: list[tuple[str, int, int]]
    svg: SafeString


# ---- scores --------------------------------------------------------------------------------------
def sheet(evaluation: Evaluation) -> Sheet:
    scores = {score.measure: score for score in evaluation.scores.all() if score.measure in MENU}
    usual = submission_measures(evaluation.setting, scores)
    rest = [key for key in MENU if key in scores and key not in usual]
    note = "; ".join([*_counts(evaluation), *evaluation.detail.get("notes", ())])
    shown, more = ([_shown(evaluation.setting, scores[key]) for key in keys] for keys in (usual, rest))
    return Sheet(evaluation, shown, more, main_score(evaluation), note)


def _counts(evaluation: Evaluation) -> list[str]:
    """What of the file did not enter, and what of the gold was not answered."""
    counts = evaluation.detail.get("counts", {})
    outside, missing = int(counts.get("left_out") or 0), int(counts.get("missing") or 0)
    told = [f"{counted(outside, 'claim')} outside it left out"] if outside else []
    return told + ([f"{counted(missing, 'item')} without an answer"] if missing else [])


def _shown(setting: Setting, score: Score) -> ShownScore:
    measure = as_shown(setting, score.measure)
    if score.value is None:
        return ShownScore(measure.title, "", measure.explains, f"undefined: {score.reason}")
    return ShownScore(measure.title, measured(score.value, measure), measure.explains)


def main_score(evaluation: Evaluation) -> str:
    """`micro F1 69.4`, or why there is none."""
    key = evaluation.setting.main
    score = next((s for s in evaluation.scores.all() if s.measure == key), None)
    if score is None:
        return f"{MENU[key].title} not computed for this form of predictions"
    if score.value is None:
        return f"{MENU[key].title} undefined ({score.reason})"
    return f"{MENU[key].title} {measured(score.value, as_shown(evaluation.setting, key))}"


# ---- precision against recall --------------------------------------------------------------------
def points_of(evaluation: Evaluation) -> list[tuple[float, float]]:
    """(recall, precision) in the order of falling score; empty where nothing is ranked."""
    curve = evaluation.detail.get("curve") or {}
    return list(zip(curve.get("recall", ()), curve.get("precision", ()), strict=True))


def values_of(evaluation: Evaluation) -> Mapping[str, float | None]:
    return {score.measure: score.value for score in evaluation.scores.all()}


def draw(evaluation: Evaluation, **how: Any) -> SafeString:
    values = values_of(evaluation)
    recall, precision = values.get("recall_at_tau"), values.get("precision_at_tau")
    best = None if recall is None or precision is None else (recall, precision)
    tau = values.get("tau")
    told = "–" if tau is None else number(tau, digits=3)
    return curve_charts.curve(points_of(evaluation), best=best, tau=told, **how)


def curve_chart(evaluation: Evaluation) -> CurveChart | None:
    points = points_of(evaluation)
    if not points:
        return None
    values = values_of(evaluation)
    recall, precision = values.get("recall_at_tau"), values.get("precision_at_tau")
    finding = "Precision against recall"
    if recall is not None and precision is not None:
        finding = f"The best F1 lies at recall {recall:.2f}, precision {precision:.2f}"
    setting = evaluation.setting
    both = draw(evaluation, class_="wide-only") + draw(evaluation, class_="narrow-only", narrow=True)
    return CurveChart(setting.key, setting.title, finding, both, _sampled(points))


def _sampled(points: Sequence[tuple[float, float]]) -> list[tuple[str, str]]:
    """The curve at even steps of its points, ends included: enough to read it without the drawing."""
    last = len(points) - 1
    places = sorted({round(i * last / (TABLE_POINTS - 1)) for i in range(TABLE_POINTS)})
    return [(number(points[i][0], digits=3), number(points[i][1], digits=3)) for i in places]


# ---- classes -------------------------------------------------------------------------------------
def class_rows(evaluation: Evaluation, benchmark: Benchmark) -> list[ClassRow]:
    """Figures per class of the unit's own family, the negative class left out."""
    titles = {label["name"]: label.get("title") or label["name"] for label in benchmark.labels}
    return [
        ClassRow(
            titles[row["label"]],
            row["gold"],
            row["correct"],
            row["predicted"],
            row["precision"],
            row["recall"],
            row["f1"],
            benchmark.training_counts.get(row["label"]),
        )
        for row in evaluation.classes
        if row["label"] in titles and row["family"] == _family(evaluation)
    ]


def _family(evaluation: Evaluation) -> str:
    """Of the families that have figures per class, the one that belongs to the unit."""
    present = {row["family"] for row in evaluation.classes}
    return next((name for name in CLASS_FAMILIES[evaluation.setting.unit] if name in present), "")


def class_table(
    evaluations: Sequence[Evaluation], benchmark: Benchmark, *, key: str = "", order: str = ""
) -> ClassTable | None:
    """The classes of the setting asked for, else of the first that has any."""
    with_rows = {e.setting.key: (e, class_rows(e, benchmark)) for e in evaluations if e.classes}
    if not with_rows:
        return None
    key = key if key in with_rows else next(iter(with_rows))
    order = order if order in dict(ORDERS) else "gold"
    evaluation, rows = with_rows[key]
    kind = "Relation" if benchmark.task == Benchmark.Task.RELATIONS else "Type"
    settings = [(k, e.setting.title) for k, (e, _) in with_rows.items()]
    told = f"{evaluation.setting.title}, {dict(ORDERS)[order].lower()}"
    shown = [row for row in _ordered(rows, order) if row.gold or row.predicted]
    if len(shown) < len(rows):
        told += f"; {count(len(rows) - len(shown))} without gold and claims not shown"
    known = bool(benchmark.training_counts)
    return ClassTable(f"{kind} by {kind.lower()}", kind, told, key, order, shown, known, settings=settings)


def _ordered(rows: Sequence[ClassRow], order: str) -> list[ClassRow]:
    if order == "f1":
        return sorted(rows, key=lambda row: (row.f1 is None, row.f1 or 0.0, -row.gold, row.title))
    if order == "lost":
        return sorted(rows, key=lambda row: (-row.missed - row.spurious, row.title))
    return sorted(rows, key=lambda row: (-row.gold, row.title))


def lost(evaluation: Evaluation, benchmark: Benchmark) -> Lost | None:
    """What kind of errors there are, and the classes that have most."""
    found = {key: n for key, n in evaluation.detail.get("lost", {}).items() if n}
    whole = sum(found.values())
    if not whole:
        return None
    parts = [(ERRORS.get(key, key), n) for key, n in found.items()]
    rows = _ordered(class_rows(evaluation, benchmark), "lost")[:3]
    most = listed([row.title for row in rows if row.missed + row.spurious])
    told = f"{counted(whole, 'error')} on “{evaluation.setting.title}”" + (
        f"; most in {most}" if most else ""
    )
    return Lost(told, [(title, n, whole) for title, n in parts], charts.parts_bar(parts))


# ---- made from -----------------------------------------------------------------------------------
def made_from(submission: Submission, evaluations: Sequence[Evaluation]) -> list[tuple[str, str, bool]]:
    """Name, value, and whether the value is to be copied."""
    named = [("Named", submission.filename, True)] if submission.filename else []
    facts = [("Predictions" if submission.model_id else "File", f"sha256 {submission.file_id}", True)]
    if submission.model_id:
        facts = [("Model", f"sha256 {submission.model_id}", True), *named, *facts]
    else:
        facts += named
    by_gold: dict[str, list[str]] = {}
    for evaluation in evaluations:
        gold = _gold(evaluation)
        by_gold.setdefault(f"{gold}: sha256 {evaluation.gold_sha256}", []).append(evaluation.setting.title)
    facts += [("Gold", f"{gold} ({'; '.join(titles)})", True) for gold, titles in by_gold.items()]
    if evaluations:
        facts += _scoring(evaluations[0], submission)
    tags = [
        f"{key}: {value}" for key, value in submission.system.tags.items() if value not in (False, None, "")
    ]
    return facts + ([("Declared", ", ".join(tags), False)] if tags else [])


def _gold(evaluation: Evaluation) -> str:
    """The test set by name: that of the version which had this very gold."""
    setting = evaluation.setting
    versions = setting.versions.filter(gold_sha256=evaluation.gold_sha256).select_related("test_set")
    held = versions.order_by("-number").first()
    test_set = held.test_set if held else setting.test_set
    return f"{test_set}, {test_set.origin}"


def _scoring(evaluation: Evaluation, submission: Submission) -> list[tuple[str, str, bool]]:
    long = {"labels", "only", "task", "unit"}
    options = [
        f"{key} {_word(value)}"
        for key, value in sorted(evaluation.options.items())
        if key not in long and value != ""
    ]
    facts = [
        ("Scorer", evaluation.scorer, False),
        ("Options", ", ".join(options), False),
        (
            "Libraries",
            ", ".join(f"{name} {version}" for name, version in evaluation.libraries.items()),
            False,
        ),
    ]
    if submission.job:
        facts.append(("Attempt", f"{submission.job.attempt}, worker {submission.job.worker or '–'}", False))
    return facts


def _word(value: Any) -> str:
    return (
        "yes"
        if value is True
        else "no"
        if value is False
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
