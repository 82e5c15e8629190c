"""Everything that must hold when all accepted work has ended, recomputed by hand."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from tests.crash.clients import BOARDS, LINES_OF_AN_IMPORT, WHOLE, Clients, Sent, candidates_of, expected
from tests.crash.points import CORPUS, PARTS

BOARD_SECONDS = 30


def wrong(clients: Clients) -> list[str]:
    """What does not hold."""
    checks = (refusals, jobs, runs, models, boards, quota, votes, imports, frozen_sets)
    checks += (derived_sets, comparisons, candidates, storage)
    return [fault for check in checks for fault in check(clients)]


def refusals(clients: Clients) -> Iterator[str]:
    yield from (f"refused: {text}" for text in clients.refusals)


def jobs(clients: Clients) -> Iterator[str]:
    from django.db.models import Count

    from evalsvc.core.jobs.models import Job, JobEvent

    # a freeze right after another one, with no import between them, is its own fault
    for job in Job.objects.exclude(state="done").exclude(error_code="identical_freeze"):
        yield f"job {job.pk} ({job.kind} {job.subject}): {job.state} {job.error_code} {job.error}"
    twice = JobEvent.objects.filter(what="done").values("job").annotate(n=Count("pk")).filter(n__gt=1)
    yield from (f"job {row['job']} done {row['n']} times" for row in twice)


def is_score(value: float | None, wanted: float) -> bool:
    return value is not None and math.isclose(value, wanted)


def runs(clients: Clients) -> Iterator[str]:
    """Every accepted run is there once, with the score computed by hand."""
    from evalsvc.evaluation.models import Score, Setting, Submission

    states = dict(Submission.objects.values_list("pk", "state"))
    gold = dict(Setting.objects.values_list("benchmark__slug", "test_set__slug"))
    digest = dict(Setting.objects.values_list("benchmark__slug", "test_set__sha256"))
    rows = Score.objects.filter(measure="micro_f1")
    found = defaultdict(list)
    for key, sha256, value in rows.values_list("evaluation__submissions", "evaluation__gold_sha256", "value"):
        found[key, sha256].append(value)
    for run in clients.runs:
        wanted = expected(run.answers, clients.golds[gold[run.board]])
        values = found[run.pk, digest[run.board]]
        if states.get(run.pk) != "scored" or len(values) != 1 or not is_score(values[0], wanted):
            yield f"submission {run.pk} ({run.board} {run.run}): {states.get(run.pk)} {values}, not {wanted}"
    names = Submission.objects.values_list("benchmark__slug", "system__name", "run")
    known = Counter(names.filter(benchmark__slug__in=clients.golds))
    yield from (f"run {name} is there {n} times" for name, n in known.items() if n > 1)
    if known.total() != len(clients.runs):
        yield f"{known.total()} runs, but {len(clients.runs)} were accepted"


def models(clients: Clients) -> Iterator[str]:
    from evalsvc.evaluation.models import Submission

    sent = Submission.objects.filter(benchmark=clients.entities)
    rows = sent.filter(evaluations__scores__measure="conll_micro_f1")
    scored = sorted(rows.values_list("pk", "state", "evaluations__scores__value"))
    if scored != [(pk, "scored", 1.0) for pk in sorted(clients.model_runs)]:
        yield f"models {sorted(clients.model_runs)} were accepted, but there are {scored}"
    if sent.count() != len(clients.model_runs):
        yield f"{sent.count()} models, but {len(clients.model_runs)} were accepted"


def boards(clients: Clients) -> Iterator[str]:
    """Each board as it is served has mean and n of the accepted runs."""
    from evalsvc.evaluation.models import Setting

    gold = dict(Setting.objects.values_list("benchmark__slug", "test_set__slug"))
    for name in (*(f"rel-{n}" for n in range(BOARDS)), "again"):
        lines = clients.golds[gold[name]]
        wanted = board_by_hand([run for run in clients.runs if run.board == name], lines)
        end, shown = time.monotonic() + BOARD_SECONDS, None
        while shown != wanted and time.monotonic() < end:  # large ones are computed by a job
            status, board = clients.request("olga", f"benchmarks/{name}/board", method="GET")
            shown = {row["system"]: shown_figures(row) for row in board["rows"]} if status == 200 else board
            time.sleep(0 if shown == wanted else 1)
        if shown != wanted:
            yield f"board {name} shows {shown}, not {wanted}"


def board_by_hand(sent: list[Sent], lines: list[dict[str, Any]]) -> dict[str, tuple[int, float]]:
    """Number and mean of the different answers of each system."""
    answers = defaultdict(set)
    for run in sent:
        answers[run.system].add(tuple(run.answers))
    return {
        name: (len(own), round(fmean(expected([*each], lines) for each in own), 9))
        for name, own in answers.items()
    }


def shown_figures(row: dict[str, Any]) -> tuple[int, float]:
    return row["n"], round(row["figures"]["micro_f1"]["mean"], 9)


def quota(clients: Clients) -> Iterator[str]:
    from evalsvc.evaluation.benchmarks import quotas
    from evalsvc.evaluation.models import Benchmark

    for benchmark in Benchmark.objects.filter(slug__in=[f"rel-{n}" for n in range(BOARDS)]):
        used = {each.name: each.used for each in quotas.allowances(benchmark, clients.cast.kelpie)}
        accepted = sum(run.board == benchmark.slug for run in clients.runs)
        if (used["in_total"], used["at_once"]) != (accepted, 0):
            yield f"{benchmark}: {used} are used of the quotas, but {accepted} runs were accepted"


def votes(clients: Clients) -> Iterator[str]:
    """Acknowledged votes are stored once, refused ones are not, and items follow from them."""
    from annotation.models import Item, Vote

    rows = Vote.objects.filter(item__project=clients.labelling)
    columns = "client_id", "item__key", "annotator__user__username", "payload__relations"
    stored = [
        (str(client), (str(item), who, *chosen)) for client, item, who, chosen in rows.values_list(*columns)
    ]
    if len(stored) != len(clients.votes) or dict(stored) != clients.votes:
        differing = {client for client, _ in {*stored} ^ {*clients.votes.items()}}
        yield f"{len(stored)} votes, {len(clients.votes)} acknowledged; different: {sorted(differing)[:5]}"
    given = defaultdict(list)
    for item, _, choice in clients.votes.values():
        given[item].append(choice)
    for key, state in Item.objects.filter(project=clients.labelling, votes__isnull=False).values_list(
        "key", "state"
    ):
        choices = given[str(key)]
        wanted = "open" if len(choices) < 2 else "settled" if len({*choices}) == 1 else "disputed"
        if state != wanted:
            yield f"item {key} is {state} after the votes {choices}"


def imports(clients: Clients) -> Iterator[str]:
    from annotation.models import Batch, Item

    batches = Batch.objects.in_bulk(clients.imports)
    for pk in clients.imports:
        batch = batches.get(pk)
        n = batch.counts.get("items", 0) + batch.counts.get("repeated_items", 0) if batch else 0
        if batch is None or batch.state != "done" or n != LINES_OF_AN_IMPORT:
            yield f"import {pk}: {batch and (batch.state, batch.reason, batch.counts)}"
    ids = Counter(Item.objects.live().filter(project=clients.deciding).values_list("external_id", flat=True))
    wanted = {name for names in clients.imports.values() for name in names} | {f"s{at}" for at in range(7)}
    if ids != Counter(wanted):
        yield f"items differ: {sorted((ids - Counter(wanted)) + (Counter(wanted) - ids))[:5]}"


def frozen_sets(clients: Clients) -> Iterator[str]:
    from annotation.testset import TestSet, export_lines

    for test_set in TestSet.objects.filter(slug__in=clients.frozen):
        if test_set.reason.startswith("Nothing has changed"):
            continue  # nothing was imported since the freeze before
        lines = list(export_lines(test_set))
        sha256 = hashlib.sha256(b"".join(lines)).hexdigest()
        if (test_set.state, len(lines), sha256) != ("frozen", 7, test_set.sha256):
            yield f"test set {test_set.slug}: {test_set.state}, {len(lines)} lines"


def derived_sets(clients: Clients) -> Iterator[str]:
    """Parts of a set make up the whole; mapped ones have each of its lines under the new name."""
    from annotation.testset import TestSet, export_lines

    whole = sorted(export_lines(TestSet.objects.get(slug=WHOLE)))
    renamed = [line.replace(b"born_in", b"birthplace") for line in whole]
    sets = defaultdict(list)
    for test_set in TestSet.objects.filter(slug__in=clients.derived):
        sets[(test_set.manifest.get("split") or {}).get("seed", test_set.slug)].append(test_set)
    for made in sets.values():
        lines = sorted(line for test_set in made for line in export_lines(test_set))
        states = {test_set.state for test_set in made}
        if states != {"frozen"} or lines != (whole if "split" in made[0].manifest else sorted(renamed)):
            yield f"{', '.join(map(str, made))}: {states}, {len(lines)} lines"


def comparisons(clients: Clients) -> Iterator[str]:
    """Tests that were asked for are there, as they are when nothing happens meanwhile."""
    from evalsvc.evaluation.models import StoredComparison
    from workers.handlers import compare

    for pk in StoredComparison.objects.values_list("pk", flat=True):
        row = compare._row(pk)
        if row.tests != compare._Comparison(row, lambda *report: None).tests() or row.parts.exists():
            yield f"comparison {pk}: {row.tests and len(row.tests)} measures, {row.parts.count()} parts"


def candidates(clients: Clients) -> Iterator[str]:
    """A choice of candidates is there whole, or not at all."""
    from annotation.models import CandidateChoice, Project

    project = Project.objects.get(pk=clients.corpus.pk)
    made = project.candidate_choices.filter(state=CandidateChoice.State.DONE).order_by("-pk").first()
    work = list(project.items.filter(use="").order_by("rank", "pk").values_list("external_id", flat=True))
    present = [f"s{at}" for at in range(CORPUS)]
    possible = [candidates_of(part) for part in range(PARTS)] if made else [present]
    if made and made.pk in clients.choices:
        possible = [candidates_of(clients.choices[made.pk])]
    if project.choosing or sorted(work) not in map(sorted, possible):
        yield f"candidates: {'half changed, ' * project.choosing}{len(work)} sentences: {work[:9]}"


def storage(clients: Clients) -> Iterator[str]:
    """Two hours later nothing is left that no row names, and `doctor` finds nothing."""
    from evalsvc.core.upkeep import registry
    from evalsvc.core.upkeep.stored_files import all_files

    root, before = clients.service.folder / "files", time.time() - 7_200
    for path in filter(Path.is_file, root.rglob("*")):
        os.utime(path, (before, before))
    registry.sweep()
    stored = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    yield from (f"orphan {name}" for name in stored - {file.name for file in all_files()})
    yield from (f"{finding.code}: {finding.detail}" for finding in registry.findings())
