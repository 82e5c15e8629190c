"""Security events of commands stay in the data folder, as the terminal does not keep them."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalsvc.core.accounts.models import User
from evalsvc.logs import CommandLog
from tests.places.tables import copy_sqlite, default_is
from tests.places.workers import ROOT

SET = "u = User.objects.get(); u.set_password('harbour-lamp-7'); u.save()"


def test_the_search_after_a_restore_finds_what_was_done_on_pages_and_by_commands(
    tmp_path: Path, django_db_blocker: Any
) -> None:
    """A password set by a command was in no log, and an earlier log was not searched."""
    with django_db_blocker.unblock():
        copy_sqlite(tmp_path / "evalsvc.sqlite3")
        with default_is({"NAME": str(tmp_path / "evalsvc.sqlite3")}):
            User.objects.create_superuser("root")
    env = {"PATH": os.environ["PATH"], "EVALSVC_DATA": str(tmp_path)}
    code = f"from evalsvc.core.accounts.models import User; {SET}"
    command = [sys.executable, "manage.py", "shell", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert (done.returncode, "password_set account=1:root" in done.stderr) == (0, True)
    logs = tmp_path / "logs"
    assert [(path.name, path.stat().st_mode & 0o77) for path in logs.iterdir()] == [("commands.log", 0)]
    line = "2026-11-01 09:00:00,000 INFO evalsvc.security: {} account=2:kim\n"
    (logs / "web.log.1").write_text(line.format("email_changed") + line.format("logged_in"))
    (logs / "web.log").write_text(line.format("account_deactivated"))
    guide = (ROOT / "docs/operations.md").read_text()
    (search,) = re.findall(r"^ +(grep -hE .*)$", guide, re.MULTILINE)
    found = subprocess.run(["bash", "-c", search], cwd=logs, capture_output=True, text=True, check=True)
    events = re.findall(r"security: (\w+)", found.stdout)
    assert sorted(events) == ["account_deactivated", "email_changed", "password_set"]


def test_a_command_whose_log_cannot_be_written_says_so_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("no folder")
    log = CommandLog(tmp_path / "logs" / "commands.log")
    log.handle(logging.LogRecord("evalsvc.security", logging.INFO, "", 1, "x", (), None))
    assert "commands.log: [Errno" in capsys.readouterr().err
