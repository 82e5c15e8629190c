"""Structure of the product: layers, a light web, pure measures, no cycles, short functions."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("evalsvc", "annotation", "workers")
SOURCES = sorted(
    path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts
)
HEAVY = {"numpy", "scipy", "spacy"}


def loaded_after(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after running `code`."""
    script = (
        f"{code}\nimport sys; print(' '.join(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    return set(run.stdout.split())


class Module(NamedTuple):
    """Names that a file imports, also within functions and for types alone, and its functions."""

    imports: set[str]
    types: set[str]
    functions: list[tuple[str, int]]
    """Name and length without the docstring."""


@cache
def module(path: Path) -> Module:
    """Parse a file, once for all tests."""
    names, types, functions = set[str](), set[str](), list[tuple[str, int]]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            types |= {line.module for line in node.body if isinstance(line, ast.ImportFrom) and line.module}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            functions.append((node.name, (node.end_lineno or 0) - first.lineno + 1))
    return Module(names, types, functions)


def test_the_import_contracts_hold() -> None:
    run = subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:]


def test_the_web_server_starts_without_numpy_scipy_or_spacy() -> None:
    code = (
        "import evalsvc.wsgi; from django.urls import get_resolver; "
        "get_resolver().url_patterns; import evalsvc.celery"
    )
    assert not loaded_after(code) & HEAVY


def test_a_command_starts_without_pages_api_and_broker() -> None:
    code = "from django.core.management import execute_from_command_line; import os;"
    code += "os.environ['DJANGO_SETTINGS_MODULE'] = 'evalsvc.settings';"
    code += "execute_from_command_line(['manage.py', 'help', '--commands'])"
    with_rest_framework = {"psycopg", "requests", "jinja2"}
    assert not loaded_after(code) & {"celery", "kombu", "redis", *with_rest_framework}


def test_beat_and_the_supervisor_load_no_models() -> None:
    """They run as long as the service, and models would take 30 MB of each."""
    assert not loaded_after("import workers.beat") & {"annotation", "rest_framework", *HEAVY}
    command = [sys.executable, "-X", "importtime", "manage.py", "up", "--port", "none"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert "Invalid port 'none'" in run.stderr
    assert "evalsvc.local.supervisor" in run.stderr
    assert "annotation" not in run.stderr
    assert "django.db.models" not in run.stderr


def test_the_measures_load_neither_django_nor_celery_nor_scipy() -> None:
    loaded = loaded_after("import workers.metrics")
    assert not loaded & {"django", "celery", "rest_framework", "evalsvc", "annotation", "scipy", "spacy"}


def test_importing_workers_loads_nothing_else() -> None:
    assert not loaded_after("import workers") & {"django", "celery", "numpy", "evalsvc", "annotation"}


def test_of_annotation_evaluation_imports_the_test_set_only() -> None:
    imported = {
        name
        for path in SOURCES
        if path.is_relative_to(ROOT / "evalsvc" / "evaluation")
        for name in module(path).imports
        if name == "annotation" or name.startswith("annotation.")
    }
    assert {name for name in imported if not name.startswith("annotation.testset")} == set()


@pytest.mark.parametrize("name", ["services", "utils", "helpers", "common", "managers", "misc"])
def test_no_module_has_a_meaningless_name(name: str) -> None:
    assert [path for path in SOURCES if path.stem == name] == []


def test_modules_import_each_other_in_no_cycle_even_within_functions() -> None:
    """Imports of types do not count."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in SOURCES}
    graph = {name: (module(path).imports & names.keys()) - module(path).types for name, path in names.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(names)


def test_functions_have_at_most_fifty_lines() -> None:
    assert [(str(path), *each) for path in SOURCES for each in module(path).functions if each[1] > 50] == []


def test_models_hold_no_rules_in_save_and_no_signals_of_models_are_used() -> None:
    models = [path for path in SOURCES if "models" in path.parts or path.name in {"models.py", "testset.py"}]
    overriding = [path for path in models if "save" in dict(module(path).functions)]
    signalling = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if any("signals" in name for name in module(path).imports)
    ]
    # refuses migrations that would drop data, before any is made; log-ins, of every way in
    logged = [f"evalsvc/core/accounts/{name}.py" for name in ("security_log", "sessions")]
    assert (overriding, signalling) == ([], ["evalsvc/apps.py", *logged])
