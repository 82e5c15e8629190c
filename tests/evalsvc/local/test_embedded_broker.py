from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsvc.local import embedded_broker as module
from evalsvc.local.child_process import is_suspended
from evalsvc.local.embedded_broker import BrokerFailed, EmbeddedBroker
from tests.places.workers import ROOT, until


@pytest.fixture
def broker_of_test(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(tmp_path / "broker")
    broker.start()
    yield broker
    broker.close()


def test_it_listens_on_a_private_socket_and_no_port(broker_of_test: EmbeddedBroker) -> None:
    assert broker_of_test.answers()
    assert stat.S_IMODE(broker_of_test.socket.stat().st_mode) == 0o700
    assert stat.S_IMODE(broker_of_test.socket_folder.stat().st_mode) == 0o700
    with broker_of_test.client() as client:
        assert client.config_get("port") == {"port": "0"}


def test_its_url_file_and_socket_exist_while_it_runs(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / "broker")
    broker.start()
    assert (tmp_path / "broker.url").read_text() == f"redis+socket://{broker.socket}"
    broker.close()
    assert not (tmp_path / "broker.url").exists()
    assert not broker.socket_folder.exists()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_messages_and_address_survive_a_restart(broker_of_test: EmbeddedBroker, end: signal.Signals) -> None:
    with broker_of_test.client() as client:
        client.lpush("queue", *range(500))
        client.execute_command("WAITAOF", 1, 0, 3000)
    assert broker_of_test.process
    broker_of_test.process.send_signal(end)
    broker_of_test.process.wait()
    assert not broker_of_test.answers()
    broker_of_test.start()
    with broker_of_test.client() as client:
        assert client.llen("queue") == 500


def test_a_suspended_broker_is_killed_at_the_second_look(
    broker_of_test: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK_SECONDS", 0)
    assert broker_of_test.process
    assert not broker_of_test.kill_suspended()
    broker_of_test.process.send_signal(signal.SIGSTOP)
    until(lambda: is_suspended(broker_of_test.process.pid))
    assert [broker_of_test.kill_suspended(), broker_of_test.kill_suspended()] == [False, True]
    broker_of_test.start()
    assert not broker_of_test.kill_suspended()


def test_it_stops_when_its_parent_process_dies(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from evalsvc.local.embedded_broker import EmbeddedBroker\n"
        "b = EmbeddedBroker(Path(sys.argv[1])); b.start(); print(b.process.pid, flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "broker")], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout
    with parent.stdout as output:
        server = int(output.readline())
    parent.kill()
    parent.wait()
    until(lambda: not alive(server))


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z" and os.path.exists(f"/proc/{pid}")


def test_a_start_removes_the_socket_of_a_killed_broker(tmp_path: Path) -> None:
    killed = EmbeddedBroker(tmp_path / "broker")
    killed.url_file.write_text(killed.url)
    broker = EmbeddedBroker(tmp_path / "broker")
    assert not killed.socket_folder.exists()
    assert not broker.url_file.exists()
    broker.close()


def test_a_start_removes_no_folder_of_others(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "broker.url").write_text(f"redis+socket://{tmp_path}/mine/broker.sock")
    EmbeddedBroker(tmp_path / "broker").close()
    assert (tmp_path / "mine").exists()


def test_a_failed_start_names_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "server_binary", lambda: "/bin/false")
    broker = EmbeddedBroker(tmp_path / "broker")
    with pytest.raises(BrokerFailed, match=r"server\.log"):
        broker.start()
    broker.close()


def test_a_too_long_socket_path_is_rejected_with_the_variable_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(BrokerFailed, match="TMPDIR"):
        EmbeddedBroker(tmp_path / "broker")
