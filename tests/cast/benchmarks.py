"""Test sets, teams and benchmarks of the tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from annotation.testset import TestSet, TestSetRow
from evalsvc.core.accounts.models import Team, User
from evalsvc.core.accounts.teams import create_team
from evalsvc.core.formats.records import canonical_line
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.evaluation.submissions import intake
from tests.cast.basics import jsonl, person, sentence
from tests.cast.replay import replayed

LABELS = ["born_in", "works_for", "part_of"]
Line = dict[str, Any]


def gold_sentence(external_id: str, head: str, tail: str, *relations: str) -> Line:
    """A line of gold with a canary in its text, so that a leak shows."""
    text = f"Ada was seen in Turin, canary-{external_id}."
    return sentence(external_id, text, head=head, tail=tail, relations=list(relations))


RELATION_GOLD = [
    gold_sentence("s1", "Q1", "Q2", "born_in"),
    gold_sentence("s2", "Q1", "Q2"),
    gold_sentence("s3", "Q3", "Q4", "works_for"),
    gold_sentence("s4", "Q5", "Q6"),
    gold_sentence("s5", "Q7", "Q8", "born_in"),
    gold_sentence("s6", "Q9", "Q2", "part_of"),
]
ENTITY_GOLD = [
    {
        "id": "d1",
        "tokens": ["Ada", "left", "New", "Turin"],
        "spans": [[0, 1, "PER"], [2, 4, "LOC"]],
        "relations": [],
    },
    {"id": "d2", "tokens": ["It", "rained"], "spans": [], "relations": []},
    {"id": "d3", "tokens": ["Bo", "met", "Cy"], "spans": [[0, 1, "PER"], [2, 3, "PER"]], "relations": []},
]

JOINT_GOLD = [line | {"relations": []} for line in ENTITY_GOLD]
JOINT_GOLD[0] = JOINT_GOLD[0] | {"relations": [[0, "left", 1]]}
JOINT_GOLD[2] = JOINT_GOLD[2] | {"relations": [[0, "met", 1]]}
JOINT_LABELS = [
    {"name": name, "title": name, "part": part}
    for name, part in (("PER", "entity"), ("LOC", "entity"), ("left", "relation"), ("met", "relation"))
]


def freeze(
    slug: str,
    lines: Iterable[Line],
    *,
    by: User,
    labels: Iterable[str | dict[str, Any]] = LABELS,
    kind: str = "relations",
    origin: str = "imported",
    people: Iterable[int] = (),
    sha256: str = "",
    steps: Iterable[dict[str, Any]] = (),
    **made_of: Any,
) -> TestSet:
    """A frozen test set, as a freeze, an import or a split leaves it; `steps` changed its ontology."""
    raw = [canonical_line(line) for line in lines]
    test_set = TestSet.objects.create(
        slug=slug,
        name=slug,
        version="1",
        kind=kind,
        origin=origin,
        labels=[{"name": label, "title": label} if isinstance(label, str) else label for label in labels],
        manifest={"people": list(people), "ontology": list(steps)} | made_of,
        rows=len(raw),
        sha256=sha256 or hashlib.sha256(b"".join(raw)).hexdigest(),
        by=by,
    )
    TestSetRow.objects.bulk_create(
        TestSetRow(
            test_set=test_set, number=n, external_id=json.loads(line)["id"], line=line.decode().rstrip("\n")
        )
        for n, line in enumerate(raw, 1)
    )
    test_set.state = TestSet.State.FROZEN
    test_set.save(update_fields=["state"])
    return test_set


@dataclass
class BenchmarkCast:
    """Olga organises; Kim is in Kelpie, Lars in Lugworm; Nora annotates and is in no team."""

    olga: User
    kim: User
    lars: User
    kelpie: Team
    lugworm: Team

    @classmethod
    @replayed
    def create(cls) -> BenchmarkCast:
        olga, kim, lars = person("olga", may_organise=True), person("kim"), person("lars")
        return cls(olga, kim, lars, create_team(name="Kelpie", by=kim), create_team(name="Lugworm", by=lars))

    def benchmark(self, slug: str = "rel", *, settings: Iterable[Any] = (), **fields: Any) -> Benchmark:
        """A relation benchmark; settings are (key, test set, unit, main[, only]) and show everything."""
        fields = {"title": slug, "task": "relations", "labels": LABELS, "negative": "N/A"} | fields
        benchmark = creation.create(slug=slug, by=self.olga, **fields)
        for key, test_set, unit, main, *only in settings:
            creation.add_setting(
                benchmark,
                key=key,
                title=key,
                test_set=test_set,
                unit=unit,
                main=main,
                by=self.olga,
                only=only[0] if only else None,
                disclosure="open",
            )
        return benchmark

    @replayed
    def relations(self, unit: str = "sentence", main: str = "micro_f1", **fields: Any) -> Benchmark:
        """One setting over the six sentences."""
        gold = freeze(f"gold-{unit}", RELATION_GOLD, by=self.olga)
        return self.benchmark(settings=[("main", gold, unit, main)], **fields)

    @replayed
    def entities(self, **fields: Any) -> Benchmark:
        gold = freeze("spans", ENTITY_GOLD, by=self.olga, labels=["PER", "LOC"], kind="entities")
        fields = {"task": "entities", "labels": ["PER", "LOC"], "negative": ""} | fields
        return self.benchmark("ner", settings=[("main", gold, "document", "conll_micro_f1")], **fields)

    @replayed
    def joint(self, **fields: Any) -> Benchmark:
        """Entities and relations of three documents; `met` has no direction."""
        gold = freeze("joint", JOINT_GOLD, by=self.olga, labels=JOINT_LABELS, kind="joint")
        labels = [label | ({"symmetric": True} if label["name"] == "met" else {}) for label in JOINT_LABELS]
        fields = {"task": "joint", "labels": labels, "negative": ""} | fields
        settings = [("main", gold, "document", "relation_strict_micro_f1")]
        return self.benchmark("joint", settings=settings, **fields)

    @partial(replayed, publishes=True)
    def submit(
        self,
        benchmark: Benchmark,
        lines: Iterable[Line] | bytes,
        *,
        run: str = "1",
        system: str = "Net",
        **fields: Any,
    ) -> Submission:
        fields = {"team": self.kelpie, "by": self.kim} | fields
        sent = lines if isinstance(lines, bytes) else jsonl(lines)
        return intake.receive(benchmark, system=system, run=run, chunks=[sent], **fields).submission
