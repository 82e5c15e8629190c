"""Models of the app: one module per subject."""

from annotation.models.item import Batch, Item, ItemCount, ItemQuerySet, SourceLabels
from annotation.models.oversight import (
    AgreementReport,
    KnownAnswer,
    Mark,
    Oversight,
    ProjectFigures,
    Suggestion,
)
from annotation.models.project import (
    CandidateChoice,
    GuidelineVersion,
    Member,
    OntologyLabel,
    OntologyStep,
    PlanDraft,
    Policy,
    Project,
)
from annotation.models.release import Acceptance, Card, Download, MadeExport, Publication, PublicationReader
from annotation.models.voting import Adjudication, Annotator, Answer, LastAnswer, Lease, SecondReading, Vote
from annotation.testset import TestSet, TestSetRow

__all__ = [
    "Acceptance",
    "Adjudication",
    "AgreementReport",
    "Annotator",
    "Answer",
    "Batch",
    "CandidateChoice",
    "Card",
    "Download",
    "GuidelineVersion",
    "Item",
    "ItemCount",
    "ItemQuerySet",
    "KnownAnswer",
    "LastAnswer",
    "Lease",
    "MadeExport",
    "Mark",
    "Member",
    "OntologyLabel",
    "OntologyStep",
    "Oversight",
    "PlanDraft",
    "Policy",
    "Project",
    "ProjectFigures",
    "Publication",
    "PublicationReader",
    "SecondReading",
    "SourceLabels",
    "Suggestion",
    "TestSet",
    "TestSetRow",
    "Vote",
]
