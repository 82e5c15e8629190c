"""Imports of the metrics package."""

import subprocess
import sys

PROBE = """
import sys
from importlib import import_module
import workers.metrics
from pkgutil import iter_modules
for module in iter_modules(workers.metrics.__path__):
    if module.name != "__main__":
        import_module(f"workers.metrics.{module.name}")
print(sorted(set(sys.modules) & {"scipy", "django", "celery", "spacy", "pandas", "sklearn"}))
"""


def loaded(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_no_module_imports_a_heavy_library() -> None:
    assert loaded(PROBE) == "[]"


def test_the_package_does_not_import_numpy() -> None:
    assert loaded("import sys, workers.metrics; print('numpy' in sys.modules)") == "False"
