"""Models of the app: one module per subject."""

from evalsvc.evaluation.models.benchmark import (
    Announcement,
    Benchmark,
    ContributedMeasure,
    Entrant,
    Organiser,
    SavedView,
    Terms,
)
from evalsvc.evaluation.models.board import (
    BoardTests,
    ComparisonPart,
    MeasureTests,
    ReportedSystem,
    StoredBoard,
    StoredColumn,
    StoredComparison,
)
from evalsvc.evaluation.models.evaluation import (
    Evaluation,
    EvaluationClaims,
    EvaluationOutcomes,
    PredictionFile,
    Score,
)
from evalsvc.evaluation.models.setting import Setting, SettingVersion
from evalsvc.evaluation.models.submission import (
    LINKS,
    FinalEntry,
    ModelHost,
    NearDuplicate,
    Refusal,
    StoredBytes,
    Submission,
    System,
    by_name,
)

__all__ = [
    "LINKS",
    "Announcement",
    "Benchmark",
    "BoardTests",
    "ComparisonPart",
    "ContributedMeasure",
    "Entrant",
    "Evaluation",
    "EvaluationClaims",
    "EvaluationOutcomes",
    "FinalEntry",
    "MeasureTests",
    "ModelHost",
    "NearDuplicate",
    "Organiser",
    "PredictionFile",
    "Refusal",
    "ReportedSystem",
    "SavedView",
    "Score",
    "Setting",
    "SettingVersion",
    "StoredBoard",
    "StoredBytes",
    "StoredColumn",
    "StoredComparison",
    "Submission",
    "System",
    "Terms",
    "by_name",
]
