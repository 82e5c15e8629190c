"""The agreement page says what the figures say, shows what is undefined as such, and can be taken away."""

from __future__ import annotations

import csv
import io
import re
from itertools import product
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import reverse

from annotation import projects
from annotation.models import Project
from annotation.pages import agreement_heatmap
from annotation.pages.agreement_view import OVERALL, AgreementView
from annotation.pages.interval_chart import Estimate, coefficient, estimate_text, tick_label
from annotation.reports import agreement
from tests.cast.basics import compute_agreement, person, run_job
from tests.cast.projects import (
    annotators,
    answer_item,
    curator,
    import_lines,
    project_with_items,
    response_of,
    seen,
)
from workers.metrics.agreement import ONE_CATEGORY
from workers.metrics.annotators import FEW_COMMON

pytestmark = pytest.mark.django_db


def labelled(n: int = 12) -> Project:
    """Three people: two of one mind on A, the third always N/A; nobody ever chose C."""
    project = project_with_items(n, k=3)
    people = annotators(project, 3)
    for at, item in enumerate(project.items.all()):
        for user, labels in zip(people, (["A"], ["A"] if at % 4 else ["B"], []), strict=True):
            answer_item(item, user, *labels)
    return project


def reported(project: Project) -> Project:
    compute_agreement(project, by=curator())
    return project


def test_agreement_can_be_requested_from_the_page() -> None:
    page = seen(labelled(), "agreement")
    assert "agreement</button>" in page


def test_agreement_cannot_be_requested_without_answers() -> None:
    page = seen(project_with_items(1), "agreement")
    assert "agreement</button>" not in page


def test_requesting_agreement_shows_progress_and_then_the_figures() -> None:
    project = labelled()
    browser = Client()
    browser.force_login(curator())
    address = reverse("agreement", args=[project.slug])
    assert browser.post(address).status_code == 302
    strip = browser.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "state--wait" in strip
    assert "<html" not in strip
    run_job("agreement", project.agreements.get().pk)
    done = browser.get(address, headers={"HX-Request": "true"})
    assert done["HX-Refresh"] == "true"
    assert done.context["view"].overall.rows


def test_the_summary_counts_answers_people_and_sentences() -> None:
    view = response_of(reported(labelled()), "agreement").context["view"]
    assert re.findall(r"\d+", view.basis)[:4] == ["36", "3", "12", "12"]


def estimated(value: float, low: float, high: float) -> dict[str, object]:
    alpha = {"value": value, "low": low, "high": high}
    return {"answers": 30, "observed": alpha, "fleiss": alpha, "alpha": alpha, "ac1": alpha}


def test_a_relation_is_below_or_above_the_bound_only_with_its_whole_interval() -> None:
    relations = {
        "A": estimated(0.5, 0.4, 0.66),
        "B": estimated(0.6, 0.5, 0.9),
        "C": estimated(0.8, 0.7, 0.9),
    }
    project = project_with_items(1)
    view = AgreementView(project, {"pairs": [], "relations": relations, "annotators": [], "overall": {}})
    assert view.relations_by_side == {"below": ["A"], "around": ["B"], "above": ["C"]}
    assert view.relations
    assert {row.title: row.low for row in view.relations.rows} == {"A": True, "B": False, "C": False}


def test_a_relation_with_too_few_answers_shows_a_dash_and_the_reason() -> None:
    page = seen(reported(labelled()), "agreement")
    assert "never chosen" in page
    assert "chosen 3 times, needs 10" in page


def test_a_pair_with_too_few_items_in_common_shows_a_dash_and_the_reason() -> None:
    page = seen(reported(labelled(4)), "agreement")
    assert f"Cohen’s κ is undefined for every pair: {FEW_COMMON}</b>" in page
    assert f"4 sentences in common, undefined: {FEW_COMMON}" in page


def test_a_pair_that_always_gives_the_same_answer_has_this_as_its_reason() -> None:
    project = project_with_items(12, k=2)
    people = annotators(project, 2)
    for item, user in product(project.items.all(), people):
        answer_item(item, user, "A")
    page = seen(reported(project), "agreement")
    assert f'<b id="pairs">Cohen’s κ is undefined for every pair: {ONE_CATEGORY}</b>' in page
    assert f"12 sentences in common, undefined: {ONE_CATEGORY}" in page
    assert f"<span>– {ONE_CATEGORY}</span>" in page
    assert FEW_COMMON not in page


def test_only_curators_see_names_in_agreement() -> None:
    project = reported(labelled())
    projects.set_member(project, user=person("vera"), role="viewer", by=curator())
    assert "ann0" in seen(project, "agreement")
    Project.objects.filter(pk=project.pk).update(state="closed")
    for name in ("agreement", "agreement-pairs", "agreement-svg"):
        page = seen(project, name, user="vera")
        assert "ann0" not in page
        assert "Annotator 1" in page


def test_an_older_report_stays_visible_while_a_new_one_is_computed() -> None:
    project = reported(labelled())
    agreement.request_report(project, by=curator())
    page = seen(project, "agreement")
    assert "state--wait" in page
    assert 'id="by-relation"' in page
    assert "agreement</button>" not in page  # no second request meanwhile


def test_relations_can_be_sorted_by_least_agreement() -> None:
    page = seen(reported(labelled()), "agreement", order="least")
    table = page.split('id="relations"')[1]
    order = re.findall(r'<th scope="row">([^<]+)', table)
    assert order == ["N/A", "A", "B", "C"]


def test_the_agreement_figures_can_be_downloaded() -> None:
    project = reported(labelled())
    rows = list(csv.DictReader(io.StringIO(seen(project, "agreement-relations"))))
    alpha = {(row["title"], row["measure"]): row["value"] for row in rows}
    report = project.agreements.get().figures
    assert float(alpha["A", "alpha"]) == pytest.approx(report["relations"]["A"]["alpha"]["value"])
    assert float(alpha["whole answers", "alpha_masi"]) == report["overall"]["alpha_masi"]["value"]
    pairs = list(csv.DictReader(io.StringIO(seen(project, "agreement-pairs"))))
    assert [(row["first"], row["second"], row["common"]) for row in pairs] == [
        ("ann0", "ann1", "12"),
        ("ann0", "ann2", "12"),
        ("ann1", "ann2", "12"),
    ]


def test_the_heat_map_is_downloaded_with_its_colours() -> None:
    drawn = ElementTree.fromstring(seen(reported(labelled()), "agreement-svg"))
    assert not [each for each in drawn.iter() if "class" in each.attrib]
    fills = {each.get("fill") for each in drawn.iter("{http://www.w3.org/2000/svg}rect")}
    assert len(fills) > 1


def test_only_curators_download_the_judgments() -> None:
    project = labelled(2)
    assert len(seen(project, "judgments").splitlines()) == 6
    browser = Client()
    browser.force_login(person("ann0"))
    assert browser.get(reverse("judgments", args=[project.slug])).status_code == 403


def test_spans_are_compared_pair_by_pair() -> None:
    from uuid import uuid4

    from annotation.queue import votes
    from tests.cast.projects import create_project

    project = create_project("entities", labels=["P"])
    import_lines(project, [{"id": "s0", "text": "Ada saw Turin"}])
    projects.open_for_work(project, by=curator())
    for user, spans in zip(annotators(project, 2), ([[0, 3, "P"]], [[0, 3, "P"], [8, 13, "P"]]), strict=True):
        votes.answer(project.items.get(), user, client_id=uuid4(), payload={"spans": spans})
    page = seen(reported(project), "agreement")
    assert "F1 of .67 to .67, median .67" in page
    assert 'id="by-relation"' not in page
    assert 'id="by-type"' in page
    assert "No two types are confused" in page
    spans = project.agreements.get().figures["spans"]
    assert spans["types"]["P"]["f1"]["value"] == pytest.approx(2 / 3)
    assert spans["token_alpha"]["value"] == pytest.approx(1 - 10 / (36 - 18))
    rows = csv.DictReader(io.StringIO(seen(project, "agreement-relations")))
    assert [(row["title"], row["measure"]) for row in rows] == [
        ("P", "f1"),
        ("all types", "f1"),
        ("all types", "token_alpha"),
    ]


def pair(first: int, second: int, value: float | None, common: int = 20) -> dict[str, object]:
    pair = {"first": first, "second": second, "common": common, "value": value, "measure": "kappa"}
    return pair | {"observed": 0.5}


def test_pairs_are_summed_up_by_range_and_median() -> None:
    found = agreement_heatmap.heatmap_of(
        [pair(0, 1, 0.7), pair(0, 2, 0.68), pair(1, 2, 0.71)], ["a", "b", "c"]
    )
    assert re.findall(r"\.\d+", found.finding) == [".68", ".71", ".70"]


def test_a_pair_without_common_items_shows_a_dash() -> None:
    found = agreement_heatmap.heatmap_of([pair(0, 1, 0.7), pair(1, 2, 0.68)], ["a", "b", "c"])
    cell = found.rows[2].cells[0]
    assert (cell.text, cell.title) == ("–", "c and a: no sentences in common")


def test_values_are_shown_in_six_colours() -> None:
    pairs = [pair(0, at, value) for at, value in enumerate((-0.1, 0.1, 0.2, 0.59, 0.61, 0.8), start=1)]
    found = agreement_heatmap.heatmap_of(pairs, list("abcdefg"))
    assert [row.cells[0].style for row in found.rows[1:]] == ["h1", "h2", "h3", "h4", "h5", "h6"]


def test_coefficients_have_no_leading_zero() -> None:
    assert [coefficient(x) for x in (0.714, -0.05, 1.0, 0.0, None)] == [".71", "−.05", "1.00", ".00", "–"]
    assert [tick_label(x) for x in (0.0, 0.25, 0.5, 1.0, -0.2)] == ["0", ".25", ".5", "1", "−.2"]
    assert estimate_text(Estimate(0.71, 0.7, 0.73)) == ".71 (.70 to .73)"


def test_undefined_agreement_shows_its_reason() -> None:
    none = {"value": None, "low": None, "high": None, "reason": "no item has two answers"}
    overall = {key: none for key, _, _ in OVERALL}
    report = {
        "annotators": ["a"],
        "people": [],
        "pairs": [],
        "relations": {},
        "overall": overall,
        "answers": 1,
    }
    report |= {"items": 1, "several_answers": 0, "replicates": 1000}
    view = AgreementView(project_with_items(1), report)
    assert not re.search(r"\d", view.lead)
    assert view.overall is not None
    assert {row.reason for row in view.overall.rows} == {"no item has two answers"}


def test_many_annotators_are_numbered_in_the_column_heads() -> None:
    names = [f"worker {at}" for at in range(14)]
    found = agreement_heatmap.heatmap_of([pair(0, at, 0.7) for at in range(1, 14)], names)
    assert found.dense
    assert [row.head for row in found.rows] == [str(at) for at in range(1, 15)]
    assert found.rows[0].cells[1].text == ""
    drawn = ElementTree.fromstring(str(agreement_heatmap.heatmap_svg(found)))
    assert "2  worker 1" in [text.text for text in drawn.iter("text")]


def test_a_long_name_is_shortened_with_an_ellipsis_in_the_drawing() -> None:
    found = agreement_heatmap.heatmap_of([pair(0, 1, 0.7)], ["Maximiliane von der Wasserkante", "Bo"])
    texts = [
        text.text for text in ElementTree.fromstring(str(agreement_heatmap.heatmap_svg(found))).iter("text")
    ]
    assert {"Maximiliane von der…", "Maximili…", "Bo"} <= set(texts)
