"""What stands around the boards and projects of a filled database: teams that take part, logs, releases."""

from __future__ import annotations

from django.db.models import Model
from django.utils import timezone

from annotation.models import Batch, Download, OntologyStep, Project, Publication
from annotation.testset import Companion, Release, TestSet
from bench.pages.copies import Filler
from evalsvc.core.accounts.models import Team, User
from evalsvc.core.activity.models import LogEntry, record
from evalsvc.evaluation.benchmarks import contributed, entrants
from evalsvc.evaluation.models import (
    Announcement,
    Benchmark,
    Entrant,
    Organiser,
    ReportedSystem,
    Setting,
)
from tests.cast.basics import person

ENTRIES_PER_BOARD, BATCHES_PER_BOARD = 20, 2
FIGURES = {"micro_f1": ["61.2", "0.4"]}


def surround(filler: Filler) -> None:
    """Fill what pages list beside runs, sentences and votes."""
    big, huge = Benchmark.objects.get(slug="big"), Project.objects.get(slug="huge")
    _shared_task(filler, big)
    _project(filler, huge)
    _sets(filler, TestSet.objects.get(slug="set-1"))


def _copies(filler: Filler, row: Model, most: int, **changed: str) -> None:
    filler.copy(row, filler.numbers(most), **changed)


def _shared_task(filler: Filler, big: Benchmark) -> None:
    olga, boards = person("olga"), filler.size.boards
    terms = entrants.set_terms(big, "Predict alone.", by=olga)
    kelpie = Team.objects.get(slug="kelpie")
    entry = Entrant.objects.create(
        benchmark=big, team=kelpie, by=olga, terms=terms, accepted_at=timezone.now(), state="approved"
    )
    others = f"(SELECT id AS team FROM {Team._meta.db_table} WHERE slug LIKE 'team-%') others"
    filler.copy(entry, others, team_id="others.team")
    news = Announcement.objects.create(benchmark=big, title="News", text="The test set is open.", by=olga)
    _copies(filler, news, boards, title="'News ' || n")
    setting = Setting.objects.get(benchmark=big, key="k0")
    paper = ReportedSystem.objects.create(
        setting=setting, system="Paper", paper="Doe 2024", table="2", figures=FIGURES, tests=[], by=olga
    )
    _copies(filler, paper, boards // 4, system="'Paper ' || n")
    parts = {"base": "classification", "labels": ["born_in"]}
    measure = contributed.propose(big, name="own", title="Own", composition=parts, by=olga)
    _copies(filler, measure, boards // 4, name="'own-' || n", state="'declined'")
    member = Organiser.objects.create(benchmark=big, user=person("viewer"), role="viewer")
    people = f"(SELECT id AS person FROM {User._meta.db_table} WHERE username LIKE 'user%') others"
    filler.copy(member, people, user_id="others.person")
    record(big, "closing", by=olga, before="none", after="tomorrow")
    logged = LogEntry.objects.filter(area="benchmark", subject=big.pk).latest("pk")
    _copies(filler, logged, boards * ENTRIES_PER_BOARD)


def _project(filler: Filler, huge: Project) -> None:
    boards, by = filler.size.boards, huge.created_by
    batch = Batch.objects.filter(project=huge).earliest("pk")
    _copies(filler, batch, boards * BATCHES_PER_BOARD, filename="'part-' || n || '.jsonl'")
    record(huge, "guideline", by=by, before="short", after="long")
    logged = LogEntry.objects.filter(area="project", subject=huge.pk).latest("pk")
    _copies(filler, logged, boards * ENTRIES_PER_BOARD)
    step = OntologyStep.objects.create(
        project=huge, number=1, operation="rename", sources=["old"], target="r0", by=by
    )
    sources = filler.words.json("""'["old ' || n || '"]'""")
    _copies(filler, step, boards, number="n + 1", sources=sources)


def _sets(filler: Filler, first: TestSet) -> None:
    boards, olga = filler.size.boards, person("olga")
    publication = Publication.objects.create(
        test_set=first, access="terms", with_gold=True, terms="Cite us.", by=olga
    )
    sets = (
        f"(SELECT id AS test_set FROM {TestSet._meta.db_table} WHERE slug LIKE 'set-%' AND slug <> 'set-1')"
    )
    filler.copy(publication, f"{sets} others", test_set_id="others.test_set")
    download = Download.objects.create(test_set=first, user=olga, what="release")
    _copies(filler, download, boards * ENTRIES_PER_BOARD)
    released = Release.objects.create(test_set=first, user=person("viewer"), by=olga)
    people = f"(SELECT id AS person FROM {User._meta.db_table} WHERE username LIKE 'user%') others"
    filler.copy(released, people, user_id="others.person")
    Companion.objects.create(
        test_set=first, data=TestSet.objects.get(slug="set-2"), role="training", shared=[], by=olga
    )
