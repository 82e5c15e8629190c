"""A format is one module: registered, it is on every page, command and form that lists formats."""

from __future__ import annotations

import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import load_command_class
from django.test import Client
from django.urls import reverse

from annotation.imports.upload_precheck import precheck
from annotation.models import Batch
from annotation.pages.import_forms import GoldForm, ImportForm
from annotation.pages.quality import PredictionsForm
from evalsvc.core.accounts.tokens import issue
from evalsvc.core.errors.exceptions import DomainError
from evalsvc.core.formats import registry
from tests.cast.benchmarks import BenchmarkCast
from workers.cli.command import main

MODULE = """
from evalsvc.core.formats.records import ItemLine, LabelPrediction, VoteLine, payload
from evalsvc.core.formats.registry import Format, Reader, register
from evalsvc.core.formats.text_lines import read_lines


def rows(source, *, problems, limits):
    for line, text in read_lines(source, problems=problems, limits=limits):
        yield line, text.split("~")


def read_items(source, *, problems, limits):
    for line, (id, label) in rows(source, problems=problems, limits=limits):
        yield line, ItemLine(id, None, relations=(label,))


def read_predictions(source, *, problems, limits):
    for line, (id, label) in rows(source, problems=problems, limits=limits):
        yield line, LabelPrediction(id, label)


def read_votes(source, *, problems, limits):
    for line, (id, label) in rows(source, problems=problems, limits=limits):
        yield line, VoteLine(id, "ann1", payload(relations=(label,)), False)


FORMAT = register(
    Format(
        "tilde", "Tilde lines", "An id and a label per line.", "s1~born_in",
        roles=("items", "gold", "predictions", "suggestions", "votes"),
        rank=5,
        recognise=lambda sample: all(line.count("~") == 1 for line in sample.lines),
        readers={
            "items": Reader(read_items),
            "predictions": Reader(read_predictions),
            "votes": Reader(read_votes),
        },
    )
)
"""
CONTENT = b"".join(b"s%d~N/A\n" % n for n in range(1, 7))


@pytest.fixture(autouse=True)
def tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A format from a temporary module."""
    monkeypatch.setattr(registry, "_REGISTERED", dict(registry.formats()))
    path = tmp_path / "tilde.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("tilde", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FORMAT


def test_the_documentation_shows_its_title_and_example(client: Client) -> None:
    page = client.get(reverse("docs-formats")).content.decode()
    assert page.count("<summary><b>Tilde lines</b>") == 3
    assert "<li>s1~born_in</li>" in page


@pytest.mark.parametrize("form", [ImportForm, GoldForm, PredictionsForm])
def test_forms_offer_it(form: Any) -> None:
    assert ("tilde", "Tilde lines") in list(form().fields["format"].choices)


@pytest.mark.parametrize("command", ["import_items", "import_gold", "import_votes"])
def test_commands_accept_it(command: str) -> None:
    parser = load_command_class("evalsvc", command).create_parser("manage.py", command)
    (option,) = [action for action in parser._actions if "--format" in action.option_strings]
    assert "tilde" in (option.choices or ())


@pytest.mark.parametrize("what", Batch.What.values)
def test_the_precheck_accepts_it_and_names_it_to_others(what: str) -> None:
    precheck(io.BytesIO(CONTENT), content=what)
    with pytest.raises(DomainError) as error:
        precheck(io.BytesIO(b"a\tb\tc\n"), content=what)
    assert "Tilde lines" in error.value.detail


@pytest.mark.django_db
def test_a_benchmark_accepts_a_file_of_it(settings: Any, tmp_path: Path, client: Client) -> None:
    settings.MEDIA_ROOT = tmp_path / "files"
    cast = BenchmarkCast.create()
    cast.relations()
    token = issue(cast.kim, name="cluster", team=cast.kelpie)[1]
    address = "/api/v1/benchmarks/rel/check"
    headers = {"Authorization": f"Bearer {token}"}
    answer = client.post(address, CONTENT, "application/octet-stream", headers=headers).json()
    assert (answer["format"], answer["error_count"]) == ("tilde", 0)
    client.force_login(cast.kim)
    assert "Tilde lines" in client.get(reverse("submit", args=["rel"])).content.decode()


def test_the_command_line_scores_files_of_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, predictions = tmp_path / "gold", tmp_path / "predictions"
    gold.write_bytes(b"s1~born_in\ns2~died_in\n")
    predictions.write_bytes(b"s1~born_in\ns2~born_in\n")
    assert main([str(gold), str(predictions), "--task", "classification", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"]["accuracy"] == 0.5
