"""Benchmarks of the demo, with the runs that are submitted to them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection
from typing import Any

from annotation.testset import TestSet
from evalsvc.core.accounts.models import User
from evalsvc.demo.accounts import TEAM_OWNERS, DemoAccounts
from evalsvc.demo.labelling import DATA, finish_jobs
from evalsvc.demo.logins import CURATOR
from evalsvc.evaluation.benchmarks import contributed, creation, inputs
from evalsvc.evaluation.models import Benchmark, Setting
from evalsvc.evaluation.reported import entries
from evalsvc.evaluation.submissions import intake

CORRECTED = "Four relations that sentences only hint at were removed."
RUNS, HIDDEN_RUNS, JOINT_RUNS = (1, 2, 3, 4, 5), (1, 5), (1, 2, 3)
RELATION_SETTINGS = (
    ("manual-sentence", "Human gold, sentences", "annotated", None, "sentence", "micro_f1"),
    ("manual-bag", "Human gold, bags", "annotated", None, "bag", "ap"),
    ("same-sentences", "Held-out, same sentences", "source", "annotated", "bag", "ap"),
    ("held-out", "Held-out", "source", None, "bag", "ap"),
)
RELATION_SYSTEMS = (
    ("markers", "A fine-tuned encoder with entity markers; it has hardly seen the rare relations."),
    (
        "prompted",
        "A prompted language model without training: even across relations, generous on common ones.",
    ),
    (
        "memory",
        "A bag model trained on distant supervision: it has learned what the source labels say of a pair.",
    ),
)
ENTITY_SYSTEMS = (
    ("tagger", "A fine-tuned sequence tagger: at home with people and places, lost with organisations."),
    ("reader", "A prompted language model: even across labels, careless with bounds."),
    ("gazetteer", "Lists of names looked up word by word: few inventions, many gaps."),
)
JOINT_SYSTEMS = (
    ("cascade", "A tagger, then a classifier of its pairs: sure of names, shy of relations."),
    ("joiner", "One model for both: fewer relations missed, more types confused."),
    ("patterns", "Patterns written by hand: few relations, nearly all of them correct."),
)
ENTITY_BENCHMARKS: tuple[tuple[str, dict[str, str], dict[str, Any], tuple[int, ...]], ...] = (
    (
        "harbour-names",
        {"title": "Harbour names", "summary": "People, organisations and places in harbour news"},
        {"key": "spans", "title": "Human gold, spans", "disclosure": "open"},
        RUNS,
    ),
    (
        "harbour-names-hidden",
        {
            "title": "Harbour names, hidden test",
            "summary": "Names in other sentences, as a phase that holds exact figures back",
        },
        {"key": "test", "title": "Hidden test", "phase": "test"},
        HIDDEN_RUNS,
    ),
)
CONTRIBUTED: tuple[dict[str, Any], ...] = (
    {
        "name": "organisation-words",
        "title": "WRF of organisations",
        "composition": {
            "base": "wrf",
            "gamma": "custom",
            "gammas": {"classes": {"person": 1, "organisation": 4, "place": 1}, "combined": 2},
        },
    },
    {
        "name": "recall-of-places",
        "title": "recall of places",
        "composition": {"base": "conll", "figure": "recall", "labels": ["place"]},
    },
)


def relation_benchmark(accounts: DemoAccounts, gold: TestSet) -> Benchmark:
    """Make four settings: human gold and source labels, by sentence and by bag; submit runs."""
    benchmark = _ensure_benchmark(
        "harbour-relations",
        by=accounts.users[CURATOR],
        labels=gold.labels,
        title="Harbour relations",
        task="relations",
        summary="Relations between people, places and companies in harbour news",
        negative="N/A",
    )
    test_sets = {"annotated": gold, "source": gold.source_twin}
    for key, title, origin, only, unit, main in RELATION_SETTINGS:
        if not benchmark.settings.filter(key=key).exists():
            creation.add_setting(
                benchmark, key=key, title=title, test_set=test_sets[origin], unit=unit, main=main,
                by=accounts.users[CURATOR], only=test_sets[only] if only else None, disclosure="open",
            )  # fmt: skip
    _report_figures(benchmark.settings.get(key="manual-sentence"), by=accounts.users[CURATOR])
    _submit_runs(accounts, benchmark, RELATION_SYSTEMS)
    return benchmark


def _report_figures(setting: Setting, *, by: User) -> None:
    """Enter the systems of two invented tables; one of them prints what no counts give."""
    if not setting.reported.exists():
        for table in json.loads((DATA / "reported_demo.json").read_text()):
            entries.add(setting, by=by, **table)


def _contribute(benchmark: Benchmark, *, by: User) -> None:
    """Propose the contributed measures of the demo; one is admitted, one waits."""
    if benchmark.measures.exists():
        return
    for fields in CONTRIBUTED:
        contributed.propose(benchmark, by=by, **fields)
    contributed.decide(contributed.measure_for(benchmark, "organisation-words", 1), admit=True, by=by)


def entity_benchmarks(accounts: DemoAccounts, *golds: TestSet) -> None:
    curator = accounts.users[CURATOR]
    for (slug, fields, setting, runs), gold in zip(ENTITY_BENCHMARKS, golds, strict=True):
        benchmark = _ensure_benchmark(slug, by=curator, labels=gold.labels, task="entities", **fields)
        if not benchmark.settings.exists():
            values = {"unit": "document", "main": "conll_micro_f1", **setting}
            creation.add_setting(benchmark, test_set=gold, by=curator, **values)
        if slug == "harbour-names":
            _contribute(benchmark, by=curator)
        _submit_runs(accounts, benchmark, ENTITY_SYSTEMS, runs=runs)


def joint_benchmark(accounts: DemoAccounts, gold: TestSet) -> None:
    curator = accounts.users[CURATOR]
    benchmark = _ensure_benchmark(
        "harbour-joint",
        by=curator,
        labels=gold.labels,
        title="Harbour names and relations",
        task="joint",
        summary="Names in harbour news, and the relations between them",
    )
    if not benchmark.settings.exists():
        creation.add_setting(
            benchmark, key="texts", title="Human gold, texts", test_set=gold, unit="document",
            main="relation_strict_micro_f1", by=curator, disclosure="open",
        )  # fmt: skip
    _submit_runs(accounts, benchmark, JOINT_SYSTEMS, runs=JOINT_RUNS)


def revise(accounts: DemoAccounts, benchmark: Benchmark, corrected: TestSet) -> None:
    """Begin a version with a corrected gold once all runs are scored, so that there is something to move."""
    setting = benchmark.settings.get(key="manual-sentence")
    if setting.version == 1:
        finish_jobs("score", benchmark.submissions.values_list("pk", flat=True))
        creation.revise_setting(setting, test_set=corrected, by=accounts.users[CURATOR], note=CORRECTED)


def _ensure_benchmark(slug: str, *, by: User, **fields: Any) -> Benchmark:
    return Benchmark.objects.filter(slug=slug).first() or creation.create(slug=slug, by=by, **fields)


def _submit_runs(
    accounts: DemoAccounts,
    benchmark: Benchmark,
    systems: tuple[tuple[str, str], ...],
    *,
    runs: tuple[int, ...] = RUNS,
) -> None:
    """Submit runs of one system per team; stored files also answer the sentences of other sets."""
    ids = {json.loads(line)["id"] for line in inputs.input_lines(*benchmark.settings.all())}
    for (team, owner), (system, description) in zip(TEAM_OWNERS.items(), systems, strict=True):
        for run in runs:
            name = f"{system}-run{run}.jsonl"
            intake.receive(
                benchmark,
                team=accounts.teams[team],
                by=accounts.users[owner],
                system=system.title(),
                run=str(run),
                chunks=[_answers(name, ids)],
                filename=name,
                tags={"description": description},
            )


def _answers(name: str, ids: Collection[str]) -> bytes:
    """Return the lines of a file of predictions about some items."""
    lines = gzip.decompress((DATA / "runs" / f"{name}.gz").read_bytes()).splitlines(keepends=True)
    return b"".join(line for line in lines if json.loads(line)["id"] in ids)
