"""The proxy of compose.yaml: its template rendered as its container does, and nginx with it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
USER = "user root;" if os.geteuid() == 0 else ""  # else nginx would choose one without access to the folder
# Of the frame, and what takes its place: one process, as the limit of connections is for each.
MAIN = {
    "user nginx;": USER,
    "worker_processes auto;": "worker_processes 1;",
    "/run/nginx.pid": "{folder}/nginx.pid",
    "/dev/stderr": "{folder}/error.log",
    "/etc/nginx/conf.d/*.conf;": "{folder}/site.conf; "
    + " ".join(
        f"{kind}_temp_path {{folder}};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    ),
}


def render(**environment: str) -> str:
    """The template with the values that the container's command computes from its environment."""
    (_, _, command) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["proxy"]["entrypoint"]
    computing = command.replace("$$", "$").partition("exec ")[0]
    shown = subprocess.run(
        ["sh", "-c", f"{computing} env"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    values = dict(line.split("=", 1) for line in shown.splitlines())
    template = (ROOT / "nginx.conf.template").read_text()
    return re.sub(r"\$\{(\w+)\}", lambda match: values[match[1]], template)


def _replaced(text: str, ours: dict[str, str]) -> str:
    for theirs, other in ours.items():
        assert theirs in text
        text = text.replace(theirs, other)
    return text


class Proxy:
    """nginx on a free port in front of an upstream, until stopped."""

    def __init__(self, folder: Path, *, upstream: str, limit: int = 1_000_000, wait: int = 20) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        site = render(UPLOAD_MAX_BYTES=str(limit), MODEL_MAX_BYTES=str(2 * limit), WAIT_MAX_SECONDS=str(wait))
        (folder / "site.conf").write_text(
            _replaced(
                site,
                {
                    "listen 80;": f"listen 127.0.0.1:{self.port};",
                    "http://web:8000": upstream,
                    "/dev/stdout": f"{folder}/access.log",
                    "/dev/stderr": f"{folder}/site-error.log",
                },
            )
        )
        ours = {text: other.format(folder=folder) for text, other in MAIN.items()}
        (folder / "nginx.conf").write_text(_replaced((ROOT / "nginx.main.conf").read_text(), ours))

    def run(self, *words: str) -> Any:
        command = [str(NGINX), "-p", str(self.folder), "-c", str(self.folder / "nginx.conf"), *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    @property
    def logs(self) -> str:
        return "".join(path.read_text() for path in self.folder.glob("*.log"))
