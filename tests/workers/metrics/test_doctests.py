"""Every public function has an example that runs."""

import doctest
import inspect
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType, ModuleType

import pytest

from workers import metrics

MODULES = [module.name for module in iter_modules(metrics.__path__) if module.name != "__main__"]


def public_functions(module: ModuleType) -> list[FunctionType]:
    return [
        found
        for name, found in inspect.getmembers(module, inspect.isfunction)
        if found.__module__ == module.__name__ and not name.startswith("_")
    ]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_run(name: str) -> None:
    assert doctest.testmod(import_module(f"workers.metrics.{name}")).failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_function_has_an_example(name: str) -> None:
    lacking = [
        f.__name__
        for f in public_functions(import_module(f"workers.metrics.{name}"))
        if ">>>" not in f.__doc__
    ]
    assert lacking == []


def test_a_submodule_loads_as_an_attribute() -> None:
    assert metrics.ratios.divide(1, 2) == 0.5


def test_an_unknown_submodule_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        metrics.nothing  # noqa: B018
