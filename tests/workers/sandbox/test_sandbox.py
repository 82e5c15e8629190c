"""The sandbox: every forbidden action is denied inside, and a missing part stops the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsvc.core.jobs.exceptions import InputFault
from tests.places.workers import until
from workers.handlers import predict
from workers.sandbox import landlock, launcher, probes, readiness, system_calls
from workers.sandbox.confinement import Bounds
from workers.sandbox.launcher import ProcessEnd, launch, read_error, work_folder

BOUNDS = Bounds(seconds=60, memory_bytes=2_000_000_000, result_bytes=100_000)
FORBIDDEN = [
    "a file in memory", "a handle on a process", "a local socket", "a longer result",
    "a namespace", "a new file in its folder", "a new process", "a new thread", "a pickle",
    "a signal to itself", "a signal to the parent", "a socket by its number", "a socket pair",
    "an internet socket", "another program", "another program by its number", "another's memory",
    "being root", "bpf", "changing rights", "changing the model", "cutting short", "deleting",
    "descriptors", "io_uring", "keys", "linking", "listing outside", "more memory", "page faults",
    "performance counters", "raising limits", "reading a file beside", "reading outside",
    "reading processes", "the environment", "tracing", "writing beside", "writing outside",
]  # fmt: skip


@pytest.fixture(scope="module")
def ready() -> None:
    if not readiness.readiness().ready:
        pytest.skip(readiness.readiness().reason)


@pytest.fixture(scope="module")
def report(ready: None) -> dict[str, bool]:
    _, reason, report = readiness.self_test()
    assert reason == ""
    return report


def test_every_forbidden_action_is_tried(report: dict[str, bool]) -> None:
    assert sorted(report) == FORBIDDEN


@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_forbidden_action_is_denied_inside(report: dict[str, bool], name: str) -> None:
    assert report[name]


@pytest.mark.parametrize(
    "name",
    ["an internet socket", "a local socket", "a socket pair", "a socket by its number", "a file in memory",
     "a handle on a process", "a signal to itself", "listing outside", "reading outside", "descriptors",
     "writing outside", "writing beside", "a new file in its folder", "cutting short", "linking",
     "the environment", "io_uring", "another program by its number", "deleting"],
)  # fmt: skip
def test_a_forbidden_action_succeeds_outside(name: str) -> None:
    with work_folder() as folder:
        (folder / "beside.txt").write_text("x")
        (folder / "model" / "config.cfg").write_text("x")
        attempt = probes.attempts(folder, 10_000_000)[name]
        assert not probes.denied(attempt)
    Path(f"/tmp/evalsvc-{os.getpid()}").unlink(missing_ok=True)


def test_an_action_that_was_not_denied_switches_models_off_and_is_named(tmp_path: Path) -> None:
    result = tmp_path / "result"
    result.write_text('{"denied": {"tracing": true, "bpf": false}, "tokens": 5}')
    reason, _ = readiness.evaluate(ProcessEnd(0, overdue=False), result)
    assert "bpf" in reason
    assert "tracing" not in reason


@pytest.mark.parametrize(
    "ended", [ProcessEnd(-9, overdue=True), ProcessEnd(1, overdue=False), ProcessEnd(-31, overdue=False)]
)
def test_a_self_test_with_an_error_counts_as_failed(tmp_path: Path, ended: ProcessEnd) -> None:
    result = tmp_path / "result"
    result.write_text('{"denied": {"tracing": true}, "tokens": 5}')
    assert readiness.evaluate(ended, result)[0] != ""


def test_a_self_test_without_output_counts_as_failed(tmp_path: Path) -> None:
    result = tmp_path / "result"
    result.touch()
    assert readiness.evaluate(ProcessEnd(0, overdue=False), result)[0] != ""


def test_a_kernel_without_landlock_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        @staticmethod
        def syscall(*args: object) -> int:
            return -1

    monkeypatch.setattr(landlock, "libc", Kernel)
    readiness._tested.cache_clear()
    try:
        assert "5.13" in readiness.readiness().reason
    finally:
        readiness._tested.cache_clear()


def test_an_unknown_processor_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    readiness._tested.cache_clear()
    try:
        assert "riscv64" in readiness.readiness().reason
    finally:
        readiness._tested.cache_clear()


def test_a_process_with_a_second_thread_runs_nothing() -> None:
    with work_folder() as folder:
        ended = launch(
            "probe",
            folder,
            bounds=BOUNDS,
            arguments={"memory_bytes": 1},
            modules=["tests.workers.two_threads"],
        )
        assert (ended.kind, ended.code) == ("NotConfined", 1)
        assert (folder / "out" / "result.jsonl").read_bytes() == b""


def test_a_process_over_its_time_limit_is_stopped_and_its_folder_deleted() -> None:
    with work_folder() as folder:
        bounds = Bounds(seconds=0, memory_bytes=2_000_000_000, result_bytes=1_000)
        assert launch("probe", folder, bounds=bounds, arguments={"memory_bytes": 1}).overdue
    assert not folder.exists()


def test_an_exception_in_the_watch_function_stops_the_process() -> None:
    class Enough(Exception):
        pass

    def watch() -> None:
        raise Enough

    with work_folder() as folder, pytest.raises(Enough):
        launch("probe", folder, bounds=BOUNDS, arguments={"memory_bytes": 1}, watch=watch)
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(folder) not in running


FORGED = (
    "import json, os, sys; plan = json.loads(sys.argv[1]); "
    'os.write(plan[\'channel\'], b\'{{"step": "confined"}}\\n{{"step": "begun"}}\\n\'); '
    'os.close(plan[\'channel\']); os.write(2, b\'x\\n{{"kind": "NotConfined", "message": "forged"}}\\n\'); '
    "sys.exit({code})"
)


def test_what_a_model_prints_is_not_taken_for_the_voice_of_the_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launcher, "START", FORGED.replace("{code}", "1"))
    with work_folder() as folder:
        ended = launch("predict", folder, bounds=BOUNDS)
    assert ended.step == "begun"
    with pytest.raises(InputFault) as fault:
        predict.require_success(ended)
    assert fault.value.code == "model_failed"


def test_the_folder_of_a_run_is_closed_to_other_users() -> None:
    with work_folder() as folder:
        for path in (folder, *folder.rglob("*")):
            assert not path.stat().st_mode & 0o007, path


def test_a_killed_self_test_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    killed, done = ProcessEnd(-signal.SIGKILL, overdue=False), ProcessEnd(0, overdue=False)
    ends = iter([killed, killed, done])
    monkeypatch.setattr(readiness, "self_test", lambda: (next(ends), "", {"tracing": True}))
    readiness._tested.cache_clear()
    try:
        assert readiness.readiness().ready
    finally:
        readiness._tested.cache_clear()


def test_a_self_test_killed_each_time_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = iter([ProcessEnd(-signal.SIGKILL, overdue=False)] * 3 + [ProcessEnd(0, overdue=False)])
    monkeypatch.setattr(readiness, "self_test", lambda: (next(ends), "", {"tracing": True}))
    readiness._tested.cache_clear()
    try:
        assert readiness.readiness().interrupted
        assert readiness.readiness().ready
    finally:
        readiness._tested.cache_clear()


def test_an_error_is_read_from_any_output() -> None:
    assert read_error(b'{"kind": "broken') == ("", '{"kind": "broken')
    assert read_error(b'{"kind": "KeyError", "message": "x"}\n') == ("KeyError", "x")
    assert read_error(b"\xff\n") == ("", "\ufffd\n")


def test_old_folders_of_killed_workers_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    other, old, young = (tmp_path / name for name in ("mine", "evalsvc-model-old", "evalsvc-model-young"))
    for folder in (other, old, young):
        (folder / "model").mkdir(parents=True)
    linked = tmp_path / "evalsvc-model-link"
    linked.symlink_to(other)
    for path in (other, old, linked):
        os.utime(path, (0, 0), follow_symlinks=False)
    with work_folder() as folder:
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
            [folder.name, linked.name, other.name, young.name]
        )
    assert (other / "model").exists()


def test_the_error_is_read_after_any_number_of_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = (
        "import sys; sys.stderr.write('a warning of a component\\n' * 10_000); "
        'sys.stderr.write(\'{{"kind": "MemoryError", "message": "Unable to allocate"}}\\n\')'
    )
    monkeypatch.setattr(launcher, "START", noisy)
    with work_folder() as folder:
        ended = launch("probe", folder, bounds=BOUNDS)
    assert (ended.kind, ended.message) == ("MemoryError", "Unable to allocate")


CONFINED = """
import os, sys
sys.path.insert(0, {root!r})
from workers.sandbox.confinement import Bounds, confine
bounds = Bounds(seconds={seconds}, memory_bytes=1_000_000_000, result_bytes=5_000, files=40)
confine(bounds, parent={parent}, read=[], write=[])
while True: pass
"""


def endless(*, seconds: int, parent: int = os.getpid()) -> list[str]:
    root = str(Path(__file__).parents[3])
    return [sys.executable, "-c", CONFINED.format(root=root, seconds=seconds, parent=parent)]


@pytest.fixture
def confined(ready: None) -> Iterator[int]:
    """A confined process that keeps running."""
    process = subprocess.Popen(endless(seconds=60))
    until(lambda: process.poll() is not None or kernel_status(process.pid)["Seccomp"] == ["2"])
    assert process.poll() is None
    yield process.pid
    process.kill()
    process.wait()


def kernel_status(pid: int) -> dict[str, list[str]]:
    """Return the kernel's status of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: rest.split() for name, _, rest in (line.partition(":") for line in lines)}


def test_the_kernel_confirms_the_rights_that_a_confined_process_dropped(confined: int) -> None:
    status = kernel_status(confined)
    assert (status["NoNewPrivs"], status["Seccomp"], status["Threads"]) == (["1"], ["2"], ["1"])
    assert Path(f"/proc/{confined}/oom_score_adj").read_text().strip() == "1000"
    assert {int(status[name][0], 16) for name in ("CapPrm", "CapEff", "CapAmb", "CapInh")} == {0}
    if os.geteuid() == 0:
        assert set(status["Uid"]) == set(status["Gid"]) == {"60999"}
        assert status["Groups"] == []


def test_the_kernel_confirms_the_limits_of_a_confined_process(confined: int) -> None:
    lines = Path(f"/proc/{confined}/limits").read_text().splitlines()[1:]
    hard = {line[:25].strip(): line[46:67].strip() for line in lines}
    assert hard["Max address space"] == "1000000000"
    assert hard["Max cpu time"] == "61"
    assert hard["Max file size"] == "5000"
    assert hard["Max open files"] == "40"
    none = ("Max processes", "Max core file size", "Max locked memory", "Max msgqueue size")
    assert {hard[name] for name in none} == {"0"}


def test_a_process_whose_parent_has_ended_runs_nothing() -> None:
    command = endless(seconds=60, parent=os.getpid() + 1)
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 1
    assert "NotConfined" in ended.stderr


def test_exceeding_processor_time_ends_with_SIGXCPU(ready: None) -> None:
    ended = subprocess.run(endless(seconds=1), timeout=120, check=False)
    assert ended.returncode == -signal.SIGXCPU


ABI_SCRIPT = """
import sys
sys.path.insert(0, {root!r})
from workers.sandbox import landlock, system_calls
landlock.version = lambda: {abi}
system_calls.prctl("no_new_privs", 38, 1)
landlock.restrict(read=["/usr"], write=[{folder!r}])
open({folder!r} + "/there", "r+").close()
for path, mode in (("/etc/passwd", "r"), ({folder!r} + "/new", "w"), ("/usr/new", "w")):
    try:
        open(path, mode)
    except PermissionError:
        continue
    sys.exit(path)
"""


@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6, 7])
def test_each_version_of_landlock_is_supported(tmp_path: Path, abi: int) -> None:
    try:
        known = landlock.version()
    except system_calls.NotConfined as error:
        pytest.skip(str(error))
    if abi > known:
        pytest.skip(f"This kernel speaks Landlock {known}.")
    (tmp_path / "there").touch()
    script = ABI_SCRIPT.format(root=str(Path(__file__).parents[3]), abi=abi, folder=str(tmp_path))
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
