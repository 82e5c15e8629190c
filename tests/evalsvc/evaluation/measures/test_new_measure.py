"""A new measure: one function, one line; every list of measures has it."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from evalsvc.evaluation.measures.menu import MEASURES, MENU
from evalsvc.evaluation.models import Benchmark, Submission
from evalsvc.management.commands.document_measures import renewed
from tests.cast.benchmarks import RELATION_GOLD, BenchmarkCast
from workers.cli.command import main
from workers.metrics import suites
from workers.metrics.counts import Counts
from workers.metrics.report import Value
from workers.runner import run_next

KEY, TITLE = "least_recall", "least recall"
MODULE = f'''
from evalsvc.evaluation.measures.menu import Measure, register
from workers.metrics.counts import Counts
from workers.metrics.ratios import recall


def least_recall(counts: Counts) -> float:
    return float(recall(counts.tp, counts.fn)[counts.gold > 0].min())


register(Measure("{KEY}", "{TITLE}", "classification", "recall of the class with the least recall",
                 "min of R", "a test", "there are no gold labels", board={{"sentence": 3}},
                 submission={{"sentence": 3}}, comparison=4))
'''
LABELS = [{"id": line["id"], "label": (line["relations"] or ["N/A"])[0]} for line in RELATION_GOLD]


@pytest.fixture
def _measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The measure in a module of its own, emitted by the suites of labels."""
    path = tmp_path / "least_recall.py"
    path.write_text(MODULE)
    spec = importlib.util.spec_from_file_location("least_recall", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    plain = suites.averages

    def averages(counts: Counts, *, prefix: str = "", **options: Any) -> dict[str, Value]:
        return plain(counts, prefix=prefix, **options) | {
            f"{prefix}{KEY}": Value(module.least_recall(counts))
        }

    monkeypatch.setattr(suites, "averages", averages)
    yield
    for registry in (MEASURES, MENU):
        del registry[KEY]


@pytest.fixture
def benchmark_(cast: BenchmarkCast) -> Benchmark:
    return cast.relations()


@pytest.mark.usefixtures("_measure")
def test_the_document_describes_it() -> None:
    assert f"| `{KEY}` | {TITLE} |" in renewed("")


@pytest.mark.usefixtures("_measure")
def test_the_page_of_measures_describes_it(client: Client, db: None) -> None:
    assert f'id="{KEY}"' in client.get(reverse("docs-measures")).content.decode()


@pytest.mark.usefixtures("_measure")
def test_the_api_lists_it(client: Client, cast: BenchmarkCast) -> None:
    client.force_login(cast.kim)
    (measure,) = [one for one in client.get(reverse("api-measures")).json() if one["key"] == KEY]
    assert (measure["title"], measure["family"], measure["units"]) == (
        TITLE,
        "classification",
        ["sentence", "bag"],
    )


@pytest.mark.usefixtures("_measure")
def test_settings_can_have_it(client: Client, cast: BenchmarkCast, benchmark_: Benchmark) -> None:
    client.force_login(cast.olga)
    page = client.get(reverse("setting-new", args=[benchmark_.slug])).content.decode()
    assert f'<option value="{KEY}">{TITLE}</option>' in page
    assert f'name="measures" value="{KEY}"' in page


@pytest.mark.usefixtures("_measure")
def test_a_scored_submission_shows_it(client: Client, cast: BenchmarkCast, benchmark_: Benchmark) -> None:
    submission = cast.submit(benchmark_, LABELS)
    assert run_next("score")
    client.force_login(cast.kim)
    assert TITLE in client.get(reverse("submission", args=[submission.pk])).content.decode()
    assert TITLE in client.get(reverse("board", args=[benchmark_.slug])).content.decode()
    board = client.get(reverse("api-board", args=[benchmark_.slug])).json()
    assert KEY in board["measures"]
    assert board["rows"][0]["figures"][KEY]["mean"] == 1.0
    assert KEY in client.get(reverse("board-csv", args=[benchmark_.slug])).content.decode()


@pytest.mark.usefixtures("_measure")
def test_submit_prints_it(cast: BenchmarkCast, benchmark_: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LABELS))
    out = io.StringIO()
    call_command("submit", "rel", str(path), "--team", "kelpie", "--system", "Net", stdout=out)
    assert Submission.objects.get().state == "scored"
    assert [*TITLE.split(), "100.00", KEY] in [line.split() for line in out.getvalue().splitlines()]


@pytest.mark.usefixtures("_measure")
def test_score_and_compare_print_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold, wrong = tmp_path / "gold.jsonl", tmp_path / "wrong.jsonl"
    gold.write_text("".join(json.dumps(line) + "\n" for line in LABELS))
    wrong.write_text("".join(json.dumps(line | {"label": "born_in"}) + "\n" for line in LABELS))
    assert main([str(gold), str(wrong), "--task", "classification"]) == 0
    assert [*TITLE.split(), "0.0000", KEY] in [line.split() for line in capsys.readouterr().out.splitlines()]
    files = [str(gold), "--against", str(wrong), "--gold", str(gold), "--task", "classification"]
    assert main(["compare", *files, "--replicates", "9", "--json"]) == 0
    rows = {row["measure"]: row for row in json.loads(capsys.readouterr().out)["measures"]}
    assert (rows[KEY]["a"], rows[KEY]["b"]) == (1.0, 0.0)
