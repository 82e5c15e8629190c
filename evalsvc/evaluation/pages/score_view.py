"""Figures of a scored submission: scores, curve, words by type, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from django.utils.safestring import SafeString

from evalsvc.core.formats import npy
from evalsvc.core.formats.problem_kinds import KINDS
from evalsvc.core.web.figures import DataTable, Figure
from evalsvc.core.web.formatting import counted, measured, number
from evalsvc.core.web.templatetags.formatting import lower_first
from evalsvc.evaluation import shown_scores
from evalsvc.evaluation.disclosure import gold_digest
from evalsvc.evaluation.disclosure.disclosed import Disclosed
from evalsvc.evaluation.disclosure.policy import ShownValue
from evalsvc.evaluation.measures.computation import in_words
from evalsvc.evaluation.measures.families import (
    MICRO_ABOVE_MACRO,
    micro_above_macro,
)
from evalsvc.evaluation.measures.menu import Measure, as_shown, scored_of, submission_measures
from evalsvc.evaluation.models import Setting, Submission
from evalsvc.evaluation.pages import charts
from evalsvc.evaluation.pages.class_view import operating_point_of

TABLE_POINTS = 11
CURVE = "Precision against recall"


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


MACRO = {"classification": "macro_f1", "conll": "conll_macro_f1"}
"""Macro F of the family whose counts tell how far one example moves it."""


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
    notes = [point, *notes] if (point := operating_point_of(evaluation)) else notes
    note = "; ".join([*notes, *evaluation.detail.get("notes", ())])
    shown, more = ([shown_score(evaluation.setting, scores[key]) for key in keys] for keys in (usual, rest))
    values = {key: score.value for key, score in scores.items()}
    remarks = [*micro_above_macro_in_words(values, evaluation.setting), *macro_flip_in_words([evaluation])]
    return Sheet(evaluation, shown, more, main_score(evaluation), note, remarks)


def micro_above_macro_in_words(values: Mapping[str, float | None], setting: Setting) -> list[str]:
    """Explain each micro F1 above macro precision and recall."""
    found = []
    for prefix in micro_above_macro(values):
        figures = [
            (measure.title, measured(values[key] or 0, measure))
            for key in (f"{prefix}micro_f1", f"{prefix}macro_precision", f"{prefix}macro_recall")
            if (measure := as_shown(setting, key))
        ]
        if figures[0][1] in {figure for _, figure in figures[1:]}:
            continue  # above by digits that are not shown
        micro, *both = map(" ".join, figures)
        found.append(f"{micro[:1].upper()}{micro[1:]} is above {' and '.join(both)}. {MICRO_ABOVE_MACRO}")
    return found


def macro_flip_in_words(runs: Sequence[Disclosed]) -> list[str]:
    """Say how far one correct answer more or less in the rarest class moves macro F of one of the runs."""
    flips = ((each.detail.get("counts", {}).get("macro_flip") or 0.0, each) for each in runs)
    flip, evaluation = max(flips, key=itemgetter(0))
    family = next((name for name in MACRO if any(row["family"] == name for row in evaluation.classes)), "")
    values = evaluation.values
    if evaluation.policy.hidden or not flip or values.get(MACRO.get(family, "")) is None:
        return []
    measure = as_shown(evaluation.setting, MACRO[family])
    left_out = "" if evaluation.options.get("include_negative") else evaluation.setting.benchmark.negative
    gold = [row["gold"] for row in evaluation.classes if row["family"] == family and row["label"] != left_out]
    rarest = min(filter(None, gold))
    return [flip_sentence(flip, measure, of=f", of {counted(rarest, 'example')},")]


def flip_sentence(flip: float, measure: Measure, *, of: str = "") -> str:
    """State by how much the rarest class, described by `of`, moves a macro F."""
    answer, points = f"One correct answer more or less in the rarest class{of}", measured(flip, measure)
    return f"{answer} moves {measure.title} of a run by up to {points} points, all else equal."


def shown_score(setting: Setting, score: ShownValue) -> ShownScore:
    measure = as_shown(setting, score.measure)
    if score.value is None:
        reason = score.reason if score.withheld else f"undefined: {score.reason}"
        return ShownScore(measure.title, "", measure.explains, reason)
    return ShownScore(measure.title, measured(score.value, measure), measure.explains)


def main_score(evaluation: Disclosed) -> str:
    """Main score, such as `micro F1 69.4`, that it is withheld, or why it is undefined."""
    key = evaluation.setting.main
    measure = as_shown(evaluation.setting, key)
    score = next((s for s in evaluation.scores if s.measure == key), None)
    if score is None:
        return f"{measure.title} not computed for this form of predictions"
    if score.withheld:  # the notes of the page say why, and until when
        return f"{measure.title} withheld"
    if score.value is None:
        return f"{measure.title} undefined ({score.reason})"
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
        counted_at = operating_point_of(evaluation)
        caption.append(f"The mark is at τ*. Averages, classes and errors are {counted_at}.")
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
    secret = gold_digest.SecretGold()
    for evaluation in evaluations:
        known = evaluation.policy.version
        version = known or gold_digest.version_of(evaluation.setting, evaluation.gold_sha256)
        part = f", items of {version.only}" if version.only else ""
        gold = f"{version.test_set}{part}, {version.test_set.origin}, version {version.number}"
        digest = gold_digest.in_words(gold_digest.of_version(version, secret))
        by_gold.setdefault(f"{gold}: {digest}", []).append(evaluation.setting.title)
    facts += [("Gold", f"{gold} ({'; '.join(titles)})", True) for gold, titles in by_gold.items()]
    if evaluations:
        facts += _scoring(evaluations, submission)
    tags = [f"{key}: {value}" for key, value in submission.declared.items() if value not in (False, None, "")]
    return facts + ([("Declared by the team", ", ".join(tags), False)] if tags else [])


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
