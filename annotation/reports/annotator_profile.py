"""How one annotator works: agreement with outcomes and others, labels, remarks."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotation.adjudication.item_filters import REMARKS
from annotation.models import Annotator, Vote
from annotation.reports import agreement, project_stats
from annotation.reports.project_stats import AnnotatorStats
from annotation.reports.vote_figures import VoteFigures, figures_of
from annotation.roles import CURATOR, require
from evalsvc.core.accounts.models import User

Z = 1.959964


@dataclass(frozen=True, slots=True)
class LabelUse:
    """How often a label was chosen, and was in the outcome of the same items."""

    name: str
    chosen: int
    expected: int
    both: int

    @property
    def surplus(self) -> int:
        """Times chosen against the outcome, less times it was missed."""
        return self.chosen - self.expected

    @property
    def differs(self) -> bool:
        """True if a sign test at 5 % rejects that both errors are equally likely."""
        return abs(self.surplus) - 1 > Z * sqrt(self.chosen + self.expected - 2 * self.both)


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Agreement with one other annotator, as the latest report has it."""

    name: str
    common: int
    observed: float
    value: float | None


@dataclass(frozen=True, slots=True)
class AnnotatorProfile:
    """Figures of one annotator, beside those of `AnnotatorStats`.

    `marked` spans and relations, those `expected` by the outcomes of these texts, and those `right` are of
    projects in which people mark spans.
    """

    stats: AnnotatorStats
    answers: int
    na: int
    decided: int
    equal: int
    marked: int
    expected: int
    right: int
    overused: list[LabelUse]
    underused: list[LabelUse]
    measure: str
    pairs: list[PairAgreement]


def profile(annotator: Annotator, *, for_user: User, figures: VoteFigures | None = None) -> AnnotatorProfile:
    """Return the figures of one annotator, for curators."""
    project = annotator.project
    require(project, for_user, CURATOR)
    figures = figures or figures_of(project)
    everybody = project_stats.by_annotator(project, for_user=for_user, figures=figures)
    (answers, na, decided, equal), by_label = figures["profiles"].get(annotator.pk) or ([0] * 4, {})
    marked, expected, right = figures["marks"].get(annotator.pk) or (0, 0, 0)
    uses = [use for use in (LabelUse(name, *row) for name, row in by_label.items()) if use.differs]
    uses.sort(key=lambda use: (-abs(use.surplus), use.name))
    return AnnotatorProfile(
        next(row for row in everybody if row.annotator == annotator.pk),
        answers,
        na,
        decided,
        equal,
        marked,
        expected,
        right,
        overused=[use for use in uses if use.surplus > 0],
        underused=[use for use in uses if use.surplus < 0],
        **_pairs(annotator, for_user),
    )


def _pairs(annotator: Annotator, user: User) -> dict[str, Any]:
    report = agreement.latest_done(annotator.project, for_user=user)
    figures = agreement.figures_for(report, user, display=True) if report else {}
    names = [row["name"] for row in report.figures["people"]] if report and figures else []
    if annotator.name not in names:
        return {"measure": "", "pairs": []}
    own, shown = names.index(annotator.name), figures["annotators"]
    rows = [row for row in figures["pairs"] if own in (row["first"], row["second"])]
    pairs = [
        PairAgreement(
            shown[row["second"] if row["first"] == own else row["first"]],
            row["common"],
            row["observed"],
            row["value"],
        )
        for row in rows
    ]
    return {
        "measure": rows[0]["measure"] if rows else "",
        "pairs": sorted(pairs, key=lambda pair: (-pair.common, pair.name)),
    }


def remarks_of(annotator: Annotator) -> QuerySet[Vote]:
    """Return the annotator's current votes with a comment or flag, newest first."""
    later = Vote.objects.filter(item=OuterRef("item"), annotator=annotator, pk__gt=OuterRef("pk"))
    votes = Vote.objects.filter(REMARKS["any"], ~Exists(later), annotator=annotator, batch=None)
    return votes.filter(item__use="").select_related("item").order_by("-pk")
