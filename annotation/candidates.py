"""Candidates: the part of an imported corpus that people label; the rest stays beside it.

Sentences that are no candidates are not asked, not counted as work and not frozen, but the set of source
labels has them, so that held-out evaluation keeps the whole corpus.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now

from annotation.models import (
    Adjudication,
    Annotator,
    Batch,
    Item,
    ItemCount,
    Lease,
    Project,
    SourceLabels,
    Vote,
)
from annotation.ontology.inventory import lock_project, mapping_of, require_no_running_import
from annotation.queue import gold_questions
from annotation.roles import CURATOR, require_to_change
from annotation.splits.splitting import uniform
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.database import atomic_again, in_batches
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.formats.label_mapping import is_empty
from evalsvc.core.formats.negative_class import USUAL
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.readers import open_predictions
from evalsvc.core.formats.records import LabelPrediction, ScoresPrediction
from evalsvc.core.formats.registry import formats, recognise_source
from evalsvc.core.formats.text_lines import LIMITS, Limits
from evalsvc.core.jobs.lease import fenced
from evalsvc.core.web import places

CHUNK = 1_000
AT_ONCE = 10_000  # sentences of a project whose candidates a request chooses; beyond, a job does
CRITERIA = {
    "positive": "has a source label other than N/A, after the steps of the ontology",
    "top": "among the best scores of a prediction file",
    "random": "drawn at random",
    "ids": "on the list of ids",
}
"""How a sentence becomes a candidate, by key."""


@dataclass(frozen=True)
class Wanted:
    """What to label, by criteria in the order of priority.

    `top` takes the greatest claims but N/A of `scores`, ties by id; `random` the least draws of the seed.
    """

    order: Sequence[str]
    top: int = 0
    scores: Mapping[str, float] = field(default_factory=dict)
    random: int = 0
    seed: str = ""
    ids: Collection[str] = ()

    def __post_init__(self) -> None:
        unknown = [name for name in self.order if name not in CRITERIA]
        if unknown or not self.order or len(set(self.order)) < len(self.order):
            named = ", ".join(self.order)[:100]
            detail = f"Criteria {named!r}; expected some of {', '.join(CRITERIA)}, each once."
            raise DomainError("bad_candidates", detail, field="order")
        for name, given in (("top", self.top and self.scores), ("random", self.random and self.seed)):
            if name in self.order and not given:
                needed = "a number and predictions" if name == "top" else "a number and a seed"
                raise DomainError("bad_candidates", f"The criterion {name} needs {needed}.", field=name)
        if "ids" in self.order and not self.ids:
            raise DomainError("bad_candidates", "The criterion ids needs a list of ids.", field="ids")


def select(ids: Sequence[str], positive: Collection[str], wanted: Wanted) -> dict[str, str]:
    """Return the criterion of each candidate, by priority, then as each criterion says.

    The first criterion that takes a sentence counts; `top` and `random` choose among those that are left.
    """
    chosen: dict[str, str] = {}

    def left() -> list[str]:
        return [name for name in ids if name not in chosen]

    takes: dict[str, Callable[[], list[str]]] = {
        "positive": lambda: [name for name in left() if name in positive],
        "top": lambda: best(left(), wanted.scores, wanted.top),
        "random": lambda: drawn(left(), wanted.seed, wanted.random),
        "ids": lambda: [name for name in dict.fromkeys(wanted.ids) if name in known and name not in chosen],
    }
    known = set(ids)
    for criterion in wanted.order:
        for name in takes[criterion]():
            chosen[name] = criterion
    return chosen


def best(ids: Sequence[str], scores: Mapping[str, float], n: int) -> list[str]:
    """Return the n ids with the greatest scores; ties by id in code-point order, without a score last."""
    return sorted(ids, key=lambda name: (-scores.get(name, float("-inf")), name))[:n]


def drawn(ids: Sequence[str], seed: str, n: int) -> list[str]:
    """Return the n ids with the least draws of a seed."""
    return sorted(ids, key=lambda name: (uniform(seed, name), name))[:n]


def read_scores(file: BinaryIO, *, limits: Limits = LIMITS) -> dict[str, float]:
    """Return the greatest claim but N/A of each line of a prediction file; a plain label counts 1."""
    problems = Problems()
    format = recognise_source(file, problems=problems, accepted=formats("predictions"), limits=limits)
    scores: dict[str, float] = {}
    for _, prediction in open_predictions(file, format=format, problems=problems, limits=limits):
        match prediction:
            case ScoresPrediction():
                claims = [value for name, value in prediction.scores.items() if name not in USUAL]
                scores[prediction.id] = max(claims, default=float("-inf"))
            case LabelPrediction():
                scores[prediction.id] = float(prediction.label not in USUAL)
    problems.raise_if_any()
    if not scores:
        raise DomainError("bad_candidates", "The file has no predictions by sentence.", field="predictions")
    return scores


def read_scores_in_web(file: BinaryIO, by: User) -> dict[str, float]:
    """Read a prediction file while few threads do."""
    with places.files.taken(by.pk):
        return read_scores(file, limits=Limits(1 << 27, 500_000, settings.UPLOAD_MAX_LINE_BYTES))


@dataclass(frozen=True)
class Chosen:
    """Numbers of candidates by criterion, those kept because work was done, and the rest of the corpus."""

    by_criterion: dict[str, int]
    kept: int
    rest: int
    unknown_ids: int


@dataclass(frozen=True)
class Places:
    """Where sentences go: keys of the work and of the rest, with their ranks; none keeps its rank."""

    work: dict[int, int | None]
    rest: dict[int, int | None]

    def as_json(self) -> list[list[Any]]:
        return [[list(part), list(part.values())] for part in (self.work, self.rest)]

    @classmethod
    def of_json(cls, stored: list[list[Any]]) -> Places:
        work, rest = (dict(zip(keys, ranks, strict=True)) for keys, ranks in stored)
        return cls(work, rest)

    @classmethod
    def present(cls, project: Project) -> Places:
        """Return where the sentences of a project are."""
        places = cls({}, {})
        for key, use, rank in in_batches(project.items.corpus(), "pk", "use", "rank"):
            (places.rest if use == Item.Use.CORPUS else places.work)[key] = rank
        return places


Report = Callable[[int, int, str], object]


def no_report(done: int, total: int, step: str) -> None:
    """Nobody waits for the progress of short work."""


def is_chosen_at_once(project: Project) -> bool:
    """True if the project is small enough for a request."""
    return sum(of_project(project).values()) <= AT_ONCE


def choose(project: Project, wanted: Wanted, *, by: User, preview: bool = False) -> Chosen:
    """Make the chosen sentences work, and keep the others beside it.

    Their order is drawn anew at each choice: that of the criteria would tell source labels, scores and
    checks, to annotators and to the readers of what is frozen.

    Sentences that somebody answered, skipped, decided or has a lease of stay work, in projects with hidden
    checks also those of ended leases: of what a person returned, checks alone would come again. Choosing
    again replaces the choice. For projects that are chosen at once.
    """
    if not preview:
        return _choose(project, wanted, by=by)
    with transaction.atomic():  # a preview reads the sentences after it: others wait on SQLite
        project = _locked(project, by=by)
    return look(project, wanted)[0]


def _locked(project: Project, *, by: User) -> Project:
    """Lock a project whose candidates can be chosen."""
    require_to_change(project, by, CURATOR)
    project = lock_project(project)
    require_no_running_import(project)
    if project.test_sets.filter(state=TestSet.State.BUILDING).exists():
        raise Conflict("import_done", "A test set is being frozen.", hint="Wait until it is complete.")
    return project


@atomic_again
def _choose(project: Project, wanted: Wanted, *, by: User) -> Chosen:
    project = _locked(project, by=by)
    chosen, places = look(project, wanted)
    before = of_project(project)
    move(project, places)
    complete_choice(project, chosen.by_criterion, before=before, by=by)
    return chosen


def complete_choice(
    project: Project, by_criterion: dict[str, int], *, before: dict[str, int], by: User | None
) -> None:
    """Draw the order of checks as well, let everybody go on at the first sentence, and record the choice.

    If sentences alone came in a new order, those from before and after, laid side by side, would show which
    are checks.
    """
    gold_questions.draw_order_of_checks(project)
    Annotator.objects.filter(project=project).update(cursor=0, round_since=None)
    after = {"criteria": by_criterion} | of_project(project)
    record(project, "candidates chosen", by=by, before=before, after=after)


def look(project: Project, wanted: Wanted, report: Report = no_report) -> tuple[Chosen, Places]:
    """Return the effect of a choice, and where it puts each sentence."""
    total = sum(of_project(project).values())
    corpus: dict[str, int] = {}
    for name, key in in_batches(project.items.corpus().order_by("rank", "pk"), "external_id", "pk"):
        corpus[name] = key
        if len(corpus) % CHUNK == 0:
            report(len(corpus), 2 * total, "reading sentences")
    positive = _positive(project, report, total) if "positive" in wanted.order else set()
    selected = select(list(corpus), {name for name, key in corpus.items() if key in positive}, wanted)
    if not selected:
        raise Conflict("no_candidates", "No sentence of the project fits these criteria.")
    begun = _begun(project)
    kept = [name for name, key in corpus.items() if key in begun and name not in selected]
    counts = dict.fromkeys(wanted.order, 0)
    for criterion in selected.values():
        counts[criterion] += 1
    order = [*selected, *kept]
    secrets.SystemRandom().shuffle(order)
    work: dict[int, int | None] = {corpus[name]: rank for rank, name in enumerate(order, 1)}
    rest: dict[int, int | None] = {key: None for key in corpus.values() if key not in work}
    unknown = len(set(wanted.ids) - corpus.keys())
    return Chosen(counts, len(kept), len(rest), unknown), Places(work, rest)


def _positive(project: Project, report: Report, total: int) -> set[int]:
    """Return the sentences with a source label other than N/A."""
    mapping, positive = mapping_of(project), set()
    sealed = SourceLabels.objects.filter(item__project=project, item__batch__state=Batch.State.DONE)
    for at, (key, labels) in enumerate(in_batches(sealed, "pk", "labels")):
        now = mapping.payload(labels)
        if now.unclear or not is_empty(now.payload):
            positive.add(key)
        if at % CHUNK == 0:
            report(total + at, 2 * total, "reading source labels")
    return positive


def _begun(project: Project, keys: Collection[int] | None = None) -> set[int]:
    """Return the sentences, of these or of all, that a choice leaves where they are."""
    leases = Lease.objects.order_by()
    if not gold_questions.has_checks(project):
        leases = leases.filter(ending="")
    of = {"item__project": project} if keys is None else {"item__in": keys}
    rows = (Vote.objects.order_by(), Adjudication.objects.order_by(), leases)
    return {key for each in rows for key in each.filter(**of).values_list("item", flat=True).distinct()}


def move(project: Project, places: Places, report: Report = no_report) -> None:
    """Put the sentences where they belong, in short transactions; those there already cost a look."""
    done, total = 0, len(places.work) + len(places.rest)
    for use, ranks in ((Item.Use.CORPUS, places.rest), (Item.Use.WORK, places.work)):
        keys = list(ranks)
        for at in range(0, len(keys), CHUNK):
            chunk = keys[at : at + CHUNK]
            _move_some(project, use, {key: ranks[key] for key in chunk})
            done += len(chunk)
            report(done, total, "moving sentences")


def _move_some(project: Project, use: str, wanted: dict[int, int | None]) -> None:
    items = project.items.filter(pk__in=list(wanted), use__in=(Item.Use.WORK, Item.Use.CORPUS))
    now = {key: (at, rank) for key, at, rank in items.order_by().values_list("pk", "use", "rank")}
    ranks = [(rank, key) for key in sorted(now) if (rank := wanted[key]) not in (None, now[key][1])]
    moving = [key for key, (at, _) in now.items() if at != use]
    if not (moving or ranks):
        return
    with fenced():
        changed = items.filter(pk__in={*moving, *(key for _, key in ranks)}).order_by("pk")
        list(changed.select_for_update(no_key=True).values_list("pk"))
        fresh = Item.objects.filter(pk__in=set(moving) - _begun(project, moving))
        if use == Item.Use.CORPUS:
            fresh.filter(use=Item.Use.WORK).update(use=use, free=0)
        else:
            beside = fresh.filter(use=Item.Use.CORPUS)
            # one that was left out without an answer stays so
            beside.exclude(state=Item.State.OPEN).update(use=use)
            k = Project.objects.values_list("k", flat=True).get(pk=project.pk)  # it may have changed
            beside.update(use=use, free=Coalesce(F("k"), k), freed_at=Now())
        with connection.cursor() as cursor:  # many times as fast as bulk_update
            cursor.executemany(
                f"UPDATE {Item._meta.db_table} SET rank = %s WHERE id = %s AND use IN ('', 'corpus')",  # noqa: S608
                ranks,
            )


def of_project(project: Project) -> dict[str, int]:
    """Return the numbers of work and of sentences beside it."""
    counts = ItemCount.objects.filter(batch__project=project, batch__state=Batch.State.DONE)
    return {
        "work": counts.filter(use=Item.Use.WORK).total(),
        "rest": counts.filter(use=Item.Use.CORPUS).total(),
    }
