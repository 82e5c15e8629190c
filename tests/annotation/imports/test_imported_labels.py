"""Labels added by a file: misspellings, and labels that can be removed."""

from __future__ import annotations

from collections import Counter

import pytest

from annotation.imports import imported_labels
from annotation.ontology import inventory
from evalsvc.core.errors.exceptions import Conflict
from tests.cast.basics import sentence
from tests.cast.projects import create_project, curator
from tests.cast.projects import import_lines as imported
from tests.errors import code


@pytest.mark.parametrize(
    ("lines", "settled", "slips"),
    [
        ({"born_in": 10, "born_im": 1}, (), {"born_im": "born_in"}),  # another letter
        ({"born_in": 10, "bornin": 1}, (), {"bornin": "born_in"}),  # one left out
        ({"born_in": 10, "bron_in": 1}, (), {"bron_in": "born_in"}),  # two turned round
        ({"born_in": 10, "Born In": 1}, (), {"Born In": "born_in"}),  # case and spaces
        ({"born_in": 0, "born_im": 30}, ("born_in",), {"born_im": "born_in"}),  # it was there before
        ({"born_in": 10, "born_im": 9}, (), {}),  # as usual as the other
        ({"born_in": 10, "died_in": 1}, (), {}),
        ({"place_lived": 90, "place_of_birth": 1}, (), {}),
        ({"Topic(e1,e2)": 90, "Topic(e2,e1)": 1}, (), {}),  # digits are meant
        ({"type1": 90, "type2": 1}, (), {}),
        ({"PER": 90, "ORG": 1, "LOC": 1, "POR": 1}, (), {}),  # too short to tell
        ({"born_in": 10, "born_im": 1}, ("born_in", "born_im"), {}),  # both were there
    ],
)
def test_a_rare_label_one_letter_from_a_frequent_one_is_a_misspelling(
    lines: dict[str, int], settled: tuple[str, ...], slips: dict[str, str]
) -> None:
    assert imported_labels.misspellings(Counter(lines), settled) == slips


@pytest.mark.django_db
def test_labels_used_by_a_step_are_not_removed() -> None:
    project = create_project(labels=())
    imported(project, [sentence("s0", relations=["A"]), sentence("s1", relations=["B"])])
    inventory.merge(project, ["A", "B"], target="A", by=curator())
    with pytest.raises(Conflict, check=code("label_in_use")):
        imported_labels.remove_labels(project, ["A", "B"], part="relation", by=curator())
    assert project.labels.count() == 2


@pytest.mark.django_db
def test_labels_of_gold_questions_are_not_removed() -> None:
    project = create_project(labels=())
    imported(project, [sentence("s0", relations=["A"])], known="check")
    with pytest.raises(Conflict, check=code("label_in_use")):
        imported_labels.remove_labels(project, ["A"], part="relation", by=curator())


@pytest.mark.django_db
def test_the_most_frequent_labels_are_stored_and_all_are_counted() -> None:
    noted = imported_labels.label_counts({"relation": Counter({f"r{at}": at for at in range(1, 400)})}, {})
    assert (len(noted["labels"]), noted["labels_in_file"]) == (300, 399)
    assert noted["labels"][0] == {"part": "relation", "name": "r399", "lines": 399, "added": False}
