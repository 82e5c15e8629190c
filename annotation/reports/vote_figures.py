"""Figures over all votes of a project; a job computes and stores those of large ones.

Stored ones are shown until they are computed again, with their time once newer votes have come.
The number of items in each state is not among them: triggers keep it (`annotation.models.ItemCount`).
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

import msgspec
from django.db.models import Avg, Count, F, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Length, Now
from django.utils import timezone

from annotation.consensus import item_state, recomputation
from annotation.consensus.choices import choices_of
from annotation.consensus.rules import Rules
from annotation.models import Adjudication, Annotator, Answer, Item, ItemCount, Project, ProjectFigures, Vote
from annotation.ontology import label_usage
from annotation.ontology.guideline_versions import answers_by_version
from annotation.ontology.inventory import source_labels_emptied
from annotation.ontology.label_usage import LabelsText, names_in
from annotation.reports.progress import work_days
from annotation.testset import Kind
from evalsvc.core.errors.exceptions import NotReady
from evalsvc.core.jobs import queue
from evalsvc.core.jobs.models import Job

KIND = "vote figures"
LARGE = 5_000  # answers from which figures are stored; below, computing them takes less than a second
INLINE = 20_000  # answers up to which they are computed when shown, until they are stored
PAUSE_SECONDS, SHARE_OF_TIME, DAYS = 10.0, 10, 90
BUCKET = 250  # milliseconds
WEEK = timedelta(days=7)
FORMAT = 7  # of stored figures
UNCOUNTED = Q(set_aside=True) | Q(again=True)  # answers excluded, or asked again
LONGEST_PAUSE = 8  # failures in a row after which the pause is an hour
HINT = "Reload the page in a minute. The status page shows whether workers are active."
HINT_AFTER_FAILURE = "Job {} failed; it is tried again within the hour. The log of the worker has the reason."
EMPTY: dict[str, Any] = {"spans": [], "relations": []}
_next_look = 0.0


# ---- figures -----------------------------------------------------------------------------------------
def votes_here(project: Project) -> QuerySet[Vote]:
    """Return votes given here; imported answers have no date of their own."""
    return Vote.objects.filter(annotator__project=project, batch=None)


def _days(project: Project) -> list[tuple[str, int, int, int]]:
    days = work_days(votes_here(project), days=DAYS)
    return [(day.day.isoformat(), day.answers, day.skips, day.annotators) for day in days]


def _weeks(project: Project) -> tuple[int, int, int]:
    """Answers of the last two weeks and of the last, and its people."""
    answers = votes_here(project).filter(act=Vote.Act.ANSWER, at__gt=Now() - 2 * WEEK)
    last = Q(at__gt=Now() - WEEK)
    counts = answers.aggregate(
        both=Count("pk"), week=Count("pk", filter=last), people=Count("annotator", filter=last, distinct=True)
    )
    return counts["both"], counts["week"], counts["people"]


def rows_by_annotator(rows: QuerySet[Any]) -> dict[int, int]:
    """Number of rows by annotator."""
    return dict(rows.order_by().values_list("annotator").annotate(n=Count("pk")))


def _answers(project: Project) -> QuerySet[Answer]:
    return Answer.objects.filter(annotator__project=project, item__use="").active()


def _surplus(project: Project) -> dict[int, int]:
    """Count surplus answers by annotator."""
    crowded = (
        Answer.objects.filter(item__project=project, item__use="", set_aside=False, again=False)
        .order_by()
        .values("item", "item__k")
        .annotate(n=Count("pk"))
        .filter(n__gt=Coalesce(F("item__k"), project.k))
    )
    keys = [row["item"] for row in crowded]
    surplus: Counter[int] = Counter()
    for start in range(0, len(keys), recomputation.CHUNK):
        chunk = keys[start : start + recomputation.CHUNK]
        records = recomputation.load_records(chunk)
        for item in Item.objects.filter(pk__in=chunk).only("k", "extra", "project_id"):
            answers = [each for each in records[item.pk].answers if not (each.set_aside or each.again)]
            surplus.update(item_state.surplus_annotators(item, answers, project))
    return dict(surplus)


def _times(project: Project) -> dict[int, dict[int, int]]:
    """Histogram of answer times by annotator."""
    timed = votes_here(project).filter(milliseconds__isnull=False, act=Vote.Act.ANSWER)
    rows = timed.annotate(bucket=F("milliseconds") / BUCKET).values_list("annotator", "bucket")
    times: dict[int, dict[int, int]] = defaultdict(dict)
    for annotator, bucket, n in rows.annotate(n=Count("pk")).order_by():
        of_annotator = times[annotator]
        of_annotator[int(bucket)] = of_annotator.get(int(bucket), 0) + n
    return dict(times)


def _labels(project: Project) -> dict[str, tuple[int, int]]:
    """Items with each label, among those with enough answers, and the disputed ones of them."""
    disputed_states = (Item.State.DISPUTED, *Item.DECIDED)
    items: Counter[str] = Counter()
    disputed: Counter[str] = Counter()
    answers = Answer.objects.filter(item__project=project, item__use="").included()
    answers = answers.exclude(item__state=Item.State.OPEN)
    for state, chosen, n in label_usage.label_sets_of_items(project, answers):
        for counts in (items, disputed) if state in disputed_states else (items,):
            counts.update(dict.fromkeys(chosen, n))
    return {name: (items[name], disputed[name]) for name in items}


def _profiles(project: Project) -> dict[int, tuple[list[int], dict[str, list[int]]]]:
    """Compare the labels of each annotator with the outcomes of the same items.

    Counts of answers, of N/A among them, of those with an outcome, and of those with its labels; for each
    label how often it was chosen, was in the outcome, and both.
    """
    mapping = Rules(project).mapping
    labels, outcome = (LabelsText(field, kind=project.kind) for field in ("payload", "item__gold"))
    rows = (
        _answers(project)
        .filter(set_aside=False, again=False)
        .order_by()
        .annotate(chosen=labels, outcome=outcome, undecided=Q(item__gold__isnull=True))
    )
    profiles: dict[int, tuple[list[int], dict[str, list[int]]]] = {}
    groups = rows.values_list("annotator", "chosen", "outcome", "undecided").annotate(n=Count("pk"))
    for annotator, chosen_text, outcome_text, undecided, n in groups:
        counts, by_label = profiles.setdefault(annotator, ([0] * 4, {}))
        chosen, expected = set(mapping.labels(names_in(chosen_text))), names_in(outcome_text)
        decided = not undecided
        _count(counts, n, True, not chosen, decided, decided and chosen == expected)
        for name in chosen | expected if decided else ():
            row = by_label.setdefault(name, [0] * 3)
            _count(row, n, name in chosen, name in expected, name in chosen & expected)
    return profiles


def _marks(project: Project) -> dict[int, list[int]]:
    """Compare the spans and relations of each annotator with the outcomes of the same texts.

    Counts of those marked, of those in the outcomes, and of both.
    """
    if project.kind == Kind.RELATIONS:
        return {}
    mapping = Rules(project).mapping
    rows = _answers(project).filter(set_aside=False, again=False, item__gold__isnull=False).order_by()
    counts: dict[int, list[int]] = {}
    for annotator, payload, gold in rows.values_list("annotator", "payload", "item__gold").iterator(2_000):
        chosen, expected = choices_of(mapping.payload(payload).payload), choices_of(gold or EMPTY)
        row = counts.setdefault(annotator, [0] * 3)
        row[:] = [row[0] + len(chosen), row[1] + len(expected), row[2] + len(chosen & expected)]
    return counts


def _count(row: list[int], n: int, *hits: bool) -> None:
    """Add n to the entries of the row that are hit."""
    row[:] = [old + n * hit for old, hit in zip(row, hits, strict=True)]


def _length(project: Project) -> int:
    """Mean number of characters of a sentence."""
    return round(project.items.live().order_by().aggregate(mean=Avg(Length("text")))["mean"] or 0)


COMPUTED: dict[str, Callable[[Project], Any]] = {
    "days": _days,
    "weeks": _weeks,
    "answers": lambda project: rows_by_annotator(_answers(project)),
    "uncounted": lambda project: rows_by_annotator(_answers(project).filter(UNCOUNTED)),
    "surplus": _surplus,
    "skips": lambda project: rows_by_annotator(votes_here(project).filter(act=Vote.Act.SKIP)),
    "flags": lambda project: rows_by_annotator(votes_here(project).filter(flagged=True)),
    "times": _times,
    "length": _length,
    "labels": _labels,
    "profiles": _profiles,
    "marks": _marks,
    "gold": lambda project: dict(label_usage.count_in_gold(project)),
    "source_labels_emptied": source_labels_emptied,
    "reasons": lambda project: dict(
        votes_here(project).filter(act=Vote.Act.SKIP).order_by().values_list("reason").annotate(n=Count("pk"))
    ),
    "suggested": lambda project: Vote.objects.filter(annotator__project=project, shown__isnull=False).count(),
    "guidelines": answers_by_version,
    "all_answers": lambda project: rows_by_annotator(Answer.objects.filter(annotator__project=project)),
    "stored_answers": lambda project: Answer.objects.filter(
        annotator__project=project, item__batch__state="done"
    ).count(),
}


class VoteFigures:
    """Figures by name, stored or computed when first asked for.

    `awaited` ones are computed by a job first.
    """

    def __init__(
        self,
        project: Project,
        stored: dict[str, Any] | None = None,
        computed_at: datetime | None = None,
        *,
        awaited: bool = False,
        failed: Job | None = None,
    ) -> None:
        self.project, self._known, self.computed_at = project, dict(stored or {}), computed_at
        self.awaited, self.failed = awaited, failed

    def __getitem__(self, name: str) -> Any:
        if self.awaited:
            raise NotReady(
                "figures_computing",
                f"The figures over the answers of “{self.project}” are being computed.",
                hint=HINT if self.failed is None else HINT_AFTER_FAILURE.format(self.failed.pk),
            )
        if name not in self._known:
            self._known[name] = COMPUTED[name](self.project)
        return self._known[name]

    def ready(self, name: str) -> Any:
        """Return a figure, or None while a job computes it."""
        return None if self.awaited else self[name]


def figures_of(project: Project) -> VoteFigures:
    """Return the stored figures of a large project, or computed ones.

    After an update with other figures a large project has none stored: a job computes them.
    """
    row = ProjectFigures.objects.filter(project=project, format=FORMAT).first()
    if row is None:
        awaited = _large(INLINE).filter(batch__project=project).exists()
        if awaited:
            return VoteFigures(project, awaited=True, failed=_queue(project))
        return VoteFigures(project)
    figures = msgspec.msgpack.decode(row.figures, strict=False)
    return VoteFigures(project, figures, None if row.stamp == _stamp(project) else row.computed_at)


# ---- the job -------------------------------------------------------------------------------------------
def _stamp(project: Project) -> str:
    """Digest that is equal as long as votes, outcomes, labels and rule are, on one day."""
    last = Vote.objects.filter(annotator=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    votes = Annotator.objects.filter(project=project).annotate(last=Subquery(last)).order_by("pk")
    uncounted = Answer.objects.filter(UNCOUNTED, annotator__project=project)
    uncounted_now = uncounted.order_by().aggregate(n=Count("pk"), which=Sum("pk"))
    # "+ 0": read from the newest decision on, not by way of all items of the project
    decisions = Adjudication.objects.annotate(owner=F("item__project_id") + 0).filter(owner=project.pk)
    last_decision = decisions.order_by("-pk").values_list("pk", flat=True).first()
    counts = ItemCount.objects.live(project).by_state()
    rule = (project.inventory_stamp, project.k, project.policy)
    today = timezone.now().date()  # some figures are of the last week
    last_votes = list(votes.values_list("pk", "last"))
    rows = (today, last_votes, uncounted_now, last_decision, sorted(counts.items()), rule)
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def compute(project: Project) -> Callable[[], None]:
    """Compute the figures; return a function that stores them."""
    begun, at = time.monotonic(), timezone.now()
    stamp = _stamp(project)  # before the rows are read: newer ones outdate it
    figures = {name: compute_one(project) for name, compute_one in COMPUTED.items()}
    values = {
        "stamp": stamp,
        "computed_at": at,
        "seconds": time.monotonic() - begun,
        "figures": msgspec.msgpack.encode(figures),
        "format": FORMAT,
    }

    def store() -> None:
        ProjectFigures.objects.update_or_create(project=project, defaults=values)

    return store


def queue_outdated() -> None:
    """Queue the computation for large projects with newer votes; forget those of others.

    Figures that take long are computed for a tenth of the time at most.
    """
    global _next_look
    if time.monotonic() < _next_look:
        return
    _next_look = time.monotonic() + PAUSE_SECONDS
    now, large_now = timezone.now(), list(_large(LARGE))
    ProjectFigures.objects.exclude(project__in=large_now).delete()  # small ones are computed when shown
    for project in Project.objects.filter(pk__in=large_now).select_related("figures"):
        row = getattr(project, "figures", None)
        paused = row and now < row.computed_at + timedelta(seconds=SHARE_OF_TIME * row.seconds)
        if paused or (row and (row.format, row.stamp) == (FORMAT, _stamp(project))):
            continue
        _queue(project)


def _large(answers: int) -> QuerySet[ItemCount, int]:
    """Return the projects with so many answers."""
    wanted = Coalesce(F("batch__project__k"), 0) + F("extra") - F("free")
    counts = ItemCount.objects.filter(batch__state="done", use="").order_by().values("batch__project")
    large = counts.annotate(answers=Sum(wanted * F("n"))).filter(answers__gte=answers)
    return large.values_list("batch__project", flat=True)


def _queue(project: Project) -> Job | None:
    """Queue the computation, unless it is; return the last job if it failed.

    After failures it waits for 1, 2, 4 … minutes, an hour at most.
    """
    jobs = Job.objects.filter(kind=KIND, subject=project.pk)
    last = list(jobs.order_by("-pk")[:LONGEST_PAUSE])
    failures = list(takewhile(lambda job: job.state in (Job.State.FAILED, Job.State.CANCELLED), last))
    pause = timedelta(minutes=min(60, 1 << len(failures) - 1)) if failures else timedelta()
    ended_at = failures[0].ended_at if failures else None
    waits = ended_at is not None and timezone.now() < ended_at + pause
    if not waits and not jobs.exclude(state__in=Job.ENDED).exists():
        queue.enqueue(KIND, project.pk, lane=f"project {project.pk}")
    return failures[0] if failures else None
