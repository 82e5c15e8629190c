"""Candidates: the part of an imported corpus that people label; the rest stays beside it.

Sentences that are no candidates are not asked, not counted as work and not frozen, but the set of source
labels has them, so that held-out evaluation keeps the whole corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Coalesce, Now

from annotation.models import Adjudication, Batch, Item, ItemCount, Lease, Project, SourceLabels, Vote
from annotation.ontology.inventory import lock_project, mapping_of, require_no_running_import
from annotation.queue.gold_questions import has_checks
from annotation.roles import CURATOR, require_to_change
from annotation.splits.splitting import uniform
from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError, TooLarge
from evalsvc.core.formats.label_mapping import is_empty
from evalsvc.core.formats.negative_class import USUAL
from evalsvc.core.formats.problems import Problems
from evalsvc.core.formats.records import LabelPrediction, ScoresPrediction
from evalsvc.core.formats.registry import formats, open_predictions, recognise_source
from evalsvc.core.formats.text_lines import LIMITS, Limits
from evalsvc.core.web.places import reading

CHUNK = 1_000
MOST_IN_WEB = 100_000
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
    """Return the criterion of each candidate, in the order of work: by priority, then as each criterion says.

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


def read_scores(file: BinaryIO, *, format: str = "", limits: Limits = LIMITS) -> dict[str, float]:
    """Return the greatest claim but N/A of each line of a prediction file; a plain label counts 1."""
    problems = Problems()
    accepted = formats("predictions")
    if format and format not in accepted:
        detail = f"Unknown format {format[:40]!r}. Use one of: {', '.join(accepted)}."
        raise DomainError("unknown_format", detail, field="format")
    found = format or recognise_source(file, problems=problems, accepted=accepted)
    scores: dict[str, float] = {}
    for _, prediction in open_predictions(file, format=found, problems=problems, limits=limits):
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


WEB_LIMITS = Limits(1 << 27, 500_000)


def read_scores_in_web(file: BinaryIO) -> dict[str, float]:
    """Read a prediction file while few threads do."""
    with reading():
        return read_scores(file, limits=WEB_LIMITS)


@dataclass(frozen=True)
class Chosen:
    """Numbers of candidates by criterion, those kept because work was done, and the rest of the corpus."""

    by_criterion: dict[str, int]
    kept: int
    rest: int
    unknown_ids: int


@transaction.atomic
def choose(
    project: Project, wanted: Wanted, *, by: User, preview: bool = False, most: int = MOST_IN_WEB
) -> Chosen:
    """Make the chosen sentences work, in their order, and keep the others beside it.

    Sentences that somebody answered, skipped, decided or has a lease of stay work, in projects with hidden
    checks also those of ended leases: of what a person returned, checks alone would come again. Choosing
    again replaces the choice.
    `most` bounds the sentences of the project (0: no bound), as nobody else writes to it meanwhile.
    """
    require_to_change(project, by, CURATOR)
    if most and (n := sum(of_project(project).values())) > most:
        hint = "An administrator chooses them with manage.py choose_candidates."
        raise TooLarge("too_many_rows", f"{n:,} sentences are too many for a request.", hint=hint)
    project = lock_project(project)
    require_no_running_import(project)
    if project.test_sets.filter(state=TestSet.State.BUILDING).exists():
        raise Conflict("import_done", "A test set is being frozen.", hint="Wait until it is complete.")
    corpus = dict(project.items.corpus().order_by("rank", "pk").values_list("external_id", "pk"))
    sealed = SourceLabels.objects.filter(item__in=project.items.corpus()).values_list(
        "item__external_id", "labels"
    )
    mapping = mapping_of(project)
    mapped = ((name, mapping.payload(labels)) for name, labels in sealed)
    positive = {name for name, now in mapped if now.unclear or not is_empty(now.payload)}
    selected = select(list(corpus), positive, wanted)
    begun = set(Vote.objects.filter(item__project=project).values_list("item", flat=True))
    begun |= set(Adjudication.objects.filter(item__project=project).values_list("item", flat=True))
    leases = Lease.objects.filter(item__project=project)
    leases = leases if has_checks(project) else leases.filter(ending="")
    begun |= set(leases.values_list("item", flat=True))
    kept = [name for name, pk in corpus.items() if pk in begun and name not in selected]
    counts = dict.fromkeys(wanted.order, 0)
    for criterion in selected.values():
        counts[criterion] += 1
    chosen = Chosen(
        counts, len(kept), len(corpus) - len(selected) - len(kept), len(set(wanted.ids) - corpus.keys())
    )
    if not selected:
        raise Conflict("no_candidates", "No sentence of the project fits these criteria.")
    if not preview:
        before = of_project(project)
        _store(project, corpus, selected, kept, begun)
        after = {"criteria": counts} | of_project(project)
        record(project, "candidates chosen", by=by, before=before, after=after)
    return chosen


def _store(
    project: Project, corpus: dict[str, int], selected: dict[str, str], kept: list[str], begun: set[int]
) -> None:
    work = [corpus[name] for name in (*selected, *kept)]
    chosen = set(work)
    rest = [pk for pk in corpus.values() if pk not in chosen]
    for at in range(0, len(rest), CHUNK):
        Item.objects.filter(pk__in=rest[at : at + CHUNK]).exclude(use=Item.Use.CORPUS).update(
            use=Item.Use.CORPUS, free=0
        )
    fresh = [pk for pk in work if pk not in begun]
    for at in range(0, len(fresh), CHUNK):
        beside = Item.objects.filter(pk__in=fresh[at : at + CHUNK], use=Item.Use.CORPUS)
        # one that was left out without an answer stays so
        beside.exclude(state=Item.State.OPEN).update(use=Item.Use.WORK)
        beside.update(use=Item.Use.WORK, free=Coalesce(F("k"), project.k), freed_at=Now())
    ranks = dict(project.items.corpus().values_list("pk", "rank"))
    moved = [(rank, pk) for rank, pk in enumerate(work, 1) if ranks[pk] != rank]
    with connection.cursor() as cursor:  # many times as fast as bulk_update
        cursor.executemany(f"UPDATE {Item._meta.db_table} SET rank = %s WHERE id = %s", moved)  # noqa: S608


def of_project(project: Project) -> dict[str, int]:
    """Return the numbers of work and of sentences beside it."""
    counts = ItemCount.objects.filter(batch__project=project, batch__state=Batch.State.DONE)
    return {
        "work": counts.filter(use=Item.Use.WORK).total(),
        "rest": counts.filter(use=Item.Use.CORPUS).total(),
    }
