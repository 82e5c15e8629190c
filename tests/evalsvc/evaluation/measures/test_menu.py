"""Registered measures are complete and documented."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.conf import settings

from evalsvc.evaluation.measures import examples, references
from evalsvc.evaluation.measures.examples import in_example
from evalsvc.evaluation.measures.menu import FAMILIES, MEASURES, MENU, Measure, offered
from evalsvc.evaluation.models import Setting
from evalsvc.management.commands.document_measures import computed, renewed


@pytest.mark.parametrize("measure", MENU.values(), ids=list(MENU))
def test_a_measure_has_every_text_a_family_and_a_unit(measure: Measure) -> None:
    for words in (measure.title, measure.explains, measure.formula, measure.source, measure.undefined):
        assert words.strip()
    assert measure.family in FAMILIES
    assert measure.unit in ("%", "")


def test_no_two_measures_of_a_unit_share_a_title() -> None:
    for unit in Setting.Unit.values:
        titles = [measure.title for measure in offered(unit) if measure.family != "semeval2010"]
        assert len(titles) == len(set(titles)), unit


def test_every_unit_has_measures() -> None:
    assert {unit for unit in Setting.Unit.values if offered(unit)} == set(Setting.Unit.values)


def test_the_document_is_up_to_date() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "measures.md").read_text()
    assert renewed(text) == text


def test_text_around_the_generated_chapter_stays() -> None:
    text = (Path(settings.BASE_DIR) / "docs" / "measures.md").read_text()
    assert renewed(text.replace("| `ap` |", "| `old` |") + "Afterword\n").endswith("Afterword\n")
    assert "`old`" not in renewed(text.replace("| `ap` |", "| `old` |"))


def test_every_measure_has_a_worked_example_that_the_command_computes() -> None:
    assert computed() == examples.figures()
    shown = {key for of_family in examples.figures().values() for key in of_family}
    assert shown == MENU.keys()
    assert in_example(MENU["micro_f1"]) == "54.5"  # 2 · 3 / (5 + 6)


def test_every_family_names_its_traps() -> None:
    assert all(family.traps for family in FAMILIES.values() if family.kinds)


def test_every_source_of_a_measure_has_its_entries_for_bibtex() -> None:
    published = {each.source for each in MEASURES.values() if not each.source.startswith("decided here")}
    assert published == set(references.BY_SOURCE)
    of_tests = {*references.TESTS_OF_RUNS, *references.TESTS_OF_ITEMS, references.OF_TESTS}
    assert {key for keys in references.BY_SOURCE.values() for key in keys} | of_tests == {*references.ENTRIES}
    for key, entry in references.ENTRIES.items():
        assert entry.split("{")[1].rstrip(",\n ").startswith(key)
        assert entry.isascii()
        assert entry.count("{") == entry.count("}")


def test_relaxed_relations_are_not_said_to_be_above_boundaries() -> None:
    """With a wrong type at an end a relation is right by boundaries alone."""
    traps = FAMILIES["relation_relaxed"].traps
    assert "Against boundaries it can be above or below" in traps
