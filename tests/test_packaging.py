"""Makefile, Dockerfile, compose file and CI script match the code."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.management import get_commands

from evalsvc.core.errors.handlers import PROBLEM_JSON, problem
from evalsvc.local.supervisor import commands
from evalsvc.serving import request_buffer

ROOT = Path(__file__).resolve().parents[1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
OWN_CONTAINERS = ("migrate", "web", "worker", "beat")
DOCKERFILE = (ROOT / "Dockerfile").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.split(maxsplit=1)[1] for line in joined.splitlines() if line.startswith(f"{name} ")]


def part_of(service: str) -> str:
    """The part of the service that a container supervises."""
    (default,) = instructions("CMD")
    command = COMPOSE["services"][service].get("command") or json.loads(default)
    assert command[:-1] == ["python", "manage.py", "supervise"]  # itself, so that it receives the signal
    return str(command[-1])


def read_by_settings() -> set[str]:
    """Environment variables that the settings read."""
    tree = ast.parse((ROOT / "evalsvc/settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    names = [call.args[0] for call in calls if re.search(r"env", ast.unparse(call.func))]
    return {a.value for a in names if isinstance(a, ast.Constant) and re.fullmatch(r"[A-Z_]+", str(a.value))}


def with_defaults(text: str, variables: dict[str, str]) -> str:
    """Replace ${NAME}, ${NAME:-default} and ${NAME:?message} as compose does."""
    pattern = r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)?\}"
    return re.sub(pattern, lambda m: variables.get(m[1]) or m[2] or "", text)


def compose_environment(service: str, **variables: str) -> dict[str, str]:
    values = COMPOSE["services"][service]["environment"]
    return {name: with_defaults(str(value), variables) for name, value in values.items()}


@pytest.mark.parametrize("service", OWN_CONTAINERS)
def test_every_container_of_ours_gets_every_variable_of_the_settings(service: str) -> None:
    assert set(COMPOSE["services"][service]["environment"]) == read_by_settings()


def test_production_settings_need_only_the_secrets_and_pass_the_checks(tmp_path: Path) -> None:
    secrets = {
        "POSTGRES_PASSWORD": "pw",
        "SECRET_KEY": "0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "ALLOWED_HOSTS": "evalsvc.example.org",
        "CSRF_TRUSTED_ORIGINS": "https://evalsvc.example.org",
    }
    values = compose_environment("web", **secrets) | {
        "EVALSVC_DATA": str(tmp_path),
        "STATIC_ROOT": str(tmp_path / "s"),
    }
    env = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "evalsvc.settings"} | values
    command = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    checked = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert checked.returncode == 0, checked.stderr


def test_production_does_not_start_without_a_secret_key(tmp_path: Path) -> None:
    values = compose_environment("web") | {"EVALSVC_DATA": str(tmp_path)}
    env = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "evalsvc.settings"} | values
    command = [sys.executable, "manage.py", "check"]
    checked = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert checked.returncode != 0
    assert "SECRET_KEY" in checked.stderr


def queues_of(command: list[str]) -> list[str]:
    return command[command.index("-Q") + 1].split(",")


def test_every_queue_has_a_worker_and_long_jobs_have_their_own() -> None:
    local = commands(host="h", port=1)
    assert queues_of(local["heavy"]) == ["heavy"]
    assert {*queues_of(local["worker"]), *queues_of(local["heavy"])} == set(settings.JOB_QUEUES)


def test_containers_supervise_what_make_up_starts() -> None:
    parts = commands(host="h", port=1)
    assert {name: part_of(name) for name in parts} == {name: name for name in parts}
    assert get_commands()["supervise"] == get_commands()["up"]
    assert COMPOSE["services"]["migrate"]["command"][:3] == ["python", "manage.py", "migrate"]


def test_web_threads_sets_the_threads_of_the_web_server(settings: Any) -> None:
    settings.WEB_THREADS = 16
    command = commands(host="0.0.0.0", port=8000)["web"]
    assert command[command.index("--threads") + 1] == "16"


def test_every_container_has_a_health_check_and_data_is_in_named_volumes() -> None:
    services = COMPOSE["services"]
    assert all("healthcheck" in services[name] for name in services if name != "migrate")
    named = {volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])}
    assert named == set(COMPOSE["volumes"]) == {"files", "postgres", "redis"}


PROXY = (ROOT / "nginx.conf.template").read_text()


def directives(name: str) -> list[str]:
    """Values of a directive of the proxy, in order."""
    return re.findall(rf"^\s*{name} ([^;]*);", PROXY, re.MULTILINE)


def test_the_proxy_alone_is_published_and_passes_everything_to_the_web_server() -> None:
    services = COMPOSE["services"]
    assert [name for name in services if "ports" in services[name]] == ["proxy"]
    (published,) = services["proxy"]["ports"]
    assert with_defaults(published, {}) == f"127.0.0.1:8000:{directives('listen')[0]}"
    assert set(directives("proxy_pass")) == {"$web"}
    assert directives(r"set") == ["$web http://web:8000"]
    command = commands(host="0.0.0.0", port=8000)["web"]  # the defaults of `supervise`
    assert command[command.index("--bind") + 1] == "0.0.0.0:8000"
    files = {each["target"]: COMPOSE["configs"][each["source"]] for each in services["proxy"]["configs"]}
    assert files == {
        "/etc/nginx/templates/default.conf.template": {"file": "./nginx.conf.template"},
        "/etc/nginx/nginx.conf": {"file": "./nginx.main.conf"},
    }


def test_the_proxy_has_the_limits_of_the_service() -> None:
    values, service = compose_environment("proxy"), compose_environment("web")
    assert values == {name: service[name] for name in values}
    assert values == {name: str(getattr(settings, name)) for name in values}
    count, size = directives("large_client_header_buffers")[0].split()
    assert int(count) * int(size.removesuffix("k")) * 1_024 == request_buffer.HEAD_BYTES
    (seconds,) = directives("client_header_timeout")
    assert int(seconds.removesuffix("s")) <= request_buffer.HEAD_SECONDS
    assert directives("client_body_timeout") == [f"{request_buffer.BODY_GRACE_SECONDS}s"]
    assert directives("client_body_buffer_size") == [f"{request_buffer.MEMORY_BYTES // 1_024}k"]


def test_the_proxy_buffers_requests_and_names_one_address() -> None:
    assert directives("proxy_request_buffering") == ["on"]
    assert "X-Forwarded-For $remote_addr" in directives("proxy_set_header")
    assert compose_environment("web")["TRUSTED_PROXIES"] == "1"


def test_the_answers_of_the_proxy_have_the_shape_of_errors() -> None:
    bodies = re.findall(r"return (\d+) '(.*)';", PROXY)
    assert len(bodies) == 9
    for status, body in bodies:
        fields = json.loads(body)
        assert fields == problem(int(status), detail=fields["detail"])
    assert PROBLEM_JSON in directives("default_type")


def test_redis_persists_messages_and_evicts_none() -> None:
    command = COMPOSE["services"]["redis"]["command"]
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert (options["--appendonly"], options["--maxmemory-policy"]) == ("yes", "noeviction")


def test_the_image_copies_existing_files_and_runs_as_an_unprivileged_user() -> None:
    copied = [words.split()[:-1] for words in instructions("COPY") if not words.startswith("--from")]
    assert all((ROOT / name).exists() for names in copied for name in names)
    assert instructions("USER") == ["evalsvc"]
    final = DOCKERFILE[DOCKERFILE.rindex("FROM ") :]
    assert "apt-get" not in final
    assert "pip install" not in final


def test_the_image_leaves_out_data_secrets_and_the_environment() -> None:
    left_out = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", ".data", ".env", "tests", "bench"} <= set(left_out)


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", MAKEFILE, re.MULTILINE))


def test_make_without_a_target_lists_all_targets() -> None:
    values = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = set(re.findall(r"^  make (\w+)", values, re.MULTILINE))
    assert listed == targets() - {"python"}
    assert {"up", "test", "lint", "bench", "clean"} <= listed


def test_make_runs_only_installed_programs_and_existing_commands() -> None:
    used = set(re.findall(r"\$\(BIN\)/([a-z-]+)", MAKEFILE)) - {"python", "uv"}
    local = Path(sys.executable).parent
    assert used
    assert [name for name in used if not (local / name).exists()] == []
    assert set(re.findall(r"manage\.py (\w+)", MAKEFILE)) <= set(get_commands())


def test_ci_lints_tests_and_forbids_skips() -> None:
    script = ROOT / ".ci/run"
    text = script.read_text()
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    assert "set -euo pipefail" in text
    assert {"REQUIRE_POSTGRES=1", "REQUIRE_BROWSER=1"} <= set(shlex.split(text, comments=True))
    called = re.findall(r"^make --no-print-directory (\w+)", text, re.MULTILINE)
    assert called == ["lint", "test"]
    assert set(called) <= targets()


LOCKED = (
    *("requirements", "requirements-dev", "requirements-audit", "requirements-uv", "requirements-formats"),
)


@pytest.mark.parametrize("name", LOCKED)
def test_every_requirement_is_locked_to_one_version_with_hashes(name: str) -> None:
    text = (ROOT / f"{name}.txt").read_text().replace("\\\n", " ")
    lines = [
        line.split(" #")[0].strip() for line in text.splitlines() if line.strip() and line.strip()[0] != "#"
    ]
    assert lines
    assert [
        line for line in lines if not re.match(r"[\w.\[\],-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", line)
    ] == []


@pytest.mark.parametrize("name", LOCKED)
def test_the_lock_has_what_is_asked_for(name: str) -> None:
    asked = [line.split("#")[0].strip() for line in (ROOT / f"{name}.in").read_text().splitlines()]
    locked = {line.split()[0] for line in (ROOT / f"{name}.txt").read_text().splitlines() if "==" in line}
    names = {re.sub(r"\[.*\]", "", line) for line in asked if line and not line.startswith("-r ")}
    assert names <= {re.sub(r"\[.*\]", "", line) for line in locked}


def test_tests_run_with_the_optional_packages_of_all_formats() -> None:
    assert "-r requirements-formats.in" in (ROOT / "requirements-dev.in").read_text().splitlines()


def test_packages_are_installed_by_their_hashes_only() -> None:
    installing = [line for line in (MAKEFILE + DOCKERFILE).splitlines() if "pip install" in line]
    assert installing
    assert [line for line in installing if "--require-hashes" not in line] == []


def test_every_image_can_be_named_by_its_digest() -> None:
    names = [service["image"] for service in COMPOSE["services"].values() if service["image"] != "evalsvc"]
    assert all(re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[\w.:-]+\}", name) for name in names)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON_IMAGE}"] * 2
    asked = re.search(r"for image in (.*?);", MAKEFILE.replace("\\\n", " "))
    assert asked
    tags = dict(pair.split("=") for pair in asked[1].split())
    assert {f"${{{name}:-{tag}}}" for name, tag in tags.items()} >= set(names)
