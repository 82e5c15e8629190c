"""Commands for curators: results, printed counts and error messages."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation import projects
from annotation.consensus import pending_recomputation, recomputation
from annotation.models import Project
from annotation.testset import TestSet
from evalsvc.core.accounts import users
from evalsvc.core.accounts.models import User
from evalsvc.core.jobs.models import Job
from tests.cast.basics import person, sentence

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def root() -> None:
    person("root", is_superuser=True)


def run(command: str, /, *args: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(command, *args, stdout=out, **options)
    return out.getvalue()


def write(path: Path, lines: list[Any]) -> str:
    path.write_text("\n".join(entry if isinstance(entry, str) else json.dumps(entry) for entry in lines))
    return str(path)


def test_from_files_to_an_exported_set(tmp_path: Path) -> None:
    assert "/projects/trial/" in run("create_project", "Trial", k=2)
    items = write(tmp_path / "items", [sentence("s0", relations=["A"]), "{", sentence("s1", relations=["B"])])
    output = run("import_items", "trial", items)
    assert "2  items" in output
    assert "1  rejected" in output
    assert "Line 2" in output
    votes = [{"item": "s0", "annotator": f"w{n}", "labels": ["A"]} for n in range(2)]
    assert "1  settled" in run("import_votes", "trial", write(tmp_path / "votes", votes))
    with pytest.raises(CommandError, match=r"\b1 "):
        run("freeze", "trial")
    assert "frozen" in run("freeze", "trial", leave_out=True)
    run("export", "trial-1-0", output=str(tmp_path / "out"))
    assert json.loads((tmp_path / "out").read_text())["relations"] == ["A"]
    assert run("export", "trial-1-0") == (tmp_path / "out").read_text()
    run("export", "trial-1-0", format="label-studio", output=str(tmp_path / "out.zip"))
    assert zipfile.ZipFile(tmp_path / "out.zip").namelist() == ["trial-1-0.json", "trial-1-0-config.xml"]
    with pytest.raises(CommandError, match="several files"):
        run("export", "trial-1-0", format="label-studio")
    assert "fact precision" in run("describe", "trial-1-0")


def test_commands_act_as_the_first_administrator_whose_account_is_active(tmp_path: Path) -> None:
    second = person("second", is_superuser=True)
    users.set_active(User.objects.get(username="root"), active=False, by=second)
    run("create_project", "Trial", k=1)
    items = write(tmp_path / "items", [sentence("s0", relations=["A"])])
    assert "done" in run("import_items", "trial", items)
    assert Project.objects.get().batches.get().by == second
    for command in (("create_project", "Other"), ("import_items", "trial", items)):
        with pytest.raises(CommandError, match="account 'root' is deactivated"):
            run(*command, by="root")
    assert Project.objects.count() == 1
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="account 'root' is deactivated"):
        run("create_project", "Other")


def test_gold_is_written_to_no_file_that_others_read_and_through_no_link(tmp_path: Path) -> None:
    run("create_project", "Trial", k=1)
    run("import_items", "trial", write(tmp_path / "items", [sentence("s0", relations=["A"])]))
    votes = [{"item": "s0", "annotator": "w0", "labels": ["A"]}]
    run("import_votes", "trial", write(tmp_path / "votes", votes))
    run("freeze", "trial")
    victim, link = tmp_path / "victim", tmp_path / "link"
    victim.touch(0o644)
    link.symlink_to(victim)
    with pytest.raises(CommandError, match="Cannot write"):
        run("export", "trial-1-0", output=str(link))
    assert victim.read_text() == ""
    run("export", "trial-1-0", output=str(victim))
    assert victim.stat().st_mode & 0o777 == 0o600
    run("export", "trial-1-0", output="/dev/null")


def test_a_preset_fills_the_ontology() -> None:
    assert "24 labels" in run("create_project", "Trial", preset="nyt10")


def test_recomputing_under_another_policy_prints_the_new_counts(tmp_path: Path) -> None:
    run("create_project", "Trial")
    run("import_items", "trial", write(tmp_path / "items", [sentence("s0", relations=["A"])]))
    votes = [
        {"item": "s0", "annotator": f"w{n}", **({"labels": ["A"]} if n == 0 else {"na": True})}
        for n in range(3)
    ]
    assert "1  different under the other policy" in run(
        "import_votes", "trial", write(tmp_path / "votes", votes)
    )
    assert "1  settled" in run("recompute", "trial", policy="majority-na")
    assert Project.objects.get().policy == "majority-na"


def test_recomputing_runs_an_older_job_that_waits_behind_a_newer_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newer one was done: the command printed states of before, and that it was done."""
    run("create_project", "Trial", k=1)
    run("import_items", "trial", write(tmp_path / "items", [sentence("s0", relations=["A"])]))
    votes = [{"item": "s0", "annotator": "w0", "labels": ["A"]}]
    run("import_votes", "trial", write(tmp_path / "votes", votes))
    project = Project.objects.get()
    monkeypatch.setattr(recomputation, "RECOMPUTE_AT_ONCE", 0)
    project.items.update(k=None)
    projects.set_k(project, k=2, by=User.objects.get())
    Job.objects.create(kind="recompute", subject=project.pk, queue="ingest", state="done")
    output = run("recompute", "trial")
    assert "1  open" in output
    assert "0  settled" in output
    assert pending_recomputation.pending(project) is None


def test_recomputing_takes_over_the_job_of_a_worker_that_was_killed(tmp_path: Path) -> None:
    """It waited for ever, without a word, where no other process releases lapsed leases."""
    run("create_project", "Trial", k=1)
    project = Project.objects.get()
    lapsed = timezone.now() - timedelta(minutes=5)
    Job.objects.create(
        kind="recompute", subject=project.pk, queue="ingest", state="running", claimed_at=lapsed,
        lease_until=lapsed, worker="gone@host",
    )  # fmt: skip
    output = run("recompute", "trial")
    assert "waits for job" in output
    assert "recompute: done" in output
    assert pending_recomputation.pending(project) is None


def test_published_gold_is_described(tmp_path: Path) -> None:
    path = write(tmp_path / "key", ["1\tCause(e1,e2)", "2\tOther"])
    output = run("import_gold", path, name="Key", set_version="1")
    assert "0.5000  na share" in output
    assert TestSet.objects.get().sha256 in output


def test_a_rejected_file_gives_a_message(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Line 1"):
        run("import_gold", write(tmp_path / "key", ["{"]), name="Key", set_version="1", format="jsonl-items")


@pytest.mark.parametrize(
    "args", [("import_items", "nope", __file__), ("export", "nope"), ("import_items", "nope", "/no")]
)
def test_a_missing_object_is_reported(args: tuple[str, ...]) -> None:
    with pytest.raises(CommandError, match=r"nope|/no"):
        run(*args)


def test_a_job_can_be_left_to_a_worker(tmp_path: Path) -> None:
    run("create_project", "Trial")
    output = run("import_items", "trial", write(tmp_path / "items", [sentence("s0")]), queue=True)
    assert "received" in output
