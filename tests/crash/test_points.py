"""Work whose process is killed, or stopped and late, at every fault point in turn ends once and right."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection, connections
from django.db.models.functions import Now

from annotation import candidate_choices, candidates
from annotation.candidates import Wanted
from annotation.freezing import builder, writer
from annotation.imports import batches, items, suggestions, votes
from annotation.models import Project
from annotation.splits import making, mapping
from annotation.splits.making import Plan
from annotation.splits.mapping import MappingPlan
from annotation.testset import TestSet, export_lines
from evalsvc.core.jobs.models import Job
from evalsvc.core.upkeep import registry
from evalsvc.evaluation.benchmarks import creation
from evalsvc.evaluation.comparison import compared
from evalsvc.evaluation.models import Evaluation, PredictionFile, Setting, StoredComparison, Submission
from tests.cast.basics import sentence
from tests.cast.benchmarks import LABELS, RELATION_GOLD, BenchmarkCast, freeze
from tests.cast.projects import answered_item, create_project, curator, jsonl_file, project_with_items
from tests.crash import points
from tests.places.extent import one_in
from workers.handlers import compare
from workers.runner import run_next

LINES = [{"id": line["id"], "label": "born_in"} for line in RELATION_GOLD]
QUEUES = ("score", "ingest", "heavy")
AN_HOUR_AGO = time.time() - 7_200


@pytest.fixture(autouse=True)
def place(either_database: str, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    settings.JOB_HEARTBEAT_SECONDS = 0.05
    monkeypatch.setenv(points.FOLDER, str(tmp_path))
    for module in (items, votes, suggestions, batches, writer, candidates):
        monkeypatch.setattr(module, "CHUNK", 2)
    monkeypatch.setattr(candidates, "AT_ONCE", 2)
    monkeypatch.setattr(compared, "REPLICATES", 99)


@contextmanager
def interrupted(
    work: Callable[[], object], point: str, fate: signal.Signals, *, web: bool = False, passes: int = 0
) -> Iterator[None]:
    """Work in another process up to the point; one that was only stopped goes on after the block."""
    Path(os.environ[points.FOLDER], f"{point}.armed").write_text(str(passes))
    connections.close_all()
    pid = os.fork()
    if not pid:
        try:
            # the event loop of a browser test does not go on in this process, and connections depend on it
            end_idle_transactions()
            connections["default"] = connections.create_connection("default")
            points.reached = lambda name: stop(fate)
            points.install(web=web)
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, os.WUNTRACED)
    try:
        assert os.WIFSTOPPED(status) or os.WIFSIGNALED(status), f"{point} was not reached"
        yield
    finally:
        if os.WIFSTOPPED(status):
            os.kill(pid, signal.SIGCONT)
            os.waitpid(pid, 0)


def end_idle_transactions() -> None:
    """Let the server end what any thread leaves open: who stops in a heartbeat may hold the job's row."""
    if connection.vendor == "postgresql":
        options = {"options": "-c idle_in_transaction_session_timeout=5000"}
        connections.settings["default"].setdefault("OPTIONS", {}).update(options)


def stop(fate: signal.Signals) -> None:
    """Stop this process; the server soon ends a transaction that it left open."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET idle_in_transaction_session_timeout = 200")
    os.kill(os.getpid(), fate)


def run_all() -> None:
    """Let another worker do what waits, after the lease of the first has run out, and pauses after errors."""
    expire_leases()
    Job.objects.filter(state="queued").update(run_after=Now())
    while sum(run_next(queue) for queue in QUEUES):
        pass


def expire_leases() -> None:
    # a stopped process may hold the rows until the server ends its transaction
    Job.objects.filter(state="running").update(lease_until=Now() - timedelta(seconds=1))


def pass_an_hour() -> None:
    for path in Path(default_storage.path("")).rglob("*"):
        os.utime(path, (AN_HOUR_AGO, AN_HOUR_AGO))
    registry.sweep()


def stored_names() -> set[str]:
    root = Path(default_storage.path(""))
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


@dataclass
class Work:
    """Something accepted, and what is true of it once it has ended."""

    jobs: tuple[str, ...]
    is_right: Callable[[], object]


def submission() -> Work:
    cast = BenchmarkCast.create()
    row = cast.submit(cast.relations(), LINES)
    return Work(("score",), lambda: has_scores(row.pk, 0.4))


def has_scores(pk: int, *expected: float) -> None:
    row = Submission.objects.get(pk=pk)
    assert (row.state, row.reason_code) == ("scored", "")
    of_row = row.evaluations.order_by("pk")
    assert [each.scores.get(measure="micro_f1").value for each in of_row] == pytest.approx(expected)
    assert Evaluation.objects.count() == len(expected)


def rescoring() -> Work:
    cast = BenchmarkCast.create()
    row = cast.submit(cast.relations(), LINES)
    run_all()
    other = [line | {"relations": ["born_in"]} for line in RELATION_GOLD]
    gold = freeze("other", other, by=cast.olga)
    creation.revise_setting(Setting.objects.get(), test_set=gold, by=cast.olga)
    return Work(("score", "score"), lambda: has_scores(row.pk, 0.4, 1.0))


def importing() -> Work:
    batch = receive(create_project(), "items", [sentence(f"s{at}", relations=["A"]) for at in range(7)])
    return Work(("import",), lambda: has_items(batch))


def receive(project: Project | None, what: str, lines: list[Any], *, format: str = "", **options: Any) -> int:
    more = {"filename": "lines.jsonl", "format": format, "options": options}
    return batches.receive(content=what, upload=jsonl_file(lines), by=curator(), project=project, **more).pk


def has_items(pk: int) -> None:
    batch = batches.Batch.objects.get(pk=pk)
    assert (batch.state, batch.reason, batch.counts["items"]) == ("done", "", 7)
    assert sorted(batch.items.values_list("external_id", flat=True)) == [f"s{at}" for at in range(7)]
    assert batches.Item.objects.count() == 7
    assert batch.items.filter(sealed__labels__relations=["A"]).count() == 7


def importing_votes() -> Work:
    project = project_with_items(7)
    who = ("Kim", "Lars")
    lines = [{"item": f"s{at}", "annotator": name, "labels": ["A"]} for at in range(7) for name in who]
    batch = receive(project, "votes", lines)
    return Work(("import", "import"), lambda: has_votes(project, batch))


def has_votes(project: Project, pk: int) -> None:
    assert batches.Batch.objects.values_list("state", "reason").get(pk=pk) == ("done", "")
    assert batches.Vote.objects.count() == 14
    assert set(project.items.values_list("state", flat=True)) == {"settled"}


def left_behind(accept: Callable[[], Work], queue: str) -> Callable[[], Work]:
    """The work after an attempt that was killed as it was about to end; its rows are still there."""

    def accept_and_kill() -> Work:
        work = accept()
        with interrupted(lambda: run_next(queue), "before commit", KILLED):
            expire_leases()
        return work

    accept_and_kill.__name__ = f"{accept.__name__} again"
    return accept_and_kill


def freezing() -> Work:
    project = project_with_items(7)
    for at in range(7):
        answered_item(project, ["A"], ["A"], item=f"s{at}")
    test_set = builder.freeze(project, name="Trial", version="1.0", by=curator())
    return Work(("import", "freeze", "describe"), lambda: is_frozen(test_set.pk))


def is_frozen(pk: int) -> None:
    test_set = TestSet.objects.get(pk=pk)
    lines = list(export_lines(test_set))
    assert (test_set.state, test_set.rows, len(lines)) == ("frozen", 7, 7)
    assert test_set.sha256 == hashlib.sha256(b"".join(lines)).hexdigest()


def importing_gold() -> Work:
    lines = [sentence(f"s{at}", relations=["A"]) for at in range(7)]
    pk = receive(None, "gold", lines, name="Trial", version="1")
    return Work(("import", "describe"), lambda: is_frozen(TestSet.objects.get(batch=pk).pk))


def importing_texts() -> Work:
    """Plain text, which the job splits into sentences."""
    project = create_project("entities")
    text = " ".join(f"Ada was born in {at} Turin." for at in range(7))
    pk = receive(project, "items", [text], format="plain-text")
    return Work(("import",), lambda: has_texts(pk))


def has_texts(pk: int) -> None:
    batch = batches.Batch.objects.get(pk=pk)
    assert (batch.state, batch.reason, batch.counts["items"]) == ("done", "", 7)
    assert batches.Item.objects.count() == len(set(batch.items.values_list("text", flat=True))) == 7


def importing_suggestions() -> Work:
    project = project_with_items(7)
    pk = receive(project, "suggestions", [{"id": f"s{at}", "label": "A"} for at in range(7)])
    return Work(("import", "import"), lambda: has_suggestions(pk))


def has_suggestions(pk: int) -> None:
    batch = batches.Batch.objects.get(pk=pk)
    assert (batch.state, batch.reason) == ("done", "")
    assert batches.Suggestion.objects.count() == batch.suggestions.values("item").distinct().count() == 7


def splitting() -> Work:
    whole = freeze("whole", RELATION_GOLD, by=curator())
    parts = making.make(whole, Plan.of(parts="dev=0.5,test=0.5", seed="split-1"), by=curator())
    kinds = ("split", "split", "describe", "describe")
    return Work(kinds, lambda: are_parts([part.pk for part in parts], whole))


def are_parts(keys: list[int], whole: TestSet) -> None:
    parts = TestSet.objects.in_bulk(keys).values()
    lines = [line for part in parts for line in export_lines(part)]
    assert {part.state for part in parts} == {"frozen"}
    assert sorted(lines) == sorted(export_lines(whole))
    for part in parts:
        part.verify()


def mapping_labels() -> Work:
    whole, names = freeze("whole", RELATION_GOLD, by=curator()), {"born_in": "birthplace"}
    plan = MappingPlan.of(whole, names=names, by=curator())
    pk = mapping.make(plan, name="Mapped", version="1", by=curator()).pk
    return Work(("map", "describe"), lambda: is_mapped(pk, whole))


def is_mapped(pk: int, whole: TestSet) -> None:
    mapped = TestSet.objects.get(pk=pk)
    assert mapped.state == "frozen"
    mapped.verify()
    wanted = [line.replace(b"born_in", b"birthplace") for line in export_lines(whole)]
    assert list(export_lines(mapped)) == wanted


def comparing() -> Work:
    """Tests of three systems with one run each, by several jobs at once."""
    cast = BenchmarkCast.create()
    benchmark = cast.relations()
    for at, name in enumerate(SYSTEMS):
        cast.submit(benchmark, [line | {"label": LABELS[at]} for line in LINES], system=name)
    run_all()
    done = Job.objects.filter(state="done").values_list("kind", flat=True)
    before = tuple(done)
    setting = Setting.objects.select_related("benchmark", "test_set", "only").get()
    names = [f"{cast.kelpie.slug}/{name}" for name in SYSTEMS]
    compared.start(compared.requested(setting, names, person=cast.olga), by=cast.olga)
    return Work((*before, "compare", *["compare parts"] * 3), are_tested)


def are_tested() -> None:
    row = compare._row(StoredComparison.objects.get().pk)
    assert row.tests == compare._Comparison(row, lambda *report: None).tests()
    assert not row.parts.exists()


def choosing() -> Work:
    """Candidates whose effect is counted already."""
    project, names = project_with_items(7), ["s5", "s4", "s0"]
    wanted = Wanted(order=["ids"], ids=names)
    choice = candidate_choices.request(project, wanted, by=curator())
    run_all()
    candidate_choices.apply(choice, by=curator())
    return Work(("import", "candidates", "candidates"), lambda: are_candidates(project, names))


def are_candidates(project: Project, names: list[str]) -> None:
    project.refresh_from_db()
    work = dict(project.items.filter(use="").values_list("external_id", "rank"))
    assert (project.choosing, work.keys(), sorted(work.values())) == (False, set(names), [1, 2, 3])


SYSTEMS = ("Net", "Tree", "Rules")
KILLED, STOPPED = signal.SIGKILL, signal.SIGSTOP
CASES = [
    *((left_behind(importing, "ingest"), "ingest", "between chunks", passes) for passes in (0, 2, 4, 6)),
    *(
        (left_behind(importing_votes, "ingest"), "ingest", "between chunks", passes)
        for passes in (0, 2, 4, 6)
    ),
    *((left_behind(freezing, "heavy"), "heavy", "between chunks", passes) for passes in (0, 2, 4, 6)),
    *((submission, "score", name, 0) for name in points.SCORING),
    (rescoring, "score", "rescoring", 0),
    *((importing, "ingest", name, 0) for name in ("importing", "inserting", "before commit")),
    *((importing_votes, "ingest", name, 0) for name in ("inserting", "before commit")),
    *((freezing, "heavy", name, 0) for name in ("freezing", "inserting", "before commit")),
    *((left_behind(splitting, "heavy"), "heavy", "between chunks", passes) for passes in (0, 4)),
    *((splitting, "heavy", name, 0) for name in ("splitting", "inserting", "before commit")),
    *((mapping_labels, "heavy", name, 0) for name in ("mapping", "inserting", "before commit")),
    *((importing_gold, "ingest", name, 0) for name in ("inserting", "before commit")),
    *((importing_texts, "ingest", name, 0) for name in ("inserting", "before commit")),
    *((importing_suggestions, "ingest", name, 0) for name in ("inserting", "before commit")),
    *((comparing, "heavy", "comparing", passes) for passes in (0, 4)),
    (comparing, "heavy", "before commit", 0),
    *((choosing, "heavy", "choosing", passes) for passes in (0, 2)),
    (choosing, "heavy", "before commit", 0),
]


def runs() -> Iterator[Any]:
    """Every case with both fates, killed on SQLite, stopped on PostgreSQL.

    On SQLite a process that is stopped within a transaction stops all others.
    """
    for at, (accept, queue, point, passes) in enumerate(CASES):
        name = f"{accept.__name__} {point} {passes or ''}".strip()
        killed = pytest.param(accept, queue, point, passes, KILLED, "sqlite", id=f"{name}, killed")
        stopped = (accept, queue, point, passes, STOPPED, "postgres")
        late = pytest.param(*stopped, marks=pytest.mark.postgres, id=f"{name}, stopped")
        yield from (killed, late) if at % 4 == 3 else (late, killed)


@pytest.mark.parametrize(
    ("accept", "queue", "point", "passes", "fate", "either_database"),
    one_in(4, [*runs()]),
    indirect=["either_database"],
)
def test_work_interrupted_at_any_point_ends_once_and_right(
    accept: Callable[[], Work], queue: str, point: str, passes: int, fate: signal.Signals
) -> None:
    work = accept()
    with interrupted(lambda: run_next(queue), point, fate, passes=passes):
        run_all()
    run_all()
    work.is_right()
    assert sorted(Job.objects.filter(state="done").values_list("kind", flat=True)) == sorted(work.jobs)
    assert not Job.objects.exclude(state="done").exists()
    pass_an_hour()
    assert list(registry.findings()) == []
    work.is_right()


@pytest.mark.parametrize("either_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("point", points.WEB)
def test_an_upload_interrupted_at_any_point_can_be_repeated(point: str) -> None:
    cast = BenchmarkCast.create()
    benchmark = cast.relations()
    with interrupted(lambda: cast.submit(benchmark, LINES, idempotency_key="once"), point, KILLED, web=True):
        pass
    row = cast.submit(benchmark, LINES, idempotency_key="once")
    run_all()
    has_scores(row.pk, 0.4)
    assert Submission.objects.count() == 1
    pass_an_hour()
    assert stored_names() == {PredictionFile.objects.get().name}
