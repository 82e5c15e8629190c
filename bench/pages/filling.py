"""Fill a database in bulk: a large project, a large board, and many small ones of each.

Rows are copies of one made the usual way.
"""

from __future__ import annotations

from uuid import UUID

from django.core.management import call_command
from django.utils import timezone

from annotation import projects
from annotation.models import (
    Annotator,
    Answer,
    Batch,
    Item,
    Lease,
    Member,
    OntologyLabel,
    Project,
    TestSet,
    TestSetRow,
    Vote,
)
from annotation.ontology import inventory
from annotation.reports import vote_figures
from bench.pages.copies import ANNOTATORS, LABELS, MEASURES, RUNS, Filler, K, Size
from bench.pages.surroundings import surround
from evalsvc.core.accounts.models import Team, TeamMember, User
from evalsvc.core.jobs.models import Job
from evalsvc.core.jobs.queue import enqueue
from evalsvc.core.upkeep.registry import refresh_statistics
from evalsvc.evaluation.boards import stored_boards
from evalsvc.evaluation.measures.menu import offered
from evalsvc.evaluation.models import (
    Benchmark,
    Evaluation,
    Organiser,
    PredictionFile,
    Score,
    Setting,
    SettingVersion,
    Submission,
    System,
)
from tests.cast.basics import person, sentence
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast, freeze
from tests.cast.projects import create_project, import_lines
from workers.runner import run_inline


# ---- people ----------------------------------------------------------------------------------------
def fill(size: Size) -> None:
    """Migrate and fill the database of the settings."""
    call_command("migrate", verbosity=0)
    cast = BenchmarkCast.create()
    filler = Filler(size)
    first_user, first_team = filler.next_key(User), filler.next_key(Team)
    users, teams = filler.numbers(size.people), filler.numbers(size.boards // 2)
    name = "'user' || n"
    filler.copy(cast.lars, users, id=f"{first_user} + n", username=name, folded_username=name, email="''")
    filler.copy(cast.lugworm, teams, id=f"{first_team} + n", name="'Team ' || n", slug="'team-' || n")
    member = TeamMember.objects.filter(team=cast.lugworm).earliest("pk")
    team_of = f"{first_team} + 1 + n % {size.boards // 2}"
    filler.copy(member, users, user_id=f"{first_user} + n", team_id=team_of, role="'member'")
    with filler.indexes_made_last(Submission, Evaluation, Score, TestSetRow):
        _boards(filler, cast, first_team)
    _projects(filler, first_user)
    surround(filler)
    refresh_statistics()
    for look in (stored_boards.queue_outdated, vote_figures.queue_outdated):
        look()
    for job in Job.objects.filter(kind__in=(stored_boards.KIND, vote_figures.KIND), state=Job.State.QUEUED):
        run_inline(job)


# ---- boards ----------------------------------------------------------------------------------------
def _boards(filler: Filler, cast: BenchmarkCast, first_team: int) -> None:
    size = filler.size
    golds = [freeze(f"gold-{n}", RELATION_GOLD[: 6 - n], by=cast.olga) for n in range(4)]
    run_inline(enqueue("describe", golds[0].pk))  # copies have its statistics: releases need them
    golds[0].refresh_from_db()
    big = cast.benchmark(
        "big", settings=[(f"k{n}", gold, "sentence", "micro_f1") for n, gold in enumerate(golds)]
    )
    _runs(filler, cast, big, first_team, systems=size.runs // RUNS, first=1)
    small = cast.benchmark("b0", settings=[("main", golds[0], "sentence", "micro_f1")])
    _runs(filler, cast, small, first_team, systems=RUNS, first=size.runs + 1)
    _more_boards(filler, small)
    words, last = filler.words, filler.next_key(TestSet)
    sets = filler.numbers(size.boards * 2)
    name = {"slug": "'set-' || n", "name": "'Set ' || n", "sha256": words.sha256(f"{last} + n")}
    filler.copy(golds[0], sets, id=f"{last} + n", **name, state="'freezing'")
    row = TestSetRow.objects.filter(test_set=golds[0]).earliest("pk")
    wide = filler.numbers(size.items // 25)
    filler.copy(row, wide, test_set_id=f"{last} + 1", number="n", external_id="'s' || n")
    TestSet.objects.filter(pk=last + 1).update(rows=size.items // 25)
    TestSet.objects.filter(pk__gt=last).update(state=TestSet.State.FROZEN)


def _runs(
    filler: Filler, cast: BenchmarkCast, benchmark: Benchmark, first_team: int, *, systems: int, first: int
) -> None:
    """Scored runs of systems; each setting scores each run."""
    words, runs, now = filler.words, systems * RUNS, timezone.now()
    versions = list(SettingVersion.objects.filter(setting__benchmark=benchmark).order_by("setting__rank"))
    system = System.objects.create(benchmark=benchmark, team=cast.kelpie, name="System 0")
    digest = words.sha256(f"CAST({first} AS bigint) * 1000000 + n")
    file = PredictionFile.objects.create(sha256=f"{benchmark.pk:064x}"[:-1] + "f", size=1, name="predictions")
    job = Job.objects.create(kind="score", subject=0, state="done", lane="team 1", ended_at=now)
    values = {"state": "scored", "scored_at": now, "ended_at": now, "format": "jsonl", "form": "label"}
    run = Submission.objects.create(
        benchmark=benchmark, system=system, run="0", file=file, by=cast.kim, counts={"lines": 6}, job=job,
        held_to=[each.pk for each in versions], **values,
    )  # fmt: skip
    of_runs, teams = filler.numbers(runs), filler.size.boards // 2
    first_system, first_run = filler.next_key(System), filler.next_key(Submission)
    first_job = filler.next_key(Job)
    team = f"CASE n % {teams} WHEN 0 THEN {cast.kelpie.pk} ELSE {first_team} + n % {teams} END"
    filler.copy(
        system, filler.numbers(systems), id=f"{first_system} + n", name="'System ' || n", team_id=team
    )
    filler.copy(file, of_runs, sha256=digest, name="'predictions/' || n")
    filler.copy(job, of_runs, id=f"{first_job} + n", subject=f"{first_run} + n")
    day = words.ago(f"({runs} - n) * 8640000.0 / {runs} + 3600")
    filler.copy(
        run, of_runs,
        id=f"{first_run} + n", system_id=f"{first_system} + 1 + (n - 1) / {RUNS}",
        run=f"(n - 1) % {RUNS} + 1",
        file_id=digest, job_id=f"{first_job} + n", created_at=day, ended_at=day, scored_at=day,
    )  # fmt: skip
    evaluation = None
    keys = [each.key for each in offered("sentence") if each.family in MEASURES]
    for at, version in enumerate(versions):
        evaluation = Evaluation.objects.create(
            file=file, setting=version.setting, gold_sha256=version.gold_sha256, scorer=version.scorer,
            options={"beta": 1}, options_sha256="x", answers_sha256="x",
        )  # fmt: skip
        start = filler.next_key(Evaluation)
        filler.copy(
            evaluation, of_runs, id=f"{start} + n", file_id=digest, answers_sha256=digest, created_at=day
        )
        link = Submission.evaluations.through.objects.create(submission=run, evaluation=evaluation)
        filler.copy(link, of_runs, submission_id=f"{first_run} + n", evaluation_id=f"{start} + n")
        for rank, key in enumerate(keys):
            score = Score.objects.create(evaluation=evaluation, measure=key, value=0.5)
            value = (
                f"0.4 + ((n - 1) / {RUNS} * 7919 + {at} * 31 + {rank} * 17) % 1009 / 4000.0 + n % 5 * 0.002"
            )
            filler.copy(score, of_runs, evaluation_id=f"{start} + n", value=value)
            score.delete()
        link.delete()
        evaluation.delete()
    run.delete()
    system.delete()
    file.delete()
    job.delete()


def _more_boards(filler: Filler, small: Benchmark) -> None:
    """Copies of a small board with all its rows."""
    words, boards = filler.words, filler.numbers(filler.size.boards - 1)
    first = {model: filler.next_key(model) for model in (Benchmark, Setting)}
    filler.copy(small, boards, id=f"{first[Benchmark]} + n", slug="'b' || n", title="'Board ' || n")
    filler.copy(Organiser.objects.get(benchmark=small), boards, benchmark_id=f"{first[Benchmark]} + n")
    version = SettingVersion.objects.get(setting__benchmark=small)
    ids = {"id": f"{first[Setting]} + n", "benchmark_id": f"{first[Benchmark]} + n"}
    filler.copy(version.setting, boards, **ids)
    filler.copy(version, boards, setting_id=f"{first[Setting]} + n")
    for system in System.objects.filter(benchmark=small):
        start = filler.next_key(System)
        filler.copy(system, boards, id=f"{start} + n", benchmark_id=f"{first[Benchmark]} + n")
        for run in system.runs.all()[:2]:
            begun, evaluation = filler.next_key(Submission), run.evaluations.get()
            digest = words.sha256(f"CAST({run.pk} AS bigint) * 100000000 + n")
            filler.copy(run.file, boards, sha256=digest)
            ids = {"benchmark_id": f"{first[Benchmark]} + n", "system_id": f"{start} + n"}
            filler.copy(run, boards, id=f"{begun} + n", **ids, file_id=digest)
            scored = filler.next_key(Evaluation)
            ids = {"id": f"{scored} + n", "setting_id": f"{first[Setting]} + n"}
            filler.copy(evaluation, boards, **ids, file_id=digest, answers_sha256=digest)
            link = Submission.evaluations.through.objects.get(submission=run)
            filler.copy(link, boards, submission_id=f"{begun} + n", evaluation_id=f"{scored} + n")
            for score in evaluation.scores.all():
                filler.copy(score, boards, evaluation_id=f"{scored} + n")


# ---- projects --------------------------------------------------------------------------------------
def _projects(filler: Filler, first_user: int) -> None:
    """A large project, and small ones of the same people."""
    huge = create_project(labels=(), k=K)
    names = [{"name": f"r{n}", "title": f"Relation {n}", "phrase": "goes with"} for n in range(LABELS)]
    inventory.add_labels(huge, names, by=huge.created_by)
    batch = import_lines(huge, [sentence(0)])
    for name, role in (("ann", "annotator"), ("judy", "adjudicator"), ("vera", "viewer")):
        projects.set_member(huge, user=person(name), role=role, by=huge.created_by)
    Project.objects.filter(pk=huge.pk).update(slug="huge", title="Huge", state=Project.State.OPEN)
    huge.refresh_from_db()
    _small_projects(filler, huge, batch)
    _labelled(filler, huge, batch, first_user)


def _small_projects(filler: Filler, huge: Project, batch: Batch) -> None:
    words, several = filler.words, filler.numbers(filler.size.boards)
    first, batches = filler.next_key(Project), filler.next_key(Batch)
    stamp = words.uuid("900000000 + n")
    names = {"slug": "'p' || n", "title": "'Project ' || n", "inventory_stamp": stamp}
    filler.copy(huge, several, id=f"{first} + n", **names)
    for model in (Member, OntologyLabel):
        for row in model.objects.filter(project=huge):
            filler.copy(row, several, project_id=f"{first} + n")
    filler.copy(batch, several, id=f"{batches} + n", project_id=f"{first} + n")
    place = {"project_id": f"{first} + n", "batch_id": f"{batches} + n", "key": words.uuid("800000000 + n")}
    filler.copy(Item.objects.get(batch=batch), several, **place)


def _labelled(filler: Filler, huge: Project, batch: Batch, first_user: int) -> None:
    """Items of which four in five have all their votes, the others one; some of these are skipped."""
    size, words = filler.size, filler.words
    item = Item.objects.get(batch=batch)
    done = size.items * 4 // 5
    first = filler.next_key(Annotator)
    values = {"project": huge, "user": person("ann"), "name": "ann", "cursor": done}
    annotator = Annotator.objects.create(pk=first + 1, **values)
    others = filler.numbers(ANNOTATORS - 1)
    people = {"id": f"{first} + 1 + n", "user_id": f"{first_user} + n", "name": "'user' || n"}
    filler.copy(annotator, others, **people)
    filler.copy(Member.objects.get(project=huge, user=person("ann")), others, user_id=f"{first_user} + n")
    start, disputed = filler.next_key(Item), "n % 50 = 7"
    state = f"""CASE WHEN n > {done} THEN 'open' WHEN {disputed} THEN 'disputed'
        WHEN n % 40 = 3 THEN 'adjudicated' ELSE 'settled' END"""
    gold = f"CASE WHEN n <= {done} AND NOT {disputed} THEN {words.relation('n')} END"
    filler.copy(
        item, filler.numbers(size.items),
        id=f"{start} + n", external_id="'t' || n", rank="n", key=words.uuid("n"), state=state, gold=gold,
        content_key=words.sha256("n"), free=f"CASE WHEN n > {done} THEN {K - 1} ELSE 0 END",
        pattern=f"CASE WHEN n > {done} THEN '' WHEN {disputed} THEN '3\u20133' ELSE '6' END",
        votes_key=f"CASE WHEN n > {done} THEN '' ELSE {words.sha256('n')} END",
        policy_matters=f"n <= {done} AND n % 45 = 4",
    )  # fmt: skip
    with filler.indexes_made_last(Vote, Answer, Lease):
        _votes(filler, item, first, start, done)


def _votes(filler: Filler, item: Item, first: int, start: int, done: int) -> None:
    size, words = filler.size, filler.words
    annotator = Annotator.objects.get(pk=first + 1)
    payload = {"spans": [], "relations": ["r0"]}
    vote = Vote.objects.create(
        item=item, annotator=annotator, client_id=UUID(int=0), number=1, act="answer", payload=payload,
        milliseconds=3_000,
    )  # fmt: skip
    answer = Answer.objects.create(item=item, annotator=annotator, vote=vote, payload=payload, position=1)
    lease = Lease.objects.create(item=item, annotator=annotator, expires_at=timezone.now(), ending="answered")
    place, votes = f"(n - 1) * {K} + j", filler.next_key(Vote)
    source = (
        f"(SELECT n, j FROM numbers, few WHERE j < {K} AND n <= {size.items} AND (n <= {done} OR j = 0)) many"
    )
    who = f"{first} + 1 + (n + j * 33) % {ANNOTATORS}"
    label = "CASE WHEN n % 50 = 7 THEN j % 2 WHEN n % 3 = 0 AND j = 5 THEN 1 ELSE 0 END + n"
    when = words.ago(f"({size.items} - n) * 6900000.0 / {size.items} + j * 11 + 60")
    same = {"item_id": f"{start} + n", "annotator_id": who}
    said = {"payload": words.relation(label)}
    filler.copy(
        vote, source,
        id=f"{votes} + 1 + {place}", **same, **said, client_id=words.uuid(f"1 + {place}"), at=when,
        milliseconds="2000 + (n % 20000 * 7919 + j * 104729) % 20000",
    )  # fmt: skip
    filler.copy(answer, source, **same, **said, vote_id=f"{votes} + 1 + {place}", position="j + 1")
    filler.copy(lease, source, **same, granted_at=when, expires_at=when)
    skipped = filler.numbers(size.items, f"n > {done} AND n % 10 = 5")
    filler.copy(
        vote, skipped,
        item_id=f"{start} + n", annotator_id=f"{first} + 1 + (n + 3) % {ANNOTATORS}",
        client_id=words.uuid("700000000 + n"), act="'skip'", payload="NULL", reason="'undecided'",
        at=words.ago("n % 600000"),
    )  # fmt: skip
    for row in (answer, lease, vote):
        row.delete()
