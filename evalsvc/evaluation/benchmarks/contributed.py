"""Contributed measures: proposed by members, admitted by organisers, scored for every stored run."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max
from django.db.models.functions import Now
from django.shortcuts import get_object_or_404

from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import record
from evalsvc.core.errors.exceptions import Conflict, DomainError
from evalsvc.core.web.text_validation import require_single_script, require_visible
from evalsvc.evaluation import submission_states
from evalsvc.evaluation.benchmarks import file_contract, scoring_identity, versions
from evalsvc.evaluation.measures.composition import BASES, Composition, checked, formula
from evalsvc.evaluation.measures.inventory import relation_labels, scored_labels
from evalsvc.evaluation.measures.menu import MENU
from evalsvc.evaluation.models import Benchmark, ContributedMeasure, Evaluation, Score, Setting
from evalsvc.evaluation.roles import ORGANISER, VIEWER, require

State = ContributedMeasure.State
MOST_WAITING, MOST_OF_ONE, MOST_ADMITTED = 50, 5, 20


def bases_of(benchmark: Benchmark) -> list[str]:
    """Return the bases that a setting of the benchmark has."""
    kinds = {setting.kind for setting in file_contract.settings_of(benchmark)}
    return list(dict.fromkeys(base for kind, bases in BASES.items() if kind in kinds for base in bases))


def composed(benchmark: Benchmark, composition: Any) -> Composition:
    """Return a composition checked against the inventory of a benchmark."""
    settings = file_contract.settings_of(benchmark)
    labels = scored_labels(benchmark, [setting.test_set for setting in settings])
    return checked(
        composition,
        bases=bases_of(benchmark),
        labels=[label["name"] for label in labels],
        relations=[label["name"] for label in relation_labels(benchmark)],
        negative=benchmark.negative,
    )


def propose(benchmark: Benchmark, *, name: str, title: str, composition: Any, by: User) -> ContributedMeasure:
    """Store a composed measure for organisers to admit; a name again is its next version."""
    require(benchmark, by, VIEWER)
    title = " ".join(title.split())
    require_visible(title, field="title")
    require_single_script(title, field="title")
    if name in MENU or _letters(title) in {_letters(each.title) for each in MENU.values()}:
        detail = f"The menu has a measure “{title if name not in MENU else name}” already."
        raise DomainError("bad_choice", detail, hint="Boards show both. Choose another name.", field="title")
    parts = composed(benchmark, composition)
    with transaction.atomic():
        file_contract.lock_settings(benchmark)
        own = ContributedMeasure.objects.filter(benchmark=benchmark)
        waiting = own.filter(state=State.PROPOSED)
        if waiting.filter(by=by).count() >= MOST_OF_ONE:
            detail = (
                f"{MOST_OF_ONE} measures that you proposed are waiting for the organisers of {benchmark}."
            )
            raise Conflict("too_many_measures", detail, hint="Try again once they have decided.")
        if waiting.count() >= MOST_WAITING:
            detail = f"{MOST_WAITING} measures are waiting for the organisers of {benchmark}."
            raise Conflict("too_many_measures", detail, hint="Try again once they have decided.")
        of_name = own.filter(name=name)
        same = of_name.filter(composition=parts, title=title)
        if same.exclude(state__in=(State.DECLINED, State.RETIRED)).exists():
            detail = f"{name} already is this measure."
            raise Conflict("no_change", detail, hint="Change a part of it, or choose another name.")
        version = 1 + (of_name.aggregate(most=Max("version"))["most"] or 0)
        return ContributedMeasure.objects.create(
            benchmark=benchmark,
            name=name,
            version=version,
            title=title,
            composition=parts,
            formula=formula(parts),
            by=by,
        )


def _letters(title: str) -> str:
    """Return what tells titles apart: a page shows two spaces as one, and ₁ is as good as 1."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", title).casefold()))


def decide(measure: ContributedMeasure, *, admit: bool, by: User) -> None:
    """Admit a measure, which queues every stored run as one batch; or decline it."""
    benchmark = measure.benchmark
    require(benchmark, by, ORGANISER)
    state = State.ADMITTED if admit else State.DECLINED
    with transaction.atomic():
        file_contract.lock_settings(benchmark)
        own = ContributedMeasure.objects.filter(benchmark=benchmark)
        if admit and own.filter(state=State.ADMITTED).count() >= MOST_ADMITTED:
            detail = f"{benchmark} has {MOST_ADMITTED} contributed measures, which is the limit."
            raise Conflict("too_many_measures", detail)
        waiting = own.filter(pk=measure.pk, state=State.PROPOSED)
        if not waiting.update(state=state, decided_by=by, decided_at=Now()):
            raise Conflict("decided", f"{measure} was decided already.")
        about = f"{measure.name} {measure.version}"
        record(benchmark, "measure", by=by, about=about, before=State.PROPOSED, after=state)
        if admit:
            for setting in settings_of(measure):
                versions.score_anew(setting)
            submission_states.complete_measures(benchmark.pk)
    measure.refresh_from_db()


def retire(measure: ContributedMeasure, *, by: User) -> None:
    """Take an admitted measure off the boards; its scores stay, and new runs are not scored under it."""
    benchmark = measure.benchmark
    require(benchmark, by, ORGANISER)
    with transaction.atomic():
        file_contract.lock_settings(benchmark)
        if (ranked := benchmark.settings.filter(main=measure.key).first()) is not None:
            detail = f"{measure} ranks “{ranked.title}”."
            raise Conflict(
                "ranks_a_setting", detail, hint="Choose another main measure of the setting first."
            )
        admitted = ContributedMeasure.objects.filter(pk=measure.pk, state=State.ADMITTED)
        if not admitted.update(state=State.RETIRED):
            raise Conflict(
                "not_admitted", f"{measure} is {measure.state}. Only an admitted one can be retired."
            )
        record(
            benchmark, "measure", by=by, about=f"{measure.name} {measure.version}",
            before=State.ADMITTED, after=State.RETIRED,
        )  # fmt: skip
        submission_states.show_measures(benchmark.pk)
    measure.refresh_from_db()


def settings_of(measure: ContributedMeasure) -> list[Setting]:
    """Return the settings whose runs a measure scores."""
    base = measure.composition["base"]
    return [each for each in file_contract.settings_of(measure.benchmark) if base in BASES[each.kind]]


def admitted(benchmark: Benchmark, kind: str) -> dict[str, Composition]:
    """Return the compositions that runs of a kind of setting are scored under, by key."""
    rows = ContributedMeasure.objects.filter(benchmark=benchmark, state=State.ADMITTED)
    return {row.key: row.composition for row in rows if row.composition["base"] in BASES[kind]}


def lacking(settings: Iterable[Setting], existing: Mapping[int, Evaluation]) -> set[int]:
    """Return the settings whose existing evaluation lacks a score under an admitted measure."""
    of_setting = {
        each.pk: set(admitted(each.benchmark, each.kind)) for each in settings if each.pk in existing
    }
    if not any(of_setting.values()):
        return set()
    scores = Score.objects.filter(evaluation__in=existing.values(), measure__startswith="own_")
    present = set(scores.values_list("evaluation__setting", "measure"))
    return {pk for pk, keys in of_setting.items() if any((pk, key) not in present for key in keys)}


@dataclass(frozen=True, slots=True)
class Progress:
    """How many stored scorings have a figure under a measure."""

    scored: int
    total: int


def progress(benchmark: Benchmark, measures: Collection[ContributedMeasure]) -> dict[int, Progress]:
    """Return the progress of admitted measures, by primary key."""
    admitted = [each for each in measures if each.state == State.ADMITTED]
    if not admitted:
        return {}
    settings = {each.pk: each.kind for each in file_contract.settings_of(benchmark)}
    stored = Evaluation.objects.filter(
        submissions__withdrawn_at=None,
        submissions__scored_at__isnull=False,
        setting__in=settings,
        gold_sha256=F("setting__test_set__sha256"),
        scorer=scoring_identity.SCORER,
    )
    counted = stored.values("setting").annotate(n=Count("pk", distinct=True)).values_list("setting", "n")
    totals = dict(counted.order_by())
    waiting = [each.key for each in admitted if not each.complete]
    scores = Score.objects.filter(evaluation__in=stored.values("pk"), measure__in=waiting)
    scored = dict(scores.values("measure").annotate(n=Count("pk")).values_list("measure", "n").order_by())
    found = {}
    for each in admitted:
        fitting = (
            totals.get(pk, 0) for pk, kind in settings.items() if each.composition["base"] in BASES[kind]
        )
        total = sum(fitting)
        found[each.pk] = Progress(total if each.complete else scored.get(each.key, 0), total)
    return found


def measure_for(benchmark: Benchmark, name: str, version: int) -> ContributedMeasure:
    """Return a contributed measure, or 404."""
    rows = benchmark.measures.select_related("by", "benchmark")
    return get_object_or_404(rows, name=name, version=version)
