"""The two benchmarks of the demo, and the runs that the teams' systems submit to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from annotation.testset import TestSet
from evalsvc.core.formats.writer import canonical_line
from evalsvc.demo import SEED
from evalsvc.demo.accounts import CURATOR, TEAMS, Cast
from evalsvc.demo.corpus import Sentence
from evalsvc.demo.entities import TokenSentence
from evalsvc.demo.systems import RUNS, SYSTEMS, predictions
from evalsvc.demo.taggers import TAGGERS, entity_predictions
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark
from evalsvc.evaluation.submissions import intake

RELATION_SETTINGS = (
    ("manual-sentence", "Human gold, sentences", "annotated", None, "sentence", "micro_f1"),
    ("manual-bag", "Human gold, bags", "annotated", None, "bag", "ap"),
    ("same-sentences", "Held-out, same sentences", "source", "annotated", "bag", "ap"),
    ("held-out", "Held-out", "source", None, "bag", "ap"),
)


def relation_benchmark(cast: Cast, gold: TestSet) -> Benchmark:
    """Four settings over one release: human gold by sentence and bag, source labels on the same and all."""
    benchmark = _benchmark(
        cast,
        gold,
        slug="harbour-relations",
        title="Harbour relations",
        task="relations",
        summary="Relations between people, places and companies in harbour news",
        negative="N/A",
    )
    sets = {"annotated": gold, "source": gold.source_twin}
    for key, title, origin, only, unit, main in RELATION_SETTINGS:
        if not benchmark.settings.filter(key=key).exists():
            creation.add_setting(
                benchmark, key=key, title=title, test_set=sets[origin], unit=unit, main=main,
                by=cast.users[CURATOR], only=sets[only] if only else None,
            )  # fmt: skip
    return benchmark


def entity_benchmark(cast: Cast, gold: TestSet) -> Benchmark:
    """One setting: the spans of the release."""
    benchmark = _benchmark(
        cast,
        gold,
        slug="harbour-names",
        title="Harbour names",
        task="entities",
        summary="People, organisations and places in harbour news",
    )
    if not benchmark.settings.exists():
        creation.add_setting(
            benchmark, key="spans", title="Human gold, spans", test_set=gold, unit="document",
            main="conll_micro_f1", by=cast.users[CURATOR],
        )  # fmt: skip
    return benchmark


def submit_relation_runs(cast: Cast, benchmark: Benchmark, sentences: list[Sentence]) -> Iterator[str]:
    """Three systems, five runs each."""
    for (team, _), system in zip(TEAMS.items(), SYSTEMS, strict=True):
        for run in RUNS:
            lines = predictions(system, run, sentences, seed=SEED)
            yield _submit(cast, benchmark, team, system, run, lines)


def submit_entity_runs(cast: Cast, benchmark: Benchmark, sentences: list[TokenSentence]) -> Iterator[str]:
    """Three taggers, five runs each, on the sentences of the release."""
    released = set(benchmark.settings.get().test_set.lines.values_list("external_id", flat=True))
    kept = [sentence for sentence in sentences if sentence.id in released]
    for (team, _), tagger in zip(TEAMS.items(), TAGGERS, strict=True):
        for run in RUNS:
            yield _submit(
                cast, benchmark, team, tagger, run, entity_predictions(tagger, run, kept, seed=SEED)
            )


def _benchmark(cast: Cast, gold: TestSet, *, slug: str, **told: Any) -> Benchmark:
    found = Benchmark.objects.filter(slug=slug).first()
    return found or creation.create(slug=slug, labels=gold.labels, by=cast.users[CURATOR], **told)


def _submit(
    cast: Cast, benchmark: Benchmark, team: str, system: Any, run: int, lines: Iterable[dict[str, Any]]
) -> str:
    received = intake.receive(
        benchmark,
        team=cast.teams[team],
        by=cast.users[TEAMS[team]],
        system=system.title,
        run=str(run),
        chunks=(canonical_line(line) for line in lines),
        filename=f"{system.key}-run{run}.jsonl",
        tags={"description": system.description},
    )
    return str(received.submission)
