from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsvc.local import embedded_broker as place
from evalsvc.local.embedded_broker import BrokerFailed, EmbeddedBroker
from tests.places.workers import ROOT, until


@pytest.fixture
def own(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    broker = EmbeddedBroker(tmp_path / "broker")
    broker.start()
    yield broker
    broker.close()


def test_it_answers_on_a_socket_of_its_owner_and_on_no_port(own: EmbeddedBroker) -> None:
    assert own.answers()
    assert stat.S_IMODE(own.socket.stat().st_mode) == 0o700
    assert stat.S_IMODE(own.socket_folder.stat().st_mode) == 0o700
    with own.client() as client:
        assert client.config_get("port") == {"port": "0"}


def test_it_writes_down_where_it_is_and_takes_that_away(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / "broker")
    broker.start()
    assert (tmp_path / "broker.url").read_text() == f"redis+socket://{broker.socket}"
    broker.close()
    assert not (tmp_path / "broker.url").exists()
    assert not broker.socket_folder.exists()


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_messages_survive_its_end_and_its_address_stays(own: EmbeddedBroker, end: signal.Signals) -> None:
    with own.client() as client:
        client.lpush("queue", *range(500))
        client.execute_command("WAITAOF", 1, 0, 3000)
    assert own.process
    own.process.send_signal(end)
    own.process.wait()
    assert not own.answers()
    own.start()
    with own.client() as client:
        assert client.llen("queue") == 500


def test_it_ends_with_the_one_who_started_it(tmp_path: Path) -> None:
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
    until(lambda: not alive(server), seconds=30)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z" and os.path.exists(f"/proc/{pid}")


def test_a_start_takes_away_what_a_killed_one_left(tmp_path: Path) -> None:
    killed = EmbeddedBroker(tmp_path / "broker")
    killed.url_file.write_text(killed.url)
    broker = EmbeddedBroker(tmp_path / "broker")
    assert not killed.socket_folder.exists()
    assert not broker.url_file.exists()
    broker.close()


def test_a_start_takes_away_nothing_that_is_not_a_brokers(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "broker.url").write_text(f"redis+socket://{tmp_path}/mine/broker.sock")
    EmbeddedBroker(tmp_path / "broker").close()
    assert (tmp_path / "mine").exists()


def test_one_that_cannot_start_says_where_the_reason_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, "server_binary", lambda: "/bin/false")
    broker = EmbeddedBroker(tmp_path / "broker")
    with pytest.raises(BrokerFailed, match=r"server\.log"):
        broker.start()
    broker.close()


def test_a_path_too_long_for_a_socket_is_refused_with_a_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    with pytest.raises(BrokerFailed, match="TMPDIR"):
        EmbeddedBroker(tmp_path / "broker")
