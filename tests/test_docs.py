"""Links, commands and names in the documents exist; tables are complete."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class
from django.test import Client
from django.urls import Resolver404, resolve

from annotation.models import Annotator
from evalsvc.core.accounts import tokens
from evalsvc.core.accounts.models import User
from evalsvc.core.errors.codes import STATUSES
from tests.cast.basics import PASSWORD
from tests.cast.service import ServiceCast, run_job
from tests.permissions import requester
from tests.permissions.table import API

ROOT = Path(__file__).resolve().parents[1]
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
NAMES = [path.name for path in DOCS]
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
API_MD, OPERATIONS = ROOT / "docs" / "api.md", ROOT / "docs" / "operations.md"

PEOPLE = {"stra", "view", "anno", "adju", "cura", "else", "memb", "ownr", "rivl", "orga"}
WHO = {
    "everybody": PEOPLE,
    "the world": PEOPLE,
    "members of any team": {"memb", "ownr", "rivl"},
    "may organise": {"orga"},
    "its members": {"view", "anno", "adju", "cura"},
    "its curators": {"cura"},
    "annotators, curators": {"anno", "cura"},
    "who holds it": {"anno"},
    "adjudicators, curators": {"adju", "cura"},
    "viewers, adjudicators, curators": {"view", "adju", "cura"},
    "its curators, those it is published for": {"view", "cura"},
    "its organisers": {"orga"},
    "its importer": {"orga"},
    "members of a team": {"memb", "ownr"},
    "its team, organisers": {"memb", "ownr", "orga"},
}


def document(name: str) -> str:
    return (ROOT / name if (ROOT / name).exists() else ROOT / "docs" / name).read_text()


def code_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Every fenced or indented block as (language, code)."""
    for found in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        yield found[1], found[2]
    for found in re.finditer(r"(?:^    .*\n)+", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), re.M):
        yield "", found[0]


def anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("name", NAMES)
def test_every_link_has_a_target(name: str) -> None:
    place = next(path for path in DOCS if path.name == name)
    for target, anchor in LINK.findall(place.read_text()):
        if target.startswith("http"):
            continue
        if target.startswith("/"):
            assert address_exists(target), target
            continue
        led = (place.parent / target).resolve() if target else place
        assert led.exists(), target
        if anchor:
            assert anchor in anchors(led.read_text()), f"{target}#{anchor}"


def address_exists(address: str) -> bool:
    try:
        return bool(resolve(address))
    except Resolver404:
        return False


@pytest.mark.parametrize("name", NAMES)
def test_every_address_in_a_document_exists(name: str) -> None:
    text = document(name)
    for address in re.findall(r"`(/(?:api|docs|boards|healthz|label|projects|test-sets)[\w/{}.-]*)`", text):
        tried = [re.sub(r"{\w+}", filled, address) for filled in ("1", str(UUID(int=1)))]
        assert address in ("/api/", "/api/v1/") or any(map(address_exists, tried)), address


@pytest.mark.parametrize("name", NAMES)
def test_every_command_in_a_document_exists(name: str) -> None:
    text = document(name)
    for command, options in re.findall(r"manage\.py ([a-z_]+)((?: +[^\n`|&)]*)?)", text):
        assert command in get_commands(), command
        assert set(re.findall(r"(?<!\w)(--[a-z][a-z-]*)", options)) <= options_of(command), command


def options_of(command: str) -> set[str]:
    where = get_commands()[command]
    loaded = load_command_class(where, command) if isinstance(where, str) else where
    parser = loaded.create_parser("manage.py", command)
    return {text for action in parser._actions for text in action.option_strings}


@pytest.mark.parametrize("name", NAMES)
def test_every_target_of_make_in_a_document_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    code = " ".join(
        [*re.findall(r"`([^`\n]+)`", document(name)), *(c for _, c in code_blocks(document(name)))]
    )
    assert set(re.findall(r"\bmake ([a-z-]+)", code)) <= targets


@pytest.mark.parametrize("name", NAMES)
def test_every_file_named_in_a_document_exists(name: str) -> None:
    for path in re.findall(r"`((?:evalsvc|annotation|workers|tests|docs|bench)/[\w/.-]+)`", document(name)):
        assert (ROOT / path).exists(), path


# ---- api.md --------------------------------------------------------------------------------------
def endpoints() -> list[tuple[str, str, str]]:
    """The rows of the table as (method, address, who)."""
    return re.findall(r"^\| (GET|POST|PATCH) \| `([^`]+)` \| ([^|]+?) \|", API_MD.read_text(), re.MULTILINE)


def names() -> dict[str, str]:
    return {address: name for name, address in requester.endpoints().items()}


def test_the_table_of_endpoints_is_complete() -> None:
    rows = [(names()[address], method) for method, address, _ in endpoints()]
    assert len(rows) == len(set(rows))
    assert set(rows) == {(row, method) for row, method in API if ":" not in row}


@pytest.mark.parametrize(("method", "address", "who"), endpoints())
def test_the_table_of_endpoints_matches_the_permissions(method: str, address: str, who: str) -> None:
    cells = API[names()[address], method]
    assert {person for person in PEOPLE if is_allowed(cells[person], method)} == WHO[who]


def is_allowed(cell: str, method: str) -> bool:
    """True for success; for writes also 400 and 409, answered after permission."""
    return cell.startswith("2") or (method != "GET" and cell in ("400", "409"))


def test_every_status_of_an_error_is_explained() -> None:
    section = API_MD.read_text().partition("## Errors")[2].partition("\n## ")[0]
    assert {int(status) for status in re.findall(r"\b4\d\d\b", section)} >= {s for s in STATUSES if s < 500}


def shell_blocks(name: str = "api.md") -> list[str]:
    return [code for language, code in code_blocks(document(name)) if language == "bash"]


def test_every_command_of_the_api_document_works(live: str, tmp_path: Path) -> None:
    """Run the commands in order; values of answers go into shell variables."""
    cast = ServiceCast.create()
    User.objects.filter(username="tess").update(may_organise=True)
    env_vars = {"URL": live, "TOKEN": cast.secrets["full"], "BOARD": "tides", "PROJECT": "harbour"}
    env_vars |= {"SET": cast.test_set.slug}
    answers: dict[str, str] = {}
    for code in shell_blocks():
        if "?wait=" in code:  # what has ended is waited for no longer
            run_job("score", int(env_vars["ID"]))
        waiting = {"ID": str(int(env_vars["ID"]) + 1)} if "/cancel" in code else {}
        answer = answers[code] = run(code, env_vars | waiting, tmp_path)
        if "-F file=@gold.jsonl" in code:
            run_job("import", json.loads(answer)["id"])
        env_vars |= named(answer, env_vars)
    assert len(answers) == 25

    def of(part: str) -> str:
        return next(answer for code, answer in answers.items() if part in code)

    assert json.loads(of("/check"))["fits"] is True
    assert json.loads(of("/cancel"))["state"] == "cancelled"
    assert (waited := json.loads(of("?wait=")))["state"] == "scored"
    assert waited["progress"]["done"] == waited["progress"]["total"] > 0
    for asked in ('/scores"', "/scores?version=1"):
        assert json.loads(of(asked))["evaluations"][0]["scores"]["accuracy"]["value"] == 0.75
    assert '"gold_sha256"' in of("benchmarks/small/settings")
    assert cast.test_set.sha256 in of("sha256sum")
    assert {row["state"] for row in json.loads(of("state=scored"))["results"]} == {"scored"}
    assert of("HTTP %{http_code}") == "HTTP 304\n"


def test_the_tutorial_for_teams_leads_to_scores(live: str, tmp_path: Path) -> None:
    """It has the labels of the demo, which takes long to load; another benchmark stands in for it."""
    names = ("data/labels.json", "benchmarks.py")
    demo = "".join((ROOT / "evalsvc/demo" / name).read_text() for name in names)
    cast = ServiceCast.create()
    env_vars = {"URL": live, "TOKEN": cast.secrets["submit"], "BOARD": "tides"}
    env_vars |= {"EVALSVC_URL": live, "EVALSVC_TOKEN": cast.secrets["submit"]}
    answers = []
    for code in shell_blocks("first-run.md"):
        if "--watch" in code:
            run_job("score", int(env_vars["ID"]))
        for label, own in (("place_of_birth", "born_in"), ("N/A", "NA")):
            assert label not in code or f'"{label}"' in demo
            code = code.replace(label, own)
        answers.append(run(code, env_vars, tmp_path))
        if found := re.match(r"Submission (\d+):", answers[-1]):
            env_vars["ID"] = found[1]
    assert "accuracy" in answers[-1].casefold()


def run(code: str, env_vars: dict[str, str], folder: Path) -> str:
    env = {"PATH": os.environ["PATH"]} | env_vars
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def named(answer: str, env_vars: dict[str, str]) -> dict[str, str]:
    """The variables that an answer sets: submission and item."""
    try:
        found = json.loads(answer)
    except ValueError:
        return {}
    if "lease" in found:
        return {"ITEM": str(found["item"]["id"])}
    return {"ID": str(found["id"])} if "status_url" in found and "ID" not in env_vars else {}


# ---- operations.md -------------------------------------------------------------------------------
def read_by_settings() -> set[str]:
    """Environment variables that the settings read."""
    tree = ast.parse((ROOT / "evalsvc/settings.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    asked = [call.args[0] for call in calls if "env" in ast.unparse(call.func)]
    return {a.value for a in asked if isinstance(a, ast.Constant) and re.fullmatch(r"[A-Z_]+", str(a.value))}


def read_by_starting() -> set[str]:
    """Environment variables that only `make up` and the compose file read."""
    command = (ROOT / "evalsvc/management/commands/up.py").read_text()
    compose = (ROOT / "compose.yaml").read_text()
    own = set(re.findall(r'environ\.get\("([A-Z_]+)"', command)) | set(re.findall(r"\$\{([A-Z_]+)", compose))
    return own - read_by_settings()


def variables() -> set[str]:
    return set(re.findall(r"^\| `([A-Z_]+)` \|", OPERATIONS.read_text(), re.MULTILINE))


def test_the_table_of_variables_is_complete() -> None:
    assert variables() == read_by_settings() | read_by_starting()


def test_removing_a_person_as_described_revokes_access_and_erases_the_name(client: Client, db: None) -> None:
    cast = ServiceCast.create()
    _, secret = tokens.issue(cast["ann"], name="laptop", scope="full")
    client.force_login(cast["ann"])
    (steps,) = (code for language, code in code_blocks(OPERATIONS.read_text()) if language == "python")
    exec(compile(steps, str(OPERATIONS), "exec"), {})
    assert client.get("/label/").status_code == 302
    assert client.get("/api/v1/limits", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert not client.login(username="ann", password=PASSWORD)
    assert cast.item(1).answers.count() == 2
    names = [*User.objects.values_list("username", "last_name"), *Annotator.objects.values_list("name")]
    assert not {"ann", "Canaryann"} & {part for name in names for part in name}


@pytest.mark.parametrize("queue", ["score", "ingest", "heavy"])
def test_every_documented_queue_exists(queue: str) -> None:
    rows = re.findall(r"^\| (\w+) \| .* \|$", OPERATIONS.read_text().partition("## Queues")[2], re.MULTILINE)
    assert queue in rows
    assert queue in settings.JOB_QUEUES


def test_the_documented_health_check_answers(client: Client, db: None) -> None:
    assert "`/healthz`" in OPERATIONS.read_text()
    assert client.get("/healthz").json()["status"] == "ok"


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="there is no README.md yet")
def test_the_readme_has_at_most_120_lines() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_a_release_has_at_most_300_lines_in_the_changelog() -> None:
    """More than 600 listed each step between two releases, and merges repeated them twice."""
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    assert {text.splitlines()[0]: len(text.splitlines()) for text in releases if text.count("\n") > 300} == {}


# ---- security.md ---------------------------------------------------------------------------------
def named_tests() -> list[str]:
    text = (ROOT / "docs" / "security.md").read_text()
    return sorted(set(re.findall(r"tests/[\w/]+\.py(?:::\w+)?", text)))


@pytest.mark.parametrize("named", named_tests())
def test_every_test_in_the_security_document_exists(named: str) -> None:
    place, _, name = named.partition("::")
    tree = ast.parse((ROOT / place).read_text())
    tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert name in tests if name else any(each.startswith("test_") for each in tests)


def test_a_row_of_the_security_document_names_functions_and_no_whole_file() -> None:
    assert [named for named in named_tests() if "::" not in named] == []


# numbers of the requirements of levels 1 and 2 in each section of ASVS 5.0.0
LEVEL_2 = {
    "1.1": 2, "1.2": 9, "1.3": 11, "1.4": 3, "1.5": 2, "2.1": 3, "2.2": 3, "2.3": 4, "2.4": 1,
    "3.2": 2, "3.3": 4, "3.4": 6, "3.5": 5, "3.7": 2, "4.1": 3, "4.2": 1, "4.3": 2, "4.4": 4,
    "5.1": 1, "5.2": 3, "5.3": 2, "5.4": 3,
    "6.1": 3, "6.2": 12, "6.3": 4, "6.4": 4, "6.5": 5, "6.6": 3, "6.8": 4,
    "7.1": 3, "7.2": 4, "7.3": 2, "7.4": 5, "7.5": 2, "7.6": 2, "8.1": 2, "8.2": 3, "8.3": 1, "8.4": 1,
    "9.1": 3, "9.2": 4, "10.1": 2, "10.2": 2, "10.3": 4, "10.4": 11, "10.5": 5, "10.6": 2, "10.7": 3,
    "11.1": 2, "11.2": 3, "11.3": 3, "11.4": 4, "11.5": 1, "11.6": 1, "12.1": 3, "12.2": 2, "12.3": 4,
    "13.1": 1, "13.2": 5, "13.3": 2, "13.4": 5, "14.1": 2, "14.2": 4, "14.3": 3,
    "15.1": 3, "15.2": 3, "15.3": 7,
    "16.1": 1, "16.2": 5, "16.3": 4, "16.4": 3, "16.5": 3, "17.1": 1, "17.2": 4, "17.3": 2,
}  # fmt: skip


def test_every_requirement_has_one_row() -> None:
    text = (ROOT / "docs" / "security.md").read_text().partition("OWASP ASVS")[2]
    listed = []
    for cell in re.findall(r"^\| (\d[\d., –]*) \|", text, re.MULTILINE):
        for part in cell.split(", "):
            first, _, last = part.partition("–")
            section, _, number = first.rpartition(".")
            most = int((last or first).rpartition(".")[2])
            listed += [f"{section}.{at}" for at in range(int(number), most + 1)]
    expected = [f"{section}.{at}" for section, most in LEVEL_2.items() for at in range(1, most + 1)]
    assert len(expected) == 253
    assert sorted(listed) == sorted(expected)
