"""What people queued is refused once they could not ask for it any more, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from annotation import candidate_choices, projects
from annotation.candidates import Wanted
from annotation.freezing import builder
from annotation.imports import batches
from annotation.models import Answer, Batch, Project
from annotation.splits import building, making, mapping
from annotation.splits.making import Plan
from annotation.splits.mapping import MappingPlan
from annotation.testset import TestSet, logged_changes
from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.activity.models import entries
from evalsvc.core.jobs import transitions
from evalsvc.core.jobs.models import Job
from tests.cast.basics import person, run_job, sentence
from tests.cast.projects import (
    answered_item,
    curator,
    import_lines,
    jsonl_file,
    project_with_items,
)

pytestmark = pytest.mark.django_db
Ending = Callable[[Project], object]


def second() -> User:
    return person("cleo", may_organise=True)


@pytest.fixture
def project() -> Project:
    """A project with a frozen set, sentences answered and open, and a second curator."""
    made = project_with_items(6, k=1)
    for at in range(3):
        answered_item(made, ["A"], item=f"s{at}")
    projects.set_member(made, user=second(), role="curator", by=curator())
    frozen = builder.freeze(made, name="Tides", version="1.0", leave_out=True, by=curator())
    run_job("freeze", frozen.pk)
    answered_item(made, ["B"], item="s3")
    return made


def send(project: Project | None, what: str, *lines: dict[str, object], **options: object) -> Batch:
    return batches.receive(
        content=what, upload=jsonl_file(lines), filename="late.jsonl", by=second(), project=project,
        options=options,
    )  # fmt: skip


def items(project: Project) -> tuple[str, int]:
    return "import", send(project, "items", sentence(9)).pk


def answers(project: Project) -> tuple[str, int]:
    return "import", send(project, "votes", {"item": "s5", "annotator": "ghost", "labels": ["A"]}).pk


def gold(project: Project) -> tuple[str, int]:
    line = {"id": "1", "relations": ["A"]}
    return "import", send(None, "gold", line, name="Published", version="1").pk


def freeze(project: Project) -> tuple[str, int]:
    return "freeze", builder.freeze(project, name="Tides", version="2.0", leave_out=True, by=second()).pk


def split(project: Project) -> tuple[str, int]:
    plan = Plan.of(parts="dev=0.5,test=0.5", seed="s")
    return making.KIND, making.make(project.test_sets.get(version="1.0"), plan, by=second())[0].pk


def map_labels(project: Project) -> tuple[str, int]:
    lines = [{"id": "1", "relations": ["A"]}]
    batch = import_lines(None, lines, what="gold", by=second(), name="Own", version="1")
    plan = MappingPlan.of(TestSet.objects.get(batch=batch), names={"A": "C"}, by=second())
    return mapping.KIND, mapping.make(plan, name="Mapped", version="1", by=second()).pk


def split_imported(project: Project) -> tuple[str, int]:
    lines = [sentence(n, relations=["A"]) for n in range(4)]
    batch = import_lines(None, lines, what="gold", by=second(), name="Own", version="1")
    plan = Plan.of(parts="dev=0.5,test=0.5", seed="s")
    return making.KIND, making.make(TestSet.objects.get(batch=batch), plan, by=second())[0].pk


def choose(project: Project) -> tuple[str, int]:
    wanted = Wanted(order=["ids"], ids=["s4"])
    return candidate_choices.KIND, candidate_choices.request(project, wanted, by=second(), at_once=True).pk


def remove(project: Project) -> None:
    projects.remove_member(project, user=second(), by=curator())


def demote(project: Project) -> None:
    projects.set_member(project, user=second(), role="annotator", by=curator())


def archive(project: Project) -> None:
    projects.archive(projects.close(project, by=curator()), by=curator())


def deactivate(project: Project) -> None:
    users.set_active(second(), active=False, by=User.objects.create_superuser("root"))


def forbid(project: Project) -> None:
    users.set_organiser(second(), may=False, by=User.objects.create_superuser("root"))


def content(project: Project) -> tuple[object, ...]:
    """Return what counts: sentences with states, answers, and frozen sets."""
    states = list(project.items.present().order_by("pk").values_list("external_id", "state", "use"))
    sets = list(TestSet.objects.frozen().order_by("pk").values_list("slug"))
    return states, Answer.objects.filter(item__project=project).active().count(), sets


IN_PROJECT = (items, answers, freeze, split, choose)
CASES = [
    *((ask, end, "not_allowed") for ask in IN_PROJECT for end in (remove, demote, deactivate)),
    *((ask, archive, "project_archived") for ask in IN_PROJECT if ask is not split),
    *((ask, end, "not_allowed") for ask in (gold,) for end in (deactivate, forbid)),
    *((ask, deactivate, "not_allowed") for ask in (map_labels, split_imported)),
]


@pytest.mark.parametrize(("ask", "end", "code"), CASES)
@pytest.mark.parametrize("meanwhile", [False, True])
def test_a_job_is_refused_once_its_asker_could_not_ask_for_it_any_more(
    project: Project, ask: Callable[[Project], tuple[str, int]], end: Ending, code: str, meanwhile: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Before it starts, or while it runs: an import of somebody removed decided the gold."""
    kind, subject = ask(project)
    before, complete = content(project), transitions.complete

    def late(job: Job, store: transitions.Store) -> Job:
        end(project)
        return complete(job, store)

    if meanwhile:
        monkeypatch.setattr(transitions, "complete", late)
    else:
        end(project)
    run_job(kind, subject)
    job = Job.objects.get(kind=kind, subject=subject)
    assert (job.state, job.error_code) == ("failed", code)
    assert content(project) == before


def test_candidates_that_are_half_changed_are_taken_back_though_their_curator_was_removed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, subject = choose(project)
    run_job(kind, subject)
    before, complete = content(project), transitions.complete

    def late(job: Job, store: transitions.Store) -> Job:
        monkeypatch.undo()
        deactivate(project)
        return complete(job, store)

    monkeypatch.setattr(transitions, "complete", late)
    run_job(kind, subject)
    run_job(kind, subject)
    project.refresh_from_db()
    assert (project.choosing, content(project)) == (False, before)
    assert project.candidate_choices.get().state == "cancelled"


def test_a_refused_job_can_be_started_again_once_its_asker_may_ask(project: Project) -> None:
    kind, subject = answers(project)
    archive(project)
    run_job(kind, subject)
    assert Batch.objects.get(pk=subject).reason.endswith("is archived. Restore it first, on its page.")
    project.refresh_from_db()
    projects.close(project, by=curator())
    project.refresh_from_db()
    batches.retry(Batch.objects.select_related("project").get(pk=subject), by=curator())
    run_job(kind, subject)
    assert Batch.objects.get(pk=subject).state == "done"


def retry(project: Project, kind: str, subject: int) -> None:
    if kind == "import":
        batches.retry(Batch.objects.select_related("project").get(pk=subject), by=curator())
    elif kind == candidate_choices.KIND:
        candidate_choices.retry(project.candidate_choices.get(), by=curator())
    else:
        building.retry(TestSet.objects.get(pk=subject), by=curator())


@pytest.mark.parametrize("ask", IN_PROJECT)
def test_another_curator_starts_a_refused_job_again_in_their_own_name(
    project: Project, ask: Callable[[Project], tuple[str, int]]
) -> None:
    kind, subject = ask(project)
    before = content(project)
    remove(project)
    run_job(kind, subject)
    retry(project, kind, subject)
    while waiting := Job.objects.filter(kind=kind, subject=subject, state="queued").first():
        run_job(kind, waiting.subject)
    assert Job.objects.filter(kind=kind, subject=subject).latest("pk").state == "done"
    assert content(project) != before


@pytest.mark.parametrize(
    ("ask", "end"),
    [(gold, deactivate), (gold, forbid), (map_labels, deactivate), (split_imported, deactivate)],
)
def test_an_administrator_starts_a_refused_job_of_imported_gold_again_in_their_own_name(
    project: Project, ask: Callable[[Project], tuple[str, int]], end: Ending
) -> None:
    kind, subject = ask(project)
    end(project)
    run_job(kind, subject)
    test_set = TestSet.objects.get(batch=subject) if kind == "import" else TestSet.objects.get(pk=subject)
    building.retry(test_set, by=User.objects.get(username="root"))
    run_job(kind, subject)
    test_set.refresh_from_db()
    assert test_set.state == "frozen"
    assert test_set.by == (second() if kind == "import" else User.objects.get(username="root"))
    again = [(entry.action, entry.by.username) for entry in logged_changes(test_set)]
    assert (f"{kind} started again", "root") in again


def test_imported_gold_stays_that_of_its_importer_when_another_fault_is_retried(project: Project) -> None:
    kind, subject = split_imported(project)
    Job.objects.filter(kind=kind, subject=subject).update(state="failed", error_code="worker_lost")
    TestSet.objects.filter(pk=subject).update(state="failed")
    building.retry(TestSet.objects.get(pk=subject), by=User.objects.create_superuser("root"))
    assert TestSet.objects.get(pk=subject).by == second()


def test_imports_are_in_the_log_of_their_project_with_who_sent_them(project: Project) -> None:
    kind, subject = answers(project)
    remove(project)
    run_job(kind, subject)
    logged = entries(project).filter(about="late.jsonl").order_by("pk")
    assert [(entry.action, entry.by, entry.after) for entry in logged] == [
        ("import", second(), {"import": subject, "what": "votes"}),
        ("import failed", second(), {"import": subject}),
    ]


def test_a_set_of_an_archived_project_is_split_as_it_is_used(project: Project) -> None:
    kind, subject = split(project)
    archive(project)
    run_job(kind, subject)
    assert TestSet.objects.get(pk=subject).state == "frozen"
